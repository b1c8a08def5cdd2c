"""Costs add up in sequence, the largest counts in parallel, and terms turn sensitivities into noise."""

import math
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import (
    BoostingClassifier,
    Numeric,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Unit,
)
from privet.errors import ParameterError
from privet.parameters import LARGEST_SCALE
from privet.privacy.events import Cost, Mechanism, Parallel, Sequential, readable
from privet.privacy.laws import DiscreteGaussian, DiscreteLaplace
from privet.privacy.terms import Allowance, Share, Terms

ONE = Fraction(1)
fractions = st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=10_000)


def laplace(epsilon):
    return Terms().laplace("counts", Fraction(epsilon))


def test_sequence_adds_and_parallel_takes_the_largest():
    a, b = laplace("0.1"), laplace("0.3")
    assert Sequential((a, b)).cost.epsilon == Fraction(2, 5)
    assert Parallel((a, b)).cost.epsilon == Fraction(3, 10)
    nested = Sequential((a, Parallel((b, Sequential((a, a))))))
    assert nested.cost.epsilon == Fraction(2, 5)
    assert [event.cost.epsilon for event in nested.events()] == [Fraction(1, 10), Fraction(3, 10)] + [
        Fraction(1, 10)
    ] * 2


def test_a_part_without_a_bound_makes_the_whole_unbounded():
    gaussian = Terms().gaussian("sums", Fraction(1, 10))
    assert Sequential((laplace(1), gaussian)).cost.epsilon is None
    assert Sequential((laplace(1), gaussian)).cost.rho == Fraction(1, 2) + Fraction(1, 10)
    assert Parallel((Sequential(()), gaussian)).cost == Cost(None, Fraction(1, 10))


@given(fractions, st.integers(1, 200), st.integers(1, 5), st.sampled_from(["add_remove", "replace", "label"]))
def test_laplace_scale_never_spends_more_than_its_share(epsilon, l1, rows, neighbours):
    terms = Terms(neighbours, rows)
    event = terms.laplace("counts", epsilon, l1=l1)
    spent = Fraction(l1) * terms.steps / event.parameter
    assert spent <= epsilon
    assert spent >= epsilon * (1 - Fraction(1, 2**15)), "far more noise than the share pays for"


@given(fractions, st.integers(1, 200), st.integers(1, 5), st.sampled_from(["add_remove", "replace", "label"]))
def test_gaussian_variance_never_spends_more_than_its_share(rho, l2_squared, rows, neighbours):
    event = Terms(neighbours, rows).gaussian("sums", rho, l2_squared=l2_squared, signed=True)
    factor = rows**2 * (1 if neighbours == "add_remove" else 4)
    spent = Fraction(l2_squared) * factor / (2 * event.parameter)
    assert rho * (1 - Fraction(1, 2**10)) <= spent <= rho


@given(fractions, fractions, st.sampled_from(["add_remove", "replace", "label"]))
def test_selection_rates_never_spend_more_than_their_share(budget, score_range, neighbours):
    terms = Terms(neighbours)
    flip = terms.permute_and_flip("split", budget, score_range=score_range)
    assert budget * (1 - Fraction(1, 2**15)) <= flip.parameter * score_range * terms.steps <= budget
    exponential = terms.exponential("split", budget, score_range=score_range)
    spent = (exponential.parameter * score_range * terms.steps) ** 2 / 8
    assert budget * (1 - Fraction(1, 2**14)) <= spent <= budget
    assert exponential.cost.epsilon == exponential.parameter * score_range * terms.steps


def test_replacing_is_two_steps_and_a_gaussian_swap_of_counts_only_the_root_of_two():
    one, two = Terms("add_remove"), Terms("replace")
    assert two.laplace("c", ONE).parameter == 2 * one.laplace("c", ONE).parameter
    assert float(two.gaussian("c", ONE).parameter) == pytest.approx(2 * float(one.gaussian("c", ONE).parameter))
    assert float(two.gaussian("c", ONE, signed=True).parameter) == pytest.approx(
        4 * float(one.gaussian("c", ONE).parameter)
    )
    assert two.permute_and_flip("c", ONE).parameter == one.permute_and_flip("c", ONE).parameter / 2


def test_a_pure_share_gives_laplace_and_permute_and_flip_and_a_rho_share_the_others():
    terms = Terms()
    assert terms.noise("c", Share(epsilon=ONE)).mechanism is Mechanism.LAPLACE
    assert terms.noise("c", Share(rho=ONE)).mechanism is Mechanism.GAUSSIAN
    assert terms.choice("c", Share(epsilon=ONE)).mechanism is Mechanism.PERMUTE_AND_FLIP
    assert terms.choice("c", Share(rho=ONE)).mechanism is Mechanism.EXPONENTIAL
    assert terms.noise("c", None).cost == Cost.unbounded()


SMALLEST = Fraction(1, LARGEST_SCALE)


def test_noise_that_is_too_large_to_draw_is_refused_when_it_is_planned():
    """Not when it is drawn, after the budget was charged."""
    terms = Terms()
    assert terms.laplace("counts", SMALLEST).parameter == LARGEST_SCALE
    assert terms.cube("sums", 4 * SMALLEST, groups=(1, 2)).parameter == LARGEST_SCALE // 4
    assert terms.gaussian("sums", SMALLEST**2 / 2).parameter == LARGEST_SCALE**2
    for planned in (
        lambda: terms.laplace("counts", SMALLEST / 2),
        lambda: Terms("replace").laplace("counts", SMALLEST),
        lambda: terms.cube("sums", 3 * SMALLEST, groups=(1, 2)),
        lambda: terms.gaussian("sums", SMALLEST**2 / 5),
    ):
        with pytest.raises(ParameterError, match="give a larger epsilon"):
            planned()


@pytest.mark.parametrize("learner", [BoostingClassifier, PrivaTreeClassifier, RandomDecisionForestClassifier])
@pytest.mark.parametrize("hint", [None, 200, "unknown"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1e-8, 1e-12, 3e-14, 1e-16, 1e-20])
def test_an_epsilon_that_is_too_small_to_draw_noise_for_is_refused_by_plan_and_fit_alike(learner, hint, epsilon, delta):
    schema = Schema({"x": Numeric(0, 1), "y": Numeric(0, 1)}, classes=[0, 1], unit=Unit("id", 5))
    model = learner(epsilon, delta, schema, n_rows_hint=hint, random_state=0)
    frame = pd.DataFrame({"x": [0.1, 0.9] * 20, "y": [0.5] * 40, "id": range(40)})
    try:
        model.plan()
    except ParameterError:
        with pytest.raises(ParameterError, match="give a larger epsilon"):
            model.fit(frame, [0, 1] * 20)
    else:
        model.fit(frame, [0, 1] * 20)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=100))
def test_a_readable_claim_is_never_understated(x):
    assert Fraction(repr(readable(x))) >= x
    assert readable(x) <= float(x) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0, -1, 0.0, float("nan"), float("inf"), "1.0", True, None, [1]])
def test_an_epsilon_that_is_not_a_positive_number_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        Allowance.of(epsilon)


@pytest.mark.parametrize("delta", [1, 1.0, -0.1, 2, float("nan"), "0"])
def test_a_delta_outside_zero_to_one_is_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        Allowance.of(1.0, delta)


def test_epsilon_is_read_as_the_decimal_that_was_typed():
    assert Allowance.of(0.1).epsilon == Fraction(1, 10)
    assert Allowance.of(0.1, 1e-6).delta == Fraction(1, 10**6)


@pytest.mark.parametrize("parameter", [Fraction(400), Fraction(10**6, 7)])
def test_the_deviation_of_an_event_is_that_of_its_law(parameter):
    terms = Terms()
    laplace, gaussian = terms.laplace("counts", 1 / parameter), terms.gaussian("counts", 1 / (2 * parameter))
    assert laplace.deviation == pytest.approx(math.sqrt(DiscreteLaplace(laplace.parameter).variance), rel=1e-3)
    assert gaussian.deviation == pytest.approx(math.sqrt(DiscreteGaussian(gaussian.parameter).variance), rel=1e-3)
    assert terms.noise("counts", None).deviation == 0
    assert terms.permute_and_flip("split", parameter).deviation == 0
