"""Exact draws of all quantiles of one feature at once, by the exponential mechanism over sorted tuples.

A tuple's score (`joint_exponential.py`) is a sum over neighbouring cuts, so a dynamic programme gives the law of each
cut given the one before.

The weights are exponentials of rationals, which no computer holds exactly. Here they are known within bounds, first in
double precision. Where a draw falls closer to the border of two outcomes than the bounds allow, it is decided again
with 50 digits, then 100, and so on, and with further random bits of the same draw. Every decision is the right one, so
the law is the exact one. Part of `samplers.py`, and protected like it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.tables.protocol import Floats, IntArray

Words = Callable[[int], NDArray[np.uint64]]

_FIRST_DIGITS = 50
# Bounds on the rounding errors of doubles: of logarithms and exponentials, per unit of an exponent, per term of a sum.
_SLACK = 2.0**-36
_SLACK_OF_EXPONENTS = 2.0**-44
_SLACK_OF_SUMS = 2.0**-51
_MOST_SLACK = 2.0**-10
_NEGLIGIBLE_EXPONENT = -45.0  # a hundred thousand terms with such exponents are within the slack beside 1


def draw_cuts(below: IntArray, n_cuts: int, rate: Fraction, words: Words, most_slack: float = _MOST_SLACK) -> list[int]:
    """Draw sorted cuts with probability proportional to ``exp(rate * score)``, exactly.

    Parameters
    ----------
    below : int64 array of at least two cells
        The number of records at or below each cell.
    n_cuts : int
        How many; cuts may coincide.
    rate : Fraction
        At least 0; multiplies the scores of `scores_of_cuts`.
    words : callable
        Gives random words.
    most_slack : float
        Doubles are not used at all if the bound on their error exceeds this.
    """
    in_doubles = _Doubles(below, n_cuts, rate)
    cuts: list[int] = []
    for place in range(n_cuts):
        before = cuts[-1] if cuts else None
        word = int(words(1)[0])
        found = in_doubles.decide(place, before, word) if in_doubles.slack <= most_slack else None
        if found is None:
            found = _decide_exactly(below, n_cuts, rate, place, before, word, words)
        cuts.append(found)
    return cuts


@compiled
def _weigh_backwards(counts: Floats, after: Floats, rate: float, k: int, n_records: float, out: Floats) -> None:
    """Write the logarithm of the weight of all continuations of every cut, given that of the cut after it."""
    for low in range(counts.size):
        top = -np.inf
        for high in range(low, counts.size):
            top = max(top, after[high] - rate * abs(k * (counts[high] - counts[low]) - n_records))
        total = 0.0
        for high in range(low, counts.size):
            gap = after[high] - rate * abs(k * (counts[high] - counts[low]) - n_records) - top
            if gap > _NEGLIGIBLE_EXPONENT:
                total += np.exp(gap)
        out[low] = top + np.log(total)


class _Doubles:
    """The dynamic programme in logarithms, in double precision."""

    def __init__(self, below: IntArray, n_cuts: int, rate: Fraction) -> None:
        self._counts, self._n_records = below[:-1].astype(np.float64), float(below[-1])
        self._rate, self._k = float(rate), n_cuts + 1
        rest = self._step(self._n_records - self._counts)
        self._rests = [rest]  # from the last cut backwards
        for _ in range(n_cuts - 1):
            before = np.empty_like(rest)
            _weigh_backwards(self._counts, rest, self._rate, self._k, self._n_records, before)
            self._rests.append(before)
            rest = before
        largest = max(float(np.abs(rest).max()) for rest in self._rests) + self._rate * self._k * self._n_records
        sums = self._counts.size * (n_cuts + 1)
        self.slack = _SLACK + _SLACK_OF_EXPONENTS * largest + _SLACK_OF_SUMS * sums

    def _step(self, inside: Floats) -> Floats:
        logs: Floats = -self._rate * np.abs(self._k * inside - self._n_records)
        return logs

    def decide(self, place: int, before: int | None, word: int) -> int | None:
        """Return the cut that a uniform number beginning with `word` falls on; None if that is not certain."""
        first = 0 if before is None else before
        start = 0.0 if before is None else self._counts[before]
        logs = self._step(self._counts[first:] - start) + self._rests[len(self._rests) - 1 - place][first:]
        ends = np.cumsum(np.exp(logs - logs.max()))
        ends /= ends[-1]
        uniform = word / 2.0**64
        found = int(np.searchsorted(ends, uniform, side="right"))
        if found == len(ends):
            return None
        # The first outcome has no border below it, and the last none above it.
        clear_below = found == 0 or uniform - ends[found - 1] > self.slack
        clear_above = found == len(ends) - 1 or ends[found] - uniform > self.slack
        return first + found if clear_below and clear_above else None


def _decide_exactly(
    below: IntArray, n_cuts: int, rate: Fraction, place: int, before: int | None, word: int, words: Words
) -> int:
    """Decide with more and more digits, and further bits of the same uniform number."""
    digits, uniform, bits = _FIRST_DIGITS, word, 64
    while True:
        fetched = words(digits // 19 + 1).tolist()
        for further in fetched:
            uniform, bits = (uniform << 64) | further, bits + 64
        weights, error = _weights(below, n_cuts, rate, place, before, digits)
        ends, lost = list(accumulate(weights)), len(weights)
        # Each end, and so the sum, is known up to a factor and rounded down by less than one per weight. Compare the
        # ends with the uniform number times the sum.
        low, high = (1 - error) / (1 + error), (1 + error) / (1 - error)
        at_least, at_most = Fraction(uniform, 2**bits) * ends[-1], Fraction(uniform + 1, 2**bits) * (ends[-1] + lost)
        cut = bisect_right(ends, at_least)
        first = before or 0
        clear_below = cut <= first or (ends[cut - 1] + lost) * high < at_least
        clear_above = cut == len(ends) - 1 or (cut < len(ends) and at_most < ends[cut] * low)
        if clear_below and clear_above:
            return max(cut, first)
        digits *= 2


def _weights(
    below: IntArray, n_cuts: int, rate: Fraction, place: int, before: int | None, digits: int
) -> tuple[list[int], Fraction]:
    """Return the weight of every cut at `place` after `before`, and a bound on their relative errors.

    Weights are whole numbers, rounded down, in units that give the largest of them twice `digits` digits. Fractions
    would need enough digits for the smallest weight, which for many records is millions.
    """
    context = Context(prec=digits, Emax=10**15, Emin=-(10**15))
    known: dict[int, Decimal] = {}

    def weight(cost: int) -> Decimal:
        if cost not in known:
            exponent = context.divide(Decimal(-rate.numerator * cost), Decimal(rate.denominator))
            known[cost] = context.exp(exponent)
        return known[cost]

    counts, n_records, k = below[:-1].tolist(), int(below[-1]), n_cuts + 1

    def step(low: int, high: int) -> Decimal:
        return weight(abs(k * (high - low) - n_records))

    rest = [step(count, n_records) for count in counts]
    for _ in range(n_cuts - 1 - place):
        rest = [
            _sum(context, (context.multiply(step(low, high), r) for high, r in zip(counts[a:], rest[a:], strict=True)))
            for a, low in enumerate(counts)
        ]
    start = 0 if before is None else counts[before]
    weights = [
        Decimal(0) if before is not None and cut < before else context.multiply(step(start, count), rest[cut])
        for cut, count in enumerate(counts)
    ]
    shift = 2 * digits - max(weight.adjusted() for weight in weights if weight)
    units = [int(weight.scaleb(shift, context)) if weight.adjusted() + shift >= 0 else 0 for weight in weights]
    # Each exponent is off by a relative 10^(1 - digits), every operation on positive numbers by as much again.
    largest = max(1, int(rate * k * n_records) + 1)
    operations = (n_cuts + 1) * (largest + len(counts) + 4)
    return units, Fraction(2 * operations, 10 ** (digits - 1))


def _sum(context: Context, terms: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for term in terms:
        total = context.add(total, term)
    return total
