"""An additive model from class histograms: how often each class occurs in each group of each feature, and no more.

What a naive Bayes classifier needs. A record is in one group of each feature, so all histograms together cost as much
as there are features; products of columns, which `privet.learners.boosting.regression_base` measures, cost the square
of that. For many classes, each of which has sums of its own, this is the better base where noise is what limits
accuracy.

Under pure epsilon the counts of each class are noised by themselves: classes are disjoint, and within one a record
changes one count of each feature, which is what cube noise is for (`privet.learners.boosting.grouped_noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point
from privet.learners.boosting.class_shares import drawn_towards, log_shares, shares_of
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.grouped_noise import plan_by_class, released_by_class, variance_of_groups
from privet.learners.boosting.measured_features import features_of_sizes, spread_sizes
from privet.mechanisms.release import Release
from privet.privacy.events import Event, Parallel
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table
from privet.trees.structure import FeatureCodes

NOISE_PENALTY = 0.7  # in units of the size that the noise of all groups together has
SLOPE_OF_ONE_FEATURE = 10.0  # over the root of their number, since features are not independent,
LARGEST_SLOPE = 3.5  # and at most this


@compiled
def _count(cells: NDArray[Any], offsets: IntArray, group: IntArray, label: IntArray, counts: IntArray) -> None:
    for row in range(cells.shape[0]):
        for feature in range(cells.shape[1]):
            counts[group[offsets[feature] + np.int64(cells[row, feature])], label[row]] += 1


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Count the records of each class in each group of cells.

    Parameters
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    group : int64 array
        The group of each cell, numbered through all features.
    n_groups, n_classes : int
        How many groups and classes there are.

    Notes
    -----
    *Privacy.* A record adds one to one count of each feature, all of them in the column of its class.
    """

    offsets: IntArray
    group: IntArray
    n_groups: int
    n_classes: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (n_groups, n_classes)."""
        label = np.clip(block.target.astype(np.int64), 0, self.n_classes - 1)
        counts = np.zeros((self.n_groups, self.n_classes), np.int64)
        _count(block.state[CELL_STATE], self.offsets, self.group, label, counts)
        return counts


@dataclass(frozen=True)
class HistogramPlan:
    """The release of a base of class histograms.

    Attributes
    ----------
    base : HistogramBase
        What is planned.
    sizes : tuple of int
        How many groups the features have that are measured, one after the other.
    counts : tuple of Event
        The noise of each class under pure epsilon, of all of them together otherwise.
    """

    base: HistogramBase
    sizes: tuple[int, ...]
    counts: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event | Parallel]:
        """The one release, or the classes' releases, which see disjoint records."""
        return (self.counts[0] if len(self.counts) == 1 else Parallel(self.counts),)

    @property
    def deviations(self) -> Floats:
        """The standard deviation of the noise in each group, the same for all classes."""
        return np.array(self.counts[0].deviations(sum(self.sizes)))


@dataclass(frozen=True)
class HistogramBase:
    """Plans and runs the release of the base, for more than two classes.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records: noisy sizes of groups and classes are drawn towards what so many
        records would give if all were equally frequent.
    n_features : int, optional
        How many features are measured, a public random choice among all; default all. Noise of pure epsilon grows with
        their number, the signal of all of them with its root at best.
    groups : int
        Into how many groups a numeric feature's cells are put.

    Notes
    -----
    *Privacy.* A record adds one to one count of each feature that is measured: the squared L2 sensitivity is the number
    of these features. For pure epsilon the counts of a class are a release of their own, and within its class a record
    changes the counts of each feature by one in L1: what `plan_by_class` pays for. How many groups the features have
    that are measured is public, and which features they are is drawn from public randomness. The rest is
    post-processing.
    """

    n_rows: int
    n_features: int | None = None
    groups: int = 4

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> HistogramPlan:
        """Plan noise on the counts."""
        name, sizes = "base: class histograms", self._sizes_measured(encoding)
        if share is None or share.epsilon is None:
            return HistogramPlan(self, sizes, (terms.noise(name, share, l2_squared=len(sizes)),))
        return HistogramPlan(self, sizes, plan_by_class(terms, name, share.epsilon, sizes, encoding.n_classes))

    def run(
        self,
        table: Table,
        release: Release,
        plan: HistogramPlan,
        grid: CellGrid,
        start: BaseTables,
        rng: PublicRng,
    ) -> BaseTables:
        """Release the histograms, and make tables of them."""
        n_classes, offsets = table.encoding.n_classes, grid.cells.offsets
        sizes = self._sizes(table.encoding)
        group, feature_of = groups_of(grid, sizes)
        measured = features_of_sizes(plan.sizes, sizes, rng.permutation(len(sizes)))
        rows = np.concatenate([np.flatnonzero(feature_of == feature) for feature in measured])
        counts = table.aggregate(GroupCounts(offsets, group, feature_of.size, n_classes))
        noisy = _released(counts[rows], release, plan).astype(np.float64)
        shares, effects, spread = self._effects(noisy, feature_of[rows], plan.deviations)
        tables, noise = np.zeros((feature_of.size, start.start.size)), np.zeros(feature_of.size)
        tables[rows], noise[rows] = effects, spread
        return replace(
            start,
            start=in_fixed_point(log_shares(shares)),
            tables=in_fixed_point(tables)[group],
            noise=noise[group],
            n_records=float(self.n_rows),
            frequencies=shares,
        )

    def noise_for_each_feature(self, encoding: Encoding, terms: Terms, share: Share | None) -> float:
        """Return the variance of the noise over the number of features, whose effects add up faster than it."""
        plan = self.plan(encoding, terms, share)
        return variance_of_groups(plan.counts[0], plan.sizes) / len(plan.sizes)

    def _effects(self, counts: Floats, feature_of: IntArray, noise: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the classes' shares, what each group adds to the scores, and the deviation that noise gives to that.

        With N a group's size, q the shares and c its count of a class, ``c - N q`` is what it has too many; divided by
        N and a penalty, and added up over features, this is a linear discriminant for independent features.
        """
        n_classes, variance = counts.shape[1], noise**2
        n_measured = max(np.unique(feature_of).size, 1)
        even = self.n_rows / np.bincount(feature_of)[feature_of]
        sizes = np.maximum(drawn_towards(counts.sum(axis=1), even, n_classes * variance), 0.0)
        of_class = counts.sum(axis=0) / n_measured  # every feature counts all records once
        shares = shares_of(of_class, math.fsum(variance) / n_measured**2, self.n_rows)
        penalty = max(NOISE_PENALTY * math.sqrt(math.fsum(variance)), 1.0)
        divisor = sizes + penalty
        slope = min(SLOPE_OF_ONE_FEATURE / math.sqrt(n_measured), LARGEST_SLOPE)
        effects = slope * _centred((counts - np.outer(sizes, shares)) / divisor[:, np.newaxis])
        spread = slope * noise * math.sqrt(1 - 1 / n_classes) / divisor
        return shares, effects, spread

    def _sizes(self, encoding: Encoding) -> tuple[int, ...]:
        """Return how many groups each feature has."""
        domains = FeatureCodes.of(encoding)
        missing = domains.n_codes - domains.n_cells
        numeric = np.minimum(domains.n_cells, self.groups) + missing
        return tuple(np.where(domains.ordered, numeric, domains.n_codes).tolist())

    def _sizes_measured(self, encoding: Encoding) -> tuple[int, ...]:
        """Return how many groups the features have that are measured: all, or so many spread evenly by that."""
        sizes = self._sizes(encoding)
        return spread_sizes(sizes, self._measured(len(sizes)))

    def _measured(self, n_features: int) -> int:
        return n_features if self.n_features is None else min(max(self.n_features, 1), n_features)

    def __str__(self) -> str:
        of = "all features" if self.n_features is None else f"{self.n_features} features"
        return f"class histograms of {of}, {self.groups} groups of each numeric one"


def groups_of(grid: CellGrid, sizes: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the group of each cell, and the feature of each group; features have so many groups.

    A group has no cells where quantiles have left fewer of them than were planned for.
    """
    group, feature_of = list[IntArray](), list[int]()
    for feature, n_groups in enumerate(sizes):
        cells, present = np.arange(int(grid.domains.n_codes[feature])), int(grid.domains.n_cells[feature])
        if grid.domains.ordered[feature]:
            for_present = n_groups - (cells.size - present)
            cells = np.where(cells < present, cells * for_present // present, for_present)  # the missing cell is last
        group.append(len(feature_of) + cells)
        feature_of += [feature] * n_groups
    return np.concatenate(group), np.array(feature_of, dtype=np.int64)


def _released(counts: IntArray, release: Release, plan: HistogramPlan) -> IntArray:
    """Release counts of shape (n_groups, n_classes), with the noise that is planned."""
    if len(plan.counts) == 1:
        return release.noisy(counts, plan.counts[0])
    return released_by_class(counts.T, release, plan.counts).T


def _centred(scores: Floats) -> Floats:
    centred: Floats = scores - scores.mean(axis=-1, keepdims=True)
    return centred
