"""PrivaTree (Vos, Vos, Li, Erkin, Verwer 2023), Algorithm 1, with a proof that holds.

One readable tree. The paper scores splits on a noisy histogram for each feature and charges the histograms as if
features held different records. They hold the same records, so the true cost is up to the number of features times
the stated one. Here every node makes one private selection among *all* splits of all features, whose cost does not
depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints, Sharing
from privet.estimators.objectives import Objective
from privet.learners.privatree.plan import (
    LevelPlan,
    PrivaTreePlan,
    TreeBudget,
    TreePlan,
    label_error,
    no_worse_pure,
    tree_budget,
)
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts, LeafLabels
from privet.parameters import RowsHint, check_choice, check_whole, exact
from privet.privacy.events import Event
from privet.privacy.terms import Allowance, Share, Terms, times
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.features import FeatureView
from privet.tables.protocol import IntArray
from privet.trees.candidates import Candidates, count_candidates
from privet.trees.exact_quantiles import COUNTS, exact_cuts
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.greedy import GreedyGrowth
from privet.trees.label_leaves import LabelLeavesPlan, LabelledLeaves, LeafTotals, sums_of
from privet.trees.quantiles import JointQuantiles, OfFeature, QuantileSearch
from privet.trees.scores import SCORES, head_start
from privet.trees.structure import FeatureCodes

LeafKind = Literal["labels", "counts"]
GridRule = Literal["schema", "quantiles", "jointexp"]
Number = TypeVar("Number", bound=np.generic)
GrownLeaves = tuple[list[int], IntArray]  # the tree and the values of each

BINS = 255  # as fine as codes of one byte allow; a finer public grid costs next to nothing
# A label taken from two Laplace counts loses up to max x (1/2 + x/4) exp(-x) = 0.293 records over epsilon, one by
# permute-and-flip 0.184. So leaves with counts need this many times the budget of leaves with labels.
BUDGET_OF_COUNTS_OVER_LABELS = Fraction(8, 5)
FINE_BINS = 1024  # the public grid on which private quantiles are searched
SEARCHES: dict[str, QuantileSearch | JointQuantiles] = {"quantiles": QuantileSearch(), "jointexp": JointQuantiles()}
EXACT_CELLS = 64  # of a feature, between exact quantiles, where features are public
RECORDS_WITHOUT_HINT = 1000  # where pure epsilon is compared with a delta before the number of records is known
SEES = "the records of each node; nodes of one level are disjoint"


@dataclass(frozen=True)
class PrivaTree:
    """The learner: splits chosen privately among all candidates, level by level, then a label for each leaf."""

    max_depth: int = 4
    n_trees: int = 1
    composition: Sharing = "sequential"
    criterion: str = "mix"
    leaves: LeafKind = "counts"
    grid: GridRule = "schema"
    max_leaf_error: Fraction = Fraction(1, 100)
    bins: int = BINS
    leaf_part: Fraction | None = None  # of each tree's budget, in place of the rule
    stop: bool = False

    @property
    def _passes(self) -> int:
        """How many times all records are used: trees on disjoint records grow together."""
        return self.n_trees if self.composition == "sequential" else 1

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether depth and the leaves' part are left to the rule."""
        return self.leaf_part is None

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PrivaTreePlan:
        """Divide the budget over quantiles, trees, levels and leaves (Algorithm 1, lines 1 and 2).

        On its way from the root to a leaf a record meets one selection a level and one label: costs add up along a
        path, and siblings see disjoint records.
        """
        score, part = SCORES[self.criterion], times(share, Fraction(1, self._passes))
        n_rows = None if hints.n_rows is None else hints.n_rows * self._passes // self.n_trees
        n_candidates = count_candidates(FeatureCodes.of(encoding))
        worst = label_error(encoding.n_classes) * (BUDGET_OF_COUNTS_OVER_LABELS if self.leaves == "counts" else 1)
        budget = tree_budget(self.max_depth, n_candidates, part, terms.steps, n_rows, worst / self.max_leaf_error)
        if self.leaf_part is not None and budget.depth:
            budget = TreeBudget(self.max_depth, (1 - self.leaf_part) / self.max_depth, self.leaf_part)
        level_part, quantiles = budget.level, tuple[OfFeature, ...]()
        if self.grid != "schema" and any(column.ordered and column.n_values > 1 for column in encoding.columns):
            # Equation 9: as much as one level. All trees use the same quantiles.
            level_part = (1 - budget.leaves) / (1 + budget.depth)
            quantiles = SEARCHES[self.grid].plan(encoding, terms, times(share, level_part))
        make, by_labels = terms.noise if self.leaves == "counts" else terms.choice, self._by_labels(terms, share)
        trees = []
        for tree in range(self._passes):
            of_tree = f"tree {tree + 1}: " if self._passes > 1 else ""
            levels = []
            for level in range(budget.depth):
                name = f"{of_tree}splits of level {level + 1}"
                choice = terms.choice(name, times(part, level_part), score_range=score.range, sees=SEES)
                early = None
                if self.stop:
                    # What the path has left *after* this choice: the leaves' part and that of all levels below.
                    left = budget.leaves + level_part * (budget.depth - 1 - level)
                    early = make(f"{of_tree}leaves that stop at level {level + 1}", times(part, left), sees=SEES)
                levels.append(LevelPlan(choice, early))
            leaves = make(f"{of_tree}leaves", times(part, budget.leaves), sees=SEES)
            if by_labels and part is not None:
                for_leaves = part * budget.leaves
                leaves = LabelLeavesPlan.of(f"{of_tree}leaves", terms, for_leaves, encoding.n_classes, 1, SEES).sums
            trees.append(TreePlan(tuple(levels), leaves, by_labels))
        if not by_labels:
            return PrivaTreePlan(budget.depth, quantiles, tuple(trees))
        totals = terms.free("records in the leaves")
        return PrivaTreePlan(budget.depth, quantiles, tuple(trees), cuts=terms.free(COUNTS), totals=totals)

    def _by_labels(self, terms: Terms, share: Share | None) -> bool:
        """Whether thresholds and leaves are those of a tree where only labels are private."""
        plain = self.composition == "sequential" and self.leaves == "counts" and self.grid == "schema" and not self.stop
        return terms.features_are_public and share is not None and plain

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PrivaTreePlan) -> Forest:
        """Algorithm 1. Differs from the paper wherever its proof fails."""
        domains, cuts = FeatureCodes.of(table.encoding), None
        if plan.cuts is not None:
            cuts = exact_cuts(FeatureView.of(table), release, plan.cuts, EXACT_CELLS)
        elif self.grid != "schema":
            cuts = SEARCHES[self.grid].run(table, release, plan.quantiles)  # lines 3 to 5
        if self.n_trees > self._passes:
            table = release.coins(table, self.n_trees, GreedyGrowth.STATE)
        grown = []
        for tree in plan.trees:
            growth = GreedyGrowth(table, Candidates.all_of(domains, rng, cuts), self.n_trees // self._passes)
            values = in_order(self._grow_tree(growth, release, tree))
            grown.append((growth.finish(), values))
        trees = ExplicitTrees.join([tree for tree, _ in grown])
        values = np.concatenate([values for _, values in grown])
        if plan.totals is not None:  # where only labels are private, the leaves' sizes are known
            totals = release.features(FeatureView.of(table), LeafTotals(trees), plan.totals)
            deviation = plan.trees[0].leaves.deviation
            values = LabelledLeaves(totals, values, deviation, table.encoding.n_classes).smoothed_counts(self.n_trees)
        if self.leaves == "counts":
            return Forest(table.encoding, trees, LeafCounts(values), "threshold")
        return Forest(table.encoding, trees, LeafLabels(values.astype(np.uint16)), "majority")

    def _grow_tree(self, growth: GreedyGrowth, release: Release, tree: TreePlan, level: int = 0) -> list[GrownLeaves]:
        """Grow the open nodes and all below them; return the leaves that they become."""
        # Differs from the paper: no stop at pure or small nodes (line 7), which would reveal what is in them.
        if level == len(tree.levels):
            counts = sums_of(growth.leaf_counts) if tree.of_labels else growth.leaf_counts
            values = self._leaf_values(counts, release, tree.leaves)  # lines 8 and 9
            return [(growth.open_trees, values)]
        # Lines 11 and 12. Differs from the paper: exact counts, one private choice among all features' splits.
        choice, early, scope = tree.levels[level].choice, tree.levels[level].early, tree.stop_or_go_on(level)
        if early is None or scope is None:
            growth.split(release.choose(growth.scores(SCORES[self.criterion]), choice))  # lines 13 and 14
            return self._grow_tree(growth, release, tree, level + 1)
        scores = growth.scores(SCORES[self.criterion], stop_bonus_of(growth.n_candidates, choice))
        chosen = release.choose(scores, choice)
        stopped, counts, trees = chosen == growth.n_candidates, growth.leaf_counts, np.array(growth.open_trees)
        growth.split(chosen)
        leaves: list[GrownLeaves] = []
        with release.parallel(scope):
            if stopped.any():
                values = self._leaf_values(counts[stopped], release, early)
                leaves.append((trees[stopped].tolist(), values))
            if growth.n_open:
                with release.branch(tree.path(level + 1)):
                    leaves.extend(self._grow_tree(growth, release, tree, level + 1))
        return leaves

    def _leaf_values(self, counts: IntArray, release: Release, event: Event) -> IntArray:
        return release.noisy(counts, event) if self.leaves == "counts" else release.choose(counts, event)


def stop_bonus_of(n_candidates: int, choice: Event) -> int:
    """Return the bonus that makes stopping as likely as all splits together, if no split gains anything."""
    return int(head_start(n_candidates, choice.parameter))


def in_order(leaves: Sequence[tuple[list[int], NDArray[Number]]]) -> NDArray[Number]:
    """Return leaves' values tree by tree; within a tree those that stopped earlier come first."""
    trees = np.concatenate([trees for trees, _ in leaves])
    values: NDArray[Number] = np.concatenate([values for _, values in leaves])[np.argsort(trees, kind="stable")]
    return values


class PrivaTreeClassifier(PrivateClassifier):
    """One readable decision tree, whose splits are chosen privately among all possible splits.

    Use it where people should be able to read the model, or as a strong and fast baseline. `model_.plot()`,
    `model_.export_text()` and `model_.rules()` show what was learned.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for a model without privacy.
    delta : float, default=0.0
        Zero for pure epsilon (permute-and-flip). Above zero, the exponential mechanism and zero-concentrated
        composition are used where they disturb less, which takes many levels or trees. With few of them the pure
        mechanisms stay, and the ledger states the stronger guarantee, with delta = 0.
    schema : Schema, optional
        What is public. Without it, domains are read off the data, and nothing is guaranteed.
    max_depth : int, default=4
        The most levels of splits. The tree may be planned with fewer, by the number of records: levels that the budget
        cannot pay for would only add noise.
    n_trees : int, default=1
        More than one for a small forest that votes.
    composition : {"sequential", "disjoint"}, default="sequential"
        *sequential*: every tree sees all records and spends its part of epsilon. *disjoint*: a secret coin assigns each
        record to one tree, and every tree spends all of epsilon.
    criterion : {"mix", "gini", "errors"}, default="mix"
        What makes a split a good one; see `privet.trees.scores`.
    leaves : {"counts", "labels"}, default="counts"
        What is released of each leaf. *counts*: noisy class counts, which give probabilities. *labels*: only a label,
        by permute-and-flip as in the paper. docs/learners/privatree.md compares the two.
    grid : {"schema", "quantiles", "jointexp"}, default="schema"
        Where thresholds come from. *schema*: the schema's public grid, which costs nothing. *quantiles* and *jointexp*:
        private quantiles, found recursively or all of a feature at once, which are charged for every numeric feature.
        For long tails a schema with grid="log" is usually the better choice.
    stop : bool, default=False
        Whether a node may also choose, privately, not to be split. Its leaf then gets what the levels below it would
        have spent.
    bins : int, default=255
        Number of cells of a numeric feature whose schema does not set it.
    max_leaf_error : float, default=0.01
        How much accuracy wrong labels in the leaves may cost. It decides the leaves' part of the budget (the paper's
        equations 7 and 8).
    objective : {"accuracy", "balanced_accuracy", "f1"} or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records; its order of magnitude is enough. It decides the leaves' part of the
        budget and the depth. Never compared with the data. None: a noisy number is bought with a small part of the
        budget, or taken for free where it is public (`privet.estimators.counting`). "unknown": do without.
    random_state : int, RandomState, Generator or None
        Seeds public choices: the order of the categories of features that have very many. Noise never depends on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        The schema's classes.
    model_ : Forest
        The released tree or trees.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* The schema declares the neighbours. Candidates are public. A record is in one child of every candidate
    split at once, and adding it lowers each score by an amount within [0, R], whatever the number of features
    (`privet.trees.scores`). So each level is one selection of range R, since nodes of a level are disjoint. GrownLeaves
    release class counts of sensitivity one, or labels chosen by scores of range one. Costs add up over levels and
    leaves. Every node is split down to the planned depth and every leaf goes through the mechanism, whether or not a
    record reached it. With `stop`, the node's own score is one more candidate of the same range, plus a public
    constant. A leaf that stops spends what its path has left after that choice, so no path spends more than the whole.

    Under ``neighbours="label"``, without units, and with other settings of `composition`, `leaves`, `grid` and `stop`
    at their defaults, thresholds are exact quantiles of the features, and the sizes of leaves are released as they
    are; both look at features alone and are free. Of two classes one signed sum a leaf is noised.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivaTreeClassifier, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 1000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> tree = PrivaTreeClassifier(epsilon=2.0, schema=schema, max_depth=1).fit(X, y)
    >>> tree.privacy_.epsilon
    2.0
    >>> tree.predict([[0.05], [0.95]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 4,
        n_trees: int = 1,
        composition: Sharing = "sequential",
        criterion: str = "mix",
        leaves: LeafKind = "counts",
        grid: GridRule = "schema",
        stop: bool = False,
        bins: int = BINS,
        max_leaf_error: float = 0.01,
        objective: Objective = "accuracy",
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.n_trees = n_trees
        self.composition = composition
        self.criterion = criterion
        self.leaves = leaves
        self.grid = grid
        self.stop = stop
        self.bins = bins
        self.max_leaf_error = max_leaf_error
        self.objective = objective
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Stay with pure epsilon, a stronger guarantee, where it chooses splits no worse."""
        if self.grid != "schema":
            return asked
        known = Hints(hints.n_rows or RECORDS_WITHOUT_HINT)
        plan = self._learner().plan(encoding, terms, asked.whole, known)
        return asked.pure if no_worse_pure(asked, plan.first) else asked

    def _learner(self) -> PrivaTree:
        check_whole("max_depth", self.max_depth, 1, 12)
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_choice("composition", self.composition, ("sequential", "disjoint"))
        check_choice("criterion", self.criterion, tuple(SCORES))
        check_choice("leaves", self.leaves, ("labels", "counts"))
        check_choice("grid", self.grid, ("schema", *SEARCHES))
        check_whole("bins", self.bins, 2, 4096)
        max_leaf_error = exact(self.max_leaf_error, "max_leaf_error")
        if not 0 < max_leaf_error < 1:
            raise ParameterError(f"max_leaf_error must be between 0 and 1, got {self.max_leaf_error}: pass e.g. 0.01")
        return PrivaTree(
            int(self.max_depth),
            int(self.n_trees),
            self.composition,
            self.criterion,
            self.leaves,
            self.grid,
            max_leaf_error,
            int(self.bins) if self.grid == "schema" else FINE_BINS,
            stop=bool(self.stop),
        )
