"""The loss of a run whose kind of guarantee was decided along the way: an epsilon at the delta that is claimed.

Where a count decides (`privet.privacy.events.Either`), neither a log-ratio nor a sum of zCDP losses is what is claimed.
A run that took the pure alternative loses a log-ratio. Any other loses the log-ratio of its looks, which are Laplace
noise, and then what all else is worth at delta: by zCDP or, of a single Gaussian release, by its exact delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privet.privacy.conversions import zcdp_to_epsilon
from privet.privacy.events import Event, Mechanism
from privet.privacy.exact_delta import delta_of_release
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
    looks = sum(_laplace_loss(event, moved) for event, moved in noises if event.mechanism is Mechanism.LAPLACE)
    gaussian = [(event, moved) for event, moved in noises if event.mechanism is Mechanism.GAUSSIAN]
    rho = sum(width**2 for width in ranges) / 8
    rho += sum(float((moved**2).sum()) / (2 * float(event.parameter)) for event, moved in gaussian)
    by_rho = looks + (float(zcdp_to_epsilon(Fraction(rho), delta)) if rho else 0.0)
    if by_rho <= claimed or len(gaussian) != 1 or len(ranges) > 1:
        return by_rho
    ((event, moved),) = gaussian
    if np.abs(moved).max(initial=0) > 1 or not moved.any():
        return by_rho
    return min(by_rho, looks + _exact_epsilon(event.parameter, int(np.abs(moved).sum()), delta, sum(ranges), by_rho))


def _laplace_loss(event: Event, moved: IntArray) -> float:
    return float(Fraction(int(np.abs(moved).sum())) / event.parameter)


def _exact_epsilon(variance: Fraction, moved: int, delta: Fraction, choice: float, most: float) -> float:
    """Return, to within rounding, the epsilon at which the exact delta of the noise is the one that is claimed."""
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = delta_of_release(variance, moved, Fraction(middle), Fraction(choice)) <= float(delta)
        low, high = (low, middle) if enough else (middle, high)
    return high
