"""From awkward files to a report in at most four commands, without editing the data."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privet.cli import app

pytestmark = pytest.mark.slow
ROWS = 300


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, ROWS)
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, ROWS), unit="D")
    return pd.DataFrame(
        {
            "customer_id": [f"K{number:05d}" for number in range(ROWS)],
            "age": age,
            "income": (age * 100 + rng.integers(0, 999, ROWS)) / 10,
            "town": rng.choice(["Köln", "Genève"], ROWS),
            "since": days,
            "notes": "called twice, will call again",
            "answer": np.where(age > 50, "yes", "no"),
        }
    )


def semicolons(frame, folder):
    frame.to_csv(folder / "table.csv", sep=";", decimal=",", index=False)
    return "table.csv"


def latin(frame, folder):
    text = frame.assign(since=frame.since.dt.strftime("%d.%m.%Y")).to_csv(index=False)
    (folder / "table.csv").write_bytes(text.encode("latin-1"))
    return "table.csv"


def words(frame, folder):
    frame.assign(income=frame.income.where(frame.age % 7 > 0)).to_csv(folder / "table.csv", na_rep="N/A", index=False)
    return "table.csv"


def excel(frame, folder):
    frame.to_excel(folder / "table.xlsx", index=False)
    return "table.xlsx"


def hive(frame, folder):
    frame.assign(year=frame.since.dt.year).to_parquet(folder / "table", partition_cols=["town", "year"], index=False)
    return "table"


def query(frame, folder):
    frame.to_csv(folder / "table.csv", index=False)
    return "duckdb:SELECT * FROM 'table.csv'"


def filled(draft: str) -> str:
    """What a person knows: bounds and lists, by the columns' names."""
    known = {
        "age": ("0", "120"),
        "year": ("2010", "2030"),
        "income": ("0", "2000"),
        "since": ("2010-01-01", "2030-12-31"),
    }
    for name, (low, high) in known.items():
        draft = re.sub(rf"(  {name}: .*?low: )FILL_IN(, high: )FILL_IN", rf"\g<1>{low}\g<2>{high}", draft)
    draft = re.sub(r"(  town: .*?categories: )FILL_IN", r"\g<1>[Köln, Genève]", draft)
    return re.sub(r"(target: .*?categories: )FILL_IN", r'\g<1>["no", "yes"]', draft)


@pytest.mark.parametrize("form", [semicolons, latin, words, excel, hive, query])
def test_an_awkward_file_becomes_a_report_in_four_commands(form, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = form(people(), tmp_path)
    settings = "-s schema.yaml -e 1 -l privatree --set max_depth=2 -o model.json"
    commands = [
        ["schema", "init", table, "-t", "answer", "-o", "schema.yaml"],
        ["schema", "check", "schema.yaml", table],
        ["train", table, *settings.split(" ")],
        ["predict", "model.json", table, "-o", "answers.csv"],
    ]
    for number, command in enumerate(commands):
        result = CliRunner().invoke(app, command)
        assert result.exit_code in ((0, 6) if number == 1 else (0,)), (command, result.output, result.exception)
        if number == 0:
            path = Path("schema.yaml")
            path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert "</html>" in Path("model.html").read_text(encoding="utf-8")
    answers = pd.read_csv("answers.csv")
    assert answers.columns.tolist() == ["customer_id", "notes", "prediction", "probability"]
    assert len(answers) == ROWS
