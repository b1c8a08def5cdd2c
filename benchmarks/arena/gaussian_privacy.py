"""Exact accounting for Gaussian noise that is fixed in advance: Gaussian privacy (Dong, Roth and Su, 2022).

A release with noise of deviation s on something that a record moves by at most c in L2 norm is mu-GDP with mu = c / s.
Releases compose to the root of the sum of their squared mu, adaptively and without loss. What mu means as
(epsilon, delta) is known in closed form, so the only inequality left is that of a record's move.

The peers that use this draw their noise as floating-point numbers, so the statement is about real numbers. That is good
enough to compare with, and not what privet itself would release.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.optimize import brentq
from scipy.special import log_ndtr


def delta_of(epsilon: float, mu: float) -> float:
    """Return the smallest delta at `epsilon` of a mu-GDP release: the analytic Gaussian mechanism's formula."""
    first = math.exp(log_ndtr(mu / 2 - epsilon / mu))
    return first - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


@lru_cache
def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest mu whose releases are (epsilon, delta)-private."""
    return float(brentq(lambda mu: delta_of(epsilon, mu) - delta, 1e-6 + epsilon / 50, 50.0, xtol=1e-14))


def part_of(mu: float, share: float) -> float:
    """Return the mu of a part of the budget: what is shared out is the square."""
    return mu * math.sqrt(share)


def deviation(moved: float, mu: float, times: int = 1) -> float:
    """Return the noise's deviation where a record moves something by `moved`, in each of several releases."""
    return moved * math.sqrt(times) / mu
