"""The cuts of fine grids, thousands at once: the doubles that exact arithmetic would give, cut by cut.

Cut i of a grid is f(i) for a function that splits at any j: of equal cells f(j + k) = f(j) + k times the width, of
growing ones the power of j + k is that of j times that of k. So with i = 256 j + k a grid of 65,534 cells has 512
numbers in two tables, computed exactly, and its cuts are their sums or products. Smaller grids have smaller steps.

Numbers in the tables are *pairs* of doubles, whose sum is what they stand for, with twice the digits of a double. The
result of an operation on pairs is within a known distance of the exact one. Where all that lies within that distance
rounds to the same double, this is the cut; where it does not, which is once in 2^40 or where an exact cut lies halfway
between two doubles, the cut is computed by itself. (Dekker, 1971, has these operations and their errors.)
"""

from collections.abc import Callable
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Pair = tuple[Doubles, Doubles]
Ratio = tuple[int, int]

_SPLITTER = 2.0**27 + 1
# Of the operations below none is off by more than 2^-100 of what goes into it; this leaves ample room.
_ERROR = 2.0**-92
LEAST, MOST = 1e-200, 1e200  # within these no product here leaves the range of doubles, and no error gets lost below it


def fits(*numbers: float) -> bool:
    """Whether pairs of doubles of these sizes do what is said of them."""
    return all(number == 0 or LEAST <= abs(number) <= MOST for number in numbers)


def sums(at: Callable[[int], Ratio], step: Callable[[int], Ratio], bins: int) -> tuple[Pair, Doubles]:
    """Return cuts 1 to bins - 1 as pairs, each the sum of `at` at a multiple of some number and of `step` beyond it."""
    coarse, fine = _tables(at, step, bins)
    total, error = _two_sum(coarse[0], fine[0])
    pair = _normalised(total, error + (coarse[1] + fine[1]))
    return pair, _ERROR * (np.abs(coarse[0]) + np.abs(fine[0]))


def products(power: Callable[[int], Ratio], offset: Ratio, bins: int) -> tuple[Pair, Doubles]:
    """Return cuts 1 to bins - 1 as pairs, each the power of its number plus an offset; powers are 1 and more."""
    coarse, fine = _tables(power, power, bins)
    product, error = _two_product(coarse[0], fine[0])
    product, error = _normalised(product, error + (coarse[0] * fine[1] + coarse[1] * fine[0]))
    constant, rest = _pair(offset)
    total, lost = _two_sum(product, np.full_like(product, constant))
    pair = _normalised(total, lost + (error + rest))
    return pair, _ERROR * (np.abs(product) + abs(constant))


def rounded(pair: Pair, error: Doubles, exactly: Callable[[int], float]) -> Doubles:
    """Return the double that is nearest to each exact number within `error` of a pair; `exactly(i)` says where unsure.

    Rounding never changes the order of two numbers. So if both ends of a range round to one double, all of it does.
    """
    cuts, rest = pair
    cuts = cuts.copy()
    unsure = (cuts + (rest + error) != cuts) | (cuts + (rest - error) != cuts)
    for place in np.flatnonzero(unsure).tolist():
        cuts[place] = exactly(place + 1)
    return cuts


def _tables(coarse: Callable[[int], Ratio], fine: Callable[[int], Ratio], bins: int) -> tuple[Pair, Pair]:
    """Return, for each cut, the pair of its multiple of a step and that of what is left."""
    number, step = np.arange(1, bins), isqrt(bins)
    large = np.array([_pair(coarse(step * j)) for j in range(bins // step + 1)])
    small = np.array([_pair(fine(k)) for k in range(step)])
    return tuple(large[number // step].T), tuple(small[number % step].T)


def _pair(exact: Ratio) -> tuple[float, float]:
    # Whole numbers, whose quotients Python rounds correctly, since fractions would be reduced again and again.
    numerator, denominator = exact
    nearest = numerator / denominator
    n, d = nearest.as_integer_ratio()
    return nearest, (numerator * d - n * denominator) / (denominator * d)


def _two_sum(a: Doubles, b: Doubles) -> Pair:
    """Return the rounded sum and, exactly, what rounding has lost."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _normalised(large: Doubles, small: Doubles) -> Pair:
    """Let the first be the sum of both, rounded; the second is, exactly, what that loses."""
    return _two_sum(large, small)


def _two_product(a: Doubles, b: Doubles) -> Pair:
    """Return the rounded product and, exactly, what rounding has lost."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Doubles) -> Pair:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
