"""The loss of a run whose kind of guarantee was decided along the way: an epsilon at the delta that is claimed.

Where a count decides (`privet.privacy.events.Either`), neither a log-ratio nor a sum of zCDP losses is what is claimed.
A run that took the pure alternative loses a log-ratio. Any other loses the log-ratio of its looks, which are Laplace or
cube noise, and then what all else is worth at delta: by zCDP or, of Gaussian releases alone, by their exact delta; of a
single one beside a choice as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from privet.audit.pure_noise import PURE_NOISE, pure_loss
from privet.privacy.conversions import zcdp_to_epsilon
from privet.privacy.events import Event, Mechanism
from privet.privacy.exact_delta import delta_of_release
from privet.privacy.exact_gaussian import delta_of_releases
from privet.tables.protocol import IntArray

STEPS = 40  # of the bisection for an epsilon

Moved = tuple[Event, IntArray]  # noise, and by how much the numbers under it differ between neighbours


def epsilon_at_delta(noises: Sequence[Moved], ranges: Sequence[float], delta: Fraction, claimed: Fraction) -> float:
    """Return the least epsilon that is known to hold for a run that is not pure.

    Parameters
    ----------
    noises : sequence of (Event, integer array)
        All noise that was added, and how far the numbers under it moved.
    ranges : sequence of float
        For each selection, how wide the log-ratios of its outcomes are.
    delta : Fraction
        What is claimed.
    claimed : Fraction
        The epsilon beside it; a bound that is below it is not made any smaller.
    """
    looks = sum(pure_loss(event, moved) for event, moved in noises if event.mechanism in PURE_NOISE)
    gaussian = [(event, moved) for event, moved in noises if event.mechanism is Mechanism.GAUSSIAN]
    rho = sum(width**2 for width in ranges) / 8
    rho += sum(squared_length(moved) / (2 * float(event.parameter)) for event, moved in gaussian)
    by_rho = looks + (float(zcdp_to_epsilon(Fraction(rho), delta)) if rho else 0.0)
    if by_rho <= claimed or not any(moved.any() for _, moved in gaussian):
        return by_rho
    found, (event, moved) = [by_rho], gaussian[0]
    if not ranges:
        numbers = sum(int(np.count_nonzero(moved)) for _, moved in gaussian)
        least = min(event.parameter for event, _ in gaussian)
        found.append(looks + _least(lambda at: delta_of_releases(Fraction(rho), numbers, least, at), delta, by_rho))
    if len(gaussian) == 1 and len(ranges) <= 1 and np.abs(moved).max() <= 1:
        length, choice = int(np.abs(moved).sum()), Fraction(sum(ranges))
        found.append(looks + _least(lambda at: delta_of_release(event.parameter, length, at, choice), delta, by_rho))
    return min(found)


def squared_length(moved: IntArray) -> int:
    """Return the sum of squares, exactly: in 64 bits the square of 2^32 is zero, and so would be the loss."""
    return sum(number * number for number in moved.ravel().tolist())


def _least(delta_at: Callable[[Fraction], float], delta: Fraction, most: float) -> float:
    """Return, to within rounding, the epsilon at which an exact delta is the one that is claimed; `most` if none is."""
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(Fraction(middle)) <= float(delta) else (middle, high)
    return high
