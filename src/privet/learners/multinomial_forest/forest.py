"""Multinomial random forest (Bai, Li, Li, Yang, Jiang, Xia 2021): consistent without privacy, and private in earnest.

Structure points choose the splits of a tree, estimation points label its leaves, and each tree deals them afresh.
Without privacy this is Algorithm 1. The paper's private mode is not private (its candidates and stops are read off
the data) and has next to no signal (its scores are normalised by the data, and then disturbed as if they were not).
Here the same idea is carried out with secret coins, public candidates, and scores that are counted in records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints, Learner
from privet.learners.multinomial_forest.honest_growth import HonestRule, grow_honest_forest
from privet.learners.multinomial_forest.honest_plan import LABEL_PART, HonestBudget, honest_budget, honest_depth
from privet.learners.multinomial_forest.two_stages import TwoStages
from privet.learners.multinomial_forest.without_noise import plan_without_noise
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_choice, check_whole, exact
from privet.privacy.events import Composition, Event, Mixture, Plan, Sequential
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.reading import threads
from privet.trees.candidates import Candidates
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.features import Domains
from privet.trees.greedy import GreedyGrowth
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.scores import SCORES

IntArray = NDArray[np.int64]
Deal = Literal["sequential", "disjoint"]
Stages = Literal["one", "two"]
LeafRule = Literal["algorithm", "every_leaf"]
Variant = Literal["multinomial", "breiman_se", "breiman_m"]

BINS = 255
FINE_BINS = 1024  # without privacy: close to the values themselves
TREES = 100  # of the paper, without privacy
STRUCTURE = "structure points of each node; nodes of one level are disjoint"
ESTIMATION = "estimation points of each leaf; leaves are disjoint"


@dataclass(frozen=True)
class MultinomialForest:
    """The learner with privacy: splits chosen on structure points, labels on estimation points, by secret coins."""

    n_trees: int = 1
    max_depth: int | None = None
    criterion: str = "mix"
    stages: Stages = "one"
    gamma: Fraction = Fraction(0)
    partition_rate: Fraction = Fraction(1)
    composition: Deal = "sequential"
    label_part: Fraction = LABEL_PART
    bins: int = BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Divide the budget over trees, over the two parts of the records, and over levels.

        Theorem 2, corrected: a tree whose structure points spend alpha and whose estimation points spend beta costs
        ``ln(r e^alpha + (1 - r) e^beta)``, not the larger of the two; see `privet.privacy.events.Mixture`.
        """
        assert share is not None
        dealt = self.composition == "disjoint"
        passes = 1 if dealt else self.n_trees
        n_rows = hints.n_rows // self.n_trees if hints.n_rows is not None and dealt else hints.n_rows
        part = share * Fraction(1, passes)
        depth = honest_depth(part, n_rows, terms.steps) if self.max_depth is None else self.max_depth
        depth = depth if Domains.of(encoding).splittable.size else 0
        budget = honest_budget(part, self.partition_rate, self.label_part)
        events: dict[str, Event] = {}
        whole: list[Composition] = []
        for tree in range(passes):
            structure = self._splits(terms, budget, depth, tree, f"tree {tree + 1}: " if passes > 1 else "")
            labels = terms.choice(
                f"tree {tree + 1}: labels" if passes > 1 else "labels", budget.labels, sees=ESTIMATION
            )
            events |= {**structure, f"labels {tree}": labels}
            whole.append(Mixture(budget.weights, (Sequential(tuple(structure.values())), labels)))
        facts = {"trees": self.n_trees, "depth": depth, "share of structure points": budget.weights[0]}
        return Plan(events, Sequential(tuple(whole)), facts)

    def _splits(self, terms: Terms, budget: HonestBudget, depth: int, tree: int, of_tree: str) -> dict[str, Event]:
        """Plan one selection a level, or two: each stage is a selection of its own, and is charged as one."""
        steps = ("splits",) if self.stages == "one" else ("features", "values")
        return {
            f"{step} {tree} {level}": terms.choice(
                f"{of_tree}{step} of level {level + 1}",
                budget.structure * Fraction(1, depth * len(steps)),
                score_range=SCORES[self.criterion].range,
                sees=STRUCTURE,
            )
            for level in range(depth)
            for step in steps
        }

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> Forest:
        """Algorithm 1. Differs from the paper wherever its proof of privacy fails."""
        depth, weight = cast(int, plan.facts["depth"]), cast(Fraction, plan.facts["share of structure points"])
        # Differs from the paper: candidates are public, not the values of the data.
        stages = TwoStages(Candidates.all_of(Domains.of(table.encoding), rng))
        at_once, own_tree = 1, None
        if self.composition == "disjoint" and self.n_trees > 1:
            at_once, own_tree = self.n_trees, GreedyGrowth.STATE
            table = release.coins(table, self.n_trees, own_tree)
        grown = []
        for tree in range(self.n_trees // at_once):
            # Section 3.1. Differs from the paper: by a coin for each record, not into parts of a fixed size.
            with release.mixture(table, (weight, 1 - weight)) as (structure, estimation):
                with release.branch():
                    growth = GreedyGrowth(structure, stages.candidates, at_once)
                    # Line 3. Differs from the paper: to a fixed depth, since a stop would tell what is in a node.
                    for level in range(depth):
                        growth.split(self._choose(growth, stages, release, rng, plan, f"{tree} {level}"))
                trees = growth.finish()
                # Line 12. Differs from the paper: counts as scores, not shares, in which there is hardly any signal.
                counts = estimation.aggregate(LeafClassCounts(trees, table.encoding.n_classes, own_tree))
                grown.append((trees, release.choose(counts, plan[f"labels {tree}"])))
        labels = np.concatenate([labels for _, labels in grown]).astype(np.uint16)
        return Forest(table.encoding, ExplicitTrees.join([trees for trees, _ in grown]), LeafLabels(labels))

    def _choose(
        self, growth: GreedyGrowth, stages: TwoStages, release: Release, rng: PublicRng, plan: Plan, at: str
    ) -> IntArray:
        """Lines 4 to 8: a split for every open node."""
        # Differs from the paper: impurity counted in records, not normalised by what is in the node.
        scores = growth.scores(SCORES[self.criterion])
        if self.stages == "one":
            chosen = release.choose(scores, plan[f"splits {at}"])
        else:
            feature = release.choose(stages.best_of_features(scores), plan[f"features {at}"])
            value = release.choose(stages.of_chosen(scores, feature), plan[f"values {at}"])
            chosen = stages.candidate(feature, value)
        by_chance = rng.random(len(chosen)) < float(self.gamma)  # public coins
        return np.where(by_chance, stages.by_chance(len(chosen), rng), chosen)


@dataclass(frozen=True)
class ConsistentForest:
    """The learner without privacy: Algorithm 1 as printed, and Breiman's forest with one of its two parts each."""

    rule: HonestRule
    n_trees: int = TREES
    label_rate: float = math.inf
    n_jobs: int = 1
    bins: int = FINE_BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Plan one event without noise: the whole forest."""
        return plan_without_noise(self.n_trees, terms, share)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> Forest:
        """Algorithm 1, lines 3 to 11 in `grow_honest_forest`, and then line 12."""
        release.ledger.charge(plan["forest"])
        trees, counts = grow_honest_forest(table, release, self.rule, self.n_trees, rng, self.n_jobs)
        labels = multinomial_labels(counts, self.label_rate, rng)
        return Forest(table.encoding, trees, LeafLabels(labels))


def multinomial_labels(counts: IntArray, rate: float, rng: PublicRng) -> NDArray[np.uint16]:
    """Draw each leaf's label by softmax of B3/2 times its class shares; of the largest, alike, if B3 is infinite."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    if math.isinf(rate):
        weights = (counts == counts.max(axis=1, keepdims=True)).astype(np.float64)
    else:
        weights = np.exp(rate / 2 * (shares - shares.max(axis=1, keepdims=True)))
    up_to = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random((len(counts), 1)) >= up_to[:, :-1]).sum(axis=1)
    return np.asarray(drawn, dtype=np.uint16)


class MultinomialForestClassifier(PrivateClassifier):
    """Honest trees with multinomial splits: a consistent forest without privacy, a sound private tree or forest with.

    With ``epsilon=None`` this is the paper's forest, about as accurate as Breiman's and consistent: its error tends to
    the least possible one as data grows. With a budget it is a different animal, since noise and not variance is what
    costs accuracy then: by default one tree of a few levels. Each further tree makes the noise of all others larger,
    and on average over data sets more trees were worse at every epsilon up to 1 (docs/learners/multinomial_forest.md).

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the consistent forest without privacy.
    delta : float, default=0.0
        Zero for pure epsilon (permute-and-flip), else the exponential mechanism and zero-concentrated composition.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    n_trees : int or "auto", default="auto"
        One tree with privacy, 100 without.
    max_depth : int or "auto", default="auto"
        With privacy every tree has this depth, by default as many levels as `n_rows_hint` and the budget can pay for
        (`privet.learners.multinomial_forest.honest_plan.honest_depth`). Without privacy, the most levels; "auto" for no
        limit.
    partition_rate : float, default=1.0
        Structure points for each estimation point.
    criterion : {"auto", "gini", "entropy", "mix", "errors"}, default="auto"
        The impurity. With privacy "mix", "gini" or "errors" (`privet.trees.scores`), by default the first; without it
        "gini" or "entropy", by default the first.
    stages : {"one", "two"}, default="one"
        With privacy: one choice among all splits of all features, or first a feature by its best split and then a
        split of it, as in the paper; the two stages share the level's budget.
    gamma : float, default=0.0
        With privacy: how often a node takes a random split of a random feature, by a public coin. Above zero, every
        feature is split again and again whatever the data says, which keeps the forest consistent at a fixed epsilon.
    composition : {"sequential", "disjoint"}, default="sequential"
        With privacy: several trees share the budget, or share the records (by secret coins).
    feature_rate, value_rate : float, default=10.0
        Without privacy: B1 and B2.
    label_rate : float or None, default=None
        Without privacy: B3; None for an infinite one, the majority of a leaf.
    min_leaf : int, default=5
        Without privacy: k, a number of estimation points.
    leaf_rule : {"algorithm", "every_leaf"}, default="algorithm"
        Without privacy: nodes with at most k points are not split (Algorithm 1); or no leaf has fewer than k, as the
        text and Theorem 1 have it.
    variant : {"multinomial", "breiman_se", "breiman_m"}, default="multinomial"
        Without privacy: the paper's forest; Breiman's with structure and estimation points; Breiman's with
        multinomial splits, on bootstrap samples.
    n_rows_hint : int, optional
        A public guess at the number of records, its order of magnitude is enough. Decides the depth; never checked
        against the data.
    random_state : int, RandomState, Generator or None
        Seeds what is public: candidates of features with very many categories, and gamma's coins. Noise and the deal
        of the records never depend on it. Without privacy it seeds everything.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        The schema's classes.
    model_ : Forest
        The released trees.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* Neighbours as the schema says; here for adding or removing one record x, and one tree.

    *Structure*, if x is a structure point. Candidates are public. x is in one child of every candidate at once, and
    adding it lowers each score by an amount within [0, R] (`privet.trees.scores`); so it does with each feature's best
    score, and with the scores of one feature. Each stage is a selection of range R, nodes of a level are disjoint, and
    costs add up over levels and stages: alpha. Taking a random split instead, by a public coin, does not look at the
    data. The labels do not change, given the splits.

    *Labels*, if x is an estimation point. The splits do not know x. It adds one to one class count of one leaf:
    selections of range one, on disjoint leaves: beta.

    *Coins.* Let q(o, c) be the likelihood of the output o for coins c of the other records, without x. With x it is
    ``r A + (1 - r) B``, with A within e^(+-alpha) q and B within e^(+-beta) q. Hence its mean over c is at most
    ``r e^alpha + (1 - r) e^beta`` times that without x, and at least ``r e^-alpha + (1 - r) e^-beta`` times it, which
    is no smaller than one over the former (e^-x is convex). This needs coins that are secret and fresh for each tree;
    with a fixed deal the cost is the larger of alpha and beta. Under zCDP we charge the larger of the two.

    *Trees.* Sequential trees add up. On disjoint records, dealt by further coins, all trees grow side by side, and the
    same mixture covers them all.

    Every node is split down to the planned depth, and every leaf goes through the mechanism. Voting is
    post-processing. The running time of the selections depends on the counts; hiding it is out of scope.

    *Consistency at a fixed epsilon.* With gamma > 0 every feature is chosen with probability at least gamma over the
    number of features at every node, a middle cut of it with a positive probability, and a leaf's label is wrong with
    probability at most (K - 1) / 2 e^(-beta gap), which vanishes as leaves fill. So the paper's Lemmas 3 and 4 and
    its proof go through if the depth grows slowly with a public n, as `honest_depth` does up to 12 levels, and the
    schema's grid is refined with it.

    References
    ----------
    Bai, J., Li, Y., Li, J., Yang, X., Jiang, Y., and Xia, S.-T. (2022). Multinomial random forest. Pattern
    Recognition 122.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import MultinomialForestClassifier, Numeric, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 2000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> forest = MultinomialForestClassifier(epsilon=2.0, schema=schema, n_rows_hint=2000).fit(X, y)
    >>> forest.privacy_.epsilon
    2.0
    >>> forest.predict([[0.05], [0.95]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int | Literal["auto"] = "auto",
        max_depth: int | Literal["auto"] = "auto",
        partition_rate: float = 1.0,
        criterion: str = "auto",
        stages: Stages = "one",
        gamma: float = 0.0,
        composition: Deal = "sequential",
        feature_rate: float = 10.0,
        value_rate: float = 10.0,
        label_rate: float | None = None,
        min_leaf: int = 5,
        leaf_rule: LeafRule = "algorithm",
        variant: Variant = "multinomial",
        n_rows_hint: int | None = None,
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
        self.stages = stages
        self.gamma = gamma
        self.composition = composition
        self.feature_rate = feature_rate
        self.value_rate = value_rate
        self.label_rate = label_rate
        self.min_leaf = min_leaf
        self.leaf_rule = leaf_rule
        self.variant = variant
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> Learner:
        n_trees = None if self.n_trees == "auto" else check_whole("n_trees", self.n_trees, 1, 10_000)
        rate = exact(self.partition_rate, "partition_rate")
        if not Fraction(1, 1000) <= rate <= 1000:
            raise ParameterError(f"partition_rate must be from 0.001 to 1000, got {self.partition_rate}: pass e.g. 1.0")
        check_choice("stages", self.stages, ("one", "two"))
        check_choice("composition", self.composition, ("sequential", "disjoint"))
        gamma = exact(self.gamma, "gamma")
        if not 0 <= gamma <= 1:
            raise ParameterError(f"gamma must be from 0 to 1, got {self.gamma}: pass e.g. 0.1")
        if self.epsilon is None:
            return self._consistent(n_trees or TREES)
        criterion = "mix" if self.criterion == "auto" else check_choice("criterion", self.criterion, tuple(SCORES))
        depth = None if self.max_depth == "auto" else check_whole("max_depth", self.max_depth, 1, 12)
        return MultinomialForest(n_trees or 1, depth, criterion, self.stages, gamma, rate, self.composition)

    def _consistent(self, n_trees: int) -> ConsistentForest:
        check_choice("leaf_rule", self.leaf_rule, ("algorithm", "every_leaf"))
        check_choice("variant", self.variant, ("multinomial", "breiman_se", "breiman_m"))
        min_leaf, every = check_whole("min_leaf", self.min_leaf, 1, 1 << 30), self.leaf_rule == "every_leaf"
        rule = HonestRule(
            choice="best" if self.variant == "breiman_se" else "multinomial",
            points="bootstrap" if self.variant == "breiman_m" else "halves",
            partition_rate=float(self.partition_rate),
            criterion=cast(
                Literal["gini", "entropy"],
                "gini" if self.criterion == "auto" else check_choice("criterion", self.criterion, ("gini", "entropy")),
            ),
            split_above=min_leaf,
            min_child=min_leaf if every else 1,
            small_child="avoid" if every else "stop",
            feature_rate=_rate("feature_rate", self.feature_rate),
            value_rate=_rate("value_rate", self.value_rate),
            max_depth=None if self.max_depth == "auto" else check_whole("max_depth", self.max_depth, 1, 1 << 20),
        )
        label_rate = math.inf if self.label_rate is None else _rate("label_rate", self.label_rate)
        return ConsistentForest(rule, n_trees, label_rate, threads(self.n_jobs))


def _rate(name: str, value: object) -> float:
    rate = float(exact(value, name))
    if rate < 0:
        raise ParameterError(f"{name} must be at least 0, got {value}: pass e.g. 10.0")
    return rate
