"""A logistic regression by gradient descent: some full passes, each of which releases one noisy sum of gradients.

A regression in one shot needs the products of every two columns, and noise adds up over all of them; descent needs one
number for each column and score, however many there are. A category has a column of its own, a numeric feature enters
by its place among its cells, as a line and a bend.

Each step goes along the gradients so far, older ones counting for less (momentum), and steps become shorter towards the
end: what noise has moved is pulled back by later steps, and the last ones move little. How long the first one is
depends on two things. The noise of all steps together is not to move a score by much more than one; and with so many
records, steps must not be so long that each undoes more than the one before has done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.cells import BaseTables, CellGrid, held_frequencies, in_fixed_point, with_gradients
from privet.learners.boosting.class_shares import log_shares, plan_classes, released_shares
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, SCORE_BITS, Logistic, Softmax
from privet.learners.boosting.rank_counts import refuse_pure
from privet.learners.boosting.regression_base import AdditiveBase, Design, cell_values, factor_of, shortened
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms, times
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table

FACTOR_STATE = "factor"
MOMENTUM = 0.9
MOST_COLUMNS = 4_000  # beyond this a fit would take long
LEAST_RHO = 2.0**-40  # over the square of a unit's steps: with less, noise would be larger than can be drawn
CLASSES_PART = Fraction(1, 50)  # of the budget, for how frequent each class is
SHAKE = 1.2  # how far the noise of all steps would move a record's score, if no step pulled anything back
STABLE = 8.0  # times one over the records' sizes: about half as long as steps can be, so that a rounded guess will do
LIMIT = 16  # of scores, either way: each step sees what those before it have done, so that none runs away
# Squared length of a record's gradient in all of its scores; `privet.learners.boosting.gradients` has the proofs.
LARGEST_GRADIENT, LARGEST_GRADIENT_MANY_CLASSES = Fraction(1, 4), Fraction(1, 2)


@dataclass(frozen=True)
class DescentPlan:
    """The releases of a base by gradient descent."""

    base: DescentBase
    classes: Event
    steps: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The counts of classes, then the sums of gradients, step by step."""
        return self.classes, *self.steps


@dataclass(frozen=True)
class DescentBase:
    """Plans and runs a logistic regression by noisy gradient descent, for classes and zCDP.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records.
    steps : int
        How many times sums of gradients are released, at equal parts of what the counts of classes leave.
    columns : AdditiveBase
        What the columns are, and how large a record's values in them can be.
    held : Fraction
        The part of that which a record has before it counts for less: less noise, where few records are so large.

    Notes
    -----
    *Privacy.* With v a record's whole-numbered values in all columns, s the sum of their squares, and a its gradient, a
    vector of whole numbers with one entry for each score and a squared length of at most ``4^q g``: g is 1/4 for two
    classes, 1/2 for more of them (`privet.learners.boosting.gradients`). The record adds ``v_i a'_k`` to the sums of a
    step. Where s is at most the cap c, a' is a; else each entry is ``a_k f / 2^10`` rounded towards zero, with f the
    whole part of ``2^10 sqrt(c / s)``. Either way ``|a'|^2 s <= |a|^2 c``, so a record that is added or removed moves
    the sums by a squared L2 distance of at most ``4^q g c``, whatever the scores. One that replaces another, or has its
    label changed, moves them by the difference of two such vectors: at most four times that, which two records of two
    classes reach that have the same features and even odds. Scores of a step are made of values that were released
    before. Counts of classes, of which a record changes one by one, come first; all costs add up.

    Steps of length r along all records' gradients are stable up to ``2 (1 + m) / L``, with momentum m and L the largest
    curvature. For two classes that is a quarter of the sum of the records' sizes at most, so ``15 / (n c)`` in the
    columns' units; for more of them it is half of that sum at most, if all columns agree, which they never do. A record
    that counts for less has at most the root of c times its size: with half of the largest size held, ``10 / (n c)``.
    """

    n_rows: int
    steps: int
    columns: AdditiveBase = field(default_factory=AdditiveBase)
    held: Fraction = Fraction(1)

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> DescentPlan:
        """Plan noise on the counts of classes, and on the sums of each step."""
        refuse_pure(share)
        for_classes, of_step = (times(share, part) for part in (CLASSES_PART, (1 - CLASSES_PART) / self.steps))
        two = encoding.n_classes == 2
        largest = self._cap(encoding) * (LARGEST_GRADIENT if two else LARGEST_GRADIENT_MANY_CLASSES) * ONE**2
        moved = self.columns.most_values(encoding) * (1 if two else encoding.n_classes)
        first = terms.noise("base: gradients, step 1", of_step, l2_squared=largest, signed=True, numbers=moved)
        steps = (replace(first, name=f"base: gradients, step {number + 1}") for number in range(self.steps))
        return DescentPlan(self, plan_classes(terms, for_classes), tuple(steps))

    def run(
        self,
        table: Table,
        release: Release,
        plan: DescentPlan,
        grid: CellGrid,
        start: BaseTables,
        loss: Logistic | Softmax,
    ) -> BaseTables:
        """Step along noisy gradients, from scores that stand for the classes' shares."""
        design = self.design(table.encoding, grid)
        of_cells = cell_values(design)
        base = at_class_shares(table, release, plan.classes, self.n_rows, start)
        first = base.start
        lengths, size = step_lengths(self.steps), design.cap / WEIGHT**2
        noise = _shaken(lengths) * plan.steps[0].deviation / (WEIGHT * ONE)
        rate = min(STABLE / (self.n_rows * size), SHAKE / max(noise * math.sqrt(size), 1e-9))
        table = table.derive(FACTOR_STATE, RecordFactors(design))
        weights = velocity = np.zeros((design.n_columns + 1, loss.n_scores))
        for event, length in zip(plan.steps, lengths, strict=True):
            here = with_gradients(table, base, grid, loss)
            sums = release.noisy(here.aggregate(ColumnGradients(design, loss.n_scores)), event)
            velocity = MOMENTUM * velocity - sums / (WEIGHT * ONE)
            weights = weights + rate * length * velocity
            base = replace(
                base,
                start=first + in_fixed_point(weights[-1] * CONSTANT / WEIGHT),
                tables=in_fixed_point(of_cells @ weights),
            )
        of_noise: Floats = rate * noise * np.sqrt((of_cells**2).sum(axis=1))
        return replace(base, noise=of_noise)

    def design(self, encoding: Encoding, grid: CellGrid) -> Design:
        """Return what each cell puts into which columns, and how large a record can be before it counts for less."""
        whole, _ = self.columns.design(encoding, grid)
        return replace(whole, cap=self._cap(encoding))

    def _cap(self, encoding: Encoding) -> int:
        """Return how large a record can be before it counts for less."""
        return int(self.held * self.columns.cap(encoding))

    def fits(self, encoding: Encoding, signal: float) -> bool:
        """Whether there are few enough columns, and ``n^2 rho`` is enough for noise that can be drawn; all public."""
        return self.columns.n_columns(encoding) <= MOST_COLUMNS and signal >= LEAST_RHO * self.n_rows**2

    def __str__(self) -> str:
        return f"{self.columns}, for log-odds, by {self.steps} steps of gradient descent"


def at_class_shares(table: Table, release: Release, planned: Event, n_rows: int, start: BaseTables) -> BaseTables:
    """Return a base that stands for the classes' shares, and whose scores cannot run away."""
    shares, limit = released_shares(table, release, planned, n_rows), LIMIT << SCORE_BITS
    return replace(
        start,
        start=start.start + in_fixed_point(log_shares(shares)),
        low=-limit,
        high=limit,
        n_records=float(n_rows),
        frequencies=held_frequencies(shares),
    )


def step_lengths(steps: int) -> Floats:
    """Return how long each step is, beside the first; they become shorter at an even pace."""
    return 1 - np.arange(steps) / steps


def _shaken(lengths: Floats) -> float:
    """Return how far noise of deviation one in each gradient moves a weight, if nothing is pulled back.

    The noise of a step is in the velocity of all later ones, by `MOMENTUM` less each time.
    """
    moved = np.zeros(len(lengths))
    later = 0.0
    for step in reversed(range(len(lengths))):
        later = lengths[step] + MOMENTUM * later
        moved[step] = later
    return math.sqrt(float((moved**2).sum()))


@compiled
def _find_factors(cells: NDArray[Any], offsets: IntArray, sizes: IntArray, cap: int, out: NDArray[np.int16]) -> None:
    for row in range(cells.shape[0]):
        size = CONSTANT * CONSTANT
        for feature in range(cells.shape[1]):
            size += sizes[offsets[feature] + np.int64(cells[row, feature])]
        out[row] = factor_of(size, cap, True)


@dataclass(frozen=True, eq=False)
class RecordFactors:
    """By what each record's gradient is to be shortened, in steps of 2^-10; the same in all steps."""

    design: Design

    def __call__(self, block: Block) -> NDArray[np.int16]:
        """Return int16 factors, 2^10 for a record that is not too large."""
        of, out = self.design, np.zeros(block.target.size, np.int16)
        _find_factors(block.state[CELL_STATE], of.offsets, (of.value**2).sum(axis=1), of.cap, out)
        return out


@compiled
def _add_gradients(
    cells: NDArray[Any], offsets: IntArray, factor: NDArray[np.int16], gradient: NDArray[np.int32], sums: IntArray
) -> None:
    n_scores = sums.shape[1]
    of_record = np.zeros(n_scores, np.int64)
    for row in range(cells.shape[0]):
        for k in range(n_scores):
            of_record[k] = shortened(int(gradient[row, k]), int(factor[row]))
        if n_scores == 1:  # in a register, which is quicker
            only = of_record[0]
            for feature in range(cells.shape[1]):
                sums[offsets[feature] + np.int64(cells[row, feature]), 0] += only
            continue
        for feature in range(cells.shape[1]):
            of_cell = sums[offsets[feature] + np.int64(cells[row, feature])]
            for k in range(n_scores):
                of_cell[k] += of_record[k]


@dataclass(frozen=True, eq=False)
class ColumnGradients:
    """Add up the products of every column with the gradient; the last column is the constant.

    Gradients are added up by cell first, which is quicker: what a cell has in which columns is the same for all of its
    records. Whole numbers, so the sums are the same to the last digit.

    Notes
    -----
    *Privacy.* A record adds its values in all columns times its gradient, which is shortened where they are large; see
    `DescentBase`.
    """

    design: Design
    n_scores: int = 1

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_columns + 1, n_scores)."""
        of, gradient = self.design, np.asarray(block.state[GRADIENT_STATE], dtype=np.int32)
        by_cell, cells = np.zeros((len(of.value), self.n_scores), np.int64), block.state[CELL_STATE]
        factors = np.asarray(block.state[FACTOR_STATE], dtype=np.int16)
        _add_gradients(cells, of.offsets, factors, gradient, by_cell)
        return sums_by_column(of, by_cell)


def sums_by_column(design: Design, by_cell: IntArray) -> IntArray:
    """Return sums of all columns' values times what is added up by cell; the last column is the constant."""
    sums = np.zeros((design.n_columns + 1, by_cell.shape[1]), np.int64)
    for column, value in zip(design.column.T, design.value.T, strict=True):
        np.add.at(sums, column, value[:, np.newaxis] * by_cell)
    sums[-1] = CONSTANT * by_cell[: design.offsets[1]].sum(axis=0)  # every record is in one cell of the first feature
    return sums
