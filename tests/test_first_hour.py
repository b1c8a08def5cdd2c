"""The first hour of a new user, with real commands: each step ends in the documented message and exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from privet.datasets import load_adult
from tests.browser import CHROMIUM, browser

pytestmark = pytest.mark.slow  # each command is a process of its own

ROOT = Path(__file__).parents[1]
REPEATABLY = [str(ROOT / "tests" / "run_repeatably.py"), "the first hour"]
ADULT_SCHEMA = ROOT / "src" / "privet" / "datasets" / "adult.yaml"


class Session:
    """A folder in which a user types commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        noisy = REPEATABLY if arguments[0] == "train" else []
        command = [sys.executable, *noisy, "-m", "privet", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=900)

    def refused(self, *arguments: str, code: int) -> str:
        """Run a command that must fail: nothing on standard output, one line with the remedy on the other."""
        result = self(*arguments)
        assert result.returncode == code, result.stderr
        assert result.stdout == ""
        *remarks, error = result.stderr.splitlines()
        assert all(".csv: commas between cells" in remark for remark in remarks)
        assert error.startswith("privet: ")
        return error


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A user's folder: a table, the same with mistakes, and a trained model."""
    folder = tmp_path_factory.mktemp("first_hour")
    adult = load_adult()
    table = adult.X.assign(income=adult.y)
    table.iloc[:6000].to_csv(folder / "people.csv", index=False)
    table.iloc[6000:7000].to_csv(folder / "others.csv", index=False)
    table.iloc[:50].rename(columns={"education": "educaton"}).to_csv(folder / "typo.csv", index=False)
    table.iloc[:50].drop(columns="race").to_csv(folder / "lacking.csv", index=False)
    table.iloc[:50].assign(age=200, sex="unknown").to_csv(folder / "odd.csv", index=False)
    (folder / "schema.yaml").write_text(ADULT_SCHEMA.read_text(encoding="utf-8"), encoding="utf-8")
    session = Session(folder)
    trained = session("train", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "-o", "model.json")
    assert trained.returncode == 0, trained.stderr
    assert "Traceback" not in trained.stderr
    assert "run `privet schema check schema.yaml people.csv` first" in trained.stderr
    assert "total: epsilon = 1 for adding or removing one record" in trained.stdout
    assert trained.stdout.endswith("model:  model.json\nreport: model.html\n")
    return session


def test_the_demo_ends_with_a_table_and_the_path_of_the_report(tmp_path: Path) -> None:
    demo = ROOT / "examples" / "adult_demo.py"
    command = [sys.executable, *REPEATABLY, str(demo)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=900)
    assert result.stderr == ""
    assert "PrivaTreeClassifier" in result.stdout
    assert result.stdout.endswith("report: demo/model.html  (open it in a browser)\n")
    assert (tmp_path / "demo" / "model.html").exists()


def test_help_shows_the_first_steps(session: Session) -> None:
    result = session("--help")
    assert result.returncode == 0
    assert "privet schema init people.csv --target income" in result.stdout
    assert session("schema", "--help").returncode == 0


def test_a_draft_is_refused_until_it_is_filled_in(session: Session) -> None:
    drafted = session("schema", "init", "people.csv", "--target", "income", "-o", "draft.yaml")
    assert drafted.returncode == 0
    assert "are to be filled in" in drafted.stderr
    message = session.refused("train", "people.csv", "-s", "draft.yaml", "-e", "1", "-o", "x.json", code=4)
    assert "features.age.low still says FILL_IN" in message
    filled = (session.folder / "draft.yaml").read_text().replace("low: FILL_IN, high: FILL_IN", "low: 0, high: 1500000")
    unfilled = "\ntarget: {type: categorical, categories: FILL_IN}"
    filled = filled.replace(unfilled, unfilled.replace("FILL_IN", '["<=50K", ">50K"]'))
    filled = filled.replace("categories: FILL_IN", 'categories: ["Private", "Husband", "Male", "White"], other: true')
    (session.folder / "filled.yaml").write_text(filled)
    assert session("schema", "check", "filled.yaml").returncode == 0
    result = session("train", "people.csv", "-s", "filled.yaml", "-e", "1", "-o", "filled.json", "--json")
    assert json.loads(result.stdout)["epsilon"] == 1.0


def test_a_typo_in_a_column_name_is_told_with_the_nearest_name(session: Session) -> None:
    message = session.refused("train", "typo.csv", "-s", "schema.yaml", "-e", "1", "-o", "x.json", code=4)
    assert "column 'education' is missing; did you mean the frame's 'educaton'? Rename it" in message


def test_a_missing_column_is_told(session: Session) -> None:
    message = session.refused("train", "lacking.csv", "-s", "schema.yaml", "-e", "1", "-o", "x.json", code=4)
    assert "column 'race' is missing; add it to the frame" in message


def test_values_out_of_bounds_are_listed_by_check_and_mapped_by_training(session: Session) -> None:
    checked = session("schema", "check", "schema.yaml", "odd.csv")
    assert checked.returncode == 6
    assert "above high" in checked.stdout
    assert "clipped to 90" in checked.stdout
    assert "50" not in checked.stdout.replace("<=50K", "")
    assert session("train", "odd.csv", "-s", "schema.yaml", "-e", "1", "-o", "odd.json").returncode == 0


def test_training_without_a_schema_is_refused_with_the_remedy(session: Session) -> None:
    message = session.refused("train", "people.csv", "-e", "1", "-o", "x.json", code=4)
    assert "draft one with `privet schema init DATA --target COLUMN -o schema.yaml`" in message


def test_predictions_and_a_frame_that_lacks_a_column(session: Session) -> None:
    result = session("predict", "model.json", "others.csv", "-o", "predictions.csv")
    assert (result.returncode, result.stdout) == (0, "wrote predictions.csv\n")
    assert len(pd.read_csv(session.folder / "predictions.csv")) == 1000
    message = session.refused("predict", "model.json", "lacking.csv", code=4)
    assert "column 'race' is missing" in message


def test_a_damaged_and_a_truncated_model_file_are_refused(session: Session) -> None:
    text = (session.folder / "model.json").read_text()
    (session.folder / "damaged.json").write_text(text.replace('"goal":"accuracy"', '"goal":"readable"'))
    (session.folder / "truncated.json").write_text(text[: len(text) // 2])
    assert text != (session.folder / "damaged.json").read_text()
    assert "the digest does not match" in session.refused("predict", "damaged.json", "others.csv", code=5)
    assert "damaged or cut short" in session.refused("report", "truncated.json", code=5)


def test_a_mistyped_option_or_command_has_exit_code_2(session: Session) -> None:
    assert session("train", "people.csv", "--epsilom", "1").returncode == 2
    assert session("trian").returncode == 2
    assert "no such file" in session.refused("train", "nowhere.csv", "-s", "schema.yaml", "-e", "1", "-o", "x", code=2)


def test_an_accuracy_comes_with_a_warning_and_goes_to_the_page_only_if_public(session: Session) -> None:
    result = session("evaluate", "model.json", "others.csv")
    assert result.returncode == 0
    assert "is itself a disclosure" in result.stderr
    assert session("evaluate", "model.json", "others.csv", "--public", "-o", "evaluation.json").returncode == 0
    result = session("report", "model.json", "--evaluation", "evaluation.json", "-o", "page.html")
    assert (result.returncode, result.stdout) == (0, "wrote page.html\n")
    assert "others.csv" in (session.folder / "page.html").read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium")
def test_the_report_opens_in_chromium(session: Session) -> None:
    with browser() as page:
        page.open(session.folder / "model.html")
        assert page.evaluate("document.title") == "Privacy report: PrivetClassifier"
        assert page.evaluate("document.querySelectorAll('section').length") == 9
        assert page.complaints() == []
        assert len(page.requests()) == 1
