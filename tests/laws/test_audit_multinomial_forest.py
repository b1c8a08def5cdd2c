"""The exact audit of the multinomial forest: coins enumerated, never above the claim, never silently far below."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privet import Categorical, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.learners.multinomial_forest.private import MultinomialForest
from privet.privacy.terms import Allowance

pytestmark = pytest.mark.law

ONE = Fraction(1)


def subject(learner, neighbours="add_remove", delta=0.0, features=("a", "b")):
    schema = Schema({name: Categorical([0, 1]) for name in features}, classes=[0, 1], neighbours=neighbours)
    return Subject(learner, schema, Allowance.of(1.0, delta))


# (setting, records, neighbours, largest loss found; the claim is 1)
EXPECTED = [
    (MultinomialForest(1, 1, "gini", label_part=ONE), 3, "add_remove", 0.450370),
    (MultinomialForest(1, 1), 2, "replace", 0.416426),
    (MultinomialForest(1, 1, stages="two"), 2, "add_remove", 0.303899),
    (MultinomialForest(1, 1, gamma=Fraction(1, 2), partition_rate=Fraction(1, 2)), 2, "add_remove", 0.357811),
    (MultinomialForest(2, 1), 1, "add_remove", 0.277584),
    (MultinomialForest(2, 1, composition="disjoint"), 1, "replace", 0.260647),
]


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "records", "neighbours", "expected"), EXPECTED)
def test_the_exact_loss_is_below_the_claim_and_what_it_was(learner, records, neighbours, expected):
    found = exact_audit(subject(learner, neighbours), records)
    assert not found.refuted
    assert found.claimed == 1.0
    assert found.loss == pytest.approx(expected, abs=1e-4)


def full_law(audited, data):
    """Return the probability of every outcome, coins summed over."""
    law = {}
    for path in audited.paths(data):
        name, last = path.last
        for winners in product(*(range(last.shape[1]) for _ in range(last.shape[0]))):
            chance = math.exp(path.log_probability) * np.prod([last[row, at] for row, at in enumerate(winners)])
            outcome = (*path.seen, (name, winners))
            law[outcome] = law.get(outcome, 0.0) + float(chance)
    assert sum(law.values()) == pytest.approx(1.0)
    return law


def divergence(p, q, order):
    """Return Renyi's divergence of this order."""
    return math.log(sum(p[o] ** order * q[o] ** (1 - order) for o in p)) / (order - 1)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_under_zcdp_every_divergence_of_a_mixture_stays_below_the_largest_rho(neighbours):
    audited = subject(MultinomialForest(1, 1), neighbours, delta=1e-6)
    rho, same, other = float(audited.allowance.rho), (0, 0, 0), (0, 1, 1)
    pairs = {
        "add_remove": [((), (same,)), ((same,), (same, other)), ((same, same), (same, same, other))],
        "replace": [((same,), (other,)), ((same, same), (same, other))],
    }
    worst = 0.0
    for a, b in pairs[neighbours]:
        p, q = full_law(audited, a), full_law(audited, b)
        worst = max([worst, *(divergence(x, y, s) / s for s in (1.01, 2, 8, 64) for x, y in ((p, q), (q, p)))])
    assert 0.05 * rho < worst <= rho
