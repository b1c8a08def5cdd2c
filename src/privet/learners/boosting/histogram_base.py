"""An additive model from class histograms: how often each class occurs in each group of each feature, and no more.

What a naive Bayes classifier needs. A record is in one group of each feature, so all histograms together cost as much
as there are features; products of columns, which `privet.learners.boosting.regression_base` measures, cost the square
of that. For many classes, each of which has sums of its own, this is the better base where noise is what limits
accuracy.
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
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table

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
    *Privacy.* A record adds one to one count of each feature.
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
    """The one release of a base of class histograms."""

    base: HistogramBase
    counts: Event

    @property
    def events(self) -> tuple[Event, ...]:
        """The one release."""
        return (self.counts,)


@dataclass(frozen=True)
class HistogramBase:
    """Plans and runs the one release of the base, for more than two classes.

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
    *Privacy.* A record adds one to one count of each feature that is measured: L1 and squared L2 sensitivity are the
    number of these features. Which they are is drawn from public randomness. The rest is post-processing.
    """

    n_rows: int
    n_features: int | None = None
    groups: int = 4

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> HistogramPlan:
        """Plan noise on the counts."""
        d = max(self._measured(encoding.n_features), 1)
        return HistogramPlan(self, terms.noise("base: class histograms", share, l1=d, l2_squared=d))

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
        n_classes, n_features, offsets = table.encoding.n_classes, grid.domains.n_features, grid.cells.offsets
        group, feature_of = groups_of(grid, self.groups)
        measured = np.sort(rng.permutation(n_features)[: self._measured(n_features)])
        rows = np.isin(feature_of, measured)
        counts = table.aggregate(GroupCounts(offsets, group, feature_of.size, n_classes))
        noisy = release.noisy(counts[rows], plan.counts).astype(np.float64)
        shares, effects, spread = self._effects(noisy, feature_of[rows], plan.counts.deviation)
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
        return self.plan(encoding, terms, share).counts.deviation ** 2 / max(self._measured(encoding.n_features), 1)

    def _effects(self, counts: Floats, feature_of: IntArray, noise: float) -> tuple[Floats, Floats, Floats]:
        """Return the classes' shares, what each group adds to the scores, and the deviation that noise gives to that.

        With N a group's size, q the shares and c its count of a class, ``c - N q`` is what it has too many; divided by
        N and a penalty, and added up over features, this is a linear discriminant for independent features.
        """
        n_classes, variance = counts.shape[1], noise**2
        n_measured = max(np.unique(feature_of).size, 1)
        even = self.n_rows / np.bincount(feature_of)[feature_of]
        sizes = np.maximum(drawn_towards(counts.sum(axis=1), even, n_classes * variance), 0.0)
        of_class = counts.sum(axis=0) / n_measured  # every feature counts all records once
        shares = shares_of(of_class, len(counts) * variance / n_measured**2, self.n_rows)
        penalty = max(NOISE_PENALTY * noise * math.sqrt(len(counts)), 1.0)
        divisor = sizes + penalty
        slope = min(SLOPE_OF_ONE_FEATURE / math.sqrt(n_measured), LARGEST_SLOPE)
        effects = slope * _centred((counts - np.outer(sizes, shares)) / divisor[:, np.newaxis])
        spread = slope * noise * math.sqrt(1 - 1 / n_classes) / divisor
        return shares, effects, spread

    def _measured(self, n_features: int) -> int:
        return n_features if self.n_features is None else min(self.n_features, n_features)

    def __str__(self) -> str:
        of = "all features" if self.n_features is None else f"{self.n_features} features"
        return f"class histograms of {of}, {self.groups} groups of each numeric one"


def groups_of(grid: CellGrid, most: int) -> tuple[IntArray, IntArray]:
    """Return the group of each cell, and the feature of each group; a numeric feature has at most this many groups."""
    group, feature_of = list[IntArray](), list[int]()
    for feature, n_cells in enumerate(grid.domains.n_codes.tolist()):
        cells = np.arange(n_cells)
        if grid.domains.ordered[feature]:
            present = int(grid.domains.n_cells[feature])
            n_groups = min(most, present)
            cells = np.where(cells < present, cells * n_groups // present, n_groups)  # the missing cell is the last
        group.append(len(feature_of) + cells)
        feature_of += [feature] * (int(cells.max()) + 1)
    return np.concatenate(group), np.array(feature_of, dtype=np.int64)


def _centred(scores: Floats) -> Floats:
    centred: Floats = scores - scores.mean(axis=-1, keepdims=True)
    return centred
