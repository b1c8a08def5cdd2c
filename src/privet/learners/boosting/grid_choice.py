"""Grids of two features: a tree whose features are chosen, and whose splits need no choice.

A choice among splits spends budget on where to cut, and brings one level of a tree for each selection. Where the cells
of a feature are known, by private quantiles or because they are categories, it can be cut into a few groups of them
without a look at any record. What is left to choose is which two features matter together, among no more candidates
than there are pairs. A grid of 8 by 8 groups then says of both all that 64 leaves can: leaves see disjoint records, so
that many of them cost no more than few, and what is mostly noise at the finer levels is shrunk away there
(`privet.learners.boosting.leaf_values`).

Both features are one choice where there is time for the sums of all pairs (`PairGrids`), and two otherwise, the second
of which knows the first (`group_scores`). Where groups begin is drawn from public randomness, new for each tree, and so
is the order of categories: the sum of many trees is smoother than any one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.pair_choice import PairSums
from privet.randomness.public import PublicRng
from privet.tables.protocol import IntArray, Table
from privet.trees.structure import FeatureCodes, Split, Subset, Threshold

MOST_TOGETHER = 24  # features that pairs are made of: some of many, others for each tree


@dataclass(frozen=True, eq=False)
class GroupedFeature:
    """A feature's cells in groups, which are halved again and again.

    Attributes
    ----------
    feature : int
        The feature.
    group : int64 array
        The group of each cell, that of missing values among them.
    n_groups : int
        A power of two. There may be groups without any cell.
    n_ordered : int
        How many cells are in order; zero for categories.
    missing : int
        The cell of missing values of an ordered feature, or -1.
    """

    feature: int
    group: IntArray
    n_groups: int
    n_ordered: int
    missing: int

    def halved(self, begin: int, end: int) -> Split:
        """Return the split that sends the upper half of these groups to the second child."""
        middle = (begin + end) // 2
        if not self.n_ordered:
            return Subset(self.feature, tuple(np.flatnonzero((middle <= self.group) & (self.group < end)).tolist()))
        last = int(np.searchsorted(self.group[: self.n_ordered], middle)) - 1
        return Threshold(self.feature, last, self.missing >= 0 and int(self.group[self.missing]) < middle)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which groups have a cell."""
        return np.bincount(self.group, minlength=self.n_groups) > 0


def grouped(domains: FeatureCodes, feature: int, n_groups: int, rng: PublicRng) -> GroupedFeature:
    """Return a feature's cells in groups of about equal numbers; where they begin is public randomness.

    Fewer cells than groups are spread over these, so that the first halvings part them. Missing values go with any of
    the groups.
    """
    n_codes, n_cells = int(domains.n_codes[feature]), int(domains.n_cells[feature])
    if not domains.ordered[feature]:
        group = np.zeros(n_codes, np.int64)
        group[rng.permutation(n_codes)] = np.arange(n_codes) * n_groups // n_codes
        return GroupedFeature(feature, group, n_groups, 0, -1)
    if n_cells <= n_groups:
        group = np.arange(n_codes) * n_groups // n_cells
    else:
        begins = n_cells / n_groups * (np.arange(1, n_groups) + rng.uniform(-0.5, 0.5))
        cuts = np.clip(np.rint(begins).astype(np.int64), 1, n_cells - 1)
        group = np.searchsorted(cuts, np.arange(n_codes), side="right")
    missing = int(domains.missing[feature])
    if missing >= 0:
        group[missing] = rng.integers(0, int(group[n_cells - 1]) + 1)
    return GroupedFeature(feature, group, n_groups, n_cells, missing)


def grouped_features(
    grid: CellGrid, levels: int, rng: PublicRng, but: Sequence[GroupedFeature] = ()
) -> tuple[GroupedFeature, ...]:
    """Return all features that can be split, each halved so often; without those that a tree has already."""
    known = {of.feature for of in but}
    every = (feature for feature in grid.domains.splittable.tolist() if feature not in known)
    return tuple(grouped(grid.domains, feature, 1 << levels, rng) for feature in every)


@dataclass(frozen=True, eq=False)
class Grid:
    """Levels of splits without a choice, as far as they are known before any sum of leaves.

    Attributes
    ----------
    levels : list of list of Split
        The splits of all nodes below one, level by level.
    possible : bool array
        Whether there are cells that lead to a leaf, for each of them.
    """

    levels: list[list[Split]]
    possible: NDArray[np.bool_]

    @classmethod
    def of(cls, *features: GroupedFeature) -> Self:
        """Halve one feature, or more of them in turns, until every group is by itself."""
        levels, nodes = list[list[Split]](), [tuple((0, of.n_groups) for of in features)]
        while any(end - begin > 1 for begin, end in nodes[0]):
            for place, of in enumerate(features):
                levels.append([of.halved(*node[place]) for node in nodes])
                nodes = [(*node[:place], half, *node[place + 1 :]) for node in nodes for half in _halves(*node[place])]
        filled = [of.filled for of in features]
        reached = [all(has[begin] for has, (begin, _) in zip(filled, node, strict=True)) for node in nodes]
        if len({of.feature for of in features}) < len(features):  # a feature with itself
            reached = [has and len(set(node)) == 1 for has, node in zip(reached, nodes, strict=True)]
        return cls(levels, np.array(reached))


@dataclass(frozen=True, eq=False)
class PairGrids:
    """The grids of every two features, each with itself as well: a public list, new for each tree.

    Notes
    -----
    *Privacy.* A candidate divides the records into the parts of its grid, and its score is the sum over the parts, and
    over the gradients, of ``|sum over the part's records|``. A record is in one part of every candidate, whose sums it
    moves by its gradient, so it moves every score by at most the gradient's L1 norm, up or down: the range is that of
    one split (`privet.learners.boosting.gradient_growth`), whatever the number of parts.
    """

    features: tuple[GroupedFeature, ...]
    n_scores: int

    @classmethod
    def of(cls, grid: CellGrid, levels: int, n_scores: int, rng: PublicRng) -> Self:
        """List the grids of all features, or of some of many."""
        every = grouped_features(grid, levels, rng)
        if len(every) > MOST_TOGETHER:
            every = tuple(every[place] for place in np.sort(rng.permutation(len(every))[:MOST_TOGETHER]).tolist())
        return cls(every, n_scores)

    def sums(self) -> PairSums:
        """Return the kernel that adds up what the scores are made of."""
        return PairSums.of(self.features, self.n_scores)

    def scores(self, table: Table) -> IntArray:
        """Return the score of every grid, in one row; exact and private. Records have cells and gradients."""
        n_parts = self.features[0].n_groups ** 2
        parts = np.abs(table.aggregate(self.sums())).reshape(-1, n_parts * self.n_scores)
        scores: IntArray = parts.sum(axis=1)[np.newaxis]
        return scores

    def grid(self, candidate: int) -> Grid:
        """Return the grid with this number; both features are halved in turns."""
        first, second = (self.features[int(at[candidate])] for at in np.triu_indices(len(self.features)))
        return Grid.of(first, second)


def group_scores(features: Sequence[GroupedFeature], sums: IntArray, offsets: IntArray) -> IntArray:
    """Return the score of every feature's groups at all nodes together, in one row; exact and private.

    *Privacy.* A score is the sum, over nodes, groups and gradients, of ``|sum over the records|``. A record is at one
    node, and there in one group of every feature: the range is that of `PairGrids`.

    Parameters
    ----------
    features : sequence of GroupedFeature
        The candidates.
    sums : int64 array of shape (number of nodes, total number of cells, n_scores)
        Of the records' gradients.
    offsets : int64 array
        Where each feature's cells begin.
    """
    scores = np.zeros((1, len(features)), np.int64)
    for place, of in enumerate(features):
        cells = sums[:, int(offsets[of.feature]) :][:, : of.group.size]
        scores[0, place] = sum(np.abs(cells[:, of.group == group].sum(axis=1)).sum() for group in range(of.n_groups))
    return scores


def _halves(begin: int, end: int) -> Iterator[tuple[int, int]]:
    middle = (begin + end) // 2
    yield begin, middle
    yield middle, end
