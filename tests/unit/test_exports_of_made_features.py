"""Laws of exports of features that are made of a column's values: dates, parts of dates, and hashed categories."""

import json
import math
import shutil
import sqlite3
import subprocess
import types
from datetime import date, datetime, timedelta
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Date,
    DatePart,
    Hashed,
    Integer,
    Numeric,
    Ordinal,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
)
from privet.errors import ParameterError
from privet.exports import onnx_inputs, to_javascript, to_onnx, to_python, to_sql, with_buckets
from privet.exports.date_forms import as_expression
from tests.unit.test_scorers import agree, columns_of

FEATURES = {
    "since": Date("2010-01-01", "2024-12-31", missing=True),
    "month": DatePart("since", "month"),
    "born": Date("1930-01-01", "2010-12-31", format="%d.%m.%Y"),
    "weekday": DatePart("born", "weekday"),
    "postcode": Hashed(16, missing=True),
    "number": Hashed(5),
    "age": Integer(0, 120),
    "size": Ordinal(["S", "M", "L"], missing=True),
}
TWO = Schema(FEATURES, classes=["no", "yes"])
PRICE = Schema(FEATURES, target=Numeric(0, 40))
MODELS = {
    "boosting": (BoostingClassifier, TWO, {"delta": 1e-6}),
    "boosting-price": (BoostingRegressor, PRICE, {}),
    "privatree": (PrivaTreeClassifier, TWO, {"max_depth": 6}),
    "random": (RandomDecisionForestClassifier, TWO, {"n_trees": 6, "max_depth": 5}),
}
ODD_SINCE = ["2012-02-29", "2013-02-29", "1900-02-29", "2000-02-29", "2020-13-01", "2020-04-31", "20200229", "soon"]
ODD_SINCE += ["2020-02-29T23:59:59", "2020-02-29 01:02:03.5", "2020-02-29x", "0000-01-01", "0001-01-01", "9999-12-31"]
ODD_SINCE += [" 2019-07-07 ", "2019-7-07", "", "2019-07-0a", "----------", "12345678"]
ODD_BORN = ["1.2.1990", "01.2.1990", "1.02.1990", "29.02.1992", "29.02.1991", "31.04.1990", "0.1.1990", "1.1.90", "x"]
ODD_CODES = ["", "7", "Zürich", "日本", "\U0001f600", "a" * 127, "b" * 128, "c" * 129, "d" * 300, "it's"]


def records(n_rows, seed):
    rng = np.random.default_rng(seed)
    days = [date(2009, 6, 1) + timedelta(days=int(day)) for day in rng.integers(0, 6000, n_rows)]
    births = [date(1925, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 32_000, n_rows)]
    frame = pd.DataFrame(
        {
            "id": range(n_rows),
            "since": [day.isoformat() if rng.random() > 0.1 else None for day in days],
            "born": [day.strftime("%d.%m.%Y") if rng.random() > 0.1 else None for day in births],
            "postcode": [f"{code:05d}" if rng.random() > 0.1 else None for code in rng.integers(0, 400, n_rows)],
            "number": np.where(rng.random(n_rows) < 0.1, np.nan, np.round(rng.normal(0, 3, n_rows), 1)),
            "age": rng.integers(-5, 130, n_rows),
            "size": rng.choice(np.array(["S", "M", "L", "XL", None], dtype=object), n_rows),
        }
    )
    for name, odd in {"since": ODD_SINCE, "born": ODD_BORN, "postcode": ODD_CODES}.items():
        frame.loc[100 : 99 + len(odd), name] = odd
    frame.loc[140:145, "number"] = [2.0**60, -(2.0**70), 1e-5, 1.5e-7, -0.1, 123456.75]
    return frame


@pytest.fixture(scope="module")
def frame():
    return records(600, 1)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    kind, schema, settings = MODELS[request.param]
    X, rng = records(3000, 0), np.random.default_rng(2)
    since = dates_of(X)
    score = (
        since.dt.year.fillna(2015) - 2009 + 6 * (since.dt.month < 5) + 4 * X["postcode"].fillna("").str.endswith("7")
    )
    score = score + 5 * X["born"].fillna("").str.startswith("0") + rng.normal(0, 1, len(X))
    y = score if schema is PRICE else np.where(score > score.median(), "yes", "no")
    return kind(epsilon=30.0, schema=schema, random_state=0, **settings).fit(X.drop(columns="id"), y)


def test_python_computes_dates_parts_and_hashes(model, frame):
    scorer = types.ModuleType("scorer")
    exec(to_python(model), scorer.__dict__)
    rows = frame.to_dict("records")
    shares = None if "range" in scorer.MODEL else [scorer.predict_proba(row) for row in rows]
    agree(model, frame, [scorer.predict(row) for row in rows], shares)


def test_python_takes_dates_as_objects_and_as_numbers_of_days(model):
    scorer = types.ModuleType("scorer")
    exec(to_python(model), scorer.__dict__)
    row = {"since": "2015-05-17", "born": "03.04.1980", "postcode": "00007", "number": 1, "age": 40, "size": "M"}
    days = (date(2015, 5, 17) - date(1970, 1, 1)).days
    for same in (date(2015, 5, 17), datetime(2015, 5, 17, 23, 59), days, days + 0.5, pd.Timestamp("2015-05-17 12:00")):
        assert scorer.scores(row | {"since": same}) == scorer.scores(row)
    for none in (math.inf, "17.05.2015", pd.NaT, [], 1e300):
        assert scorer.scores(row | {"since": none})[0] is not None


def in_node(program, folder):
    ran = subprocess.run(["node", "-e", program], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node runs the program")
def test_javascript_computes_dates_parts_and_hashes(model, frame, tmp_path):
    (tmp_path / "model.js").write_text(to_javascript(model))
    rows = [{k: None if v is None or v != v else v for k, v in row.items()} for row in frame.to_dict("records")]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    program = """
        const model = require("./model.js"), rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
        const isDate = (text) => /^20..-..-[01][0-9]$/.test(text);
        const dated = rows.map((row) => (isDate(row.since) ? {...row, since: new Date(row.since)} : row));
        const shares = model.classes ? rows.map(model.predictProba) : null;
        console.log(JSON.stringify({answers: rows.map(model.predict), shares, dated: dated.map(model.predict)}));
    """
    found = in_node(program, tmp_path)
    agree(model, frame, found["answers"], found["shares"])
    assert found["dated"] == found["answers"]


def dates_of(frame):
    since = frame["since"].mask(frame["since"].str.startswith("0000", na=False))  # pandas knows a year 0
    return pd.to_datetime(since, errors="coerce", format="%Y-%m-%d")


def scored(model, frame, connection):
    cursor = connection.execute(to_sql(model, keep=["id"]))
    found = pd.DataFrame(cursor.fetchall(), columns=[name for name, *_ in cursor.description]).sort_values("id")
    agree(model, frame, found["prediction"].to_numpy(), found[columns_of(model)].to_numpy())


def test_sql_reads_texts_of_dates_and_columns_of_buckets_in_sqlite(model, frame):
    with sqlite3.connect(":memory:") as connection:
        with_buckets(model, frame).drop(columns=["postcode", "number"]).to_sql("records", connection, index=False)
        scored(model, frame, connection)
    connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["VARCHAR", "DATE", "TIMESTAMP"])
def test_sql_reads_dates_of_every_type_in_duckdb(model, frame, kind):
    duckdb = pytest.importorskip("duckdb")
    whole = with_buckets(model, frame).drop(columns=["postcode", "number"])
    if kind != "VARCHAR":  # what cannot be a date cannot stand in such a column
        whole = whole.assign(since=dates_of(whole))
        frame = frame.assign(since=whole["since"])
    connection = duckdb.connect()
    connection.register("given", whole)
    connection.execute(f"CREATE TABLE records AS SELECT * REPLACE (CAST(since AS {kind}) AS since) FROM given")
    scored(model, frame, connection)


def test_sql_reads_dates_of_every_type_in_postgresql(model, frame, postgres_server):
    import psycopg

    whole = with_buckets(model, frame).drop(columns=["postcode", "number"])
    whole = whole.assign(since=dates_of(whole).dt.date)
    types_of = {"since": "date", "born": "text", "size": "text"}
    columns = ", ".join(f'"{name}" {types_of.get(name, "integer")}' for name in whole.columns)
    rows = [[None if pd.isna(v) else v for v in row] for row in whole.astype(object).to_numpy().tolist()]
    with psycopg.connect(postgres_server.url()) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE records ({columns})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO records VALUES ({', '.join(['%s'] * len(whole.columns))})", rows)
        found = connection.execute(to_sql(model, keep=["id"]).encode())
        table = pd.DataFrame(found.fetchall(), columns=[column.name for column in found.description]).sort_values("id")
    frame = frame.assign(since=pd.to_datetime(whole["since"]))
    agree(model, frame, table["prediction"].to_numpy(), table[columns_of(model)].to_numpy())


def test_onnx_takes_days_parts_and_buckets(model, frame):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    found = session.run(None, onnx_inputs(model, frame))
    agree(model, frame, found[0][:, 0] if len(found) == 1 else found[1], None if len(found) == 1 else found[0])


@pytest.mark.skipif(shutil.which("node") is None, reason="Node runs the program")
def test_javascript_hashes_every_text_like_the_standard_library(tmp_path):
    schema = Schema({"code": Hashed(65_000), "x": Integer(0, 1)}, classes=["a", "b"])
    X = pd.DataFrame({"code": ["u", "v"] * 40, "x": [0, 1] * 40})
    model = PrivaTreeClassifier(epsilon=1.0, schema=schema, max_depth=1).fit(X, ["a", "b"] * 40)
    texts = ["x" * size for size in range(300)] + ODD_CODES + [chr(point) * 3 for point in range(1, 0xD000, 997)]
    inside = to_javascript(model).replace("return { predict,", "return { hash, bytesOf, predict,")
    (tmp_path / "model.js").write_text(inside)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    program = """
        const m = require("./model.js"), texts = JSON.parse(require("fs").readFileSync("texts.json", "utf8"));
        console.log(JSON.stringify(texts.map((text) => String(m.hash(m.bytesOf(text))))));
    """
    digests = [blake2b(text.encode(), digest_size=8).digest() for text in texts]
    assert in_node(program, tmp_path) == [str(int.from_bytes(digest, "big")) for digest in digests]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node runs the program")
@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("%d %b %Y", ["1 Feb 2020", "01 FEB 2020", "31 Feb 2020", "1  Feb 2020", "1Feb2020"]),
        ("%B %d, %y", ["March 5, 69", "march 05, 68", "Smarch 5, 68"]),
        ("%Y%m%d", ["20200229", "20210229", "2020111", "2020131"]),
        ("%d/%m/%Y %H:%M", ["7/8/2019 1:05", "7/8/2019 25:05", "7/8/2019"]),
        ("%A %d.%m.%Y", ["Monday 2.3.2020", "Someday 2.3.2020"]),
    ],
)
def test_javascript_reads_texts_of_dates_like_strptime(form, texts, tmp_path):
    def expected(text):
        try:
            return (datetime.strptime(text, form).date() - date(1970, 1, 1)).days
        except ValueError:
            return None

    schema = Schema({"day": Date("2000-01-01", "2030-01-01", format=form)}, classes=["a", "b"])
    X = pd.DataFrame({"day": pd.Series(texts * 20, dtype=object)})
    model = PrivaTreeClassifier(epsilon=1.0, schema=schema, max_depth=1).fit(X, (["a", "b"] * len(X))[: len(X)])
    inside = to_javascript(model).replace("return { predict,", "return { dayOf, form: MODEL.features[0].form, predict,")
    (tmp_path / "model.js").write_text(inside)
    days = f"{json.dumps(texts)}.map((text) => m.dayOf(text, m.form))"
    program = f"const m = require('./model.js'); console.log(JSON.stringify({days}));"
    assert in_node(program, tmp_path) == [expected(text) for text in texts]
    assert any(expected(text) is not None for text in texts)


def test_a_form_that_cannot_be_said_is_refused_with_the_remedy():
    schema = Schema({"day": Date("2000-01-01", "2030-01-01", format="%d %b %Y")}, classes=["a", "b"])
    X = pd.DataFrame({"day": ["1 Feb 2020", "2 Mar 2021"] * 20})
    model = PrivaTreeClassifier(epsilon=1.0, schema=schema, max_depth=1).fit(X, ["a", "b"] * 20)
    with pytest.raises(ParameterError, match=r"'day'.*%b cannot be read in SQL; export to Python"):
        to_sql(model)
    with pytest.raises(ParameterError, match=r"%j cannot be read in JavaScript"):
        as_expression("day", "%Y %j")


def test_a_column_of_buckets_is_never_another_feature():
    schema = Schema({"code": Hashed(8), "code_bucket": Integer(0, 9)}, classes=["a", "b"])
    X = pd.DataFrame({"code": ["u", "v"] * 20, "code_bucket": [1, 2] * 20})
    model = PrivaTreeClassifier(epsilon=1.0, schema=schema, max_depth=1).fit(X, ["a", "b"] * 20)
    with pytest.raises(ParameterError, match="rename"):
        to_sql(model)
