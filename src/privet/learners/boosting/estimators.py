"""Boosting: an additive base, then rounds of small trees, each fitted to what the model still gets wrong.

Ours. What makes it private at a small price: splits are chosen by one selection among all features, a record's gradient
and curvature fit into one unit of norm together, leaves know how noisy they are, and rounds get surer (and fewer) as
soon as released values say that the noise is winning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier, PrivateRegressor
from privet.estimators.learning import Hints
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.assembly import assemble
from privet.learners.boosting.base_tables import BaseTables, in_fixed_point, without_base
from privet.learners.boosting.gradient_growth import CellGrid, GradientGrowth
from privet.learners.boosting.gradient_histogram import (
    CELL_STATE,
    GRADIENT_STATE,
    NODE_STATE,
    AddValues,
    AllAtRoot,
    BaseScores,
    GradientSums,
)
from privet.learners.boosting.gradients import SCORE_STATE, Huber, Logistic, Loss, Norm, Softmax
from privet.learners.boosting.histogram_base import HistogramBase
from privet.learners.boosting.leaf_values import leaf_values
from privet.learners.boosting.outline import is_better_pure, outline
from privet.learners.boosting.regression_base import AdditiveBase
from privet.learners.boosting.rounds import Annealing, Rounds, count_of, start_scores
from privet.mechanisms.release import Release
from privet.parameters import check_whole
from privet.privacy.events import Event, Filter, Plan, Sequential
from privet.privacy.terms import Allowance, Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, RangeTarget
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.reading import threads
from privet.trees.builder import Split
from privet.trees.features import Domains
from privet.trees.quantiles import QuantileSearch

Auto = Literal["auto"]

EVEN_CELLS = 4  # where quantiles would cost too much
START_PART = Fraction(1, 2)  # of the base's budget, for the mean of a number
ZOOM = 4  # gradients of a number are cut off at a quarter of its range
FINE_BINS = 4096  # the public grid on which private quantiles are searched; so fine for the sake of long tails


@dataclass(frozen=True)
class Recipe:
    """The constants of one kind of guarantee, found on data sets that docs/learners/boosting.md names."""

    norm: Norm
    learning_rate: float
    patience: float
    records_per_deviation: int


CONCENTRATED = Recipe("l2", 0.7, 2.0, 20)
PURE = Recipe("l1", 1.0, 3.0, 30)


@dataclass(frozen=True)
class Boosting:
    """The learner: bins, an additive base or a common start, annealed rounds of small trees.

    ``n_trees`` and ``max_depth`` of None are decided by `privet.learners.boosting.outline`, as all the rest is.
    """

    n_trees: int | None = None
    max_depth: int | None = None
    learning_rate: float | None = None
    bins: int = FINE_BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Divide the budget over bins, base and rounds; the rounds' total is fixed, what each gets is not."""
        recipe, domains, events = _recipe(share), Domains.of(encoding), dict[str, Event]()
        first, loss, left = (
            outline(encoding, share, hints.n_rows, terms.steps),
            _loss(encoding, recipe.norm),
            Fraction(1),
        )
        if first.levels and domains.ordered[domains.splittable].any():
            events |= QuantileSearch(first.levels).plan(encoding, terms, _times(share, first.bins_part))
            left -= first.bins_part
        # Where nothing can be split, or the rounds would get next to nothing, there are none.
        grows = domains.splittable.size > 0 and first.n_trees > 0
        base_part = first.base_part if grows else left
        start_part = base_part if first.base is None else base_part * START_PART * isinstance(loss, Huber)
        if start_part:
            l1, l2_squared = loss.bound * loss.one, loss.bound * loss.one**2
            events["start"] = terms.noise(
                "sums of gradients", _times(share, start_part), l1=l1, l2_squared=l2_squared, signed=True
            )
        if first.base is not None:
            events |= first.base.plan(encoding, terms, _times(share, base_part - start_part))
        n_trees, depth = self.n_trees or first.n_trees, self.max_depth or first.depth
        rounds = None
        if grows:
            rounds = Rounds(
                _times(share, left - base_part),
                n_trees,
                depth,
                recipe.patience,
                first.split_part,
                hints.n_rows,
                recipe.records_per_deviation,
                margin=float(base_part > 0),
            )
        adaptive = () if rounds is None else (Filter("annealed rounds", rounds.cap, ()),)
        facts = {"base": first.base, "rounds": rounds, "levels of bins": first.levels}
        return Plan(events, Sequential((*events.values(), *adaptive)), facts)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> Additive:
        """Bins, base, then one small tree after the other."""
        recipe, rounds = _recipe_of(release), cast(Rounds | None, plan.facts["rounds"])
        loss, learning_rate = _loss(table.encoding, recipe.norm), self.learning_rate or recipe.learning_rate
        # Bins: private quantiles or public cells; from here on a record is known by its cells.
        if (levels := cast(int, plan.facts["levels of bins"])) > 0:
            cuts = QuantileSearch(levels).run(table, release, plan.events)
        else:
            few = isinstance(plan.facts["base"], HistogramBase) and rounds is None  # no more than its groups
            cuts = CellGrid.even_cuts(table.encoding, EVEN_CELLS) if few else CellGrid.public_cuts(table.encoding)
        grid = CellGrid.of(table.encoding, cuts)
        table = table.derive(CELL_STATE, grid.cells)
        # Base: from noisy counts of classes or sums of products, or a common start.
        base = self._base(table, release, rng, plan, grid, loss)
        table = table.derive(SCORE_STATE, BaseScores(base.start, base.tables, grid.cells.offsets, base.low, base.high))
        if rounds is None:
            return assemble(table.encoding, grid, base, [], [], [])
        trees, values, noise = list[list[Split]](), [], []
        n_rows = rounds.n_rows or base.n_records
        with release.ledger.filter("annealed rounds", rounds.cap):
            for events in (annealing := Annealing(rounds, loss, release.ledger.terms, n_rows)):
                table = table.derive(GRADIENT_STATE, loss)
                growth = GradientGrowth(table, grid.candidates(rng), grid.cells, loss.n_scores)
                for event in events.splits:
                    growth.split(release.choose(growth.scores(), event))
                sums = release.noisy(growth.leaf_sums(), events.leaves)
                leaves = leaf_values(sums, events.leaves, loss, learning_rate, rounds.margin)
                annealing.note(leaves.strength)  # the next rounds get more where noise is winning
                fixed = in_fixed_point(leaves.values)
                table = growth.table.derive(SCORE_STATE, AddValues(fixed))
                trees.append([grid.in_codes(split) for split in growth.splits])
                values.append(fixed)
                noise.append(leaves.noise)
        return assemble(table.encoding, grid, base, trees, values, noise)

    def _base(
        self, table: Table, release: Release, rng: PublicRng, plan: Plan, grid: CellGrid, loss: Loss
    ) -> BaseTables:
        start, base = without_base(table.encoding, grid, start_scores(None, loss), 1.0), plan.facts["base"]
        if "start" in plan.events:
            # the mean of a number may be anywhere in its range, so nothing is cut off yet: half of it from the middle
            whole = replace(loss, zoom=2) if isinstance(loss, Huber) else loss
            at_root = _with_gradients(table, start, grid, whole).derive(NODE_STATE, AllAtRoot())
            sums = release.noisy(at_root.aggregate(GradientSums(1, loss.n_scores)), plan["start"])
            start = without_base(
                table.encoding, grid, start_scores(sums, whole, plan["start"].deviation), count_of(sums, whole)
            )
        if base is None:
            return start
        if isinstance(base, HistogramBase):
            return base.run(table, release, plan.events, grid, start, rng)
        if isinstance(loss, Huber):  # classes enter the regression as they are
            table = _with_gradients(table, start, grid, loss)
        return cast(AdditiveBase, base).run(table, release, plan.events, grid, start, loss)


def _with_gradients(table: Table, base: BaseTables, grid: CellGrid, loss: Loss) -> Table:
    scores = BaseScores(base.start, base.tables, grid.cells.offsets, base.low, base.high)
    return table.derive(SCORE_STATE, scores).derive(GRADIENT_STATE, loss)


def _recipe(share: Share | None) -> Recipe:
    return PURE if share is not None and share.epsilon is not None else CONCENTRATED


def _recipe_of(release: Release) -> Recipe:
    allowance = release.ledger.allowance
    return _recipe(None if allowance is None else allowance.whole)


def _loss(encoding: Encoding, norm: Norm) -> Loss:
    if isinstance(encoding.target, RangeTarget):
        return Huber(norm, encoding.target.levels, ZOOM)
    return Logistic(norm) if encoding.n_classes == 2 else Softmax(encoding.n_classes, norm)


def _times(share: Share | None, part: Fraction) -> Share | None:
    return None if share is None else share * part


class _Boosted:
    """Parameters and learner that classifier and regressor share."""

    model_: Any

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int | Auto = "auto",
        max_depth: int | Auto = "auto",
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> Boosting:
        return Boosting(
            None if self.n_trees == "auto" else check_whole("n_trees", self.n_trees, 1, 10_000),
            None if self.max_depth == "auto" else check_whole("max_depth", self.max_depth, 1, 8),
        )

    def _shaken(
        self, codes: NDArray[Any], coverage: float
    ) -> tuple[Additive, NDArray[np.float64], NDArray[np.float64]]:
        """Return the model, its scores, and how far noise moves them within a central interval of this coverage."""
        if not 0 < coverage < 1:
            raise ParameterError(f"coverage must be between 0 and 1, got {coverage}: pass e.g. 0.9")
        model, jobs = cast(Additive, self.model_), threads(self.n_jobs)
        reach = NormalDist().inv_cdf((1 + coverage) / 2) * model.noise_deviations(codes, jobs)
        return model, model.scores(codes, jobs), reach


class BoostingClassifier(_Boosted, PrivateClassifier):
    """Boosted small trees on an additive base: the learner to take where accuracy for a given epsilon is what counts.

    With `delta` above zero (1e-6, say, or far less than one over the number of records) it is the most accurate of the
    house; with pure epsilon it loses a little of that. The model is not one readable tree, but it is additive:
    ``model_.contributions`` takes every prediction apart exactly, ``model_.shape_of(name)`` shows what the values of a
    feature add, ``model_.importances()`` ranks features, all from released values.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy.
    delta : float, default=0.0
        Zero for pure epsilon. Above zero everything is counted in zCDP, which pays for private quantiles and for many
        more rounds. Very small data gets the pure guarantee, where that costs less noise.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    n_trees : int or "auto", default="auto"
        The most rounds that the budget is divided into at first: 16, 30 or 60 by the size of the signal (docs/learners/
        boosting.md has the rule); fewer where the number of records is too small for that. As soon as noise is winning,
        rounds get more and become fewer. Where `n_rows_hint` leaves a base alone there are no rounds, whatever is asked
        for here.
    max_depth : int or "auto", default="auto"
        Levels of splits of each tree: 1 for small data of two classes, then 2, and 3 (pure epsilon) or 5 (`delta` above
        zero) for large data; 3 with `delta` above zero where nothing is known of the number of records. Of a number: 2,
        or 3 for large data with `delta` above zero.
    n_rows_hint : int, optional
        A public guess at the number of records, its order of magnitude is enough. It decides how the budget is divided,
        what the model starts with, and how large trees are: by ``n epsilon`` for pure epsilon, ``n^2 rho`` with `delta`
        above zero. Small data of many classes, or with a number, gets a base alone. Where nothing is known,
        `privet.mechanisms.measurements.noisy_row_count` buys a guess. Never compared with the data.
    random_state : int, RandomState, Generator or None
        Seeds what is public: the orders of categories, and which features are measured where there are too many for
        all. Noise never depends on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        The schema's classes.
    model_ : Additive
        What was learned.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* Neighbours as the schema says; sensitivities are for adding or removing a record. *Bins*: public, or
    private quantiles, one selection of range one for each feature and level. *Base*: class histograms, of which a
    record changes one count for each feature by one; or sums of products of columns, and of columns with the target,
    for which a record's values are held within a fixed size (`privet.learners.boosting.regression_base`). *Splits*: one
    selection a level among all features' splits, whose scores ``|left| + |right|`` a record moves by at most its
    gradient's L1 norm either way, and gradients are cut off at 1/2: range 1 (2 for many classes). *Leaves*: sums of
    gradients and curvatures, whose joint norm is bounded for each record by integer arithmetic
    (`privet.learners.boosting.gradients`). How much the next round gets depends on released values; a filter
    (`privet.privacy.events.Filter`) holds the total. All else is post-processing. The running time depends on the data.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingClassifier, Numeric, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> model = BoostingClassifier(epsilon=1.0, delta=1e-6, schema=schema, random_state=0).fit(X, y)
    >>> model.privacy_.epsilon
    1.0
    >>> model.predict([[0.05], [0.95]])
    array(['low', 'high'], dtype='<U4')
    """

    def _allowance(self, schema: Schema, hints: Hints) -> Allowance | None:
        """Stay with pure epsilon, a stronger guarantee, where so few things are measured that it costs less noise."""
        asked = super()._allowance(schema, hints)
        if asked is None or asked.rho is None:
            return asked
        pure, encoding = Allowance.of(self.epsilon), schema.encoding(FINE_BINS)
        better = is_better_pure(encoding, Terms.of(schema), asked.whole, pure.whole, hints.n_rows)
        return pure if better else asked

    def noise_interval(self, X: Any, coverage: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return between which probabilities each prediction would lie if only the noise were drawn again.

        Spends nothing.

        Parameters
        ----------
        X : frame or array
            Records.
        coverage : float, default=0.9
            The share of draws of the noise that the interval is meant to hold; see `Additive.noise_deviations` for what
            it leaves out.

        Returns
        -------
        low, high : float64 arrays of shape (n_rows, n_classes)
            For each class, with its own score lower or higher and the others' as they are.
        """
        model, scores, reach = self._shaken(self._codes(X), coverage)
        if model.link == "logistic":
            low, high = (1 / (1 + np.exp(-(scores + side * reach))) for side in (-1, 1))
            return np.hstack([1 - high, low]), np.hstack([1 - low, high])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        others = weights.sum(axis=1, keepdims=True) - weights
        low, high = (weights * np.exp(side * reach) for side in (-1, 1))
        return low / (low + others), high / (high + others)


class BoostingRegressor(_Boosted, PrivateRegressor):
    """Boosted small trees for a number within a public range; made for small tables with bounded targets.

    Parameters
    ----------
    epsilon, delta, schema, n_trees, max_depth, n_rows_hint, random_state, n_jobs
        As for `BoostingClassifier`; the schema's target is ``Numeric(low, high)``. Values beyond are clipped.

    Attributes
    ----------
    model_ : Additive
        What was learned.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* As for `BoostingClassifier`, with the residual, in units of the range, as the gradient. It is cut off at
    a quarter of the range, so that noise is four times smaller, but for the mean of all records, with which the model
    starts. The curvature is a count at half weight: squared L2 norm at most 5/4 together, L1 norm 3/2.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingRegressor, Numeric, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, target=Numeric(0, 10))
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> model = BoostingRegressor(epsilon=1.0, delta=1e-6, schema=schema, random_state=0).fit(X, 10 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 5) < 1.5)
    True
    """

    def noise_interval(self, X: Any, coverage: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return between which numbers each prediction would lie if only the noise were drawn again. Spends nothing.

        Parameters and limits as for `BoostingClassifier.noise_interval`; one number for each record.
        """
        model, scores, reach = self._shaken(self._codes(X), coverage)
        target = cast(RangeTarget, model.encoding.target)
        low, high = (np.clip(scores + side * reach, 0.0, 1.0)[:, 0] for side in (-1, 1))
        return target.low + low * (target.high - target.low), target.low + high * (target.high - target.low)
