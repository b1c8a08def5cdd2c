"""The scikit-learn estimators around the boosting learner."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier, PrivateRegressor
from privet.estimators.learning import Hints
from privet.estimators.objectives import Objective
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.label_growth import LabelPlan, grow_by_labels, plan_by_labels
from privet.learners.boosting.learner import Boosting, BoostingPlan
from privet.learners.boosting.outline import is_better_pure
from privet.mechanisms.release import Release
from privet.parameters import Auto, RowsHint, check_whole_or_auto, threads
from privet.privacy.terms import Allowance, Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, RangeTarget
from privet.schema.schema import Schema
from privet.tables import Table


@dataclass(frozen=True)
class BoostingUnderAnyRelation(Boosting):
    """Boosting, which uses what is public: under ``label``, without units, features are."""

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> BoostingPlan | LabelPlan:  # type: ignore[override]  # either of the two is grown here
        """Divide the budget by the relation."""
        if share is None or not terms.features_are_public:
            return super().plan(encoding, terms, share, hints)
        return plan_by_labels(self, encoding, terms, share, hints)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: BoostingPlan | LabelPlan) -> Additive:
        """Grow by the plan that there is."""
        if isinstance(plan, LabelPlan):
            return grow_by_labels(table, release, rng, plan)
        return super().grow(table, release, rng, plan)


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
        n_rows_hint: RowsHint = None,
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
        return BoostingUnderAnyRelation(
            check_whole_or_auto("n_trees", self.n_trees, 1, 10_000),
            check_whole_or_auto("max_depth", self.max_depth, 1, 8),
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

    With `delta` above zero (1e-6, say, or far less than one over the number of records) it is the most accurate
    learner of this library; with pure epsilon it loses a little of that. The model is not one readable tree, but it is
    additive: ``model_.contributions`` takes every prediction apart exactly, ``model_.shape_of(name)`` shows what the
    values of a feature add, ``model_.importances()`` ranks features, all from released values.

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
        boosting.md has the rule); fewer where the number of records is too small for that. As soon as released
        values are mostly noise, what is left is divided into fewer rounds with more budget for each. Where
        `n_rows_hint` leaves a base alone there are no rounds, whatever is asked for here, nor where class means take
        their place since a class is rare; a plan says where that may be.
    max_depth : int or "auto", default="auto"
        Levels of splits of each tree, where there are trees: 1 for small data of two classes, then 2, and up to 4 (pure
        epsilon) or 8 (`delta` above zero) for large data, regression among it (docs/learners/boosting.md has the rule);
        3 with `delta` above zero where nothing is known of the number of records.
    objective : {"accuracy", "balanced_accuracy", "f1"} or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records, its order of magnitude is enough. It decides how the budget is divided,
        what the model starts with, and how large trees are: by ``n epsilon`` for pure epsilon, ``n^2 rho`` with `delta`
        above zero. Many classes get a base alone up to middling signals. Never compared with the data. None: a noisy
        number is bought with a small part of the budget, or taken for free where it is public
        (`privet.estimators.counting`).
        "unknown": do without.
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
    private quantiles, one selection of range one for each feature and level, or counts of halves, of which a record
    moves one for each feature and level by one (`privet.learners.boosting.rank_counts`). *Base*: class histograms, of
    which a record changes one count for each feature by one, those of its own class, so that classes see disjoint
    records; or how frequent the classes are and sums of columns of each (`privet.learners.boosting.class_means_base`),
    or sums signed by class (`privet.learners.boosting.direction_base`); or sums of products of columns, and of columns
    with the target, for which a record's values are held within a fixed size
    (`privet.learners.boosting.regression_base`); or sums of columns times gradients, step by step
    (`privet.learners.boosting.descent_base`), in columns that released products have turned where there is enough
    signal for them (`privet.learners.boosting.whitened_base`), which are accounted for by their exact delta where there
    is nothing else (`privet.privacy.exact_gaussian`). *Splits*: one selection a level among all features' splits, whose
    scores ``|left| + |right|`` a record moves by at most its gradient's L1 norm either way, and gradients are cut off
    at 1/2: range 1 (2 for many classes); for the first two levels one selection among pairs of splits, of the same
    range (`privet.learners.boosting.pair_choice`). *Leaves*: sums of gradients and curvatures, whose joint norm is
    bounded for each record by integer arithmetic (`privet.learners.boosting.gradients`). How much the next round gets
    depends on released values; a filter (`privet.privacy.events.Filter`) holds the total. All else is post-processing.
    The running time depends on the data.

    Under ``neighbours="label"``, without units, what looks at features alone is free: cells at exact quantiles, a base
    that is a regression on principal components of the features, of which only the products with the target are
    noised, and curvatures. Gradients are not cut off: a changed label moves them by one, or for many classes by one in
    each of two scores (`privet.learners.boosting.label_growth`).

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

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int | Auto = "auto",
        max_depth: int | Auto = "auto",
        objective: Objective = "accuracy",
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            schema,
            n_trees=n_trees,
            max_depth=max_depth,
            n_rows_hint=n_rows_hint,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.objective = objective

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Stay with pure epsilon, a stronger guarantee, where so few things are measured that it costs less noise."""
        if terms.features_are_public:
            return asked
        better = is_better_pure(encoding, terms, asked.whole, asked.pure.whole, hints.n_rows)
        return asked.pure if better else asked

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
            low, high = (expit(scores + side * reach) for side in (-1, 1))
            return np.hstack([1 - high, low]), np.hstack([1 - low, high])
        others = [logsumexp(np.delete(scores, k, axis=1), axis=1) for k in range(scores.shape[1])]
        odds = scores - np.stack(others, axis=1)
        return expit(odds - reach), expit(odds + reach)


class BoostingRegressor(_Boosted, PrivateRegressor):
    """Boosted small trees for a target within a public range; made for small tables with bounded targets.

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
    *Privacy.* As for `BoostingClassifier`, with the residual as the gradient. Two selections of range one find the
    target's quartiles, or noisy counts do, of which a record changes one by one
    (`privet.learners.boosting.target_window`). The model begins halfway between them; residuals are cut off at twice
    their distance, later at half of that, and divided by it, so that noise is as many times smaller. The curvature is a
    count at a quarter of its weight: squared L2 norm at most 17/16 together, L1 norm 5/4. The base releases sums of
    residuals times columns several times, each time with what is left of the target: columns that released products
    have turned, whose product with the residual is held within a fixed length
    (`privet.learners.boosting.whitened_base`), or the columns as they are (`privet.learners.boosting.stepwise_base`).
    With pure epsilon and little signal the base is one of choices and curves (`privet.learners.boosting.choice_base`).

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
        """Return between which values each prediction would lie if only the noise were drawn again. Spends nothing.

        Parameters and limits as for `BoostingClassifier.noise_interval`; one value for each record.
        """
        model, scores, reach = self._shaken(self._codes(X), coverage)
        target = cast(RangeTarget, model.encoding.target)
        low, high = (np.clip(scores + side * reach, 0.0, 1.0)[:, 0] for side in (-1, 1))
        return target.low + low * (target.high - target.low), target.low + high * (target.high - target.low)
