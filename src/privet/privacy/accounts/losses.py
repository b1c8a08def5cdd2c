"""What charges of fixed cost come to together, by privacy-loss distributions: Google's ``dp_accounting``.

Every mechanism of pure epsilon is dominated by randomised response at that epsilon. One of rho-zCDP is dominated by
the pair whose hockey-stick divergences are the lower convex hull of zCDP's bounds on a grid: the true divergences are
convex in e^epsilon and below those bounds on the grid, so they are below the hull everywhere. (A discrete Gaussian is
*not* dominated by the continuous one of the same scale, so no Gaussian pair is used.) Dominating pairs that are fixed
in advance compose, whatever is chosen adaptively below them.

All roundings are pessimistic. Convolutions by Fourier transforms err by about 1e-15; `SLACK` of delta is set aside
for that, a thousand times as much, and where delta is not far above it the distributions are not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import BudgetError, ParameterError
from privet.privacy import conversions

SLACK = 1e-12  # of delta, set aside for rounding errors
LEAST_DELTA = Fraction(1, 10**10)
MOST_SLOTS = 100_000
GRID_CELLS = 20_000  # of one slot's loss; more are hardly more precise
MOST_LOSS = 50.0  # a total of a larger epsilon protects nobody, and is left to the other bounds


@dataclass(frozen=True)
class Slot:
    """So many charges, each of at most this pure epsilon or this rho; exactly one of the two is given.

    Examples
    --------
    >>> Slot.parse("50 x 0.1"), Slot.parse("10 x rho 0.001")
    (Slot(count=50, epsilon=Fraction(1, 10), rho=None), Slot(count=10, epsilon=None, rho=Fraction(1, 1000)))
    """

    count: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @staticmethod
    def parse(text: str) -> Slot:
        """Read ``COUNT x EPSILON`` or ``COUNT x rho RHO``."""
        count, times, size = text.replace("×", "x").partition("x")
        unit, size = ("rho", size.replace("rho", "")) if "rho" in size else ("epsilon", size)
        try:
            slot = Slot(int(count), **{unit: Fraction(size.strip())})
        except (ValueError, ZeroDivisionError):
            times = ""
        if not times or slot.size <= 0 or not 1 <= slot.count <= MOST_SLOTS:
            raise BudgetError(f"a slot is COUNT x EPSILON or COUNT x rho RHO, got {text!r:.60}; e.g. '50 x 0.1'")
        return slot

    @property
    def size(self) -> Fraction:
        """Its epsilon or its rho."""
        size = self.epsilon if self.rho is None else self.rho
        assert size is not None
        return size

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, numbers as text."""
        return {"count": self.count, ("epsilon" if self.rho is None else "rho"): str(self.size)}

    @staticmethod
    def from_dict(data: Any) -> Slot:
        """Read what `to_dict` wrote."""
        unit = "rho" if "rho" in data else "epsilon"
        return Slot(int(data["count"]), **{unit: Fraction(data[unit])})

    def __str__(self) -> str:
        return f"{self.count} x {'' if self.rho is None else 'rho '}{float(self.size):g}"


def epsilon_of_slots(slots: Sequence[Slot], delta: Fraction) -> Fraction | None:
    """Return the smallest of three valid bounds on the epsilon of all slots together: pure, zCDP, loss distributions.

    None if there is no bound at this delta.

    Examples
    --------
    >>> slots = [Slot(50, epsilon=Fraction(1, 10))]
    >>> epsilon_of_slots(slots, Fraction(0)), epsilon_of_slots(slots, Fraction(1, 10**6)) < Fraction(33, 10)
    (Fraction(5, 1), True)
    """
    bounds = []
    if all(slot.epsilon is not None for slot in slots):
        bounds.append(sum((slot.count * slot.size for slot in slots), Fraction(0)))
    if delta > 0:
        rho = sum((slot.count * _rho(slot) for slot in slots), Fraction(0))
        bounds.append(conversions.zcdp_to_epsilon(rho, delta))
        by_losses = _by_losses(tuple(slots), delta)
        if by_losses is not None:
            bounds.append(by_losses)
    return min(bounds, default=None)


def _rho(slot: Slot) -> Fraction:
    if slot.rho is not None:
        return slot.rho
    assert slot.epsilon is not None
    return slot.epsilon * slot.epsilon / 2


@lru_cache(maxsize=256)
def _by_losses(slots: tuple[Slot, ...], delta: Fraction) -> Fraction | None:
    if delta < LEAST_DELTA:
        return None
    if find_spec("dp_accounting") is None:
        raise ParameterError("privacy-loss distributions need dp-accounting; pip install 'privet[accounting]'")
    from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution

    total: Any = None
    step = _step(slots)
    # Rhos add up without loss, so they become one distribution.
    rho = sum((slot.count * slot.rho for slot in slots if slot.rho is not None), Fraction(0))
    for slot in (*(slot for slot in slots if slot.rho is None), *([Slot(1, rho=rho)] if rho else ())):
        size = math.nextafter(float(slot.size), math.inf)
        if slot.rho is None:
            own = privacy_loss_distribution.from_privacy_parameters(
                common.DifferentialPrivacyParameters(size, 0.0), value_discretization_interval=step
            )
        else:
            rounded, deltas = _hull_of_zcdp(size, step)
            own = privacy_loss_distribution.PrivacyLossDistribution(
                pld_pmf.create_pmf_pessimistic_connect_dots(step, rounded, deltas)
            )
        own = own if slot.count == 1 else own.self_compose(slot.count)
        total = own if total is None else total.compose(own)
    found = float(total.get_epsilon_for_delta(float(delta) * (1 - 1e-9) - SLACK))
    if not math.isfinite(found) or found > MOST_LOSS:
        return None
    return Fraction(found) * (1 + Fraction(1, 10**9))


def _step(slots: tuple[Slot, ...]) -> float:
    """Return the width of the grid of losses.

    The largest slot sets its scale. Losses are rounded up once for each charge, by up to one step, so the steps of all
    charges together must stay small beside the total.
    """
    smallest = min(float(slot.size) if slot.rho is None else math.sqrt(2 * float(slot.size)) for slot in slots)
    return max(1e-7, min(1e-3, smallest / 1000 * (1 + 1e-9)))  # so that the smallest itself is hardly rounded


def _hull_of_zcdp(rho: float, step: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return multiples of `step` and bounds on the divergence at these epsilons, whose chords bound it in between."""
    reach = float(rho + 2 * math.sqrt(rho * math.log(1e18)))
    cells = min(GRID_CELLS, math.ceil(reach / step))
    places = np.unique(np.ceil(np.linspace(0, math.ceil(reach / step), cells + 1)).astype(np.int64))
    epsilons: NDArray[np.float64] = places.astype(np.float64) * step
    above = _delta_of_zcdp(rho, epsilons)
    # Both directions of a neighbour relation satisfy the same bounds: those at -epsilon follow from those at epsilon.
    below = 1 - np.exp(-epsilons[:0:-1]) * (1 - above[:0:-1])
    rounded = np.concatenate([-places[:0:-1], places])
    deltas = np.minimum(1.0, np.concatenate([below, above]))
    kept = _lower_hull(np.exp(rounded * step), deltas)
    return rounded[kept], deltas[kept]


def _delta_of_zcdp(rho: float, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound delta at each epsilon, by the orders of a grid (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    best = np.zeros(len(epsilons))
    # Near the best order (epsilon + rho) / (2 rho); any order gives a valid bound.
    middle = np.maximum((epsilons + rho) / (2 * rho), 1.01)
    for factor in np.geomspace(0.5, 2.0, 41):
        order = np.maximum(middle * factor, 1.0001)
        log = (order - 1) * (order * rho - epsilons) - np.log(order - 1) + order * np.log1p(-1 / order)
        best = np.minimum(best, log)
    bounds: NDArray[np.float64] = np.minimum(1.0, np.exp(best) * (1 + 1e-9))
    return np.minimum.accumulate(bounds)


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
