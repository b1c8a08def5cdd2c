"""Which learner is chosen for which goal: a small table, made by ``benchmarks/choose.py`` from measurements.

Rows are public facts: the goal, and the *signal*, which is the number of records times epsilon. A test compares the
table with what the measurements in ``docs/results/choose.csv`` say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Goal = Literal["accuracy", "readable", "labels only"]

# Signals at which the choice may change: about the quarters of all pairs in docs/results/accuracy.csv.
QUARTERS = (300.0, 1000.0, 6000.0)


@dataclass(frozen=True)
class Choice:
    """A learner and its settings.

    Attributes
    ----------
    learner : str
        The estimator's name, without "Classifier" or "Regressor".
    settings : mapping of str to value
        Its parameters, where they are not the defaults.
    """

    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join([self.learner, *(f"{name}={value}" for name, value in self.settings.items())])


# For each goal the choice in each quarter of the signal, the smallest first.
CLASSIFIERS: Mapping[str, tuple[Choice, Choice, Choice, Choice]] = {
    "accuracy": (Choice("Boosting"), Choice("Boosting"), Choice("Boosting"), Choice("Boosting")),
    "readable": (
        Choice("PrivaTree", {"max_depth": 3}),
        Choice("PrivaTree", {"max_depth": 3}),
        Choice("PrivaTree"),
        Choice("PrivaTree", {"max_depth": 5}),
    ),
    "labels only": (
        Choice("PrivaTree", {"max_depth": 3, "leaves": "labels"}),
        Choice("PrivaTree", {"max_depth": 3, "leaves": "labels"}),
        Choice("PrivaTree", {"max_depth": 4, "leaves": "labels"}),
        Choice("PrivaTree", {"max_depth": 5, "leaves": "labels"}),
    ),
}

# For a regression target; the tree is planned with fewer levels where the number of records does not pay for them.
REGRESSORS: Mapping[str, Choice] = {"accuracy": Choice("Boosting"), "readable": Choice("PrivaTree")}


def quarter(signal: float) -> int:
    """Return in which quarter a signal is, from 0 to 3."""
    return sum(signal >= border for border in QUARTERS)
