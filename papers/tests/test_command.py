"""Laws of `privet reproduce`: it lists, runs, goes on where it was stopped, and says in a line what is wrong."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import privet_papers.framework
from privet.cli import app
from privet_papers.framework import command as reproduce
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Cell, Entry, Result, Settings


def privet_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "privet", *arguments], capture_output=True, text=True, check=False, timeout=600
    )


TOY = """
from privet_papers.framework import Cell, Entry

def half(settings, data):
    if settings["n"] == 13:
        raise KeyboardInterrupt
    return {"half": 1 / settings["n"]}

def table(outcomes):
    return [{"n": o.settings["n"], "half": o.result["half"]} for o in outcomes]

def entry(name, numbers):
    cells = [Cell(half, {"n": n}) for n in numbers]
    return Entry(name, "Nobody 2026", "Halves", lambda quick: cells, table, sources=())

ENTRIES = (entry("good", [1, 2]), entry("bad", [1, 0]), entry("stopped", [1, 13]))
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three entries: one works, one fails, one is stopped. Gives the options that keep to a folder."""
    (tmp_path / "toy_commands.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_commands", raising=False)
    monkeypatch.setattr(privet_papers.framework, "MODULES", ("toy_commands",))
    monkeypatch.delenv("PRIVET_DATA", raising=False)
    return ["--out", str(tmp_path / "out"), "--jobs", "1"]


def test_a_mistake_is_one_line_with_the_remedy_and_exit_code_2(tmp_path: Path) -> None:
    result = privet_command("reproduce", "nothing-like-it", "--out", str(tmp_path))
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "privet: no entry is called 'nothing-like-it'; `privet reproduce` lists the names\n"


def test_absent_data_folder_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    result = privet_command("reproduce", "--data", str(tmp_path / "nowhere"))
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "does not exist; give one with --data or PRIVET_DATA" in result.stderr


def test_list_is_the_same_by_its_name_and_runs_nothing(toy: list[str]) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["reproduce", "--list", *toy]).output == runner.invoke(app, ["reproduce", *toy]).output
    refused = runner.invoke(app, ["reproduce", "good", "--list", *toy])
    assert refused.exit_code != 0


def test_list_says_where_results_are_there_without_their_cells(toy: list[str]) -> None:
    runner = CliRunner()
    runner.invoke(app, ["reproduce", "good", *toy])
    shutil.rmtree(Path(toy[1]) / ".cells")
    assert "Halves  [results are there; cells: new]" in runner.invoke(app, ["reproduce", *toy]).output


def test_list_shows_paper_title_and_status(toy: list[str]) -> None:
    runner = CliRunner()
    assert "good     Nobody 2026: Halves  [new]\n" in runner.invoke(app, ["reproduce", *toy]).output
    runner.invoke(app, ["reproduce", "good", *toy])
    runner.invoke(app, ["reproduce", "bad", *toy])
    listed = runner.invoke(app, ["reproduce", *toy]).output.splitlines()
    assert listed[:3] == [
        "good     Nobody 2026: Halves  [done]",
        "bad      Nobody 2026: Halves  [partial, 1 of 2 cells]",
        "stopped  Nobody 2026: Halves  [new]",
    ]
    assert listed[3:] == [f"(none)   {what}: {why}" for what, why in privet_papers.framework.LEFT_OUT]


def test_all_runs_every_entry_and_says_what_changed_beyond_noise(toy: list[str], tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    runner, out = CliRunner(), Path(toy[1])
    runner.invoke(app, ["reproduce", "good", *toy])
    table = (out / "good.csv").read_text(encoding="utf-8").splitlines()
    (earlier / "good.csv").write_text("\n".join([table[0], *(f"{line}9" for line in table[1:])]), encoding="utf-8")
    result = runner.invoke(app, ["reproduce", "--all", "--hours", "0", "--against", str(earlier), *toy])
    assert "good: 0 cells computed, 2 reused" in result.output
    assert "figures changed beyond noise against" in result.output
    assert "the time is up; the same command goes on from there" in result.output
    assert runner.invoke(app, ["reproduce", "good", "--all", *toy]).exit_code != 0


def test_missing_packages_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "EXTRA", ("pandas", "no_such_package"))
    error = CliRunner().invoke(app, ["reproduce"]).exception
    assert str(error) == "reproduce needs no_such_package; pip install privet-papers"


def test_run_says_what_it_did_and_where_the_results_are(toy: list[str]) -> None:
    result = CliRunner().invoke(app, ["reproduce", "good", *toy])
    assert result.exit_code == 0
    out = Path(toy[1])
    assert result.output.splitlines() == [
        "good: 2 cells computed, 0 reused",
        f"good: wrote {out / 'good.csv'}",
        f"good: wrote {out / 'good.md'}",
    ]
    assert "good: 0 cells computed, 2 reused" in CliRunner().invoke(app, ["reproduce", "good", *toy]).output


def test_failed_cells_are_named_and_give_exit_code_1(toy: list[str]) -> None:
    result = CliRunner().invoke(app, ["reproduce", "bad", "good", *toy])
    assert result.exit_code == 1
    assert "bad: failed: {'n': 0}: ZeroDivisionError: " in result.output
    assert "good: 2 cells computed" in result.output


def test_a_misspelt_name_is_told_before_anything_runs(toy: list[str]) -> None:
    result = CliRunner().invoke(app, ["reproduce", "good", "goood", *toy])
    assert "did you mean 'good'?" in str(result.exception)
    assert not Path(toy[1]).exists()


def test_stopping_keeps_finished_cells_and_gives_exit_code_130(toy: list[str]) -> None:
    result = CliRunner().invoke(app, ["reproduce", "stopped", *toy])
    assert result.exit_code == 130
    assert "finished cells are kept" in result.output
    assert "[partial, 1 of 2 cells]" in CliRunner().invoke(app, ["reproduce", *toy]).output


def by_name(settings: Settings, data: DataFolder) -> Result:
    return {"rows": len(data.load(settings["name"]).y)}


def test_data_that_is_absent_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: list[str]) -> None:
    cells = [Cell(by_name, {"name": "gone"}, data=("gone",))]
    entry = Entry("needy", "Nobody 2026", "Rows", lambda quick: cells, lambda outcomes: [], sources=("privet.errors",))
    monkeypatch.setattr(privet_papers.framework, "entries", lambda: {"needy": entry})
    listed = CliRunner().invoke(app, ["reproduce", *toy, "--data", str(tmp_path)])
    assert "[data absent: gone]" in listed.output
