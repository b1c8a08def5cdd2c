"""Fletcher and Islam (2017) exactly as printed: labels by the exponential mechanism with "smooth sensitivity".

Theorem 1 scores the most frequent class 1 and all others 0, and divides by the smooth sensitivity e^(-j epsilon), j
being the margin between the two largest counts. Smooth sensitivity is a theorem about additive noise of certain laws;
here the scale itself depends on the data and multiplies the score, so that going from margin j to j + 1 multiplies the
log-odds by e^epsilon. At epsilon = 1 the loss is 2.131, 6.324 and 17.26 at j = 1, 2 and 3, and no finite epsilon
holds. The parts of the data are of equal size, so that one record more moves many others.

`privet.DisjointForestClassifier` is the sound form.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from privet.base import PrivateClassifier
from privet.encoding import Encoding
from privet.errors import ParameterError, UnsoundWarning
from privet.events import Mechanism, Plan
from privet.kernels import LeafClassCounts
from privet.learning import Hints
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_choice, check_whole
from privet.planning.fletcher import DepthRule, fletcher_depth
from privet.randomness import PublicRng, derive_seed
from privet.release import Release
from privet.schema import Schema
from privet.structure import RandomTrees
from privet.structure.own_leaves import with_own_leaves
from privet.tables import Block, Table
from privet.terms import Share, Terms, unproven

Composition = Literal["disjoint", "sequential"]
Sensitivity = Literal["smooth", "global"]

FLAW = "smooth sensitivity in the exponential mechanism: the scale depends on the data, and no finite epsilon holds"
EQUAL_PARTS = "records are dealt to trees in turn: one record more moves all that follow to other trees"
FINE_GRID = 255
MAX_LEAVES = 65_536
_STEP_BITS = 32
_MOST_SCORE = float(1 << 60)  # stands for all that is larger: a probability of e^-(2^28) is not to be told from zero


@dataclass(frozen=True)
class DealInTurn:
    """Kernel: equal parts, the records dealt to the trees one after the other."""

    n_parts: int

    def __call__(self, block: Block) -> NDArray[np.int32]:
        return (block.rows % np.uint64(self.n_parts)).astype(np.int32)


@dataclass(frozen=True)
class SmoothForest:
    """The learner: random multi-way trees on equal parts of the data, labels by the printed rule."""

    n_trees: int
    max_depth: int | None = None
    depth_rule: DepthRule = "table"
    composition: Composition = "disjoint"
    sensitivity: Sensitivity = "smooth"
    max_leaves: int = MAX_LEAVES
    bins: int = FINE_GRID

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Plan the labels as printed; nothing is proven."""
        if share is None or share.epsilon is None:
            raise ParameterError("the printed algorithm is for pure epsilon: set epsilon, and leave delta at 0")
        flaw = FLAW if self.sensitivity == "smooth" else EQUAL_PARTS
        labels = unproven(
            f"labels in the leaves of {self.n_trees} trees", Mechanism.EXPONENTIAL, Fraction(1, 2**_STEP_BITS), flaw
        )
        part = share.epsilon / (1 if self.composition == "disjoint" else self.n_trees)
        return Plan.in_sequence({"epsilon": part}, labels=labels)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> Forest:
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
        scores = self._scores(counts, float(cast(Fraction, plan.facts["epsilon"])))
        labels = release.choose(scores, plan["labels"])
        return Forest(encoding, trees, LeafLabels(labels.astype(np.uint16)))

    def _scores(self, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
        """Theorem 1 in the exponential mechanism: exp(epsilon u / (2 S)), u = 1 for the most frequent classes."""
        top = counts.max(axis=1, keepdims=True)
        is_top = counts == top
        exponent = np.full(len(counts), epsilon / 2)
        if self.sensitivity == "smooth":
            exponent *= np.exp(np.minimum(margins(counts, top, is_top) * epsilon, 600.0))
        scaled = np.minimum(exponent * 2.0**_STEP_BITS, _MOST_SCORE)
        return np.where(is_top, np.rint(scaled).astype(np.int64)[:, np.newaxis], 0)


def margins(counts: NDArray[np.int64], top: NDArray[np.int64], is_top: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return by how much the largest count exceeds the next, zero where two are largest; the paper's j."""
    if counts.shape[1] == 1:
        return top[:, 0]
    below = np.where(is_top, 0, counts).max(axis=1)
    return np.where(is_top.sum(axis=1) > 1, 0, top[:, 0] - below)


class SmoothForestClassifier(PrivateClassifier):
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
    n_rows_hint, random_state, n_jobs
        As in `privet.DisjointForestClassifier`.

    Notes
    -----
    *Privacy.* None: the ledger says so, and why; `fit` warns.
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 100,
        max_depth: int | None = None,
        depth_rule: DepthRule = "table",
        composition: Composition = "disjoint",
        sensitivity: Sensitivity = "smooth",
        max_leaves: int = MAX_LEAVES,
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
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, **unsupported: Any) -> Self:
        """Fit as printed, with a warning."""
        warnings.warn(f"{FLAW}; for comparison only", UnsoundWarning, stacklevel=2)
        return super().fit(X, y, **unsupported)

    def _learner(self) -> SmoothForest:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 1, 40)
        check_choice("depth_rule", self.depth_rule, ("table", "printed"))
        check_choice("composition", self.composition, ("disjoint", "sequential"))
        check_choice("sensitivity", self.sensitivity, ("smooth", "global"))
        check_whole("max_leaves", self.max_leaves, 1, 1 << 22)
        return SmoothForest(
            int(self.n_trees),
            None if self.max_depth is None else int(self.max_depth),
            self.depth_rule,
            self.composition,
            self.sensitivity,
            int(self.max_leaves),
        )
