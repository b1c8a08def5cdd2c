"""What is known about the privacy loss of one release: a dominating pair for each kind of event.

A pair is described by its *curve*: a bound on the hockey-stick divergence ``sup over S of P(S) - e^x Q(S)`` for every
x, for the output distributions P and Q of any two neighbours, in both orders. Mechanisms whose curves are fixed in
advance compose, whatever is chosen adaptively below them (Zhu, Dong and Wang 2022, Theorem 10).

Notes
-----
*Privacy.* What is released is an integer vector with noise, or a choice. A pair is made from the noise that is drawn
and the cost that is charged, which bounds how far one unit can move the vector; where nothing better is proven here,
from the cost alone.

*Discrete Laplace noise* of scale b, moved by k in L1. Let a = e^(-1/b), and D_k be one number moved by k. Summing
geometric series, its divergence at x = (k - 2m) / b is ``1 - a^m`` for m = 0, ..., k, and linear in e^x in between. All
vectors of norm k are dominated by D_k: it is enough that ``D_i x D_j`` is, for i + j = k and i >= j. Both have their
kinks at the same x, and swapping P and Q maps m to k - m, so let ``m <= k / 2``, hence ``m <= i``. The first number has
loss (i - 2l) / b with probability ``1 / (1 + a)`` for l = 0, ``(1 - a) a^l / (1 + a)`` for 0 < l < i, and l >= m with
probability ``a^m / (1 + a)`` for m > 0. One minus the divergence is the mean of ``a^g(m - l)``, where g(n) is 0 for
n < 0, n up to j, and 2n - j beyond. For m <= j this mean is ``a^m (2 + (1 - a)(m - 1)) / (1 + a)``, and no less than
a^m. For m > j its terms are ``a^m / (1 + a)`` from l >= m, ``j (1 - a) a^m / (1 + a)`` from m - j <= l < m, and
``a^(m + 1) / (1 + a)`` from the others together: no less than a^m again. More noise is less: the law of scale b' > b is
that of b plus an independent number (the ratio of their Fourier transforms is that of a mixture of zero and the law of
scale b').

D_1 is randomised response at 1 / b, so it also stands for whatever is known to be of that pure epsilon.

*Discrete Gaussian noise* of parameter s^2, a vector moved by integers v_1, v_2, ... whose squares add up to D at most.
With noise Y_i and W the sum of v_i Y_i the loss under P is ``(2 W + D) / (2 s^2)``, so the divergence at x is
``P(W > x s^2 - D / 2) - e^x P(W > x s^2 + D / 2)``. It is computed for each way to write D as a sum of squares (further
numbers that move by one never lower it), and the largest counts. For a large D only rho is used: the continuous law
does *not* dominate the discrete one.

*Exponential mechanism* at epsilon: all log-ratios lie in an interval [t - epsilon, t]. Given t, two outcomes at its
ends are the worst, as divergences are means of convex functions of a ratio whose mean is one. Their divergence at x is
``(1 - e^(x - t) - e^(t - epsilon) + e^(x - epsilon)) / (1 - e^-epsilon)``, largest at t = (x + epsilon) / 2:
``(1 - e^((x - epsilon) / 2))^2 / (1 - e^-epsilon)``. The largest of convex functions is convex, so it is the curve of a
pair. A product of such choices, as where a replaced record leaves one node and enters another, has a range that is the
sum of theirs, so it is covered by the epsilon of both.

*zCDP.* The true curve is convex in e^x and below zCDP's bounds on a grid, so it is below their lower convex hull.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privet.privacy.laws import DiscreteGaussian

Floats = NDArray[np.float64]
Kind = Literal["laplace", "gaussian", "range", "zcdp"]

MOST_MOVED = 64  # in squared L2, for which all ways to move integers are gone through
MOST_PLACES = 2**20  # of a table of probabilities
MOST_KINKS = 2_000  # of a curve that are computed; chords over fewer of them are above it
# Of sums of probabilities, with room to spare: as they are, and from Fourier transforms.
ROUNDING, ROUNDING_OF_TRANSFORMS = 1e-14, 1e-12


@dataclass(frozen=True, order=True)
class Pair:
    """The dominating pair of one release.

    Attributes
    ----------
    kind : {"laplace", "gaussian", "range", "zcdp"}
        Which of the laws above.
    parameter : Fraction
        The scale, the variance parameter, epsilon, or rho.
    moved : int
        How far the vector moves: in L1 for Laplace noise, in squared L2 for Gaussian noise; else 1.
    """

    kind: Kind
    parameter: Fraction
    moved: int = 1

    @staticmethod
    def pure(epsilon: Fraction) -> Pair:
        """Return the pair of whatever is of this pure epsilon."""
        return Pair("laplace", 1 / epsilon)

    @property
    def epsilon(self) -> Fraction | None:
        """The pure epsilon; None if there is none."""
        match self.kind:
            case "laplace":
                return self.moved / self.parameter
            case "range":
                return self.parameter
        return None

    @property
    def rho(self) -> Fraction:
        """The cost in zCDP."""
        match self.kind:
            case "laplace":
                return (self.moved / self.parameter) ** 2 / 2
            case "gaussian":
                return self.moved / (2 * self.parameter)
            case "range":
                return self.parameter**2 / 8
        return self.parameter

    @property
    def width(self) -> float:
        """About how far losses spread."""
        return math.sqrt(2 * self.rho) if self.epsilon is None else float(self.epsilon)

    @property
    def reach(self) -> float:
        """A loss beyond which hardly anything is."""
        if self.epsilon is not None:
            return math.nextafter(float(self.epsilon), math.inf)
        return float(self.rho) + 2 * math.sqrt(self.rho * math.log(1e18))

    def covers(self, other: Pair) -> bool:
        """Whether this pair is proven to dominate another one."""
        same = self.kind == other.kind
        match self.kind:
            case "laplace":
                as_noise = same and self.parameter <= other.parameter and self.moved >= other.moved
                as_epsilon = self.moved == 1 and other.epsilon is not None and other.epsilon <= 1 / self.parameter
                return as_noise or as_epsilon
            case "gaussian":
                return same and self.parameter == other.parameter and self.moved >= other.moved
            case "range":
                return same and self.parameter >= other.parameter
        return other.rho <= self.parameter

    def curve(self, x: Floats) -> Floats:
        """Bound the divergence at each x, none of which is negative; values are rounded up by far less than a delta."""
        curves: dict[Kind, Callable[[Floats], Floats]] = {
            "laplace": self._of_laplace,
            "gaussian": self._of_gaussian,
            "range": self._of_range,
            "zcdp": lambda x: delta_of_zcdp(float(self.parameter) * (1 + 1e-12), x),
        }
        bounds: Floats = np.minimum(1.0, np.maximum(0.0, curves[self.kind](x)))
        return bounds

    def _of_laplace(self, x: Floats) -> Floats:
        scale, k = float(self.parameter), self.moved
        m = np.unique(np.linspace(0, k, min(k, MOST_KINKS) + 1).round())[::-1]
        kinks = np.exp((k - 2 * m) / scale)
        own: Floats = np.interp(np.exp(x), kinks, -np.expm1(-m / scale), right=0.0)
        return own * (1 + 1e-12) + 1e-16 * (own > 0)

    def _of_range(self, x: Floats) -> Floats:
        epsilon = float(self.parameter) * (1 + 1e-12)
        own: Floats = np.where(x < epsilon, np.expm1((x - epsilon) / 2) ** 2 / -math.expm1(-epsilon), 0.0)
        return own * (1 + 1e-12)

    def _of_gaussian(self, x: Floats) -> Floats:
        bound = delta_of_zcdp(float(self.rho) * (1 + 1e-12), x)
        return np.minimum(bound, _largest_of_gaussians(self.moved, self.parameter, x))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, numbers as text."""
        return {"kind": self.kind, "parameter": str(self.parameter), "moved": self.moved}

    @staticmethod
    def from_dict(data: Any) -> Pair:
        """Read what `to_dict` wrote."""
        pair = Pair(data["kind"], Fraction(data["parameter"]), int(data["moved"]))
        known = pair.kind in get_args(Kind) and pair.parameter > 0 and pair.moved >= 1
        if not known or (pair.kind == "gaussian" and not has_table(pair.parameter, pair.moved)):
            raise ValueError(f"not a pair: {data!r:.60}")
        return pair


def has_table(variance: Fraction, moved: int) -> bool:
    """Whether the exact curve of Gaussian noise can be computed."""
    return moved <= MOST_MOVED and _places(variance, moved) <= MOST_PLACES


def _places(variance: Fraction, moved: int) -> int:
    deviations = math.sqrt(variance * moved)
    return 1 << math.ceil(math.log2(24 * deviations + 4 * math.sqrt(moved) + 64))


def _sums_of_squares(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a sum of squares of whole numbers, as (how often 1, how often 2, ...)."""
    if most == 1:
        yield (total,)
        return
    for times in range(total // most**2 + 1):
        for others in _sums_of_squares(total - times * most**2, most - 1):
            yield (*others, times)


def _largest_of_gaussians(moved: int, variance: Fraction, x: Floats) -> Floats:
    """Return the largest divergence over all ways to move integers whose squares add up to `moved`."""
    size, law, s = _places(variance, moved), DiscreteGaussian(variance), float(variance)
    tables = [_spread(law, v, size) for v in range(1, math.isqrt(moved) + 1)]
    transforms = [np.fft.rfft(table) for table in tables]
    # P(loss > x): the same set of outcomes for both, so that rounding x s^2 matters to no outcome but those of loss x,
    # which count for nothing.
    first = np.floor(x * s - moved / 2).astype(np.int64) + 1 + size // 2
    found = np.zeros_like(x)
    for times in _sums_of_squares(moved, len(tables)):
        single = sum(times) == 1
        if single:
            own = tables[times.index(1)]
        else:
            product = math.prod((transform**n for transform, n in zip(transforms, times, strict=True) if n), start=1.0)
            own = np.maximum(0.0, np.fft.irfft(product, size))
        centred = np.roll(own, size // 2).astype(np.longdouble)
        tails = np.append(np.cumsum(centred[::-1])[::-1], 0.0).astype(np.float64)
        under_p, under_q = (tails[np.clip(first + shift, 0, size)] for shift in (0, moved))
        rounding = ROUNDING if single else ROUNDING_OF_TRANSFORMS
        found = np.maximum(found, under_p + rounding - np.exp(x) * (under_q - rounding))
    return found


def _spread(law: DiscreteGaussian, v: int, size: int) -> Floats:
    """Return the probabilities of v times a draw, in a circle of `size` places that begins at zero."""
    reach = (size // 2 - 1) // v
    y = np.arange(-reach, reach + 1)
    probabilities = np.zeros(size)
    probabilities[(v * y) % size] = law.pmf(y)
    return probabilities


def delta_of_zcdp(rho: float, epsilons: Floats) -> Floats:
    """Bound delta at each epsilon, by the orders of a grid (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    best = np.zeros(len(epsilons))
    # Near the best order (epsilon + rho) / (2 rho); any order gives a valid bound.
    middle = np.maximum((epsilons + rho) / (2 * rho), 1.01)
    for factor in np.geomspace(0.5, 2.0, 41):
        order = np.maximum(middle * factor, 1.0001)
        log = (order - 1) * (order * rho - epsilons) - np.log(order - 1) + order * np.log1p(-1 / order)
        best = np.minimum(best, log)
    bounds: Floats = np.minimum(1.0, np.exp(best) * (1 + 1e-9))
    return np.minimum.accumulate(bounds)
