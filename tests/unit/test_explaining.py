"""Explanations of a fitted estimator: importances, contributions, logarithms, decisions; all of released values."""

import numpy as np
import pandas as pd
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    DisjointForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
)

FEATURES = {"noise": Numeric(0, 1), "signal": Numeric(0, 1), "kind": Categorical(["a", "b"])}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])
THREE = Schema(FEATURES, classes=["no", "perhaps", "yes"])
N = 4_000


def records():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"noise": rng.random(N), "signal": rng.random(N), "kind": rng.choice(["a", "b"], N)})
    return X, np.where(X.signal + 0.2 * rng.standard_normal(N) > 0.5, "yes", "no")


@pytest.mark.parametrize(
    "model",
    [
        BoostingClassifier(2.0, schema=SCHEMA),
        PrivaTreeClassifier(2.0, schema=SCHEMA, max_depth=3),
        RandomDecisionForestClassifier(4.0, schema=SCHEMA, n_trees=40, max_depth=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_importances_rank_the_feature_that_matters_first(model):
    found = model.fit(*records()).feature_importances_
    assert found.shape == (3,)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert found.argmax() == 1


def test_impurity_decreases_are_those_of_the_released_counts():
    model = PrivaTreeClassifier(2.0, schema=SCHEMA, max_depth=1).fit(*records())
    counts = np.maximum(model.model_.leaves.counts, 0).astype(float)

    def gini(row):
        return row.sum() - (row**2).sum() / row.sum()

    gain = gini(model.model_.leaves.counts.sum(axis=0).astype(float)) - gini(counts[0]) - gini(counts[1])
    assert gain > 0
    expected = np.zeros(3)
    expected[model.model_.structure.splits.feature[0]] = 1.0
    assert np.array_equal(model.feature_importances_, expected)


@pytest.mark.parametrize(
    "model",
    [PrivaTreeClassifier(2.0, schema=SCHEMA, leaves="labels"), DisjointForestClassifier(2.0, schema=SCHEMA, n_trees=3)],
    ids=["labels", "disjoint"],
)
def test_where_labels_alone_were_released_there_are_no_importances(model):
    assert not hasattr(model, "feature_importances_")
    model.fit(*records())
    assert not hasattr(model, "feature_importances_")


def test_contributions_of_a_frame_add_up_to_the_score():
    X, y = records()
    model = BoostingClassifier(2.0, 1e-6, SCHEMA).fit(X, y)
    common, tables, trees = model.contributions(X[["kind", "signal", "noise"]][:50])
    scores = (common + tables.sum(axis=1) + trees.sum(axis=1))[:, 0]
    assert np.allclose(1 / (1 + np.exp(-scores)), model.predict_proba(X[:50])[:, 1])
    target = Schema(FEATURES, target=Numeric(0, 1))
    regressor = BoostingRegressor(2.0, schema=target).fit(X, X.signal)
    common, tables, trees = regressor.contributions(X[:50])
    assert np.allclose(
        np.clip((common + tables.sum(axis=1) + trees.sum(axis=1))[:, 0], 0, 1), regressor.predict(X[:50])
    )


def test_a_model_that_is_not_additive_says_so():
    X, y = records()
    with pytest.raises(AttributeError, match="boosting does"):
        PrivaTreeClassifier(2.0, schema=SCHEMA).fit(X, y).contributions(X)


def test_decisions_and_logarithms_agree_with_predictions():
    X, y = records()
    two = PrivaTreeClassifier(2.0, schema=SCHEMA).fit(X, y)
    assert np.array_equal(np.where(two.decision_function(X) > 0, "yes", "no"), two.predict(X))
    assert np.allclose(np.exp(two.predict_log_proba(X)), two.predict_proba(X), atol=1e-11)
    many = BoostingClassifier(2.0, schema=THREE).fit(X, np.where(X.kind == "a", y, "perhaps"))
    assert np.array_equal(many.classes_[many.decision_function(X).argmax(axis=1)], many.predict(X))
    assert many.decision_function(X).shape == (N, 3)
