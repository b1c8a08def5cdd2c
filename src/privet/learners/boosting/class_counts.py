"""Counting classes by groups of cells: all that class histograms need."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.gradient_histogram import CELL_STATE
from privet.tables.protocol import Block

IntArray = NDArray[np.int64]


@compiled
def _count(cells: NDArray[Any], offsets: IntArray, group: IntArray, label: IntArray, counts: IntArray) -> None:
    for row in range(cells.shape[0]):
        for feature in range(cells.shape[1]):
            counts[group[offsets[feature] + np.int64(cells[row, feature])], label[row]] += 1


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Count the records of each class in each group of cells.

    Parameters
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    group : int64 array
        The group of each cell, numbered through all features.
    n_groups, n_classes : int
        Their numbers.

    Notes
    -----
    *Privacy.* A record adds one to one count of each feature.
    """

    offsets: IntArray
    group: IntArray
    n_groups: int
    n_classes: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (n_groups, n_classes)."""
        label = np.clip(block.target.astype(np.int64), 0, self.n_classes - 1)
        counts = np.zeros((self.n_groups, self.n_classes), np.int64)
        _count(block.state[CELL_STATE], self.offsets, self.group, label, counts)
        return counts
