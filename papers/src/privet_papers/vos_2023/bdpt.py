"""BDPT (Guan et al. 2020) as far as it is known: smooth sensitivity, candidates taken from the data. Not private.

Numeric features become categories by merging every five neighbouring distinct values *of the data*. Half of the budget
goes to splits, equally over levels, by the exponential mechanism on average Gini with a sensitivity that depends on
the number of records in the node. Half goes to noisy class counts, growing with depth by 2^(1/3) a level; a tree of
fixed depth uses the last part. We know the original from papers that compare with it; where they leave something open,
the plainest reading was taken: one category against the rest, no stop.

What a split does with merged values has two readings. Vos et al. take a group of them for one more category, split off
from the rest: a feature with thousands of values then has hundreds of categories of a few records each, and nothing is
learned. With thresholds between groups the tree learns; that is the better reading, and not the paper's.

Two flaws: candidates show which values occur, and the scale of the selection shows how many records there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts
from privet.parameters import check_choice, check_whole
from privet.privacy.events import Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, friendly_rate_down, friendly_scale_up, unproven
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.candidates import Candidates, Walk
from privet.trees.greedy import GreedyGrowth
from privet.trees.quantiles import CodeCounts
from privet.trees.structure import FeatureCodes
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon
from privet_papers.vos_2023.one_against_rest import STEPS, average_gini, one_against_rest

FLAW = "candidates are merged values of the data, and the scale of the selection depends on the number of records"
Splits = Literal["categories", "thresholds"]


@dataclass(frozen=True)
class BDPTPlan(InSequence):
    """Counts in the leaves; what a level spends scales its choices, which depend on the data."""

    level: Fraction
    leaves: Event


@dataclass(frozen=True)
class PrintedBDPT:
    """The learner: splits by the exponential mechanism with a smooth sensitivity, Laplace counts in the leaves."""

    max_depth: int = 4
    merged: int = 5
    splits: Splits = "categories"

    @property
    def bins(self) -> int:
        """A fine grid in place of the distinct values; thresholds need no finer one than other trees."""
        return 4096 if self.splits == "categories" else 255

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> BDPTPlan:
        """Half for the splits, equally over levels; half for counts, the largest part of it at the leaves' depth."""
        epsilon = pure_epsilon(share)
        weights = [2 ** (level / 3) for level in range(self.max_depth + 1)]
        leaves = epsilon / 2 * Fraction(weights[-1] / sum(weights)).limit_denominator(10**6)
        counts = unproven("class counts in the leaves", Mechanism.LAPLACE, friendly_scale_up(1 / leaves), FLAW)
        return BDPTPlan(epsilon / (2 * self.max_depth), counts)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: BDPTPlan) -> Forest:
        """Merge values, split level by level, count."""
        domains = FeatureCodes.of(table.encoding)
        cuts = _merged_cuts(domains, table.aggregate(CodeCounts(tuple(domains.n_codes.tolist()))), self.merged)
        as_categories = self.splits == "categories"
        candidates = _group_against_rest(domains, cuts) if as_categories else one_against_rest(domains, cuts)
        growth = GreedyGrowth(table, candidates)
        for level in range(self.max_depth if len(candidates) else 0):
            scores = average_gini(growth)
            sizes = growth.leaf_counts.sum(axis=1)
            events = [_selection(level, plan.level, int(size)) for size in sizes]
            growth.split(_choose_each(release, scores, events))
        trees = replace(growth.finish(), domains=domains)
        counts = LeafCounts(release.noisy(growth.leaf_counts, plan.leaves))
        return Forest(table.encoding, trees, counts, "threshold")


def _merged_cuts(domains: FeatureCodes, by_code: NDArray[np.int64], merged: int) -> dict[int, list[int]]:
    """Return the cuts after every so many distinct values that occur in the data."""
    offsets = np.concatenate([[0], np.cumsum(domains.n_codes)])
    cuts = {}
    for feature in np.flatnonzero(domains.ordered).tolist():
        cells = by_code[offsets[feature] : offsets[feature] + domains.n_cells[feature]]
        present = np.flatnonzero(cells)
        cuts[feature] = [cut for cut in present[merged - 1 :: merged].tolist() if cut < cells.size - 1]
    return cuts


def _group_against_rest(domains: FeatureCodes, cuts: Mapping[int, Sequence[int]]) -> Candidates:
    """List every category, and every group of merged values, against the rest."""
    walks: list[Walk] = []
    for feature in domains.splittable.tolist():
        last = int(domains.n_codes[feature]) - 1
        ends = [*cuts[feature], last] if domains.ordered[feature] else range(last + 1)
        begins = [0, *(end + 1 for end in ends)]
        for begin, end in zip(begins, ends, strict=False):
            walks.append(Walk(feature, tuple(range(begin, end + 1)), (end - begin,)))
    unordered = replace(domains, ordered=np.zeros_like(domains.ordered))  # so that splits are sets of codes
    return Candidates(unordered, tuple(walks), ())


def _selection(level: int, epsilon: Fraction, n_records: int) -> Event:
    """Plan a selection with the smooth sensitivity of the average Gini impurity of so many records."""
    sensitivity = smooth_sensitivity(float(epsilon), n_records)
    rate = friendly_rate_down(epsilon / (2 * Fraction(sensitivity).limit_denominator(10**9) * STEPS))
    return unproven(f"splits of level {level + 1}", Mechanism.EXPONENTIAL, rate, FLAW)


def smooth_sensitivity(epsilon: float, n_records: int) -> float:
    """Return max over k of e^(-k epsilon) s(n - k), with s(n) = 2 n / (n + 1)^2 the change that one record can make."""
    steps = range(min(n_records, math.ceil(50 / epsilon)))
    return max((math.exp(-k * epsilon) * 2 * (n_records - k) / (n_records - k + 1) ** 2 for k in steps), default=0.5)


def _choose_each(release: Release, scores: NDArray[np.int64], events: Sequence[Event]) -> NDArray[np.int64]:
    winners = [release.choose(row[np.newaxis], event) for row, event in zip(scores, events, strict=True)]
    return np.concatenate(winners)


class BDPTClassifier(PrintedClassifier):
    """BDPT as printed: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon, delta, schema, max_depth, n_rows_hint, random_state, n_jobs
        As in `privet.PrivaTreeClassifier`; delta must be zero.
    merged : int, default=5
        How many neighbouring distinct values of the data make one category.
    splits : {"categories", "thresholds"}, default="categories"
        Whether a group of merged values is split off from the rest, as Vos et al. read it, or thresholds lie between
        groups, which serves BDPT far better.

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
        merged: int = 5,
        splits: Splits = "categories",
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.merged = merged
        self.splits = splits
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> PrintedBDPT:
        check_whole("max_depth", self.max_depth, 1, 12)
        check_whole("merged", self.merged, 1, 10_000)
        check_choice("splits", self.splits, ("categories", "thresholds"))
        return PrintedBDPT(int(self.max_depth), int(self.merged), self.splits)
