"""The day in the life on the page about budgets happens as it is told."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.accounts import opened
from tests.unit.test_cli_commands import run

PAGE = (Path(__file__).parents[2] / "docs" / "budgets.md").read_text(encoding="utf-8")
DAY = PAGE.partition("## A day in the life\n")[2].partition("\n## ")[0]
EXIT_CODES = {"third.json": 3}


@pytest.fixture
def hospital(tmp_path, monkeypatch):
    """A folder with a table of made-up patients."""
    rng, n = np.random.default_rng(0), 2000
    age, stay = rng.integers(18, 91, n), rng.integers(0, 31, n)
    ill = np.where(age / 90 + stay / 30 + rng.normal(0, 0.3, n) > 1.1, "yes", "no")
    ward = rng.choice(["surgery", "cardiology", "other"], n)
    frame = pd.DataFrame({"age": age, "stay": stay, "ward": ward, "readmitted": ill})
    frame[:1500].to_csv(tmp_path / "patients.csv", index=False)
    frame[1500:].to_csv(tmp_path / "held_out.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def masked(text):
    """Replace what is another each time: names of charges, hashes, times, users, the width of columns."""
    if Path("hospital.db").exists():
        with opened("hospital.db") as book:
            text = text.replace(book.who(), "anna")
    text = re.sub(r"\b[0-9a-f]{16}\b", "HASH", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    return re.sub(r" +", " ", text).strip()


def as_told(said, told):
    """Whether an output is the one on the page, where "..." stands for anything."""
    pattern = ".*".join(re.escape(part) for part in masked(told).split("..."))
    return re.fullmatch(pattern, masked(said), re.DOTALL) is not None


def follow_console(block):
    for step in re.split(r"^\$ privet ", block, flags=re.M)[1:]:
        command, _, told = step.partition("\n")
        code, said, problem = run(*shlex.split(command))
        expected = next((code for name, code in EXIT_CODES.items() if name in command), 0)
        assert code == expected, problem
        if expected:  # remarks on how the table was read come before the error
            said = f"privet: {problem.splitlines()[-1]}"
        assert as_told(said, told), f"{command}\n{said}{problem}"


def test_a_day_in_the_life(hospital, capsys):
    steps = re.findall(r"^```(\w+)\n(.*?)^```$", DAY, flags=re.M | re.S)
    assert [kind for kind, _ in steps] == [
        "console",
        "yaml",
        "console",
        "console",
        "console",
        "console",
        "python",
        "console",
    ]
    known = {}
    for kind, block in steps:
        if kind == "console":
            follow_console(block)
        elif kind == "yaml":
            (hospital / "schema.yaml").write_text(block)
        else:
            exec(block, known)
            assert capsys.readouterr().out == "0.5\n"
    assert 1400 < known["patients"] < 1600
    content = json.loads((hospital / "budget.json").read_text())
    assert len(content["charges"]) == 4
    assert all(len(charge["model"]) == 64 for charge in content["charges"][:2])
    assert "The history is sound." in (hospital / "budget.html").read_text()


def test_a_page_that_tells_another_story_would_be_noticed(hospital):
    with pytest.raises(AssertionError):
        follow_console("$ privet budget create hospital.db --dataset patients --epsilon 3\ncreated nothing\n")
