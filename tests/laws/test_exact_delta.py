"""One Gaussian release by its exact delta: never less than brute force finds, and never claimed for anything else."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Categorical, MatrixForestClassifier, RandomDecisionForestClassifier, Schema
from privet.errors import BudgetError
from privet.privacy.accounts.limits import Limit
from privet.privacy.accounts.slots import Slot
from privet.privacy.events import Cost, Either, Event, Filter, Mechanism, Parallel, Sequential, readable
from privet.privacy.exact_delta import delta_of_release
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Share, Terms
from tests.unit.accounts import make

ONE, DELTA = Fraction(1), Fraction(1, 10**6)
ASKED, RECORDS = Allowance.of(1, DELTA), Terms()


def mass(variance, reach):
    """Return the discrete Gaussian law on -reach, ..., reach, by its definition."""
    weights = [math.exp(-k * k / (2 * float(variance))) for k in range(-reach, reach + 1)]
    return np.array(weights) / math.fsum(weights)


def delta_by_force(variance, shift, epsilon, reach):
    """Add up P - e^epsilon Q over all noisy vectors where it is positive."""
    own = mass(variance, reach + max(map(abs, shift)))
    total = 0.0
    for place in product(range(-reach, reach + 1), repeat=len(shift)):
        p = math.prod(own[k + len(own) // 2] for k in place)
        q = math.prod(own[(k + v) + len(own) // 2] for k, v in zip(place, shift, strict=True))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(("variance", "shift"), [("1/3", (1,)), ("2", (1,)), ("3", (1, 1)), ("4", (1, -1))])
def test_delta_is_what_all_noisy_vectors_add_up_to(variance, shift, epsilon):
    bound = delta_of_release(Fraction(variance), len(shift), Fraction(epsilon))
    found = delta_by_force(Fraction(variance), shift, epsilon, 24)
    assert found <= bound <= found * (1 + 3e-6) + 1e-30


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("variance", "moved"), [("1/2", 3), ("1", 5), ("5", 7), ("30", 40)])
def test_many_small_moves_are_added_up_term_by_term(variance, moved, epsilon):
    """The law of a sum of draws, by plain convolution; one wide draw in its place is bounded, not assumed."""
    s2, own = float(Fraction(variance)), mass(Fraction(variance), 80)
    law = np.ones(1)
    for _ in range(moved):
        law = np.convolve(law, own)
    w = np.arange(law.size) - law.size // 2
    found = math.fsum(law * np.maximum(0.0, 1 - np.exp(epsilon - (2 * w + moved) / (2 * s2))))
    bound = delta_of_release(Fraction(variance), moved, Fraction(epsilon))
    assert found <= bound
    assert s2 < 2 or bound <= found * (1 + 2e-4)


@pytest.mark.parametrize("choice", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_beside_a_choice_no_adversary_does_worse(choice, epsilon):
    """Given each noisy number, the adversary takes the two outcomes of the choice that are worst for it."""
    variance = Fraction(6)
    own = mass(variance, 60)
    worst = 0.0
    for y, p in zip(range(-60, 61), own, strict=True):
        x = epsilon - (2 * y + 1) / (2 * float(variance))
        t = np.linspace(0, choice, 4001)  # log-ratios t and t - choice, with the chances that make them a pair of laws
        under_q = (1 - np.exp(t - choice)) / (np.exp(t) - np.exp(t - choice))  # of the first outcome
        first = under_q * np.maximum(0.0, np.exp(t) - math.exp(x))
        second = (1 - under_q) * np.maximum(0.0, np.exp(t - choice) - math.exp(x))
        worst += p * float((first + second).max())
    bound = delta_of_release(variance, 1, Fraction(epsilon), Fraction(choice))
    assert worst <= bound <= worst * (1 + 1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize(("l2_squared", "neighbours"), [(1, "add_remove"), (1, "replace"), (16, "replace")])
def test_noise_is_less_than_by_rho_and_could_not_be_two_percent_less_still(epsilon, l2_squared, neighbours):
    asked, terms = Allowance.of(epsilon, DELTA), Terms(neighbours)
    by_rho = terms.noise("counts", asked.whole, l2_squared=l2_squared, largest=1)
    event = terms.sharpened(by_rho, asked.whole)
    moved = l2_squared * (1 if neighbours == "add_remove" else 2)
    assert event.parameter < by_rho.parameter * Fraction(91, 100)
    assert event.cost == Cost(None, moved / (2 * event.parameter))
    assert delta_of_release(event.parameter, moved, asked.epsilon) <= DELTA
    assert delta_of_release(event.parameter * Fraction(96, 100), moved, asked.epsilon) > DELTA
    ledger = Ledger.stating(terms, asked, event)
    assert (ledger.epsilon, ledger.delta) == (epsilon, 1e-6)
    assert ledger.rho > float(asked.rho), "what adds up with other fits is the true rho"


def sharpened(share=ASKED.whole, terms=RECORDS, beside=(), **noise):
    planned = terms.noise("counts", share, **{"l2_squared": 16, "largest": 1, **noise})
    return terms.sharpened(planned, share, beside), planned


@pytest.mark.parametrize(
    "settings",
    [
        {"share": ASKED.whole * 1},
        {"share": Share(epsilon=ONE), "l1": 16},
        {"terms": Terms(max_rows=2, unit_column="id")},
        {"largest": None},
        {"signed": True, "l2_squared": 4, "largest": None},
        {"beside": (Terms().laplace("count", ONE / 100),)},
        {"beside": (Terms().exponential("a", ONE / 10**6),) * 2},
    ],
    ids=["a part", "pure", "units", "large moves", "signed", "beside noise", "beside two choices"],
)
def test_what_the_proof_does_not_cover_goes_by_rho(settings):
    event, planned = sharpened(**settings)
    assert event is planned


def test_a_ledger_takes_it_alone_or_beside_the_choice_that_was_planned_for():
    terms, alone = Terms(), sharpened()[0]
    choice = terms.exponential("weights", ASKED.rho / 20)
    event = terms.sharpened(
        terms.noise("counts", ASKED.whole * Fraction(19, 20), l2_squared=16, largest=1), ASKED.whole, (choice,)
    )
    free = Terms("label").free("sizes")
    for fine in ((alone,), (event, choice), (choice, event), (free, event, choice)):
        assert Ledger.stating(terms, ASKED, Sequential(fine)).epsilon == 1.0
    small = terms.gaussian("count", Fraction(1, 10**9))
    more = terms.exponential("weights", ASKED.rho / 10)
    adaptive = Filter("rounds", Cost(None, alone.cost.rho), (alone,))
    for wrong in (
        (alone, small),
        (alone, choice),
        (event, more),
        (event, choice, choice),
        (adaptive,),
        (Parallel((alone,)),),
    ):
        with pytest.raises(BudgetError, match=r"only 0\.024"):
            Ledger.stating(terms, ASKED, Sequential(wrong))
        ledger = Ledger(terms, ASKED)
        with pytest.raises(BudgetError):
            charge(ledger, wrong)
    flawed = Event("", Mechanism.GAUSSIAN, alone.parameter, ONE, alone.cost, flaw="no proof")
    assert Ledger.stating(terms, ASKED, alone).proven
    with pytest.raises(BudgetError):
        Ledger.stating(terms, ASKED, flawed)


def charge(ledger, parts):
    for part in parts:
        if isinstance(part, Filter):
            with ledger.filter(part.name, part.cap):
                ledger.charge(part.parts[0])
        elif isinstance(part, Parallel):
            with ledger.parallel():
                ledger.charge(part.parts[0])
        else:
            ledger.charge(part)


# --- Learners -------------------------------------------------------------------------------------------------------

SCHEMA = Schema({name: Categorical([0, 1, 2]) for name in "abc"}, classes=["no", "yes"])
X = pd.DataFrame({name: [(i // 3**place) % 3 for i in range(540)] for place, name in enumerate("abc")})
Y = ["yes" if i % 3 == 2 else "no" for i in range(540)]
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "schema": SCHEMA, "random_state": 0}
LEARNERS = {
    "matrix forest": MatrixForestClassifier(**BUDGET, n_trees=20, max_depth=2),
    "leaves": MatrixForestClassifier(**BUDGET, n_trees=20, max_depth=2, strategy="leaves"),
    "random forest": RandomDecisionForestClassifier(**BUDGET, n_trees=20, max_depth=3, n_rows_hint=5000),
    "random forest, equal weights": RandomDecisionForestClassifier(
        **BUDGET, n_trees=20, max_depth=3, vote_weights="equal"
    ),
}
EACH = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@EACH
def test_a_fit_states_what_was_asked_for_and_its_true_rho_and_so_does_its_file(learner, tmp_path):
    fitted = learner.fit(X, Y)
    for ledger in (learner.plan(), fitted.privacy_):
        assert (ledger.epsilon, ledger.delta) == (1.0, 1e-6)
        assert ledger.rho == pytest.approx(1.15 * float(ASKED.rho), rel=0.02)
    fitted.save(tmp_path / "model.json")
    assert privet.load(tmp_path / "model.json").privacy_.to_dict() == fitted.privacy_.to_dict()
    with privet.budget(epsilon=1.0, delta=1e-6) as block:
        learner.fit(X, Y)
    assert (block.spent, block.spent_delta) == (1.0, 1e-6)


def test_a_number_that_was_bought_first_leaves_noise_to_its_exact_delta_at_what_is_left():
    bought = RandomDecisionForestClassifier(**BUDGET, n_trees=20).fit(X, Y)
    count, alternative = bought.privacy_.composition.parts
    assert [type(part) for part in (count, alternative)] == [Event, Either]
    (noise,) = [event for event in alternative.events() if event.mechanism is Mechanism.GAUSSIAN]
    left = Allowance.of(1 - sum(event.cost.epsilon for event in bought.privacy_.events[:2]), 1e-6)
    assert noise.cost.rho > left.rho * Fraction(19, 20), "more than zCDP would leave it beside the choice"
    assert bought.privacy_.epsilon == 1.0
    assert bought.privacy_.cost == bought.plan().cost


@EACH
def test_in_an_account_a_fit_costs_no_more_rho_than_it_must(learner, tmp_path):
    """There rhos add up, so noise goes by rho; a slot that was declared by a plan from outside takes the fit."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    slot = Slot.of(1, learner.plan(), "a forest")
    make(url, "all", Limit.of(epsilon=1.0, delta=1e-6))
    make(url, "slots", Limit.of(epsilon=1.0, delta=1e-6, slots=[slot]))
    for name in ("all", "slots"):
        with privet.budget(url, dataset=name):
            assert learner.fit(X, Y).privacy_.rho == learner.plan().rho == readable(ASKED.rho)
            assert learner.privacy_.epsilon == 1.0
            with pytest.raises(BudgetError):
                learner.fit(X, Y)
