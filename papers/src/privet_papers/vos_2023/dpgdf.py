"""DPGDF (Xin et al. 2019), made sound: one greedy tree on categorical features.

Half of the budget goes to splits, equally over levels: one category against the rest, by average Gini impurity. The
other half labels the leaves, here by permute-and-flip. The original labels them by smooth sensitivity inside the
exponential mechanism, which no finite epsilon covers; it is `privet_papers.DPGDFClassifier`. We know the original
from papers that compare with it; where they leave something open, the plainest reading was taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_whole
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.candidates import Candidates
from privet.trees.structure import FeatureCodes
from privet_papers.vos_2023.one_against_rest import RANGE, every_cut, grow_one_against_rest, one_against_rest

SEES = "the records of each node; nodes of one level are disjoint"


@dataclass(frozen=True)
class DPGDFPlan(InSequence):
    """A choice a level, then labels."""

    levels: tuple[Event, ...]
    leaves: Event


@dataclass(frozen=True)
class DPGDFTree:
    """The learner: splits by average Gini, labels by permute-and-flip."""

    max_depth: int = 4
    numeric: bool = True
    bins: int = 32

    def candidates(self, encoding: Encoding) -> Candidates:
        """Return the public list of splits."""
        domains = FeatureCodes.of(encoding)
        return one_against_rest(domains, every_cut(domains) if self.numeric else None)

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> DPGDFPlan:
        """Half of the budget for the splits, equally over levels; half for the labels."""
        depth = self.max_depth if len(self.candidates(encoding)) else 0
        level = None if share is None else share * Fraction(1, 2 * max(depth, 1))
        rest = None if share is None else share * (Fraction(1, 2) if depth else Fraction(1))
        levels = tuple(
            terms.choice(f"splits of level {i + 1}", level, score_range=RANGE, sees=SEES) for i in range(depth)
        )
        return DPGDFPlan(levels, terms.choice("labels of the leaves", rest, sees=SEES))

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: DPGDFPlan) -> Forest:
        """Split level by level, then label."""
        growth = grow_one_against_rest(table, release, plan.levels, self.candidates(table.encoding))
        labels = release.choose(growth.leaf_counts, plan.leaves)
        return Forest(table.encoding, growth.finish(), LeafLabels(labels.astype(np.uint16)))


class DPGDFTreeClassifier(PrivateClassifier):
    """DPGDF's greedy tree on categorical features, with sound labels: a baseline.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy.
    delta : float, default=0.0
        Zero for pure epsilon, else the exponential mechanism and zero-concentrated composition.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    max_depth : int, default=4
        Number of levels of splits.
    numeric : bool, default=True
        Whether thresholds of numeric features are candidates too; the original knows categories only.
    n_rows_hint : int, optional
        Not used by this learner.
    random_state : int, RandomState, Generator or None
        Not used by this learner.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Notes
    -----
    *Privacy.* What one record changes of the average Gini impurities has a range of 1/2 over all candidates of a node
    (`privet_papers.vos_2023.one_against_rest.average_gini` has the proof); nodes of a level are disjoint. Labels are
    chosen on class counts, of range one. Costs add up over levels and labels.
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 4,
        numeric: bool = True,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.numeric = numeric
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> DPGDFTree:
        check_whole("max_depth", self.max_depth, 1, 12)
        return DPGDFTree(int(self.max_depth), bool(self.numeric))
