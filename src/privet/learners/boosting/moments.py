"""Adding up products: of every pair of columns that a record's cells stand for, and of columns with the target.

All in whole numbers. That is what a linear regression needs to know of the data, and no more.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.gradient_histogram import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, Norm
from privet.tables.protocol import Block, IntArray

Targets = Literal["two", "many", "range"]

WEIGHT = 64  # what stands for one
CONSTANT = 32  # in the column that every record has; little, since it takes part in every product
_FINE = 10  # bits of the factor that shortens a record


@dataclass(frozen=True, eq=False)
class Design:
    """What each cell puts into which columns.

    Attributes
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    column, value : int64 arrays of shape (total number of cells, most columns of a feature)
        The columns, and the values there, in units of 1 / WEIGHT; zero for nothing.
    n_columns : int
        Their number, without the last one, where every record has CONSTANT.
    norm : {"l1", "l2"}
        What a record's size is: the sum of its values' sizes, or of their squares; the last column's too.
    cap : int
        A record's largest size. A larger one is shortened, its target as well: in a regression it counts for less.
    """

    offsets: IntArray
    column: IntArray
    value: IntArray
    n_columns: int
    norm: Norm
    cap: int

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """What compiled loops take."""
        return self.offsets, self.column, self.value


@compiled
def _times(value: int, factor: int) -> int:
    size = (abs(value) * factor) >> _FINE
    return size if value > 0 else -size


@compiled
def _record(
    cells: NDArray[Any],
    row: int,
    offsets: IntArray,
    column: IntArray,
    value: IntArray,
    squares: bool,
    cap: int,
    at: Any,
    what: Any,
) -> tuple[int, int]:
    """Write down a record's columns and values, the constant's last; return how many there are, and a factor.

    With s the size of a record that is too large, the factor is ``f = floor(2^10 cap / s)``, for squares
    ``floor(sqrt(2^20 cap / s))``. Times f / 2^10, rounded towards zero, values have a size of at most ``s f / 2^10``,
    or ``s f^2 / 2^20``, which is at most the cap. The root is of a number below 2^20 and exact when rounded down.
    """
    n, size, factor = 0, 0, 1 << _FINE
    for feature in range(cells.shape[1]):
        cell = offsets[feature] + np.int64(cells[row, feature])
        for k in range(value.shape[1]):
            if value[cell, k] != 0:
                at[n], what[n] = column[cell, k], value[cell, k]
                n += 1
    what[n] = CONSTANT
    n += 1
    for k in range(n):
        size += what[k] * what[k] if squares else abs(what[k])
    if size > cap:
        factor = int(math.sqrt((cap << (2 * _FINE)) // size)) if squares else (cap << _FINE) // size
        for k in range(n):
            what[k] = _times(what[k], factor)
    return n, factor


@compiled
def _add_pairs(
    cells: NDArray[Any],
    offsets: IntArray,
    column: IntArray,
    value: IntArray,
    squares: bool,
    cap: int,
    gram: IntArray,
) -> None:
    most = cells.shape[1] * value.shape[1] + 1
    at, what = np.zeros(most, np.int64), np.zeros(most, np.int64)
    for row in range(cells.shape[0]):
        n, _ = _record(cells, row, offsets, column, value, squares, cap, at, what)
        at[n - 1] = gram.shape[0] - 1
        for first in range(n):
            of_first, times = gram[at[first]], what[first]
            for second in range(first, n):
                of_first[at[second]] += times * what[second]


@compiled
def _add_targets(
    cells: NDArray[Any],
    offsets: IntArray,
    column: IntArray,
    value: IntArray,
    squares: bool,
    cap: int,
    place: IntArray,
    target: IntArray,
    sums: IntArray,
) -> None:
    most = cells.shape[1] * value.shape[1] + 1
    at, what = np.zeros(most, np.int64), np.zeros(most, np.int64)
    for row in range(cells.shape[0]):
        n, factor = _record(cells, row, offsets, column, value, squares, cap, at, what)
        at[n - 1], times = sums.shape[0] - 1, _times(target[row], factor)
        for k in range(n):
            sums[at[k], place[row]] += what[k] * times


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Add up the products of every two columns, and the squares; the last column is the constant.

    Notes
    -----
    *Privacy.* With v a record's values, it adds ``v_i v_j`` to each entry of the upper triangle. Their sizes add up to
    ``((sum of |v|)^2 + sum of v^2) / 2``, their squares to ``((sum of v^2)^2 + sum of v^4) / 2``.
    """

    design: Design

    def __call__(self, block: Block) -> IntArray:
        """Return the upper triangle of an int64 matrix of n_columns + 1 rows."""
        of = self.design
        gram = np.zeros((of.n_columns + 1, of.n_columns + 1), np.int64)
        _add_pairs(block.state[CELL_STATE], *of.arrays, of.norm == "l2", of.cap, gram)
        return gram


def largest_target(target: Targets) -> int:
    """Return the largest value that a record's target can have; gradients are at most one, in their steps."""
    return ONE if target == "range" else WEIGHT


@dataclass(frozen=True, eq=False)
class TargetMoments:
    """Add up the products of every column with the target; the last column is the constant.

    Parameters
    ----------
    design : Design
        The columns.
    target : {"two", "many", "range"}
        *two*: plus WEIGHT for the second class, minus for the first. *many*: WEIGHT for the own class, in its column.
        *range*: how far a regression target is above the score, as the loss's gradient has it.
    n_targets : int
        Number of classes for *many*, else one.

    Notes
    -----
    *Privacy.* A record changes each entry for one target by its value in that column, times `largest_target` at most.
    """

    design: Design
    target: Targets
    n_targets: int = 1

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_columns + 1, n_targets)."""
        of, target = self.design, block.target.astype(np.int64)
        place, times = np.zeros_like(target), np.full_like(target, WEIGHT)
        if self.target == "two":
            times = np.where(target == 1, WEIGHT, -WEIGHT)
        elif self.target == "many":
            place = np.clip(target, 0, self.n_targets - 1)
        else:
            times = -np.asarray(block.state[GRADIENT_STATE], dtype=np.int64)[:, 0]
        sums = np.zeros((of.n_columns + 1, self.n_targets), np.int64)
        _add_targets(block.state[CELL_STATE], *of.arrays, of.norm == "l2", of.cap, place, times, sums)
        return sums
