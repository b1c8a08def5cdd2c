"""Bad input gets a clear error that names the remedy, and nothing is charged."""

import numpy as np
import pandas as pd
import pytest

import privet
from privet import BoostingRegressor, Categorical, Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import PrivetError

FEATURES = {"age": Numeric(0, 100), "colour": Categorical(["red", "blue"])}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])
X = pd.DataFrame({"age": np.arange(20.0), "colour": ["red", "blue"] * 10})
Y = np.array(["no", "yes"] * 10)


def forest(**parameters):
    return RandomDecisionForestClassifier(**{"schema": SCHEMA, "n_trees": 2, "max_depth": 2, **parameters})


def regressor(**parameters):
    return BoostingRegressor(**{"schema": Schema(FEATURES, Numeric(0, 100)), "n_trees": 1, **parameters})


CASES = {
    "epsilon zero": (lambda: forest(epsilon=0).fit(X, Y), "epsilon must be positive"),
    "epsilon negative": (lambda: forest(epsilon=-1).fit(X, Y), "epsilon must be positive"),
    "epsilon not a number": (lambda: forest(epsilon=float("nan")).fit(X, Y), "epsilon must be finite"),
    "epsilon infinite": (lambda: forest(epsilon=float("inf")).fit(X, Y), "epsilon must be finite"),
    "epsilon a string": (lambda: forest(epsilon="1").fit(X, Y), "epsilon must be a number"),
    "delta of one": (lambda: forest(delta=1.0).fit(X, Y), "delta must be in"),
    "bounds reversed": (lambda: Schema({"age": Numeric(100, 0)}, classes=["no", "yes"]), "age"),
    "duplicate categories": (lambda: Schema({"c": Categorical(["a", "a"])}, classes=["no", "yes"]), "c"),
    "2,000 classes": (lambda: Schema(FEATURES, classes=list(range(2000))), "classes"),
    "a column missing": (lambda: forest().fit(X[["age"]], Y), "colour"),
    "a column renamed": (lambda: forest().fit(X.rename(columns={"age": "aged"}), Y), "age"),
    "wrong declared type": (lambda: forest().fit(X.assign(age=["x"] * 20).astype({"age": "string"}), Y), "age"),
    "a schema for other data": (
        lambda: forest(schema=Schema({"q": Numeric(0, 1)}, classes=["no", "yes"])).fit(X, Y),
        "q",
    ),
    "not a schema": (lambda: forest(schema={"age": (0, 100)}).fit(X, Y), "schema must be a privet.Schema"),
    "a target for regression": (lambda: forest(schema=Schema(FEATURES, Numeric(0, 1))).fit(X, Y), "regressor"),
    "the unit column absent": (
        lambda: forest(schema=Schema(FEATURES, classes=["no", "yes"], unit=Unit("person", 2))).fit(X, Y),
        "person",
    ),
    "leaves that do not fit in memory": (lambda: forest(n_trees=90_000, max_depth=16).fit(X, Y), "(GB|MB|leaves)"),
    "no trees": (lambda: forest(n_trees=0).fit(X, Y), "n_trees must be"),
    "half a tree": (lambda: forest(n_trees=1.5).fit(X, Y), "n_trees must be"),
    "unknown voting": (lambda: forest(voting="loud").fit(X, Y), "voting must be one of"),
    "a hint that is no number": (lambda: forest(n_rows_hint="many").fit(X, Y), "n_rows_hint"),
    "a bad random_state": (lambda: forest(random_state="seed").fit(X, Y), "random_state"),
    "no labels": (lambda: forest().fit(X), "labels"),
    "labels of another length": (lambda: forest().fit(X, Y[:-1]), "length"),
    "weights": (lambda: forest().fit(X, Y, sample_weight=np.ones(20)), "sample_weight"),
    "classes for a regressor": (lambda: regressor(schema=SCHEMA).fit(X, Y), "classifier"),
    "texts for a regressor": (lambda: regressor().fit(X, Y), "convert it to numbers"),
    "no numbers for a regressor": (lambda: regressor().fit(X), "second argument"),
    "numbers of another length": (lambda: regressor().fit(X, X["age"][:-1]), "length"),
    "a column missing for a regressor": (lambda: regressor().fit(X[["age"]], X["age"]), "colour"),
    "a regressor's weights": (lambda: regressor().fit(X, X["age"], sample_weight=np.ones(20)), "sample_weight"),
    "a regressor's trees": (lambda: regressor(n_trees=0).fit(X, X["age"]), "n_trees must be"),
    "predict without a column": (lambda: forest().fit(X, Y).predict(X[["age"]]), "colour"),
}
CHARGED = {"predict without a column"}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named_with_its_remedy_and_charges_nothing(name):
    attempt, message = CASES[name]
    with privet.budget(epsilon=10.0) as budget:
        with pytest.raises((PrivetError, ValueError), match=message) as caught:
            attempt()
        assert budget.spent == (1.0 if name in CHARGED else 0.0)
    assert isinstance(caught.value, PrivetError)
    assert len(str(caught.value)) < 400


def test_reordered_columns_just_work():
    forest().fit(X[["colour", "age"]], Y).predict(X)


def test_errors_never_print_a_value():
    with pytest.raises(PrivetError) as caught:
        forest().fit(pd.DataFrame({"age": pd.array(["secret"] * 20, dtype="string"), "colour": ["red"] * 20}), Y)
    assert "secret" not in str(caught.value)
