"""The two-way splits that a greedy learner may choose among: a public list, fixed before any data, and their scores.

What a private selection pays for grows with the logarithm of the number of candidates only, so the lists are generous:
every threshold of every grid, and for a feature with few categories every way to divide them in two. Scores come from a
histogram, at a few operations per class: along a walk one code at a time changes sides, and subsets are visited in the
order of the Gray code, in which two neighbours differ in one code as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined, inner
from privet.randomness.public import PublicRng
from privet.tables.protocol import IntArray
from privet.trees.scores import Score, child_score, score_of_residuals
from privet.trees.structure import FeatureCodes, Split, Subset, Threshold, children_by_code


@inner
def _two_children(kind: int, knee: int, part: IntArray, whole: IntArray) -> int:
    """Return the score of a split into `part` and the rest of `whole`: class counts, a number and a sum, or losses."""
    if kind == 3:
        n, total = part[0], part[1]
        return score_of_residuals(knee, n, total) + score_of_residuals(knee, whole[0] - n, whole[1] - total)
    if kind == 4:
        least, other_least = part[0], whole[0] - part[0]
        for value in range(1, whole.size):
            least = min(least, part[value])
            other_least = min(other_least, whole[value] - part[value])
        return int(-least - other_least)
    total = largest = squares = 0
    other_total = other_largest = other_squares = 0
    for label in range(whole.size):
        count = part[label]
        other = whole[label] - count
        total += count
        squares += count * count
        largest = max(largest, count)
        other_total += other
        other_squares += other * other
        other_largest = max(other_largest, other)
    return child_score(kind, total, largest, squares) + child_score(kind, other_total, other_largest, other_squares)


@inlined
def _add(counts: IntArray, part: IntArray) -> bool:
    """Add counts, many of which are zero further down a tree; return whether there were any."""
    changed = False
    for label in range(part.size):
        part[label] += counts[label]
        changed |= counts[label] != 0
    return changed


@inlined
def _clear(counts: IntArray) -> None:
    for label in range(counts.size):
        counts[label] = 0


@compiled
def score_candidates(
    kind: int,
    knee: int,
    histogram: IntArray,
    offsets: IntArray,
    walk_feature: IntArray,
    walk_offsets: IntArray,
    codes: IntArray,
    stands: NDArray[np.bool_],
    subset_feature: IntArray,
    whole: IntArray,
    part: IntArray,
    out: IntArray,
) -> None:
    """Write the score of every candidate at every node into `out` (n_nodes, n_candidates).

    Parameters
    ----------
    kind : int
        Which score; see `privet.trees.scores.ScoreKind`.
    knee : int
        Of deviations.
    histogram : int64 array of shape (n_nodes, total number of codes, n_classes)
        Counts, or for deviations numbers of records and sums of residuals, or the losses of each value; the codes of
        feature f are offsets[f] to offsets[f + 1].
    offsets : int64 array
        Where each feature's codes begin.
    walk_feature, walk_offsets, codes : int64 arrays
        The walks: codes[walk_offsets[w]:walk_offsets[w + 1]] change sides one after the other.
    stands : bool array
        Whether there is a candidate after each code of the walks.
    subset_feature : int64 array
        Features of which all subsets without the first code are candidates.
    whole, part : int64 arrays of shape (n_classes,)
        Room for sums.
    """
    for node in range(histogram.shape[0]):
        _clear(whole)
        for code in range(offsets[0], offsets[1]):
            _add(histogram[node, code], whole)
        place = 0
        for walk in range(walk_feature.size):
            begin = offsets[walk_feature[walk]]
            _clear(part)
            score = _two_children(kind, knee, part, whole)
            for step in range(walk_offsets[walk], walk_offsets[walk + 1]):
                if _add(histogram[node, begin + codes[step]], part):
                    score = _two_children(kind, knee, part, whole)
                if stands[step]:
                    out[node, place] = score
                    place += 1
        for index in range(subset_feature.size):
            begin = offsets[subset_feature[index]]
            n_codes = offsets[subset_feature[index] + 1] - begin
            _clear(part)
            for number in range(1, 1 << (n_codes - 1)):
                # from number - 1 to number the Gray code flips the lowest set bit of number
                bit = 0
                while number >> bit & 1 == 0:
                    bit += 1
                gray = number ^ number >> 1
                sign = 1 if gray >> bit & 1 == 1 else -1
                for label in range(part.size):
                    part[label] += sign * histogram[node, begin + bit + 1, label]
                out[node, place] = _two_children(kind, knee, part, whole)
                place += 1


ALL_SUBSETS_UP_TO = 12  # categories: 2047 subsets
WALKS = 2048  # about this many candidates come from random orders of a feature's many categories


@dataclass(frozen=True)
class Walk:
    """Splits along a sequence of codes.

    Attributes
    ----------
    feature : int
        The feature.
    codes : tuple of int
        The codes, in the order in which they change sides.
    places : tuple of int
        There is a candidate after each of these places of the sequence: the codes up to there against all others.
    alone : bool, default=False
        Whether every code begins anew: the candidates are single codes against all others.
    """

    feature: int
    codes: tuple[int, ...]
    places: tuple[int, ...]
    alone: bool = False

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Candidates:
    """A public list of two-way splits; candidates are numbered through all walks, then through all subsets.

    Parameters
    ----------
    domains : FeatureCodes
        The features' codes.
    walks : tuple of Walk
        Thresholds, single categories, and prefixes of orders of categories.
    subset_features : tuple of int
        Unordered features of which every division into two non-empty sets is a candidate.
    """

    domains: FeatureCodes
    walks: tuple[Walk, ...]
    subset_features: tuple[int, ...]

    @classmethod
    def all_of(
        cls,
        domains: FeatureCodes,
        rng: PublicRng,
        cuts: Mapping[int, Sequence[int]] | None = None,
        all_subsets_up_to: int = ALL_SUBSETS_UP_TO,
    ) -> Self:
        """List all candidates of all features.

        An ordered feature gives every inner cut; with a missing code, every cut with missing values on either side,
        and missing against present. An unordered one with up to `all_subsets_up_to` codes gives every division in
        two; beyond that, each code against the rest and the prefixes of some random orders.

        Parameters
        ----------
        domains : FeatureCodes
            The features' codes.
        rng : PublicRng
            Draws the random orders, which are public.
        cuts : mapping of feature to codes, optional
            Cuts of ordered features, where not all are wanted; public, or released.
        all_subsets_up_to : int
            The most codes of which all subsets are listed.
        """
        walks: list[Walk] = []
        subset_features: list[int] = []
        for feature in domains.splittable.tolist():
            n_codes = int(domains.n_codes[feature])
            if domains.ordered[feature]:
                every = range(int(domains.n_cells[feature]) - 1)
                walks.extend(thresholds(domains, feature, every if cuts is None else cuts.get(feature, every)))
            elif n_codes <= all_subsets_up_to:
                subset_features.append(feature)
            else:
                walks.extend(orders(feature, n_codes, rng, max(1, WALKS // n_codes)))
        return cls(domains, tuple(walks), tuple(subset_features))

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends.size else 0

    def split(self, candidate: int) -> Split:
        """Return the split with this number."""
        group = int(np.searchsorted(self._ends, candidate, side="right"))
        place = candidate - (int(self._ends[group - 1]) if group else 0)
        if group < len(self.walks):
            return self._along(self.walks[group], place)
        gray = (place + 1) ^ (place + 1) >> 1
        codes = [bit + 1 for bit in range(gray.bit_length()) if gray >> bit & 1]
        return Subset(self.subset_features[group - len(self.walks)], codes)

    def scores(self, histogram: IntArray, score: Score) -> IntArray:
        """Return the score of every candidate at every node, from counts by node, code and class.

        *Privacy.* Exact; a record is in one node, and there changes all candidates' scores by amounts within an
        interval as long as ``score.range``.
        """
        out = np.zeros((histogram.shape[0], len(self)), np.int64)
        whole, part = np.zeros((2, histogram.shape[2]), np.int64)
        score_candidates(int(score.kind), score.knee, histogram, *self._arrays, whole, part, out)
        return out

    def sides(self, splits: Sequence[Split | None]) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the feature of each split, and for every code whether it goes to the second child; zeros for None."""
        feature, child = children_by_code(self.domains, splits)
        return feature, child == 1

    def _along(self, walk: Walk, place: int) -> Split:
        stop = walk.places[place] + 1
        codes = walk.codes[stop - 1 if walk.alone else 0 : stop]
        if not self.domains.ordered[walk.feature]:
            return Subset(walk.feature, codes)
        return Threshold(walk.feature, codes[-1], codes[0] == self.domains.missing[walk.feature])

    @cached_property
    def _ends(self) -> IntArray:
        """Where each walk's and each feature's candidates end."""
        subsets = [(1 << int(self.domains.n_codes[feature]) - 1) - 1 for feature in self.subset_features]
        return np.cumsum([*map(len, self.walks), *subsets], dtype=np.int64)

    @cached_property
    def _offsets(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.domains.n_codes)]).astype(np.int64)

    @cached_property
    def _arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray, NDArray[np.bool_], IntArray]:
        """The walks laid end to end, for compiled code."""
        # to compiled code, codes that stand alone are walks of their own
        pieces = [[1] * len(walk.codes) if walk.alone else [len(walk.codes)] for walk in self.walks]
        starts = np.concatenate([[0], np.cumsum([*chain.from_iterable(pieces)])]).astype(np.int64)
        begins = np.concatenate([[0], np.cumsum([len(walk.codes) for walk in self.walks])]).astype(np.int64)
        stands = np.zeros(int(starts[-1]), np.bool_)
        for walk, start in zip(self.walks, begins.tolist(), strict=False):
            stands[start + np.array(walk.places, dtype=np.int64)] = True
        return (
            self._offsets,
            np.repeat(np.array([walk.feature for walk in self.walks], np.int64), [len(piece) for piece in pieces]),
            starts,
            np.array([*chain.from_iterable(walk.codes for walk in self.walks)], dtype=np.int64),
            stands,
            np.array(self.subset_features, dtype=np.int64),
        )


def count_candidates(domains: FeatureCodes) -> int:
    """Return how many splits `Candidates.all_of` lists by itself; a plan needs their number before there are any.

    Examples
    --------
    >>> from privet import Categorical, Numeric, Schema
    >>> schema = Schema({"age": Numeric(0, 9), "colour": Categorical(["red", "green", "blue"])}, classes=[0, 1])
    >>> count_candidates(FeatureCodes.of(schema.encoding(bins=10)))  # nine cuts, and three ways to divide the colours
    12
    """
    features = domains.splittable
    n_codes, cuts = domains.n_codes[features], domains.n_cells[features] - 1
    many = n_codes + np.maximum(1, WALKS // n_codes) * (n_codes - 3)  # each code alone, and prefixes of some orders
    subsets = (1 << np.minimum(n_codes, ALL_SUBSETS_UP_TO) - 1) - 1
    unordered = np.where(n_codes <= ALL_SUBSETS_UP_TO, subsets, many)
    ordered = np.where(domains.missing[features] < 0, cuts, 2 * cuts + 1)
    return int(np.where(domains.ordered[features], ordered, unordered).sum())


def thresholds(domains: FeatureCodes, feature: int, cuts: Sequence[int]) -> Iterator[Walk]:
    """Yield the walks of an ordered feature's cuts, with missing values on either side."""
    cells = tuple(range(int(domains.n_cells[feature])))
    missing = int(domains.missing[feature])
    if missing < 0:
        yield Walk(feature, cells, tuple(cuts))
        return
    yield Walk(feature, cells, (*cuts, len(cells) - 1))  # after the last cell: all that is present against missing
    yield Walk(feature, (missing, *cells), tuple(cut + 1 for cut in cuts))


def orders(feature: int, n_codes: int, rng: PublicRng, n_orders: int) -> Iterator[Walk]:
    """Yield the walks of an unordered feature: each code against the rest, and prefixes of random, public orders."""
    single = tuple(range(n_codes if n_codes > 2 else 1))
    yield Walk(feature, single, single, alone=True)
    # single codes are listed already, and all but one of the codes is the same division
    places = tuple(range(1, n_codes - 2))
    for _ in range(n_orders if places else 0):
        yield Walk(feature, tuple(rng.permutation(n_codes).tolist()), places)
