"""A linear discriminant of two classes from noisy sums of columns by class, and a noisy share of records in each.

Columns are taken to be independent. The weight of one is how far the classes' means lie apart, over its variance, as
far as that is believed. How many records each class has is known up to noise as well, and much hangs on it: with a
wrong share, all columns whose values are mostly at one end seem to tell the classes apart. That many columns should do
so is unlikely, so that the sums say something of the shares, too. Discriminants of many shares are averaged, by how
likely each of them makes what was released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.learners.boosting.heavy_tails import belief_in
from privet.learners.boosting.signed_columns import SignedColumns
from privet.tables.protocol import Floats

N_SHARES, DEVIATIONS_AROUND = 11, 2.5  # shares that are averaged over, and how far they reach
LEAST_SHARE = 0.02  # of a class
LEAST_SPREAD = 0.01  # of the columns' means


@dataclass(frozen=True)
class NoisyShare:
    """What was released of the share of records in the second class, and the deviation of its noise."""

    share: float
    deviation: float

    def around(self) -> tuple[Floats, Floats]:
        """Return shares around it, and the logarithm of how likely each is."""
        reach = DEVIATIONS_AROUND * self.deviation
        lowest, highest = np.clip([self.share - reach, self.share + reach], LEAST_SHARE, 1 - LEAST_SHARE)
        shares = np.linspace(lowest, highest, N_SHARES)
        return shares, -0.5 * ((shares - self.share) / max(self.deviation, 1e-9)) ** 2


@dataclass(frozen=True)
class ReleasedSums:
    """Sums of columns by class, in units of one, as released.

    Attributes
    ----------
    sums : float64 array of shape (2, n_columns)
        The noisy sums of both classes.
    deviations : float64 array of shape (n_columns,)
        The deviations of the noise, the same for both.
    n_records : float
        About how many records there are.
    columns : SignedColumns
        The columns.
    """

    sums: Floats
    deviations: Floats
    n_records: float
    columns: SignedColumns

    @cached_property
    def spread_of_means(self) -> float:
        """How far the columns' means are from what they are taken to be, squared, in units of usual values' squares."""
        away = self.sums.sum(axis=0) / self.n_records - self.columns.middle
        beyond_noise = math.fsum(away**2 - 2 * self.deviations**2 / self.n_records**2)
        return min(max(beyond_noise / math.fsum(self.columns.usual), LEAST_SPREAD), 1.0)


@dataclass(frozen=True)
class Discriminant:
    """The columns' weights, what they give to a usual record, and the deviation that noise gives to each weight.

    Attributes
    ----------
    weights, spread : float64 arrays of shape (n_columns,)
        The weights, and the deviations of their noise.
    centre : float
        What a usual record has, to be taken away from every score.
    share : float
        The share of records in the second class, by all that was released.
    """

    weights: Floats
    spread: Floats
    centre: float
    share: float


def discriminant(released: ReleasedSums, seen: NoisyShare) -> Discriminant:
    """Return the mean of the discriminants of all shares around the one that was seen, by how likely they are."""
    shares, likely = seen.around()
    each = [_for_share(released, share) for share in shares]
    before, after = _mass(likely), _mass(likely + np.array([evidence for _, evidence in each]))

    def mean(name: str) -> Floats:
        return np.tensordot(after, np.array([getattr(found, name) for found, _ in each]), axes=1)

    moved = float((after - before) @ shares)  # the ends of the grid alone move nothing
    share = min(max(seen.share + moved, LEAST_SHARE), 1 - LEAST_SHARE)
    return Discriminant(mean("weights"), mean("spread"), float(mean("centre")), share)


def _mass(logarithms: Floats) -> Floats:
    likely = np.exp(logarithms - logarithms.max())
    mass: Floats = likely / likely.sum()
    return mass


def _for_share(released: ReleasedSums, share: float) -> tuple[Discriminant, float]:
    """Return the discriminant if this were the second class's share, and the evidence for that.

    What the second class has beyond its share of all records' sum is ``n share (1 - share)`` times how far the means
    lie apart. The mean of a column is drawn to what a column without any signal has. Noise of a mean is in the
    difference as well, more of the rarer class's: what that adds to the product of both is taken away.
    """
    columns, (first, second), variance = released.columns, released.sums, released.deviations**2
    n, usual = released.n_records, released.columns.usual
    size = n * share * (1 - share)
    apart = (second * (1 - share) - first * share) / size
    noise = variance * (share**2 + (1 - share) ** 2) / size**2
    part, evidence = belief_in(apart / np.sqrt(usual), noise / usual)
    weight = part / usual
    mean_believed = usual / (usual + 2 * variance / n**2)
    centre = mean_believed * (first + second) / n + (1 - mean_believed) * columns.middle
    in_both = mean_believed * variance * (1 - 2 * share) / (size * n)
    of_usual = math.fsum(weight * (apart * centre - in_both))
    found = Discriminant(weight * apart, weight * np.sqrt(noise), of_usual, share)
    return found, evidence - usual.size * math.log(size) + _evidence_of_means(released, share)


def _evidence_of_means(released: ReleasedSums, share: float) -> float:
    """Return the evidence in what all records' means make of both sums, if this were the second class's share.

    Effects are seen in one direction of the plane of both sums, and means in the one at right angles to it. How long a
    step in the first is depends on the share: where noise is all there is, that would pull it towards one half.
    """
    columns, length = released.columns, math.hypot(share, 1 - share)
    along = (share * released.sums[1] + (1 - share) * released.sums[0]) / length
    reach = released.n_records * length
    variance = released.deviations**2 + reach**2 * released.spread_of_means * columns.usual
    unlikely = np.log(variance) + (along - reach * columns.middle) ** 2 / variance
    return columns.n_columns * math.log(length) - 0.5 * math.fsum(unlikely)
