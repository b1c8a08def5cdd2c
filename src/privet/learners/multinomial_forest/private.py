"""The private multinomial forest, after Bai, Li, Li, Yang, Jiang and Xia (2021).

Structure points choose the splits of a tree, estimation points label its leaves, and each tree divides the records
afresh. The paper's private mode is not private (its candidates and stops are read off the data) and has next to no
signal (its scores are normalised by the data, and then disturbed as if they were not). Here the same idea is carried
out with secret coins, public candidates, and scores that are counted in records. The paper's forest without privacy
is `consistent.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier, PrivateEstimator
from privet.estimators.learning import Hints, Sharing
from privet.estimators.objectives import Objective
from privet.learners.multinomial_forest.consistent import ConsistentForestClassifier
from privet.learners.multinomial_forest.honest_plan import (
    LABEL_PART,
    check_partition_rate,
    honest_budget,
    honest_depth,
)
from privet.learners.multinomial_forest.plan import HonestLevel, HonestTreePlan, MultinomialForestPlan
from privet.learners.multinomial_forest.two_stages import TwoStages
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts, LeafLabels
from privet.parameters import Auto, RowsHint, check_choice, check_whole, check_whole_or_auto, exact
from privet.privacy.events import Event
from privet.privacy.terms import Allowance, Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.protocol import IntArray
from privet.trees.candidates import Candidates
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.greedy import GreedyGrowth
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.scores import SCORES
from privet.trees.structure import FeatureCodes

Stages = Literal["one", "two"]
LeafKind = Literal["labels", "counts"]

BINS = 255
STRUCTURE = "structure points of each node; nodes of one level are disjoint"
ESTIMATION = "estimation points of each leaf; leaves are disjoint"

# Parameters in files of version 0.1 that only the one forest used, or only the other.
OF_CONSISTENT = frozenset({"feature_rate", "value_rate", "label_rate", "min_leaf", "leaf_rule", "variant"})
OF_PRIVATE = frozenset({"stages", "gamma", "composition"})


@dataclass(frozen=True)
class MultinomialForest:
    """The learner: splits chosen on structure points, labels on estimation points, by secret coins.

    Without privacy there are no coins either: every tree sees all records, and each is both.
    """

    n_trees: int = 1
    max_depth: int | None = None
    criterion: str = "mix"
    stages: Stages = "one"
    gamma: Fraction = Fraction(0)
    partition_rate: Fraction = Fraction(1)
    composition: Sharing = "sequential"
    label_part: Fraction = LABEL_PART
    bins: int = BINS
    leaves: LeafKind = "labels"

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether the depth is left to the rule."""
        return self.max_depth is None

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> MultinomialForestPlan:
        """Divide the budget over trees, over the two parts of the records, and over levels.

        Theorem 2, corrected: a tree whose structure points spend alpha and whose estimation points spend beta costs
        ``ln(r e^alpha + (1 - r) e^beta)``, not the larger of the two; see `privet.privacy.events.Mixture`.
        """
        disjoint = self.composition == "disjoint" and share is not None
        passes = 1 if disjoint else self.n_trees
        n_rows = hints.n_rows // self.n_trees if hints.n_rows is not None and disjoint else hints.n_rows
        part = None if share is None else share * Fraction(1, passes)
        depth = honest_depth(part, n_rows, terms.steps) if self.max_depth is None else self.max_depth
        depth = depth if FeatureCodes.of(encoding).splittable.size else 0
        trees = tuple(self._tree(terms, part, depth, f"tree {i + 1}: " if passes > 1 else "") for i in range(passes))
        return MultinomialForestPlan(self.n_trees, depth, trees)

    def _tree(self, terms: Terms, share: Share | None, depth: int, of_tree: str) -> HonestTreePlan:
        """Plan one selection a level, or two: each stage is a selection of its own, and is charged as one."""
        budget = None if share is None else honest_budget(share, self.partition_rate, self.label_part)
        n_choices, score_range = depth * (1 if self.stages == "one" else 2), SCORES[self.criterion].range

        def choice(what: str, level: int) -> Event:
            part = None if budget is None else budget.structure * Fraction(1, n_choices)
            return terms.choice(f"{of_tree}{what} of level {level}", part, score_range=score_range, sees=STRUCTURE)

        levels = tuple(
            HonestLevel(None, choice("splits", level))
            if self.stages == "one"
            else HonestLevel(choice("features", level), choice("values", level))
            for level in range(1, depth + 1)
        )
        for_leaves = None if budget is None else budget.labels
        if self.leaves == "counts":
            labels = terms.noise(f"{of_tree}leaves", for_leaves, sees=ESTIMATION)
        else:
            labels = terms.choice(f"{of_tree}labels", for_leaves, sees=ESTIMATION)
        return HonestTreePlan(None if budget is None else budget.weights, levels, labels)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: MultinomialForestPlan) -> Forest:
        """Algorithm 1. Differs from the paper wherever its proof of privacy fails."""
        # Differs from the paper: candidates are public, not the values of the data.
        stages = TwoStages(Candidates.all_of(FeatureCodes.of(table.encoding), rng))
        at_once, own_tree = plan.n_trees // len(plan.trees), None
        if at_once > 1:
            own_tree = GreedyGrowth.STATE
            table = release.coins(table, at_once, own_tree)
        grown = []
        for tree in plan.trees:
            # Section 3.1. Differs from the paper: by a coin for each record, not into parts of a fixed size.
            with _two_parts(table, release, tree) as (structure, estimation):
                with release.branch(tree.structure):
                    growth = GreedyGrowth(structure, stages.candidates, at_once)
                    # Line 3. Differs from the paper: to a fixed depth, since a stop would reveal what is in a node.
                    for level in tree.levels:
                        growth.split(self._choose(growth, stages, release, rng, level))
                trees = growth.finish()
                # Line 12. Differs from the paper: counts as scores, not shares, in which there is hardly any signal.
                counts = estimation.aggregate(LeafClassCounts(trees, table.encoding.n_classes, own_tree))
                draw = release.noisy if self.leaves == "counts" else release.choose
                grown.append((trees, draw(counts, tree.labels)))
        joined, values = ExplicitTrees.join([trees for trees, _ in grown]), np.concatenate([said for _, said in grown])
        if self.leaves == "counts":
            return Forest(table.encoding, joined, LeafCounts(values), "threshold")
        return Forest(table.encoding, joined, LeafLabels(values.astype(np.uint16)))

    def _choose(
        self, growth: GreedyGrowth, stages: TwoStages, release: Release, rng: PublicRng, level: HonestLevel
    ) -> IntArray:
        """Lines 4 to 8: a split for every open node."""
        # Differs from the paper: impurity counted in records, not normalised by what is in the node.
        scores = growth.scores(SCORES[self.criterion])
        if level.feature is None:
            chosen = release.choose(scores, level.split)
        else:
            feature = release.choose(stages.best_of_features(scores), level.feature)
            value = release.choose(stages.of_chosen(scores, feature), level.split)
            chosen = stages.candidate(feature, value)
        by_chance = rng.random(len(chosen)) < float(self.gamma)  # public coins
        return np.where(by_chance, stages.by_chance(len(chosen), rng), chosen)


@contextmanager
def _two_parts(table: Table, release: Release, tree: HonestTreePlan) -> Iterator[tuple[Table, ...]]:
    """Give structure and estimation points, divided by the planned mixture; all records twice without one."""
    if tree.mixture is None:
        yield table, table
    else:
        with release.mixture(table, tree.mixture) as parts:
            yield parts


class MultinomialForestClassifier(PrivateClassifier):
    """Honest trees with multinomial splits, chosen on one part of the records and labelled on the other.

    Noise, not variance, is what costs accuracy here: by default it is one tree of a few levels. Each further tree makes
    the noise of all others larger, and on average over data sets more trees were worse at every epsilon up to 1
    (docs/learners/multinomial_forest.md). The paper's forest without privacy is `ConsistentForestClassifier`.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy, in which every tree sees all records, and every
        record chooses splits and labels leaves.
    delta : float, default=0.0
        Zero for pure epsilon (permute-and-flip). Above zero, the exponential mechanism and zero-concentrated
        composition are used where they disturb less, which takes many levels or trees, and on tables with an ``id``.
        Otherwise the pure mechanisms stay, and the ledger states the stronger guarantee, with delta = 0.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    n_trees : int, default=1
        Number of trees.
    max_depth : int or "auto", default="auto"
        Every tree has this depth; "auto" for as many levels as `n_rows_hint` and the budget can pay for
        (`privet.learners.multinomial_forest.honest_plan.honest_depth`).
    partition_rate : float, default=1.0
        Structure points for each estimation point.
    criterion : {"mix", "gini", "errors"}, default="mix"
        The impurity; see `privet.trees.scores`.
    stages : {"one", "two"}, default="one"
        One choice among all splits of all features, or first a feature by its best split and then a split of it, as in
        the paper; the two stages share the level's budget.
    gamma : float, default=0.0
        How often a node takes a random split of a random feature, by a public coin. Above zero, every feature is split
        again and again whatever the data says, which keeps the forest consistent at a fixed epsilon.
    composition : {"sequential", "disjoint"}, default="sequential"
        *sequential*: every tree sees all records and spends its part of epsilon. *disjoint*: a secret coin assigns each
        record to one tree, and every tree spends all of epsilon.
    leaves : {"labels", "counts"}, default="labels"
        What is released of each leaf. *labels*: only a label, as in the paper, so that the probabilities of one tree
        are 0 or 1. *counts*: noisy class counts, which give probabilities; which class is the largest is noisier.
    objective : {"accuracy", "balanced_accuracy", "f1"} or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records, its order of magnitude is enough. Decides the depth; never checked
        against the data. None: where `max_depth` is "auto", a noisy number is bought with a small part of the budget,
        or taken for free where it is public (`privet.estimators.counting`). "unknown": do without.
    random_state : int, RandomState, Generator or None
        Seeds what is public: candidates of features with very many categories, and gamma's coins. Noise and how
        records are divided never depend on it.
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
    selections of range one, on disjoint leaves, or noisy counts of sensitivity one: beta.

    *Coins.* Let q(o, c) be the likelihood of the output o for coins c of the other records, without x. With x it is
    ``r A + (1 - r) B``, with A within e^(+-alpha) q and B within e^(+-beta) q. Hence its mean over c is at most
    ``r e^alpha + (1 - r) e^beta`` times that without x, and at least ``r e^-alpha + (1 - r) e^-beta`` times it, which
    is no smaller than one over the former (e^-x is convex). This needs coins that are secret and fresh for each tree;
    with a fixed division the cost is the larger of alpha and beta. Under zCDP we charge the larger of the two.

    *Trees.* Sequential trees add up. On disjoint records, divided by further coins, all trees grow side by side, and
    the same mixture covers them all.

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
        n_trees: int = 1,
        max_depth: int | Auto = "auto",
        partition_rate: float = 1.0,
        criterion: str = "mix",
        stages: Stages = "one",
        gamma: float = 0.0,
        composition: Sharing = "sequential",
        leaves: LeafKind = "labels",
        objective: Objective = "accuracy",
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
        self.stages = stages
        self.gamma = gamma
        self.composition = composition
        self.leaves = leaves
        self.objective = objective
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Stay with pure epsilon, a stronger guarantee, where it chooses splits no worse and no fewer of them.

        Not where records may share their coins: a pure mixture is proven for coins of their own.
        """
        if hints.shared_coins:
            return asked
        learner = self._learner()
        plans = [learner.plan(encoding, terms, allowance.whole, hints) for allowance in (asked.pure, asked)]
        return asked.pure if plans[0].chooses_no_worse_than(plans[1]) else asked

    def _learner(self) -> MultinomialForest:
        n_trees = check_whole("n_trees", self.n_trees, 1, 10_000)
        rate = check_partition_rate(self.partition_rate)
        check_choice("stages", self.stages, ("one", "two"))
        check_choice("composition", self.composition, ("sequential", "disjoint"))
        check_choice("leaves", self.leaves, ("labels", "counts"))
        gamma = exact(self.gamma, "gamma")
        if not 0 <= gamma <= 1:
            raise ParameterError(f"gamma must be from 0 to 1, got {self.gamma}: pass e.g. 0.1")
        criterion = check_choice("criterion", self.criterion, tuple(SCORES))
        depth = check_whole_or_auto("max_depth", self.max_depth, 1, 12)
        forest = MultinomialForest(n_trees, depth, criterion, self.stages, gamma, rate, self.composition)
        return replace(forest, leaves=self.leaves)

    @classmethod
    def _of_file(cls, parameters: dict[str, Any]) -> tuple[type[PrivateEstimator], dict[str, Any]]:
        """Read files of version 0.1 as well, in which this class was the consistent forest, too."""
        if "variant" not in parameters:
            return cls, parameters
        kind: type[PrivateEstimator] = cls
        other, automatic = OF_CONSISTENT, {"n_trees": 1, "criterion": "mix"}
        if parameters.get("epsilon") is None:
            kind, other, automatic = ConsistentForestClassifier, OF_PRIVATE, {"n_trees": 100, "criterion": "gini"}
        kept = {name: value for name, value in parameters.items() if name not in other}
        return kind, kept | {name: value for name, value in automatic.items() if kept.get(name) == "auto"}
