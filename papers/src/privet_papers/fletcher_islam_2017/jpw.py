"""JPW: random decision trees with noisy class counts (Jagannathan, Pillaipakkamnatt, Wright 2012).

Rebuilt from the papers that cite it: all records in each of ten random trees, an attribute at most once on a path,
Laplace noise on every class count of every leaf, and the average of the trees' class shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts
from privet.parameters import Auto, check_whole, check_whole_or_auto
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.random_trees import RandomTrees, with_own_leaves

FINE_GRID = 255
MAX_LEAVES = 65_536
DEEPEST = 40


@dataclass(frozen=True)
class JPWPlan(InSequence):
    """Class counts in the leaves of all trees at once."""

    depth: int
    leaves: Event


@dataclass(frozen=True)
class JPWForest:
    """The learner: random multi-way trees, noisy class counts in every leaf."""

    n_trees: int = 10
    max_depth: int | None = None
    max_leaves: int = MAX_LEAVES
    bins: int = FINE_GRID

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> JPWPlan:
        """Spend everything on the leaf counts of all trees at once.

        A record adds one to one class count in one leaf of each tree: sensitivity T in L1, T in squared L2.
        """
        name = f"class counts in the leaves of {self.n_trees} trees"
        leaves = terms.noise(name, share, l1=self.n_trees, l2_squared=self.n_trees, largest=1)
        leaves = terms.sharpened(leaves, share)  # nothing else is charged
        depth = self.max_depth or jpw_depth(encoding, hints.n_rows)
        return JPWPlan(depth, leaves)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: JPWPlan) -> Forest:
        """Draw the trees, count, add noise."""
        encoding = table.encoding
        random = RandomTrees.draw(encoding, derive_seed(rng), self.n_trees, plan.depth, "multiway", self.max_leaves)
        trees = with_own_leaves(random)
        counts = table.aggregate(LeafClassCounts(trees, encoding.n_classes))
        return Forest(encoding, trees, LeafCounts(release.noisy(counts, plan.leaves)), "threshold")


def jpw_depth(encoding: Encoding, n_rows: int | None) -> int:
    """Return min(m/2, log_b(n) - 1), b the mean domain size (2 for a threshold) and n a public hint; at least 1."""
    sizes = [2 if column.ordered else column.n_codes for column in encoding.columns]
    depth = encoding.n_features // 2
    base = sum(sizes) / len(sizes)
    if n_rows is not None and base > 1:
        depth = min(depth, math.floor(math.log(n_rows, base) - 1))
    return min(max(depth, 1), DEEPEST)


class JPWForestClassifier(PrivateClassifier):
    """Random trees with noisy class counts: a baseline of Fletcher and Islam (2017).

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy.
    delta : float, default=0.0
        Zero for discrete Laplace noise, else discrete Gaussian noise.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    n_trees : int, default=10
        Number of trees.
    max_depth : int or "auto", default="auto"
        *auto*: min(m/2, log_b(n) - 1) for m features with b values on average, n being `n_rows_hint`; without the
        hint m/2.
    max_leaves : int, default=65536
        The leaves of a larger tree share this many buckets, by a public hash of the path.
    n_rows_hint : int, optional
        A public guess at the number of records.
    random_state : int, RandomState, Generator or None
        Seeds the shape of the trees, which is public. Noise never depends on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Notes
    -----
    *Privacy.* As `privet.RandomDecisionForestClassifier`: every leaf id of every tree has noisy counts, whether or not
    a record reached it.

    What the original left open: a continuous feature splits at a uniform point of its current public range; a leaf
    where no count is positive takes the shares of the smallest subtree around it that has any.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, Schema
    >>> from privet_papers.fletcher_islam_2017.jpw import JPWForestClassifier
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 5000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> JPWForestClassifier(schema=schema, max_depth=3, random_state=0).fit(X, y).predict([[0.02], [0.98]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 10,
        max_depth: int | Auto = "auto",
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
        self.max_leaves = max_leaves
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> JPWForest:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_whole("max_leaves", self.max_leaves, 1, 1 << 22)
        return JPWForest(
            int(self.n_trees), check_whole_or_auto("max_depth", self.max_depth, 1, DEEPEST), int(self.max_leaves)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # few features make trees of one level, which hardly learn anything
        return tags
