"""Columns of values from -1 to 1, as large as each other, since cube noise is paid for the largest.

A numeric feature has a line by its rank among its cells, and a missing value a column of its own. Each category but the
first has a column, and a record of the first category counts against all of them: a feature of two categories has one
column of -1 and 1, and no feature has more columns than it can tell apart, as cube noise grows with their number. All
that a record adds to a feature's columns is of size one at most: they are a group of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, eq=False)
class SignedColumns:
    """The columns: every cell of a feature has a value, in one of them or in several that follow each other.

    Attributes
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    column, width : int64 arrays of shape (total number of cells,)
        The first column in which the cell has a value, and in how many; none of features that are not measured.
    value : int64 array of shape (total number of cells,)
        The value there, from -`FINE` to `FINE`; times the width no more than that.
    usual : float64 array of shape (n_columns,)
        The square of a usual record's value in each column, in units of one.
    middle : float64 array of shape (n_columns,)
        The mean of all records' values in each column; where nothing is known of it, of equally frequent values.
    """

    offsets: IntArray
    column: IntArray
    width: IntArray
    value: IntArray
    usual: Floats
    middle: Floats

    @property
    def n_columns(self) -> int:
        """Their number."""
        return int(self.usual.size)

    @classmethod
    def of(
        cls,
        grid: CellGrid,
        steepness: float = 1.0,
        measured: Sequence[int] | None = None,
        means: Floats | None = None,
    ) -> SignedColumns:
        """Lay out the columns of these features in this order, default all; steep lines reach their ends early.

        Where the means of these columns are known, with lines that are not steep, lines are zero there.
        """
        order = range(grid.domains.n_codes.size) if measured is None else measured
        of_feature = {feature: _columns_of_feature(grid, feature, steepness) for feature in order}
        if means is not None:
            ends = np.cumsum([of.usual.size for of in of_feature.values()])
            of_each = dict(zip(order, np.split(means, ends[:-1]), strict=True))
            of_feature = {feature: _columns_of_feature(grid, feature, steepness, of_each[feature]) for feature in order}
        sizes = [of_feature[feature].usual.size for feature in order]
        first = dict(zip(order, np.cumsum([0, *sizes])[:-1].tolist(), strict=True))
        column, width, value = (np.zeros(grid.cells.offsets[-1], np.int64) for _ in range(3))
        for feature, of in of_feature.items():
            cells = slice(grid.cells.offsets[feature], grid.cells.offsets[feature + 1])
            column[cells], width[cells], value[cells] = first[feature] + of.column, of.width, of.value
        usual, middle = (
            np.concatenate([getattr(of_feature[feature], name) for feature in order] or [np.zeros(0)])
            for name in ("usual", "middle")
        )
        return cls(grid.cells.offsets, column, width, value, usual, middle)

    def score_of_cells(self, weights: Floats) -> Floats:
        """Return what each cell gives: the sum of its values times the weights of their columns."""
        return self.value / FINE * self._sum_over_columns(weights)

    def deviation_of_cells(self, deviations: Floats) -> Floats:
        """Return the deviation of that, where each column's weight has a deviation of its own."""
        spread: Floats = np.abs(self.value) / FINE * np.sqrt(np.maximum(self._sum_over_columns(deviations**2), 0))
        return spread

    def _sum_over_columns(self, of_columns: Floats) -> Floats:
        up_to = np.concatenate([[0.0], np.cumsum(of_columns)])
        total: Floats = up_to[self.column + self.width] - up_to[self.column]
        return total


@dataclass(frozen=True, eq=False)
class _FeatureColumns:
    """The columns of one feature, numbered from zero: of its cells, and of each column."""

    column: IntArray
    width: IntArray
    value: IntArray
    usual: Floats
    middle: Floats


def _columns_of_feature(grid: CellGrid, feature: int, steepness: float, means: Floats | None = None) -> _FeatureColumns:
    n_codes, present = int(grid.domains.n_codes[feature]), int(grid.domains.n_cells[feature])
    ordered = bool(grid.domains.ordered[feature])
    if means is None:
        return _line(present, n_codes - present, steepness) if ordered else _categories(n_codes)
    if not ordered or present == 1:
        return replace(_columns_of_feature(grid, feature, steepness), middle=means)
    found = _line(present, n_codes - present, steepness, float(means[0]))
    return replace(found, middle=np.append(0.0, means[1:]))


def _line(present: int, missing: int, steepness: float, centre: float = 0.0) -> _FeatureColumns:
    """Return a line by the rank among cells, unless there is only one, and a column where values can be missing."""
    lines = int(present > 1)
    rank = np.clip(steepness * (np.linspace(-1, 1, present) - centre), -1, 1) * lines
    line = np.rint(FINE * rank).astype(np.int64)
    square = float((line**2).mean()) / FINE**2
    return _FeatureColumns(
        column=np.repeat([0, lines], [present, missing]),
        width=np.repeat([lines, 1], [present, missing]),
        value=np.concatenate([line, [FINE] * missing]).astype(np.int64),
        usual=np.repeat([square, USUAL_MISSING], [lines, missing]),
        middle=np.repeat([0.0, USUAL_MISSING], [lines, missing]),
    )


def _categories(n_codes: int) -> _FeatureColumns:
    """Return a column for each category but the first, which counts against all of them together."""
    n_columns = n_codes - 1
    against = FINE // max(n_columns, 1)
    return _FeatureColumns(
        column=np.maximum(np.arange(n_codes) - 1, 0),
        width=np.minimum(np.repeat([n_columns, 1], [1, n_columns]), n_columns),
        value=np.repeat([-against if n_columns else 0, FINE], [1, n_columns]),
        usual=np.full(n_columns, (1 + (against / FINE) ** 2) / n_codes),
        middle=np.full(n_columns, (1 - against / FINE) / n_codes),
    )


@compiled
def _add_by_class(
    cells: NDArray[Any],
    target: NDArray[np.int32],
    offsets: IntArray,
    column: IntArray,
    width: IntArray,
    value: IntArray,
    sums: IntArray,
) -> None:
    for row in range(cells.shape[0]):
        of_class = sums[1 if target[row] == 1 else 0]
        for feature in range(cells.shape[1]):
            cell = offsets[feature] + np.int64(cells[row, feature])
            for k in range(column[cell], column[cell] + width[cell]):
                of_class[k] += value[cell]


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Add up the values in all columns of each of two classes' records.

    Notes
    -----
    *Privacy.* A record adds to the columns of each feature no more than `FINE`, all of them together, all in its class:
    see `privet.learners.boosting.class_means.ClassMeans` and `privet.learners.boosting.direction_base.DirectionBase`.
    """

    columns: SignedColumns

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (2, n_columns)."""
        of, sums = self.columns, np.zeros((2, self.columns.n_columns), np.int64)
        _add_by_class(block.state[CELL_STATE], block.target, of.offsets, of.column, of.width, of.value, sums)
        return sums


def columns_of(domains: FeatureCodes) -> list[int]:
    """Return how many columns each feature has; none where all records have the same code."""
    lines = (domains.n_cells > 1).astype(np.int64) + domains.n_codes - domains.n_cells
    found: list[int] = np.where(domains.ordered, lines, domains.n_codes - 1).tolist()
    return found


def column_groups(encoding: Encoding) -> tuple[int, ...]:
    """Return the sizes of the groups of columns, one for each feature that has any; without the constant's."""
    return tuple(size for size in columns_of(FeatureCodes.of(encoding)) if size)
