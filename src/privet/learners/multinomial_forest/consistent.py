"""The consistent multinomial forest (Bai, Li, Li, Yang, Jiang, Xia 2021), Algorithm 1 as printed. No privacy.

Structure points choose the splits of a tree, estimation points label its leaves, and each tree divides the records
afresh. The private forest of the same idea is `private.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.learners.multinomial_forest.honest_growth import Criterion, HonestRule, grow_honest_forest
from privet.learners.multinomial_forest.honest_plan import check_partition_rate
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import Auto, RowsHint, check_choice, check_whole, check_whole_or_auto, exact, threads
from privet.privacy.plan import PlanWithoutNoise
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.protocol import IntArray

LeafRule = Literal["algorithm", "every_leaf"]
Variant = Literal["multinomial", "breiman_se", "breiman_m"]

FINE_BINS = 1024  # close to the values themselves


@dataclass(frozen=True)
class ConsistentForest:
    """The learner: Algorithm 1 as printed, and Breiman's forest with one of its two parts each."""

    rule: HonestRule
    n_trees: int = 100
    label_rate: float = math.inf
    n_jobs: int = 1
    bins: int = FINE_BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PlanWithoutNoise:
        """Plan one event without noise: the whole forest."""
        return PlanWithoutNoise.of(self.n_trees, terms, share)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PlanWithoutNoise) -> Forest:
        """Algorithm 1, lines 3 to 11 in `grow_honest_forest`, and then line 12."""
        trees, counts = grow_honest_forest(table, release, plan.forest, self.rule, self.n_trees, rng, self.n_jobs)
        labels = multinomial_labels(counts, self.label_rate, rng)
        return Forest(table.encoding, trees, LeafLabels(labels))


def multinomial_labels(counts: IntArray, rate: float, rng: PublicRng) -> NDArray[np.uint16]:
    """Draw each leaf's label by softmax of B3/2 times its class shares; one of the largest if B3 is infinite."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    if math.isinf(rate):
        weights = (counts == counts.max(axis=1, keepdims=True)).astype(np.float64)
    else:
        weights = np.exp(rate / 2 * (shares - shares.max(axis=1, keepdims=True)))
    up_to = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random((len(counts), 1)) >= up_to[:, :-1]).sum(axis=1)
    return np.asarray(drawn, dtype=np.uint16)


class ConsistentForestClassifier(PrivateClassifier):
    """The paper's consistent forest, for data that is not private: nothing is guaranteed.

    About as accurate as Breiman's forest, and consistent: its error tends to the least possible one as data grows. The
    private form is `MultinomialForestClassifier`.

    Parameters
    ----------
    epsilon : None
        There is no private form; anything else is refused.
    delta : float, default=0.0
        Not used.
    schema : Schema, optional
        The domains; read off the data without one.
    n_trees : int, default=100
        Number of trees.
    max_depth : int or "auto", default="auto"
        The most levels of splits; "auto" for no limit.
    partition_rate : float, default=1.0
        Structure points for each estimation point.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity.
    feature_rate, value_rate : float, default=10.0
        The paper's B1 and B2: 0 chooses uniformly, infinity the best.
    label_rate : float or None, default=None
        The paper's B3; None for an infinite one, the majority of a leaf.
    min_leaf : int, default=5
        The paper's k, a number of estimation points.
    leaf_rule : {"algorithm", "every_leaf"}, default="algorithm"
        Nodes with at most k points are not split (Algorithm 1); or no leaf has fewer than k, as the text and Theorem 1
        have it.
    variant : {"multinomial", "breiman_se", "breiman_m"}, default="multinomial"
        The paper's forest; Breiman's with structure and estimation points; Breiman's with multinomial splits, on
        bootstrap samples.
    n_rows_hint : int, "unknown" or None, default=None
        Not used.
    random_state : int, RandomState, Generator or None
        Seeds everything.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        The schema's classes.
    model_ : Forest
        The trees.
    privacy_ : Ledger
        It says that nothing is guaranteed.

    Notes
    -----
    *Privacy.* None, and none claimed: split points lie between values of the data, nodes stop where the data says so,
    and labels are exact. `fit` warns.

    References
    ----------
    Bai, J., Li, Y., Li, J., Yang, X., Jiang, Y., and Xia, S.-T. (2022). Multinomial random forest. Pattern
    Recognition 122.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from privet import ConsistentForestClassifier
    >>> X = np.linspace(0, 1, 400).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # it says that nothing is private here
    ...     forest = ConsistentForestClassifier(n_trees=10, random_state=0).fit(X, y)
    >>> forest.predict([[0.02], [0.98]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: None = None,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 100,
        max_depth: int | Auto = "auto",
        partition_rate: float = 1.0,
        criterion: Criterion = "gini",
        feature_rate: float = 10.0,
        value_rate: float = 10.0,
        label_rate: float | None = None,
        min_leaf: int = 5,
        leaf_rule: LeafRule = "algorithm",
        variant: Variant = "multinomial",
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.partition_rate = partition_rate
        self.criterion = criterion
        self.feature_rate = feature_rate
        self.value_rate = value_rate
        self.label_rate = label_rate
        self.min_leaf = min_leaf
        self.leaf_rule = leaf_rule
        self.variant = variant
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> ConsistentForest:
        n_trees = check_whole("n_trees", self.n_trees, 1, 10_000)
        check_choice("leaf_rule", self.leaf_rule, ("algorithm", "every_leaf"))
        check_choice("variant", self.variant, ("multinomial", "breiman_se", "breiman_m"))
        min_leaf, every = check_whole("min_leaf", self.min_leaf, 1, 1 << 30), self.leaf_rule == "every_leaf"
        rule = HonestRule(
            choice="best" if self.variant == "breiman_se" else "multinomial",
            points="bootstrap" if self.variant == "breiman_m" else "halves",
            partition_rate=float(check_partition_rate(self.partition_rate)),
            criterion=cast(Criterion, check_choice("criterion", self.criterion, ("gini", "entropy"))),
            split_above=min_leaf,
            min_child=min_leaf if every else 1,
            small_child="avoid" if every else "stop",
            feature_rate=_rate("feature_rate", self.feature_rate),
            value_rate=_rate("value_rate", self.value_rate),
            max_depth=check_whole_or_auto("max_depth", self.max_depth, 1, 1 << 20),
        )
        label_rate = math.inf if self.label_rate is None else _rate("label_rate", self.label_rate)
        return ConsistentForest(rule, n_trees, label_rate, threads(self.n_jobs))


def _rate(name: str, value: object) -> float:
    rate = float(exact(value, name))
    if rate < 0:
        raise ParameterError(f"{name} must be at least 0, got {value}: pass e.g. 10.0")
    return rate
