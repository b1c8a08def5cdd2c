"""What charges come to together: never less than is spent, and far less than their sum where that is proven."""

import math
from fractions import Fraction

import numpy as np
import pytest

import privet
from privet import BoostingClassifier, Numeric, RandomDecisionForestClassifier, Schema
from privet.errors import BudgetError, PrivetError
from privet.privacy import conversions
from privet.privacy.accounts import Bill, Limit
from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.limits import ACCOUNTANTS
from privet.privacy.accounts.losses import _by_losses, _dots, epsilon_of_slots
from privet.privacy.accounts.pairs import Pair, delta_of_zcdp
from privet.privacy.accounts.slots import Slot
from privet.privacy.events import Cost, Filter
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from tests.unit.accounts import RECORDS, account, bill, make, opened, spend
from tests.unit.test_budgets import SCHEMA, X, Y

DELTA = Fraction(1, 10**6)


def least_epsilon(delta_of):
    """Return the smallest epsilon at which a decreasing delta is at most `DELTA`."""
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > DELTA else (low, middle)
    return high


def responses(count, epsilon):
    """Kairouz, Oh and Viswanath (2015): what so many randomised responses cost, exactly."""

    def delta(total):
        terms = (
            math.comb(count, i) * max(0.0, math.exp((count - i) * epsilon) - math.exp(total + i * epsilon))
            for i in range(count + 1)
        )
        return math.fsum(terms) / (1 + math.exp(epsilon)) ** count

    return delta


@pytest.mark.parametrize(("count", "epsilon"), [(1, 1.0), (2, 0.5), (50, 0.1), (20, 0.5), (400, 0.02)])
def test_pure_slots_cost_what_the_closed_form_says_and_never_less(count, epsilon):
    exact = least_epsilon(responses(count, epsilon))
    found = float(_by_losses((Slot(count, epsilon=Fraction(str(epsilon))),), DELTA))
    assert exact <= found <= exact * 1.002 + 1e-4


@pytest.mark.parametrize("rho", ["0.0001", "0.01", "0.3"])
def test_a_slot_of_rho_costs_what_the_conversion_says_and_never_less(rho):
    exact = float(conversions.zcdp_to_epsilon(Fraction(rho), DELTA))
    found = float(_by_losses((Slot(1, rho=Fraction(rho)),), DELTA))
    assert exact * (1 - 1e-6) <= found <= exact * 1.01


@pytest.mark.parametrize("rho", [0.001, 0.1, 2.0])
def test_the_chords_of_the_hull_are_above_every_gaussian_of_that_rho(rho):
    """Gaussian noise is rho-zCDP, and its exact divergences are known (Balle and Wang 2018)."""
    from scipy.stats import norm

    mu = math.sqrt(2 * rho)
    rounded, deltas = _dots(Pair("zcdp", Fraction(rho)), 1e-3)
    epsilons = np.linspace(rounded[0] * 1e-3, rounded[-1] * 1e-3, 4001)
    exact = norm.cdf(mu / 2 - epsilons / mu) - np.exp(epsilons) * norm.cdf(-mu / 2 - epsilons / mu)
    chords = np.interp(np.exp(epsilons), np.exp(rounded * 1e-3), deltas)
    assert (chords >= exact - 1e-12).all()
    assert (np.diff(deltas) / np.diff(np.exp(rounded * 1e-3)) <= 0).all()


def test_bounds_on_delta_are_those_of_the_conversion():
    for rho, epsilon in [(0.01, 0.6), (0.1, 2.0), (1.0, 8.0)]:
        (delta,) = delta_of_zcdp(rho, np.array([epsilon]))
        back = float(conversions.zcdp_to_epsilon(Fraction(rho), Fraction(delta)))
        assert back == pytest.approx(epsilon, rel=1e-3)
        assert back <= epsilon * (1 + 1e-9), "the bound is not below the conversion's"


def test_mixed_slots_cost_less_than_either_plain_bound():
    slots = (Slot(10, epsilon=Fraction(1, 10)), Slot(10, rho=Fraction(1, 1000)))
    rho = 10 * Fraction(1, 200) + 10 * Fraction(1, 1000)
    assert epsilon_of_slots(slots, DELTA) < conversions.zcdp_to_epsilon(rho, DELTA)
    assert epsilon_of_slots(slots, Fraction(0)) is None, "rho has no epsilon without a delta"


def test_tiny_deltas_are_left_to_the_exact_bounds():
    assert _by_losses((Slot(50, epsilon=Fraction(1, 10)),), Fraction(1, 10**11)) is None
    many = Slot(100_000, planned=((Pair("laplace", Fraction(10**6)), 100),), rho=Fraction(1))
    assert _by_losses((many,), Fraction(1, 10**8)) is None, "so many releases could err by as much"


@pytest.mark.parametrize("text", ["", "50", "x 0.1", "0 x 1", "2 x -1", "2 x 1/0", "2.5 x 1", "2 x rho", "1000000 x 1"])
def test_a_slot_that_makes_no_sense_is_refused(text):
    with pytest.raises(BudgetError, match="COUNT x EPSILON"):
        Slot.parse(text)


def test_fifty_boosting_fits_cost_far_less_than_their_sum(tmp_path):
    """Their rounds adapt, so they are zCDP filters; and their users adapt, so the account is one, too."""
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    ledger = BoostingClassifier(0.1, delta=1e-8, schema=schema, n_rows_hint=100_000).plan()
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}", limit=Limit.of(epsilon=1, delta=1e-6))
    with opened(url) as book:
        for _ in range(50):
            book.reserve([None], Bill.of(ledger, "boosting"))
    reading = float(account(url).reading)
    whole = conversions.zcdp_to_epsilon(50 * conversions.epsilon_to_zcdp(Fraction(1, 10), Fraction(1, 10**8)), DELTA)
    assert reading == pytest.approx(float(whole), rel=1e-9)
    assert reading < 0.64


def test_an_account_of_epsilon_and_delta_counts_by_the_smaller_of_two_valid_sums(tmp_path):
    limit = Limit.of(epsilon=1, delta=1e-6)
    few, many = Cost.pure(Fraction(1, 2)), Cost.pure(Fraction(1, 100))
    assert limit.reading(few + few) == 1, "the sum of the epsilons"
    total = Cost.nothing()
    for _ in range(200):
        total = total + many
    assert limit.reading(total) < Fraction(9, 10), "the conversion of the sum of the rhos"
    assert limit.admits(few + few)
    assert limit.admits(total)
    assert not limit.admits(few + few + many)
    gaussian = Cost(None, limit.rho)
    assert limit.admits(gaussian)
    assert limit.reading(gaussian) <= 1
    assert not limit.admits(gaussian + many)


def test_an_account_of_rho_adds_up_rhos(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(rho=0.1))
    assert [spend(url, rho="0.06"), spend(url, rho="0.06"), spend(url, "0.2")] == [True, False, True]
    assert account(url).reading == Fraction("0.08")


def test_an_account_of_pure_epsilon_refuses_what_has_none(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=9))
    with opened(url) as book, pytest.raises(BudgetError, match="has no pure epsilon"):
        book.reserve([None], bill(rho="0.001"))


def test_slots_are_taken_one_by_one_by_what_fits(tmp_path):
    slots = [Slot.parse("2 x 0.1"), Slot.parse("1 x 0.5"), Slot.parse("1 x rho 0.01")]
    limit = Limit.of(epsilon=2, delta=1e-6, slots=slots)
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=limit)
    assert account(url).slots_left == 4
    assert [spend(url, "0.05"), spend(url, "0.1")] == [True, True]
    assert account(url).used == [2, 0, 0]
    assert [spend(url, "0.1"), spend(url, rho="0.02"), spend(url, rho="0.01")] == [True, False, True]
    assert account(url).used == [2, 1, 1]
    with opened(url) as book:
        with pytest.raises(BudgetError, match="no slot of 'patients' that is large enough is free"):
            book.reserve([None], bill("0.01"))
        with pytest.raises(BudgetError, match="cannot be raised"):
            book.raise_limit(None, Limit.of(epsilon=9, delta=1e-6))


def planned(count, **settings):
    fixed = {"epsilon": 0.1, "schema": SCHEMA, "n_trees": 8, "n_rows_hint": 1000, **settings}
    forest = RandomDecisionForestClassifier(**fixed)
    return forest, Slot.of(count, forest.plan(), "RandomDecisionForestClassifier")


def test_a_slot_that_was_declared_by_a_plan_takes_its_releases_and_no_others(empty_store):
    forest, slot = planned(2)
    make(empty_store, limit=Limit.of(epsilon=0.5, delta=1e-6, slots=[slot]))
    assert account(empty_store).limit.slots == (slot,)
    with privet.budget(empty_store):
        forest.fit(X, Y)
        with pytest.raises(BudgetError, match="takes the releases of that plan only"):
            planned(1, n_trees=2)[0].fit(X, Y)
        with pytest.raises(BudgetError, match="no slot of 'patients' that is large enough"):
            planned(1, epsilon=0.2)[0].fit(X, Y)
        planned(1, epsilon=0.05)[0].fit(X, Y)
        with pytest.raises(BudgetError, match="0 of 2 x RandomDecisionForestClassifier"):
            forest.fit(X, Y)
    assert not spend(empty_store, "0.01"), "a charge that states no releases takes no slot of a plan"
    with opened(empty_store) as book:
        assert book.problems() == []
        assert [charge.status for charge in book.history().charges.values()] == ["committed"] * 2


@pytest.mark.parametrize("stated", [{}, {"releases": []}, {"releases": [{"kind": "free"}]}, {"releases": 7}])
def test_a_slot_that_was_taken_for_other_releases_is_found_and_stays_taken(tmp_path, stated):
    """As somebody does who writes to the store by other means; others go on."""
    forest, slot = planned(2)
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=2, delta=1e-6, slots=[slot]))
    charge = {
        "charge": "1",
        "accounts": ["patients"],
        "epsilon": "1/10",
        "rho": "1/2000",
        "what": "",
        "protects": RECORDS,
    }
    with opened(url) as book:
        forged = Entry.following(
            book.entries()[-1], "reserve", "patients", "eve", charge | {"slots": {"patients": 0}} | stated
        )
        with book._log.writing():
            book._log.append(forged)
        assert book.problems() == ["entry 3 takes a slot of 'patients' that was declared for other releases"]
        book.reserve([None], Bill.of(forest.plan(), "a forest"))
    assert account(url).slots_left == 0


def test_slots_of_plans_come_first_and_beside_others(tmp_path):
    forest, slot = planned(1)
    slots = [Slot.parse("1 x 0.5"), slot]
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=2, delta=1e-6, slots=slots))
    with opened(url) as book:
        book.reserve([None], Bill.of(forest.plan(), "a forest"))
        assert account(url).used == [0, 1]
        book.reserve([None], Bill.of(forest.plan(), "a forest"))
        assert account(url).used == [1, 1]


def test_declared_releases_cost_far_less_than_their_epsilons():
    """Counts in the leaves of eight trees, fifty times: those of each tree are randomised response at an eightieth."""
    counts = Terms().laplace("counts of eight trees", Fraction(1, 10), l1=8, largest=1)
    slot = Slot.of(50, Ledger.stating(Terms(), Allowance.of(0.1), counts))
    exact = least_epsilon(responses(400, 1 / 80))
    found = float(epsilon_of_slots([slot], DELTA))
    assert exact <= found <= exact * 1.003
    assert found < 1.06 < 3.1 < float(epsilon_of_slots([Slot(50, epsilon=Fraction(1, 10))], DELTA))


def test_a_plan_that_is_made_along_the_way_is_a_slot_too(tmp_path):
    """Without a hint a forest buys the number of its records first, and plans the rest by it."""
    forest, slot = planned(1, n_rows_hint=None)
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=1, delta=1e-6, slots=[slot]))
    with privet.budget(url):
        forest.fit(X, Y)
    assert account(url).slots_left == 0
    rounds = Slot.of(1, Ledger.stating(Terms(), Allowance.of(1), Filter("rounds", Cost(Fraction(1), None))))
    assert rounds.cost == Cost.pure(Fraction(1))


def test_a_plan_without_a_guarantee_is_no_slot():
    with pytest.raises(BudgetError, match="has no guarantee"):
        planned(1, epsilon=None)
    with pytest.raises(BudgetError, match="number of slots"):
        planned(0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plan": 1}', '{"plan": {"epsilon": null}}'])
def test_a_file_that_holds_no_plan_is_refused(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(PrivetError):
        Slot.parse(f"3 x {tmp_path / 'plan.json'}")
    with pytest.raises(BudgetError, match="no plan can be read"):
        Slot.parse("3 x nowhere.json")


def test_a_forged_slot_or_release_is_found():
    slot = planned(2)[1].to_dict()
    release = slot["releases"][0]
    for strange in (
        {"kind": "free"},
        {"parameter": "0"},
        {"moved": 0},
        {"times": 0},
        {"kind": "gaussian", "moved": 10**9},
    ):
        with pytest.raises(ValueError, match=r"not a pair|no releases"):
            Slot.from_dict(slot | {"releases": [release | strange]})
    for strange in ({"count": 0}, {"epsilon": "0"}):
        with pytest.raises(ValueError, match="not a slot"):
            Slot.from_dict(slot | strange)
    with pytest.raises(ValueError, match="not a slot"):
        Slot.from_dict({"count": 1, "epsilon": "1", "rho": "1"})


def test_a_released_slot_is_free_again(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=1, slots=[Slot.parse("1 x 1")]))
    with opened(url) as book:
        book.release(book.reserve([None], bill()), "nothing was drawn")
    assert [spend(url), spend(url)] == [True, False]


def test_slots_beyond_the_epsilon_are_refused_when_declared():
    slots = [Slot.parse("50 x 0.1")]
    assert Limit.of(epsilon=3.2, delta=1e-6, slots=slots).measure == "slots"
    with pytest.raises(BudgetError, match="these slots come to epsilon 5 at delta 0"):
        Limit.of(epsilon=3.2, slots=slots)


@pytest.mark.parametrize(
    "numbers",
    [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"epsilon": 1, "delta": 1}, {"rho": 1, "delta": 0.1}, {"rho": -1}],
)
def test_a_limit_that_makes_no_sense_is_refused(numbers):
    with pytest.raises(BudgetError):
        Limit.of(**numbers)


@pytest.mark.parametrize(
    "limit",
    [
        Limit.of(epsilon=3),
        Limit.of(rho=0.1),
        Limit.of(epsilon=3, delta=1e-6),
        Limit.of(epsilon=1, slots=[Slot.parse("2 x 1/3")]),
    ],
)
def test_a_limit_goes_to_a_history_and_back(limit):
    assert Limit.from_dict(limit.to_dict()) == limit
    assert limit.measure in ACCOUNTANTS
