"""Ranks of numeric features from noisy counts: a cell is halved, and both halves are compared, again and again.

A search for quantiles by selections (`privet.trees.quantiles`) answers with a cut even where noise is all that it has
seen, and a bad cut stays. Counts say how sure they are. Where the records of an interval are fewer than their noise,
its halves are taken to hold about as many as each other; so little data leaves cells of equal width, much data brings
cells of equal shares, and there is no threshold between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.errors import ParameterError
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, IntArray, Table
from privet.trees.quantiles import counts_by_cell
from privet.trees.structure import FeatureCodes

MOST_LEVELS = 12  # 4,096 codes, as many as the grid of boosting has
FINE = 1 << 12  # what stands for one record, so that the noise is drawn on a grid far below its deviation
LEAST_SHARE = Fraction(1, 4)  # of a cell: an interval with less of the records need not be halved

DOUBT = 2.0  # deviations by which a count must differ from a public guess to be believed instead


@dataclass(frozen=True)
class RankPlan:
    """The releases of ranks by noisy counts."""

    counts: RankCounts
    events: tuple[Event, ...]


@dataclass(frozen=True)
class RankCounts:
    """Plans and runs the comparison of halves, for zCDP.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records.
    n_cells : int
        How many cells of about equal shares a feature is cut into.
    levels : int
        How often intervals are halved at most.
    counts_records : bool
        Whether the number of records is released beside the first halves, for a guess that may be far off.

    Notes
    -----
    *Privacy.* At each level every interval of a feature that is wide enough is halved, and the number of records in its
    first half less that in its second is released with Gaussian noise, in units of 1/4096. A record is in at most one
    interval of each feature, whose number it moves by one: squared L2 sensitivity is the number of features, for every
    level. Where records are counted, the first level has one number more: that of the records with a value of the
    feature that most of them have a value of. A record moves it by one or not at all, as it does every count of which
    this is the largest. Levels see the same records, so their costs add up. Which intervals there are follows from the
    schema and from what was released before, and so do the cuts.
    """

    n_rows: int
    n_cells: int = 16
    levels: int = MOST_LEVELS
    counts_records: bool = False

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> RankPlan:
        """Plan one release for each level, at equal parts of the budget."""
        refuse_pure(share)
        features, levels = _features(encoding), min(_n_levels(encoding), self.levels)
        of_level = None if share is None else share * Fraction(1, max(levels, 1))
        moved = [len(features) + self._counts_at(level) for level in range(levels)]
        events = tuple(
            terms.noise(
                f"ranks: halves of level {level + 1}",
                of_level,
                l2_squared=of * FINE**2,
                signed=True,
                numbers=of,
            )
            for level, of in enumerate(moved)
        )
        return RankPlan(self, events)

    def run(self, table: Table, release: Release, planned: RankPlan) -> dict[int, list[int]]:
        """Release the comparisons; return the cuts of each numeric feature, as codes in increasing order."""
        cells_of, features = counts_by_cell(table), _features(table.encoding)
        halving = {feature: _Halving(cells_of[feature]) for feature in features}
        n_records, least = float(self.n_rows), float(LEAST_SHARE) / self.n_cells
        for level, event in enumerate(planned.events):
            differences = [halving[feature].differences(least) for feature in features]
            counted = [max(of.count for of in halving.values())] if self._counts_at(level) else []
            numbers = np.concatenate([*differences, np.array(counted, dtype=np.int64)])
            ends, noise = np.cumsum([of.size for of in differences]), event.deviation / FINE
            *seen, count = np.split(release.noisy(FINE * numbers, event) / FINE, ends)
            if count.size:
                n_records = believed(self.n_rows, float(count[0]), noise)
            for feature, of_feature in zip(features, seen, strict=True):
                halving[feature].divide(of_feature, n_records, noise)
        return {feature: halving[feature].cuts(self.n_cells) for feature in features}

    def _counts_at(self, level: int) -> bool:
        return self.counts_records and level == 0

    def __str__(self) -> str:
        return f"{self.n_cells} cells of a numeric feature by noisy counts"


class _Halving:
    """One feature's intervals, and the share of the records that each of them is taken to hold.

    Parameters
    ----------
    cells : int64 array
        How many records each code has; exact and private. Only `differences` and `count` look at it.
    """

    def __init__(self, cells: IntArray) -> None:
        self._below = np.concatenate([[0], np.cumsum(cells)])
        self._edges, self._shares = np.array([0, cells.size], dtype=np.int64), np.ones(1)
        self._halved = np.zeros(1, np.bool_)

    def differences(self, least: float) -> IntArray:
        """Return how many more records each interval to be halved has in its first half; exact and private."""
        self._halved = (np.diff(self._edges) > 1) & (self._shares >= least)
        low, high = self._edges[:-1][self._halved], self._edges[1:][self._halved]
        middle: IntArray = 2 * self._below[(low + high) // 2] - self._below[low] - self._below[high]
        return middle

    @property
    def count(self) -> int:
        """How many records have a value; exact and private."""
        return int(self._below[-1])

    def divide(self, seen: Floats, n_rows: float, noise: float) -> None:
        """Divide the intervals' shares by noisy differences, each by how sure it is.

        With h records in an interval, a difference that may be as large as h, and noise of deviation s,
        ``h^2 / (h^2 + s^2)`` of what is seen is the best linear guess. An odd interval's halves are a little uneven
        themselves, which counts.
        """
        low, high = self._edges[:-1][self._halved], self._edges[1:][self._halved]
        middle, shares = (low + high) // 2, self._shares[self._halved]
        held = shares * n_rows
        uneven = (2 * middle - low - high) / (high - low)
        sure = held**2 / (held**2 + noise**2)
        tilt = np.clip(sure * seen / np.maximum(held, 1e-9) + (1 - sure) * uneven, -1.0, 1.0)
        firsts, seconds = shares * (1 + tilt) / 2, shares * (1 - tilt) / 2
        n_parts = 1 + self._halved.astype(np.int64)
        ends = np.cumsum(n_parts)
        divided = np.repeat(self._shares, n_parts)
        divided[ends[self._halved] - 2], divided[ends[self._halved] - 1] = firsts, seconds
        self._edges, self._shares = np.sort(np.concatenate([self._edges, middle])), divided

    def cuts(self, n_cells: int) -> list[int]:
        """Return the last codes of all cells but the last one; within an interval records are taken to lie evenly."""
        below = np.concatenate([[0.0], np.cumsum(self._shares)])
        wanted = np.arange(1, n_cells) / n_cells * below[-1]
        ends = np.rint(np.interp(wanted, below, self._edges)).astype(np.int64)
        return sorted({int(end) - 1 for end in ends if 0 < end < self._edges[-1]})


def believed(guess: float, count: float, deviation: float) -> float:
    """Return about how many records there are: a public guess, unless a noisy count says otherwise."""
    return max(min(max(guess, count - DOUBT * deviation), count + DOUBT * deviation), 1.0)


def refuse_pure(share: Share | None) -> None:
    """Refuse a share of pure epsilon: what records move is bounded here in L2 alone, which Laplace noise is not for."""
    if share is not None and share.epsilon is not None:
        raise ParameterError("ranks by counts and gradient descent have Gaussian noise: plan them with a share of rho")


def _features(encoding: Encoding) -> list[int]:
    domains = FeatureCodes.of(encoding)
    return [feature for feature in domains.splittable.tolist() if domains.ordered[feature]]


def _n_levels(encoding: Encoding) -> int:
    """Return how often the intervals of the feature with most codes can be halved."""
    most = max((encoding.columns[feature].n_values for feature in _features(encoding)), default=1)
    return min((most - 1).bit_length(), MOST_LEVELS)
