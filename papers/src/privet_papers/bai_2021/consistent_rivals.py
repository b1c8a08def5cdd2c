"""Consistent forests before the multinomial one: Denil14 (Denil, Matheson, de Freitas 2014), BRF (Wang et al. 2017).

Rebuilt from the papers that cite them. Both deal structure and estimation points for each tree and label leaves by the
majority of their estimation points. They differ in how a node chooses its split, and neither is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.learners.multinomial_forest.honest_growth import HonestRule, grow_honest_forest, majority_labels
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_whole, threads
from privet.privacy.plan import PlanWithoutNoise
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table

FINE_BINS = 1024


@dataclass(frozen=True)
class RivalForest:
    """The learner: honest trees by a rule, majority labels."""

    rule: HonestRule
    n_trees: int = 100
    n_jobs: int = 1
    bins: int = FINE_BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PlanWithoutNoise:
        """Plan one event without noise: the whole forest."""
        return PlanWithoutNoise.of(self.n_trees, terms, share)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PlanWithoutNoise) -> Forest:
        """Grow the trees, and label each leaf by the majority."""
        trees, counts = grow_honest_forest(table, release, plan.forest, self.rule, self.n_trees, rng, self.n_jobs)
        return Forest(table.encoding, trees, LeafLabels(majority_labels(counts, rng)))


class Denil14Classifier(PrivateClassifier):
    """Denil14: the best split within the range of a few structure points. A rival without privacy.

    Parameters
    ----------
    epsilon : None
        There is no private form.
    delta : float, default=0.0
        Not used.
    schema : Schema, optional
        The domains; read off the data without one.
    n_trees : int, default=100
        Number of trees.
    min_leaf : int, default=5
        A split must leave at least this many estimation points on both sides.
    partition_rate : float, default=1.0
        Structure points for each estimation point.
    n_features : int, optional
        The mean of 1 + Poisson, the number of features that a node looks at; by default the square root of how many
        there are.
    n_points : int, default=100
        A node draws this many structure points for each feature; its split must lie between their values. The papers
        that cite Denil14 do not say how many.
    n_rows_hint : int, optional
        Not used.
    random_state : int, RandomState, Generator or None
        Seeds everything.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Notes
    -----
    *Privacy.* None, and none claimed.

    What we do not know of the original: categories are split one against the rest, and their codes count as values
    where the range is concerned; a feature without a candidate in the node is replaced by another.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from privet_papers.bai_2021.consistent_rivals import Denil14Classifier
    >>> X = np.linspace(0, 1, 400).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # it says that nothing is private here
    ...     forest = Denil14Classifier(n_trees=10, random_state=0).fit(X, y)
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
        min_leaf: int = 5,
        partition_rate: float = 1.0,
        n_features: int | None = None,
        n_points: int = 100,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.min_leaf = min_leaf
        self.partition_rate = partition_rate
        self.n_features = n_features
        self.n_points = n_points
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> RivalForest:
        min_leaf = check_whole("min_leaf", self.min_leaf, 1, 1 << 30)
        rule = HonestRule(
            choice="range",
            partition_rate=float(self.partition_rate),
            split_above=min_leaf,
            min_child=min_leaf,
            small_child="avoid",
            n_features=_number_of_features(self.n_features),
            n_points=check_whole("n_points", self.n_points, 1, 1 << 20),
        )
        return RivalForest(rule, check_whole("n_trees", self.n_trees, 1, 10_000), threads(self.n_jobs))


class BernoulliForestClassifier(PrivateClassifier):
    """BRF, Bernoulli random forest: the best split, but now and then a random feature or random values. Not private.

    Parameters
    ----------
    epsilon : None
        There is no private form.
    delta : float, default=0.0
        Not used.
    schema : Schema, optional
        The domains; read off the data without one.
    n_trees : int, default=100
        Number of trees.
    min_leaf : int, default=5
        A split must leave at least this many estimation points on both sides.
    partition_rate : float, default=1.0
        Structure points for each estimation point.
    n_features : int, optional
        How many random features a node looks at; by default the square root of how many there are.
    p_feature, p_value : float, default=0.05
        The chance that a node looks at one random feature only; the chance that it draws a random value of each
        feature that it looks at, and takes the best of those.
    n_rows_hint : int, optional
        Not used.
    random_state : int, RandomState, Generator or None
        Seeds everything.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Notes
    -----
    *Privacy.* None, and none claimed.
    """

    def __init__(
        self,
        epsilon: None = None,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 100,
        min_leaf: int = 5,
        partition_rate: float = 1.0,
        n_features: int | None = None,
        p_feature: float = 0.05,
        p_value: float = 0.05,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.min_leaf = min_leaf
        self.partition_rate = partition_rate
        self.n_features = n_features
        self.p_feature = p_feature
        self.p_value = p_value
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> RivalForest:
        min_leaf = check_whole("min_leaf", self.min_leaf, 1, 1 << 30)
        rule = HonestRule(
            choice="bernoulli",
            partition_rate=float(self.partition_rate),
            split_above=min_leaf,
            min_child=min_leaf,
            small_child="avoid",
            n_features=_number_of_features(self.n_features),
            p_feature=_chance("p_feature", self.p_feature),
            p_value=_chance("p_value", self.p_value),
        )
        return RivalForest(rule, check_whole("n_trees", self.n_trees, 1, 10_000), threads(self.n_jobs))


def _number_of_features(value: int | None) -> int | None:
    return None if value is None else check_whole("n_features", value, 1, 1 << 20)


def _chance(name: str, value: float) -> float:
    chance = float(value)
    if not 0 <= chance <= 1 or math.isnan(chance):
        raise ParameterError(f"{name} must be from 0 to 1, got {value}: pass e.g. 0.05")
    return chance
