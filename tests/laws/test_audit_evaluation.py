"""The exact loss of a private evaluation on every tiny data set: within the claim, and not far below it."""

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.evaluation import classes, counting, regressors
from privet.evaluation.classes import ClassEvaluator
from privet.evaluation.regressors import RegressorEvaluator
from privet.privacy.terms import Allowance
from tests.laws.planted import TINY

pytestmark = pytest.mark.law

MANY = Schema(TINY.features, classes=[0, 1, 2])
RANGE = Schema(TINY.features, target=Numeric(0, 1))


class Shares:
    """A public model: shares that differ from cell to cell of the tiny schema, or numbers at the ends of the range."""

    def __init__(self, schema):
        self.encoding = schema.encoding(2)

    def votes(self, codes, n_jobs=1):
        second = 0.1 + 0.2 * codes[0] + 0.4 * codes[1].astype(float)
        rest = np.repeat((1 - second)[:, None] / (self.encoding.n_classes - 1), self.encoding.n_classes - 1, axis=1)
        return np.hstack([rest, second[:, None]])

    def predictions(self, codes, n_jobs=1):
        return codes[0].astype(float)


def audit(evaluator, schema, neighbours="add_remove", records=2, delta=0):
    schema = Schema(schema.features, schema.target, neighbours=neighbours)
    return exact_audit(Subject(evaluator, schema, Allowance.of(1.0, delta)), records)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace", "label"])
@pytest.mark.parametrize("group", [None, 1])
@pytest.mark.parametrize("schema", [TINY, MANY], ids=["two classes", "three classes"])
def test_the_loss_of_counting_classes_is_the_claim(schema, group, neighbours):
    result = audit(ClassEvaluator(Shares(schema), group, bins=2), schema, neighbours)
    assert not result.refuted, result.witness
    # a changed label moves the record to another class, but not to another block of shares; one of three shares is
    # neither that of the old nor that of the new class, and stays
    least = {"add_remove": 1.0, "replace": 1.0, "label": 0.6}[neighbours]
    assert result.loss >= least * (1 - 1e-6)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace", "label"])
@pytest.mark.parametrize("group", [None, 1])
def test_the_loss_of_adding_up_errors_is_near_the_claim(group, neighbours):
    result = audit(RegressorEvaluator(Shares(RANGE), group, bins=2), RANGE, neighbours)
    assert not result.refuted, result.witness
    # a replaced record leaves the number as it is, and moves a sum of errors by its largest part, not by twice that
    assert result.loss >= {"add_remove": 0.99, "replace": 0.4, "label": 0.4}[neighbours]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_concentrated_loss_is_within_rho(neighbours):
    for evaluator, schema in (
        (ClassEvaluator(Shares(TINY), bins=2), TINY),
        (RegressorEvaluator(Shares(RANGE), bins=2), RANGE),
    ):
        result = audit(evaluator, schema, neighbours, delta=1e-6)
        assert result.measure == "rho"
        assert not result.refuted, result.witness


class Twice:
    """A kernel that counts every record twice: a planted bug."""

    def __init__(self, *arguments):
        self.right = counting.ClassCounts(*arguments)

    def __call__(self, block):
        return 2 * self.right(block)


class Wider:
    """A kernel whose errors are twice as large as they may be: a planted bug."""

    def __init__(self, *arguments):
        self.right = counting.RegressorSums(*arguments)

    def __call__(self, block):
        return self.right(block) * np.array([1, 1, 1, 4, 2])


def test_the_audit_refutes_evaluations_that_let_a_record_count_for_more(monkeypatch):
    monkeypatch.setattr(classes, "ClassCounts", Twice)
    assert audit(ClassEvaluator(Shares(TINY), bins=2), TINY).refuted
    monkeypatch.setattr(regressors, "RegressorSums", Wider)
    assert audit(RegressorEvaluator(Shares(RANGE), bins=2), RANGE).refuted
