"""What changed between two runs beyond noise, and runs that end by the clock."""

import time
from pathlib import Path

import pytest

from privet_papers.framework.changes import changes
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Cell, Entry
from privet_papers.framework.runner import run


def _write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_change_beyond_four_standard_errors_is_named_and_one_within_is_not(tmp_path):
    before = _write(tmp_path, "a.csv", "data,accuracy,sd,seeds\ncar,0.70,0.02,16\niris,0.90,0.02,16\n")
    now = _write(tmp_path, "b.csv", "data,accuracy,sd,seeds\ncar,0.71,0.02,16\niris,0.80,0.02,16\n")
    found = changes(before, now)
    assert [str(change) for change in found] == ["iris, accuracy: 0.9 before, 0.8 now"]


def test_a_standard_error_of_the_column_itself_is_taken_as_it_is(tmp_path):
    before = _write(tmp_path, "a.csv", 'data,ours,"ours, s.e."\ncar,0.70,0.01\niris,0.90,0.01\n')
    now = _write(tmp_path, "b.csv", 'data,ours,"ours, s.e."\ncar,0.75,0.01\niris,0.80,0.01\n')
    assert [change.row for change in changes(before, now)] == ["iris"]  # .05 is 3.5 standard errors of the difference


def test_without_a_spread_a_tenth_of_the_range_counts(tmp_path):
    before = _write(tmp_path, "a.csv", "data,error\ncar,0\niris,10\n")
    assert [change.row for change in changes(before, _write(tmp_path, "b.csv", "data,error\ncar,0.5\niris,8\n"))] == [
        "iris"
    ]


def test_tables_with_other_rows_are_not_compared(tmp_path):
    before = _write(tmp_path, "a.csv", "data,error\ncar,0\n")
    assert changes(before, _write(tmp_path, "b.csv", "data,error\niris,0\n")) is None
    assert changes(before, _write(tmp_path, "c.csv", "data,error\ncar,0\niris,1\n")) is None
    assert changes(before, _write(tmp_path, "d.csv", "data,mistakes\ncar,0\n")) is None


def square(settings, data):
    """Return a square."""
    return {"square": settings["x"] ** 2}


ENTRY = Entry(
    "squares",
    "Nobody 2000, Table 1",
    "Squares",
    lambda quick: [Cell(square, {"x": x}) for x in range(4)],
    lambda outcomes: [{"x": outcome.settings["x"], **outcome.result} for outcome in outcomes],
    sources=(),
)


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_cell_begins_after_the_deadline_and_the_next_run_goes_on(tmp_path, jobs):
    report = run(ENTRY, DataFolder(None), tmp_path, jobs=jobs, deadline=time.monotonic() - 1)
    assert (report.left, report.computed, report.files) == (4, 0, ())
    later = run(ENTRY, DataFolder(None), tmp_path, jobs=jobs, deadline=time.monotonic() + 3600)
    assert (later.left, later.computed, later.reused) == (0, 4, 0)
    assert [file.name for file in later.files] == ["squares.csv", "squares.md"]
