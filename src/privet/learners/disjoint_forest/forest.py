"""Forests on disjoint data with one label per leaf (Fletcher and Islam 2017), Algorithms 1 and 2, made sound.

The trees are drawn without looking at the data. A secret coin assigns each record to one tree, so that every tree
may spend the whole budget. A leaf releases a label and nothing else; the forest takes a vote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints, Sharing
from privet.estimators.objectives import Objective
from privet.learners.disjoint_forest.depth import DepthRule, fletcher_depth
from privet.learners.disjoint_forest.labels import LabelRule, plan_labels
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import Auto, RowsHint, check_choice, check_whole, check_whole_or_auto
from privet.privacy.events import Event, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Allowance, Share, Terms
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.random_trees import RandomTrees, with_own_leaves

EmptyLabels = Literal["omit", "uniform"]

FINE_GRID = 255  # split points are uniform in a node's current range: as fine as one byte for a code allows
MAX_DEPTH = 40
MAX_LEAVES = 65_536
MOST_BYTES = 1 << 28  # of class counts that are held at once
PARTS = "one part of the records for each tree"
ALL_RECORDS = "all records"


@dataclass(frozen=True)
class DisjointForestPlan(Plan):
    """One release: the labels of all leaves of all trees.

    Attributes
    ----------
    depth : int
        Of every tree.
    disjoint : bool
        Whether each record is assigned to one tree; else all trees see all records.
    rule : LabelRule
        What the candidates for a label are scored by.
    labels : Event
        The release.
    one_pass : bool
        Whether the table is asked once, since all counts may be held at once.
    """

    depth: int
    disjoint: bool
    rule: LabelRule
    labels: Event
    one_pass: bool

    @property
    def whole(self) -> Sequential:
        """The one release."""
        return Sequential((self.labels,))

    @property
    def facts(self) -> dict[str, object]:
        """The depth, and how labels come about."""
        return {"depth": self.depth, "labels": self.rule, "trees see": self.labels.sees}


@dataclass(frozen=True)
class DisjointForest:
    """The learner: random multi-way trees, each on its own part of the data, a private label in every leaf."""

    n_trees: int
    max_depth: int | None = None
    depth_rule: DepthRule = "table"
    composition: Sharing = "disjoint"
    empty: EmptyLabels = "omit"
    max_leaves: int = MAX_LEAVES
    bins: int = FINE_GRID

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> DisjointForestPlan:
        """Spend everything on the labels: all of it in each tree on disjoint data, else an equal part in each tree.

        A record adds one to one class count in one leaf of a tree: counts as scores have range one, and the margin of
        the leaf moves by at most one.
        """
        # without privacy every tree sees all records (section 2.4 of the paper)
        disjoint = self.composition == "disjoint" and share is not None
        seen_by, sees = (1, PARTS) if disjoint else (self.n_trees, ALL_RECORDS)
        one_tree, rule = plan_labels(
            terms,
            f"labels in the leaves of {self.n_trees} trees",
            None if share is None else share * Fraction(1, seen_by),
            encoding.n_classes,
            abstaining=self.empty == "omit",
            sees=sees,
        )
        # Leaves of one tree are disjoint: one charge for each tree that sees a record, all of them in one event.
        labels = replace(one_tree, cost=Sequential((one_tree,) * seen_by).cost)
        one_pass = 8 * self.n_trees * self.max_leaves * encoding.n_classes <= MOST_BYTES
        return DisjointForestPlan(self._depth(encoding), disjoint, rule, labels, one_pass)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: DisjointForestPlan) -> Forest:
        """Algorithms 1 and 2."""
        encoding = table.encoding
        # Alg. 1, lines 3 to 7: a uniformly random feature; a uniform point of its current domain, or all its values
        drawn = RandomTrees.draw(encoding, derive_seed(rng), self.n_trees, plan.depth, "multiway", self.max_leaves)
        trees = with_own_leaves(drawn)
        if isinstance(trees, RandomTrees):
            trees = replace(trees, rule="multiway_2")  # the same law, and much faster where nothing is written down
        # Alg. 2, line 22. Differs from the paper: cut into equal parts, every part would depend on every record.
        if plan.disjoint:
            table = release.coins(table, self.n_trees, "tree")
        own_tree = "tree" if plan.disjoint else None
        counts = (
            table.aggregate(LeafClassCounts(trees, encoding.n_classes, own_tree, part))
            for part in _parts(trees, encoding.n_classes)
        )
        # Alg. 2, line 25. Differs from the paper: a scale taken from the data ("smooth sensitivity") is not private.
        chosen = release.choose_in_parts(map(plan.rule.scores, counts), plan.labels)
        labels = np.concatenate([of_part.astype(np.uint16) for of_part in chosen])
        return Forest(encoding, trees, LeafLabels(labels, abstain=encoding.n_classes))

    def _depth(self, encoding: Encoding) -> int:
        if self.max_depth is not None:
            return self.max_depth
        ordered = sum(column.ordered for column in encoding.columns)
        return min(fletcher_depth(ordered, encoding.n_features - ordered, self.depth_rule), MAX_DEPTH)


def _parts(trees: ExplicitTrees | RandomTrees, n_classes: int) -> Iterator[tuple[int, int]]:
    """Divide the trees into runs whose class counts take at most `MOST_BYTES`, or one tree at a time."""
    at_once = max(1, MOST_BYTES // (8 * n_classes * int(np.diff(trees.leaf_offsets).max())))
    for first in range(0, trees.n_trees, at_once):
        yield first, min(first + at_once, trees.n_trees)


class DisjointForestClassifier(PrivateClassifier):
    """A forest of random multi-way trees on disjoint parts of the data, with one private label per leaf.

    Nothing is spent on the shape of the trees, and every tree may spend the whole budget on its labels, since each
    record is seen by one tree only. A good choice for many records and small epsilon, for many trees, and for discrete
    features with many values; where single features matter a lot, learners that choose their splits are more accurate.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy, in which every tree sees all records.
    delta : float, default=0.0
        Above zero the exponential mechanism under zCDP is used where it disturbs less: with
        ``composition="sequential"`` and more than a few trees. Otherwise the pure mechanisms stay, and the ledger
        states the stronger guarantee, with delta = 0.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    n_trees : int, default=100
        Number of trees.
    max_depth : int or "auto", default="auto"
        Depth of every tree; "auto" for that of Theorem 2 of the paper, see
        `privet.learners.disjoint_forest.depth.fletcher_depth`, and 40 at most.
    depth_rule : {"table", "printed"}, default="table"
        Which of the paper's two versions of that rule.
    composition : {"disjoint", "sequential"}, default="disjoint"
        *disjoint*: a secret coin assigns each record to one tree, and every tree spends all of epsilon. *sequential*:
        every tree sees all records and spends its part of epsilon, which takes ``n_trees`` times as long.
    empty : {"omit", "uniform"}, default="omit"
        How a leaf votes that has no records, or no clear majority. *omit*: it mostly abstains, since labels follow the
        margin law (`privet.learners.disjoint_forest.margin_law`) wherever that law is the better one: K classes with
        ``K <= 2 exp(epsilon)``. *uniform*, and otherwise: labels are drawn by permute-and-flip on class counts, so that
        an empty leaf votes for a random class, as in the paper.
    max_leaves : int, default=65536
        The leaves of a larger tree share this many buckets, by a public hash of the path.
    objective : "accuracy" or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit. The others need counts, which are not released.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records; not used by this learner, so none is bought.
    random_state : int, RandomState, Generator or None
        Seeds the shape of the trees, which is public. Noise and coins never depend on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        The schema's classes.
    model_ : Forest
        The released forest.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* Neighbours as the schema says; here for adding or removing one record x.

    *Labels.* x changes one class count of one leaf of its tree by one. Permute-and-flip and the exponential mechanism
    on counts: the changes of the scores lie in [0, 1]. The margin law: the leaf's margin moves by at most one.

    *Coins.* For fixed coins of the other records, x goes to tree t with probability 1/T, and then the labels' law is
    within a factor e^(+-epsilon) of the law without x, which does not depend on t. The mixture over t is too.

    *Huge trees.* A tree may have millions of leaves, nearly all of them untouched. Storing only those that records
    reached, or drawing the others later from a stored key, would reveal who reached what. Here the shape is a pure
    function of (public seed, tree, path); a leaf's id is fixed before the data is seen, or a public hash of its
    path; and *every* id goes through the mechanism and is stored. Two leaves that share an id are one leaf as far
    as the proof is concerned: each record still changes one count of one id.

    Voting is post-processing. The running time of the selections depends on the counts; hiding it is out of scope.

    References
    ----------
    Fletcher, S., and Islam, M. Z. (2017). Differentially private random decision forests using smooth sensitivity.
    Expert Systems with Applications 78.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import DisjointForestClassifier, Numeric, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 5000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> forest = DisjointForestClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y)
    >>> forest.privacy_.epsilon
    1.0
    >>> forest.predict([[0.05], [0.95]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 100,
        max_depth: int | Auto = "auto",
        depth_rule: DepthRule = "table",
        composition: Sharing = "disjoint",
        empty: EmptyLabels = "omit",
        max_leaves: int = MAX_LEAVES,
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
        self.depth_rule = depth_rule
        self.composition = composition
        self.empty = empty
        self.max_leaves = max_leaves
        self.objective = objective
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> DisjointForest:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_choice("depth_rule", self.depth_rule, ("table", "printed"))
        check_choice("composition", self.composition, ("disjoint", "sequential"))
        check_choice("empty", self.empty, ("omit", "uniform"))
        check_whole("max_leaves", self.max_leaves, 1, 1 << 22)
        return DisjointForest(
            int(self.n_trees),
            check_whole_or_auto("max_depth", self.max_depth, 1, MAX_DEPTH),
            self.depth_rule,
            self.composition,
            self.empty,
            int(self.max_leaves),
        )

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Stay with pure epsilon where its rate is no smaller than what delta would buy: it is the stronger claim."""
        assert asked.rho is not None
        learner = self._learner()
        seen_by = 1 if learner.composition == "disjoint" else learner.n_trees
        # epsilon / T for each tree against sqrt(8 rho / T)
        return asked.pure if asked.epsilon**2 >= 8 * asked.rho * seen_by else asked
