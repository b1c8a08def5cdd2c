"""DPGDF (Xin et al. 2019) as printed: labels by smooth sensitivity inside the exponential mechanism. Not private.

As `privet_papers.vos_2023.dpgdf`, but for the leaves: the most frequent class scores 1, all others 0, divided by
e^(-j epsilon) with j the margin of the leaf. The scale depends on the data, and no finite epsilon holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_whole
from privet.privacy.events import Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, unproven
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.structure import FeatureCodes
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon
from privet_papers.framework.smooth_sensitivity import FLAW, RATE, top_scores
from privet_papers.vos_2023.one_against_rest import PRINTED_RANGE, grow_one_against_rest, one_against_rest


@dataclass(frozen=True)
class PrintedDPGDFPlan(InSequence):
    """A choice a level; then labels, scaled by an epsilon of their own."""

    epsilon: float
    levels: tuple[Event, ...]
    leaves: Event


@dataclass(frozen=True)
class PrintedDPGDF:
    """The learner: splits by average Gini, labels by the smooth-sensitivity rule."""

    max_depth: int = 4
    bins: int = 32

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PrintedDPGDFPlan:
        """Half for the splits, equally over levels; half for the labels, whose proof does not hold."""
        epsilon = pure_epsilon(share)
        depth = self.max_depth if len(one_against_rest(FeatureCodes.of(encoding))) else 0
        level = Share(epsilon / (2 * max(depth, 1)))
        levels = tuple(terms.choice(f"splits of level {i + 1}", level, score_range=PRINTED_RANGE) for i in range(depth))
        labels = unproven("labels of the leaves", Mechanism.EXPONENTIAL, RATE, FLAW)
        return PrintedDPGDFPlan(float(epsilon / 2), levels, labels)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PrintedDPGDFPlan) -> Forest:
        """Split level by level, then label by the printed rule."""
        growth = grow_one_against_rest(table, release, plan.levels, one_against_rest(FeatureCodes.of(table.encoding)))
        labels = release.choose(top_scores(growth.leaf_counts, plan.epsilon), plan.leaves)
        return Forest(table.encoding, growth.finish(), LeafLabels(labels.astype(np.uint16)))


class DPGDFClassifier(PrintedClassifier):
    """DPGDF as printed: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon, delta, schema, max_depth, n_rows_hint, random_state, n_jobs
        As in `privet_papers.vos_2023.dpgdf.DPGDFTreeClassifier`; delta must be zero.

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
        max_depth: int = 4,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> PrintedDPGDF:
        check_whole("max_depth", self.max_depth, 1, 12)
        return PrintedDPGDF(int(self.max_depth))
