"""The wheel works by itself: in an empty environment, away from the sources, with NumPy arrays alone."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SCRIPT = """
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import privet
from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema

assert Path(privet.__file__).is_relative_to(sys.prefix), privet.__file__
assert find_spec("pandas") is None

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
print("epsilon", float(loaded.privacy_.epsilon))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, without this environment's own settings of Python."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=900)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.mark.slow
def test_wheel_fits_saves_loads_and_predicts_in_an_empty_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT, cwd=ROOT)
    (wheel,) = tmp_path.glob("privet-*.whl")

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--constraint", ROOT / "constraints.txt", wheel, cwd=tmp_path)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "script.py").write_text(SCRIPT)
    assert run(python, "script.py", cwd=elsewhere) == "epsilon 2.0\n"
    assert run(environment / "bin" / "privet", "--version", cwd=elsewhere).startswith("privet ")
