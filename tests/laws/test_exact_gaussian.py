"""Gaussian releases that are fixed in advance: the stated delta is never below the exact one, and not far above."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.errors import BudgetError
from privet.privacy import exact_gaussian
from privet.privacy.conversions import zcdp_to_epsilon
from privet.privacy.events import Event, Filter, Mechanism, Parallel, Sequential
from privet.privacy.exact_gaussian import delta_of_releases, keeps, of_events, sharpest_rho
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms

pytestmark = pytest.mark.law

ASKED = Allowance.of(1.0, 1e-6)


def law(variance, reach):
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(x**2) / (2 * variance))
    return weights / weights.sum()


def exact_delta(moves, epsilon):
    """Return delta of releases of one number each, by the joint law of all losses; `moves` has (distance, variance)."""
    losses, chances = np.zeros(1), np.ones(1)
    for distance, variance in moves:
        reach = math.ceil(11 * math.sqrt(variance)) + distance
        x = np.arange(-reach, reach + 1, dtype=np.float64)
        loss = (2 * distance * x + distance**2) / (2 * variance)
        losses = (losses[:, np.newaxis] + loss).ravel()
        chances = (chances[:, np.newaxis] * law(variance, reach)).ravel()
    return float((chances * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    "moves",
    [
        [(1, 16)],
        [(3, 16)],
        [(5, 100)],
        [(40, 10_000)],
        [(200, 250_000)],
        [(1, 16), (2, 25)],
        [(3, 64), (1, 16), (2, 40)],
    ],
    ids=str,
)
def test_what_is_stated_is_never_below_the_exact_delta(moves, epsilon):
    rho = sum(Fraction(distance**2, 2 * variance) for distance, variance in moves)
    stated = delta_of_releases(rho, len(moves), Fraction(min(v for _, v in moves)), Fraction(epsilon))
    assert stated >= exact_delta(moves, epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_where_the_grid_is_fine_it_is_hardly_above(epsilon):
    distance, variance = 200, 250_000
    stated = delta_of_releases(Fraction(distance**2, 2 * variance), 1, Fraction(variance), Fraction(epsilon))
    assert stated <= 1.01 * exact_delta([(distance, variance)], epsilon)


def test_the_continuous_formula_alone_would_be_too_low_on_a_coarse_grid():
    """So the bound's terms for the grid are needed: without them some statement of the first test would fail."""
    found = []
    for distance, variance in ((1, 16), (1, 20), (2, 16), (3, 16), (4, 16)):
        for epsilon in np.linspace(0.05, 3.0, 60):
            normal = exact_gaussian._delta_of_normal(distance / math.sqrt(variance), epsilon)
            found.append(exact_delta([(distance, variance)], epsilon) > normal)
    assert any(found)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 20.0])
def test_it_allows_more_than_zcdp_and_not_more_than_a_normal_variable(epsilon):
    allowed = Allowance.of(epsilon, 1e-6)
    rho = sharpest_rho(allowed.rho, allowed.epsilon, allowed.delta)
    assert 1.05 < rho / allowed.rho < 1.3
    assert zcdp_to_epsilon(rho, allowed.delta) > allowed.epsilon
    assert exact_gaussian._delta_of_normal(math.sqrt(2 * float(rho)), epsilon) < 1e-6
    assert exact_gaussian._delta_of_normal(math.sqrt(2 * float(rho * Fraction(1001, 1000))), epsilon) > 0.999e-6


def sharp(parts=3, terms=None, numbers=10, unit=2**12):
    """Return Gaussian releases that share all that the exact delta allows."""
    share = sharpest_rho(ASKED.rho, ASKED.epsilon, ASKED.delta)
    terms = terms or Terms()
    events = [terms.gaussian(f"step {part}", share / parts, l2_squared=unit**2, signed=True) for part in range(parts)]
    return [Event(*_fields(event), numbers=numbers) for event in events]


def _fields(event):
    return event.name, event.mechanism, event.parameter, event.sensitivity, event.cost, event.sees, event.flaw


def test_a_ledger_states_the_guarantee_that_was_asked_for_and_refuses_a_little_more():
    ledger = Ledger.stating(Terms(), ASKED, Sequential(tuple(sharp())))
    assert ledger.beyond_rho
    assert (ledger.epsilon, ledger.delta) == (1.0, 1e-6)
    with pytest.raises(BudgetError, match="would bring rho"):
        Ledger.stating(Terms(), ASKED, Sequential((*sharp(), *sharp(1000)[:1])))


def test_a_fit_is_charged_release_by_release_and_refused_before_one_too_many():
    ledger = Ledger(Terms(), ASKED, fixed=Sequential(tuple(sharp())))
    for event in sharp():
        ledger.charge(event)
    with pytest.raises(BudgetError, match="nothing was drawn"):
        ledger.charge(sharp(100)[0])
    assert (ledger.epsilon, ledger.delta) == (1.0, 1e-6)


def test_what_is_not_fixed_in_advance_goes_by_rho():
    """A run that decides between two exact accounts by what it has released can have nearly twice the delta of each."""
    adapting = Ledger(Terms(), ASKED)
    first, second, third = sharp()
    adapting.charge(first)
    adapting.charge(second)
    with pytest.raises(BudgetError, match="would bring rho"):
        adapting.charge(third)
    planned = Ledger(Terms(), ASKED, fixed=Sequential((first, second, third)))
    planned.charge(first)
    for other in (third, first, Terms().exponential("a choice", ASKED.rho / 1000)):
        with pytest.raises(BudgetError, match="not what comes next"):
            planned.charge(other)
    planned.charge(second)
    planned.charge(third)
    assert planned.proven
    within = Ledger(Terms(), ASKED, fixed=Sequential((Terms().gaussian("one", ASKED.rho / 2),)))
    within.charge(Terms().gaussian("another", ASKED.rho / 3))  # zCDP allows for anything within its total


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-8, 1e-12), (1e-10, 1e-16), (1e-12, 1e-18), (1e-14, 1e-20)])
def test_tiny_guarantees_are_not_understated_by_the_rounding_of_doubles(epsilon, delta):
    """Against sixty digits: two numbers of nearly the same size are subtracted."""
    mpmath = pytest.importorskip("mpmath")
    for factor in (0.5, 1.0, 1.5):
        mu = factor * epsilon / 5
        with mpmath.workdps(60):
            m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
            exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
            assert exact_gaussian._delta_of_normal(mu, epsilon) >= exact > 0
    allowed = Allowance.of(epsilon, delta)
    rho = sharpest_rho(allowed.rho, allowed.epsilon, allowed.delta)
    with mpmath.workdps(60):
        m, e = mpmath.sqrt(2 * mpmath.mpf(rho.numerator) / rho.denominator), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert rho == allowed.rho or exact <= delta


def test_what_the_proof_does_not_cover_goes_by_rho():
    noise, (epsilon, delta) = sharp(), (ASKED.epsilon, ASKED.delta)
    assert keeps(Sequential(tuple(noise)), 1, epsilon, delta)
    choice = Terms().exponential("choice", ASKED.rho / 1000)
    laplace = Terms().laplace("laplace", Fraction(1, 1000))
    unknown = Event(*_fields(noise[0]))
    flawed = Event(*_fields(noise[0])[:-1], "a broken proof", numbers=10)
    for other in (choice, laplace, unknown, flawed):
        assert of_events([*noise[1:], other], 1, epsilon) == 1.0
    adaptive = Filter("rounds", noise[0].cost, (noise[0],))
    for scope in (adaptive, Parallel((noise[0],)), Sequential((noise[0],))):
        assert not keeps(Sequential((*noise[1:], scope)), 1, epsilon, delta)
    assert not keeps(Sequential(()), 1, epsilon, delta)


def test_a_coarse_grid_or_very_many_numbers_leave_no_room():
    epsilon, delta = ASKED.epsilon, float(ASKED.delta)
    assert of_events(sharp(numbers=10), 1, epsilon) <= delta
    assert of_events(sharp(numbers=10**9), 1, epsilon) > delta
    assert of_events(sharp(numbers=10**4, unit=1), 1, epsilon) > delta, "noise of some ten units"
    assert of_events(sharp(numbers=10**5), 10**4, epsilon) > delta, "each row of a unit may move other numbers"


def test_a_share_grows_only_where_all_that_is_planned_is_covered():
    terms, whole = Terms(), ASKED.whole

    def gaussian(share):
        return [terms.noise("sums", share, l2_squared=2**24, numbers=3)]

    def with_choice(share):
        return [terms.noise("sums", share * Fraction(1, 2), l2_squared=2**24, numbers=3), terms.choice("best", share)]

    assert terms.sharper(whole, gaussian).rho > whole.rho
    assert terms.sharper(whole, with_choice) is whole
    assert terms.sharper(whole * Fraction(1, 2), gaussian) == whole * Fraction(1, 2), (
        "a part has no guarantee of its own"
    )
    assert terms.sharper(None, gaussian) is None
    pure = Allowance.of(1.0).whole
    assert terms.sharper(pure, gaussian) is pure


def test_events_keep_the_number_in_a_ledger_that_is_read_again():
    from privet.privacy.text import ledger_from_dict

    ledger = Ledger.stating(Terms(), ASKED, Sequential(tuple(sharp())))
    again = ledger_from_dict(ledger.to_dict())
    assert again.events == ledger.events
    assert (again.epsilon, again.delta) == (1.0, 1e-6)
    assert all(event.mechanism is Mechanism.GAUSSIAN for event in again.events)
