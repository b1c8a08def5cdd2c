"""From losses on made-up records to losses on real ones: lines that were fitted on real data sets.

Made-up records are not real ones. How the two go together was measured on the benchmark's tuning sets, by
``benchmarks/forecast.py``: for each learner, and for two classes, many classes and regression each by itself, the
expected loss, and the two ends of a band that held nine in ten of the losses on these sets. Ten sets are few, so an
end of a learner's band is the farther one of its own and of that of all learners together. They are in
``calibration.csv``, beside this file, together with how often the band held on data sets that were not used. A test
compares the file with the measurements.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

POOLED = "any"  # learners that were not measured: all others together
Target = Literal["two classes", "many classes", "regression"]
ENDS = ("low", "high")


@dataclass(frozen=True)
class StraightLine:
    """A straight line: ``base + slope * rehearsed``."""

    base: float
    slope: float

    def __call__(self, rehearsed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return heights."""
        return np.asarray(self.base + self.slope * rehearsed)


@dataclass(frozen=True)
class Calibration:
    """What was learned about a learner's losses, and how well that holds.

    Attributes
    ----------
    learner : str
        The estimator's name, or "any" for all of them together.
    target : {"two classes", "many classes", "regression"}
        What is predicted.
    low, high : tuple of StraightLine
        The ends of the band, over losses on made-up records: the farthest of these lines counts.
    factor : float
        The expected loss is so many times the square root of the loss on made-up records, both in points: where nothing
        is lost on these, nothing is expected to be lost; and small losses on few made-up records stand for larger ones
        on many real ones.
    tasks, pairs : int
        Data sets, and pairs of a data set and an epsilon, on which the band was checked; none of them was used for the
        lines.
    inside : int
        In how many of these pairs the measured loss was inside the band.
    width : float
        The band's median width in these pairs, in points.
    """

    learner: str
    target: Target
    low: tuple[StraightLine, ...]
    high: tuple[StraightLine, ...]
    factor: float
    tasks: int
    pairs: int
    inside: int
    width: float

    @property
    def in_words(self) -> str:
        """How often the band held."""
        whom = "all learners together" if self.learner == POOLED else self.learner
        return (
            f"Checked with {whom} on {self.tasks} data sets ({self.target}) that were not used for calibration, the "
            f"measured loss was inside the band in {self.inside} of {self.pairs} cases "
            f"({self.inside / self.pairs:.0%}); half of these bands were at most {self.width:.0f} points wide."
        )

    def band(self, rehearsed: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return low, expected and high losses for losses on made-up records, none above the next."""
        expected = self.factor * np.sqrt(np.maximum(rehearsed, 0))
        lowest = np.min([expected, *(line(rehearsed) for line in self.low)], axis=0)
        highest = np.max([expected, *(line(rehearsed) for line in self.high)], axis=0)
        return lowest, expected, highest


def target_of(n_classes: int) -> Target:
    """Return what is predicted, for a number of classes; none means regression."""
    return "regression" if n_classes == 0 else "two classes" if n_classes <= 2 else "many classes"


def calibration_of(learner: str, target: Target) -> Calibration:
    """Return the calibration of an estimator for what it predicts, or that of all together if it was not measured."""
    known = calibrations()
    return known.get((learner, target)) or known[POOLED, target]


@cache
def calibrations() -> dict[tuple[str, str], Calibration]:
    """Return all calibrations, by the estimators' names and what they predict."""
    text = files("privet.forecast").joinpath("calibration.csv").read_text("utf-8")
    rows = {(row["learner"], row["target"]): row for row in csv.DictReader(text.splitlines())}
    return {key: _calibration(row, rows[POOLED, row["target"]]) for key, row in rows.items()}


def _calibration(row: dict[str, str], pooled: dict[str, str]) -> Calibration:
    low, high = (tuple(dict.fromkeys(_line(given, end) for given in (row, pooled))) for end in ENDS)
    checked = int(row["tasks"]), int(row["pairs"]), int(row["inside"]), float(row["width"])
    return Calibration(row["learner"], cast(Target, row["target"]), low, high, float(row["factor"]), *checked)


def _line(row: dict[str, str], end: str) -> StraightLine:
    return StraightLine(float(row[f"{end}_base"]), float(row[f"{end}_slope"]))
