"""Random decision forests (Bojarski, Choromanska, Choromanski, LeCun 2014), Algorithms 1 and 2.

The trees are drawn without looking at the data: at every inner node a uniformly random feature, and a uniformly random
threshold of its public range. Only the values of the leaves depend on the data, and only they get noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints, Sharing
from privet.estimators.objectives import Objective
from privet.learners.random_decision_forest.label_forest import LabelForestPlan, labelled_counts, trees_at_quantiles
from privet.learners.random_decision_forest.shape import ForestShape, forest_shape
from privet.learners.random_decision_forest.weights import ENOUGH_RECORDS, WEIGHTS_PART, choose_weights
from privet.mechanisms.release import Release
from privet.models.forest import EMPTY_RULES, VOTINGS, Empty, Forest, LeafCounts, LeafLabels, Structure, Voting
from privet.parameters import Auto, RowsHint, check_choice, check_whole_or_auto, public_rng, threads
from privet.privacy.events import Event, Mechanism, Sequential
from privet.privacy.plan import InSequence
from privet.privacy.terms import Allowance, Share, Terms, times
from privet.progress import counting_records
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.tables.features import FeatureView
from privet.tables.protocol import IntArray
from privet.trees.exact_quantiles import COUNTS
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.label_leaves import LabelLeavesPlan
from privet.trees.random_trees import MAX_LEAVES, MOST_NODES, RandomTrees, check_leaves_fit
from privet.trees.structure import FeatureCodes

LeafKind = Literal["counts", "labels"]
VoteWeights = Literal["auto", "private", "equal"]

FINE_GRID = 255  # thresholds are uniform in the public range, so the grid is as fine as codes of one byte allow


@dataclass(frozen=True)
class ForestPlan(InSequence):
    """One release: the values of the leaves of all trees; then perhaps one choice, of weights for the classes."""

    shape: ForestShape
    leaves: Event
    weights: tuple[Event, ...] = ()

    @property
    def one_pass(self) -> bool:
        """Whether the leaves are all that depends on the table."""
        return not self.weights


@dataclass(frozen=True)
class RandomDecisionForest:
    """The learner: k complete random trees of height h, and noise in every leaf.

    ``n_trees`` and ``max_depth`` of None are decided by `privet.learners.random_decision_forest.shape`.
    """

    n_trees: int | None = None
    max_depth: int | None = None
    voting: Voting = "threshold"
    leaves: LeafKind = "counts"
    composition: Sharing = "sequential"
    empty: Empty = "back_off"
    bins: int = FINE_GRID
    vote_weights: VoteWeights = "equal"

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether a part of the shape is left to the rule."""
        return self.n_trees is None or self.max_depth is None

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> ForestPlan | LabelForestPlan:
        """Spend everything on the leaves of the whole forest at once.

        A record is in one leaf of each tree that sees it: of all k, or of one that a secret coin chose. There it adds
        one to the count of its class. So all counts together have L1 and squared L2 sensitivity k or 1; and the labels
        are k selections or one, each of range 1, the rows of one tree being disjoint.
        """
        shape = self.shape(terms, share, hints)
        if share is not None and self._by_labels(encoding, terms, shape):
            return self._label_plan(encoding, terms, share, hints, shape)
        check_leaves_fit(shape.n_trees * min(1 << shape.max_depth, MAX_LEAVES), encoding.n_classes)
        weights = self._choice_of_weights(terms, share, hints)
        left = times(share, 1 - WEIGHTS_PART) if weights else share
        leaves = self.event(shape.n_trees, terms, left)
        # All that is charged is fixed by now, so that Gaussian noise may go by its exact delta.
        return ForestPlan(shape, terms.sharpened(leaves, share, weights), weights)

    def _by_labels(self, encoding: Encoding, terms: Terms, shape: ForestShape) -> bool:
        """Whether leaves are released as where only labels are private; known from public facts."""
        kind = self.composition == "sequential" and self.leaves == "counts" and self.empty == "back_off"
        small = shape.n_trees << min(shape.max_depth, 40) <= MOST_NODES and 1 << shape.max_depth <= MAX_LEAVES
        return terms.features_are_public and kind and small and FeatureCodes.of(encoding).splittable.size > 0

    def _label_plan(
        self, encoding: Encoding, terms: Terms, share: Share, hints: Hints, shape: ForestShape
    ) -> LabelForestPlan:
        """Spend everything on what labels add to the leaves."""
        check_leaves_fit(shape.n_trees << shape.max_depth, encoding.n_classes)
        weights = self._choice_of_weights(terms, share, hints)
        if weights:
            share *= 1 - WEIGHTS_PART
        name, n_classes = f"leaves of {shape.n_trees} trees", encoding.n_classes
        leaves = LabelLeavesPlan.of(name, terms, share, n_classes, shape.n_trees, "all records")
        return LabelForestPlan(shape, terms.free(COUNTS), leaves.totals, leaves.sums, weights)

    def shape(self, terms: Terms, share: Share | None, hints: Hints) -> ForestShape:
        """Return the forest's shape: the parameters, or the public rule where they leave it open."""
        rule = forest_shape(share, hints.n_rows, terms.steps)
        return ForestShape(self.n_trees or rule.n_trees, self.max_depth or rule.max_depth)

    def _choice_of_weights(self, terms: Terms, share: Share | None, hints: Hints) -> tuple[Event, ...]:
        """Plan the choice of weights, where classes may have some and there are enough records to tell them apart."""
        votes = self.voting == "threshold" and self.leaves == "counts"
        if share is None or self.vote_weights == "equal" or not votes:
            return ()
        event = terms.choice("weights of the classes' votes", share * WEIGHTS_PART)
        if self.vote_weights == "auto" and (hints.n_rows or 0) * event.parameter < ENOUGH_RECORDS:
            return ()
        return (event,)

    def event(self, n_trees: int, terms: Terms, share: Share | None) -> Event:
        """Plan the one release of a forest with this many trees."""
        seen_by = n_trees if self.composition == "sequential" else 1
        sees = "all records" if seen_by == n_trees else f"one of {n_trees} parts by secret coins"
        if self._keeps_counts(share):
            name = f"class counts in the leaves of {n_trees} trees"
            return terms.noise(name, share, l1=seen_by, l2_squared=seen_by, sees=sees, largest=1)
        assert share is not None
        one_tree = terms.choice(f"labels of the leaves of {n_trees} trees", share * Fraction(1, seen_by), sees=sees)
        # One selection for each tree that sees a record: all of them are charged, in one event.
        return replace(one_tree, cost=Sequential((one_tree,) * seen_by).cost)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: ForestPlan | LabelForestPlan) -> Forest:
        """Algorithm 2, and Algorithm 1 where the plan has no noise."""
        if isinstance(plan, LabelForestPlan):
            return self._grow_by_labels(table, release, rng, plan)
        encoding, shape, event = table.encoding, plan.shape, plan.leaves
        # "Random forest construction"
        drawn = RandomTrees.draw(encoding, derive_seed(rng), shape.n_trees, shape.max_depth)
        trees = drawn.materialise_if_small()
        # "Training: for every d, find the leaf in every tree and update n+ and n-".
        # Differs from the paper where asked: each record only in the tree that a secret coin chose.
        part = "tree" if self.composition == "disjoint" else None
        divided = table if part is None else release.coins(table, shape.n_trees, part)
        counts = divided.aggregate(LeafClassCounts(trees, encoding.n_classes, part))
        # "For every leaf, add noise". Differs from the paper: it prints a scale of eta/k, its proof needs k/eta.
        if event.mechanism in (Mechanism.PERMUTE_AND_FLIP, Mechanism.EXPONENTIAL):
            labels = release.choose(counts, event)
            return Forest(encoding, trees, LeafLabels(labels.astype(np.uint16)), self.voting)
        noisy = release.noisy(counts, event)
        return self._weighted(table, release, rng, plan, trees, noisy)

    def _grow_by_labels(self, table: Table, release: Release, rng: PublicRng, plan: LabelForestPlan) -> Forest:
        """Do the same with thresholds among exact quantiles, exact numbers of records, and noise on labels alone."""
        view = FeatureView.of(table)
        trees = trees_at_quantiles(view, release, derive_seed(rng), plan)
        return self._weighted(table, release, rng, plan, trees, labelled_counts(table, view, release, trees, plan))

    def _weighted(
        self,
        table: Table,
        release: Release,
        rng: PublicRng,
        plan: ForestPlan | LabelForestPlan,
        trees: Structure,
        counts: IntArray,
    ) -> Forest:
        forest = Forest(table.encoding, trees, LeafCounts(counts, self.empty, derive_seed(rng)), self.voting)
        # Differs from the paper: where the classes are cut is chosen, too.
        for choice in plan.weights:
            forest = replace(forest, weights=choose_weights(table, release, forest, choice))
        return forest

    def _keeps_counts(self, share: Share | None) -> bool:
        # Without privacy labels save nothing, and an empty leaf with a label could not back off to its subtree.
        return share is None or self.leaves == "counts"


class RandomDecisionForestClassifier(PrivateClassifier):
    """A forest of completely random trees, which spends nothing on their shape and everything on their leaves.

    The simplest private forest. Use it where records are few or epsilon is small, or as a baseline; where data is
    plentiful, learners that choose their splits are more accurate.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for a model without privacy (the paper's Algorithm 1).
    delta : float, default=0.0
        Zero for pure epsilon: discrete Laplace noise, or labels by permute-and-flip. Above zero, discrete Gaussian
        noise or the exponential mechanism are used where they disturb less: for more than about ten trees (counts) or
        five (labels). With fewer trees the pure mechanisms stay, and the ledger states the stronger guarantee, with
        delta = 0.
    schema : Schema, optional
        What is public. Without it, domains are read off the data, and nothing is guaranteed.
    n_trees : int or "auto", default="auto"
        Number of trees (the paper's k). "auto": sqrt(n epsilon) / 4, for n the number of records, from 1 to 64.
    max_depth : int or "auto", default="auto"
        Height of every tree (the paper's h). "auto": log2(n epsilon / 4), from 1 to 12.
    voting : {"threshold", "majority", "probabilistic"}, default="threshold"
        How the trees' leaves are combined. *threshold*: the leaves' class shares are averaged, and the largest wins.
        *majority*: each tree votes for its leaf's label, or for the class with the largest share there, the first of
        equals. *probabilistic*: shares are averaged and a class is drawn from them; the coin depends on `random_state`
        and a record's place in X, so that `predict` is repeatable.
    leaves : {"counts", "labels"}, default="counts"
        What is released of each leaf. *counts*: noisy class counts, which give probabilities. *labels*: only a label,
        by permute-and-flip; for majority voting only.
    composition : {"sequential", "disjoint"}, default="sequential"
        *sequential*: every tree sees all records and spends its part of epsilon. *disjoint*: a secret coin assigns each
        record to one tree, and every tree spends all of epsilon. Relative to the counts the noise is the same; disjoint
        is faster to fit by a factor of `n_trees`, sequential has no sampling error.
    empty : {"back_off", "random"}, default="back_off"
        How a leaf votes whose noisy counts are not all positive. *back_off*: negative counts become zero, and a leaf
        without any positive count takes the shares of the smallest subtree around it whose sums have one, at last
        equal shares. *random*: shares drawn uniformly from all possible ones wherever a count is negative or all are
        zero, as in the paper (Algorithm 2). This spoils every second pure leaf, and is meant for comparison only.
    vote_weights : {"auto", "private", "equal"}, default="auto"
        Whether sums of votes are multiplied by a weight for each class, for threshold voting on counts. *private*: a
        twentieth of the budget chooses the weights, among 13 weightings that favour rare classes more or less, by how
        many records they get right. *equal*: no weights, as in the paper. *auto*: private where the number of records
        (`n_rows_hint`, or a bought one) is at least 400 over epsilon, or with `delta` above zero 20 over
        sqrt(8 rho / 20). Random trees rank records far better than equal weights divide them.
    objective : {"accuracy", "balanced_accuracy", "f1"} or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records, for "auto". Never compared with the data. None: where something is
        "auto", a noisy number is bought with a small part of the budget, or taken for free where it is public
        (`privet.estimators.counting`). "unknown": do without.
    random_state : int, RandomState, Generator or None
        Seeds public choices: the shape of the trees, random shares, the coins of probabilistic voting. Noise, and the
        coins of ``composition="disjoint"``, never depend on it.
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
    *Privacy.* The schema declares the neighbours. Adding or removing a record changes one class count by one in one
    leaf of each tree that sees it. *counts*: sensitivity ``n_trees`` in L1, its square root in L2 (disjoint: one).
    *labels*: for each tree one selection on one-sided scores of range one, at epsilon / n_trees (disjoint: at epsilon).
    *weights*: a record adds one or nothing to the number of right answers of each weighting, so they are one selection
    of range one, and its cost adds up with that of the leaves (`privet.learners.random_decision_forest.weights`).
    Gaussian noise has the variance that the exact delta of the leaves and that choice together allows, where no number
    of records is bought first and no account adds up rhos (`privet.privacy.exact_delta`).
    Every leaf of every tree is released and stored, whether or not a record reached it. Voting, back-off and the coins
    at prediction are post-processing. The running time of permute-and-flip depends on the counts.

    Under ``neighbours="label"``, without units, for sequential counts with back-off: thresholds are random among exact
    quantiles of the features, and the number of records in each leaf is released as it is; both look at features alone
    and are free. Of two classes one signed sum a leaf is noised, which a changed label moves by two in each tree; of
    more of them all counts (`privet.trees.label_leaves`).

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, RandomDecisionForestClassifier, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 1000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> forest = RandomDecisionForestClassifier(epsilon=2.0, schema=schema, random_state=0).fit(X, y)
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
        n_trees: int | Auto = "auto",
        max_depth: int | Auto = "auto",
        voting: Voting = "threshold",
        leaves: LeafKind = "counts",
        composition: Sharing = "sequential",
        empty: Empty = "back_off",
        vote_weights: VoteWeights = "auto",
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
        self.voting = voting
        self.leaves = leaves
        self.composition = composition
        self.empty = empty
        self.vote_weights = vote_weights
        self.objective = objective
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> NDArray[Any]:
        """Return for each record the class that the objective prefers, or one drawn by the shares. Spends nothing."""
        check_is_fitted(self, "model_")
        forest = cast(Forest, self.model_)
        if forest.voting != "probabilistic":
            return super().predict(X)
        codes = self._codes(X)
        # The seed is public and part of the model file, so that a loaded model draws the same classes.
        coins = public_rng(forest.leaves.seed) if isinstance(forest.leaves, LeafCounts) else None
        with counting_records():
            labels: NDArray[Any] = self.classes_[forest.predict(codes, threads(self.n_jobs), coins)]
        return labels

    def _learner(self) -> RandomDecisionForest:
        check_choice("voting", self.voting, VOTINGS)
        check_choice("leaves", self.leaves, ("counts", "labels"))
        check_choice("composition", self.composition, ("sequential", "disjoint"))
        check_choice("empty", self.empty, EMPTY_RULES)
        check_choice("vote_weights", self.vote_weights, ("auto", "private", "equal"))
        if self.vote_weights == "private":
            check_choice('voting, where vote_weights="private",', self.voting, ("threshold",))
        if self.voting == "probabilistic" and self.objective != "accuracy":
            raise ParameterError("voting='probabilistic' draws predictions, so no objective can be met: leave it out")
        if self.leaves == "labels":
            check_choice('voting, where leaves="labels",', self.voting, ("majority",))
        return RandomDecisionForest(
            check_whole_or_auto("n_trees", self.n_trees, 1, 100_000),
            check_whole_or_auto("max_depth", self.max_depth, 1, 40),
            self.voting,
            self.leaves,
            self.composition,
            self.empty,
            vote_weights=self.vote_weights,
        )

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Keep pure epsilon, the stronger claim, where it adds no more noise than a positive delta would."""
        learner, pure = self._learner(), asked.pure
        n_trees = learner.shape(terms, pure.whole, hints).n_trees
        spreads = [spread(learner.event(n_trees, terms, allowance.whole)) for allowance in (pure, asked)]
        return pure if spreads[0] <= spreads[1] else asked


def spread(event: Event) -> Fraction:
    """Return the variance of noise (up to the grid's rounding), or for selections the squared inverse of their rate."""
    match event.mechanism:
        case Mechanism.LAPLACE:
            return 2 * event.parameter**2
        case Mechanism.GAUSSIAN:
            return event.parameter
    return event.parameter**-2
