"""Count first, then decide between pure epsilon and a delta: the exact law keeps what is claimed, in every branch."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
)
from privet.audit.at_delta import epsilon_at_delta
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.audit.ledger_audit import ledger_audit
from privet.audit.search import search
from privet.audit.whole import tiny_subject
from privet.estimators import counting
from privet.estimators.counting import CountedFirst
from privet.privacy.conversions import epsilon_to_zcdp, zcdp_to_epsilon
from privet.privacy.exact_gaussian import sharpest_rho
from privet.privacy.laws import DiscreteGaussian, DiscreteLaplace
from privet.privacy.terms import Allowance, Terms

ONE, DELTA = Fraction(1), Fraction(1, 10**4)
LOOK = Fraction(1, 5)


def law_of_both(values, look_epsilon, threshold, few, many):
    """Return log-masses of (count, answer) for each number of records: Laplace below a threshold, Gaussian above it."""
    counts, answers = np.arange(-150, 200), np.arange(-400, 401)
    laws = []
    for n in values:
        look = DiscreteLaplace(ONE / look_epsilon).log_pmf(counts - n)
        below, above = few.log_pmf(answers - n), many.log_pmf(answers - n)
        answer = np.where((counts < threshold)[:, None], below[None, :], above[None, :])
        laws.append(look[:, None] + answer)
    return laws


def worst_delta(p, q, epsilon):
    """The exact delta at epsilon, the worse of the two directions."""
    return max(float(np.maximum(0, np.exp(a) - np.exp(float(epsilon) + b)).sum()) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize("threshold", [-1000, -3, 0, 1, 2, 5, 1000])
@pytest.mark.parametrize("exact", [False, True])
def test_the_exact_law_of_a_count_and_what_it_decides_keeps_the_guarantee(threshold, exact):
    left = Allowance.of(ONE - LOOK, DELTA)
    terms = Terms()
    many = terms.gaussian("answer", left.rho)
    if exact:
        many = terms.sharpened(many, left.whole)
    laws = law_of_both((0, 1), LOOK, threshold, DiscreteLaplace(1 / left.epsilon), DiscreteGaussian(many.parameter))
    found = worst_delta(*laws, ONE)
    assert found <= float(DELTA)
    if exact and threshold == -1000:
        # With all of epsilon left for what follows, the count would be for free: that breaks the guarantee.
        whole = Allowance.of(ONE, DELTA)
        sharp = terms.sharpened(terms.gaussian("answer", whole.rho), whole.whole)
        free = law_of_both((0, 1), LOOK, threshold, DiscreteLaplace(ONE), DiscreteGaussian(sharp.parameter))
        assert worst_delta(*free, ONE) > 1.1 * float(DELTA)


TWO = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1])}, classes=[0, 1])
SMALL = {"n_trees": 1, "max_depth": 1}
LEARNERS = {
    "boosting": (BoostingClassifier(1.0, 1e-6, TWO), SMALL),
    "random forest": (RandomDecisionForestClassifier(1.0, 1e-6, TWO), {"n_trees": 40, "max_depth": 1}),
    "random forest, no votes weighed": (
        RandomDecisionForestClassifier(1.0, 1e-6, TWO, vote_weights="equal"),
        {"n_trees": 40, "max_depth": 1},
    ),
    "tree": (PrivaTreeClassifier(1.0, 1e-6, TWO), SMALL),
    "multinomial forest": (MultinomialForestClassifier(1.0, 1e-6, TWO), SMALL),
}
MANY = 10**6


@pytest.mark.parametrize("answer", [0, MANY])
@pytest.mark.parametrize("name", LEARNERS)
def test_no_branch_loses_more_than_is_claimed(name, answer):
    model, limits = LEARNERS[name]
    subject = replace(tiny_subject(model, **limits), answer=answer)
    assert isinstance(subject.learner, CountedFirst)
    found = exact_audit(subject, 1)
    assert found.measure == "epsilon at delta"
    assert not found.refuted
    assert 0.02 < found.loss <= 1.0


def test_one_forest_is_pure_for_few_records_and_goes_by_its_exact_delta_for_many():
    model = RandomDecisionForestClassifier(1.0, 1e-6, TWO)
    learner = CountedFirst(model._learner_for, model._learner().bins, model._stronger)
    subject = Subject(learner, TWO, Allowance.of(1, 1e-6))
    for answer in (0, 3_000):
        found = exact_audit(replace(subject, answer=answer), 1)
        assert not found.refuted
        assert found.loss > 0.9, "hardly any of the budget is left over"
        assert {path.pure for path in replace(subject, answer=answer).paths(((0, 0, 1),))} == {answer == 0}


@dataclass(frozen=True)
class CountsOften(counting.RecordCount):
    """A kernel that counts every record many times, so that noise for one is too little."""

    def __call__(self, block):
        return 150 * super().__call__(block)


@pytest.mark.parametrize("answer", [0, MANY])
@pytest.mark.parametrize("name", ["random forest", "tree"])
def test_a_count_with_too_little_noise_is_refuted_in_every_branch(name, answer, monkeypatch):
    model, limits = LEARNERS[name]
    subject = replace(tiny_subject(model, **limits), answer=answer)
    monkeypatch.setattr(counting, "RecordCount", CountsOften)
    assert exact_audit(subject, 1).refuted


@pytest.mark.parametrize("name", ["boosting", "random forest", "tree"])
def test_a_search_measures_an_epsilon_at_delta_too(name, monkeypatch):
    model, limits = LEARNERS[name]
    subject = tiny_subject(model, **limits)
    found = search(subject, 40)
    assert found.measure == "epsilon at delta"
    assert not found.refuted
    monkeypatch.setattr(counting, "RecordCount", CountsOften)
    assert search(subject, 40).refuted


def test_the_ledger_is_that_of_the_plan_and_the_model_a_function_of_what_was_released():
    from privet.audit.canaries import canaries

    for model in (LEARNERS["random forest"][0], LEARNERS["boosting"][0]):
        assert not any(finding.refuted for finding in ledger_audit(model, canaries(TWO)[:2]))


def test_an_epsilon_at_delta_is_that_of_looks_and_of_what_follows():
    terms, delta = Terms(), Fraction(1, 10**6)
    look, moved = terms.laplace("look", ONE / 10), np.array([1])
    rho = epsilon_to_zcdp(ONE, delta)
    noise = terms.gaussian("noise", rho)
    pair = [(look, moved), (noise, moved)]
    by_rho = epsilon_at_delta(pair, [], delta, ONE * 2)
    assert by_rho == pytest.approx(0.1 + float(zcdp_to_epsilon(rho, delta)), abs=1e-6)
    exactly = epsilon_at_delta(pair, [], delta, ONE)
    assert 0.1 + 0.9 < exactly < by_rho, "the exact delta is smaller, so less epsilon is lost"
    assert epsilon_at_delta([(look, moved)], [], delta, ONE) == pytest.approx(0.1)
    assert epsilon_at_delta([], [0.8], delta, ONE) == pytest.approx(float(zcdp_to_epsilon(Fraction(0.08), delta)))


def test_after_a_look_many_gaussian_releases_lose_what_their_exact_delta_says():
    """Four releases that share all that one mu allows: no more than that is lost, and more with less noise."""
    terms, delta, left = Terms(), Fraction(1, 10**6), ONE - LOOK
    look, moved = terms.laplace("look", LOOK), np.array([2**20])
    rho = sharpest_rho(epsilon_to_zcdp(left, delta), left, delta)
    for more, within in ((Fraction(0), True), (Fraction(1, 50), False)):
        noises = [(terms.gaussian("noise", rho / 4 * (1 + more), l2_squared=2**40), moved) for _ in range(4)]
        found = epsilon_at_delta([(look, np.array([1])), *noises], [], delta, ONE)
        assert (found <= ONE) == within
        assert found == pytest.approx(1.0, abs=0.02)
        by_rho = epsilon_at_delta([(look, np.array([1])), *noises], [1e-9], delta, ONE)
        assert by_rho > 1.05, "beside a choice nothing but zCDP is known of several"


def test_turned_columns_after_a_count_go_by_their_exact_delta():
    schema = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1])}, target=Numeric(0, 1))
    subject = replace(tiny_subject(BoostingRegressor(1.0, 1e-6, schema), **SMALL), answer=300)
    found = exact_audit(subject, 1)
    assert found.measure == "epsilon at delta"
    assert not found.refuted
    assert found.loss > 0.9
