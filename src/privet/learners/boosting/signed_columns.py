"""Columns of values from -1 to 1, as large as each other, since cube noise is paid for the largest.

A numeric feature has a line by its rank among its cells, and a missing value a column of its own; a feature of two
codes has one column of -1 and 1, one of more has a column for each of them. A record has a single cell of a feature,
hence a value other than zero in at most one of its columns: the columns of a feature are a group of numbers, of which a
record moves one by at most one. All records have a constant, a group by itself, where that is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.rank_counts import FINE
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray
from privet.trees.structure import FeatureCodes

USUAL_MISSING = 0.05  # how many values of a feature are taken to be missing, where some can be
CONSTANT_GROUP = (1,)


@dataclass(frozen=True, eq=False)
class SignedColumns:
    """The columns: every cell of a feature has a value in one of them.

    Attributes
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    column, value : int64 arrays of shape (total number of cells,)
        The cell's column, and its value there, from -`FINE` to `FINE`.
    usual : float64 array of shape (n_columns,)
        The square of a usual record's value in each column, in units of one.
    middle : float64 array of shape (n_columns,)
        A usual record's value in each column, where nothing is known.
    """

    offsets: IntArray
    column: IntArray
    value: IntArray
    usual: Floats
    middle: Floats

    @property
    def n_columns(self) -> int:
        """Their number."""
        return int(self.usual.size)

    @classmethod
    def of(cls, grid: CellGrid, steepness: float = 1.0) -> SignedColumns:
        """Lay out the columns of all features; lines that are steeper reach their ends before the last cell."""
        column, value, usual, middle = list[int](), list[int](), list[float](), list[float]()
        for feature, n_columns in enumerate(columns_of(grid.domains)):
            n_codes, present = int(grid.domains.n_codes[feature]), int(grid.domains.n_cells[feature])
            places, first = range(n_columns), len(usual)
            if grid.domains.ordered[feature]:
                rank = np.clip(steepness * np.linspace(-1, 1, present), -1, 1)
                line = np.rint(FINE * rank).astype(np.int64) * (present > 1)
                missing = n_codes - present
                column += [first] * present + [first + n_columns - 1] * missing
                value += [*line.tolist(), *[FINE] * missing]
                usual += [float((line**2).mean()) / FINE**2] * (n_columns - missing) + [USUAL_MISSING] * missing
                middle += [0.0] * (n_columns - missing) + [USUAL_MISSING] * missing
            elif n_columns > 1:
                column += [first + k for k in places]
                value += [FINE for _ in places]
                usual += [1 / n_columns for _ in places]
                middle += [1 / n_columns for _ in places]
            else:
                column += [first] * n_codes
                value += [-FINE, FINE] if n_codes == 2 else [0]
                usual += [1.0 for _ in places]
                middle += [0.0 for _ in places]
        of_cells = np.array([column, value], dtype=np.int64)
        return cls(grid.cells.offsets, of_cells[0], of_cells[1], np.array(usual), np.array(middle))


@compiled
def _add_by_class(
    cells: NDArray[Any],
    target: NDArray[np.int32],
    offsets: IntArray,
    column: IntArray,
    value: IntArray,
    sums: IntArray,
) -> None:
    for row in range(cells.shape[0]):
        of_class = sums[1 if target[row] == 1 else 0]
        for feature in range(cells.shape[1]):
            cell = offsets[feature] + np.int64(cells[row, feature])
            of_class[column[cell]] += value[cell]
        of_class[-1] += FINE


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Add up the values in all columns, and the constant, of each of two classes' records.

    Notes
    -----
    *Privacy.* A record has one value of each feature, and the constant, all in its class: see `DirectionBase` and
    `ClassMeansBase`, which release the difference of the two, and each of them.
    """

    columns: SignedColumns

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (2, n_columns + 1), the constant's last."""
        of, sums = self.columns, np.zeros((2, self.columns.n_columns + 1), np.int64)
        _add_by_class(block.state[CELL_STATE], block.target, of.offsets, of.column, of.value, sums)
        return sums


def columns_of(domains: FeatureCodes) -> list[int]:
    """Return how many columns each feature has; none where all records have the same code."""
    found = list[int]()
    for ordered, n_codes, n_cells in zip(domains.ordered, domains.n_codes, domains.n_cells, strict=True):
        if ordered:
            found.append(int(n_cells > 1) + int(n_codes - n_cells))
        else:
            found.append(int(n_codes) if n_codes > 2 else int(n_codes) - 1)
    return found


def column_groups(encoding: Encoding) -> tuple[int, ...]:
    """Return the sizes of the groups of columns, one for each feature that has any; without the constant's."""
    return tuple(size for size in columns_of(FeatureCodes.of(encoding)) if size)
