"""What a run has changed against results that were there before, beyond what noise explains."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

Row = dict[str, str]

STANDARD_ERRORS = 4  # beyond this many, a change is no noise
SHARE_OF_RANGE = 0.1  # where a table has no spread: beyond this part of the column's range
SPREADS = ("sd", "deviation", "standard error", "+-", "s.e.", "+- binomial")
REPEATED = ("seeds", "runs", "folds", "trainings")


@dataclass(frozen=True)
class Change:
    """One figure that is not what it was."""

    row: str
    column: str
    before: float
    now: float

    def __str__(self) -> str:
        return f"{self.row}, {self.column}: {self.before:g} before, {self.now:g} now"


def changes(before: Path, now: Path) -> list[Change] | None:
    """Compare two CSV files of one entry; None where their rows are not the same.

    Figures are compared row by row. With a column for the spread of a figure, a change of more than four standard
    errors of the difference counts, else one of more than a tenth of the column's range. Seconds are not compared.
    """
    old, new = _read(before), _read(now)
    if not old or not new or list(old[0]) != list(new[0]) or len(old) != len(new):
        return None
    measured = [name for name in old[0] if _is_measured(name, old, new)]
    if any(_label(a, measured) != _label(b, measured) for a, b in zip(old, new, strict=True)):
        return None
    ranges = {name: _range(name, [*old, *new]) for name in measured}
    return [
        Change(_label(a, measured), name, float(a[name]), float(b[name]))
        for a, b in zip(old, new, strict=True)
        for name in measured
        if a[name] and b[name] and abs(float(a[name]) - float(b[name])) > _noise(name, a, b, ranges[name])
    ]


def _read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _is_measured(name: str, *tables: list[Row]) -> bool:
    """Whether a column holds figures of ours: numbers that differ between the tables."""
    if name in (*SPREADS, *REPEATED) or name.endswith(("(s)", "(paper)", "p")) or ", " in name:
        return False
    columns = [[row[name] for row in table] for table in tables]
    return columns[0] != columns[1] and all(value == "" or _is_number(value) for column in columns for value in column)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _label(row: Row, measured: Iterable[str]) -> str:
    """Return what tells a row from the others: its settings."""
    skipped = {*measured, *SPREADS, *REPEATED}
    settings = {
        name: value for name, value in row.items() if name not in skipped and "(" not in name and ", " not in name
    }
    return ", ".join(value for value in settings.values() if value)


def _range(name: str, rows: list[Row]) -> float:
    values = [float(row[name]) for row in rows if row[name]]
    return max(values) - min(values)


def _noise(name: str, before: Row, now: Row, whole: float) -> float:
    """Return the largest difference that counts as noise."""
    squares = []
    for row in (before, now):
        error = row.get(f"{name}, s.e.", row.get("s.e.", ""))
        if _is_number(error):
            squares.append(float(error) ** 2)
            continue
        spread = next((row[column] for column in (f"{name}, deviation", *SPREADS) if row.get(column)), "")
        if not _is_number(spread):
            return SHARE_OF_RANGE * whole
        n = next((float(row[column]) for column in REPEATED if row.get(column) and _is_number(row[column])), 1.0)
        squares.append(float(spread) ** 2 / max(n, 1.0))
    return STANDARD_ERRORS * math.sqrt(sum(squares))
