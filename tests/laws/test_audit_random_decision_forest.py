"""The exact loss of random decision forests on every tiny data set: within the claim, and not far below it."""

import pytest

from privet import Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.learners.random_decision_forest.forest import RandomDecisionForest
from privet.privacy.terms import Allowance
from tests.laws.planted import TINY

pytestmark = pytest.mark.law


def audit(learner, records, neighbours="add_remove", epsilon=1.0, delta=0):
    schema = Schema(TINY.features, TINY.target, neighbours=neighbours)
    return exact_audit(Subject(learner, schema, Allowance.of(epsilon, delta)), records)


# composition, leaves, neighbours, records, and the least part of epsilon that must be spent
CASES = [
    ("sequential", "counts", "add_remove", 3, 1.0),
    ("sequential", "counts", "replace", 3, 1.0),
    ("sequential", "counts", "label", 3, 1.0),
    ("sequential", "labels", "add_remove", 3, 1.0),
    ("sequential", "labels", "replace", 3, 1.0),
    ("disjoint", "counts", "add_remove", 2, 1.0),
    ("disjoint", "counts", "replace", 2, 1.0),
    ("disjoint", "labels", "add_remove", 3, 1.0),
    ("disjoint", "labels", "replace", 2, 0.919),
]


@pytest.mark.parametrize(("composition", "leaves", "neighbours", "records", "least"), CASES)
def test_the_loss_is_the_claim_or_a_known_part_of_it(composition, leaves, neighbours, records, least):
    voting = "majority" if leaves == "labels" else "threshold"
    learner = RandomDecisionForest(2, 1, voting, leaves, composition)
    result = audit(learner, records, neighbours)
    assert not result.refuted, result.witness
    assert result.loss >= least * (1 - 1e-6)


@pytest.mark.parametrize("leaves", ["counts", "labels"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_concentrated_loss_is_rho(leaves, neighbours):
    learner = RandomDecisionForest(3, 1, "majority", leaves)
    result = audit(learner, 3, neighbours, delta=1e-6)
    assert result.measure == "rho"
    assert not result.refuted, result.witness
    assert result.loss == pytest.approx(result.claimed, rel=1e-6)
