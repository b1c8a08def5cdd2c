"""The conversion from zCDP: never below the exact one, next to it, and that of OpenDP wherever OpenDP is exact."""

import decimal
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from math import inf, nextafter, sqrt

import pytest

from privet.privacy.conversions import epsilon_to_zcdp, zcdp_to_epsilon

RHOS = [Fraction(digits, 1000) * Fraction(10) ** power for power in range(-12, 9) for digits in (1618, 5772)]
DELTAS = [Fraction(1, 2), Fraction(1, 10), *(Fraction(1, 10**power) for power in (3, 5, 6, 8, 10, 20, 100, 300))]
MILLION = Fraction("1e-6")


def exact(rho: Fraction, delta: Fraction) -> Decimal:
    """Return the infimum over all orders to some eighty digits: its order by plain bisection, then the formula."""
    with localcontext(Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        cost = Decimal(rho.numerator) / Decimal(rho.denominator)
        log = -(Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        low, high = Decimal(10) ** -30, Decimal(10) ** 330
        while high / low > 1 + Decimal(10) ** -45:
            middle = (low * high).sqrt()
            low, high = (middle, high) if cost * middle**2 + (1 + middle).ln() < log else (low, middle)
        return (1 + low) * cost + (low / (1 + low)).ln() + (log - (1 + low).ln()) / low


@pytest.mark.parametrize("delta", DELTAS, ids=lambda delta: f"{float(delta):.0e}")
def test_conversion_is_the_double_next_above_the_exact_one(delta: Fraction) -> None:
    for rho in RHOS:
        ours, truth = zcdp_to_epsilon(rho, delta), exact(rho, delta)
        if truth <= 0:
            assert ours == 0
            continue
        double = float(ours)
        assert Fraction(double) == ours
        assert Decimal(double) >= truth
        assert Decimal(nextafter(double, -inf)) < truth


def test_conversion_does_not_hang_on_the_arithmetic_of_its_caller() -> None:
    expected = zcdp_to_epsilon.__wrapped__(Fraction(1, 7), MILLION)
    with localcontext(Context(prec=3, rounding=decimal.ROUND_FLOOR, traps=[decimal.Inexact])):
        assert zcdp_to_epsilon.__wrapped__(Fraction(1, 7), MILLION) == expected


@pytest.mark.parametrize("power", [-200, -60, 60, 400])
def test_conversion_takes_any_number(power: int) -> None:
    rho = Fraction(10) ** power
    for delta in (Fraction(1, 10**500), MILLION, 1 - Fraction(1, 10**60)):
        assert zcdp_to_epsilon(rho, delta) >= (rho if rho > 1 else 0)


@pytest.fixture(scope="module")
def of_opendp():
    """Return OpenDP's conversion; it converts measurements, and unit Gaussian noise at distance s is s^2/2-zCDP."""
    pytest.importorskip("opendp", reason="OpenDP serves this comparison only")
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    unit = make_zCDP_to_approxDP(make_gaussian(atom_domain(T="i64"), absolute_distance(T="f64"), 1.0))

    def convert(rho: Fraction, delta: Fraction) -> Fraction:
        distance = sqrt(2 * rho)
        while Fraction(distance) ** 2 < 2 * rho:
            distance = nextafter(distance, inf)
        chance = float(delta) if Fraction(float(delta)) <= delta else nextafter(float(delta), 0)
        return Fraction(unit.map(distance).epsilon(chance))

    return convert


@pytest.mark.parametrize("delta", DELTAS, ids=lambda delta: f"{float(delta):.0e}")
def test_opendp_agrees_and_is_never_sharper(delta: Fraction, of_opendp) -> None:
    for rho in RHOS:
        if rho <= 1000:  # beyond, orders near one are left out there
            ours, theirs = zcdp_to_epsilon(rho, delta), of_opendp(rho, delta)
            assert ours <= theirs <= ours * (1 + Fraction(1, 10**9))


def test_budgets_buy_the_same_rho_as_by_the_conversion_of_opendp(of_opendp) -> None:
    """Plans of earlier versions, whose rho was found by OpenDP, are the same to the last bit."""
    for epsilon in ("0.01", "0.05", "0.1", "0.3", "0.5", "0.9", "1", "1.5", "2", "3", "4", "8", "10", "20", "100"):
        for delta in ("1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10"):
            budget, chance = Fraction(epsilon), Fraction(delta)
            rho = epsilon_to_zcdp(budget, chance)
            assert of_opendp(rho, chance) <= budget
