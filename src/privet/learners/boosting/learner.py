"""Boosting: an additive base, then rounds of small trees, each fitted to what the model still gets wrong.

Ours. What makes it private at a small price: splits are chosen by one selection among all features, a record's gradient
and curvature fit into one unit of norm together, leaf values take account of their noise, and as soon as what is
released is mostly noise, the rest of the budget is divided into fewer rounds with more for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from privet.estimators.learning import Hints
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.annealing import Annealing, Rounds
from privet.learners.boosting.cells import (
    MIDDLE,
    BaseTables,
    CellGrid,
    common_start,
    frequencies_of_leaves,
    in_fixed_point,
    plan_start,
)
from privet.learners.boosting.choice_base import ChoicePlan
from privet.learners.boosting.class_means import ClassMeansPlan
from privet.learners.boosting.class_means_base import ClassMeansBase, ClassMeansBasePlan
from privet.learners.boosting.descent_base import DescentPlan
from privet.learners.boosting.direction_base import DirectionPlan
from privet.learners.boosting.frequencies_base import FrequenciesBase, FrequenciesPlan, is_rare
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE, AddValues
from privet.learners.boosting.gradients import SCORE_STATE, Huber, Logistic, Loss, Norm, Softmax
from privet.learners.boosting.grid_outline import with_grids
from privet.learners.boosting.grown_trees import GrownTree, assemble, grow_tree
from privet.learners.boosting.histogram_base import HistogramPlan
from privet.learners.boosting.leaf_values import leaf_values
from privet.learners.boosting.outline import outline
from privet.learners.boosting.outlined import LittleSignal, Outline
from privet.learners.boosting.pair_choice import are_few_enough
from privet.learners.boosting.rank_counts import RankPlan
from privet.learners.boosting.regression_base import AdditiveBase, RegressionPlan
from privet.learners.boosting.regression_outline import outline_for_regression
from privet.learners.boosting.soft_stumps import softened
from privet.learners.boosting.stepwise_base import StepwiseBase, StepwisePlan, narrowed
from privet.learners.boosting.target_window import CountedWindowPlan, WindowPlan
from privet.learners.boosting.whitened_base import WhitenedPlan
from privet.mechanisms.release import Release
from privet.privacy.events import Composition, Event, Filter, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms, times
from privet.progress import Counter
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, RangeTarget
from privet.tables import Table
from privet.trees.quantiles import OfFeature, QuantileSearch
from privet.trees.structure import FeatureCodes

DOUBT = 0.25  # of the deviation of a bought number of records
HISTOGRAM_CELLS = 4  # of a numeric feature where class histograms are all that is measured: no more than their groups
FINE_BINS = 4096  # the public grid on which private quantiles are searched; so fine for the sake of long tails

BasePlan = (
    RegressionPlan
    | HistogramPlan
    | StepwisePlan
    | DescentPlan
    | DirectionPlan
    | FrequenciesPlan
    | ClassMeansBasePlan
    | WhitenedPlan
    | ChoicePlan
)


@dataclass(frozen=True)
class Recipe:
    """The constants of one kind of guarantee, found on data sets that docs/learners/boosting.md names."""

    norm: Norm
    learning_rate: float
    patience: float
    records_per_deviation: int


CONCENTRATED = Recipe("l2", 0.7, 2.0, 20)
# A large signal, whose splits are sure: rounds that are mostly noise still add up, and two classes can go all the way.
LARGE_TWO_CLASSES, LARGE_MANY_CLASSES = Recipe("l2", 1.0, 1.3, 20), Recipe("l2", 0.7, 1.3, 20)
CONCENTRATED_REGRESSION = Recipe("l2", 1.0, 2.0, 20)
PURE = Recipe("l1", 1.0, 3.0, 30)


@dataclass(frozen=True)
class BoostingPlan(Plan):
    """Bins, base and rounds, one after the other.

    Attributes
    ----------
    terms : Terms
        What one unit of privacy may change; budgets of rounds become events on the way.
    loss : Loss
        Whose gradients are added up.
    learning_rate : float
        The part of a leaf's step that is taken.
    levels : int
        How many times the cells of a numeric feature are halved; zero for cells that are public.
    quantiles : tuple of OfFeature
        The selections that this takes.
    ranks : RankPlan or None
        The counts that cells of equal shares take, in place of these.
    window : WindowPlan, CountedWindowPlan or None
        Where a regression target mostly lies; None for classes.
    start : Event or None
        The sums that a common start is made of, where one is measured.
    base : BasePlan or None
        The releases of the base, where there is one.
    rounds : Rounds or None
        What is known of the rounds before any of them; None where there are none.
    if_rare : ClassMeansPlan or None
        What takes the place of all rounds, for what they may spend, where one class turns out to be rare.
    """

    terms: Terms
    loss: Loss
    learning_rate: float
    levels: int
    quantiles: tuple[OfFeature, ...]
    ranks: RankPlan | None
    window: WindowPlan | CountedWindowPlan | None
    start: Event | None
    base: BasePlan | None
    rounds: Rounds | None
    if_rare: ClassMeansPlan | None = None

    @property
    def whole(self) -> Sequential:
        """All add up; the rounds' total is fixed, what each of them gets is not."""
        parts: list[Composition] = [of.event for of in self.quantiles]
        if self.ranks is not None:
            parts.extend(self.ranks.events)
        if self.window is not None:
            parts.extend(self.window.questions)
        if self.start is not None:
            parts.append(self.start)
        if self.base is not None:
            parts.extend(self.base.events)
        if self.rounds is not None:
            parts.append(self.rounds_filter)
        return Sequential(tuple(parts))

    @property
    def rounds_filter(self) -> Filter:
        """What all rounds together may spend, or what takes their place."""
        assert self.rounds is not None
        if self.if_rare is None:
            return self.rounds.filter
        return Filter(f"{self.rounds.filter.name}, or class means where a class is rare", self.rounds.cap)

    @property
    def small_trees_alone(self) -> bool:
        """Whether all that tells two classes apart is stumps, or trees of two splits that are one choice."""
        rounds = self.rounds
        if rounds is None or rounds.grid is not None or not isinstance(self.loss, Logistic):
            return False
        if not isinstance(self.base, FrequenciesPlan | None):
            return False
        return rounds.depth == 1 or (rounds.depth == 2 and rounds.paired)

    @property
    def facts(self) -> dict[str, object]:
        """What the base is, how many trees there can be, and how fine the bins are."""
        base = None if self.base is None else self.base.base
        bins = {"levels of bins": self.levels} if self.ranks is None else {"bins": self.ranks.counts}
        instead = {"rounds where a class is rare": f"none, but {self.if_rare.means}"} if self.if_rare else {}
        return {"base": base, "rounds": self.rounds, **instead, **bins}


@dataclass(frozen=True)
class Boosting:
    """The learner: bins, an additive base or a common start, annealed rounds of small trees.

    ``n_trees`` and ``max_depth`` of None are decided by `privet.learners.boosting.outline`, as all the rest is.
    """

    n_trees: int | None = None
    max_depth: int | None = None
    learning_rate: float | None = None
    bins: int = FINE_BINS

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """The outline depends on it, whatever the target and the guarantee."""
        return True

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> BoostingPlan:
        """Divide the budget over bins, base and rounds; the rounds' total is fixed, what each gets is not."""
        first = _outlined(encoding, share, hints, terms.steps)
        if encoding.n_classes and share is not None and share.epsilon is not None and self.max_depth is None:
            first = with_grids(first, encoding, share, hints.n_rows, terms.steps)

        def divided(share: Share | None) -> BoostingPlan:
            return self._divided(encoding, terms, share, hints, first)

        if first.n_trees:
            return divided(share)
        # Rounds adapt to what was released. Without them all noise may be fixed in advance, and cost less by that.
        return divided(terms.sharper(share, lambda tried: tuple(divided(tried).whole.events())))

    def _divided(
        self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints, first: Outline
    ) -> BoostingPlan:
        """Divide a budget as it is outlined."""
        recipe = _recipe(encoding, share, first)
        loss, domains, left = loss_of(encoding, recipe.norm), FeatureCodes.of(encoding), Fraction(1)
        quantiles, ranks = tuple[OfFeature, ...](), None
        window: WindowPlan | CountedWindowPlan | None = None
        if isinstance(encoding.target, RangeTarget):
            of_window = times(share, first.window_part)
            if first.window_by_counts:
                window = CountedWindowPlan.of(terms, of_window)
            else:
                window = WindowPlan.of(encoding.target, terms, of_window)
            left -= first.window_part
        if domains.ordered[domains.splittable].any() and (first.levels or first.ranks):
            for_bins = times(share, first.bins_part)
            if first.ranks is not None:
                ranks = first.ranks.plan(encoding, terms, for_bins)
            else:
                quantiles = QuantileSearch(first.levels).plan(encoding, terms, for_bins)
            left -= first.bins_part
        # Where nothing can be split, or the rounds would get next to nothing, there are none.
        grows = domains.splittable.size > 0 and first.n_trees > 0
        base_part = first.base_part if grows else left
        start_part = base_part if first.base is None else Fraction(0)
        rounds = Rounds(
            times(share, left - base_part),
            self.n_trees or first.n_trees,
            self.max_depth or first.depth,
            recipe.patience,
            first.split_part,
            hints.n_rows,
            recipe.records_per_deviation,
            margin=float(base_part > 0 and not isinstance(first.base, LittleSignal)),
            shared_splits=first.shared_splits,
            paired=(self.max_depth or first.depth) >= 2 and are_few_enough(domains.splittable.size, loss.n_scores),
            grid=first.grid,
        )
        for_start, for_base = (times(share, part) for part in (start_part, base_part - start_part))
        return BoostingPlan(
            terms=terms,
            loss=loss,
            learning_rate=self.learning_rate or recipe.learning_rate,
            levels=first.levels,
            quantiles=quantiles,
            ranks=ranks,
            window=window,
            start=plan_start(loss, terms, for_start) if start_part else None,
            base=_plan_base(first, encoding, terms, for_base, hints.rows_deviation),
            rounds=rounds if grows else None,
            if_rare=first.if_rare.plan(encoding, terms, rounds.share) if grows and first.if_rare else None,
        )

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: BoostingPlan) -> Additive:
        """Bins, base, then one small tree after the other."""
        # Bins: private quantiles or public cells; from here on a record is known by its cells.
        grid = CellGrid.of(table.encoding, _cuts(table, release, plan))
        table = table.derive(CELL_STATE, grid.cells)
        # Base: from noisy counts of classes or sums of products, or a common start.
        (base, loss), trees = _base(table, release, rng, plan, grid), list[GrownTree]()
        if (rounds := plan.rounds) is None:
            return assemble(table.encoding, grid, base, trees)
        if plan.if_rare is not None and is_rare(base.frequencies):
            assert isinstance(plan.base, FrequenciesPlan)
            with release.filter(plan.rounds_filter):
                base = plan.if_rare.means.run(table, release, plan.if_rare, grid, base, plan.base.share(base), rng)
            return assemble(table.encoding, grid, base, trees)
        # Rounds: each tree is fitted to the gradients that the model so far leaves.
        table = table.derive(SCORE_STATE, base.scores(grid))
        annealing = Annealing(rounds, loss, plan.terms, rounds.n_rows or base.n_records)
        counter = Counter("rounds", rounds.n_trees)
        with release.filter(plan.rounds_filter):
            for planned in annealing:
                table = table.derive(GRADIENT_STATE, loss)
                growth, possible = grow_tree(table, release, rng, grid, rounds, planned, loss.n_scores)
                sums = release.noisy(growth.leaf_sums(), planned.leaves)
                leaves = leaf_values(sums, planned.leaves, loss, plan.learning_rate, rounds.margin, possible=possible)
                annealing.note(leaves.strength)  # where noise prevails, later rounds have larger shares
                if base.frequencies is None and not isinstance(loss, Huber):  # nothing came before this tree
                    known = sums if possible is None else sums[possible]
                    base = replace(base, frequencies=frequencies_of_leaves(known, loss))
                trees.append(GrownTree(growth.splits, in_fixed_point(leaves.values), leaves.noise))
                table = growth.table.derive(SCORE_STATE, AddValues(trees[-1].values))
                counter.add()
        if plan.small_trees_alone:
            base = softened(base, trees, grid)
        return assemble(table.encoding, grid, base, trees)


def _outlined(encoding: Encoding, share: Share | None, hints: Hints, steps: int) -> Outline:
    """Return how to begin: with class means in place of trees where a bought number may be of so small a table.

    They lose less where there is more signal than trees do where there is less.
    """
    if not encoding.n_classes:
        return outline_for_regression(encoding, share, hints.n_rows, steps)
    first = outline(encoding, share, hints.n_rows, steps)
    if hints.n_rows is None or not hints.rows_deviation or not first.n_trees:
        return first
    cautious = outline(encoding, share, max(1, int(hints.n_rows - DOUBT * hints.rows_deviation)), steps)
    if isinstance(cautious.base, ClassMeansBase) and not cautious.n_trees:
        return replace(cautious, base=replace(cautious.base, n_rows=hints.n_rows))
    return first


def _recipe(encoding: Encoding, share: Share | None, first: Outline) -> Recipe:
    """Return the constants for a kind of guarantee, of target and of signal."""
    if share is not None and share.epsilon is not None:
        return PURE
    if not encoding.n_classes:
        return CONCENTRATED_REGRESSION
    if not first.shared_splits:
        return CONCENTRATED
    return LARGE_TWO_CLASSES if encoding.n_classes == 2 else LARGE_MANY_CLASSES


def _plan_base(
    first: Outline, encoding: Encoding, terms: Terms, share: Share | None, rows_deviation: float
) -> BasePlan | None:
    """Plan the base, where there is one; ranks among few cells are not so far out, so that less noise is needed."""
    match first.base:
        case None:
            return None
        case AdditiveBase() | StepwiseBase():
            return first.base.plan(encoding, terms, share, first.levels)
        case ClassMeansBase() | FrequenciesBase():
            return first.base.plan(encoding, terms, share, rows_deviation)
        case _:
            return first.base.plan(encoding, terms, share)


def _cuts(table: Table, release: Release, plan: BoostingPlan) -> dict[int, list[int]]:
    """Return where numeric features are cut into cells: at private quantiles, or at public places."""
    if plan.ranks is not None:
        return plan.ranks.counts.run(table, release, plan.ranks)
    if plan.levels:
        return QuantileSearch(plan.levels).run(table, release, plan.quantiles)
    if isinstance(plan.base, HistogramPlan) and plan.rounds is None:
        return CellGrid.even_cuts(table.encoding, HISTOGRAM_CELLS)
    return CellGrid.public_cuts(table.encoding)


def _base(
    table: Table, release: Release, rng: PublicRng, plan: BoostingPlan, grid: CellGrid
) -> tuple[BaseTables, Loss]:
    """Return what the model begins with, a common start and what was planned on top of it; and the rounds' loss."""
    loss, centre = plan.loss, MIDDLE
    if plan.window is not None and isinstance(loss, Huber):
        window = plan.window.run(table, release)
        loss, centre = replace(loss, width=window.width), window.centre
    start = common_start(table, release, plan.start, grid, loss, centre)
    match plan.base:
        case None:
            base = start
        case RegressionPlan(kind):
            base = kind.run(table, release, plan.base, grid, start)
        case DirectionPlan(kind):
            base = kind.run(table, release, plan.base, grid, start)
        case HistogramPlan(kind):
            base = kind.run(table, release, plan.base, grid, start, rng)
        case FrequenciesPlan(kind):
            base = kind.run(table, release, plan.base, start)
        case ClassMeansBasePlan(kind):
            base = kind.run(table, release, plan.base, grid, start, rng)
        case StepwisePlan(kind):
            assert isinstance(loss, Huber)
            base = kind.run(table, release, plan.base, grid, start, loss)
        case WhitenedPlan(kind):
            base = kind.run(table, release, plan.base, grid, start, narrowed(loss) if isinstance(loss, Huber) else loss)
        case ChoicePlan(kind):
            assert isinstance(loss, Huber)
            base = kind.run(table, release, plan.base, grid, start, loss, rng)
        case DescentPlan(kind):
            assert isinstance(loss, Logistic | Softmax)
            base = kind.run(table, release, plan.base, grid, start, loss)
    return base, narrowed(loss) if isinstance(loss, Huber) else loss


def loss_of(encoding: Encoding, norm: Norm) -> Loss:
    """Return the loss for the target that an encoding has, with gradients bounded in this norm."""
    if isinstance(encoding.target, RangeTarget):
        return Huber(norm, encoding.target.levels)
    return Logistic(norm) if encoding.n_classes == 2 else Softmax(encoding.n_classes, norm)
