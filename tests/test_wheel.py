"""The wheels work by themselves: in an empty environment, away from the sources, by a plain ``pip install``.

privet's own comes first, and must do all that it promises without the papers; then that of the papers beside it.
"""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]

CORE = """
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import privet
from privet import Categorical, Numeric, PrivaTreeClassifier, RandomDecisionForestClassifier, Schema
from privet.audit import audit

assert Path(privet.__file__).is_relative_to(sys.prefix), privet.__file__
assert find_spec("privet_papers") is None
assert find_spec("opendp") is None  # 276 MB that only tests need

schema = Schema(features={"a": Numeric(0, 1), "b": Numeric(-1, 1)}, target=Categorical(["no", "yes"]))
rng = np.random.default_rng(0)
X = rng.uniform([0, -1], [1, 1], size=(4000, 2))
y = np.where(X[:, 0] > 0.5, "yes", "no")

forest = RandomDecisionForestClassifier(epsilon=2.0, schema=schema, n_trees=10, max_depth=4, random_state=0)
forest.fit(X, y)
forest.save("model.json")
loaded = privet.load("model.json")
assert (loaded.predict(X) == forest.predict(X)).all()
assert loaded.privacy_.epsilon == forest.privacy_.epsilon
assert forest.score(X, y) > 0.7  # 0.934 on average, with a deviation of 0.002

tiny = Schema(features={"a": Categorical([0, 1])}, classes=[0, 1])
report = audit(PrivaTreeClassifier(epsilon=1.0, schema=tiny, max_depth=1), n_jobs=1)
assert not report.refuted, report
assert report.findings
print("epsilon", float(loaded.privacy_.epsilon))
"""

PAPERS = """
import sys
from pathlib import Path

import numpy as np

import privet
import privet_papers
from privet import Numeric, Schema
from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier

assert Path(privet_papers.__file__).is_relative_to(sys.prefix), privet_papers.__file__
schema = Schema(features={"a": Numeric(0, 1)}, classes=["no", "yes"])
X = np.linspace(0, 1, 500).reshape(-1, 1)
tree = FSTreeClassifier(epsilon=5.0, schema=schema, random_state=0).fit(X, np.where(X[:, 0] > 0.5, "yes", "no"))
tree.save("rival.json")
loaded = privet.load("rival.json")
assert type(loaded) is FSTreeClassifier
assert (loaded.predict(X) == tree.predict(X)).all()
"""


def run(*command: str | Path, cwd: Path, code: int = 0) -> str:
    """Run a command that must end with this code, without this environment's own settings of Python."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=900)
    assert result.returncode == code, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout if code == 0 else result.stderr


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of a distribution; there is one in the folder."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def files_of(wheel: Path) -> list[str]:
    """Return the names of a wheel's files."""
    with ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.mark.slow
def test_wheels_work_in_an_empty_environment_without_and_with_the_papers(tmp_path: Path) -> None:
    core, papers = build(ROOT, tmp_path / "core"), build(ROOT / "papers", tmp_path / "papers")
    parts = {part.removesuffix(".py") for name in files_of(core) for part in name.split("/")}
    assert not parts & {"privet_papers", "papers", "published", "reproduce", "theorems", "private_theorems", "tests"}
    homes = {name.split("/")[0] for name in files_of(papers) if ".dist-info/" not in name}
    assert homes == {"privet_papers"}

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python, command = environment / "bin" / "python", environment / "bin" / "privet"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--constraint", ROOT / "constraints.txt", core, cwd=tmp_path)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "core.py").write_text(CORE)
    (elsewhere / "papers.py").write_text(PAPERS)
    assert run(python, "core.py", cwd=elsewhere) == "epsilon 2.0\n"
    first = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert first is not None
    (elsewhere / "readme.py").write_text(first.group(1))
    assert "total: epsilon = 1 for adding or removing one record" in run(python, "readme.py", cwd=elsewhere)
    assert run(command, "--version", cwd=elsewhere).startswith("privet ")
    assert "reproduce" not in run(command, "--help", cwd=elsewhere)
    run(command, "reproduce", "--help", cwd=elsewhere, code=2)

    run(*pip, "--constraint", ROOT / "constraints.txt", papers, cwd=tmp_path)
    assert "reproduce" in run(command, "--help", cwd=elsewhere)
    assert "--quick" in run(command, "reproduce", "--help", cwd=elsewhere)
    assert "vos-table-2" in run(command, "reproduce", cwd=elsewhere)
    run(python, "papers.py", cwd=elsewhere)
