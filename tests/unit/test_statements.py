"""Numbers are stated exactly or on the safe side; words follow epsilon and delta."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

import privet
from privet import Categorical, Numeric, PrivaTreeClassifier, Schema
from privet.errors import BudgetError, LargeDeltaWarning
from privet.estimators import base
from privet.privacy.events import Cost, Event, Mechanism, readable, readable_down
from privet.privacy.ledger import Ledger
from privet.privacy.statements import (
    Grade,
    delta_in_words,
    fixed_down,
    odds_in_words,
    percent_down,
    percent_up,
    stated_down,
    stated_up,
)
from privet.privacy.terms import Allowance, Terms, most_delta
from privet.privacy.text import guarantee_in_words
from privet.report import render
from privet.report.words import badge
from privet.robustness.guarantees import Guarantee

SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"])}, classes=["no", "yes"])
POSITIVE = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)
JUST_ABOVE_ONE = Fraction("1.0000049")


def stating(epsilon, delta=0):
    """Return the ledger of one release that costs all of a guarantee."""
    allowance = Allowance.of(Fraction(epsilon), Fraction(delta))
    cost = Cost.pure(allowance.epsilon) if allowance.rho is None else Cost(None, allowance.rho)
    mechanism = Mechanism.LAPLACE if allowance.rho is None else Mechanism.GAUSSIAN
    return Ledger.stating(Terms(), allowance, Event("counts", mechanism, Fraction(7, 3), Fraction(1), cost))


@given(POSITIVE)
@example(JUST_ABOVE_ONE)
@example(Fraction(1, 10**400))
@example(Fraction(10**400 + 1))
@example(Fraction("999999.5"))
def test_what_is_stated_is_never_less_and_what_remains_never_more(x):
    up, down = Fraction(stated_up(x)), Fraction(stated_down(x))
    assert down <= x <= up
    assert up - x <= x / 10**5
    assert x - down <= x / 10**5
    assert Fraction(stated_up(-x)) == -down


@given(st.integers(1, 999_999), st.integers(-20, 20))
def test_what_few_digits_can_say_is_said_exactly_and_as_short_as_python_does(figures, exponent):
    x = figures * Fraction(10) ** exponent
    assert stated_up(x) == stated_down(x) == f"{float(x):.6g}"


@pytest.mark.parametrize(("x", "text"), [(1.0, "1"), (0.1, "0.1"), (1e-6, "1e-06"), (math.inf, "inf"), (0.0, "0")])
def test_a_float_is_taken_as_it_was_typed(x, text):
    assert stated_up(x) == stated_down(x) == text


@given(st.fractions(min_value=-(10**30), max_value=10**30))
def test_what_remains_as_a_float_is_never_overstated(x):
    assert Fraction(repr(readable_down(x))) <= x <= Fraction(repr(readable(x)))


@given(st.floats(0, 1e6), st.integers(1, 4))
def test_a_lower_bound_in_a_table_is_rounded_down(x, places):
    text = fixed_down(x, places)
    assert 0 <= Fraction(repr(x)) - Fraction(text) < Fraction(1, 10**places)
    assert len(text.partition(".")[2]) == places


@given(st.floats(0, 1))
def test_a_percentage_is_never_rounded_to_the_comfortable_side(share):
    assert Fraction(percent_down(share)[:-1]) <= Fraction(repr(100 * share)) <= Fraction(percent_up(share)[:-1]) <= 100


def test_every_text_of_a_ledger_rounds_up_what_it_cannot_say_exactly():
    ledger = stating(JUST_ABOVE_ONE)
    assert guarantee_in_words(ledger).startswith("epsilon = 1.00001 for ")
    assert "epsilon=1.00001" in repr(ledger)
    row = ledger.table(full=True).splitlines()[2]
    assert "1.00001" in row
    assert "0.500005" in row  # rho, epsilon^2 / 2 = 0.5000049...
    assert "scale 2.33333 " in row  # less noise than there is
    assert str(Guarantee.of(ledger)).startswith("epsilon = 1.00001 for ")


def test_delta_is_rounded_up_as_well():
    ledger = stating(1, Fraction("1.0000049e-6"))
    assert "delta = 1.00001e-06" in guarantee_in_words(ledger)
    assert "delta=1.00001e-06" in repr(ledger)
    assert "delta = 1.00001e-06" in str(Guarantee.of(ledger))
    assert "1.00001e-06" in ledger.table().splitlines()[-1]


def test_a_budget_says_no_less_than_was_spent_and_no_more_than_is_left():
    X, y = {"age": np.arange(40.0), "sex": np.array(["F", "M"] * 20)}, np.array(["no", "yes"] * 20)
    import pandas as pd

    with privet.budget(epsilon=2) as budget:
        PrivaTreeClassifier(epsilon=1.0000049, max_depth=1, schema=SCHEMA).fit(pd.DataFrame(X), y)
        assert repr(budget) == "Budget(epsilon=2, spent=1.00001, remaining=0.999995)"
        assert Fraction(repr(budget.remaining)) <= 2 - Fraction("1.0000049")
        with pytest.raises(BudgetError, match=r"costs epsilon 1\.00001, .* only 0\.999995 and 0 remain"):
            PrivaTreeClassifier(epsilon=1.0000049, max_depth=1, schema=SCHEMA).fit(pd.DataFrame(X), y)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n_rows", "strength"),
    [
        (1.0, 0.0, None, "strong"),
        (1.0000049, 0.0, None, "moderate"),
        (1.0, 1e-5, None, "strong"),
        (1.0, 1.1e-5, None, "moderate"),
        (10.0, 1e-4, None, "moderate"),
        (20.0, 1e-3, None, "weak"),
        (20.1, 0.0, None, "hardly any"),
        (0.1, 0.1, None, "hardly any"),
        (0.1, 0.5, None, "none"),
        (1000.0, 0.0, None, "none"),
        (math.inf, 1.0, None, "none"),
        (1.0, 1e-6, 100_000, "strong"),
        (1.0, 1e-6, 100_001, "weak"),
        (1.0, 1e-6, 10**6, "hardly any"),
    ],
)
def test_the_worse_of_epsilon_and_delta_decides_what_a_guarantee_is_called(epsilon, delta, n_rows, strength):
    assert Grade.of(epsilon, delta, n_rows).strength == strength


@given(st.floats(0, 1e4), st.floats(0, 1), st.floats(0, 1e4), st.floats(0, 1))
def test_a_larger_epsilon_or_delta_is_never_called_stronger(epsilon, delta, more_epsilon, more_delta):
    order = ["strong", "moderate", "weak", "hardly any", "none"]
    first, second = Grade.of(epsilon, delta), Grade.of(epsilon + more_epsilon, min(1.0, delta + more_delta))
    assert order.index(first.strength) <= order.index(second.strength)


@pytest.mark.parametrize(("epsilon", "delta"), [(1000, 0), (1, Fraction(1, 2)), (30, 0), (1, Fraction(1, 50))])
def test_green_is_for_strong_guarantees_alone(epsilon, delta):
    assert 'class="badge no"' in badge(stating(epsilon, delta))
    assert 'class="badge"' in badge(stating(1))
    assert 'class="badge fair"' in badge(stating(3))


@pytest.mark.parametrize(("epsilon", "delta"), [(1000.0, 0.0), (1.0, 0.5), (400.0, 0.0), (1.0, 0.0)])
def test_the_page_and_the_table_never_flatter_and_never_say_infinite(epsilon, delta):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 100, 60), np.zeros(60)])
    schema = Schema({"age": Numeric(0, 100), "height": Numeric(0, 1)}, classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeDeltaWarning)
        fitted = PrivaTreeClassifier(epsilon, delta=delta, max_depth=1, schema=schema, n_trees=1 + 19 * bool(delta))
        fitted.fit(X, X[:, 0] > 50)
    for text in (render(fitted), fitted.privacy_.table()):
        flattered = "a strong guarantee" in text or "Proven, strong" in text
        assert flattered == (epsilon == 1 and delta == 0)
        assert "at most inf" not in text
        assert "for what reached this estimator" in text
        assert ("may exceed what epsilon allows by up to 0.5, one in 2" in text) == bool(delta)


@given(st.floats(0, 2000))
def test_odds_are_never_infinite_in_words(epsilon):
    text = odds_in_words(epsilon)
    assert "inf" not in text
    assert epsilon <= 20 or text == "without a useful bound"


def test_delta_is_said_as_a_probability():
    assert delta_in_words(0.003) == "any probability may exceed what epsilon allows by up to 0.003, one in 333"


@pytest.mark.parametrize(
    ("delta", "n_rows", "large"),
    [(1e-5, None, False), (1.1e-5, None, True), (1e-6, 100_000, False), (1e-6, 100_001, True), (1e-5, 500, False)],
)
def test_a_delta_that_is_not_far_below_one_in_the_records_draws_a_warning_at_plan_time(delta, n_rows, large):
    assert (Allowance.of(1.0, delta).delta > most_delta(n_rows)) == large
    tree = PrivaTreeClassifier(1.0, delta=delta, max_depth=1, n_trees=20, schema=SCHEMA, n_rows_hint=n_rows)
    if large:
        with pytest.warns(LargeDeltaWarning, match="may exceed what epsilon allows by up to"):
            tree.plan()
    else:
        tree.plan()  # all warnings are errors here


def test_a_warning_of_delta_depends_on_public_facts_alone(monkeypatch):
    tree = PrivaTreeClassifier(1.0, delta=1e-3, max_depth=1, n_trees=20, schema=SCHEMA)
    told = []
    for n in (1, 7, 2000):
        monkeypatch.setattr(base, "_deltas_warned_of", set())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree.fit([[30, "F"]] * n, ["no"] * n)
        told.append([str(warning.message) for warning in caught])
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 1


def test_a_grid_search_does_not_repeat_the_warning(monkeypatch):
    monkeypatch.setattr(base, "_deltas_warned_of", set())
    X, y = np.array([[float(i), i % 2] for i in range(60)]), np.array([0, 1] * 30)
    schema = Schema({"age": Numeric(0, 100), "odd": Numeric(0, 1)}, classes=[0, 1])
    tree = PrivaTreeClassifier(1.0, delta=1e-3, max_depth=1, schema=schema)
    search = GridSearchCV(tree, {"max_depth": [1, 2, 3, 4]}, cv=5, refit=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        search.fit(X, y)
    assert len([warning for warning in caught if warning.category is LargeDeltaWarning]) == 1
