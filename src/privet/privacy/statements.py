"""How a guarantee is stated: numbers that are exact or err on the safe side, and words that grade its strength."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from privet.privacy.terms import most_delta

SIGNIFICANT_DIGITS = 6

Strength = Literal["strong", "moderate", "weak", "hardly any", "none"]

# The grades of a guarantee, each with its largest epsilon and its largest delta; the worse of the two counts. Bounds of
# 1 and 10 on epsilon are common practice. For delta the common rule is "far below one in the number of people", but
# that number is not always public.
SCALE: tuple[tuple[Strength, Fraction, Fraction], ...] = (
    ("strong", Fraction(1), Fraction(1, 10**5)),
    ("moderate", Fraction(10), Fraction(1, 10**4)),
    ("weak", Fraction(20), Fraction(1, 10**3)),
    ("hardly any", Fraction(100), Fraction(1, 10)),
)

_MEANING: dict[Strength, str] = {
    "strong": "a strong guarantee by common practice",
    "moderate": "a moderate guarantee: it still bounds every attack, but loosely",
    "weak": "a weak guarantee: treat the model as if it stated facts about people",
    "hardly any": "hardly any guarantee: treat the model like the records themselves",
    "none": "no guarantee worth the name: treat the model like the records themselves",
}


def stated_up(x: Fraction | float | None, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Return a number as text that is exact where few digits suffice, else rounded up; None means no bound.

    A float counts as the decimal that it prints as.

    Examples
    --------
    >>> stated_up(1.0), stated_up(1e-6), stated_up(1.0000049), stated_up(Fraction(1, 3)), stated_up(None)
    ('1', '1e-06', '1.00001', '0.333334', 'inf')
    """
    return _stated(x, digits, up=True)


def stated_down(x: Fraction | float | None, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Return a number as text that is exact where few digits suffice, else rounded down: for what remains, or noise.

    Examples
    --------
    >>> stated_down(0.1), stated_down(Fraction(2, 3)), stated_down(0.99999999)
    ('0.1', '0.666666', '0.999999')
    """
    return _stated(x, digits, up=False)


def _stated(x: Fraction | float | None, digits: int, *, up: bool) -> str:
    if x is None or x == math.inf:
        return "inf"
    if x != x or x == -math.inf:
        return str(x)
    value = _as_typed(x)
    if value < 0:
        return f"-{_stated(-value, digits, up=not up)}"
    if value == 0:
        return "0"
    exponent = _exponent(value)
    scaled = value * Fraction(10) ** (digits - 1 - exponent)
    whole = math.ceil(scaled) if up else math.floor(scaled)
    if whole == 10**digits:
        whole, exponent = 10 ** (digits - 1), exponent + 1
    return _decimal(str(whole).rstrip("0"), exponent, digits)


def _exponent(value: Fraction) -> int:
    """Return the power of ten of the first digit, from the lengths of integers, since logarithms are inexact."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= Fraction(10) ** guess else guess - 1


def _decimal(figures: str, exponent: int, digits: int) -> str:
    """Write figures with a decimal point after the first, times a power of ten, as ``:g`` does."""
    if not -4 <= exponent < digits:
        point = "." if len(figures) > 1 else ""
        return f"{figures[0]}{point}{figures[1:]}e{exponent:+03d}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + figures
    whole, rest = figures[: exponent + 1].ljust(exponent + 1, "0"), figures[exponent + 1 :]
    return f"{whole}.{rest}" if rest else whole


def fixed_down(x: Fraction | float, places: int = 3) -> str:
    """Return a lower bound rounded down to a fixed number of decimals, for the columns of a table.

    Examples
    --------
    >>> fixed_down(1.2345), fixed_down(0.9999), fixed_down(math.inf)
    ('1.234', '0.999', 'inf')
    """
    if not math.isfinite(x):
        return str(x)
    whole = math.floor(_as_typed(x) * 10**places)
    return f"{Decimal(whole).scaleb(-places):f}"


def percent_up(share: float) -> str:
    """Return an upper bound on a probability as a percentage, rounded up; at most 100%.

    Examples
    --------
    >>> percent_up(0.7310586), percent_up(0.9999), percent_up(2e-5)
    ('73.2%', '100%', '0.002%')
    """
    return f"{stated_up(100 * min(1.0, share), 3)}%"


def percent_down(share: float) -> str:
    """Return a lower bound on a probability as a percentage, rounded down; below 0.01% it becomes zero.

    Examples
    --------
    >>> percent_down(0.2689414), percent_down(1e-9)
    ('26.8%', '0%')
    """
    return f"{stated_down(100 * share if share >= 1e-4 else 0.0, 3)}%"


@dataclass(frozen=True)
class Grade:
    """How strong a guarantee is, by epsilon *and* delta, as practitioners see it: a rule of thumb, not a law.

    Attributes
    ----------
    strength : {"strong", "moderate", "weak", "hardly any", "none"}
        The grade.
    reason : str
        What it means and why, in plain words, with the numbers that decide it.
    """

    strength: Strength
    reason: str

    @classmethod
    def of(cls, epsilon: float, delta: float, n_rows: int | None = None) -> Grade:
        """Grade a guarantee.

        Parameters
        ----------
        epsilon, delta : float
            The guarantee; epsilon is infinite if there is none.
        n_rows : int, optional
            The number of records, where it is public. A delta that is not far below one in that number is weak at
            best. A delta of that size is hardly any guarantee: it would allow publishing somebody's record as it is.

        Examples
        --------
        >>> Grade.of(1.0, 0.0).strength, Grade.of(1.0, 0.5).strength, Grade.of(1000.0, 0.0).strength
        ('strong', 'none', 'none')
        >>> print(Grade.of(1.0, 1e-6, n_rows=10**6))
        hardly any guarantee: treat the model like the records themselves (epsilon 1, delta 1e-06; delta is large)
        """
        by_epsilon = sum(epsilon > most for _, most, _ in SCALE)
        by_delta = _place_of_delta(_as_typed(delta), n_rows)
        place = max(by_epsilon, by_delta)
        grade: Strength = SCALE[place][0] if place < len(SCALE) else "none"
        why = f"epsilon {stated_up(epsilon)}" + (f", delta {stated_up(delta)}" if delta else "")
        large = [name for name, own in (("epsilon", by_epsilon), ("delta", by_delta)) if own == place]
        if place:
            why += f"; {' and '.join(large)} {'is' if len(large) == 1 else 'are'} large"
        return cls(grade, f"{_MEANING[grade]} ({why})")

    def __str__(self) -> str:
        return self.reason


def _place_of_delta(delta: Fraction, n_rows: int | None) -> int:
    place = sum(delta > most for _, _, most in SCALE)
    if n_rows is not None and delta > most_delta(n_rows):
        names = [name for name, _, _ in SCALE]
        place = max(place, names.index("hardly any" if delta * n_rows >= 1 else "weak"))
    return place


def _as_typed(x: Fraction | float) -> Fraction:
    return Fraction(repr(float(x))) if isinstance(x, float) else Fraction(x)


def delta_in_words(delta: Fraction | float) -> str:
    """Say what delta means. It is not the probability that a loss exceeds epsilon, which may be several times as large.

    Examples
    --------
    >>> delta_in_words(1e-6)
    'any probability may exceed what epsilon allows by up to 1e-06, one in 1,000,000'
    """
    one_in = math.floor(1 / _as_typed(delta))
    return f"any probability may exceed what epsilon allows by up to {stated_up(delta)}, one in {one_in:,}"


def odds_in_words(epsilon: float) -> str:
    """Say by what factor odds can change, or that there is no useful bound on it.

    Examples
    --------
    >>> odds_in_words(1.0), odds_in_words(1000.0)
    ('by a factor of at most 2.72', 'without a useful bound')
    """
    most_useful = SCALE[2][1]
    if epsilon > most_useful:
        return "without a useful bound"
    return f"by a factor of at most {stated_up(math.nextafter(math.exp(epsilon), math.inf), 3)}"
