"""Counting pairs: the Gram matrix of one-hot codes and their sums with the target, both in whole numbers."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.kernels.gradient_histogram import CELL_STATE, GRADIENT_STATE
from privet.kernels.gradients import ONE
from privet.tables.protocol import Block

IntArray = NDArray[np.int64]
Targets = Literal["two", "many", "range"]


@compiled
def _count_pairs(cells: NDArray[Any], offsets: IntArray, group: IntArray, gram: IntArray) -> None:
    n_features = cells.shape[1]
    here = np.zeros(n_features + 1, np.int64)  # the last one is the constant's, which every record has
    here[n_features] = gram.shape[0] - 1
    for row in range(cells.shape[0]):
        for feature in range(n_features):
            here[feature] = group[offsets[feature] + np.int64(cells[row, feature])]
        for first in range(n_features + 1):
            of_first = gram[here[first]]
            for second in range(first, n_features + 1):
                of_first[here[second]] += 1


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Count records by each pair of groups of cells, and by each group alone; the last group holds every record.

    Parameters
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    group : int64 array
        The group of each cell, numbered through all features.
    n_groups : int
        Number of groups, without the last.

    Notes
    -----
    *Privacy.* With d features a record adds one to ``(d + 1)(d + 2) / 2`` counts of the upper triangle.
    """

    offsets: IntArray
    group: IntArray
    n_groups: int

    def __call__(self, block: Block) -> IntArray:
        """Return the upper triangle of an int64 matrix of n_groups + 1 rows."""
        gram = np.zeros((self.n_groups + 1, self.n_groups + 1), np.int64)
        _count_pairs(block.state[CELL_STATE], self.offsets, self.group, gram)
        return gram


def largest_change(target: Targets) -> int:
    """Return the most by which a record changes a sum of the target; gradients are at most one, in their steps."""
    return ONE if target == "range" else 1


@compiled
def _add_targets(
    cells: NDArray[Any], offsets: IntArray, group: IntArray, column: IntArray, value: IntArray, sums: IntArray
) -> None:
    for row in range(cells.shape[0]):
        for feature in range(cells.shape[1]):
            sums[group[offsets[feature] + np.int64(cells[row, feature])], column[row]] += value[row]
        sums[sums.shape[0] - 1, column[row]] += value[row]


@dataclass(frozen=True, eq=False)
class TargetSums:
    """Add up the target by groups of cells; the last group holds every record.

    Parameters
    ----------
    offsets, group, n_groups
        As for `PairCounts`.
    target : {"two", "many", "range"}
        *two*: plus one for the second class, minus one for the first. *many*: one column for each class, which counts.
        *range*: how far the number is above the score, as the loss's gradient has it.
    n_columns : int
        Number of classes for *many*, else one.

    Notes
    -----
    *Privacy.* With d features a record changes ``d + 1`` entries, each by at most `largest`.
    """

    offsets: IntArray
    group: IntArray
    n_groups: int
    target: Targets
    n_columns: int = 1

    @property
    def largest(self) -> int:
        """The most by which a record changes an entry."""
        return largest_change(self.target)

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_groups + 1, n_columns)."""
        target = block.target.astype(np.int64)
        column, value = np.zeros_like(target), np.ones_like(target)
        if self.target == "two":
            value = np.where(target == 1, 1, -1)
        elif self.target == "many":
            column = np.clip(target, 0, self.n_columns - 1)
        else:
            value = -np.asarray(block.state[GRADIENT_STATE], dtype=np.int64)[:, 0]
        sums = np.zeros((self.n_groups + 1, self.n_columns), np.int64)
        _add_targets(block.state[CELL_STATE], self.offsets, self.group, column, value, sums)
        return sums
