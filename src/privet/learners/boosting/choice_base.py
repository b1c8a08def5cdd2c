"""A base for few records or a small epsilon: steps of a public size, each of them a private choice, then a few curves.

A choice among many costs little, a number costs a lot. So the first steps measure nothing: one choice says which
feature is cut where, and which side goes up; by how much is public, in units of how far the target's quartiles are
apart. What the steps leave is for curves: a choice says which column explains most of it, and sums by cell of that
column alone are released, in one vector of which a record changes two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point, with_gradients
from privet.learners.boosting.gradient_growth import (
    CELL_STATE,
    NODE_STATE,
    AllAtRoot,
    GradientHistogram,
    GradientSums,
    WalkScores,
)
from privet.learners.boosting.gradients import ONE, Huber
from privet.learners.boosting.stepwise_base import narrowed
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms, times
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table
from privet.trees.candidates import Walk
from privet.trees.structure import FeatureCodes, Subset

# Found on the sets that docs/learners/boosting.md names. Distances are in units of that between the outer quartiles.
FIRST_STEP, SHORTER = 0.33, 0.2  # step k is FIRST_STEP / (1 + SHORTER k)
SOFTNESS = 16  # of a numeric feature's cuts, a step is the mean of those that are one in this many away or nearer
STEPS_PART = Fraction(1, 2)  # of the budget of a base that has curves
SECOND_CURVE_PART = Fraction(2, 5)  # of what two curves have together
CHOICE_PART = Fraction(1, 4)  # of a curve's budget: which column
CURVE_CELLS, MOST_CATEGORIES = 12, 24  # of a numeric column, and of a categorical one that can have a curve

# What a curve looks like before it is seen, in squares of where residuals are cut off.
LEVEL_VARIANCE = 0.1  # of what all cells share
RESIDUAL_VARIANCE = 0.15  # of one record's residual
CURVE_VARIANCES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # of what cells do not share; the likeliest is taken


@dataclass(frozen=True)
class CurvePlan:
    """The two releases of a curve: which column, and its sums by cell."""

    column: Event
    sums: Event


@dataclass(frozen=True)
class ChoicePlan:
    """The releases of the base."""

    base: ChoiceBase
    steps: tuple[Event, ...]
    curves: tuple[CurvePlan, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Steps, then curves."""
        return *self.steps, *(event for curve in self.curves for event in (curve.column, curve.sums))


@dataclass(frozen=True)
class ChoiceBase:
    """Plans and runs a base of choices.

    Parameters
    ----------
    steps : int
        How many steps of a public size.
    curves : int
        How many curves after them: none, one or two.

    Notes
    -----
    *Privacy.* A record's residual g is at most one either way, in units of where residuals are cut off (`Huber`). It is
    made of that record and of released values.

    A *step* has as candidates all divisions of the records by one feature, each with either side going up, and all
    records going up or down. A candidate's score is the sum of g over one side less that over the other: a record moves
    it by g, up or down, so by at most one either way, and the range is 2. How far a step goes is public. A *soft* step
    is the mean of steps at neighbouring cuts, which are public: a record moves the mean of their scores by no more than
    it moves one of them, and the whole part of it as well, since one is a whole number of the units that g is in.

    The *column* of a curve is chosen by the sum over its cells of the absolute value of the cell's sum of g. A record
    is in one cell of every column, whose absolute value it moves by at most one either way: range 2. The *sums* of the
    chosen column are of g and of a quarter for each record, by cell: a record changes two numbers, together by at most
    5/4. All costs add up.
    """

    steps: int
    curves: int = 0

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> ChoicePlan:
        """Divide the budget over steps and curves; where no column can have a curve, all of it is for steps."""
        n_curves = self.curves if columns_for_curves(encoding) else 0
        left = 1 - STEPS_PART if n_curves else Fraction(0)
        parts = [left] if n_curves == 1 else [left * (1 - SECOND_CURVE_PART), left * SECOND_CURVE_PART]
        of_step = times(share, (1 - left) / self.steps)
        steps = [terms.choice(f"base: step {number + 1}", of_step, score_range=2 * ONE) for number in range(self.steps)]
        bound = Huber("l1", 2)  # neither of its bounds depends on levels
        curves = [
            CurvePlan(
                terms.choice(f"base: column of curve {number}", times(share, part * CHOICE_PART), score_range=2 * ONE),
                terms.noise(
                    f"base: sums of curve {number}",
                    times(share, part * (1 - CHOICE_PART)),
                    l1=bound.bound * ONE,
                    l2_squared=replace(bound, norm="l2").bound * ONE**2,
                    signed=True,
                    replaced=bound.distance * ONE**2,
                ),
            )
            for number, part in enumerate(parts[:n_curves], start=1)
        ]
        return ChoicePlan(self, tuple(steps), tuple(curves))

    def run(
        self,
        table: Table,
        release: Release,
        plan: ChoicePlan,
        grid: CellGrid,
        start: BaseTables,
        loss: Huber,
        rng: PublicRng,
    ) -> BaseTables:
        """Make the steps, then the curves; residuals count up to half of what the loss says, for steps to a quarter."""
        base, wide, offsets = start, narrowed(loss), grid.cells.offsets
        table = table.derive(NODE_STATE, AllAtRoot())
        for number, event in enumerate(plan.steps):
            candidates = grid.candidates(rng)
            soft = SoftSteps.of(candidates.walks, grid.domains.ordered)
            contrasts = soft.means(
                _contrasts(_sums_by_cell(table, base, grid, narrowed(wide)), candidates.walks, offsets)
            )
            chosen = int(release.choose(np.concatenate([-contrasts, contrasts])[np.newaxis], event)[0])
            # A gradient is a score less a target: candidates of the first half have the first side go up.
            down, candidate = divmod(chosen, contrasts.size)
            length = int(in_fixed_point(np.array(wide.part * FIRST_STEP / (1 + SHORTER * number))))
            length *= -1 if down else 1
            if candidate == 0:
                base = replace(base, start=base.start + length)
                continue
            splits = [candidates.split(place) for place in soft.places(candidate - 1)]
            _, second = candidates.sides(splits)
            # the codes that were added up first: of a subset those in it, which are its second child
            first = second if isinstance(splits[0], Subset) else ~second
            tables, begin, end = base.tables.copy(), offsets[splits[0].feature], offsets[splits[0].feature + 1]
            tables[begin:end, 0] += np.rint(length * (2 * first[:, : end - begin].mean(axis=0) - 1)).astype(np.int64)
            base = replace(base, tables=tables)
        groups = column_groups(grid, columns_for_curves(table.encoding))
        for curve in plan.curves:
            sums = _sums_by_cell(table, base, grid, wide)[0, :, 0]
            sizes = np.array([[np.abs(group.sums(sums)).sum() for group in groups]], dtype=np.int64)
            group = groups[int(release.choose(sizes, curve.column)[0])]
            here = with_gradients(table, base, grid, wide).derive(NODE_STATE, InGroup(group.feature, group.of_cell))
            released = release.noisy(here.aggregate(GradientSums(group.n_groups, 1)), curve.sums)
            values, noise = (
                wide.part * found[group.of_cell] for found in smoothed(released, curve.sums.deviation, group)
            )
            tables, deviations = base.tables.copy(), base.noise.copy()
            tables[group.places, 0] += in_fixed_point(values)
            deviations[group.places] = np.hypot(deviations[group.places], noise)
            base = replace(base, tables=tables, noise=deviations)
        return base

    def __str__(self) -> str:
        curves = ("", ", then a curve of one column", ", then curves of two columns")[self.curves]
        return f"{self.steps} steps of a public size, each a choice{curves}"


@dataclass(frozen=True, eq=False)
class SoftSteps:
    """Which candidates each candidate is the mean of: the nearest cuts of the same walk, as many on either side.

    Attributes
    ----------
    first, last : int64 arrays
        The first and the last of them; a category, and "missing or not", are alone.
    """

    first: IntArray
    last: IntArray

    @staticmethod
    def of(walks: Sequence[Walk], ordered: NDArray[np.bool_]) -> SoftSteps:
        """Look a 16th of the cuts either way, and less far near the ends; known from the schema alone."""
        reaches = []
        for walk in walks:
            reach, places = np.zeros(len(walk), np.int64), np.arange(len(walk))
            if ordered[walk.feature]:
                n_cuts = len(walk) - (walk.places[-1] == len(walk.codes) - 1)  # all that is present against missing
                inner = np.minimum(places, n_cuts - 1 - places)[:n_cuts]
                reach[:n_cuts] = np.minimum(inner, n_cuts // SOFTNESS)
            reaches.append(reach)
        reach = np.concatenate([np.zeros(0, np.int64), *reaches])
        place = np.arange(reach.size)
        return SoftSteps(place - reach, place + reach)

    def means(self, contrasts: IntArray) -> IntArray:
        """Return the whole part of each candidate's mean; what comes first, the sum of all records, stays."""
        sums = np.concatenate([[0], np.cumsum(contrasts[1:])])
        means = (sums[self.last + 1] - sums[self.first]) // (self.last - self.first + 1)
        return np.append(contrasts[0], means)

    def places(self, candidate: int) -> range:
        """Return the candidates that this one is the mean of."""
        return range(int(self.first[candidate]), int(self.last[candidate]) + 1)


def columns_for_curves(encoding: Encoding) -> list[int]:
    """Return the features that can have a curve: known from the schema alone."""
    domains = FeatureCodes.of(encoding)
    few = domains.ordered | (domains.n_codes <= MOST_CATEGORIES)
    return [feature for feature in domains.splittable.tolist() if few[feature]]


def column_groups(grid: CellGrid, columns: Sequence[int]) -> list[ColumnGroup]:
    """Put the cells of each of these columns into groups of equal width; categories keep cells of their own."""
    domains, groups = grid.domains, []
    for feature in columns:
        of_cell = np.arange(int(domains.n_codes[feature]))
        present, n_groups = int(domains.n_cells[feature]), 0
        if domains.ordered[feature]:
            n_groups = min(present, CURVE_CELLS)
            of_cell = np.append(np.arange(present) * n_groups // present, [n_groups] * (of_cell.size - present))
        groups.append(ColumnGroup(feature, int(grid.cells.offsets[feature]), of_cell.astype(np.int64), n_groups))
    return groups


@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """The cells of one column, put into groups.

    Attributes
    ----------
    feature : int
        The column.
    offset : int
        Where its cells begin when all features' are numbered through.
    of_cell : int64 array
        The group of each cell.
    n_ordered : int
        How many groups are neighbours of each other, the first ones; a missing value and categories are not.
    """

    feature: int
    offset: int
    of_cell: IntArray
    n_ordered: int

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.of_cell[-1]) + 1

    @property
    def places(self) -> slice:
        """Its cells among all features'."""
        return slice(self.offset, self.offset + self.of_cell.size)

    def sums(self, by_cell: IntArray) -> IntArray:
        """Add up by group what all features' cells have."""
        out = np.zeros(self.n_groups, np.int64)
        np.add.at(out, self.of_cell, by_cell[self.places])
        return out

    @property
    def alike(self) -> Floats:
        """How alike groups are taken to be: the covariance of what they do not share, of mean variance one.

        Neighbours differ by steps of a random walk; all others have nothing in common.
        """
        n, ordered = self.n_groups, self.n_ordered
        walk = np.eye(n)
        if ordered > 1:
            place = np.arange(ordered, dtype=np.float64)
            inner = np.minimum.outer(place, place)
            inner += inner.mean() - inner.mean(axis=0) - inner.mean(axis=1)[:, np.newaxis]
            walk[:ordered, :ordered] = inner / (np.trace(inner) / ordered)
        return walk


@dataclass(frozen=True, eq=False)
class InGroup:
    """Kernel: send each record to the group of its cell of one feature; `of_cell` is public."""

    feature: int
    of_cell: IntArray

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return each record's group."""
        groups: NDArray[np.int32] = self.of_cell.astype(np.int32)[block.state[CELL_STATE][:, self.feature]]
        return groups


def smoothed(released: IntArray, deviation: float, group: ColumnGroup) -> tuple[Floats, Floats]:
    """Return what each group of a column is to be moved by, in units of the cut-off, and the noise that is in it.

    A group of n records has sums ``n f + noise``. The f are taken for a Gaussian process: a level that all share, and
    what `ColumnGroup.alike` says on top of it, with the variance that makes the released sums likeliest. What is
    returned is the mean of f given the sums: a curve that is as smooth as the noise asks for.

    *Privacy.* Post-processing of released sums.
    """
    noise, count = deviation / ONE, float(Huber.count)
    # A number below its own noise is known to be small, not how small.
    n = np.maximum(released[:, 1] / ONE / count, max(noise / count / 2, 1e-6))
    sums, own = -released[:, 0] / ONE, noise**2 + n * RESIDUAL_VARIANCE
    best, solution = -np.inf, np.eye(n.size)
    for variance in CURVE_VARIANCES:
        prior = LEVEL_VARIANCE + variance * group.alike
        spread = n[:, np.newaxis] * prior * n + np.diag(own)
        likelihood = -np.linalg.slogdet(spread)[1] - sums @ np.linalg.solve(spread, sums)
        if likelihood > best:
            best, solution = likelihood, np.asarray(np.linalg.solve(spread, n[:, np.newaxis] * prior).T, np.float64)
    values: Floats = np.clip(solution @ sums, -1.0, 1.0)
    return values, noise * np.sqrt((solution**2).sum(axis=1))


def _sums_by_cell(table: Table, base: BaseTables, grid: CellGrid, loss: Huber) -> IntArray:
    """Return the sums of gradients of all records, shape (1, total number of cells, 1); exact and private."""
    here = with_gradients(table, base, grid, loss)
    return here.aggregate(GradientHistogram(np.zeros(1, np.int32), grid.cells.offsets, 1))


def _contrasts(sums: IntArray, walks: Sequence[Walk], offsets: IntArray) -> IntArray:
    """Return the sum of all records, then the first side's less the second's for every candidate."""
    left, total = WalkScores.of(walks, offsets).sides(sums)
    return np.append(total[0, 0, 0], (2 * left - total)[0, :, 0])
