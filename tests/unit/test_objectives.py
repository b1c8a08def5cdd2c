"""Objectives move predictions and nothing else: no probability, no ledger, no charge; they survive files and clones."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, f1_score

import privet
from privet import (
    BoostingClassifier,
    DisjointForestClassifier,
    MatrixForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    PrivetClassifier,
    RandomDecisionForestClassifier,
    Schema,
)
from privet.errors import ModelFileError, ParameterError
from privet.estimators.objectives import best_f1_threshold
from privet.exports import to_python, to_sklearn_tree, to_sql

SCHEMA = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=["no", "yes"])
THREE = Schema({"x": Numeric(0, 1)}, classes=[0, 1, 2])
RARE = 0.1


def records(n=6_000, seed=0):
    """Return records of which a tenth are "yes", more of them the larger x is."""
    rng = np.random.default_rng(seed)
    x, z = rng.random((2, n))
    y = rng.random(n) < RARE * 4 * x**3
    return pd.DataFrame({"x": x, "z": z}), np.where(y, "yes", "no")


def learners():
    return [
        BoostingClassifier(2.0, schema=SCHEMA, n_rows_hint=6_000, random_state=0),
        BoostingClassifier(2.0, 1e-6, SCHEMA, random_state=0),
        BoostingClassifier(2.0, schema=SCHEMA, n_rows_hint=200, random_state=0),
        PrivaTreeClassifier(2.0, schema=SCHEMA, max_depth=3),
        PrivetClassifier(2.0, schema=SCHEMA, n_rows_hint=6_000, random_state=0),
    ]


@pytest.mark.parametrize("learner", learners(), ids=lambda one: f"{type(one).__name__}, {one.n_rows_hint}, {one.delta}")
def test_an_objective_is_met_better_than_by_the_largest_share(learner):
    X, y = records()
    model = learner.fit(X, y)
    before, shares = model.predict(X), model.predict_proba(X)
    spent = model.privacy_.to_dict()
    balanced = model.set_params(objective="balanced_accuracy").predict(X)
    assert balanced_accuracy_score(y, balanced) > balanced_accuracy_score(y, before) + 0.05
    f1 = model.set_params(objective="f1").predict(X)
    assert f1_score(y, f1, pos_label="yes") > f1_score(y, before, pos_label="yes", zero_division=0) + 0.05
    assert np.array_equal(model.predict_proba(X), shares)
    assert model.privacy_.to_dict() == spent


def test_costs_are_a_threshold_on_the_probability():
    X, y = records()
    model = PrivaTreeClassifier(2.0, schema=SCHEMA, objective={"no": 1, "yes": 9}).fit(X, y)
    share = model.predict_proba(X)[:, 1]
    assert np.array_equal(model.predict(X) == "yes", 9 * share > 1 - share)
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == "yes")


def test_an_objective_does_not_change_the_plan():
    plain, costly = (PrivaTreeClassifier(1.0, schema=SCHEMA, objective=o) for o in ("accuracy", {"no": 1, "yes": 9}))
    assert plain.plan().to_dict() == costly.plan().to_dict()


@pytest.mark.parametrize("objective", ["accuracy", "balanced_accuracy", "f1", {"no": 1.0, "yes": 9.0}])
def test_files_and_clones_keep_an_objective(tmp_path, objective):
    X, y = records()
    for kind in (BoostingClassifier, PrivaTreeClassifier):
        model = kind(2.0, schema=SCHEMA, objective=objective).fit(X, y)
        assert clone(model).objective == objective
        model.save(tmp_path / "model.json")
        again = privet.load(tmp_path / "model.json")
        assert again.objective == objective
        assert np.array_equal(again.predict(X), model.predict(X))
        stored = json.loads((tmp_path / "model.json").read_text())["parameters"]
        assert ("objective" in stored) == (objective != "accuracy")


def test_integer_classes_keep_their_costs_in_files(tmp_path):
    X = pd.DataFrame({"x": np.linspace(0, 1, 300)})
    model = BoostingClassifier(2.0, schema=THREE, objective={0: 1, 1: 2.5, 2: 1}).fit(X, np.arange(300) % 3)
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert again.objective == {0: 1.0, 1: 2.5, 2: 1.0}
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("plain", [[["no", 1.0]], [["no", 1.0], ["yes", -1.0]], [["no"]], "fame", [["no", 1], 7]])
def test_files_with_impossible_objectives_are_refused(tmp_path, plain):
    from privet.models.files import digest

    X, y = records(500)
    PrivaTreeClassifier(2.0, schema=SCHEMA).fit(X, y).save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    content.pop("digest")
    content["parameters"]["objective"] = plain
    (tmp_path / "model.json").write_text(json.dumps(content | {"digest": digest(content)}))
    with pytest.raises(ModelFileError):
        privet.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    "objective", ["precision", 7, None, {"no": 1}, {"no": 1, "yes": 0}, {"no": 1, "yes": float("inf")}, {0: 1, 1: 1}]
)
def test_impossible_objectives_are_refused_before_anything_is_spent(objective):
    with pytest.raises(ParameterError, match="objective"):
        PrivaTreeClassifier(1.0, schema=SCHEMA, objective=objective).plan()


def test_f1_is_for_two_classes():
    with pytest.raises(ParameterError, match="two classes"):
        BoostingClassifier(1.0, schema=THREE, objective="f1").plan()


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (PrivaTreeClassifier(2.0, schema=SCHEMA, leaves="labels"), ["balanced_accuracy", "f1"]),
        (DisjointForestClassifier(2.0, schema=SCHEMA, n_trees=5), ["balanced_accuracy", "f1"]),
        (MatrixForestClassifier(2.0, schema=SCHEMA, n_trees=5), ["balanced_accuracy", "f1"]),
        (RandomDecisionForestClassifier(2.0, schema=SCHEMA, n_trees=5), ["f1"]),
    ],
    ids=["labels", "disjoint", "matrix", "random"],
)
def test_an_objective_that_needs_more_than_was_released_is_refused(model, names):
    X, y = records(500)
    model.fit(X, y)
    for name in names:
        with pytest.raises(ParameterError, match="needs more than this model has released"):
            model.set_params(objective=name).predict(X)
    assert set(model.set_params(objective={"no": 1, "yes": 3}).predict(X)) <= {"no", "yes"}


def test_drawn_predictions_have_no_objective():
    with pytest.raises(ParameterError, match="draws predictions"):
        RandomDecisionForestClassifier(1.0, schema=SCHEMA, voting="probabilistic", objective="balanced_accuracy").plan()


def test_other_formats_refuse_an_objective_that_they_cannot_keep():
    X, y = records(500)
    model = PrivaTreeClassifier(2.0, schema=SCHEMA, objective="balanced_accuracy").fit(X, y)
    for export in (to_python, to_sql, to_sklearn_tree):
        with pytest.raises(ParameterError, match="objective"):
            export(model)
        export(clone(model).set_params(objective="accuracy").fit(X, y))


def test_private_evaluations_measure_what_is_predicted():
    X, y = records()
    model = PrivaTreeClassifier(2.0, schema=SCHEMA, objective="balanced_accuracy").fit(X, y)
    found = privet.evaluate(model, X, y, epsilon=20.0)
    assert abs(found.balanced_accuracy.value - balanced_accuracy_score(y, model.predict(X))) < 0.01
    assert abs(found.accuracy.value - np.mean(model.predict(X) == y)) < 0.01


def test_three_classes_are_balanced_by_their_frequencies():
    rng = np.random.default_rng(1)
    x = rng.random(4_000)
    y = np.where(rng.random(4_000) < 0.8, 0, np.where(x > 0.5, 1, 2))
    X = pd.DataFrame({"x": x})
    model = BoostingClassifier(3.0, 1e-6, THREE, n_rows_hint=4_000).fit(X, y)
    before = balanced_accuracy_score(y, model.predict(X))
    after = balanced_accuracy_score(y, model.set_params(objective="balanced_accuracy").predict(X))
    assert np.allclose(model.model_.class_frequencies(), [0.8, 0.1, 0.1], atol=0.05)
    assert after > before + 0.1


def test_the_best_f1_threshold_is_that_of_a_search():
    rng = np.random.default_rng(2)
    weights, shares = rng.random(50), rng.random(50)
    weights /= weights.sum()

    def f1(threshold):
        named = shares >= threshold
        return 2 * (weights * shares)[named].sum() / (weights[named].sum() + (weights * shares).sum())

    assert f1(best_f1_threshold(weights, shares)) == pytest.approx(max(map(f1, shares)))


def test_an_objective_that_does_not_exist_is_refused_after_a_fit_as_well():
    """It may be changed then; a misspelt name must not mean another objective."""
    X, y = records(300)
    model = PrivaTreeClassifier(2.0, schema=SCHEMA).fit(X, y)
    with pytest.raises(ParameterError, match="objective must be one of"):
        model.set_params(objective="balanced").predict(X)
    with pytest.raises(ParameterError, match="positive number for each class"):
        model.set_params(objective={"no": 1.0}).predict(X)
