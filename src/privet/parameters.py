"""What users' parameters mean, and checks of them. Each error says what was expected, what was given, what to do."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from privet.errors import ParameterError

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Auto = Literal["auto"]  # the learner decides, from public facts
# A public guess at the number of records; None to buy one where it helps; "unknown" to do without.
RowsHint = int | Literal["unknown"] | None
MOST_ROWS = 10**15  # of a hint: more than any table has, and safe for arithmetic in doubles
LARGEST_SCALE = 2**50  # of noise that is drawn exactly


def exact(value: object, name: str) -> Fraction:
    """Read a user's number as the decimal that was typed: 0.1 becomes 1/10, and not the double nearest to it.

    Examples
    --------
    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{name} must be a number, got {type(value).__name__}: pass e.g. {name}=1.0")
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    number = float(value)
    if not math.isfinite(number):
        raise ParameterError(f"{name} must be finite, got {number}: pass e.g. {name}=1.0")
    return Fraction(repr(number))


def check_whole(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number between `low` and `high`, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{name} must be a whole number, got {value!r}: pass one from {low} to {high}")
    number = int(value)
    if not low <= number <= high:
        raise ParameterError(f"{name} must be from {low} to {high}, got {number}")
    return number


def check_whole_or_auto(name: str, value: object, low: int, high: int) -> int | None:
    """Return None for "auto", which leaves the choice to the learner, else a whole number between `low` and `high`.

    Examples
    --------
    >>> check_whole_or_auto("max_depth", "auto", 1, 8) is None
    True
    """
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{name} must be a whole number or 'auto', got {value!r}: pass one from {low} to {high}")
    return check_whole(name, value, low, high)


def check_rows_hint(value: object) -> int | None:
    """Return the number of records that a hint states, None if it states none, or say what is wrong with it.

    Examples
    --------
    >>> check_rows_hint(5_000), check_rows_hint("unknown")
    (5000, None)
    """
    if value is None or (isinstance(value, str) and value == "unknown"):
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= int(value) <= MOST_ROWS:
        raise ParameterError(
            "n_rows_hint must be a public whole number, at least 1 and at most 10^15, "
            f"got {value!r:.40}: or leave it at None, or say 'unknown'"
        )
    return int(value)


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`, or say which there are."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def threads(n_jobs: int | None) -> int:
    """Return the number of threads that scikit-learn's ``n_jobs`` means."""
    if n_jobs is None:
        return 1
    import joblib

    return int(joblib.effective_n_jobs(n_jobs))


def public_rng(random_state: RandomState = None) -> np.random.Generator:
    """Turn what scikit-learn accepts as `random_state` into a NumPy generator.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        None gives a freshly seeded generator, and an int the same generator each time. A generator is returned as it
        is. A `RandomState` is advanced by one draw, so that two calls with one state differ, as in scikit-learn.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> int(public_rng(7).integers(100)) == int(public_rng(7).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    if random_state is None:
        return _unseeded()
    # A bool is an Integral, but as a seed it is surely a mistake.
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ParameterError(
        f"random_state must be None, an int >= 0, a numpy Generator or a RandomState; got {random_state!r}"
    )


def _unseeded() -> np.random.Generator:
    return np.random.default_rng()


def check_can_be_drawn(name: str, scale: Fraction, n_numbers: int = 0) -> None:
    """Raise an error for noise whose scale, times one more than there are numbers of a joint draw, is too large.

    Examples
    --------
    >>> check_can_be_drawn("counts", Fraction(2**50))
    >>> check_can_be_drawn("counts", Fraction(2**50), 1)
    Traceback (most recent call last):
    privet.errors.ParameterError: counts: noise of scale 1.13e+15 is more than can be drawn; give a larger epsilon, ...
    """
    if scale * (n_numbers + 1) > LARGEST_SCALE:
        raise ParameterError(
            f"{name}: noise of scale {float(scale):.3g} is more than can be drawn; give a larger epsilon, since with "
            "this one nothing but noise would be released"
        )
