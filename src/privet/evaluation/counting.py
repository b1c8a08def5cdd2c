"""Kernels that count how a public model does on private records: integers, to which each record adds a bounded part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Model, RegressionModel
from privet.evaluation.cells import ScoreCells
from privet.schema.encoding import RangeTarget
from privet.tables.protocol import Block, Floats, IntArray


@dataclass(frozen=True, eq=False)
class ClassLayout:
    """How the counts of a classifier are laid out, one after the other.

    Attributes
    ----------
    cells : tuple of ScoreCells
        For each score: the share of the second of two classes, or that of each of more classes.
    n_classes : int
        How many classes there are.
    n_groups : int
        How many groups are compared; 0 for none.
    """

    cells: tuple[ScoreCells, ...]
    n_classes: int
    n_groups: int

    @property
    def n_scores(self) -> int:
        """Of how many classes the shares are counted."""
        return len(self.cells)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The length of each part: the cells of each score by truth, the outcomes, the outcomes of each group."""
        outcomes = self.n_classes**2
        return (*(2 * cells.n_cells for cells in self.cells), outcomes, self.n_groups * outcomes)

    def parts(self, counts: IntArray) -> tuple[list[IntArray], IntArray, IntArray]:
        """Take counts apart: cells of each score (2, n_cells), outcomes, and outcomes by group."""
        *of_scores, outcomes, groups = np.split(counts, np.cumsum(self.sizes)[:-1])
        square = (self.n_classes, self.n_classes)
        return [part.reshape(2, -1) for part in of_scores], outcomes.reshape(square), groups.reshape(-1, *square)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """For each score, records by whether they are of that class and by cell; and pairs of true and predicted class.

    *Privacy.* What a record adds depends on that record alone: one to a single cell of each score, one to a single pair
    of classes, and one to a single pair of its group. The predicted class is the one that the objective's
    public weights prefer, also where an estimator's `predict` draws it with coins that depend on a record's place.
    """

    model: Model
    layout: ClassLayout
    group_feature: int | None
    weights: Floats | None = None

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Return the counts of a block."""
        layout, encoding = self.layout, self.model.encoding
        known = np.flatnonzero(block.target >= 0)
        codes, truth = block.codes[:, known], block.target[known].astype(np.int64)
        shares = self.model.votes(np.ascontiguousarray(codes[: encoding.n_features], dtype=encoding.dtype))
        guess = (shares if self.weights is None else shares * self.weights).argmax(axis=1)
        counted = []
        for place, cells in enumerate(layout.cells):
            label = layout.n_classes - layout.n_scores + place
            cell = cells.of(np.ascontiguousarray(shares[:, label]))
            if layout.n_scores == 1:  # a share at the decision to within rounding must be on the side of the prediction
                above = cells.first_above
                cell = np.where(guess == 1, np.maximum(cell, above), np.minimum(cell, above - 1))
            counted.append(np.bincount((truth == label) * cells.n_cells + cell, minlength=2 * cells.n_cells))
        outcome = truth * layout.n_classes + guess
        counted.append(np.bincount(outcome, minlength=layout.n_classes**2))
        if self.group_feature is not None:
            group = codes[self.group_feature].astype(np.int64)
            outcome = group * layout.n_classes**2 + outcome
            counted.append(np.bincount(outcome, minlength=layout.sizes[-1]))
        return np.concatenate(counted).astype(np.int64)


N_SUMS = 5  # of a regressor: records, targets, squares of targets, squared errors, absolute errors
N_GROUP_SUMS = 3  # records, errors, absolute errors


@dataclass(frozen=True, eq=False)
class RegressorSums:
    """Sums over records of a regressor's errors and of the target, all in the target's whole levels.

    *Privacy.* What a record adds depends on that record alone. Targets and predictions are levels from 0 to
    ``levels - 1``, so an error is less than `levels` either way; a target counts from the middle of the range.
    """

    model: RegressionModel
    target: RangeTarget
    n_groups: int
    group_feature: int | None

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Return the sums of a block, then those of each group."""
        encoding = self.model.encoding
        known = np.flatnonzero(block.target >= 0)
        codes, truth = block.codes[:, known], block.target[known].astype(np.int64)
        predicted = self.model.predictions(np.ascontiguousarray(codes[: encoding.n_features], dtype=encoding.dtype))
        errors = truth - _levels(predicted, self.target)
        centred = truth - centre(self.target)
        sums = [len(truth), centred.sum(), (centred**2).sum(), (errors**2).sum(), np.abs(errors).sum()]
        of_groups = np.zeros((self.n_groups, N_GROUP_SUMS), dtype=np.int64)
        if self.group_feature is not None:
            group = codes[self.group_feature].astype(np.int64)
            np.add.at(of_groups, group, np.stack([np.ones_like(errors), errors, np.abs(errors)], axis=1))
        return np.concatenate([np.array(sums, dtype=np.int64), of_groups.ravel()])


def centre(target: RangeTarget) -> int:
    """Return the level in the middle of the range."""
    return (target.levels - 1) // 2


def _levels(targets: Floats, target: RangeTarget) -> IntArray:
    share = (np.clip(targets, target.low, target.high) - target.low) / (target.high - target.low)
    levels: IntArray = np.rint(share * (target.levels - 1)).astype(np.int64)
    return levels
