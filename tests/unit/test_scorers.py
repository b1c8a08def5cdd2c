"""Laws of exports that need no privet: SQL, Python and JavaScript answer what the model answers, as ONNX does."""

import json
import math
import shutil
import sqlite3
import subprocess
import types

import numpy as np
import pytest

from privet import (
    Boolean,
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    DisjointForestClassifier,
    MatrixForestClassifier,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
)
from privet.errors import ParameterError
from privet.exports import codes_of, onnx_inputs, to_javascript, to_onnx, to_python, to_shap, to_sql
from privet.exports.scoring import scoring_of

pandas = pytest.importorskip("pandas")

FEATURES = {
    "number": Numeric(0, 10, missing=True),
    "plain": Numeric(-1, 1),
    "colour": Categorical(["red", 'it\'s "green"', "</script>"], other=True, missing=True),
    "shape": Categorical(["round", "square", "long", "flat"]),
    "grade": Categorical([1, 2.5, 4]),
    "flag": Categorical([False, True], missing=True),
}
SMALL = {name: FEATURES[name] for name in ("colour", "shape", "flag")}
SCHEMAS = {
    "two": Schema(FEATURES, classes=["no", "it's"]),
    "three": Schema(FEATURES, classes=[3, 1, 2]),
    "cells": Schema(SMALL, classes=["a", "b", "c"]),
    "price": Schema(FEATURES, target=Numeric(-5, 45)),
}
MODELS = {
    "boosting-two": (BoostingClassifier, "two", {}),
    "boosting-three": (BoostingClassifier, "three", {"delta": 1e-6}),
    "boosting-price": (BoostingRegressor, "price", {}),
    "privatree": (PrivaTreeClassifier, "two", {"max_depth": 4}),
    "random": (RandomDecisionForestClassifier, "three", {"n_trees": 8, "max_depth": 5}),
    "disjoint": (DisjointForestClassifier, "three", {"n_trees": 5, "max_depth": 4}),
    "multinomial": (MultinomialForestClassifier, "two", {"n_trees": 5}),
    "matrix-leaves": (MatrixForestClassifier, "cells", {"strategy": "leaves", "n_trees": 3}),
    "matrix-cells": (MatrixForestClassifier, "cells", {"strategy": "cells", "n_trees": 3}),
}


def records(n_rows, seed):
    """Records of every awkward kind: beyond bounds, unknown, missing."""
    rng = np.random.default_rng(seed)
    shapes = np.array(["round", "square", "long", "flat", "odd", None], dtype=object)
    colours = np.array(["red", 'it\'s "green"', "</script>", "mauve", None], dtype=object)
    return pandas.DataFrame(
        {
            "id": np.arange(n_rows),
            "number": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(5, 4, n_rows)),
            "plain": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(0, 1, n_rows)),
            "colour": rng.choice(colours, n_rows),
            "shape": rng.choice(shapes, n_rows),
            "grade": rng.choice([1.0, 2.5, 4.0, 7.0, np.nan], n_rows),
            "flag": rng.choice([0.0, 1.0, np.nan], n_rows),
        }
    )


@pytest.fixture(scope="module")
def frame():
    extremes = [math.inf, -math.inf, 0.0, 10.0, -0.0, 1e300]
    made = records(400, 1)
    made.loc[: len(extremes) - 1, "number"] = extremes
    return made


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    kind, which, settings = MODELS[request.param]
    X, rng, schema = records(3000, 0), np.random.default_rng(2), SCHEMAS[which]
    score = np.nan_to_num(X["number"]) + 3 * (X["colour"] == "red") + 4 * np.nan_to_num(X["flag"])
    if isinstance(schema.target, Numeric):
        y = score * 3 + rng.normal(0, 3, len(X))
    else:
        classes = np.asarray(schema.target.categories)
        y = classes[np.digitize(score, np.quantile(score, np.arange(1, classes.size) / classes.size))]
    return kind(epsilon=20.0, schema=schema, random_state=0, **settings).fit(X[list(schema.features)], y)


def expected(model, frame):
    X = frame[list(model.schema_.feature_columns)]
    return model.predict(X), None if isinstance(model.schema_.target, Numeric) else model.predict_proba(X)


def agree(model, frame, answers, shares):
    own_answers, own_shares = expected(model, frame)
    if own_shares is None:
        np.testing.assert_allclose(np.asarray(answers, dtype=float), own_answers, atol=1e-12 * 50, rtol=0)
        return
    np.testing.assert_allclose(np.asarray(shares, dtype=float), own_shares, atol=1e-12, rtol=0)
    sure = np.diff(np.sort(own_shares, axis=1)[:, -2:], axis=1)[:, 0] > 1e-9  # adding up in another order breaks ties
    assert (np.asarray(answers)[sure] == own_answers[sure]).all()
    assert sure.mean() > 0.5


def test_onnx_answers_what_the_model_answers(model, frame):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    found = session.run(None, onnx_inputs(model, frame))
    if len(found) == 1:
        agree(model, frame, found[0][:, 0], None)
    else:
        agree(model, frame, found[1], found[0])


def test_python_answers_what_the_model_answers(model, frame):
    scorer = types.ModuleType("scorer")
    exec(to_python(model), scorer.__dict__)
    rows = frame.to_dict("records")
    shares = None if "range" in scorer.MODEL else [scorer.predict_proba(row) for row in rows]
    agree(model, frame, [scorer.predict(row) for row in rows], shares)


def test_the_python_scorer_imports_the_standard_library_alone(model):
    imports = [line for line in to_python(model).splitlines() if line.startswith(("import", "from"))]
    assert imports == [
        "from __future__ import annotations",
        "import math",
        "from bisect import bisect_left",
        "from datetime import date, datetime",
        "from hashlib import blake2b",
        "from typing import Any",
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node runs the program")
def test_javascript_answers_what_the_model_answers(model, frame, tmp_path):
    (tmp_path / "model.js").write_text(to_javascript(model))
    rows = [
        {name: None if value is None or value != value else value for name, value in row.items() if value != math.inf}
        for row in frame.to_dict("records")
    ]
    rows = json.loads(json.dumps(rows).replace("-Infinity", "-1e999"))
    kept = [place for place, row in enumerate(rows) if "number" in row and row["number"] != -math.inf]
    (tmp_path / "rows.json").write_text(json.dumps([rows[place] for place in kept]))
    program = """
        const model = require("./model.js"), rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
        const shares = model.classes ? rows.map(model.predictProba) : null;
        console.log(JSON.stringify({answers: rows.map(model.predict), shares}));
    """
    ran = subprocess.run(["node", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    agree(model, frame.iloc[kept], found["answers"], found["shares"])


def test_javascript_cannot_end_the_script_that_it_stands_in(model):
    assert "</script>" not in to_javascript(model)


def columns_of(model):
    classes = () if isinstance(model.schema_.target, Numeric) else model.classes_
    return [f"probability_{name}" for name in classes]


def test_sql_answers_what_the_model_answers_in_duckdb(model, frame):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("records_of_pandas", frame)
    columns = ", ".join(
        f'CASE WHEN isnan("{n}") THEN NULL ELSE "{n}" END AS "{n}"' for n in ("number", "plain", "grade")
    )
    connection.execute(f"""CREATE TABLE "the ""records" AS SELECT id, colour, shape, {columns},
        CASE WHEN isnan(flag) THEN NULL ELSE flag = 1 END AS flag FROM records_of_pandas""")
    found = connection.execute(to_sql(model, 'the "records', keep=["id"])).df().sort_values("id")
    agree(model, frame, found["prediction"].to_numpy(), found[columns_of(model)].to_numpy())


def test_sql_answers_what_the_model_answers_in_postgresql(model, frame, postgres_server):
    import psycopg

    types = {"id": "integer", "colour": "text", "shape": "text", "flag": "boolean"}
    columns = ", ".join(f'"{name}" {types.get(name, "double precision")}' for name in frame.columns)
    rows = [
        [
            None if value is None or value != value else (value == 1 if name == "flag" else value)
            for name, value in row.items()
        ]
        for row in frame.to_dict("records")
    ]
    with psycopg.connect(postgres_server.url()) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE records ({columns})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO records VALUES ({', '.join(['%s'] * len(frame.columns))})", rows)
            cursor.execute(to_sql(model, keep=["id"]).encode())
            found = pandas.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])
    found = found.sort_values("id")
    agree(model, frame, found["prediction"].to_numpy(), found[columns_of(model)].to_numpy())


def test_words_for_truth_values_are_read_everywhere():
    schema = Schema({"member": Boolean(missing=True), "age": Numeric(0, 100)}, classes=["a", "b"])
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {"member": rng.choice(["Yes", "no ", "TRUE", "f", "odd"], 500), "age": rng.uniform(0, 100, 500)}
    )
    y = np.where(X["member"].isin(["Yes", "TRUE"]), "a", "b")
    model = PrivaTreeClassifier(epsilon=50.0, schema=schema, random_state=0).fit(X, y)
    scorer = types.ModuleType("scorer")
    exec(to_python(model), scorer.__dict__)
    rows = X.to_dict("records")
    agree(model, X, [scorer.predict(row) for row in rows], [scorer.predict_proba(row) for row in rows])
    with sqlite3.connect(":memory:") as connection:
        X.to_sql("records", connection, index=False)
        rows = connection.execute(to_sql(model, keep=[])).fetchall()
    connection.close()
    agree(model, X, [row[0] for row in rows], [row[1:] for row in rows])


@pytest.mark.parametrize(("at_once", "most_columns"), [(1 << 8, 500), (1, 500), (1, 3)])
def test_sql_answers_what_the_model_answers_in_sqlite(model, frame, at_once, most_columns, monkeypatch):
    """In one step, with a step for each tree, and in as few steps as columns allow."""
    monkeypatch.setattr("privet.exports.sql.LEAVES_AT_ONCE", at_once)
    monkeypatch.setattr("privet.exports.sql.MOST_COLUMNS", most_columns)
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("records", connection, index=False)
        statement = to_sql(model)
        trees = scoring_of(model).trees
        if (at_once, most_columns) == (1, 500):
            assert statement.count("AS MATERIALIZED") >= (0 if trees is None else trees.n_trees)
        cursor = connection.execute(statement)
        found = pandas.DataFrame(cursor.fetchall(), columns=[name for name, *_ in cursor.description]).sort_values("id")
    connection.close()
    agree(model, frame, found["prediction"].to_numpy(), found[columns_of(model)].to_numpy())


def test_exports_keep_no_cut_that_makes_no_difference():
    X, rng = records(2000, 5), np.random.default_rng(6)
    schema = SCHEMAS["two"]
    y = np.where(rng.random(2000) < 0.5, "no", "it's")
    model = BoostingClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X[list(schema.features)], y)
    kept = {feature.name: feature.cuts for feature in scoring_of(model).features}
    whole = {column.name: column.cuts for column in model.model_.encoding.columns}
    assert set(kept["number"]) <= set(whole["number"])
    assert len(kept["number"]) < 0.1 * len(whole["number"])


@pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("boosting")], indirect=True)
def test_shap_adds_up_to_the_scores_of_boosting(model, frame):
    from tests.unit.test_exports import shap_explainer

    X = frame[list(model.schema_.features)][:100]
    codes = codes_of(model, X)
    explainer = shap_explainer(to_shap(model))
    values = np.asarray(explainer.shap_values(codes)).reshape(len(X), codes.shape[1], -1)
    added = values.sum(axis=1) + explainer.expected_value
    parts = model.model_.contributions(model.model_.encoding.encode(X))
    start = model.model_.start * 2.0**-16
    within = np.abs(parts[0] - start).max(axis=1) == 0  # the base is not held back by its bounds
    assert within.mean() > 0.6
    scores = model.model_.scores(model.model_.encoding.encode(X))
    np.testing.assert_allclose(added[within], scores[within], atol=1e-9)
    np.testing.assert_allclose(added, start + parts[1].sum(axis=1) + parts[2].sum(axis=1), atol=1e-9)


def test_a_model_of_one_batch_is_refused():
    X = records(200, 3)
    schema = SCHEMAS["cells"]
    y = np.random.default_rng(0).choice(["a", "b"], len(X))
    model = MatrixForestClassifier(epsilon=5.0, schema=schema, mode="prediction", strategy="per-query", n_trees=3)
    model.fit(X[list(schema.features)], y, batch=X[list(schema.features)][:5])
    for export in (to_onnx, to_sql, to_python, to_javascript):
        with pytest.raises(ParameterError, match="one batch only"):
            export(model)


def test_a_model_that_is_too_large_for_text_is_refused_before_it_is_written(model, monkeypatch):
    monkeypatch.setattr("privet.exports.sql.MOST_VALUES", 1)
    monkeypatch.setattr("privet.exports.scorers.MOST_VALUES", 1)
    for export in (to_sql, to_python, to_javascript):
        with pytest.raises(ParameterError, match="export to ONNX"):
            export(model)
