"""Boosting where only labels are private: what looks at features alone is free, and only labels are noised.

The cells are at exact quantiles. The base is a regression on principal components of the features. In the rounds
curvatures are known exactly, and only gradients are noised.

*Privacy.* Counts of codes, of pairs of cells, products of components and sums of curvatures are free releases of a view
without labels. Cells, components, scores and nodes are functions of features, of these and of what was released before.
What is noised is linear in labels, with the sensitivities that `privet.learners.boosting.label_base` and
`privet.learners.boosting.label_losses` prove; splits are chosen by scores of the range that the latter proves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Hints
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.annealing import Annealing, Rounds
from privet.learners.boosting.cells import (
    BaseTables,
    CellGrid,
    in_fixed_point,
    start_scores,
    with_gradients,
    without_base,
)
from privet.learners.boosting.gradient_growth import (
    CELL_STATE,
    GRADIENT_STATE,
    NODE_STATE,
    AddValues,
    AllAtRoot,
    GradientGrowth,
    GradientHistogram,
    GradientSums,
)
from privet.learners.boosting.gradients import ONE, SCORE_STATE, Huber, Loss
from privet.learners.boosting.grown_trees import GrownTree, assemble
from privet.learners.boosting.label_base import LabelBase, LabelBasePlan, cells_of_each
from privet.learners.boosting.label_losses import CurvatureSums, LabelLoss, for_labels
from privet.learners.boosting.leaf_values import leaf_values
from privet.learners.boosting.learner import CONCENTRATED, PURE, Boosting, loss_of
from privet.mechanisms.release import Release
from privet.privacy.events import Composition, Event, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms
from privet.progress import Counter
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables import Table
from privet.tables.features import FeatureView
from privet.tables.protocol import IntArray
from privet.trees.candidates import Candidates
from privet.trees.exact_quantiles import COUNTS, exact_cuts
from privet.trees.structure import FeatureCodes

RESIDUAL_WIDTH = ONE // 4  # residuals of a regression target are cut off at a quarter of its range
MEAN_PART = Fraction(1, 4)  # of the base's budget, for the mean of a regression target
SPLIT_PART = Fraction(1, 2)  # of each round's budget
# From which n epsilon, or n^2 rho, on rounds pay off, for the two steps that a changed label counts as; and from which
# on they may be many and deep. Constants were found on the tuning sets of benchmarks/label.py.
PURE_SIGNAL_FOR_ROUNDS, LARGE_PURE_SIGNAL = 10_000, 50_000
SIGNAL_FOR_ROUNDS, LARGE_SIGNAL = 400_000, 4_000_000


@dataclass(frozen=True)
class LabelOutline:
    """How the budget is divided: the base's part, then at most so many trees of this depth."""

    base_part: Fraction
    n_trees: int
    depth: int


def label_outline(share: Share, n_rows: int | None, steps: int) -> LabelOutline:
    """Return how to divide the budget, from public facts. Without a number of records a moderate signal is assumed."""
    if share.epsilon is not None:
        signal = None if n_rows is None else n_rows * float(share.epsilon) / steps
        few, many = PURE_SIGNAL_FOR_ROUNDS, LARGE_PURE_SIGNAL
    else:
        assert share.rho is not None
        signal = None if n_rows is None else n_rows**2 * float(share.rho) / steps**2
        few, many = SIGNAL_FOR_ROUNDS, LARGE_SIGNAL
    if signal is not None and signal < few:
        return LabelOutline(Fraction(1), 0, 0)
    if signal is None or signal < many:
        return LabelOutline(Fraction(1, 3), 30, 2)
    return LabelOutline(Fraction(1, 5), 60, 3)


@dataclass(frozen=True)
class LabelPlan(Plan):
    """Free counts, the base and rounds, one after the other.

    Attributes
    ----------
    terms : Terms
        What one unit of privacy may change; budgets of rounds become events on the way.
    loss : Loss
        The loss; that of labels alone follows from it.
    learning_rate : float
        The part of a leaf's step that is taken.
    counts : Event or None
        How many records have each value, for exact quantiles; None without ordered features.
    start : tuple of Event
        The number of records, which is free, and the sum of gradients; empty where no common start is measured.
    base : LabelBasePlan or None
        The releases of the base, where there is one.
    rounds : Rounds or None
        What is known of the rounds before any of them; None where there are none.
    """

    terms: Terms
    loss: Loss
    learning_rate: float
    counts: Event | None
    start: tuple[Event, ...]
    base: LabelBasePlan | None
    rounds: Rounds | None

    @property
    def whole(self) -> Sequential:
        """All add up; the rounds' total is fixed, what each of them gets is not."""
        return Sequential(tuple(self._parts()))

    def _parts(self) -> Iterator[Composition]:
        if self.counts is not None:
            yield self.counts
        yield from self.start
        if self.base is not None:
            yield from self.base.events
        if self.rounds is not None:
            yield self.rounds.filter

    @property
    def facts(self) -> dict[str, object]:
        """What the base is, and how many trees there can be."""
        return {"base": None if self.base is None else self.base.base, "rounds": self.rounds}


def plan_by_labels(asked: Boosting, encoding: Encoding, terms: Terms, share: Share, hints: Hints) -> LabelPlan:
    """Divide the budget between base and rounds; what looks at features alone is free."""
    recipe, domains = CONCENTRATED if share.epsilon is None else PURE, FeatureCodes.of(encoding)
    loss, first, left = loss_of(encoding, recipe.norm), label_outline(share, hints.n_rows, terms.steps), Fraction(1)
    base = LabelBase(recipe.norm) if LabelBase.fits(encoding) else None
    start, n_trees, depth = list[Event](), first.n_trees, first.depth
    if base is None and not n_trees:
        n_trees, depth = 16, 1
    base_part = Fraction(0) if base is None else first.base_part
    if not domains.splittable.size:
        n_trees, base_part = 0, Fraction(1)
    if isinstance(loss, Huber):
        loss = replace(loss, width=RESIDUAL_WIDTH)
        part = max(base_part, Fraction(1, 5)) * MEAN_PART
        start = [terms.free("base: number of records"), _plan_mean(terms, share * part)]
        left, base_part = left - part, base_part - part if base is not None else base_part
    rounds = None
    if n_trees:
        rounds = Rounds(
            share * (left - base_part),
            asked.n_trees or n_trees,
            asked.max_depth or depth,
            recipe.patience,
            SPLIT_PART,
            hints.n_rows,
            recipe.records_per_deviation,
            margin=float(base_part > 0),
        )
    elif base is not None:
        base_part = left
    return LabelPlan(
        terms=terms,
        loss=loss,
        learning_rate=asked.learning_rate or recipe.learning_rate,
        counts=terms.free(COUNTS) if domains.ordered[domains.splittable].any() else None,
        start=tuple(start),
        base=None if base is None else base.plan(encoding, terms, share * base_part),
        rounds=rounds,
    )


def grow_by_labels(table: Table, release: Release, rng: PublicRng, plan: LabelPlan) -> Additive:
    """Cells, base, then one small tree after the other; labels are seen by gradients and by sums with the target."""
    view, loss = FeatureView.of(table), for_labels(plan.loss)
    # Cells: at exact quantiles of the features.
    grid = CellGrid.of(table.encoding, _cuts(view, release, plan))
    view = view.derive(CELL_STATE, grid.cells)
    # Base: from exact products of components, and noisy ones with the target.
    base, trees = _base(view, release, plan, grid), list[GrownTree]()
    if (rounds := plan.rounds) is None:
        return assemble(table.encoding, grid, base, trees)
    # Rounds: gradients see labels, scores and nodes do not.
    view = view.derive(SCORE_STATE, base.scores(grid))
    annealing = Annealing(rounds, loss, plan.terms, rounds.n_rows or base.n_records)
    counter = Counter("rounds", rounds.n_trees)
    with release.filter(rounds.filter):
        for number, planned in enumerate(annealing, 1):
            growth = LabelGrowth(view.beside(GRADIENT_STATE, loss), grid.candidates(rng), grid, loss)
            for event in planned.splits:
                growth.split(release.choose(growth.scores(), event))
            known = plan.terms.free(f"round {number}: curvatures in the leaves")
            curvatures = release.features(growth.view, CurvatureSums(loss, 1 << rounds.depth), known)
            sums = np.hstack([release.noisy(growth.leaf_sums(), planned.leaves), curvatures])
            leaves = leaf_values(sums, planned.leaves, loss, plan.learning_rate, rounds.margin, exact_curvatures=True)
            annealing.note(leaves.strength)
            trees.append(GrownTree(growth.splits, in_fixed_point(leaves.values), leaves.noise))
            view = growth.view.derive(SCORE_STATE, AddValues(trees[-1].values))
            counter.add()
    return assemble(table.encoding, grid, base, trees)


class LabelGrowth(GradientGrowth):
    """One tree, whose nodes are seen by features and whose sums see labels."""

    def __init__(self, view: FeatureView, candidates: Candidates, grid: CellGrid, loss: LabelLoss) -> None:
        super().__init__(view, candidates, grid.cells.offsets, loss.n_scores)

    @property
    def view(self) -> FeatureView:
        """The records, each with its node."""
        assert isinstance(self.table, FeatureView)
        return self.table

    def leaf_sums(self) -> IntArray:
        """Return the sums of gradients at the open nodes, one row for each; exact and private."""
        kernel = GradientSums(self._n_open, self.n_scores)
        return self.view.table.aggregate(kernel)[:, : self.n_scores]

    def _sums(self, slots: NDArray[np.int32]) -> IntArray:
        return self.view.table.aggregate(GradientHistogram(slots, self._offsets, self.n_scores))


def _cuts(view: FeatureView, release: Release, plan: LabelPlan) -> dict[int, list[int]]:
    """Return where ordered features are cut into cells."""
    return {} if plan.counts is None else exact_cuts(view, release, plan.counts, cells_of_each(view.encoding))


def _base(view: FeatureView, release: Release, plan: LabelPlan, grid: CellGrid) -> BaseTables:
    """Return what the model begins with: a common start of a regression target, and the base on top of it."""
    start, loss = without_base(view.encoding, grid, start_scores(None, plan.loss), 1.0), plan.loss
    if plan.start:
        start = _mean(view, release, plan, grid)
    if plan.base is None:
        return start
    if isinstance(loss, Huber):  # its gradients are the targets of the regression
        labels = for_labels(loss)
        view = view.derive(SCORE_STATE, start.scores(grid)).beside(GRADIENT_STATE, labels)
        return plan.base.base.run(view, release, plan.base, grid, start, loss.part)
    return plan.base.base.run(view, release, plan.base, grid, start)


def _plan_mean(terms: Terms, share: Share) -> Event:
    """Plan noise on the sum of gradients from the middle of the range: half of what a changed label moves is one."""
    return terms.noise("sums of gradients", share, l1=ONE, l2_squared=ONE**2, signed=True)


def _mean(view: FeatureView, release: Release, plan: LabelPlan, grid: CellGrid) -> BaseTables:
    """Return a base that gives all records the mean of the target."""
    assert isinstance(plan.loss, Huber)
    number, mean = plan.start
    whole = replace(plan.loss, width=ONE // 2)  # seen from the middle no gradient is cut off
    even = without_base(view.encoding, grid, start_scores(None, whole), 1.0)
    at_root = view.derive(NODE_STATE, AllAtRoot())
    count = release.features(at_root, CurvatureSums(for_labels(whole), 1), number)
    seen = with_gradients(at_root.table, even, grid, for_labels(whole))
    sums = release.noisy(seen.aggregate(GradientSums(1, 1))[:, :1], mean)
    weighted = (count * whole.count.numerator) // whole.count.denominator  # as gradients have their counts
    scores = start_scores(np.hstack([sums, weighted]), whole, mean.deviation)
    return without_base(view.encoding, grid, scores, max(float(count[0, 0]) / ONE, 1.0))
