"""The draws: exact samples of every mechanism's law. Only `release.py` imports this file.

Two engines draw from one and the same law, to the last bit of every parameter:

- *Bulk samplers* (`exact_integer.py`, compiled) handle every friendly parameter.
- *Big integers* (`BigSampler`, plain Python) serve parameters that do not fit 64-bit arithmetic; and small requests
  from the operating system's source, up to `FEW` noise draws or one selection among as many candidates, which are done
  long before the bulk samplers would be compiled.

Which engine serves a request depends on the parameter, the shape of the request and the kind of source, which are
public; and, where scores are more than 2^63 apart, on the scores. Both engines have the same law, so the choice reveals
nothing through the output. Running time does depend on what is drawn and, for selections, on the scores; hiding it is
out of scope.

Cube noise (`cube_sampling.py`) is made of discrete Laplace draws and of uniform integers of any size.

Draws are int64. Scales and sigmas up to 2^50 are accepted: a draw that does not fit 62 bits would have to lie 2^12
scales out, which has probability below exp(-4096).
"""

import math
import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.mechanisms.cube_sampling import draw_cube
from privet.mechanisms.exact_integer import (
    LIMIT,
    fill_exponential,
    fill_flips,
    fill_gaussian,
    fill_laplace,
    powers_of_e,
)
from privet.mechanisms.joint_sampling import draw_cuts
from privet.parameters import LARGEST_SCALE
from privet.tables.protocol import IntArray

__all__ = [
    "Source",
    "SystemSource",
    "discrete_cube",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_mechanism",
    "joint_cuts",
    "key",
    "permute_and_flip",
]


FEW = 16
# How many digits (of 16 bits) of the powers of 1/e are tabulated at first; they hardly ever are too few.
_FIRST_POWER_DIGITS = 4
# The most words that are fetched at once; this many stay in the processor's cache.
_MOST_WORDS_AT_ONCE = 2**15
_ONE = Fraction(1)


class Source(Protocol):
    """Where random words come from."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return `n` independent uniform words of 64 bits."""
        ...


class SystemSource:
    """Random words from the operating system's secure source.

    No word is kept between calls, so threads and forked children share nothing, and no secret stays in memory.
    """

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return `n` fresh words."""
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


def key(source: Source) -> bytes:
    """Draw a key of 16 bytes for a keyed hash."""
    return source.words(2).tobytes()


def discrete_laplace(scale: Fraction, size: int, source: Source) -> IntArray:
    """Draw independent discrete Laplace noise, P(k) proportional to exp(-|k| / scale).

    Parameters
    ----------
    scale : Fraction
        Positive, at most 2^50.
    size : int
        How many.
    source : Source
        Where the random words come from.

    Returns
    -------
    int64 array of shape (size,)
    """
    _check_scale(scale, Fraction(LARGEST_SCALE), "scale")
    if not _are_few(size, source) and scale.numerator <= LIMIT and scale.denominator < 2**62:
        s, d = scale.numerator, scale.denominator
        return _in_bulk(lambda *state: fill_laplace(s, d, *state), size, 4, source)
    sampler = BigSampler(source.words)
    return np.array([sampler.laplace(scale) for _ in range(size)], dtype=np.int64)


def discrete_gaussian(sigma_squared: Fraction, size: int, source: Source) -> IntArray:
    """Draw independent discrete Gaussian noise, P(k) proportional to exp(-k^2 / (2 sigma_squared)).

    Parameters
    ----------
    sigma_squared : Fraction
        Positive, at most 2^100. Fast where it is the square of a fraction, as every friendly one is.
    size : int
        How many.
    source : Source
        Where the random words come from.

    Returns
    -------
    int64 array of shape (size,)
    """
    _check_scale(sigma_squared, Fraction(LARGEST_SCALE) ** 2, "sigma_squared")
    sigma = None if _are_few(size, source) else _exact_root(sigma_squared)
    if sigma is not None and sigma.numerator <= LIMIT and sigma.denominator < 2**62:
        s, d = sigma.numerator, sigma.denominator
        return _in_bulk(lambda *state: fill_gaussian(s, d, *state), size, 8, source)
    sampler = BigSampler(source.words)
    return np.array([sampler.gaussian(sigma_squared) for _ in range(size)], dtype=np.int64)


def discrete_cube(scale: Fraction, groups: Sequence[int], source: Source) -> IntArray:
    """Draw one vector of cube noise, P(z) proportional to exp(-largest L1 norm of a group of z / scale).

    Parameters
    ----------
    scale : Fraction
        Positive; times one more than there are numbers, at most 2^50: the noise is about as large as that.
    groups : sequence of int
        The sizes of the consecutive groups of numbers, all positive; see `cube_sampling.py`.
    source : Source
        Where the random words come from.

    Returns
    -------
    int64 array of shape (sum of groups,)
    """
    _check_scale(scale, Fraction(LARGEST_SCALE, sum(groups) + 1), "scale")

    def geometric(size: int) -> IntArray:
        # Discrete Laplace noise, given that it is not negative, is geometric; it is more often than not.
        found = np.empty(0, dtype=np.int64)
        while found.size < size:
            drawn = discrete_laplace(scale, 2 * (size - found.size) + 4, source)
            found = np.concatenate([found, drawn[drawn >= 0]])
        return found[:size]

    return draw_cube(scale, groups, geometric, BigSampler(source.words).below, source.words)


def permute_and_flip(scores: IntArray, rate: Fraction, source: Source) -> IntArray:
    """Select one candidate in each row by permute-and-flip; see `laws.permute_and_flip` for law and privacy.

    Parameters
    ----------
    scores : int64 array of shape (rows, candidates)
    rate : Fraction
        At least 0; multiplies the integer scores as they are.
    source : Source
        Where the random words come from.

    Returns
    -------
    int64 array of shape (rows,)
    """
    return _select(scores, rate, source, replace=False)


def exponential_mechanism(scores: IntArray, rate: Fraction, source: Source) -> IntArray:
    """Select one candidate in each row, with probability proportional to exp(rate * score).

    Parameters and result as for `permute_and_flip`.
    """
    return _select(scores, rate, source, replace=True)


def joint_cuts(below: IntArray, n_cuts: int, rate: Fraction, source: Source) -> IntArray:
    """Draw sorted cuts by the exponential mechanism over all tuples of them; see `joint_sampling.py`.

    Parameters
    ----------
    below : int64 array of at least two cells
        The number of records at or below each cell.
    n_cuts : int
        At least one.
    rate : Fraction
        At least 0.
    source : Source
        Where the random words come from.
    """
    if rate < 0:
        raise ParameterError(f"a selection's rate must not be negative; got {rate}")
    return np.array(draw_cuts(below, n_cuts, rate, source.words), dtype=np.int64)


def _select(scores: IntArray, rate: Fraction, source: Source, replace: bool) -> IntArray:
    if rate < 0:
        raise ParameterError(f"a selection's rate must not be negative; got {rate}")
    if scores.dtype != np.int64 or scores.ndim != 2 or scores.shape[1] == 0:
        raise ParameterError("scores are an int64 array of shape (rows, candidates) with at least one candidate")
    n_rows = scores.shape[0]
    if n_rows == 0:
        return np.empty(0, dtype=np.int64)
    few = n_rows == 1 and _are_few(scores.shape[1], source)
    spread = int(scores.max()) - int(scores.min())
    if not few and rate.denominator <= LIMIT and rate.numerator < 2**62 and spread < 2**63:
        table, p, q = np.ascontiguousarray(scores), rate.numerator, rate.denominator
        # Most candidates take one digit, and a word has four. If there are too few digits, a row is begun again.
        words = max(2, scores.shape[1] * 5 // 16)
        heads = np.empty(scores.shape[1], dtype=np.int64)

        def fill_some(powers: NDArray[np.uint16], *state: Any) -> bool:
            if replace:
                return fill_exponential(table, p, q, powers, *state)
            return fill_flips(table, p, q, heads, powers, *state)

        def fill(*state: Any) -> None:
            n_digits = _FIRST_POWER_DIGITS
            while fill_some(powers_of_e(n_digits), *state):
                n_digits *= 2

        return _in_bulk(fill, n_rows, words, source)
    sampler = BigSampler(source.words)
    return np.array([sampler.select(row, rate, replace) for row in scores.tolist()], dtype=np.int64)


def _in_bulk(
    fill: Callable[[IntArray, NDArray[np.uint16], IntArray], None],
    size: int,
    words_per_item: int,
    source: Source,
) -> IntArray:
    """Run a compiled loop and feed it digits: those of an unfinished item first, then fresh ones."""
    out = np.empty(size, dtype=np.int64)
    progress = np.zeros(3, dtype=np.int64)
    digits = np.empty(0, dtype=np.uint16)
    while progress[0] < size:
        unfinished = digits[progress[1] :]
        expected = min(words_per_item * (size - int(progress[0])) + 16, _MOST_WORDS_AT_ONCE)
        fresh = source.words(max(expected, unfinished.size // 4)).view(np.uint16)
        digits = np.concatenate([unfinished, fresh])
        progress[1] = 0
        fill(out, digits, progress)
    return out


def _check_scale(value: Fraction, largest: Fraction, name: str) -> None:
    if not 0 < value <= largest:
        raise ParameterError(f"{name} must be positive and at most {largest}; got {value}")


def _exact_root(x: Fraction) -> Fraction | None:
    """The square root, if it is a fraction."""
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return root if root**2 == x else None


def _are_few(size: int, source: Source) -> bool:
    """Whether plain Python will do. Seeds always go to the bulk samplers, whose streams so stay what they were."""
    return size <= FEW and isinstance(source, SystemSource)


class BigSampler:
    """The exact samplers on integers of any size; the algorithms are those of Canonne, Kamath and Steinke (2020).

    They draw on a function that gives n random words; words left over are forgotten with the sampler. A draw takes some
    20 to 40 microseconds, about a hundred times as long as in bulk, and nothing has to be compiled.
    """

    def __init__(self, words: Callable[[int], NDArray[np.uint64]]) -> None:
        self._fetch = words
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """Uniform on 0..n-1, by rejection."""
        bits = (n - 1).bit_length()
        while True:
            value = 0
            for _ in range(-(-bits // 64)):
                if not self._words:
                    self._words = self._fetch(256).tolist()
                value = (value << 64) | self._words.pop()
            value &= (1 << bits) - 1
            if value < n:
                return value

    def coin(self, p: Fraction) -> bool:
        """True with probability p."""
        return self.below(p.denominator) < p.numerator

    def coin_exp(self, x: Fraction) -> bool:
        """True with probability exp(-x), x >= 0 (Algorithm 1)."""
        while x > 1:
            if not self._coin_exp_fraction(_ONE):
                return False
            x -= 1
        return self._coin_exp_fraction(x)

    def _coin_exp_fraction(self, x: Fraction) -> bool:
        k = 1
        while self.coin(x / k):
            k += 1
        return k % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        """Discrete Laplace (Algorithm 2)."""
        s, d = scale.numerator, scale.denominator
        while True:
            rest = self.below(s)
            if not self.coin_exp(Fraction(rest, s)):
                continue
            whole = 0
            while self.coin_exp(_ONE):
                whole += 1
            magnitude = (rest + s * whole) // d
            negative = self.below(2) == 1
            if negative and magnitude == 0:
                continue
            return -magnitude if negative else magnitude

    def gaussian(self, sigma_squared: Fraction) -> int:
        """Discrete Gaussian (Algorithm 3)."""
        proposal = Fraction(math.isqrt(math.floor(sigma_squared)) + 1)
        while True:
            y = self.laplace(proposal)
            if self.coin_exp((abs(y) - sigma_squared / proposal) ** 2 / (2 * sigma_squared)):
                return y

    def select(self, scores: Sequence[int], rate: Fraction, replace: bool) -> int:
        """Permute-and-flip (without replacement) or the exponential mechanism (with)."""
        top = max(scores)
        order = list(range(len(scores)))
        while True:
            place = self.below(len(order))
            candidate = order[place]
            if self.coin_exp(rate * (top - scores[candidate])):
                return candidate
            if not replace:
                order[place] = order[-1]
                order.pop()
