"""Fletcher and Islam (2017) exactly as printed: labels by the exponential mechanism with "smooth sensitivity".

Theorem 1 scores the most frequent class 1 and all others 0, and divides by the smooth sensitivity e^(-j epsilon), j
being the margin between the two largest counts. Smooth sensitivity is a theorem about additive noise of certain laws;
here the scale itself depends on the data and multiplies the score, so that going from margin j to j + 1 multiplies the
log-odds by e^epsilon. At epsilon = 1 the loss is 2.131, 6.324 and 17.26 at j = 1, 2 and 3, and no finite epsilon
holds. The parts of the data are of equal size, so that one record more moves many others.

`privet.DisjointForestClassifier` is the sound form.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Hints, Sharing
from privet.learners.disjoint_forest.depth import DepthRule, fletcher_depth
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import Auto, check_choice, check_whole, check_whole_or_auto
from privet.privacy.events import Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, unproven
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Block, Table
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.random_trees import RandomTrees, with_own_leaves
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon
from privet_papers.framework.smooth_sensitivity import FLAW, RATE, top_scores

Sensitivity = Literal["smooth", "global"]
EmptyLeaves = Literal["random", "silent"]

EQUAL_PARTS = "records are dealt to trees in turn: one record more moves all that follow to other trees"
FINE_GRID = 255
MAX_LEAVES = 65_536


@dataclass(frozen=True)
class DealInTurn:
    """Kernel: equal parts, the records dealt to the trees one after the other."""

    n_parts: int

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return the part of each record of a block."""
        return (block.rows % np.uint64(self.n_parts)).astype(np.int32)


@dataclass(frozen=True)
class SmoothForestPlan(InSequence):
    """Labels as printed, and the epsilon of each tree that scales them."""

    epsilon: Fraction
    labels: Event


@dataclass(frozen=True)
class SmoothForest:
    """The learner: random multi-way trees on equal parts of the data, labels by the printed rule."""

    n_trees: int
    max_depth: int | None = None
    depth_rule: DepthRule = "table"
    composition: Sharing = "disjoint"
    sensitivity: Sensitivity = "smooth"
    max_leaves: int = MAX_LEAVES
    bins: int = FINE_GRID
    empty: EmptyLeaves = "random"

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> SmoothForestPlan:
        """Plan the labels as printed; nothing is proven."""
        flaw = FLAW if self.sensitivity == "smooth" else EQUAL_PARTS
        labels = unproven(f"labels in the leaves of {self.n_trees} trees", Mechanism.EXPONENTIAL, RATE, flaw)
        part = pure_epsilon(share) / (1 if self.composition == "disjoint" else self.n_trees)
        return SmoothForestPlan(part, labels)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: SmoothForestPlan) -> Forest:
        """Algorithms 1 and 2, to the letter."""
        encoding = table.encoding
        ordered = sum(column.ordered for column in encoding.columns)
        depth = self.max_depth or fletcher_depth(ordered, encoding.n_features - ordered, self.depth_rule)
        trees = with_own_leaves(
            RandomTrees.draw(encoding, derive_seed(rng), self.n_trees, depth, "multiway", self.max_leaves)
        )
        part = None
        if self.composition == "disjoint":
            part, table = "tree", table.derive("tree", DealInTurn(self.n_trees))
        counts = table.aggregate(LeafClassCounts(trees, encoding.n_classes, part))
        # Theorem 1 in the exponential mechanism.
        scores = top_scores(counts, float(plan.epsilon), smooth=self.sensitivity == "smooth")
        labels = release.choose(scores, plan.labels).astype(np.uint16)
        if self.empty == "random":
            return Forest(encoding, trees, LeafLabels(labels))
        silent = np.uint16(encoding.n_classes)
        return Forest(encoding, trees, LeafLabels(np.where(counts.any(axis=1), labels, silent), int(silent)))


class SmoothForestClassifier(PrintedClassifier):
    """Fletcher and Islam's forest as printed: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon : float, default=1.0
        The paper's epsilon.
    delta : float, default=0.0
        Must be zero.
    schema : Schema, optional
        What is public.
    n_trees, max_depth, depth_rule, composition, max_leaves
        As in `privet.DisjointForestClassifier`; records are dealt to the trees in turn, in equal parts.
    sensitivity : {"smooth", "global"}, default="smooth"
        The paper's choice, or the global sensitivity of one that its Figure 4 compares with.
    empty : {"random", "silent"}, default="random"
        Leaves without records: a label by chance, as Algorithm 2 has it, or no vote, which the text does not offer
        and which tells exactly where there are none; the AUC that the paper reports for Adult asks for it.
    n_rows_hint, random_state, n_jobs
        As in `privet.DisjointForestClassifier`.

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
        n_trees: int = 100,
        max_depth: int | Auto = "auto",
        depth_rule: DepthRule = "table",
        composition: Sharing = "disjoint",
        sensitivity: Sensitivity = "smooth",
        max_leaves: int = MAX_LEAVES,
        empty: EmptyLeaves = "random",
        n_rows_hint: int | None = None,
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
        self.sensitivity = sensitivity
        self.max_leaves = max_leaves
        self.empty = empty
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> SmoothForest:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_choice("depth_rule", self.depth_rule, ("table", "printed"))
        check_choice("composition", self.composition, ("disjoint", "sequential"))
        check_choice("sensitivity", self.sensitivity, ("smooth", "global"))
        check_choice("empty", self.empty, ("random", "silent"))
        check_whole("max_leaves", self.max_leaves, 1, 1 << 22)
        return SmoothForest(
            int(self.n_trees),
            check_whole_or_auto("max_depth", self.max_depth, 1, 40),
            self.depth_rule,
            self.composition,
            self.sensitivity,
            int(self.max_leaves),
            empty=self.empty,
        )
