"""PrivaTree for a regression target: one readable tree whose leaves have a number each.

Ours; the paper has classes only. As there, every node makes one private selection among all splits of all features.
Splits are scored by squared errors, of which a single record's count within an interval only
(`privet.trees.capped_losses`). Where that interval is and how long it is depends on what every node releases first:
about how many records it has, where their centre is and how far they are spread. Against the noise that is a far
stronger signal than the sum of squared errors. Other criteria add up residuals around the centre on either side of the
split (`privet.trees.scores.deviations`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privet.estimators.learning import Hints, Sharing
from privet.learners.privatree.plan import LevelPlan, PrivaTreePlan, TreePlan
from privet.learners.privatree.regression_plan import (
    Criterion,
    cap_of,
    knee_of,
    regression_budget,
    signal_of,
    sums_event,
)
from privet.learners.privatree.tree import SEARCHES, SEES, GridRule, in_order, stop_bonus_of
from privet.mechanisms.release import Release
from privet.models.regression_forest import RegressionForest
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms, times
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, RangeTarget
from privet.tables import Table
from privet.tables.protocol import Block, Floats, IntArray
from privet.trees.candidates import Candidates, count_candidates
from privet.trees.capped_losses import TargetGrid
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.residual_growth import ResidualGrowth
from privet.trees.scores import LOSSES, RESIDUAL, deviations
from privet.trees.structure import FeatureCodes

CELLS = 64  # of the target's range, whose counts find the window; of the part of it that splits are scored by, too
GRID_REACH = 2  # how far that part reaches to either side of the window's centre, in reaches of the window
TAIL = 0.05  # of the records beyond either end of the window
NOISE_IN_TAIL = 1.0  # deviations of the noise of a tail's counts that may be beyond it as well
LEAST_FOUND = 12  # deviations of a single count's noise in all counts together, whose own noise has eight
REGRESSION_BINS = 511  # cells of a numeric feature: what is in the tail of one may tell much about that of a target
LEAF_REACH = Fraction(6, 5)  # how far from its centre a leaf's targets count, in reaches of the window

LEAST_CAP, MOST_CAP = 1.0, 12.0  # of a record's squared error, in variances of its node
LEAST_VARIANCE = 0.01  # of a node, in squares of the reach
OF_NORMAL = math.pi / 2  # the variance of normal values, over the square of their mean distance from the mean
LEAST_OF_NORMAL = 0.3  # where that, less how far the mean has moved, says hardly anything of the node's own spread

GrownLeaves = tuple[list[int], Floats]  # the tree of each, and the place and number of records of each


class ResidualWindow(NamedTuple):
    """Where most of the target's values are, in levels: residuals are held within `reach` of a node's centre.

    Of all records, too: about how many there are, and their variance, in squares of the reach. By default nothing is
    known of them, and they may be anywhere.
    """

    centre: int
    reach: int
    records: float = 0.0
    variance: float = 1 / 3


class OpenNodes(NamedTuple):
    """What is known of nodes before they are split, all of it released.

    Where their centres are, in levels; about how many records they have; their variances, in squares of the reach.
    """

    centres: IntArray
    records: Floats
    variances: Floats


@dataclass(frozen=True)
class TargetCells:
    """Kernel: how many records there are in each of `CELLS` equal cells of the target's range.

    *Privacy.* Adding or removing a record changes one count by one.
    """

    levels: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts."""
        known = block.target[block.target >= 0].astype(np.int64)
        return np.bincount(known * CELLS // self.levels, minlength=CELLS).astype(np.int64)


@dataclass(frozen=True)
class PrivaTreeForRegression:
    """The learner: a window, then splits level by level around centres, then a number for each leaf."""

    max_depth: int = 4
    n_trees: int = 1
    composition: Sharing = "sequential"
    criterion: Criterion = "capped"
    grid: GridRule = "schema"
    bins: int = REGRESSION_BINS
    stop: bool = False

    @property
    def _passes(self) -> int:
        """How many times all records are used: trees on disjoint records grow together."""
        return self.n_trees if self.composition == "sequential" else 1

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether depth, window and knees depend on the number of records: always."""
        return True

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PrivaTreePlan:
        """Divide the budget over window, quantiles, trees, levels and leaves.

        On its way from the root to a leaf a record meets a centre and a selection a level, and one leaf: costs add up
        along a path, and siblings see disjoint records.
        """
        n_candidates = count_candidates(FeatureCodes.of(encoding))
        n_rows = None if hints.n_rows is None else hints.n_rows * self._passes // self.n_trees
        searched = self.grid != "schema" and any(column.ordered and column.n_values > 1 for column in encoding.columns)
        budget = regression_budget(
            self.max_depth, n_candidates, share, terms, n_rows, passes=self._passes, quantiles=searched
        )
        trees_share = times(share, 1 - budget.window)
        window = None
        if budget.window:
            window = terms.noise("spread of the target", times(share, budget.window))
        # All trees use the same quantiles.
        quantiles = SEARCHES[self.grid].plan(encoding, terms, times(trees_share, budget.quantiles)) if searched else ()
        part = times(trees_share, (1 - budget.quantiles) / self._passes)
        # A tree's parts are of what the quantiles leave, which are paid for once.
        scale = 1 / (1 - budget.quantiles)
        trees = []
        for tree in range(self._passes):
            of_tree = f"tree {tree + 1}: " if self._passes > 1 else ""
            levels = []
            for level, level_part in enumerate(budget.levels):
                of_choice = times(part, level_part * scale)
                signal = signal_of(of_choice, terms, n_rows, level, n_candidates)
                cap = cap_of(self.criterion, of_choice, terms, n_candidates)
                centres = None
                if level >= budget.first_centre:
                    of_centres = times(part, budget.centre * scale)
                    centres = sums_event(terms, f"{of_tree}centres of level {level + 1}", of_centres, SEES)
                levels.append(
                    LevelPlan(
                        terms.choice(
                            f"{of_tree}splits of level {level + 1}",
                            of_choice,
                            score_range=(deviations(RESIDUAL) if cap is None else LOSSES).range,
                            sees=SEES,
                        ),
                        self._early(terms, of_tree, level, times(part, budget.left_after(level) * scale)),
                        centres,
                        knee_of(self.criterion, signal),
                        cap,
                    )
                )
            leaves = sums_event(terms, f"{of_tree}leaves", times(part, budget.leaves * scale), SEES)
            trees.append(TreePlan(tuple(levels), leaves))
        return PrivaTreePlan(budget.depth, quantiles, tuple(trees), window)

    def _early(self, terms: Terms, of_tree: str, level: int, left: Share | None) -> Event | None:
        name = f"{of_tree}leaves that stop at level {level + 1}"
        return sums_event(terms, name, left, SEES) if self.stop else None

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PrivaTreePlan) -> RegressionForest:
        """Find the window and the cuts, then grow tree by tree."""
        domains, cuts = FeatureCodes.of(table.encoding), None
        window = find_window(table, release, plan.window)
        if self.grid != "schema":
            cuts = SEARCHES[self.grid].run(table, release, plan.quantiles)
        if self.n_trees > self._passes:
            table = release.coins(table, self.n_trees, ResidualGrowth.STATE)
        grown = []
        for tree in plan.trees:
            growth = ResidualGrowth(table, Candidates.all_of(domains, rng, cuts), self.n_trees // self._passes)
            centres = np.full(growth.n_open, window.centre, np.int64)
            leaves = in_order(_TreeGrowth(growth, release, tree, window, _levels_of(table)).grow(centres))
            grown.append((growth.finish(), leaves))
        trees = ExplicitTrees.join([tree for tree, _ in grown])
        values = np.concatenate([values for _, values in grown])
        return RegressionForest(
            table.encoding, trees, np.ascontiguousarray(values[:, 0]), values[:, 1].round().astype(np.int64)
        )


@dataclass(frozen=True)
class _TreeGrowth:
    """One tree, or all on disjoint records, on its way down; what is passed on are centres, which are public."""

    growth: ResidualGrowth
    release: Release
    tree: TreePlan
    window: ResidualWindow
    n_levels: int  # of the target

    def grow(self, centres: IntArray, level: int = 0) -> list[GrownLeaves]:
        """Grow the open nodes and all below them; return the leaves that they become."""
        growth, release, tree = self.growth, self.release, self.tree
        if level == len(tree.levels):
            return [
                (
                    growth.open_trees,
                    self._leaves(below_near_above(growth, centres, self._leaf_reach), centres, tree.leaves),
                )
            ]
        here, scope = tree.levels[level], tree.stop_or_go_on(level)
        nodes = self._open_nodes(centres, here.centres)
        centres = nodes.centres
        if here.early is None or scope is None:
            chosen = release.choose(self._scores(here, nodes), here.choice)
            growth.split(chosen)
            return self.grow(np.repeat(centres, 2), level + 1)
        bonus = stop_bonus_of(growth.n_candidates, here.choice)
        chosen = release.choose(self._scores(here, nodes, bonus), here.choice)
        stopped, trees = chosen == growth.n_candidates, np.array(growth.open_trees)
        sums = below_near_above(growth, centres, self._leaf_reach)[stopped]
        growth.split(chosen)
        leaves: list[GrownLeaves] = []
        with release.parallel(scope):
            if stopped.any():
                leaves.append((trees[stopped].tolist(), self._leaves(sums, centres[stopped], here.early)))
            if growth.n_open:
                with release.branch(tree.path(level + 1)):
                    leaves.extend(self.grow(np.repeat(centres[~stopped], 2), level + 1))
        return leaves

    def _scores(self, level: LevelPlan, nodes: OpenNodes, stop_bonus: int | None = None) -> IntArray:
        """Return the score of every candidate, and of not to split where there is a bonus for it."""
        centre, reach = self.window.centre, self.window.reach
        if level.cap is None:
            return self.growth.scores(deviations(level.knee), nodes.centres, reach, stop_bonus)
        low, high = max(0, centre - GRID_REACH * reach), min(self.n_levels, centre + GRID_REACH * reach)
        grid = TargetGrid(low, high, self.growth.most_cells(CELLS))
        caps = np.clip(level.cap * nodes.records, LEAST_CAP, MOST_CAP) * nodes.variances * float(reach) ** 2
        return self.growth.capped_scores(grid, nodes.centres, caps, stop_bonus)

    @property
    def _leaf_reach(self) -> int:
        return min(int(self.window.reach * LEAF_REACH), self.n_levels)

    def _open_nodes(self, centres: IntArray, event: Event | None) -> OpenNodes:
        """Release where the records of every open node are; of the first level, the window's counts may tell it."""
        if event is None:
            records = np.full(centres.size, self.window.records / centres.size)
            return OpenNodes(centres, records, np.full(centres.size, max(LEAST_VARIANCE, self.window.variance)))
        released = self.release.noisy(below_near_above(self.growth, centres, self.window.reach), event)
        moved, records = shrunk_means(released, event)
        moved_to = np.rint(self._held(centres + moved * self.window.reach)).astype(np.int64)
        return OpenNodes(moved_to, records, variances(released, moved))

    def _leaves(self, sums: IntArray, centres: IntArray, event: Event) -> Floats:
        """Release the mean of leaves; return their places within the range, and about how many records they have."""
        moved, records = shrunk_means(self.release.noisy(sums, event), event)
        places = self._held(centres + moved * self._leaf_reach) / (self.n_levels - 1)
        return np.column_stack([places, records])

    def _held(self, levels: Floats) -> Floats:
        return np.clip(levels, 0.0, self.n_levels - 1.0)


def find_window(table: Table, release: Release, event: Event | None) -> ResidualWindow:
    """Find where most of the target's values are, by noisy counts of cells; the whole range where none is planned.

    Cells are left out from either end as long as all that were left out have no more records than a tail may have, and
    than may be noise. Where too little was found to be trusted, it is the whole range as well. Centre and variance are
    of all records, each held within what was found.
    """
    levels = _levels_of(table)
    whole = ResidualWindow(levels // 2, -(-levels // 2))
    if event is None:
        return whole
    counts = release.noisy(table.aggregate(TargetCells(levels)), event).astype(np.float64)
    if counts.sum() <= LEAST_FOUND * event.deviation:
        return whole
    # Sums of many noisy counts are less noisy, for their size, than what is left of counts that are held above zero.
    largest = TAIL * counts.sum() + NOISE_IN_TAIL * event.deviation * np.sqrt(np.arange(1, CELLS + 1))
    low = int(np.argmax(np.cumsum(counts) > largest))
    high = CELLS - int(np.argmax(np.cumsum(counts[::-1]) > largest))
    if low >= high:
        return whole
    cell, parts = levels / CELLS, counts / counts.sum()
    held = np.clip(np.arange(CELLS) + 0.5, low, high)
    centre = min(max(float(parts @ held), low), high) * cell
    reach = max(1, min(round(max(high * cell - centre, centre - low * cell, cell)), whole.reach))
    variance = float(parts @ (held * cell - centre) ** 2) / reach**2
    return ResidualWindow(round(centre), reach, float(counts.sum()), min(max(0.0, variance), 1.0))


def below_near_above(growth: ResidualGrowth, centres: IntArray, reach: int) -> IntArray:
    """Return how far the records of each open node are below its centre, near to it and above it, each added up.

    *Privacy.* Exact. What a record adds is bounded where the release of the sums is planned (`sums_event`).
    """
    records, below, above = growth.sums(centres, reach).T
    return np.column_stack([below, RESIDUAL * records - below - above, above])


def shrunk_means(released: IntArray, event: Event) -> tuple[Floats, Floats]:
    """Return the mean residual of each node in units of the reach, shrunk by how noisy it is, and numbers of records.

    Nodes' means are taken to lie around zero, since residuals are around a centre, with a variance t that is what the
    released sums have beyond their noise: ``t = max(0, sum of (G^2 - s^2)) / sum of n^2``. Then ``t / (t + s^2 / n^2)``
    times the released mean is the best linear guess. Without noise it is the mean itself.

    That t is mostly of nodes with many records. Where a target has a long tail, a node with few records may be far
    out, for certain, while all large ones are near zero; its own ``(G^2 - s^2) / n^2`` is taken where it is more.

    *Privacy.* Post-processing of released sums.
    """
    below, _, above = np.maximum(released, 0).T / RESIDUAL  # what each is without noise is not below zero
    records, total = np.maximum(released.sum(axis=1) / RESIDUAL, 0.0), above - below
    noise = event.deviation / RESIDUAL * math.sqrt(2)  # of the total
    n = np.maximum(records, max(1.0, noise))  # a number below its own noise is known to be small, not how small
    if not noise:
        return np.clip(total / n, -1.0, 1.0), records
    spread = max(0.0, float((total**2 - noise**2).sum())) / float((n**2).sum())
    spreads = np.maximum(spread, (total**2 - noise**2) / n**2)
    return np.clip(spreads / (spreads + (noise / n) ** 2) * total / n, -1.0, 1.0), records


def variances(released: IntArray, moved: Floats) -> Floats:
    """Return about the variance of each node's records, in squares of the reach.

    It is what normal values have whose mean distance from the old centre is the one released, less the square of how
    far the mean is from that centre.

    *Privacy.* Post-processing of released sums.
    """
    below, near, above = np.maximum(released, 0).T / RESIDUAL
    distance = np.minimum((below + above) / np.maximum(below + near + above, 1.0), 1.0)
    found: Floats = np.maximum(OF_NORMAL * distance**2 - moved**2, LEAST_OF_NORMAL * distance**2)
    return np.maximum(found, LEAST_VARIANCE)


def _levels_of(table: Table) -> int:
    assert isinstance(table.encoding.target, RangeTarget)
    return table.encoding.target.levels
