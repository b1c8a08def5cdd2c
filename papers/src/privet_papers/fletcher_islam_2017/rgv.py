"""RGV (Rana, Gupta, Venkatesh 2015): many greedy trees, each with the whole budget. Not private as claimed here.

Its authors weaken the definition: values of features are protected, presence in the data is not. Each tree spends the
whole epsilon, and a forest of hundreds of trees is claimed to cost no more. Under the usual definition costs add up,
and T trees cost T epsilon.

The number of trees comes from formulas that we do not have; the paper that compares with it reports 110 to 1385. It is
a parameter here. Trees are those of FS with the Gini score, each on a random half of the features, a public choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts
from privet.parameters import check_whole
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, unproven
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels.count import LeafClassCounts
from privet_papers.fletcher_islam_2017.multiway_growth import Criterion, MultiwayGrowth, grow_with_noisy_stop
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon

FLAW = "every tree spends the whole epsilon: T trees cost T times as much; only values are protected, not presence"
COARSE_GRID = 32


@dataclass(frozen=True)
class RGVPlan(InSequence):
    """For each tree the counts and choices of its levels, and its leaves."""

    criterion: Criterion
    trees: tuple[tuple[tuple[tuple[Event, Event], ...], Event], ...]


@dataclass(frozen=True)
class RGVForest:
    """The learner: trees as FS grows them, each at the full epsilon."""

    n_trees: int = 110
    max_depth: int = 5
    bins: int = COARSE_GRID

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> RGVPlan:
        """Plan every tree as if it were the only one."""
        criterion = Criterion.named("gini", encoding.n_classes, 0)
        part = Share(pure_epsilon(share) / (2 * (self.max_depth + 1)))
        trees = []
        for tree in range(self.n_trees):
            levels = tuple(
                (
                    _unproven(terms.noise(f"tree {tree}: counts of level {level}", part)),
                    _unproven(terms.choice(f"tree {tree}: splits of level {level}", part, score_range=criterion.range)),
                )
                for level in range(self.max_depth)
            )
            trees.append((levels, _unproven(terms.noise(f"tree {tree}: class counts in the leaves", part * 2))))
        return RGVPlan(criterion, tuple(trees))

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: RGVPlan) -> Forest:
        """Grow one tree after the other on all records."""
        encoding = table.encoding
        trees, values = [], []
        for levels, leaves in plan.trees:
            features = rng.permutation(encoding.n_features)[: (encoding.n_features + 1) // 2].tolist()
            growth = MultiwayGrowth(table, plan.criterion, features)
            trees.append(grow_with_noisy_stop(growth, release, levels))
            counts = table.aggregate(LeafClassCounts(trees[-1], encoding.n_classes))
            values.append(release.noisy(counts, leaves))
        return Forest(encoding, ExplicitTrees.join(trees), LeafCounts(np.concatenate(values)), "threshold")


def _unproven(event: Event) -> Event:
    return unproven(event.name, event.mechanism, event.parameter, FLAW)


class RGVForestClassifier(PrintedClassifier):
    """Rana, Gupta and Venkatesh's forest: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon : float, default=1.0
        What each tree spends.
    delta : float, default=0.0
        Must be zero.
    schema : Schema, optional
        What is public.
    n_trees : int, default=110
        Number of trees.
    max_depth : int, default=5
        The most levels of splits.
    n_rows_hint, random_state, n_jobs
        As everywhere; `random_state` seeds the choice of features.

    Notes
    -----
    *Privacy.* None under the usual definition: the ledger says so, and why; `fit` warns.
    """

    _flaw = FLAW

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 110,
        max_depth: int = 5,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> RGVForest:
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_whole("max_depth", self.max_depth, 1, 20)
        return RGVForest(int(self.n_trees), int(self.max_depth))
