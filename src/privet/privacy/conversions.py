"""Conversions between privacy measures.

Every result is rounded so that a claim is never understated: an epsilon up, a rho down.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from privet.errors import ParameterError

_RHO_BITS = 24

# Fifty digits, and exponents that do not overflow. Decimal's exp and ln return the number of the context that is
# nearest to the exact result, so the next number above or below is a bound.
_UP = Context(prec=50, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_DOWN = Context(prec=50, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NEAR = Context(prec=25, Emin=MIN_EMIN, Emax=MAX_EMAX)  # where nothing hangs on the rounding
_CLOSE, _MOST_STEPS = Decimal("1e-20"), 100


@lru_cache(maxsize=4096)
def zcdp_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Smallest epsilon, rounded up to a double, such that rho-zCDP is known to be an (epsilon, delta)-DP guarantee.

    There is no such epsilon for delta = 0, which is refused. The conversion is that of Canonne, Kamath and Steinke
    (2020, Corollary 13), which optimises over all orders.

    Notes
    -----
    *Privacy.* Let Z be the loss of a pair of neighbours, and alpha > 1. A guarantee of (epsilon, delta) holds if
    ``E[max(0, 1 - e^(epsilon - Z))]`` is at most delta for all pairs. For every x,
    ``max(0, 1 - e^-x) <= c e^((alpha - 1) x)`` with ``c = (1 - 1/alpha)^alpha / (alpha - 1)``, since
    ``(1 - e^-x) e^-((alpha - 1) x)`` is largest where ``e^x = alpha / (alpha - 1)``. With ``x = Z - epsilon`` and
    ``E[e^((alpha - 1) Z)] <= e^((alpha - 1) alpha rho)``, which is what rho-zCDP says, it is enough that
    ``c e^((alpha - 1)(alpha rho - epsilon)) <= delta``: with t = alpha - 1, that

    ``epsilon >= (1 + t) rho + ln(t / (1 + t)) + (ln(1 / delta) - ln(1 + t)) / t``.

    So every positive t gives an epsilon that holds. The derivative of the right side is
    ``rho - (ln(1 / delta) - ln(1 + t)) / t^2``: the best t is the only root of ``rho t^2 + ln(1 + t) = ln(1 / delta)``.
    It is found to some twenty digits, and what is claimed is the right side at exactly that t, every operation rounded
    up. An error in t so makes a claim larger, never smaller.

    Examples
    --------
    >>> round(float(zcdp_to_epsilon(Fraction("0.024356"), Fraction("1e-6"))), 4)
    1.0
    """
    if rho < 0 or not 0 < delta < 1:
        raise ParameterError(f"need rho >= 0 and 0 < delta < 1; got rho={rho}, delta={delta}")
    if rho == 0:
        return Fraction(0)
    # (A minus sign would round by the context of whoever calls, and so would `abs`.)
    log = _DOWN.next_minus(_DOWN.ln(_decimal(delta, _DOWN))).copy_negate()
    cost = _decimal(rho, _UP)
    t = _best_order_above_one(cost, log)
    below, above = _DOWN.add(t, Decimal(1)), _UP.add(t, Decimal(1))  # around 1 + t
    share = _UP.divide(t, below)
    # A share that is rounded to one has a logarithm of zero, which needs no next number.
    log_share = _UP.next_plus(_UP.ln(share)) if share < 1 else Decimal(0)
    rest = _UP.divide(_UP.subtract(log, _DOWN.next_minus(_DOWN.ln(below))), t)
    epsilon = _UP.add(_UP.add(_UP.multiply(cost, above), log_share), rest)
    return _double_above(epsilon) if epsilon > 0 else Fraction(0)


def _best_order_above_one(rho: Decimal, log: Decimal) -> Decimal:
    """Return about the root t of ``rho t^2 + ln(1 + t) = log``, by Newton's method.

    As a function of ln t the left side is convex and increasing. So the steps, from a t where it is not below `log`, go
    down towards the root and never beyond it.
    """
    t = min(_NEAR.sqrt(_NEAR.divide(log, rho)), _NEAR.exp(log))
    for _ in range(_MOST_STEPS):
        square = _NEAR.multiply(rho, _NEAR.multiply(t, t))
        excess = _NEAR.subtract(_NEAR.add(square, _NEAR.ln(_NEAR.add(t, Decimal(1)))), log)
        slope = _NEAR.add(_NEAR.add(square, square), _NEAR.divide(t, _NEAR.add(t, Decimal(1))))
        step = _NEAR.divide(excess, slope)
        t = _NEAR.multiply(t, _NEAR.exp(step.copy_negate()))
        if step.copy_abs() < _CLOSE:
            break
    return t


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


def _double_above(x: Decimal) -> Fraction:
    """Smallest double that is at least x; x itself if it is beyond all doubles."""
    nearest = float(x)
    if math.isinf(nearest):
        return Fraction(x)
    return Fraction(nearest if Decimal(nearest) >= x else math.nextafter(nearest, math.inf))


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
