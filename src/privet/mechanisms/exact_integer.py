"""Compiled exact samplers in 64-bit integers. Part of `samplers.py`, which alone imports this file.

The algorithms are those of Canonne, Kamath and Steinke (2020): everything is built from fair random digits, coins of
rational bias, and coins of bias exp(-x) for rational x. No floating point enters.

**Randomness** arrives as an array of independent uniform digits of 16 bits and a cursor into it. Each sampler is a
deterministic function of the digits from the cursor on, so it may be run on any long enough piece of one endless
stream of digits. When the digits run out in the middle of an item, the loop returns; `progress` says which item that
is and at which digit it began. The caller puts fresh digits *behind* the unfinished item's own and calls again: the
item then replays its own prefix, decision by decision, and goes on. That is exactly the run on the endless stream, so
nothing is biased. (To restart the item on fresh digits only would favour short runs.)

Only the first digits of whole powers of 1/e are tabulated, 64 bits at first. Where a coin agrees with all of them,
which happens once in 2^64 tosses, more digits are computed and the item is replayed in the same way.

**Overflow** is impossible within the stated bounds: numerators and denominators of coins below `LIMIT` = 2^47, so
that 2^16 times a numerator fits. The geometric part of a Laplace draw would have to reach 2^15, an event of
probability exp(-2^15), before a product left 63 bits.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined, inner, merged
from privet.tables.protocol import IntArray

LIMIT = 2**47
# Returned by a sampler when the digits ran out; no draw ever has this value.
DRY = -(2**63)
# Returned by a selection when more digits of a power of 1/e are needed.
UNDECIDED = DRY + 1
# Whole powers of 1/e up to this one are tossed as one coin; its first digit in base 2^16 is the last that is not zero.
LARGEST_POWER = 11

# Written as words of 64 bits: for a plain 0 or 1 numba would compile one more version of what it is passed to.
_ZERO: Any = np.int64(0)
_ONE: Any = np.int64(1)
_TWO: Any = np.int64(2)

Digits = NDArray[np.uint16]
Powers = NDArray[np.uint16]
Cursor = IntArray


@lru_cache(maxsize=64)
def powers_of_e(n_digits: int) -> Powers:
    """Return the first digits in base 2^16 of exp(-k), one row for each k from 0 to `LARGEST_POWER`.

    The series of exp(-k) alternates, so two neighbouring partial sums beyond its largest term have the limit between
    them; terms are added until both have the same digits. (The row of k = 0 is zero and never used.)
    """
    one, rows = 1 << 16 * n_digits, [[0] * n_digits]
    for k in range(1, LARGEST_POWER + 1):
        term, total, number = Fraction(one), Fraction(one), 0
        while True:
            number += 1
            term = term * -k / number
            before, total = total, total + term
            if number > k and math.floor(before) == math.floor(total):
                break
        digits = math.floor(total)
        rows.append([digits >> 16 * place & 0xFFFF for place in reversed(range(n_digits))])
    return np.array(rows, dtype=np.uint16)


@merged
def next_digit(digits: Digits, cursor: Cursor) -> int:
    """Take the next 16 random bits, or `DRY`."""
    at = cursor[0]
    if at >= digits.size:
        return DRY
    cursor[0] = at + 1
    return np.int64(digits[at])  # type: ignore[return-value]  # numba's int is int64


@inner
def below(n: int, digits: Digits, cursor: Cursor) -> int:
    """Uniform on 0..n-1, n <= LIMIT: take as many bits as n-1 has, and again while the number is too large."""
    mask = n - 1
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    mask |= mask >> 32
    while True:
        value = 0
        missing = mask
        while missing > 0:
            digit = next_digit(digits, cursor)
            if digit == DRY:
                return DRY
            value = (value << 16) | digit
            missing >>= 16
        value &= mask
        if value < n:
            return value


@merged
def coin(p: int, q: int, digits: Digits, cursor: Cursor) -> int:
    """1 with probability p/q, else 0; 0 <= p <= q <= LIMIT and p < LIMIT.

    Compares a uniform number with p/q digit by digit, in base 2^16, until they differ.
    """
    while True:
        random = next_digit(digits, cursor)
        if random == DRY:
            return DRY
        scaled = p << 16
        digit = scaled // q
        if random != digit:
            return 1 if random < digit else 0
        p = scaled - digit * q


@merged
def coin_exp(p: int, q: int, power: int, divisor: int, digits: Digits, cursor: Cursor) -> int:
    """1 with probability exp(-g), g = (p/q)^power / divisor, p and q as for `coin` (Algorithm 1 of the paper).

    Tosses coins of bias g/k for k = 1, 2, ... until one fails; the first to fail is an odd one with probability
    exp(-g). A coin of bias g/k is several coins at once, one for each factor, so no product needs room.
    """
    k = _ONE
    while True:
        toss = _ONE
        if k * divisor > 1:
            toss = coin(_ONE, k * divisor, digits, cursor)
        for _ in range(power):
            if toss == 1:
                toss = coin(p, q, digits, cursor)
        if toss == DRY:
            return DRY
        if toss == 0:
            return k & 1  # type: ignore[no-any-return]  # numba's int is int64
        k += 1


@inner
def all_coins_exp(times: int, p: int, q: int, power: int, digits: Digits, cursor: Cursor) -> int:
    """1 with probability exp(-times (p/q)^power): as many coins, up to the first failure."""
    for _ in range(times):
        toss = coin_exp(p, q, power, _ONE, digits, cursor)
        if toss != 1:
            return toss
    return 1


@inner
def laplace(s: int, d: int, digits: Digits, cursor: Cursor) -> int:
    """Discrete Laplace of scale s/d, s <= LIMIT (Algorithm 2 of the paper)."""
    while True:
        rest = below(s, digits, cursor)
        if rest == DRY:
            return DRY
        toss = coin_exp(rest, s, _ONE, _ONE, digits, cursor)
        if toss == DRY:
            return DRY
        if toss == 0:
            continue
        whole = 0
        while True:
            toss = coin_exp(_ZERO, _ONE, _ZERO, _ONE, digits, cursor)
            if toss == DRY:
                return DRY
            if toss == 0:
                break
            whole += 1
        magnitude = (rest + s * whole) // d
        digit = next_digit(digits, cursor)
        if digit == DRY:
            return DRY
        if digit & 1 == 0:
            return magnitude
        if magnitude > 0:  # else: zero would be counted twice, so draw again
            return -magnitude


@inlined
def gaussian(s: int, d: int, digits: Digits, cursor: Cursor) -> int:
    """Discrete Gaussian of sigma = s/d, s <= LIMIT (Algorithm 3 of the paper, with a proposal of scale sigma).

    A Laplace draw y is kept with probability exp(-(|y| - sigma)^2 / (2 sigma^2)). With
    ||y| - sigma| / sigma = a + b, a whole and 0 <= b < 1, the exponent is a^2/2 + a b + b^2/2: three kinds of coins
    whose fractions all have denominator s.
    """
    while True:
        y = laplace(s, d, digits, cursor)
        if y == DRY:
            return DRY
        distance = abs(abs(y) * d - s)  # |y| d is at most the numerator that `laplace` divided by d
        a = distance // s
        b = distance - a * s
        toss = all_coins_exp(a * a // 2, _ZERO, _ONE, _ZERO, digits, cursor)
        if toss == 1 and a & 1 == 1:
            toss = coin_exp(_ZERO, _ONE, _ZERO, _TWO, digits, cursor)
        if toss == 1:
            toss = all_coins_exp(a, b, s, _ONE, digits, cursor)
        if toss == 1:
            toss = coin_exp(b, s, _TWO, _TWO, digits, cursor)
        if toss == DRY:
            return DRY
        if toss == 1:
            return y


@inner
def coin_power(power: Digits, digits: Digits, cursor: Cursor) -> int:
    """1 with the probability whose digits in base 2^16 are given, as far as they are known.

    A uniform number is compared digit by digit; `UNDECIDED` where it agrees with all that are known.
    """
    for place in range(power.size):
        random = next_digit(digits, cursor)
        if random == DRY:
            return DRY
        if random != power[place]:
            return 1 if random < power[place] else 0
    return UNDECIDED


@inner
def coin_gap(gap: int, p: int, q: int, tossed: int, powers: Powers, digits: Digits, cursor: Cursor) -> int:
    """1 with probability exp(tossed - gap p/q); 0 <= tossed <= gap p/q and tossed below len(powers), q <= LIMIT.

    A gap whose product with p would not fit is taken in pieces that do: exp(-(a + b)) is two coins. So is a whole
    number of units beyond the last of the powers.
    """
    fits = (2**62) // max(p, 1)
    while True:
        piece = min(gap, fits)
        product = piece * p
        whole = product // q
        rest = product - whole * q
        whole -= tossed
        tossed = 0
        while whole > 0:
            step = min(whole, len(powers) - 1)
            toss = coin_power(powers[step], digits, cursor)
            if toss != 1:
                return toss
            whole -= step
        toss = coin_exp(rest, q, _ONE, _ONE, digits, cursor)
        if toss != 1:
            return toss
        gap -= piece
        if gap == 0:
            return 1


@inlined
def largest(scores: IntArray) -> int:
    """Return the largest score; numba's own maximum takes long to compile."""
    top = scores[0]
    for score in scores:
        top = max(top, score)
    return top  # type: ignore[no-any-return]  # numba's int is int64


@inlined
def permute_and_flip(
    scores: IntArray, p: int, q: int, powers: Powers, heads: IntArray, digits: Digits, cursor: Cursor
) -> int:
    """Toss every candidate's coin exp(-(max - score) p/q); one of those that show heads wins, all equally likely.

    This is permute-and-flip: it visits candidates in random order and takes the first whose coin shows heads, which
    is any of the heads with equal probability. No order is needed, and most candidates cost one digit.
    """
    top, last, found = largest(scores), len(powers) - 1, _ZERO
    far = -(-last * q // p) if p > 0 else 2**63 - 1  # gaps from here on have a first coin of bias exp(-last)
    for candidate in range(scores.size):
        gap, tossed = top - scores[candidate], _ZERO
        if gap >= far:
            toss, tossed = coin_power(powers[last], digits, cursor), last
            if toss == 0:
                continue
            if toss != 1:
                return toss
        toss = coin_gap(gap, p, q, tossed, powers, digits, cursor)
        if toss < 0:
            return toss
        heads[found] = candidate
        found += toss
    winner = below(found, digits, cursor)
    return winner if winner == DRY else heads[winner]


@inlined
def exponential_mechanism(scores: IntArray, p: int, q: int, powers: Powers, digits: Digits, cursor: Cursor) -> int:
    """Visit candidates at random, again and again; the first whose coin exp(-(max - score) p/q) succeeds wins."""
    top = largest(scores)
    while True:
        candidate = below(scores.size, digits, cursor)
        if candidate == DRY:
            return DRY
        toss = coin_gap(top - scores[candidate], p, q, _ZERO, powers, digits, cursor)
        if toss < 0:
            return toss
        if toss == 1:
            return candidate


@compiled
def fill_laplace(s: int, d: int, out: IntArray, digits: Digits, progress: Cursor) -> None:
    """Draw out[progress[0]:], from digits[progress[1]:] on, until done or dry; progress[2:] is room for a cursor."""
    cursor = progress[2:]
    cursor[0] = progress[1]
    for item in range(progress[0], out.size):
        draw = laplace(s, d, digits, cursor)
        if draw == DRY:
            return
        out[item] = draw
        progress[0], progress[1] = item + 1, cursor[0]


@compiled
def fill_gaussian(s: int, d: int, out: IntArray, digits: Digits, progress: Cursor) -> None:
    """As `fill_laplace`, for the discrete Gaussian."""
    cursor = progress[2:]
    cursor[0] = progress[1]
    for item in range(progress[0], out.size):
        draw = gaussian(s, d, digits, cursor)
        if draw == DRY:
            return
        out[item] = draw
        progress[0], progress[1] = item + 1, cursor[0]


@compiled
def fill_flips(
    scores: IntArray,
    p: int,
    q: int,
    heads: IntArray,
    powers: Powers,
    out: IntArray,
    digits: Digits,
    progress: Cursor,
) -> bool:
    """As `fill_laplace`, for one selection without replacement in each row of scores; `heads` is room for a row.

    Returns whether it was the powers' digits that ran out: the caller finds more of them and calls again.
    """
    cursor = progress[2:]
    cursor[0] = progress[1]
    for item in range(progress[0], out.size):
        winner = permute_and_flip(scores[item], p, q, powers, heads, digits, cursor)
        if winner < 0:
            return winner == UNDECIDED
        out[item] = winner
        progress[0], progress[1] = item + 1, cursor[0]
    return False


@compiled
def fill_exponential(
    scores: IntArray,
    p: int,
    q: int,
    powers: Powers,
    out: IntArray,
    digits: Digits,
    progress: Cursor,
) -> bool:
    """As `fill_flips`, with replacement. Two functions, since most fits need one of them only."""
    cursor = progress[2:]
    cursor[0] = progress[1]
    for item in range(progress[0], out.size):
        winner = exponential_mechanism(scores[item], p, q, powers, digits, cursor)
        if winner < 0:
            return winner == UNDECIDED
        out[item] = winner
        progress[0], progress[1] = item + 1, cursor[0]
    return False
