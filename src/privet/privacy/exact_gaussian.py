"""The exact delta of any number of Gaussian releases, where all of their noise is fixed in advance.

Gaussian noise composes without loss: releases whose squared distances over variances add up to ``mu^2`` tell two data
sets apart no better than one look at a normal variable that moves by mu. Zero-concentrated privacy knows of them no
more than ``rho = mu^2 / 2``, and what it concludes for (epsilon, delta) takes noise that is 7 to 9% larger.

Notes
-----
*Privacy.* *The releases.* Given all that was released before, step k adds independent noise of the discrete Gaussian
law of parameter ``s_k^2`` to integers. Between two neighbours these differ by an integer vector v of squared length at
most ``D_k^2``, of which at most ``N_k`` entries are not zero. N is the sum of all ``N_k``, s the least of the ``s_k``,
at least 4. What is asked in a step may depend on what was released before; ``s_k``, ``D_k`` and ``N_k`` may not.

*The same with rounded noise.* Fix two neighbours. Where v is not zero, let the noise be that of a normal variable of
deviation ``s_k``, rounded to the nearest integer, and discrete Gaussian elsewhere. As x is an integer, ``x + round(z)``
is ``x + z`` rounded: a function of a Gaussian release. So this is ``D_k / s_k``-GDP in each step, and
all of it mu-GDP with ``mu^2`` the sum of the ``D_k^2 / s_k^2`` (Dong, Roth and Su, 2022, Corollary 2: the steps may be
adaptive). Its delta at e is ``d(e) = F(mu / 2 - e / mu) - exp(e) F(-mu / 2 - e / mu)``, F being the normal distribution
function (their Corollary 1; Balle and Wang, 2018).

*How far the two are apart.* The discrete law has ``exp(-x^2 / 2 s^2) / Z`` at x. By Poisson's formula Z is
``s sqrt(2 pi)`` times a number between 1 and ``1 + 3 exp(-2 pi^2 s^2)``. The rounded law has
``exp(-x^2 / 2 s^2) I(x) / (s sqrt(2 pi))``, with I(x) the integral of ``cosh(x u / s^2) exp(-u^2 / 2 s^2)`` over u from
-1/2 to 1/2. As cosh is at least 1, I is at least ``1 - 1 / (24 s^2)``, which is at least ``exp(-1 / (23 s^2))``. As
``cosh(y) <= exp(y^2 / 2)``, it is at most ``exp(x^2 / (8 s^4))``. So of the probabilities of one number

- discrete is at most ``exp(1 / (23 s^2))`` times rounded,
- rounded is at most ``exp(x^2 / (8 s^4) + 1 / (1000 s^2))`` times discrete.

*All numbers together.* By the first line the discrete law of all releases is at most ``exp(a)`` times the rounded one,
``a = N / (23 s^2)``. For the second, a rounded x with normal z has ``x^2 <= 2 z^2 + 1/2``, so the exponents add up to
at most ``c / (4 s^2) + N / (16 s^4) + N / (1000 s^2)``, where c is a sum of at most N squares of standard normal
variables. Except with probability ``exp(-100)`` it is at most ``N + 20 sqrt(N) + 200`` (Laurent and Massart, 2000),
hence at most ``2 N + 300``; then the exponent is at most ``b = (N + 150) / s^2``.

*So*, for two neighbours and every event S, discrete under the one is at most ``exp(a)`` times rounded under the one,
which is at most ``exp(a) (exp(e) rounded under the other + d(e))``, which is at most
``exp(a + e + b) discrete under the other + exp(a) (d(e) + exp(e - 100))``. With ``e = epsilon - a - b`` that is a
guarantee of epsilon and ``exp(a) (d(e) + exp(e - 100))``.

The *discrete* noise of a deviation of a few units can be worse than this suggests (`privet.privacy.exact_delta`), which
is why a and b are there. Learners measure in units so fine that these are next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from privet.privacy.events import Composition, Event, Mechanism, Sequential

LEAST_VARIANCE = 16
SURE = 100.0  # minus the logarithm of the chance that the noise is larger than the proof allows for
ROUNDING = 1e-9  # of the factors after that, with room to spare
# What is planned leaves a little of epsilon for a and b, and more room than rounding needs, so that no machine refuses
# what another one has planned.
SPARED, ROOM = Fraction(1, 4096), 1e-6
_BITS = 20  # of a rho that is chosen
_LAST_PLACES = 2.0**-46  # 64 units in the last place of a double


def delta_of_releases(rho: Fraction, numbers: int, variance: Fraction, epsilon: Fraction) -> float:
    """Bound delta at `epsilon` for Gaussian releases that are fixed in advance.

    Parameters
    ----------
    rho : Fraction
        Half the sum of all squared distances over variances.
    numbers : int
        How many numbers can move, in all releases together.
    variance : Fraction
        The least of all variances.
    epsilon : Fraction
        Where to look.

    Returns
    -------
    float
        At least delta; 1 where nothing is known.

    Examples
    --------
    >>> round(1e6 * delta_of_releases(Fraction("0.028"), 1000, Fraction(10**10), Fraction(1)), 2)
    0.99
    """
    if variance < LEAST_VARIANCE:
        return 1.0
    s2 = float(variance)
    a, b = numbers / (23 * s2), (numbers + 150) / s2
    at = float(epsilon) - a - b
    if at <= 0 or rho <= 0:
        return 1.0
    lost = _delta_of_normal(math.sqrt(2 * float(rho)), at) + math.exp(min(at - SURE, 0.0))
    return min(1.0, math.exp(a) * lost * (1 + ROUNDING))


def _delta_of_normal(mu: float, epsilon: float) -> float:
    """Return delta at `epsilon` of one look at a normal variable that moves by `mu`, rounded up.

    Two numbers of nearly the same size are subtracted where mu is small. Each is wrong by some units in its last place,
    and, as its argument is about ``-epsilon / mu``, by the square of that as many more: that much is added.
    """
    far = epsilon / mu
    first, second = mu / 2 - far, -mu / 2 - far
    larger = math.erfc(-first / math.sqrt(2)) / 2
    if second < -37:  # the second term is no longer a double; without it the result is larger
        return larger
    smaller = math.exp(epsilon) * math.erfc(-second / math.sqrt(2)) / 2
    return max(larger - smaller, 0.0) + larger * (1 + far**2) * _LAST_PLACES


@lru_cache(maxsize=256)
def sharpest_rho(rho: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho of Gaussian releases alone for a guarantee; at least `rho`, which zCDP allows."""
    most, at = float(delta) * (1 - ROOM), float(epsilon * (1 - SPARED))

    def keeps(tried: Fraction) -> bool:
        return _delta_of_normal(math.sqrt(2 * float(tried)), at) * (1 + ROOM) <= most

    low, high = 1 << _BITS, 2 << _BITS  # in parts of what zCDP allows: exact noise never allows for twice as much
    if not keeps(rho):
        return rho
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(rho * Fraction(middle, 1 << _BITS)) else (low, middle)
    return rho * Fraction(low, 1 << _BITS)


def keeps(whole: Composition, steps: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether all that is charged is Gaussian releases in sequence, whose exact delta is small enough.

    Parameters
    ----------
    whole : Composition
        What is charged. Scopes are never read: what is inside of one may adapt to what was released.
    steps : int
        How many records are added or removed when one unit changes; each may move other numbers.
    epsilon, delta : Fraction
        The guarantee.
    """
    if not isinstance(whole, Sequential) or not all(isinstance(part, Event) for part in whole.parts):
        return False
    return of_events([part for part in whole.parts if isinstance(part, Event)], steps, epsilon) <= float(delta)


def of_events(events: Sequence[Event], steps: int, epsilon: Fraction) -> float:
    """Bound delta at `epsilon` for events; 1 unless all of them are Gaussian and say how many numbers move."""
    charged = [event for event in events if event.cost.rho != 0]
    rho, numbers = Fraction(0), 0
    for event in charged:
        known = event.mechanism is Mechanism.GAUSSIAN and event.flaw is None
        if not known or event.numbers is None or event.cost.rho is None:
            return 1.0
        rho, numbers = rho + event.cost.rho, numbers + steps * event.numbers
    if not charged:
        return 1.0
    return delta_of_releases(rho, numbers, min(event.parameter for event in charged), epsilon)
