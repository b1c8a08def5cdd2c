"""How candidates are compared: a sum over held-out records, to which each of them adds a bounded whole number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.learning import Model
from privet.schema.encoding import ClassTarget, Encoding, RangeTarget
from privet.tables.protocol import Block, Floats, IntArray
from privet.tables.recoded import recode, recoding

FULL = 1 << 10  # what a record adds at most, in whole steps

Scoring = str | Mapping[Any, float] | None


@dataclass(frozen=True, eq=False)
class Judged:
    """A model as it predicts, and how the table's codes become its own.

    Attributes
    ----------
    model : Model
        What was learned.
    weights : float array or None
        What shares are multiplied by before the largest wins.
    codes : tuple of arrays or None
        The model's code for each code of the table, by feature; None where they are the same.
    """

    model: Model
    weights: Floats | None
    codes: tuple[NDArray[Any], ...] | None

    @staticmethod
    def of(model: Model, weights: Floats | None, table: Encoding) -> Judged:
        """Look at a model through a table in this encoding."""
        same = model.encoding == table
        return Judged(model, weights, None if same else recoding(table, model.encoding))

    def own_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the model's own codes of a block."""
        return np.ascontiguousarray(codes if self.codes is None else recode(codes, self.codes))


@dataclass(frozen=True, eq=False)
class Points:
    """Kernel: the points of each candidate.

    A record of class c that is predicted rightly gives ``worth[c]`` points, at most `FULL`; others give none. A record
    of a regression target gives `FULL` less its absolute error in units of the range.

    *Privacy.* What a record adds depends on that record alone, and lies between 0 and `FULL` for every candidate: one
    direction, so the range of all changes together is `FULL`.
    """

    judged: tuple[Judged, ...]
    worth: tuple[int, ...]  # of each class; empty for a regression target

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Return the points of a block."""
        known = np.flatnonzero(block.target >= 0)
        codes, truth = block.codes[:, known], block.target[known].astype(np.int64)
        return np.array([self._of(judged, codes, truth) for judged in self.judged], dtype=np.int64)

    def _of(self, judged: Judged, codes: NDArray[Any], truth: IntArray) -> int:
        model: Any = judged.model
        own = judged.own_codes(codes)
        if not self.worth:
            target = model.encoding.target
            share = (np.clip(model.predictions(own), target.low, target.high) - target.low) / (target.high - target.low)
            errors = np.abs(share - truth / (target.levels - 1))
            return int(FULL * len(truth) - np.ceil(FULL * np.minimum(errors, 1.0)).astype(np.int64).sum())
        shares = model.votes(own)
        guess = (shares if judged.weights is None else shares * judged.weights).argmax(axis=1)
        return int(np.array(self.worth, dtype=np.int64)[truth[guess == truth]].sum())


@dataclass(frozen=True)
class ClassSizes:
    """Kernel: how many records of each class there are. A record adds one to one of the counts."""

    n_classes: int

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Return the counts of a block."""
        return np.bincount(block.target[block.target >= 0], minlength=self.n_classes).astype(np.int64)


def check_scoring(scoring: Any, encoding: Encoding) -> None:
    """Raise `ParameterError` unless candidates can be compared like that. No record is looked at."""
    if isinstance(encoding.target, RangeTarget):
        if scoring not in (None, "absolute_error"):
            raise ParameterError(f"scoring for a regression target is 'absolute_error', got {scoring!r:.60}")
        return
    if isinstance(scoring, Mapping):
        costs = list(scoring.values())
        numbers = all(isinstance(c, int | float) and not isinstance(c, bool) and 0 < c < float("inf") for c in costs)
        if set(scoring) != set(encoding.target.classes) or not numbers:
            raise ParameterError("scoring: costs must have a positive number for each class of the schema")
    elif scoring not in (None, "accuracy", "balanced_accuracy"):
        raise ParameterError(
            f"scoring must be 'accuracy', 'balanced_accuracy' or costs by class, got {scoring!r:.60}: other measures, "
            "F1 among them, are no sums over records, for which a bound on one record's part is known"
        )


def public_worth(scoring: Scoring, encoding: Encoding) -> tuple[int, ...]:
    """Return what a rightly predicted record of each class is worth, where that is public."""
    if not isinstance(encoding.target, ClassTarget):
        return ()
    if not isinstance(scoring, Mapping):
        return (FULL,) * encoding.n_classes
    costs = [float(scoring[label]) for label in encoding.target.classes]
    return _steps(np.array(costs))


def balanced_worth(sizes: Sequence[int] | IntArray) -> tuple[int, ...]:
    """Return the worth that makes all classes count alike, from their released sizes; the rarest counts in full."""
    return _steps(1 / np.maximum(np.asarray(sizes, dtype=np.float64), 1.0))


def _steps(worth: Floats) -> tuple[int, ...]:
    return tuple(max(1, int(step)) for step in np.floor(worth / worth.max() * FULL))
