"""Exact draws of cube noise, in integers of any size. Part of `samplers.py`, and protected like it.

`privet.privacy.cube_law` has the law: given a radius R, each group is uniform on the integer points of its L1 ball,
and R has mass proportional to ``a^R P(R)``, where ``a = exp(-1 / scale)`` and P(R) is the number of points of all balls
together, a polynomial in R of degree D, the number of numbers.

**The radius.** The sum of D + 1 geometric variables, of masses proportional to a^k, has mass proportional to
``C(R + D, D) a^R``. As ``P(R) <= prod over groups of 2^m C(R + m, m)`` (Vandermonde, with 2^k <= 2^m), it is accepted
with probability ``P(R) prod(m!) / (2^D (R + 1) ... (R + D))``, which is at most one.

Writing ``P(R) = sum of h_k C(R + D - k, D)``, all h_k are natural numbers (Stanley 1980: P counts the points of a
lattice polytope), the same from both ends, and add up to ``2^D D! / prod(m!)``. So the radius is K plus D + 1 geometric
variables, where K has mass proportional to ``h_k a^k``; and the rejection above accepts with probability ``E a^K``
under masses proportional to h_k, which have mean D / 2. By Jensen that is at least ``exp(-D / (2 scale))``. Where that
is little, K itself is drawn instead: its masses are known within bounds, and decimals are added until the draw is
certain.

**The points.** A group of one number is uniform from -R to R. In a group of m, the number k of those that are not zero
is drawn first, then which, their signs, and their sizes: the gaps of a random set of k integers from 1 to R.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import sub

import numpy as np
from numpy.typing import NDArray

from privet.privacy.cube_law import points_by_support
from privet.tables.protocol import IntArray

Words = Callable[[int], NDArray[np.uint64]]
Below = Callable[[int], int]  # uniform from zero to below a number
Geometric = Callable[[int], IntArray]  # so many independent variables, of masses proportional to a^k

# Up to so many numbers per scale, rejection takes at most e trials on average. Beyond that, the table of all h_k is
# worth its time: a second, once, for two thousand numbers, and next to nothing for a hundred.
_MOST_NUMBERS_PER_SCALE = 2
_FIRST_DIGITS = 40


def draw_cube(scale: Fraction, groups: Sequence[int], geometric: Geometric, below: Below, words: Words) -> IntArray:
    """Draw one vector with mass proportional to exp(-largest L1 norm of a group / scale), exactly.

    Parameters
    ----------
    scale : Fraction
        Positive.
    groups : sequence of int
        The sizes of the consecutive groups.
    geometric, below, words : callable
        Where randomness comes from.
    """
    sizes = np.array(groups, dtype=np.int64)
    radius = draw_radius(scale, tuple(sorted(Counter(groups).items())), geometric, below)
    noise = np.empty(int(sizes.sum()), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    single = sizes == 1
    noise[starts[single]] = _within(radius, int(single.sum()), words)
    counts = {m: list(accumulate(points_by_support(m, radius))) for m in set(sizes[~single].tolist())}
    for start, m in zip(starts[~single].tolist(), sizes[~single].tolist(), strict=True):
        noise[start : start + m] = _point(m, radius, counts[m], below)
    return noise


def draw_radius(scale: Fraction, sizes: tuple[tuple[int, int], ...], geometric: Geometric, below: Below) -> int:
    """Draw the radius, for sizes of groups and how many there are of each."""
    n_numbers = sum(m * times for m, times in sizes)
    if n_numbers > _MOST_NUMBERS_PER_SCALE * scale:
        return _draw_start(_starts(sizes), scale, below) + int(geometric(n_numbers + 1).sum())
    parts = math.prod(math.factorial(m) ** times for m, times in sizes)
    while True:
        radius = int(geometric(n_numbers + 1).sum())
        most = math.perm(radius + n_numbers, n_numbers) << n_numbers
        if _coin(_points(sizes, radius) * parts, most, below):
            return radius


def _points(sizes: tuple[tuple[int, int], ...], radius: int) -> int:
    return math.prod(sum(points_by_support(m, radius)) ** times for m, times in sizes)


def _coin(p: int, q: int, below: Below) -> bool:
    """True with probability p / q: compares a uniform number with it, word by word, until they differ."""
    while True:
        digit, p = divmod(p << 64, q)
        random = below(2**64)
        if random != digit:
            return random < digit


@lru_cache(maxsize=16)
def _starts(sizes: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Return h_0, ..., h_D: the numbers of points, as a series times (1 - x)^(D + 1)."""
    n_numbers = sum(m * times for m, times in sizes)
    series = [_points(sizes, radius) for radius in range(n_numbers // 2 + 1)]
    for _ in range(n_numbers + 1):
        series = [series[0], *map(sub, series[1:], series[:-1])]
    return (*series, *series[: (n_numbers + 1) // 2][::-1])


def _draw_start(starts: Sequence[int], scale: Fraction, below: Below) -> int:
    """Draw k with mass proportional to ``starts[k] exp(-k / scale)``: more digits, and more bits of one uniform number.

    Every operation is off by a factor within 1 +- u, and so is the exponent. So exp(-1 / scale) is off by 1 / scale + 1
    times u, its powers by up to D times that and D more, and sums by D again; the slack is several times all of that.
    """
    digits, uniform, bits = _FIRST_DIGITS, 0, 0
    while True:
        uniform, bits = (uniform << 4 * digits) | below(1 << 4 * digits), bits + 4 * digits
        context = Context(prec=digits, Emax=10**15, Emin=-(10**15))
        decay = context.exp(context.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
        power, total, ends = Decimal(1), Decimal(0), []
        for start in starts:
            rest = max(0, start.bit_length() - 4 * digits)  # of bits that do not matter, and would take long to convert
            leading = context.multiply(Decimal(start >> rest), context.power(2, rest))
            total = context.add(total, context.multiply(leading, power))
            power = context.multiply(power, decay)
            ends.append(total)
        slack = Decimal(64 * (len(starts) + 1) * (math.ceil(1 / scale) + 4)).scaleb(1 - digits, context)
        unit = context.divide(total, Decimal(1 << bits))
        low, high = (context.multiply(Decimal(end), unit) for end in (uniform, uniform + 1))
        found = bisect_right(ends, low)
        clear_below = found == 0 or context.multiply(ends[found - 1], context.add(1, slack)) < low
        clear_above = found >= len(ends) - 1 or high < context.multiply(ends[found], context.subtract(1, slack))
        if found < len(ends) and clear_below and clear_above:
            return found
        digits *= 2


def _within(radius: int, size: int, words: Words) -> IntArray:
    """Draw so many independent integers, uniform from -radius to radius: random bits, those too large left out."""
    mask = np.uint64((1 << (2 * radius).bit_length()) - 1)
    found = np.empty(0, dtype=np.int64)
    while found.size < size:
        # At least half of them fit.
        drawn = words(2 * (size - found.size) + 8) & mask
        found = np.concatenate([found, drawn[drawn <= 2 * radius].astype(np.int64)])
    return found[:size] - radius


def _point(m: int, radius: int, counts: Sequence[int], below: Below) -> IntArray:
    """Draw a uniform point of m numbers with an L1 norm of at most `radius`; `counts` are cumulative, by support."""
    k = bisect_right(counts, below(counts[-1]))
    point = np.zeros(m, dtype=np.int64)
    if k:
        places, ends, signs = _subset(m, k, below), _subset(radius, k, below), below(1 << k)
        gaps = map(sub, ends, [0, *ends[:-1]])
        point[np.array(places) - 1] = [gap if signs >> i & 1 else -gap for i, gap in enumerate(gaps)]
    return point


def _subset(n: int, k: int, below: Below) -> list[int]:
    """Draw k different integers from 1 to n, sorted; every such set is equally likely (Floyd's algorithm)."""
    if k == n:
        return list(range(1, n + 1))
    chosen: set[int] = set()
    for last in range(n - k + 1, n + 1):
        drawn = below(last) + 1
        chosen.add(last if drawn in chosen else drawn)
    return sorted(chosen)
