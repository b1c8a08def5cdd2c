"""The private multinomial random forest (Bai et al. 2021) as printed, and as its authors' code runs it. Not private.

Theorem 2 gives every level of every tree B1 + B2 = epsilon / (d t) and every leaf B3 = epsilon / t, with a depth d of
10 that nothing enforces. Three things are wrong with it. Split points lie between values *of the data*, features that
do not vary in a node are left out, and growth stops at pure nodes and at nodes with at most k estimation points: each
of these makes outputs possible that were impossible without one record, so no finite epsilon holds. Decreases of
impurity are normalised by the node's own smallest and largest, which the proof takes for a function of sensitivity
one. And what is left has no signal: at epsilon = 1 with 64 trees the odds of the best against the worst split are
1.0004, a pure leaf is labelled rightly with probability 0.502, and 64 pure leaves vote rightly with probability 0.512
(ties by a coin; `vote_of_pure_leaves`).

The authors' code has five places where a leaf gets its label. Four take the plain majority, without noise; the fifth,
where a drawn split leaves one side without estimation points, draws by counts in place of shares. Accuracies as in the
paper's Figure 5 can only come from that; ``labels="code"`` runs it.

`privet.MultinomialForestClassifier` is the sound form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Hints
from privet.learners.multinomial_forest.honest_draws import start_draws
from privet.learners.multinomial_forest.honest_growth import HonestRule, join_grown, lay_out_records, majority_labels
from privet.learners.multinomial_forest.honest_scores import CATEGORIES, ORDERED_MISSING
from privet.learners.multinomial_forest.honest_tree import Grown, Growth, LaidOutRecords, deal_points, grow_honest_tree
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_choice, check_whole
from privet.privacy.events import Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, friendly_rate_down, unproven
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.protocol import IntArray
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon

Labels = Literal["printed", "code"]

FLAW = (
    "split points are values of the data, growth stops where the data says so, and scores are normalised by the data: "
    "no finite epsilon holds"
)
NO_NOISE = "; labels of most leaves are majorities without noise"
FINE_BINS = 1024
STEPS = 1 << 40  # grid steps for a share of one
NEVER = -(1 << 52)  # the score of a class that cannot be drawn


@dataclass(frozen=True)
class PrintedMultinomialForestPlan(InSequence):
    """The draws of all splits, and of all labels, at the rates of Theorem 2."""

    splits: Event
    labels: Event
    split_epsilon: Fraction
    label_epsilon: Fraction

    @property
    def facts(self) -> dict[str, object]:
        """The paper's three budgets."""
        return {"B1 and B2": self.split_epsilon, "B3": self.label_epsilon}


@dataclass(frozen=True)
class PrintedMultinomialForest:
    """The learner: Algorithm 1 with the budget of Theorem 2."""

    n_trees: int = 64
    depth: int = 10
    min_leaf: int = 5
    labels: Labels = "printed"
    bins: int = FINE_BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PrintedMultinomialForestPlan:
        """Theorem 2: B1 = B2 = epsilon / (2 d t), B3 = epsilon / t."""
        epsilon = pure_epsilon(share)
        split, label = epsilon / (2 * self.depth * self.n_trees), epsilon / self.n_trees
        steps, flaw = (STEPS, FLAW) if self.labels == "printed" else (1, FLAW + NO_NOISE)
        draw = Mechanism.EXPONENTIAL
        return PrintedMultinomialForestPlan(
            unproven("features and values of all splits", draw, split / 2, flaw),
            unproven("labels of leaves", draw, friendly_rate_down(label / (2 * steps)), flaw),
            split,
            label,
        )

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PrintedMultinomialForestPlan) -> Forest:
        """Algorithm 1, to the letter; the draws of splits come from the public generator, since nothing is claimed."""
        rate = 2 * float(plan.splits.parameter)
        rule = HonestRule(split_above=self.min_leaf, feature_rate=rate, value_rate=rate)
        codes, target = release.records(table, plan.splits)
        records, seed = lay_out_records(table.encoding, codes, target), np.uint64(derive_seed(rng))
        growth = rule.growth(records.target.size, records.kinds.size)
        grown = [grow_honest_tree(records, growth, seed, tree) for tree in range(self.n_trees)]  # lines 3 to 11
        trees, counts = join_grown(table.encoding, grown)
        if self.labels == "printed":  # line 12
            shares = counts * STEPS // np.maximum(counts.sum(axis=1, keepdims=True), 1)
            labels = release.choose(shares, plan.labels).astype(np.uint16)
        else:
            in_vain = np.concatenate(
                [_drawn_in_vain(records, growth, seed, tree, one) for tree, one in enumerate(grown)]
            )
            labels = majority_labels(counts, rng)
            drawn = release.choose(np.where(counts[in_vain] > 0, counts[in_vain], NEVER), plan.labels)
            labels[in_vain] = drawn.astype(np.uint16)
        return Forest(table.encoding, trees, LeafLabels(labels))


def _drawn_in_vain(
    records: LaidOutRecords, growth: Growth, seed: np.uint64, tree: int, grown: Grown
) -> NDArray[np.bool_]:
    """Mark the leaves, in their order, at which a split was drawn that left one side without estimation points.

    They have more than k estimation points, structure points of several classes, and a feature that varies.
    """
    structure, _ = deal_points(records.target.size, growth, start_draws(seed, tree))
    leaf_of = _route(records, grown, structure.astype(np.int64))
    marked = np.zeros(grown.feature.size, np.bool_)
    for node in np.flatnonzero((grown.feature < 0) & (grown.counts.sum(axis=1) > growth.split_above)):
        rows = structure[leaf_of == node]
        codes = records.codes[:, rows]
        marked[node] = np.unique(records.target[rows]).size > 1 and bool((codes != codes[:, :1]).any())
    return marked[grown.feature < 0]


def _route(records: LaidOutRecords, grown: Grown, rows: IntArray) -> IntArray:
    """Return the leaf, a node of the tree, that each of the rows comes to."""
    node = np.zeros(rows.size, np.int64)
    while (inner := grown.feature[node] >= 0).any():
        at = node[inner]
        feature, cut = grown.feature[at], grown.cut[at]
        code, kind = records.codes[feature, rows[inner]].astype(np.int64), records.kinds[feature]
        alone = (kind == CATEGORIES) | ((kind == ORDERED_MISSING) & (cut == 0))
        node[inner] = grown.first_child[at] + np.where(alone, code == cut, code > cut)
    return node


def vote_of_pure_leaves(epsilon: float, n_trees: int) -> float:
    """Return how often the printed labels of so many pure leaves, for two classes, vote rightly; ties by a coin.

    Examples
    --------
    >>> round(vote_of_pure_leaves(1.0, 64), 3)
    0.512
    """
    right = 1 / (1 + math.exp(-epsilon / (2 * n_trees)))  # softmax of B3 / 2 times (1, 0)
    chances = [math.comb(n_trees, k) * right**k * (1 - right) ** (n_trees - k) for k in range(n_trees + 1)]
    half = n_trees / 2
    return math.fsum(chance * (1.0 if k > half else 0.5 if k == half else 0.0) for k, chance in enumerate(chances))


class MultinomialForest2021Classifier(PrintedClassifier):
    """The private multinomial random forest as printed: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon : float, default=1.0
        The paper's epsilon.
    delta : float, default=0.0
        Must be zero.
    schema : Schema, optional
        What is public; split points lie between values of the data all the same.
    n_trees : int, default=64
        The paper's t, which divides the budget.
    depth : int, default=10
        The paper's d, which divides the budget. Trees may grow deeper, or less deep.
    min_leaf : int, default=5
        The paper's k.
    labels : {"printed", "code"}, default="printed"
        Every leaf's label by softmax of B3/2 times its class shares; or as the authors' code has it, four of five
        places without noise.
    n_rows_hint, random_state, n_jobs
        As in `privet.MultinomialForestClassifier`; splits are drawn from `random_state`.

    Notes
    -----
    *Privacy.* None: the ledger says so, and why; `fit` warns.
    """

    _flaw = FLAW

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 64,
        depth: int = 10,
        min_leaf: int = 5,
        labels: Labels = "printed",
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.depth = depth
        self.min_leaf = min_leaf
        self.labels = labels
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> PrintedMultinomialForest:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_whole("depth", self.depth, 1, 1000)
        check_whole("min_leaf", self.min_leaf, 1, 1 << 30)
        check_choice("labels", self.labels, ("printed", "code"))
        return PrintedMultinomialForest(int(self.n_trees), int(self.depth), int(self.min_leaf), self.labels)
