"""Random decision forests where only labels are private.

Thresholds are drawn among exact quantiles of the features in place of their public range, so that long tails do not
leave most leaves empty; how many records reach a leaf is known; and only what labels add to it is noised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.learners.random_decision_forest.shape import ForestShape
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.tables.features import FeatureView
from privet.tables.protocol import Table
from privet.trees.complete_trees import CompleteTrees
from privet.trees.exact_quantiles import exact_cuts
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.label_leaves import LabelLeavesPlan
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes

N_CELLS = 64  # of a feature, among whose ends thresholds are drawn


@dataclass(frozen=True)
class LabelForestPlan(InSequence):
    """Two free releases, one of what labels add to the leaves, and perhaps a choice of weights for the classes."""

    shape: ForestShape
    cuts: Event
    totals: Event
    leaves: Event
    weights: tuple[Event, ...] = ()
    one_pass: bool = False

    @property
    def of_leaves(self) -> LabelLeavesPlan:
        """The two releases of the leaves."""
        return LabelLeavesPlan(self.totals, self.leaves)


def trees_at_quantiles(view: FeatureView, release: Release, seed: int, plan: LabelForestPlan) -> CompleteTrees:
    """Draw the trees: random features, and thresholds that are random in rank."""
    cuts, domains = exact_cuts(view, release, plan.cuts, N_CELLS), FeatureCodes.of(view.encoding)
    n_cells, n_codes, missing = (part.copy() for part in (domains.n_cells, domains.n_codes, domains.missing))
    for feature, ends in cuts.items():
        n_cells[feature] = len(ends) + 1
        n_codes[feature] = n_cells[feature] + (domains.missing[feature] >= 0)
        missing[feature] = n_cells[feature] if domains.missing[feature] >= 0 else -1
    ranks = replace(domains, n_cells=n_cells, n_codes=n_codes, missing=missing)
    drawn = RandomTrees(ranks, seed, plan.shape.n_trees, plan.shape.max_depth).materialise()
    assert isinstance(drawn, CompleteTrees)
    splits, cut = drawn.splits, drawn.splits.cut.copy()
    for feature, ends in cuts.items():
        here = (splits.feature == feature) & (splits.set_index < 0)
        cut[here] = np.array(ends or [0], np.int64)[cut[here]]
    return CompleteTrees(domains, replace(splits, cut=cut))


def labelled_counts(
    table: Table, view: FeatureView, release: Release, trees: CompleteTrees, plan: LabelForestPlan
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Release what is known of the leaves, and return the best guess at their class counts."""
    counts = table.aggregate(LeafClassCounts(trees, table.encoding.n_classes))
    return plan.of_leaves.run(view, release, trees, counts).smoothed_counts(trees.n_trees)
