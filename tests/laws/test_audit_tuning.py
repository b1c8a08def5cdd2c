"""The exact loss of a search on every tiny data set: within the claim, and the price of random stopping is needed."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from privet import Schema
from privet.audit.enumeration import Enumerating, Subject
from privet.audit.exact import exact_audit
from privet.mechanisms import random_stopping
from privet.mechanisms.random_stopping import PRICES, RandomStopping, best_of_trials
from privet.mechanisms.release import Release, drawn
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tuning import held_out
from privet.tuning.fits import Field, Fit
from privet.tuning.held_out import HeldOutSearch
from privet.tuning.scoring import ClassSizes
from privet.tuning.stopping import Trial
from tests.laws.planted import TINY, OneQuestion

pytestmark = pytest.mark.law


@dataclass(frozen=True)
class Constant:
    """A learner that predicts one released label for everybody, or for everybody with a = 1, 0 for the others."""

    by_feature: bool = False
    bins: int = 2

    def plan(self, encoding, terms, share, hints):
        return OneQuestion(terms.choice("label", share))

    def grow(self, table, release, rng, plan):
        sizes = table.aggregate(ClassSizes(table.encoding.n_classes))
        return OneLabel(table.encoding, int(release.choose(sizes[np.newaxis], plan.question)[0]), self.by_feature)


@dataclass(frozen=True)
class OneLabel:
    """What it learned."""

    encoding: object
    label: int
    by_feature: bool

    def votes(self, codes, n_jobs=1):
        second = np.full(codes.shape[1], 0.1 + 0.5 * self.label)
        second = np.where(codes[0] == 1, second, 0.1) if self.by_feature else second
        return np.stack([1 - second, second], axis=1)


def field(*learners, objectives=("accuracy",)):
    """Return the candidates: each learner with each objective."""
    encoding = TINY.encoding(2)
    fits = tuple(Fit(learner, learner, encoding) for learner in learners)
    return Field(fits, tuple((fit, objective) for fit in range(len(fits)) for objective in objectives), bins=2)


BOTH = field(Constant(), Constant(by_feature=True))
THRESHOLDS = field(Constant(), objectives=("accuracy", {0: 1.0, 1: 20.0}))
HALF = Fraction(1, 2)


def audit(learner, neighbours="add_remove", records=3):
    schema = Schema(TINY.features, TINY.target, neighbours=neighbours)
    return exact_audit(Subject(learner, schema, Allowance.of(1.0)), records)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace", "label"])
@pytest.mark.parametrize("refit", [Fraction(0), HALF])
@pytest.mark.parametrize("candidates", [BOTH, THRESHOLDS], ids=["two fits", "two thresholds"])
def test_the_loss_of_choosing_by_held_out_records_is_within_the_claim(candidates, refit, neighbours):
    result = audit(HeldOutSearch(candidates, None, HALF, refit), neighbours, records=2)
    assert not result.refuted, result.witness
    assert result.loss > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["balanced_accuracy", {0: 1.0, 1: 5.0}], ids=["balanced", "costs"])
def test_other_ways_to_compare_are_within_the_claim(scoring):
    result = audit(HeldOutSearch(THRESHOLDS, scoring, HALF, Fraction(0)), records=2)
    assert not result.refuted, result.witness
    assert result.loss > 0.3


@pytest.mark.slow
def test_the_audit_refutes_a_search_in_which_records_both_train_and_choose(monkeypatch):
    """Without the division every record is in both parts, whose costs were said to be the larger of the two."""
    monkeypatch.setattr(held_out, "OnlyPart", lambda table, state, part: table)
    assert audit(HeldOutSearch(THRESHOLDS, None, HALF, Fraction(0))).refuted


def test_the_audit_refutes_points_that_count_for_more_than_their_range(monkeypatch):
    monkeypatch.setattr(held_out, "FULL", held_out.FULL // 4)
    assert audit(HeldOutSearch(THRESHOLDS, None, HALF, Fraction(0)), records=2).refuted


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace", "label"])
def test_a_trial_is_as_private_as_its_price_says(neighbours):
    result = audit(Trial(field(Constant()), 0, None, HALF), neighbours, records=1)
    assert not result.refuted, result.witness
    assert result.loss > 0.3


# The law of the best of several trials, from the law of one.


def generating(law, tickets, x):
    """Return the mean of x to the number of trials."""
    g = 1 / tickets
    if law == "geometric":
        return g * x / (1 - (1 - g) * x)
    return math.log(1 - (1 - g) * x) / math.log(g)


def law_of_the_best(law, tickets, single):
    """Return the probability that each result is the best; results are listed from the worst to the best."""
    reached = np.minimum(np.concatenate([[0.0], np.cumsum(single)]), 1.0)
    return np.diff([generating(law, tickets, x) for x in reached])


def pairs_of_trials(epsilon):
    """Yield pairs of laws of a trial: some results are likelier by e^epsilon, others less likely."""
    for rare in (0.2, 0.05, 0.001):
        for tilt in itertools.product([-1, 0, 1], repeat=3):
            single = rare * np.array([0.01, 1.0, 1.0])  # a result that is hardly ever seen, and two better ones
            better = single, single * np.exp(epsilon * np.array(tilt))
            yield tuple(np.concatenate([[1 - one.sum()], one]) for one in better)


@pytest.mark.parametrize("law", list(PRICES))
@pytest.mark.parametrize("tickets", [2, 9, 10_000])
def test_the_best_of_a_random_number_of_trials_costs_its_price_and_no_less(law, tickets):
    worst = 0.0
    for single, other in pairs_of_trials(0.2):
        apart = np.abs(np.log(single / other)).max()
        if apart < 1e-6:
            continue
        best = [law_of_the_best(law, tickets, trial) for trial in (single, other)]
        assert all(one.sum() == pytest.approx(1.0) for one in best)
        loss = np.abs(np.log(best[0] / best[1])).max()
        assert loss <= PRICES[law] * apart + 1e-9
        worst = max(worst, loss / apart)
    if tickets == 10_000:
        assert worst > PRICES[law] - 0.2  # a lower price would be refuted


def forced_law(stopping, single, most):
    """Enumerate production's own loop: the probability that each result is the best, and how often it went on."""
    found, beyond, pending = np.zeros(len(single)), 0.0, [((), 1.0)]
    while pending:
        forced, chance = pending.pop()
        outcomes = Enumerating(forced, 0)
        release = Release(Ledger(Terms(), Allowance.of(3)), outcomes)
        try:
            best = best_of_trials(release, stopping, len(single), lambda _, result: (result, result))
        except RuntimeError:
            best = None
        free = outcomes.questions[len(forced) :]
        if not free:
            found[best] += chance
        elif len(forced) > most:
            beyond += chance
        else:
            law = free[0][1][0]
            pending.extend(((*forced, (k,)), chance * p) for k, p in enumerate(law))
    return found, beyond


@pytest.mark.slow
@pytest.mark.parametrize("law", list(PRICES))
def test_the_loop_of_production_has_the_law_of_the_proof(law):
    stopping = RandomStopping(law, 2, Fraction(1))
    found, beyond = forced_law(stopping, np.full(2, 0.5), 10)
    expected = law_of_the_best(law, 2, np.full(2, 0.5))
    assert (found <= expected + 1e-12).all()
    assert found.sum() + beyond == pytest.approx(1.0)
    assert beyond < 0.25
    assert (expected - found <= beyond + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("law", list(PRICES))
def test_the_number_of_trials_is_drawn_from_its_law(law):
    stopping, n = RandomStopping(law, 5, Fraction(1)), 2_000
    release = Release(Ledger(Terms(), None), drawn())
    numbers = np.array([random_stopping._number_of_trials(release, stopping) for _ in range(n)])
    weights = (4 / 5) ** np.arange(1, 60.0) / (1 if law == "geometric" else np.arange(1, 60.0))
    for number, chance in enumerate((weights / weights.sum())[:6], start=1):
        # Bernstein: each of six shares of both laws is farther off with a chance below 1e-10
        assert abs((numbers == number).mean() - chance) < 7 * math.sqrt(chance * (1 - chance) / n) + 12 / n
    assert numbers.mean() == pytest.approx(stopping.mean, rel=0.2)
