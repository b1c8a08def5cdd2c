"""Weights of classes' votes are one selection, chosen where they help, and part of what a forest says everywhere."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Numeric, RandomDecisionForestClassifier, Schema
from privet.audit import audit
from privet.audit.exact import exact_audit
from privet.audit.whole import tiny_subject
from privet.errors import ParameterError
from privet.exports import to_python
from privet.exports.thresholds import average_votes
from privet.learners.random_decision_forest.weights import (
    STRENGTHS,
    UNWEIGHTED,
    WEIGHTS_PART,
    RightUnderWeights,
    weightings,
)
from privet.models.forest import Forest
from privet.tables import MemoryTable

SCHEMA = Schema({f"x{i}": Numeric(0, 1) for i in range(6)}, classes=["no", "yes"])


def rare(n=8_000, seed=0):
    """Return records of which a fifth has the second class, where one of six features is high."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6))
    y = np.where(X[:, 0] > 0.8, "yes", "no")
    return pd.DataFrame(X, columns=list(SCHEMA.features)), y


def make(**settings):
    return RandomDecisionForestClassifier(**{"epsilon": 2.0, "schema": SCHEMA, "random_state": 0, **settings})


def test_a_rare_class_is_found_that_equal_weights_never_predict():
    X, y = rare()
    plain, weighted = (make(n_rows_hint=8_000, vote_weights=how).fit(X, y) for how in ("equal", "private"))
    assert weighted.model_.weights[1] > weighted.model_.weights[0]
    plainly, found = ((model.predict(X) == "yes").mean() for model in (plain, weighted))
    assert plainly < 0.1 < found < 0.3
    assert weighted.score(X, y) > plain.score(X, y) + 0.03
    np.testing.assert_allclose(weighted.predict_proba(X).sum(axis=1), 1)


def test_the_choice_is_planned_and_charged_and_the_whole_is_what_was_asked_for():
    for delta in (0.0, 1e-6):
        model = make(delta=delta, n_rows_hint=8_000)
        planned = model.plan()
        leaves, weights = planned.events
        assert weights.name == "weights of the classes' votes"
        assert weights.sensitivity == 1
        share = planned.allowance.whole
        spent = (weights.cost.epsilon, share.epsilon) if share.rho is None else (weights.cost.rho, share.rho)
        assert spent[0] == spent[1] * WEIGHTS_PART
        assert list(model.fit(*rare(500)).privacy_.events) == [leaves, weights]
        assert model.privacy_.epsilon == planned.epsilon == 2.0


def test_auto_needs_enough_records_and_threshold_voting_on_counts():
    chosen = {n: len(make(n_rows_hint=n).plan().events) > 1 for n in (199, 200, 5_000, "unknown")}
    assert chosen == {199: False, 200: True, 5_000: True, "unknown": False}
    for settings in ({"voting": "majority"}, {"voting": "majority", "leaves": "labels"}, {"voting": "probabilistic"}):
        assert len(make(n_rows_hint=5_000, **settings).plan().events) == 1
    with pytest.raises(ParameterError, match="voting"):
        make(vote_weights="private", voting="majority").plan()


def test_weightings_favour_rare_classes_more_and_more_and_one_favours_none():
    two = weightings(np.array([[700, -20], [180, 120]]))
    assert (two[UNWEIGHTED] == 1).all()
    assert (np.diff(two[:, 1] / two[:, 0]) > 0).all()
    assert two[STRENGTHS.tolist().index(1.0)][1] == pytest.approx(880 / 100)
    three = weightings(np.array([[900, 90, -5]]))
    assert (np.diff(three, axis=0) > 0).all()
    assert three[-1].argmax() == 2
    even = weightings(np.zeros((4, 2), dtype=np.int64))
    assert len(np.unique(even[:, 1])) == len(STRENGTHS)


def test_the_kernel_counts_what_the_forest_would_get_right():
    X, y = rare(2_000)
    forest = make(n_rows_hint=2_000, vote_weights="equal").fit(X, y).model_
    encoding = forest.encoding
    codes, target = encoding.encode(X), encoding.encode_target(y)
    tried = weightings(forest.leaves.counts)
    counted = MemoryTable(encoding, codes, target, n_jobs=3).aggregate(RightUnderWeights(forest, tried))
    for weights, right in zip(tried, counted, strict=True):
        weighted = Forest(encoding, forest.structure, forest.leaves, "threshold", weights)
        assert right == (weighted.predict(codes) == target).sum()


def test_one_record_adds_one_or_nothing_to_every_score():
    X, y = rare(300)
    forest = make(n_rows_hint=300, vote_weights="equal").fit(X, y).model_
    codes, target = forest.encoding.encode(X), forest.encoding.encode_target(y)
    kernel = RightUnderWeights(forest, weightings(forest.leaves.counts))
    whole = MemoryTable(forest.encoding, codes, target).aggregate(kernel)
    for place in range(0, 300, 30):
        kept = np.arange(300) != place
        less = MemoryTable(forest.encoding, np.ascontiguousarray(codes[:, kept]), target[kept]).aggregate(kernel)
        assert set(np.unique(whole - less)) <= {0, 1}


def test_the_exact_loss_reaches_the_claim_and_no_more():
    for delta, measure in ((0.0, "epsilon"), (1e-6, "rho")):
        subject = tiny_subject(make(epsilon=1.0, delta=delta, vote_weights="private", max_depth=2, n_trees=2))
        found = exact_audit(subject, 2)
        assert found.measure == measure
        assert not found.refuted
        assert found.loss > 0.98 * found.claimed


@pytest.mark.slow
def test_an_audit_of_weights_finds_nothing():
    report = audit(make(epsilon=1.0, n_trees=2, max_depth=2, vote_weights="private"), n_jobs=1)
    assert not report.refuted


def test_weights_go_to_files_and_exports_and_are_checked(tmp_path):
    X, y = rare(500)
    model = make(n_trees=3, max_depth=4).fit(X, y)
    before = model.predict_proba(X)
    model.model_ = replace(model.model_, weights=np.array([1.0, 3.0]))
    assert (model.predict_proba(X)[:, 1] >= before[:, 1]).all()
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(privet.load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X))
    with pytest.raises(ParameterError, match="weights"):
        average_votes(model.model_)
    scorer = {}
    exec(to_python(model), scorer)
    rows = X.iloc[:50].to_dict("records")
    np.testing.assert_allclose(
        [scorer["predict_proba"](row) for row in rows], model.predict_proba(X.iloc[:50]), atol=1e-12
    )
    forest = model.model_
    for wrong in (np.array([1.0]), np.array([1.0, -1.0]), np.array([1.0, np.inf]), np.array([1, 2])):
        with pytest.raises(ParameterError, match="weights must be"):
            Forest(forest.encoding, forest.structure, forest.leaves, "threshold", wrong)


def test_the_part_for_the_weights_is_not_given_to_the_leaves():
    settings = {"n_rows_hint": 8_000, "n_trees": 5}
    plain, weighted = (make(vote_weights=how, **settings).plan().events[0] for how in ("equal", "auto"))
    assert float(weighted.parameter) == pytest.approx(float(plain.parameter / (1 - WEIGHTS_PART)))
    assert weighted.cost.epsilon == plain.cost.epsilon * Fraction(19, 20)
