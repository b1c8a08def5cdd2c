"""Laws of running an entry: nothing is computed twice, nothing stale stays, same results make same files."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import privet
import privet_papers.framework
from privet.errors import ParameterError
from privet_papers.framework import find
from privet_papers.framework.data import DOMAINS_ARE_PUBLIC, DataFolder
from privet_papers.framework.entry import Cell, Entry, Result, Settings, WholeProtocol
from privet_papers.framework.output import notes_of, write_page_again
from privet_papers.framework.runner import RunReport, prepare, run

TOY = '''
import os
from pathlib import Path
from matplotlib.figure import Figure
from privet_papers.framework import Cell, Entry

def mean(settings, data):
    """Append to a journal, so that a test can tell what was computed."""
    with Path(os.environ["TOY_JOURNAL"]).open("a") as journal:
        journal.write(f"{settings['name']} {settings['power']}\\n")
    if os.environ.get("TOY_STOP_AT") == settings["name"]:
        raise KeyboardInterrupt
    if os.environ.get("TOY_FAIL_AT") == settings["name"]:
        raise ZeroDivisionError("on purpose")
    if os.environ.get("TOY_RETURN"):
        return {"mean": object()}
    return {"mean": float((data.load(settings["name"]).X["x"] ** settings["power"]).mean())}

def cells(quick):
    powers = [1] if quick else [1, 2]
    return [Cell(mean, {"name": n, "power": p}, data=(n,)) for n in ["first", "second"] for p in powers]

def assemble(outcomes):
    return [{**outcome.settings, **outcome.result} for outcome in outcomes]

def plot(rows):
    figure = Figure()
    axes = figure.subplots()
    for name in dict.fromkeys(row["name"] for row in rows):
        axes.plot([row["mean"] for row in rows if row["name"] == name], label=name)
    axes.legend()
    return figure

ENTRIES = (
    Entry("toy-table-1", "Nobody 2026, Table 1", "Means of powers", cells, assemble, plot, notes=("A toy.",),
          sources=("toy_learner",)),
)
'''


class Room:
    """A folder with data, a toy entry's code, and a journal of the cells that were computed."""

    def __init__(self, folder: Path) -> None:
        self.code, self.data, self.out = folder / "code", folder / "data", folder / "results"
        self.journal = folder / "journal"
        self.code.mkdir()
        self.data.mkdir()
        (self.code / "toy_entry.py").write_text(TOY)
        self.write_learner("def score(x):\n    return x + 1\n")
        self.write_data("first", [1.0, 2.0, 3.0])
        self.write_data("second", [4.0, 6.0])

    def write_learner(self, text: str) -> None:
        (self.code / "toy_learner.py").write_text(text)

    def write_data(self, name: str, values: list[float]) -> None:
        labels = ["a" if row == 0 else "b" for row in range(len(values))]
        pd.DataFrame({"x": values, "target": labels}).to_parquet(self.data / f"{name}.parquet")

    def entry(self) -> Entry:
        return find("toy-table-1")

    def run(self, *, quick: bool = False, jobs: int = 1) -> RunReport:
        self.journal.write_text("")
        return run(self.entry(), DataFolder.at(self.data), self.out, quick=quick, jobs=jobs)

    def computed(self) -> list[str]:
        return self.journal.read_text().splitlines()

    def status(self) -> str:
        return prepare(self.entry(), DataFolder.at(self.data), self.out).status()


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    room = Room(tmp_path)
    monkeypatch.syspath_prepend(room.code)
    monkeypatch.setenv("TOY_JOURNAL", str(room.journal))
    monkeypatch.delenv("PRIVET_DATA", raising=False)
    monkeypatch.delitem(__import__("sys").modules, "toy_entry", raising=False)
    monkeypatch.setattr(privet_papers.framework, "MODULES", ("toy_entry",))
    return room


def test_a_second_run_computes_nothing(room: Room) -> None:
    assert room.run().computed == 4
    again = room.run()
    assert (again.computed, again.reused) == (0, 4)
    assert room.computed() == []


def test_a_stopped_run_goes_on_where_it_was(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_STOP_AT", "second")
    with pytest.raises(KeyboardInterrupt):
        room.run()
    assert room.status() == "partial, 2 of 4 cells"
    monkeypatch.delenv("TOY_STOP_AT")
    assert room.run().reused == 2
    assert room.computed() == ["second 1", "second 2"]
    assert room.status() == "done"


def test_changed_code_is_run_again(room: Room) -> None:
    room.run()
    room.write_learner("def score(x):\n    return x + 2\n")
    assert room.status() == "new"
    assert room.run().computed == 4


def test_changed_comments_and_docstrings_are_not_run_again(room: Room) -> None:
    room.run()
    room.write_learner('"""A learner."""\n\ndef score(x):\n    """Add one."""\n    return x + 1  # why not\n')
    assert room.run().computed == 0


def test_changed_code_of_the_cell_function_is_run_again(room: Room) -> None:
    room.run()
    (room.code / "toy_entry.py").write_text(TOY.replace(".mean())", ".mean()) + 0.5"))
    assert room.run().computed == 4


def test_changed_data_is_run_again_for_its_cells_alone(room: Room) -> None:
    room.run()
    room.write_data("second", [4.0, 8.0])
    assert room.run().reused == 2
    assert room.computed() == ["second 1", "second 2"]
    assert "second,1,6\n" in (room.out / "toy-table-1.csv").read_text()


def test_a_damaged_result_is_computed_again(room: Room) -> None:
    room.run()
    victim = next((room.out / ".cells" / "toy-table-1").glob("*.json"))
    victim.write_text(victim.read_text()[:-20])
    assert room.run().computed == 1


def test_processes_give_the_same_files_as_one_process(room: Room) -> None:
    one = {path.name: path.read_bytes() for path in room.run().files}
    for path in (room.out / ".cells" / "toy-table-1").glob("*.json"):
        path.unlink()
    report = room.run(jobs=2)
    assert report.computed == 4
    assert sorted(room.computed()) == ["first 1", "first 2", "second 1", "second 2"]
    assert {path.name: path.read_bytes() for path in report.files} == one


def test_same_results_give_the_same_bytes(room: Room) -> None:
    first = {path.name: path.read_bytes() for path in room.run().files}
    assert sorted(first) == ["toy-table-1.csv", "toy-table-1.md", "toy-table-1.svg"]
    for name in first:
        (room.out / name).unlink()
    assert {path.name: path.read_bytes() for path in room.run().files} == first
    assert b"<dc:date>" not in first["toy-table-1.svg"]


def test_csv_has_a_row_per_outcome_in_the_order_of_the_cells(room: Room) -> None:
    room.run()
    assert (room.out / "toy-table-1.csv").read_text().splitlines() == [
        "name,power,mean",
        "first,1,2",
        "first,2,4.66667",
        "second,1,5",
        "second,2,26",
    ]


def test_page_says_what_it_assumes_and_how_it_was_made(room: Room) -> None:
    room.run()
    page = (room.out / "toy-table-1.md").read_text()
    assert f"Made by `privet reproduce toy-table-1 --data DIR` with privet {privet.__version__}." in page
    assert "| second | 2 | 26 |" in page
    assert f"- A toy.\n- {DOMAINS_ARE_PUBLIC}\n" in page


def test_quick_results_do_not_replace_full_ones(room: Room) -> None:
    full = room.run().files[0].read_bytes()
    quick = room.run(quick=True)
    assert quick.files[0].parent == room.out / "quick"
    assert (room.out / "toy-table-1.csv").read_bytes() == full
    assert len(quick.files[0].read_text().splitlines()) == 3
    # The reduced settings are a part of the full ones here, so nothing was left to compute.
    assert quick.computed == 0


def test_a_whole_protocol_is_announced_on_the_page_and_computes_only_what_is_more(room: Room) -> None:
    def all_cells() -> list[Cell]:
        return [replace(cell, settings={**cell.settings, "power": p}) for cell in usual.cells(True) for p in (1, 2, 3)]

    usual = room.entry()
    smaller = replace(usual, whole=WholeProtocol(all_cells, "two powers", "three", 2.5))
    data = DataFolder.at(room.data)
    run(smaller, data, room.out)
    announced = "two powers, where the paper has three. All of it takes about 2.5 hours on two cores"
    page = (room.out / "toy-table-1.md").read_text()
    assert announced in page
    assert "`privet reproduce toy-table-1 --whole --data DIR`" in page
    report = run(smaller, data, room.out, whole=True)
    assert (report.computed, report.reused) == (2, 4)
    assert report.files[0] == room.out / "whole" / "toy-table-1.csv"
    of_all = (room.out / "whole" / "toy-table-1.md").read_text()
    assert announced not in of_all
    assert "Made by `privet reproduce toy-table-1 --whole --data DIR` with privet" in of_all
    assert (room.out / "toy-table-1.md").read_text() == page
    with pytest.raises(ParameterError, match="choose one of them"):
        run(smaller, data, room.out, quick=True, whole=True)


def test_a_page_written_again_keeps_table_command_and_version_and_takes_the_notes_of_today(room: Room) -> None:
    room.run()
    page = room.out / "toy-table-1.md"
    page.write_text(page.read_text().replace(f"with privet {privet.__version__}.", "with privet 0.0.1."))
    before = page.read_text()
    write_page_again(replace(room.entry(), notes=("Another note.",)), room.out)
    assert page.read_text() == before.replace("A toy.", "Another note.")
    page.write_text("Nobody knows.")
    with pytest.raises(ParameterError, match="run the entry again"):
        write_page_again(room.entry(), room.out)
    page.unlink()
    with pytest.raises(ParameterError, match="is absent; run the entry"):
        write_page_again(room.entry(), room.out)


def test_pages_name_seeds_and_folds_of_their_cells() -> None:
    cells = [Cell(_nothing, {"seed": seed, "folds": 10}) for seed in (0, 1, 2)]
    entry = Entry("toy", "Nobody 2026", "Nothing", lambda quick: cells, lambda outcomes: [])
    assert notes_of(entry, reads_data=False) == (
        "Public seeds of its cells: 0 to 2; folds of a cell: 10. Noise is not seeded.",
    )


def _nothing(settings: Settings, data: DataFolder) -> Result:
    return {}


def test_absent_data_is_left_out_and_named(room: Room) -> None:
    (room.data / "first.parquet").unlink()
    assert room.status() == "new; data absent: first"
    report = room.run()
    assert report.absent == ("first",)
    assert room.computed() == ["second 1", "second 2"]
    assert "Left out, since the data is absent: first." in (room.out / "toy-table-1.md").read_text()


def test_without_any_data_the_error_says_what_to_give(room: Room) -> None:
    with pytest.raises(ParameterError, match=r"data absent: first, second; give a folder with --data"):
        run(room.entry(), DataFolder.at(None), room.out)


def test_a_failing_cell_costs_no_other_cell(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_FAIL_AT", "first")
    report = room.run()
    assert (report.computed, report.files) == (2, ())
    assert [failure.error for failure in report.failures] == ["ZeroDivisionError: on purpose"] * 2
    monkeypatch.delenv("TOY_FAIL_AT")
    assert room.run().reused == 2


def test_a_result_that_is_not_json_is_a_failure(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_RETURN", "object")
    assert "not JSON serializable" in room.run().failures[0].error


def test_stored_cells_say_what_they_are(room: Room) -> None:
    room.run()
    stored = [json.loads(path.read_text()) for path in (room.out / ".cells" / "toy-table-1").glob("*.json")]
    assert {"name": "first", "power": 2} in [cell["settings"] for cell in stored]
    assert {cell["function"] for cell in stored} == {"toy_entry:mean"}


def test_progress_counts_what_is_left_to_compute(room: Room) -> None:
    room.run(quick=True)
    told: list[tuple[int, int]] = []
    run(
        room.entry(),
        DataFolder.at(room.data),
        room.out,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_fewer_than_one_job_is_refused(room: Room) -> None:
    with pytest.raises(ParameterError, match="jobs must be at least 1, got 0"):
        room.run(jobs=0)
