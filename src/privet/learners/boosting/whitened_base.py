"""A regression on a number by gradient descent, in columns that are turned so that no direction outweighs the others.

Noise is the same in every direction, and as large as the largest record. Where columns follow each other, as sizes and
weights do, records are long in the direction that all columns share and short in all others: noise is paid for what
they share, and drowns what sets them apart. So the products of columns are released first, for little. The matrix M
that makes of them about a unit matrix turns and shortens the columns, and sums are taken of ``M v`` in place of v:
records are about as long in every direction, and their noise falls to what is left of their length.

Then come some full passes, each of which releases one noisy sum of residuals times columns; steps become shorter
towards the end. A record's residual is cut off the nearer, the further out the record is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point, with_gradients
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.descent_base import step_lengths, sums_by_column
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, Huber, whole_root
from privet.learners.boosting.rank_counts import believed, refuse_pure
from privet.learners.boosting.regression_base import (
    AdditiveBase,
    Design,
    cell_values,
    count_of_products,
    penalty_of,
)
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms, times
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table

LIMIT_STATE = "limit"
LENGTH = 1 << 12  # of a usual record when it is turned
NEAR = Fraction(9, 20)  # of the width: where a usual record's residual is cut off
FARTHEST = int(NEAR * LENGTH * ONE)  # the longest product of a turned record and its gradient
LARGEST_MATRIX = 1 << 19  # the root of the sum of its squares, so that squared lengths are below 2^63
LONGEST = 1.5  # of a step, where one would be all the way if the matrix were right
SHAKE = 0.4  # of the width: how far noise may move a usual record's score, if no step pulled anything back


@dataclass(frozen=True)
class WhitenedPlan:
    """The releases of a base in turned columns."""

    base: WhitenedBase
    pairs: Event
    steps: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Products of columns, then the sums of residuals, step by step."""
        return self.pairs, *self.steps


@dataclass(frozen=True)
class WhitenedBase:
    """Plans and runs a regression by noisy gradient descent in turned columns, for numbers and zCDP.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records.
    steps : int
        How many times sums of residuals are released, at equal parts of what the products of columns leave.
    pairs_part : Fraction
        Of the budget, for the products of columns.
    columns : AdditiveBase
        What the columns are, and how large a record's values in them can be where products are taken.

    Notes
    -----
    *Privacy.* The products of columns are those of `AdditiveBase`, with its proof. The matrix M of whole numbers is
    made of them, so of released values. With v a record's whole-numbered values in all columns, not shortened, let s
    be the squared length of ``M v``, and a the record's gradient, a whole number. In a step the record adds ``M v a'``,
    where a' is a cut off at the whole part of the root of ``F^2 / s`` on either side, F being `FARTHEST`. So
    ``|M v a'|^2 = s a'^2 <= F^2``: a record that is added or removed moves the sums by a squared L2 distance of at most
    ``F^2``, whatever M, the scores and the width at which gradients are taken. One that replaces another moves them by
    the difference of two such vectors: at most four times that, which two records of the same features reach whose
    residuals are cut off on opposite sides. All columns of M may move. M, scores and the width of a step are made of
    values that were released before; how much noise there is, and F, are not. All costs add up.

    *No overflow.* A record has at most 401 values of at most 64 each, since there are no more columns than that: its
    length is below 2^11. That of ``M v`` is below 2^31, as the squares of M add up to less than ``(2^19 + 401)^2``, so
    s is below 2^62. Sums of ``v a'`` are multiplied with M modulo 2^64, which is exact as long as the result is within
    ``n F < 2^63``.
    """

    n_rows: int
    steps: int
    pairs_part: Fraction
    columns: AdditiveBase = field(default_factory=AdditiveBase)

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> WhitenedPlan:
        """Plan noise on the products of columns, and on the sums of each step."""
        refuse_pure(share)
        for_pairs, of_step = (times(share, part) for part in (self.pairs_part, (1 - self.pairs_part) / self.steps))
        n_columns = self.columns.n_columns(encoding) + 1
        steps = (
            terms.noise(
                f"base: residuals, step {number + 1}",
                of_step,
                l2_squared=FARTHEST**2,
                signed=True,
                numbers=n_columns,
            )
            for number in range(self.steps)
        )
        pairs, moved = self.columns.plan_pairs(encoding, terms, for_pairs), self.columns.most_values(encoding)
        return WhitenedPlan(self, replace(pairs, numbers=moved * (moved + 1) // 2), tuple(steps))

    def run(
        self, table: Table, release: Release, plan: WhitenedPlan, grid: CellGrid, start: BaseTables, loss: Huber
    ) -> BaseTables:
        """Release the products of columns, turn the columns by them, and step along noisy sums of residuals."""
        design, gram = self.columns.products(table, release, plan.pairs, grid)
        n_records = believed(self.n_rows, count_of_products(gram), plan.pairs.deviation / CONSTANT**2)
        of_cells = cell_values(design)
        turn = Turn.of(gram, penalty_of(plan.pairs, len(gram)), n_records)
        table = table.derive(LIMIT_STATE, RecordLimits(design, turn.matrix))
        lengths, unit = step_lengths(self.steps), turn.scale * WEIGHT * ONE
        shaken = math.sqrt(float((lengths**2).sum())) * plan.steps[0].deviation / unit
        rate = min(LONGEST, SHAKE / max(shaken * turn.usual, 1e-9))
        base, weights = replace(start, n_records=n_records), np.zeros(len(gram))
        for event, length in zip(plan.steps, lengths, strict=True):
            here = with_gradients(table, base, grid, loss)
            sums = release.noisy(here.aggregate(TurnedSums(design, turn.matrix)), event)
            weights = weights - rate * length * loss.part * (turn.back @ sums) / unit
            base = replace(
                base,
                start=start.start + in_fixed_point(weights[-1:] * CONSTANT / WEIGHT),
                tables=in_fixed_point((of_cells @ weights)[:, np.newaxis]),
            )
        of_noise: Floats = rate * loss.part * shaken * np.sqrt(((of_cells @ turn.back) ** 2).sum(axis=1))
        return replace(base, noise=of_noise)

    def fits(self, encoding: Encoding) -> bool:
        """Whether there are few enough columns for a base; known from the schema alone."""
        return self.columns.fits(encoding)

    def __str__(self) -> str:
        return f"{self.columns}, in turned columns, by {self.steps} steps of gradient descent"


@dataclass(frozen=True, eq=False)
class Turn:
    """How columns are turned and shortened; made of released values.

    Attributes
    ----------
    matrix : int64 array of shape (n_columns + 1, n_columns + 1)
        What a record's whole-numbered values are multiplied with.
    scale : float
        How many times the root of the inverse of the products of columns that is.
    usual : float
        The length of a usual record when it is turned, without that scale.
    """

    matrix: IntArray
    scale: float
    usual: float

    @staticmethod
    def of(gram: Floats, penalty: float, n_records: float) -> Turn:
        """Take the root of the inverse, with a penalty, and with eigenvalues, which noise can make negative, held.

        The sum of all records' squared lengths is the trace of the products of turned columns.
        """
        eigenvalues, vectors = np.linalg.eigh(gram)
        held = np.maximum(eigenvalues, 0.0)
        root = (vectors / np.sqrt(held + penalty)) @ vectors.T
        usual = math.sqrt(float((held / (held + penalty)).sum()) / n_records)
        scale = min(LENGTH / (WEIGHT * max(usual, 1e-9)), LARGEST_MATRIX / float(np.linalg.norm(root)))
        return Turn(np.rint(scale * root).astype(np.int64), scale, usual)

    @property
    def back(self) -> Floats:
        """From sums of turned columns to weights of the columns as they were."""
        back: Floats = self.matrix.T / self.scale
        return back


@compiled
def _find_limits(
    cells: NDArray[Any], offsets: IntArray, turned: IntArray, constant: IntArray, out: NDArray[np.int32]
) -> None:
    n_columns = constant.size
    of_record = np.zeros(n_columns, np.int64)
    for row in range(cells.shape[0]):
        of_record[:] = constant
        for feature in range(cells.shape[1]):
            of_cell = turned[offsets[feature] + np.int64(cells[row, feature])]
            for k in range(n_columns):
                of_record[k] += of_cell[k]
        size = np.int64(0)
        for k in range(n_columns):
            size += of_record[k] * of_record[k]
        out[row] = min(whole_root(np.int64(FARTHEST) * np.int64(FARTHEST) // max(size, np.int64(1))), np.int64(ONE))


@dataclass(frozen=True, eq=False)
class RecordLimits:
    """Where each record's gradient is cut off, so that its product with the turned record is no longer than allowed.

    *Privacy.* With s the squared length of a turned record, F the longest product, and a limit of at most the root of
    ``F^2 / s``, rounded down twice: s times the limit's square is at most ``F^2``. The same in all steps.
    """

    design: Design
    matrix: IntArray

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return int32 limits, at most that of any gradient."""
        of, out = self.design, np.zeros(block.target.size, np.int32)
        by_cell = np.zeros((len(of.value), len(self.matrix)), np.int64)
        for column, value in zip(of.column.T, of.value.T, strict=True):
            by_cell += value[:, np.newaxis] * self.matrix.T[column]
        _find_limits(block.state[CELL_STATE], of.offsets, by_cell, CONSTANT * self.matrix[:, -1], out)
        return out


@compiled
def _add_limited(
    cells: NDArray[Any], offsets: IntArray, limit: NDArray[np.int32], gradient: NDArray[np.int32], sums: IntArray
) -> None:
    for row in range(cells.shape[0]):
        most = np.int64(limit[row])
        held = min(max(np.int64(gradient[row, 0]), -most), most)
        for feature in range(cells.shape[1]):
            sums[offsets[feature] + np.int64(cells[row, feature]), 0] += held


@dataclass(frozen=True, eq=False)
class TurnedSums:
    """Add up the products of every turned column with the gradient, which is cut off at each record's limit.

    Gradients are added up by cell first, and by column; turned is what comes of that.

    Notes
    -----
    *Privacy.* A record adds its turned values times its gradient, cut off; see `WhitenedBase`.
    """

    design: Design
    matrix: IntArray

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_columns + 1,)."""
        gradient = np.asarray(block.state[GRADIENT_STATE], dtype=np.int32)
        limits = np.asarray(block.state[LIMIT_STATE], dtype=np.int32)
        by_cell = np.zeros((len(self.design.value), 1), np.int64)
        _add_limited(block.state[CELL_STATE], self.design.offsets, limits, gradient, by_cell)
        sums: IntArray = self.matrix @ sums_by_column(self.design, by_cell)[:, 0]
        return sums
