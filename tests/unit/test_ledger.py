"""The ledger refuses to be overspent before anything is drawn, and never claims what is not proven."""

from fractions import Fraction

import pytest

from privet.errors import BudgetError, ModelFileError, PrivetError
from privet.privacy.events import Cost, Mechanism, Sequential
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms, unproven
from privet.privacy.text import ledger_from_dict

TERMS = Terms()


def part(share, name="counts"):
    return TERMS.laplace(name, Fraction(share))


def test_charges_add_up_to_the_claim():
    ledger = Ledger(TERMS, Allowance.of(0.3))
    for _ in range(3):
        ledger.charge(part("0.1"))
    assert ledger.epsilon == 0.3
    assert ledger.delta == 0.0
    assert ledger.proven


def test_overspending_is_refused_and_leaves_no_trace():
    ledger = Ledger(TERMS, Allowance.of(0.3))
    ledger.charge(part("0.2"))
    before = ledger.to_dict()
    with pytest.raises(BudgetError, match="second"):
        ledger.charge(part("0.2", "second"))
    assert ledger.to_dict() == before


def test_disjoint_branches_cost_as_much_as_the_dearest():
    ledger = Ledger(TERMS, Allowance.of(1))
    with ledger.parallel():
        for share in ("0.4", "0.5"):
            with ledger.branch():
                ledger.charge(part(share))
                ledger.charge(part(share))
    assert ledger.epsilon == 1.0
    with pytest.raises(BudgetError):
        ledger.charge(part("0.001"))


def test_overspending_inside_an_open_branch_is_refused():
    ledger = Ledger(TERMS, Allowance.of(1))
    ledger.charge(part("0.6"))
    with ledger.parallel(), ledger.branch(), pytest.raises(BudgetError):
        ledger.charge(part("0.5"))


def test_what_does_not_fit_into_the_scopes_around_it_is_refused_before_anything_is_drawn():
    ledger = Ledger(Terms(), Allowance.of(10))
    cap = Cost.pure(Fraction(3))
    with ledger.filter("outer", Cost.pure(Fraction(2))), pytest.raises(BudgetError), ledger.filter("inner", cap):
        pytest.fail("a filter inside a smaller one was opened")
    halves = (Fraction(1, 2), Fraction(1, 2))
    with ledger.mixture(halves):
        for _ in halves:
            ledger.charge(Terms().laplace("part", Fraction(1)))
        for third in (ledger.filter("third", cap), ledger.branch(), ledger.parallel()):
            with pytest.raises(PrivetError), third:
                pytest.fail("a third part of two was opened")
    assert len(ledger.events) == 2


def test_a_fit_that_would_cost_more_than_was_planned_is_refused_though_it_is_allowed():
    ledger = Ledger(TERMS, Allowance.of(10), planned=Cost.pure(Fraction(1)))
    ledger.charge(part(1))
    with pytest.raises(BudgetError, match="planned"):
        ledger.charge(part(1))
    assert len(ledger.events) == 1


@pytest.mark.parametrize("tight", ["parallel", "branch"])
def test_a_scope_keeps_to_what_was_planned_for_it_though_the_whole_has_room(tight):
    ledger, planned = Ledger(TERMS, Allowance.of(10)), Sequential((part(1), part(1)))
    most = {"parallel": planned.cost, "branch": planned.cost, tight: Cost.pure(Fraction(3, 2))}
    with ledger.parallel(most["parallel"]), ledger.branch(most["branch"]):
        ledger.charge(part(1))
        with pytest.raises(BudgetError, match="planned"):
            ledger.charge(part(1))
        with pytest.raises(BudgetError, match="planned"), ledger.filter("rounds", Cost.pure(Fraction(1))):
            pytest.fail("a filter that the branch has no room for was opened")
        ledger.charge(part("0.5"))
    ledger.charge(part(5))
    assert [event.cost.epsilon for event in ledger.events] == [1, Fraction(1, 2), 5]


def test_gaussian_noise_does_not_fit_a_pure_allowance():
    ledger = Ledger(TERMS, Allowance.of(5))
    with pytest.raises(BudgetError):
        ledger.charge(TERMS.gaussian("sums", Fraction(1, 100)))


def test_the_whole_of_rho_is_worth_the_epsilon_that_was_asked_for():
    allowance = Allowance.of(1.0, 1e-6)
    ledger = Ledger(TERMS, allowance)
    half = allowance.whole * Fraction(1, 2)
    ledger.charge(TERMS.noise("first", half))
    assert 0 < ledger.epsilon < 1
    ledger.charge(TERMS.choice("second", half))
    assert (ledger.epsilon, ledger.delta) == (1.0, 1e-6)


def test_a_doubt_or_a_flaw_makes_epsilon_infinite_and_says_why():
    ledger = Ledger(TERMS, Allowance.of(1), doubts=["domains were read off the data"])
    assert ledger.epsilon == float("inf")
    assert not ledger.proven
    assert "read off the data" in ledger.table()
    flawed = Ledger(TERMS, Allowance.of(1))
    flawed.charge(unproven("labels", Mechanism.PERMUTE_AND_FLIP, Fraction(1), "smooth sensitivity is no proof here"))
    assert flawed.epsilon == float("inf")
    assert flawed.why == ("smooth sensitivity is no proof here",)


def test_without_privacy_nothing_is_claimed():
    ledger = Ledger(TERMS, None)
    ledger.charge(TERMS.noise("counts", None))
    assert ledger.epsilon == float("inf")
    assert "epsilon=None" in ledger.why[0]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_plain_data_state_the_same_guarantee_when_read_back(delta):
    allowance = Allowance.of(0.7, delta)
    ledger = Ledger(Terms("replace", 3, "person"), allowance)
    with ledger.parallel(), ledger.branch():
        ledger.charge(ledger.terms.choice("split", allowance.whole * Fraction(1, 3)))
    again = ledger_from_dict(ledger.to_dict())
    assert again.to_dict() == ledger.to_dict()
    assert (again.epsilon, again.delta, again.rho) == (ledger.epsilon, ledger.delta, ledger.rho)


@pytest.mark.parametrize("damage", [{"spent": None}, {"epsilon": "x"}, {"epsilon": "1/0"}, {"max_rows": []}])
def test_damaged_plain_data_are_refused(damage):
    ledger = Ledger(TERMS, Allowance.of(1))
    ledger.charge(part(1))
    with pytest.raises(ModelFileError, match="ledger"):
        ledger_from_dict({**ledger.to_dict(), **damage})


def test_the_table_names_every_release_and_the_total():
    ledger = Ledger(Terms("replace", 5, "person"), Allowance.of(1))
    ledger.charge(ledger.terms.laplace("leaf counts", Fraction(1), l1=10))
    text = ledger.table(full=True)
    assert "leaf counts" in text
    assert "scale 100" in text
    assert "replacing one unit (the rows that share a value of column 'person', at most 5 of which take part)" in text
