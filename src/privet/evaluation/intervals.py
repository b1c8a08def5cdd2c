"""Intervals for ratios of noisy counts. They contain the noise and the sampling error, and nothing here spends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from privet.tables.protocol import Floats

CONFIDENCE = 0.95
# How many standard deviations an interval reaches to either side. 1.96 would do for a normal error, and 2.12, which is
# ln(20) / sqrt(2), is needed for a single Laplace draw. A sum of both kinds lies between them.
REACH = math.log(20) / math.sqrt(2)
MANY = 2.0  # is enough for sums of five draws or more


@dataclass(frozen=True)
class Interval:
    """A figure with its 95% interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        The interval that contains the true figure of the population with 95% confidence. It allows for the noise and
        for the sampling error. Each interval holds for itself, not all of them at once.
    """

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance between the two ends."""
        return self.high - self.low

    def map(self, low: float, high: float) -> Interval:
        """Return the interval moved and stretched from [0, 1] to another range."""
        return Interval(*(low + end * (high - low) for end in (self.value, self.low, self.high)))

    def to_dict(self) -> dict[str, float]:
        """Return plain data, rounded to what is worth reading."""
        return {
            name: in_five_digits(end) for name, end in (("value", self.value), ("low", self.low), ("high", self.high))
        }

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def in_five_digits(figure: float) -> float:
    """Round a released figure to five significant digits."""
    return float(f"{figure:.5g}")


@dataclass(frozen=True)
class Ratio:
    """Two noisy numbers and what is known of their errors: a ratio of which the truth is sought.

    Attributes
    ----------
    above, below : float
        Unbiased estimates of numerator and denominator.
    variance_above, covariance, variance_below : float
        Of both errors, noise and sampling together.
    """

    above: float
    below: float
    variance_above: float
    covariance: float
    variance_below: float

    @staticmethod
    def of(counts: Floats, errors: Floats, above: Floats, below: Floats) -> Ratio:
        """Return the ratio of two weighted sums of counts whose errors have this covariance matrix."""
        spread_above, spread_below = errors @ above, errors @ below
        return Ratio(
            float(above @ counts),
            float(below @ counts),
            float(above @ spread_above),
            float(above @ spread_below),
            float(below @ spread_below),
        )

    @property
    def deviation(self) -> float:
        """The standard deviation of the ratio, where the denominator is well known."""
        ratio = self.above / self.below
        variance = self.variance_above - 2 * ratio * self.covariance + ratio * ratio * self.variance_below
        return math.sqrt(max(variance, 0.0)) / abs(self.below)

    def interval(self, low: float = 0.0, high: float = 1.0, reach: float = REACH) -> Interval:
        """Return the interval of the true ratio, within its possible range (Fieller 1954).

        If r is the true ratio, ``above - r below`` has mean zero and a known variance. The interval has all r at which
        it is no more than `reach` standard deviations from zero. That stays right where the denominator is uncertain;
        where it could be zero, every r of the range is possible.
        """
        middle = (low + high) / 2
        value = min(max(self.above / self.below, low), high) if self.below > 0 else middle
        squared = reach * reach
        a = self.below**2 - squared * self.variance_below
        if self.below <= 0 or a <= 0:
            return Interval(value, low, high)
        b = self.above * self.below - squared * self.covariance
        c = self.above**2 - squared * self.variance_above
        root = math.sqrt(max(b * b - a * c, 0.0))
        ends = [min(max(end, low), high) for end in ((b - root) / a, (b + root) / a)]
        return Interval(value, min(ends[0], value), max(ends[1], value))


def shared_reach(apart: float, deviation: float) -> float:
    """Return how far an interval must reach beyond two ends between which a figure lies, as a part of the usual reach.

    A figure cannot be near both ends at once if they are far apart, so an error that leaves it out on one side does not
    on the other, and a one-sided reach is enough. The reach c has Phi(c + apart / deviation) - Phi(-c) = 0.95 (Imbens
    and Manski 2004): 1 where the ends are the same, down to 1.645 / 1.96 = 0.84.
    """
    if deviation <= 0:
        return 1.0
    two_sided, one_sided = (float(norm.ppf(share)) for share in ((1 + CONFIDENCE) / 2, CONFIDENCE))
    # A little wider, so that rounding cannot leave the solution out.
    found = brentq(
        lambda reach: norm.cdf(reach + apart / deviation) - norm.cdf(-reach) - CONFIDENCE,
        one_sided - 0.01,
        two_sided + 0.01,
    )
    return min(float(found) / two_sided, 1.0)


def sum_of_independent(ratios: Sequence[Ratio]) -> Ratio:
    """Add up numerators and denominators of ratios with independent errors."""
    return Ratio(
        sum(ratio.above for ratio in ratios),
        sum(ratio.below for ratio in ratios),
        sum(ratio.variance_above for ratio in ratios),
        sum(ratio.covariance for ratio in ratios),
        sum(ratio.variance_below for ratio in ratios),
    )


def mean_of_independent(parts: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of figures with independent errors (MOVER; Zou and Donner 2008)."""
    value = sum(part.value for part in parts) / len(parts)
    below = math.sqrt(sum((part.value - part.low) ** 2 for part in parts)) / len(parts)
    above = math.sqrt(sum((part.high - part.value) ** 2 for part in parts)) / len(parts)
    return Interval(value, value - below, value + above)


def difference_of_independent(one: Interval, other: Interval) -> Interval:
    """Return the interval of a difference of figures with independent errors (MOVER)."""
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Interval(value, value - below, value + above)


def mean_of_dependent(parts: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of figures whose errors may depend on one another in any way."""
    ends = np.mean([[part.value, part.low, part.high] for part in parts], axis=0)
    return Interval(*(float(end) for end in ends))
