"""One choice of two splits together: those of a tree's first two levels, among all pairs of splits of two features.

Two choices, one after the other, have half of the budget each, and the first does not know what the second will find.
One choice among pairs has all of it. There are many more candidates, but what a selection loses grows with the
logarithm of their number only; the rate that it is made at counts in full, and for pure epsilon it is twice as high.

There is time for so many sums only: a numeric feature is cut in at most 31 places, by public randomness that is new for
each tree, and where there are many features splits are chosen one after the other. To leave out some of them, others
for each tree, gains nothing over that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.randomness.public import PublicRng
from privet.tables.protocol import Block, IntArray, Table
from privet.trees.candidates import Candidates, Walk, orders, thresholds
from privet.trees.structure import FeatureCodes, Split

MOST_CUTS = 31  # of a numeric feature
MOST_CATEGORIES = 64  # with more, they are put together in a random order
CATEGORY_ORDERS = 2  # random orders of a feature's categories
MOST_PAIRS = 136  # of 16 features, each with itself as well; fewer where records have many scores

_RECORDS_AT_ONCE = 2_048  # their groups, and one pair's sums, fit into a processor's cache


@dataclass(frozen=True, eq=False)
class CoarseFeature:
    """A feature's cells put into few groups, and the splits between these.

    Attributes
    ----------
    candidates : Candidates
        The splits, of cells; all of this feature.
    group : int64 array
        The group of each cell. No split divides one.
    """

    candidates: Candidates
    group: IntArray

    @property
    def feature(self) -> int:
        """The feature."""
        return self.candidates.walks[0].feature

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.group.max()) + 1

    def walks(self) -> Iterator[tuple[IntArray, NDArray[np.bool_]]]:
        """Yield groups in the order in which they change sides, and after which of them there is a split."""
        for walk in self.candidates.walks:
            groups, stands = self.group[list(walk.codes)], np.zeros(len(walk.codes), np.bool_)
            stands[list(walk.places)] = True
            if walk.alone:
                yield from ((groups[place : place + 1], stands[place : place + 1]) for place in range(groups.size))
                continue
            last = np.append(np.diff(groups) != 0, True)  # of its group's cells, which follow one another
            yield groups[last], stands[last]


def coarse_feature(domains: FeatureCodes, feature: int, rng: PublicRng) -> CoarseFeature:
    """Return few groups of a feature's cells; which cuts and orders are taken is drawn from public randomness."""
    n_codes, n_cells, cells = int(domains.n_codes[feature]), int(domains.n_cells[feature]), np.arange
    if domains.ordered[feature]:
        cuts = np.sort(rng.permutation(n_cells - 1)[:MOST_CUTS]).astype(np.int64)
        group = np.searchsorted(cuts, cells(n_codes), side="left")
        if domains.missing[feature] >= 0:
            group[domains.missing[feature]] = cuts.size + 1
        walks = tuple(thresholds(domains, feature, cuts.tolist()))
    elif n_codes <= MOST_CATEGORIES:
        group, walks = cells(n_codes), tuple(orders(feature, n_codes, rng, CATEGORY_ORDERS))
    else:
        order = rng.permutation(n_codes)
        of_place = cells(n_codes) * MOST_CATEGORIES // n_codes
        group = np.zeros(n_codes, np.int64)
        group[order] = of_place
        walks = (Walk(feature, tuple(order.tolist()), tuple(np.flatnonzero(np.diff(of_place)).tolist())),)
    return CoarseFeature(Candidates(domains, walks, ()), group.astype(np.int64))


def are_few_enough(n_features: int, n_scores: int) -> bool:
    """Whether there is time for the pairs of so many features, of gradients for so many scores.

    Examples
    --------
    >>> [max(n for n in range(99) if are_few_enough(n, k)) for k in (1, 3, 10)]
    [16, 12, 6]
    """
    return n_features * (n_features + 1) // 2 * max(n_scores, 2) <= 2 * MOST_PAIRS


@compiled
def _add_pairs(
    cells: NDArray[Any],
    feature: IntArray,
    group: NDArray[np.uint8],
    n_groups: IntArray,
    gradient: NDArray[np.int32],
    n_scores: int,
    sums: IntArray,
) -> None:
    n, n_rows = feature.size, cells.shape[0]
    here, moves = np.zeros((n, _RECORDS_AT_ONCE), np.uint8), np.zeros((_RECORDS_AT_ONCE, n_scores), np.int64)
    only = np.zeros(_RECORDS_AT_ONCE, np.int64)
    for start in range(0, n_rows, _RECORDS_AT_ONCE):
        size, begin = min(_RECORDS_AT_ONCE, n_rows - start), np.int64(0)
        for i in range(n):
            for row in range(size):
                here[i, row] = group[i, cells[start + row, feature[i]]]
        for row in range(size):
            for k in range(n_scores):
                moves[row, k] = gradient[start + row, k]
            only[row] = moves[row, 0]
        for i in range(n):
            for j in range(i, n):
                # unsigned, so that no index is tested for its sign
                first, second, wide = here[i], here[j], np.uint64(n_groups[j])
                of_pair = sums[begin : begin + n_groups[i] * n_groups[j] * n_scores]
                begin += of_pair.size
                if n_scores == 1:  # in a register, which is quicker
                    for row in range(size):
                        of_pair[np.uint64(first[row]) * wide + np.uint64(second[row])] += only[row]
                else:
                    for row in range(size):
                        place = (np.uint64(first[row]) * wide + np.uint64(second[row])) * np.uint64(n_scores)
                        for k in range(n_scores):
                            of_pair[place + np.uint64(k)] += moves[row, k]


class Grouped(Protocol):
    """A feature whose cells are in groups."""

    @property
    def feature(self) -> int:
        """The feature."""
        ...

    @property
    def group(self) -> IntArray:
        """The group of each cell."""
        ...

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        ...


@dataclass(frozen=True, eq=False)
class PairSums:
    """Add up gradients by the groups of every two features, each with itself as well.

    Notes
    -----
    *Privacy.* Exact integers. Adding or removing a record changes one place of each pair by the record's gradient.
    """

    feature: IntArray
    group: NDArray[np.uint8]
    n_groups: IntArray
    n_scores: int

    @classmethod
    def of(cls, features: Sequence[Grouped], n_scores: int) -> Self:
        """Return the kernel for these features."""
        group = np.zeros((len(features), max(of.group.size for of in features)), np.uint8)
        for row, of in zip(group, features, strict=True):
            row[: of.group.size] = of.group
        numbers = np.array([(of.feature, of.n_groups) for of in features], np.int64)
        return cls(numbers[:, 0].copy(), group, numbers[:, 1].copy(), n_scores)

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (places of all pairs, n_scores)."""
        n_places = (int(self.n_groups.sum()) ** 2 + int((self.n_groups**2).sum())) // 2
        sums = np.zeros(n_places * self.n_scores, np.int64)
        gradient = np.asarray(block.state[GRADIENT_STATE], dtype=np.int32)
        _add_pairs(block.state[CELL_STATE], self.feature, self.group, self.n_groups, gradient, self.n_scores, sums)
        return sums.reshape(n_places, self.n_scores)


@compiled
def _score_pairs(
    sums: IntArray,
    n_groups: IntArray,
    walk_begin: IntArray,
    code_begin: IntArray,
    codes: IntArray,
    stands: NDArray[np.bool_],
    out: IntArray,
) -> None:
    n, n_scores = n_groups.size, sums.shape[1]
    most = n_groups.max()
    left, column, row_left, corner = (
        np.zeros((most, n_scores), np.int64),
        np.zeros((most, n_scores), np.int64),
        np.zeros(n_scores, np.int64),
        np.zeros(n_scores, np.int64),
    )
    column_left, total = np.zeros(n_scores, np.int64), np.zeros(n_scores, np.int64)
    begin = place = np.int64(0)
    for i in range(n):
        for j in range(i, n):
            wide = n_groups[j]
            column[:], total[:] = 0, 0
            for group in range(n_groups[i]):
                for other in range(wide):
                    for k in range(n_scores):
                        column[other, k] += sums[begin + group * wide + other, k]
                        total[k] += sums[begin + group * wide + other, k]
            for walk in range(walk_begin[i], walk_begin[i + 1]):
                left[:], row_left[:] = 0, 0
                for step in range(code_begin[walk], code_begin[walk + 1]):
                    for other in range(wide):
                        for k in range(n_scores):
                            added = sums[begin + codes[step] * wide + other, k]
                            left[other, k] += added
                            row_left[k] += added
                    if not stands[step]:
                        continue
                    for second in range(walk_begin[j], walk_begin[j + 1]):
                        corner[:], column_left[:] = 0, 0
                        for at in range(code_begin[second], code_begin[second + 1]):
                            score = np.int64(0)
                            for k in range(n_scores):
                                corner[k] += left[codes[at], k]
                                column_left[k] += column[codes[at], k]
                                score += (
                                    abs(corner[k])
                                    + abs(row_left[k] - corner[k])
                                    + abs(column_left[k] - corner[k])
                                    + abs(total[k] - row_left[k] - column_left[k] + corner[k])
                                )
                            if stands[at]:
                                out[place] = score
                                place += 1
            begin += n_groups[i] * wide


@dataclass(frozen=True, eq=False)
class PairCandidates:
    """All pairs of splits of some features: a public list, new for each tree.

    Notes
    -----
    *Privacy.* Two splits divide the records into four parts. A pair's score is the sum over the parts, and over the
    gradients, of ``|sum over the part's records|``. A record is in one part of every pair, whose sums it moves by its
    gradient, so it moves every score by at most the gradient's L1 norm, up or down: the range is that of one split.
    """

    features: tuple[CoarseFeature, ...]
    n_scores: int

    @classmethod
    def of(cls, grid: CellGrid, rng: PublicRng, n_scores: int) -> Self:
        """List the pairs of all features."""
        every = grid.domains.splittable.tolist()
        return cls(tuple(coarse_feature(grid.domains, feature, rng) for feature in every), n_scores)

    def sums(self) -> PairSums:
        """Return the kernel that adds up what the pairs' scores are made of."""
        return PairSums.of(self.features, self.n_scores)

    def scores(self, table: Table) -> IntArray:
        """Return the score of every pair, in one row; exact and private. Records have cells and gradients."""
        walks = [list(of.walks()) for of in self.features]
        every = [walk for of_feature in walks for walk in of_feature]
        out = np.zeros(int(self._ends[-1]), np.int64)
        _score_pairs(
            table.aggregate(self.sums()),
            self._n_groups,
            np.cumsum([0, *map(len, walks)]),
            np.cumsum([0, *(codes.size for codes, _ in every)]),
            np.concatenate([codes for codes, _ in every]),
            np.concatenate([stands for _, stands in every]),
            out,
        )
        return out[np.newaxis]

    def splits(self, candidate: int) -> tuple[Split, Split]:
        """Return the two splits of the pair with this number, the upper one first."""
        pair = int(np.searchsorted(self._ends, candidate, side="right"))
        i, j = (int(at[pair]) for at in np.triu_indices(len(self.features)))
        within = candidate - (int(self._ends[pair - 1]) if pair else 0)
        first, second = divmod(within, int(self._n_splits[j]))
        return self.features[i].candidates.split(first), self.features[j].candidates.split(second)

    @cached_property
    def _n_groups(self) -> IntArray:
        return np.array([of.n_groups for of in self.features], np.int64)

    @cached_property
    def _n_splits(self) -> IntArray:
        return np.array([len(of.candidates) for of in self.features], np.int64)

    @cached_property
    def _ends(self) -> IntArray:
        """Where each pair's candidates end."""
        first, second = np.triu_indices(len(self.features))
        ends: IntArray = np.cumsum(self._n_splits[first] * self._n_splits[second])
        return ends
