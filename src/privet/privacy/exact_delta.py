"""The exact delta of one Gaussian release, alone or beside one choice, where everything is fixed in advance.

Zero-concentrated privacy is made for sums of many releases. For a single one its conversion to (epsilon, delta) is
loose: by the exact delta of the discrete Gaussian the same guarantee takes noise that is 7 to 9% smaller.

Notes
-----
*Privacy.* *The release.* Integers x get independent noise Y_i of the discrete Gaussian law of parameter s^2, and one
unit of privacy moves m of them by one each: ``x + v`` with v in {-1, 0, 1}. (Numbers that do not move have no part in
it, and fewer moves are less: dropping a number is post-processing.) The loss, under the law around ``x + v``, is
``(2 W + m) / (2 s^2)`` with W the sum of the ``v_i Y_i``, which is that of m independent draws, as they are symmetric.
So is the loss in the other direction.

*The law of W* is that of one discrete Gaussian of parameter ``m s^2``, up to a factor. For integers y that add up to w,
``|y|^2 = w^2 / m + |y - w/m|^2``, so ``P(W = w)`` is proportional to ``e^(-w^2 / (2 m s^2))`` times the sum of
``e^(-|z|^2 / (2 s^2))`` over a shifted copy of the lattice of integer vectors that add up to zero. By Poisson's formula
it is a constant times the sum of ``e^(-2 pi^2 s^2 |u|^2) cos(...)`` over the dual lattice, whose term at 0 is one.
It lies within ``1 - r`` and ``1 + r`` times that constant, where r is the sum of the other ``e^(-2 pi^2 s^2 |u|^2)``.
The dual lattice is Z^m, projected along (1, ..., 1). A point of it is the projection of some z whose mean t is within
1/2 of zero, and ``|u|^2`` is the sum of the ``(z_i - t)^2``, at least ``|z|^2 / 4``. So with
``q = e^(-pi^2 s^2 / 2)`` r is at most ``(1 + 2 q + 2 q^4 + ...)^m - 1``, and ``P(W = w)`` at most
``(1 + r) / (1 - r)`` times the probability under the discrete Gaussian. For m = 1 there is nothing to bound: r = 0. The
*continuous* Gaussian dominates neither: at s = 3.7306, where it has delta 1e-5 at epsilon 1, the discrete one has
1.035e-5.

*Delta at epsilon* of any pair of laws is the mean of ``max(0, 1 - e^(epsilon - loss))``. Every term is positive, so the
factor above bounds it.

*Beside a choice* by the exponential mechanism, before or after the noise, whose scores may depend on what was released
before: given the noisy numbers, which have loss l, delta at epsilon is the divergence of the choice at ``epsilon - l``,
so the whole is the mean of that over l. Its log-ratios span at most c, whatever was released, so the divergence at x is
at most ``(1 - e^((x - c) / 2))^2 / (1 - e^-c)`` for x from -c to c, nothing above, and ``1 - e^x`` below (proven in
`privet.privacy.accounts.pairs`).

Both need parameters that are fixed in advance. A plan that reacts to what it has released is held by a filter, and a
filter holds rho: there this account is not used. Where all that it reacts to is a pure count that comes first, the
parameters are fixed given the count, and this account is for what the count leaves of epsilon
(`privet.privacy.events.Either`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privet.privacy.events import Composition, Event, Mechanism, Sequential

Floats = NDArray[np.float64]

MOST_PLACES = 2**20  # of the law of W that are gone through; wider ones are left to zCDP
REACH = 12  # deviations of W; the mass beyond counts as lost
ROUNDING = 1e-9  # of a sum of positive doubles, with room to spare
# A variance is chosen on a coarse grid and with more room than rounding needs, so that every machine chooses the same
# one, and none refuses what another one has planned.
GRID, ROOM = 4096, 1e-6
_NEARLY = Fraction(1, 10**6)  # by how much rounded rates may differ from what was asked for


@lru_cache(maxsize=4096)
def delta_of_release(variance: Fraction, moved: int, epsilon: Fraction, choice: Fraction = Fraction(0)) -> float:
    """Bound delta at `epsilon` for Gaussian noise on `moved` integers that move by one each, and perhaps a choice.

    Parameters
    ----------
    variance : Fraction
        The parameter of the discrete Gaussian law.
    moved : int
        How many integers move, each by one: the squared L2 distance.
    epsilon : Fraction
        Where to look.
    choice : Fraction
        The epsilon of an exponential mechanism beside it; 0 for none.

    Returns
    -------
    float
        At least delta, and larger by less than a millionth of it where noise is drawn with a deviation of two or more;
        1 where nothing is known.

    Examples
    --------
    >>> round(1e5 * delta_of_release(Fraction(37306, 10000) ** 2, 1, Fraction(1)), 3)
    1.035
    """
    s2, at = float(variance), float(epsilon)
    width = math.sqrt(s2 * moved)
    excess = _excess(s2, moved)
    if 2 * REACH * width > MOST_PLACES or excess >= 0.5:
        return 1.0
    ends = math.ceil(REACH * width)
    # Losses below epsilon - choice count for nothing.
    first = max(-ends, math.floor((at - float(choice)) * s2 - moved / 2))
    w = np.arange(first, ends + 1, dtype=np.float64)
    divergence = _divergence_of_choice(float(choice))(at - (2 * w + moved) / (2 * s2))
    lost = float(np.exp(-(w**2) / (2 * s2 * moved)) @ divergence) / _total(width)
    lost += 2 * math.exp(-(REACH**2) / 2)  # a discrete Gaussian is no wider than the continuous one
    return min(1.0, lost * (1 + excess) / (1 - excess) * (1 + ROUNDING))


def _total(deviation: float) -> float:
    """Return the sum of e^(-k^2 / (2 deviation^2)) over all integers, or a little less."""
    if deviation > 10:
        return math.sqrt(2 * math.pi) * deviation  # by Poisson's formula all that is left out is positive
    return math.fsum(math.exp(-(k**2) / (2 * deviation**2)) for k in range(-400, 401))


def _excess(variance: float, moved: int) -> float:
    """Bound r, by which a sum of draws may differ from one draw of a wider law."""
    if moved == 1:
        return 0.0
    q = math.exp(-(math.pi**2) * variance / 2)
    return math.expm1(min(1.0, moved * math.log1p(2 * q / (1 - q))))


def _divergence_of_choice(epsilon: float) -> Callable[[Floats], Floats]:
    """Return the largest divergence of a choice at each x; without one, of nothing at all."""
    if not epsilon:
        return lambda x: -np.expm1(np.minimum(x, 0.0))

    def divergence(x: Floats) -> Floats:
        within = np.expm1((np.clip(x, -epsilon, epsilon) - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
        return np.where(x < -epsilon, -np.expm1(np.minimum(x, 0.0)), within)

    return divergence


def sharpest(
    variance: Fraction,
    moved: int,
    guarantee: tuple[Fraction, Fraction],
    choice: Fraction,
    friendly: Callable[[Fraction], Fraction],
) -> Fraction:
    """Return the least variance, not above `variance`, whose exact delta keeps a guarantee; `variance` if none does.

    Parameters
    ----------
    variance : Fraction
        What zCDP asks for.
    moved, choice : int, Fraction
        As for `delta_of_release`.
    guarantee : tuple of two Fraction
        Epsilon and delta.
    friendly : callable
        Moves a variance up to one that samplers can draw with.
    """
    epsilon, delta = guarantee
    most = float(delta) * (1 - ROOM)

    def tried(step: int) -> Fraction:
        return min(variance, friendly(variance * Fraction(step, GRID) ** 2))

    low, high = GRID // 2, GRID  # `high` is known to be enough, as zCDP says so of the whole
    while high - low > 1:
        middle = (low + high) // 2
        enough = delta_of_release(tried(middle), moved, epsilon, choice) <= most
        low, high = (low, middle) if enough else (middle, high)
    return tried(high) if high < GRID else variance


def moved_by_one(event: Event, max_rows: int) -> int | None:
    """Return how many integers of a Gaussian release a unit moves, if each moves by one; None if that is not known.

    Integers whose squares add up to less than four are zeros and ones; else the event must say so itself. How far all
    of them move is taken from what is charged: rho is at least half the squared L2 distance over the variance.
    """
    if event.mechanism is not Mechanism.GAUSSIAN or event.cost.rho is None or event.flaw is not None:
        return None
    moved = int(2 * event.cost.rho * event.parameter)
    by_one = moved < 4 or (event.largest is not None and event.largest * max_rows <= 1)
    return moved if moved >= 1 and by_one else None


def choice_among(events: Sequence[Event]) -> Fraction | None:
    """Return the epsilon of the only choice among events, 0 if there are none, None if there is anything else."""
    if not events:
        return Fraction(0)
    event = events[0]
    epsilon, rho = event.cost.epsilon, event.cost.rho
    if len(events) > 1 or event.mechanism is not Mechanism.EXPONENTIAL or event.flaw is not None:
        return None
    # Only what is charged an eighth of epsilon squared is a plain exponential mechanism; the margin law is not.
    if not epsilon or not rho or abs(8 * rho / epsilon**2 - 1) >= _NEARLY:
        return None
    return epsilon


def keeps(whole: Composition, max_rows: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether all that is charged is one Gaussian release, perhaps with one choice, whose exact delta is small enough.

    Scopes are never read: what is inside of one may see other records, or adapt to what was released.
    """
    events = list(_in_sequence(whole))
    if any(event is None for event in events):
        return False
    charged = [event for event in events if event is not None and 0 not in (event.cost.epsilon, event.cost.rho)]
    noise = [event for event in charged if event.mechanism is Mechanism.GAUSSIAN]
    if len(noise) != 1:
        return False
    choice = choice_among([event for event in charged if event is not noise[0]])
    moved = moved_by_one(noise[0], max_rows)
    if choice is None or moved is None:
        return False
    return delta_of_release(noise[0].parameter, moved, epsilon, choice) <= float(delta)


def _in_sequence(part: Composition) -> Iterator[Event | None]:
    if isinstance(part, Event):
        yield part
    elif isinstance(part, Sequential):
        for child in part.parts:
            yield from _in_sequence(child)
    else:
        yield None
