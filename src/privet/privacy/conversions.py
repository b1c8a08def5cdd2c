"""Conversions between privacy measures.

Every result is rounded so that a claim is never understated: an epsilon up, a rho down.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privet.errors import ParameterError

_RHO_BITS = 24


@lru_cache
def zcdp_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Smallest epsilon, rounded up, such that OpenDP's conversion makes rho-zCDP an (epsilon, delta)-DP guarantee.

    There is no such epsilon for delta = 0, which is refused. The conversion is that of Canonne, Kamath and Steinke
    (2020, Corollary 13), which optimises over all orders. Where its arithmetic overflows (for an enormous rho), the
    older rho + 2 sqrt(rho ln(1 / delta)) of Bun and Steinke (2016) is used.

    Examples
    --------
    >>> round(float(zcdp_to_epsilon(Fraction("0.024356"), Fraction("1e-6"))), 4)
    1.0
    """
    smaller_delta = _float_below(delta)
    if rho < 0 or not 0 < smaller_delta < 1:
        raise ParameterError(f"need rho >= 0 and 0 < delta < 1; got rho={rho}, delta={delta}")
    if rho == 0:
        return Fraction(0)
    # OpenDP converts measurements: unit Gaussian noise at sensitivity s is (s^2 / 2)-zCDP.
    sensitivity = math.sqrt(2 * rho)
    while Fraction(sensitivity) ** 2 < 2 * rho:
        sensitivity = math.nextafter(sensitivity, math.inf)
    from opendp.mod import OpenDPException

    try:
        return Fraction(_unit_gaussian().map(sensitivity).epsilon(smaller_delta))
    except OpenDPException:
        bound = float(rho) + 2 * math.sqrt(float(rho) * -math.log(smaller_delta))
        return Fraction(bound) * (1 + Fraction(1, 2**40))  # covers the rounding of the three operations


@lru_cache
def _unit_gaussian() -> Any:
    """A measurement of OpenDP, which leaves its methods untyped."""
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")  # OpenDP's name for constructors with a proof that awaits its final vetting
    return make_zCDP_to_approxDP(make_gaussian(atom_domain(T="i64"), absolute_distance(T="f64"), 1.0))


@lru_cache
def epsilon_to_zcdp(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest rho, of 24 significant bits, whose conversion `zcdp_to_epsilon` at `delta` is at most `epsilon`.

    Examples
    --------
    >>> round(float(epsilon_to_zcdp(Fraction(1), Fraction("1e-6"))), 6)
    0.024356
    """
    if epsilon <= 0 or not 0 < delta < 1:
        raise ParameterError(f"need epsilon > 0 and 0 < delta < 1; got epsilon={epsilon}, delta={delta}")
    # Bun and Steinke's conversion is looser, so its rho is a lower bound. It gives the scale of the grid.
    log_delta = -math.log(delta)
    start = (math.sqrt(log_delta + epsilon) - math.sqrt(log_delta)) ** 2
    step = Fraction(2) ** (math.frexp(start)[1] - _RHO_BITS)
    low, high = 0, 2**_RHO_BITS
    while zcdp_to_epsilon(high * step, delta) <= epsilon:
        low, high = high, 2 * high
    while high - low > max(1, high >> _RHO_BITS):
        middle = (low + high) // 2
        low, high = (middle, high) if zcdp_to_epsilon(middle * step, delta) <= epsilon else (low, middle)
    return low * step


def _float_below(x: Fraction) -> float:
    """Largest double that is at most x, or the one below it."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)


# Fifty digits, and exponents that do not overflow. Decimal's exp and ln return the number of the context that is
# nearest to the exact result, so the next number above or below is a bound.
_UP = Context(prec=50, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=50, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


@lru_cache(maxsize=4096)
def mixture_epsilon(weights: tuple[Fraction, ...], epsilons: tuple[Fraction, ...]) -> Fraction:
    """Return ``ln(sum of weight * e^epsilon)``, rounded up by less than 10^-45, and never above the largest epsilon.

    Parameters
    ----------
    weights : tuple of Fraction
        Positive; their sum is one.
    epsilons : tuple of Fraction
        What each part costs.

    Examples
    --------
    >>> round(float(mixture_epsilon((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 2), Fraction(2)))), 3)
    1.508
    """
    largest, total = max(epsilons), Decimal(0)
    for weight, epsilon in zip(weights, epsilons, strict=True):
        power = _UP.next_plus(_UP.exp(_decimal(epsilon - largest, _UP))) if epsilon < largest else Decimal(1)
        total = _UP.add(total, _UP.multiply(_decimal(weight, _UP), power))
    log = _UP.ln(total)
    return largest + Fraction(_UP.next_plus(log)) if log < 0 else largest


def mixture_rest(epsilon: Fraction, weight: Fraction, spent: Fraction) -> Fraction:
    """Return the most, rounded down, that the other part of a mixture of two may cost; negative if there is no room.

    Parameters
    ----------
    epsilon : Fraction
        What the mixture may cost.
    weight, spent : Fraction
        Of the one part: how probable it is, and what it costs.

    Notes
    -----
    Solves ``weight * e^spent + (1 - weight) * e^rest = e^epsilon``: that is
    ``rest = epsilon + ln((1 - weight * e^(spent - epsilon)) / (1 - weight))``. For weights up to 0.999
    `mixture_epsilon` of the result is at most `epsilon`, and less than 10^-43 below it.

    Examples
    --------
    >>> round(float(mixture_rest(Fraction(1), Fraction(1, 2), Fraction(1, 2))), 3)
    1.332
    """
    if not 0 < weight < 1:
        raise ParameterError(f"need 0 < weight < 1; got {weight}")
    power = _UP.next_plus(_UP.exp(_decimal(spent - epsilon, _UP))) if spent != epsilon else Decimal(1)
    room = _DOWN.subtract(Decimal(1), _UP.multiply(_decimal(weight, _UP), power))
    if room <= 0:
        return Fraction(-1)
    ratio = _DOWN.divide(room, _decimal(1 - weight, _UP))
    # A little less, so that the result of `mixture_epsilon`, which is rounded up, stays within epsilon.
    return epsilon + Fraction(_DOWN.subtract(_DOWN.next_minus(_DOWN.ln(ratio)), Decimal("1e-44")))


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))
