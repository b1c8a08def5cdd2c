"""An additive model in one shot: a ridge regression from noisy sums of products.

A category has a column of its own. A numeric feature enters by its rank among its cells, as a line, and for Gaussian
noise as a bend as well. That there are so few columns is what makes it cheap: a record's size, for which noise is paid,
hardly depends on how finely features are described, but noise adds up over columns.

A linear regression needs to know of the data the products of every two columns, and of columns with the target: kernels
add them up in whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.learners.boosting.cells import (
    LOG_ODDS_SLOPE,
    BaseTables,
    CellGrid,
    TargetKind,
    frequencies_of_sums,
    in_fixed_point,
    kind_of_target,
)
from privet.learners.boosting.column_sizes import CONSTANT, SIZES, WEIGHT, ColumnSizes, line_and_bend
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, Norm
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table

_FINE = 10  # bits of the factor that shortens a record
MOST_COLUMNS = 400  # beyond this the noise of so many pairs drowns the signal, and the matrix takes long to solve


@dataclass(frozen=True)
class RegressionPlan:
    """The two releases of a base that is a regression."""

    base: AdditiveBase
    pairs: Event
    sums: Event

    @property
    def events(self) -> tuple[Event, ...]:
        """Products of columns, then those with the target."""
        return self.pairs, self.sums


@dataclass(frozen=True)
class AdditiveBase:
    """Plans and runs the two releases of the base.

    Parameters
    ----------
    norm : {"l1", "l2"}
        What a record's size is: l1 for pure epsilon, l2 for zCDP.
    bends : bool
        Whether a numeric feature has a bend beside its line, where sizes are squares.

    Notes
    -----
    *Privacy.* A record's values v in all columns have a size of at most c, since larger records are shortened (see
    `Design`). It adds ``v_i v_j`` to every pair of columns, in the upper triangle: by how much that moves all of them,
    `ColumnSizes.largest_products` says and proves. The sums with the target change by v times the target: by at most c
    times the largest target, or, for squares, c times its square. Everything is in whole numbers, then solving is
    post-processing.
    """

    norm: Norm = "l2"
    bends: bool = True

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, levels: int = 0) -> RegressionPlan:
        """Plan noise on the products of columns, and on those with the target: half of the budget each."""
        half = None if share is None else share * Fraction(1, 2)
        pairs = self.plan_pairs(encoding, terms, half, levels)
        return RegressionPlan(self, pairs, self.plan_sums(encoding, terms, half))

    def plan_pairs(self, encoding: Encoding, terms: Terms, share: Share | None, levels: int = 0) -> Event:
        """Plan noise on the products of columns; `levels` says how many times cells of numeric features are halved."""
        self._check(share)
        of_pairs = self._sizes.largest_products(encoding, levels)
        ordered = any(column.ordered for column in encoding.columns)
        return terms.noise("base: products of columns", share, l1=of_pairs, l2_squared=of_pairs, signed=ordered)

    def plan_sums(self, encoding: Encoding, terms: Terms, share: Share | None, step: str = "") -> Event:
        """Plan noise on the products with the target."""
        self._check(share)
        target, power = kind_of_target(encoding), 1 if self.norm == "l1" else 2
        signed = target != "many" or any(column.ordered for column in encoding.columns)
        of_sums = self.cap(encoding) * largest_target(target) ** power
        name = f"base: products with the target{step}"
        return terms.noise(name, share, l1=of_sums, l2_squared=of_sums, signed=signed)

    def run(
        self, table: Table, release: Release, plan: RegressionPlan, grid: CellGrid, start: BaseTables
    ) -> BaseTables:
        """Release both, and solve, for classes."""
        encoding, target = table.encoding, kind_of_target(table.encoding)
        design, gram = self.products(table, release, plan.pairs, grid)
        n_targets, unit = encoding.n_classes if target == "many" else 1, WEIGHT * largest_target(target)
        sums = release.noisy(table.aggregate(TargetMoments(design, target, n_targets)), plan.sums) / unit
        inverse = _inverse(gram, penalty_of(plan.pairs, len(gram)))
        of_cells = cell_values(design) @ inverse
        common, tables = inverse[-1] @ sums * CONSTANT / WEIGHT, of_cells @ sums
        noise = np.sqrt((of_cells**2).sum(axis=1)) * plan.sums.deviation / unit
        if target == "many":
            common = common - common.mean()
        count = count_of_products(gram)
        return replace(
            start,
            start=in_fixed_point(LOG_ODDS_SLOPE * common),
            tables=in_fixed_point(LOG_ODDS_SLOPE * tables),
            noise=LOG_ODDS_SLOPE * noise,
            n_records=max(count, 1.0),
            frequencies=frequencies_of_sums(count, sums[-1] / (CONSTANT / WEIGHT)),
        )

    def products(self, table: Table, release: Release, planned: Event, grid: CellGrid) -> tuple[Design, Floats]:
        """Release the products of columns; return the columns, and the matrix of products."""
        design, known = self.design(table.encoding, grid)
        n, (rows, columns) = design.n_columns + 1, np.nonzero(np.triu(~known))
        gram = np.zeros((n, n))
        products = table.aggregate(PairMoments(design))[rows, columns]
        gram[rows, columns] = gram[columns, rows] = release.noisy(products, planned) / WEIGHT**2
        alone = np.flatnonzero(np.diag(known))
        gram[alone, alone] = gram[alone, -1] * self._sizes.category / CONSTANT
        return design, gram

    def design(self, encoding: Encoding, grid: CellGrid) -> tuple[Design, NDArray[np.bool_]]:
        """Return what each cell puts into which columns, and which products need not be measured.

        Of public facts and released quantiles. No record has two categories of one feature.
        """
        width, category = self._sizes.functions, self._sizes.category
        columns, values, feature_of = list[list[int]](), list[list[int]](), list[int]()
        for feature, n_codes in enumerate(grid.domains.n_codes.tolist()):
            alone = n_codes
            if grid.domains.ordered[feature]:
                present = int(grid.domains.n_cells[feature])
                columns += [[len(feature_of) + k for k in range(width)]] * present
                values += line_and_bend(present, width).tolist()
                feature_of += [-1] * width
                alone = n_codes - present  # a missing value has no rank
            columns += [[len(feature_of) + k] * width for k in range(alone)]
            values += [[category] + [0] * (width - 1)] * alone
            feature_of += [feature] * alone
        column, value = (np.array(rows, dtype=np.int64).reshape(-1, width) for rows in (columns, values))
        of = np.array([*feature_of, -1])
        known = (of[:, np.newaxis] == of) & (of >= 0)
        return Design(grid.cells.offsets, column, value, len(feature_of), self.norm, self.cap(encoding)), known

    def n_columns(self, encoding: Encoding) -> int:
        """Return how many columns there are, the constant's left out; known from the schema alone."""
        return sum(
            self._sizes.functions + (column.missing_code is not None) if column.ordered else column.n_codes
            for column in encoding.columns
        )

    def fits(self, encoding: Encoding) -> bool:
        """Whether there are few enough columns for a base; known from the schema alone."""
        return self.n_columns(encoding) <= MOST_COLUMNS

    def cap(self, encoding: Encoding) -> int:
        """Return a record's largest size."""
        return self._sizes.cap(encoding)

    def most_values(self, encoding: Encoding) -> int:
        """Return in how many columns a record has a value at most, the constant's included."""
        return 1 + sum(self._sizes.functions if column.ordered else 1 for column in encoding.columns)

    @property
    def _sizes(self) -> ColumnSizes:
        sizes = SIZES[self.norm]
        return sizes if self.bends else replace(sizes, functions=1)

    def _check(self, share: Share | None) -> None:
        if share is not None and (share.epsilon is not None) != (self.norm == "l1"):
            raise ParameterError(f"a base whose records have {self.norm} sizes is paid for in the other measure")

    def __str__(self) -> str:
        numeric = "a line" if self._sizes.functions == 1 else "a line and a bend"
        return f"a regression on {numeric} of each numeric feature, and on all categories"


def cell_values(design: Design) -> Floats:
    """Return the values of each cell in all columns; none in the constant's."""
    matrix = np.zeros((len(design.column), design.n_columns + 1))
    for column, value in zip(design.column.T, design.value.T, strict=True):
        matrix[np.arange(len(matrix)), column] += value / WEIGHT
    return matrix


def count_of_products(gram: Floats) -> float:
    """Return about how many records there are, from the constant's square; shortened records count for less."""
    return float(gram[-1, -1]) / (CONSTANT / WEIGHT) ** 2


def penalty_of(pairs: Event, n_columns: int) -> float:
    """Return a penalty as large as the eigenvalues that the noise alone would have."""
    return max(pairs.deviation / WEIGHT**2 * math.sqrt(n_columns), 1.0)


def _inverse(gram: Floats, penalty: float) -> Floats:
    """Invert with a penalty, and with eigenvalues, which noise can make negative, held above zero."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    inverse: Floats = (vectors / (np.maximum(eigenvalues, 0.0) + penalty)) @ vectors.T
    return inverse


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
def shortened(value: int, factor: int) -> int:
    """Return a value times the factor of a record, rounded towards zero."""
    size = (abs(value) * factor) >> _FINE
    return size if value > 0 else -size


@compiled
def factor_of(size: int, cap: int, squares: bool) -> int:
    """Return what a record of this size is to be shortened by, in steps of 2^-10, so that its size is within the cap.

    For s above the cap that is ``f = floor(2^10 cap / s)``, for squares ``floor(sqrt(2^20 cap / s))``. Times f / 2^10,
    rounded towards zero, values have a size of at most ``s f / 2^10``, or ``s f^2 / 2^20``, which is at most the cap.
    The root is of a number below 2^20 and exact when rounded down.
    """
    if size <= cap:
        return 1 << _FINE
    return int(math.sqrt((cap << (2 * _FINE)) // size)) if squares else (cap << _FINE) // size


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
    """Write down a record's columns and values, the constant's last; return how many there are, and its factor.

    Where it is too large, values are shortened by the factor, see `factor_of`.
    """
    n, size = 0, 0
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
    factor = factor_of(size, cap, squares)
    if size > cap:
        for k in range(n):
            what[k] = shortened(what[k], factor)
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
        at[n - 1], times = sums.shape[0] - 1, shortened(target[row], factor)
        for k in range(n):
            sums[at[k], place[row]] += what[k] * times


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Add up the products of every two columns, and the squares; the last column is the constant.

    Notes
    -----
    *Privacy.* With v a record's values, it adds ``v_i v_j`` to each entry of the upper triangle: at most
    `ColumnSizes.largest_products` together.
    """

    design: Design

    def __call__(self, block: Block) -> IntArray:
        """Return the upper triangle of an int64 matrix of n_columns + 1 rows."""
        of = self.design
        gram = np.zeros((of.n_columns + 1, of.n_columns + 1), np.int64)
        _add_pairs(block.state[CELL_STATE], *of.arrays, of.norm == "l2", of.cap, gram)
        return gram


def largest_target(target: TargetKind) -> int:
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
    target: TargetKind
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
