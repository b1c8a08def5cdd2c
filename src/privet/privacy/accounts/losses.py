"""What charges of fixed cost come to together, by privacy-loss distributions: Google's ``dp_accounting``.

A charge is a list of releases, each with a dominating pair (`privet.privacy.accounts.pairs`). Pairs that are fixed in
advance compose, whatever is chosen adaptively below them. (A discrete Gaussian is *not* dominated by the continuous one
of the same scale, so no Gaussian pair of ``dp_accounting`` is used.)

All roundings are pessimistic: curves are known at multiples of a step, and chords between them are above. A power of a
Fourier transform errs by about 1e-16 for each release that is composed; ten times as much of delta is set aside for
that, and no less than `SLACK`. Where delta is not far above it the distributions are not used.

What is known by its rho alone is composed last, in one piece. That is valid wherever it comes: a release below a pair
is a function of a draw from the pair and of what came before. So draw from all pairs first; given these draws, what is
left is a composition of mechanisms whose rhos add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.privacy import conversions
from privet.privacy.accounts.pairs import Pair
from privet.privacy.accounts.slots import Counted, Slot
from privet.privacy.events import Cost

SLACK, SLACK_OF_ONE = 1e-12, 1e-15  # of delta, set aside for rounding errors: at least, and for each release
LEAST_DELTA = Fraction(1, 10**10)
Choices = Literal["by range", "by rho"]  # how the exponential mechanism counts
GRID_CELLS = 20_000  # of one release's loss; more are hardly more precise
MOST_LOSS = 50.0  # a total of a larger epsilon protects nobody, and is left to the other bounds


def epsilon_of_slots(slots: Sequence[Slot], delta: Fraction) -> Fraction | None:
    """Return the smallest of three valid bounds on the epsilon of all slots together: pure, zCDP, loss distributions.

    None if there is no bound at this delta.

    Examples
    --------
    >>> slots = [Slot(50, epsilon=Fraction(1, 10))]
    >>> epsilon_of_slots(slots, Fraction(0)), epsilon_of_slots(slots, Fraction(1, 10**6)) < Fraction(33, 10)
    (Fraction(5, 1), True)
    """
    total = Cost.nothing()
    for slot in slots:
        epsilon, rho = slot.cost.epsilon, slot.cost.rho
        assert rho is not None
        total = total + Cost(None if epsilon is None else slot.count * epsilon, slot.count * rho)
    bounds = [] if total.epsilon is None else [total.epsilon]
    if delta > 0 and total.rho is not None:
        bounds.append(conversions.zcdp_to_epsilon(total.rho, delta))
        by_losses = [_by_losses(tuple(slots), delta, choices) for choices in get_args(Choices)]
        bounds += [bound for bound in by_losses if bound is not None]
    return min(bounds, default=None)


@lru_cache(maxsize=256)
def _by_losses(slots: tuple[Slot, ...], delta: Fraction, choices: Choices = "by range") -> Fraction | None:
    if delta < LEAST_DELTA:
        return None
    if find_spec("dp_accounting") is None:
        raise ParameterError("privacy-loss distributions need dp-accounting; pip install 'privet[accounting]'")
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    releases = _all_releases(slots, choices)
    slack = max(SLACK, SLACK_OF_ONE * sum(times for _, times in releases))
    if slack > delta / 10:
        return None
    step, total = _step(releases), None
    for pair, times in releases:
        rounded, deltas = _dots(pair, step)
        own: Any = privacy_loss_distribution.PrivacyLossDistribution(
            pld_pmf.create_pmf_pessimistic_connect_dots(step, rounded, deltas)
        )
        own = own if times == 1 else own.self_compose(times)
        total = own if total is None else total.compose(own)
    assert total is not None
    found = float(total.get_epsilon_for_delta(float(delta) * (1 - 1e-9) - slack))
    if not math.isfinite(found) or found > MOST_LOSS:
        return None
    return Fraction(found) * (1 + Fraction(1, 10**9))


def _all_releases(slots: Sequence[Slot], choices: Choices = "by range") -> tuple[Counted, ...]:
    """Return all releases of all slots, equal ones together. Rhos add up without loss, so they become one.

    Of the exponential mechanism both bounds are valid. The pair of its range is the tighter one for a few choices; of
    many, no single pair is as bad as it for every epsilon, and their rhos are tighter.
    """
    counts: dict[Pair, int] = {}
    rho = Fraction(0)
    for slot in slots:
        for pair, times in slot.releases:
            if pair.kind == "zcdp" or (pair.kind == "range" and choices == "by rho"):
                rho += slot.count * times * pair.rho
            else:
                counts[pair] = counts.get(pair, 0) + slot.count * times
    return (*counts.items(), *([(Pair("zcdp", rho), 1)] if rho else ()))


def _step(releases: Sequence[Counted]) -> float:
    """Return the width of the grid of losses: small beside every release, but no smaller than the total calls for."""
    smallest = min(pair.width for pair, _ in releases)
    whole = math.sqrt(2 * sum(times * pair.rho for pair, times in releases))
    # A little more than a thousandth, so that the smallest itself is hardly rounded.
    return max(1e-7, min(1e-3, smallest / 1000 * (1 + 1e-9)), whole / 100_000)


def _dots(pair: Pair, step: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return multiples of `step` and bounds on the divergence there, whose chords bound it in between."""
    last = math.ceil(pair.reach / step)
    places = np.unique(np.ceil(np.linspace(0, last, min(GRID_CELLS, last) + 1)).astype(np.int64))
    epsilons: NDArray[np.float64] = places.astype(np.float64) * step
    above = np.minimum.accumulate(pair.curve(epsilons))
    # Both directions of a neighbour relation satisfy the same bounds: those at -epsilon follow from those at epsilon.
    below = 1 - np.exp(-epsilons[:0:-1]) * (1 - above[:0:-1])
    rounded = np.concatenate([-places[:0:-1], places])
    deltas = np.minimum(1.0, np.concatenate([below, above]))
    kept = _lower_hull(np.exp(rounded * step), deltas)
    return rounded[kept], deltas[kept]


def _lower_hull(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Return the places of the vertices of the lower convex hull, the first and the last place among them."""
    kept: list[int] = []
    for place in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[place] - x[b]) < (y[place] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(place)
    return kept
