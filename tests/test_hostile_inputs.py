"""Forty hostile inputs: each ends with its exit code and one line that says what is wrong, and no file is lost."""

import os
import signal
import sys
from pathlib import Path

import pandas as pd
import pytest

from privet import cli

SCHEMA = """\
version: 2
features:
  age: {type: integer, low: 0, high: 120}
  town: {type: categorical, categories: [Lima, Oslo], other: true}
target: {type: categorical, categories: ["no", "yes"]}
target_column: ill
ignored: [id]
"""
TABLE = "id,age,town,ill\n" + "".join(
    f"p{i},{i % 90},{'Lima' if i % 2 else 'Oslo'},{'yes' if i % 3 else 'no'}\n" for i in range(60)
)
TRAIN = "train people.csv -s schema.yaml -e 1 -l privatree --set max_depth=2"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(TABLE)
    Path("schema.yaml").write_text(SCHEMA)
    Path("old.json").write_text("old")
    Path("old.html").write_text("old page")
    Path("inside").mkdir()
    return tmp_path


def run(capsys, monkeypatch, command: str) -> tuple[int, str]:
    """Run a command as the program does; return its exit code and its last line on standard error."""
    monkeypatch.setattr(sys, "argv", ["privet", *command.split()])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as left:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return int(left.value.code or 0), said.strip().splitlines()[-1] if said.strip() else ""


def made(name: str, content: bytes | str):
    return lambda: Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


def wide() -> None:
    Path("wide.csv").write_text(",".join(f"c{i}" for i in range(1_000_000)) + "\n")


CASES = {
    # where a model is to go
    "onto the page": (f"{TRAIN} -o model.html", None, 2, "is where the report page goes"),
    "this folder": (f"{TRAIN} -o .", None, 2, "is a folder; give the name of a file"),
    "a folder": (f"{TRAIN} -o inside", None, 2, "is a folder"),
    "a folder by force": (f"{TRAIN} -o inside --force", None, 2, "is a folder"),
    "no such folder": (f"{TRAIN} -o nowhere/model.json", None, 2, "does not exist; make it"),
    "an old model": (f"{TRAIN} -o old.json", None, 2, "exists; give another name"),
    "an old page": (f"{TRAIN} -o new.json", made("new.html", "x"), 2, "new.html exists"),
    "over the data": (f"{TRAIN} -o people.csv --force", None, 2, "is what the command reads"),
    "over the schema": (f"{TRAIN} -o schema.yaml --force --no-report", None, 2, "is what the command reads"),
    "over a link to the data": (
        f"{TRAIN} -o link.json --force",
        lambda: Path("link.json").symlink_to("people.csv"),
        2,
        "is what the command reads",
    ),
    "a name too long": (f"{TRAIN} -o {'m' * 300}.json", None, 2, "File name too long"),
    "below a file": (f"{TRAIN} -o people.csv/model.json", None, 2, "does not exist"),
    # what is no table
    "an endless pipe": ("train pipe.csv -s schema.yaml -e 1", lambda: os.mkfifo("pipe.csv"), 2, "may never end"),
    "a device": (
        "train zero.csv -s schema.yaml -e 1",
        lambda: Path("zero.csv").symlink_to("/dev/zero"),
        2,
        "may never end",
    ),
    "an endless pipe in a pattern": (
        "train inside*/*.csv -s schema.yaml -e 1",
        lambda: (Path("inside2").mkdir(), os.mkfifo("inside2/pipe.csv")),
        2,
        "may never end",
    ),
    "a million columns in a pattern": ("train wid*.csv -s schema.yaml -e 1", wide, 4, "too many columns"),
    "no SQL": ("train duckdb:SELEC -s schema.yaml -e 1", None, 2, "the query cannot be run"),
    "a million columns": ("train wide.csv -s schema.yaml -e 1", wide, 4, "too many columns"),
    "an empty file": ("train empty.csv -s schema.yaml -e 1", made("empty.csv", ""), 4, "first line is empty"),
    "zero bytes": ("train zeros.csv -s schema.yaml -e 1", made("zeros.csv", bytes(9999)), 4, "zero bytes"),
    "an open quote": ("train q.csv -s schema.yaml -e 1", made("q.csv", TABLE + '"p'), 4, "close its quotes"),
    "a name twice": (
        "train twice.csv -s schema.yaml -e 1",
        made("twice.csv", "age,age,town,ill\n1,1,Lima,no\n"),
        4,
        "occurs more than once",
    ),
    "a name that steers the terminal": (
        "train esc.csv -s schema.yaml -e 1",
        made("esc.csv", "age,\x1b[2Jtown,ill\n1,Lima,no\n"),
        4,
        "did you mean the frame's '\\x1b[2Jtown'",
    ),
    "no Parquet": ("train p.parquet -s schema.yaml -e 1", made("p.parquet", "PAR1"), 4, "not a readable Parquet"),
    "no Excel": ("train p.xlsx -s schema.yaml -e 1", made("p.xlsx", "PK"), 4, "not a readable .xlsx"),
    "no gzip": ("train p.csv.gz -s schema.yaml -e 1", made("p.csv.gz", "x"), 4, "cannot be unpacked"),
    "no format": ("train schema.yaml -s schema.yaml -e 1", None, 2, "cannot tell the format"),
    "an empty folder": ("train inside -s schema.yaml -e 1", None, 2, "in this folder"),
    "no such file": ("train nowhere.csv -s schema.yaml -e 1", None, 2, "no such file or folder"),
    "two tables": (
        "train people.csv more.csv -s schema.yaml -e 1",
        made("more.csv", "a,b\n1,2\n"),
        4,
        "its columns differ",
    ),
    "a missing column": (
        "train few.csv -s schema.yaml -e 1",
        made("few.csv", "Age,town,ill\n1,Lima,no\n"),
        4,
        "'age' is missing; did you mean the frame's 'Age'",
    ),
    # what is no schema
    "50 MB of YAML": (
        "train people.csv -s big.yaml -e 1",
        made("big.yaml", b"a: 1\n" * 10_000_000),
        4,
        "larger than 4 MB",
    ),
    "a pipe of YAML": ("plan -s pipe.yaml", lambda: os.mkfifo("pipe.yaml"), 4, "not a regular file"),
    "deep YAML": ("plan -s deep.yaml", made("deep.yaml", "[" * 5000), 4, "nested deeper"),
    "YAML that runs code": (
        "plan -s code.yaml",
        made("code.yaml", "!!python/object/apply:os.system ['touch inside/x']"),
        4,
        "not a YAML file",
    ),
    "a bomb of aliases": ("plan -s bomb.yaml", made("bomb.yaml", "a: &a [1]\nb: [*a, *a]\n"), 4, "aliases"),
    "an unfinished draft": (
        "plan -s draft.yaml",
        made("draft.yaml", SCHEMA.replace("high: 120", "high: FILL_IN")),
        4,
        "still says FILL_IN",
    ),
    "an unknown type": (
        "plan -s t.yaml",
        made("t.yaml", SCHEMA.replace("integer", "int")),
        4,
        "expected one of numeric",
    ),
    # what is no model
    "a model that is none": ("predict old.json people.csv", None, 5, "damaged or cut short"),
    "a model from a pipe": ("predict m.json people.csv", lambda: os.mkfifo("m.json"), 5, "not a regular file"),
    "a pickle": ("predict p.json people.csv", made("p.json", b"\x80\x04cos\nsystem\n."), 5, "p.json"),
    # options
    "two characters between cells": (f"{TRAIN} --separator ;;", None, 2, "one character"),
    "an unknown encoding": (f"{TRAIN} --encoding klingon", None, 2, "unknown"),
    "no budget": ("train people.csv -s schema.yaml -e 0", None, 2, "epsilon must be positive"),
    "predictions onto the data": (
        "predict old.json people.csv -o people.csv --force",
        None,
        2,
        "what the command reads",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_input_is_refused_with_its_code_and_reason(case, folder, capsys, monkeypatch) -> None:
    command, prepare, code, reason = CASES[case]
    if prepare is not None:
        prepare()
    before = {path: path.read_bytes() for path in (Path("people.csv"), Path("schema.yaml"), Path("old.json"))}
    found, said = run(capsys, monkeypatch, command)
    assert reason in said
    assert found == code
    assert said.startswith("privet: ")
    assert {path: path.read_bytes() for path in before} == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".privet-")]
    assert not list(Path("inside").iterdir())


def test_there_are_forty_of_them() -> None:
    assert len(CASES) >= 40


def test_names_of_records_cannot_run_in_a_spreadsheet(folder, capsys, monkeypatch) -> None:
    Path("evil.csv").write_text(TABLE.replace("p1,", "=cmd|'/c calc'!A1,"))
    monkeypatch.setattr(sys, "argv", ["privet", *TRAIN.split(), "-o", "m.json"])
    for command in (f"{TRAIN} -o m.json", "predict m.json evil.csv -o answers.csv"):
        monkeypatch.setattr(sys, "argv", ["privet", *command.split()])
        before = signal.getsignal(signal.SIGTERM)
        with pytest.raises(SystemExit) as left:
            cli.main()
        signal.signal(signal.SIGTERM, before)
        assert not left.value.code, capsys.readouterr().err
    answers = pd.read_csv("answers.csv")
    assert answers.columns.tolist() == ["id", "prediction", "probability"]
    assert answers.id[1] == "'=cmd|'/c calc'!A1"
    assert answers.id[0] == "p0"


def test_ids_cannot_steer_a_terminal(folder, capsys, monkeypatch) -> None:
    Path("evil.csv").write_text(TABLE.replace("p1,", "\x1b[2Jp1,"))
    run(capsys, monkeypatch, f"{TRAIN} -o m.json")
    for terminal in (True, False):
        monkeypatch.setattr(sys, "argv", ["privet", "predict", "m.json", "evil.csv"])
        monkeypatch.setattr(sys.stdout, "isatty", lambda answer=terminal: answer)
        before = signal.getsignal(signal.SIGTERM)
        with pytest.raises(SystemExit):
            cli.main()
        signal.signal(signal.SIGTERM, before)
        said = capsys.readouterr().out
        assert "p0,no" in said or "p0,yes" in said
        assert "\x1b" not in said
        assert ("\\x1b[2Jp1," in said) == terminal
