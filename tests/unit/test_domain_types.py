"""Types that people have: integers, dates, truth values, ordered, hashed and derived features."""

import json
import re
from datetime import date, datetime
from importlib.resources import files

import jsonschema
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privet
from privet import Boolean, Categorical, Date, DatePart, Hashed, Integer, Numeric, Ordinal, Schema, SchemaScaler
from privet.audit.way_in.encoding_audit import encoding_audit
from privet.errors import SchemaError
from privet.exports import onnx_inputs, to_javascript, to_onnx, to_python, to_sql
from privet.models.drawing import export_text
from privet.report import write_report
from privet.schema.encoding import Encoding
from privet.testing import seeded_noise

DAY = Date("2010-01-01", "2029-12-31", missing=True)
FEATURES = {
    "age": Integer(0, 120),
    "born": Integer(1900, 2020),
    "since": DAY,
    "month": DatePart("since", "month"),
    "weekday": DatePart("since", "weekday"),
    "smoker": Boolean(missing=True),
    "size": Ordinal(["S", "M", "L", "XL"]),
    "place": Hashed(64, missing=True),
}
SCHEMA = Schema(FEATURES, Boolean(), ignored=["id", "notes"], target_column="ill")
ROWS = 400


def frame(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    days = pd.Series(pd.to_datetime("2010-01-01") + pd.to_timedelta(rng.integers(0, 7000, rows), unit="D"))
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "born": rng.integers(1920, 2010, rows),
            "since": days.where(rng.random(rows) > 0.05),
            "smoker": rng.choice(["yes", "No", "TRUE", None], rows),
            "size": rng.choice(["S", "M", "L", "XL", "odd"], rows),
            "place": rng.choice(["Berlin", "Lima", "Oslo", None], rows),
        }
    )


FRAME = frame()
LABELS = np.where(FRAME.age > 50, "yes", "no")


def codes(domain: object, values: object, bins: int = 32) -> list[int]:
    column = values if isinstance(values, pd.Series | pl.Series | pa.Array) else pd.Series(values, dtype=object)
    made = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)({"x": column})
    return Schema({"x": domain}, classes=[0, 1]).encoding(bins).encode(made)[0].tolist()


@given(st.integers(-500, 3000), st.integers(1, 5000), st.integers(2, 300), st.sampled_from(["linear", "log"]))
def test_cuts_of_whole_numbers_are_whole_and_no_cell_is_empty(low, width, bins, grid) -> None:
    domain = Integer(low, low + width, grid=grid)
    cuts = domain.cuts(bins)
    assert all(cut == int(cut) and low <= cut < low + width for cut in cuts)
    cells = np.searchsorted(cuts, np.arange(low, low + width + 1))  # the number of cuts strictly below
    sizes = np.bincount(cells, minlength=len(cuts) + 1)
    assert sizes.min() >= 1
    assert len(sizes) <= bins
    if grid == "linear":
        assert sizes.max() - sizes.min() <= 1


def test_cuts_of_dates_are_dates() -> None:
    assert [str(cut) for cut in Date("2010-01-01", "2010-12-31").dates(2)] == ["2010-07-01"]


def test_few_whole_numbers_have_a_cell_each() -> None:
    assert codes(Integer(1, 5), [1, 2, 3, 4, 5, 0, 9]) == [0, 1, 2, 3, 4, 0, 4]


TEXTS = ["2010-01-01", "2015-06-30", "2029-12-31", None]
DATES = [None if text is None else date.fromisoformat(text) for text in TEXTS]
STAMPS = pd.Series(pd.to_datetime(TEXTS))
FORMS = {
    "texts": TEXTS,
    "texts with a time": [None if text is None else f"{text}T23:59:59" for text in TEXTS],
    "dates": DATES,
    "datetimes": [None if day is None else datetime(day.year, day.month, day.day, 23) for day in DATES],
    "stamps as objects": STAMPS.astype(object),
    "datetime64": STAMPS,
    "datetime64 with a time": STAMPS + pd.Timedelta(hours=23),
    "a time zone": (STAMPS + pd.Timedelta(hours=1)).dt.tz_localize("Asia/Tokyo"),
    "a column of text": pd.Series(TEXTS, dtype="string"),
    "categories": pd.Series(TEXTS, dtype="category"),
    "arrow dates in pandas": pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32())),
    "days": [14610.0, 16616.0, 21914.0, None],
    "polars dates": pl.Series(DATES),
    "polars stamps": pl.Series(DATES).cast(pl.Datetime("us")),
    "polars text": pl.Series(TEXTS),
    "arrow dates": pa.array(DATES),
    "arrow date64": pa.array(DATES, pa.date64()),
    "arrow stamps": pa.array([*STAMPS.dt.to_pydatetime().tolist()[:3], None], pa.timestamp("ns")),
    "arrow text": pa.array(TEXTS),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_date_of_every_form_has_the_same_code(form) -> None:
    assert codes(DAY, FORMS[form], 64) == [0, 17, 63, 64]


def test_dates_before_1970_and_odd_texts_are_mapped_by_rule() -> None:
    old = Date("1900-01-01", "1999-12-31")
    assert old.low == date(1900, 1, 1).toordinal() - date(1970, 1, 1).toordinal()
    before = pd.Series(pd.to_datetime(["1949-12-31T18:00", "1899-01-01T00:00", "2005-01-01T00:00"]))
    assert codes(old, before, 2) == [0, 0, 1]
    assert codes(old, ["1949-12-31", "31.12.1949", "soon", "1949-12-31x", "", "9" * 30, (1,), True], 4) == [1] + [2] * 7
    assert codes(Date("1900-01-01", "1999-12-31", format="%d.%m.%Y"), ["31.12.1949", "1949-12-31"], 4) == [1, 2]


def test_parts_of_dates_are_those_of_the_calendar() -> None:
    days = pd.date_range("1965-01-01", "2030-12-31", freq="13D")
    schema = Schema(
        {"d": Date("2000-01-01", "2001-01-01"), "m": DatePart("d", "month"), "w": DatePart("d", "weekday")},
        classes=[0, 1],
    )
    encoded = schema.encoding().encode(pd.DataFrame({"d": days}))
    assert encoded[1].tolist() == (days.month - 1).tolist()
    assert encoded[2].tolist() == days.day_of_week.tolist()


def test_truth_is_read_from_words_and_numbers() -> None:
    words = ["yes", "No", " TRUE ", "f", "1", "0", True, 0, 1.0, None, "maybe"]
    assert codes(Boolean(missing=True), words) == [1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 2]
    assert codes(Boolean(), pd.Series([True, False])) == [1, 0]
    assert codes(Boolean(), pl.Series([1, 0])) == [1, 0]
    assert codes(Boolean(), pa.array(["Y", "n"])) == [1, 0]
    target = Schema({"x": Numeric(0, 1)}, Boolean()).encoding()
    assert target.encode_target(pd.Series(["Yes", "no", "perhaps", None])).tolist() == [1, 0, -1, -1]


def test_levels_keep_their_order_and_unknown_ones_take_the_middle() -> None:
    sizes = ["XL", "S", "huge", None]
    assert codes(Ordinal(["S", "M", "L", "XL"]), sizes) == [3, 0, 2, 2]
    assert codes(Ordinal(["S", "M", "L", "XL"], missing=True), sizes) == [3, 0, 4, 4]
    assert codes(Ordinal([1, 2, 3]), pl.Series([3, 1, 2])) == [2, 0, 1]


def test_buckets_never_change_and_are_equal_for_equal_values() -> None:
    assert codes(Hashed(1024), ["Berlin", "São Paulo", "", "a" * 1000]) == [535, 776, 692, 472]
    assert len(set(codes(Hashed(1024), ["7", 7, 7.0, np.int8(7)]))) == 1
    for column in (pd.Series([7, 8]), pl.Series([7.0, 8.0]), pa.array(["7", "8"]), pd.Series(["7", "8"])):
        assert codes(Hashed(1024), column) == codes(Hashed(1024), [7, 8])
    odd = [None, np.nan, (1, 2), b"x", float("inf"), object()]
    assert codes(Hashed(8, missing=True), odd) == [8] * 6
    spread = np.bincount(codes(Hashed(64), [str(number) for number in range(6400)]), minlength=64)
    assert 50 < spread.min() < spread.max() < 160  # of 100 each


def test_each_record_of_every_type_is_mapped_on_its_own() -> None:
    estimator = privet.PrivaTreeClassifier(epsilon=1.0, schema=SCHEMA)
    for found in encoding_audit(estimator, changes=5):
        assert not found.refuted, found


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_every_type_goes_to_a_file_and_back(tmp_path, suffix) -> None:
    features = FEATURES | {
        "a": Integer(0, 10, bins=4, missing=True),
        "b": Integer(0, 100, edges=[18, 65]),
        "c": Date("2000-01-01", "2020-12-31", format="%d/%m/%Y", edges=["2010-01-01"]),
        "d": Ordinal([1, 2.5, "x"], missing=True),
    }
    schema = Schema(features, Boolean())
    schema.save(tmp_path / f"schema{suffix}")
    again = Schema.load(tmp_path / f"schema{suffix}")
    assert again == schema
    assert again.digest() == schema.digest()
    assert again.features["month"].missing
    assert Encoding.from_dict(json.loads(json.dumps(schema.encoding().to_dict()))) == schema.encoding()


WRONG = [
    (Integer(0.5, 9), "whole numbers"),
    (Integer(0, 10, edges=[2.5]), "whole numbers"),
    (Integer(9, 0), "swap"),
    (Date("2010-01-01", "soon"), "must be a date, got 'soon'"),
    (Date("2020-01-01", "2010-01-01"), "before high"),
    (Date("2010-01-01", "2020-01-01", format="%Y"), "day, month and year"),
    (Date("2010-01-01", "2020-01-01", edges=["x"]), "list of dates"),
    (Ordinal("abc"), "must be a list"),
    (Ordinal([]), "empty"),
    (Hashed(1), "from 2 to"),
    (Hashed("many"), "from 2 to"),
    (DatePart("since", "year"), "'month' or 'weekday'"),
    (DatePart("nothing", "month"), "must be a Date feature"),
    (DatePart(5, "month"), "name of a Date feature"),
]


@pytest.mark.parametrize(("domain", "words"), WRONG)
def test_a_wrong_domain_is_refused_with_its_name(domain, words) -> None:
    with pytest.raises(SchemaError, match=f"feature 'x'.*{words}"):
        Schema({"since": DAY, "x": domain}, classes=[0, 1])


@pytest.mark.parametrize("target", [DAY, Hashed(4), DatePart("x", "month")])
def test_some_types_are_no_targets(target) -> None:
    with pytest.raises(SchemaError, match="target cannot be"):
        Schema({"x": Numeric(0, 1)}, target)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": "since"}, "'age' is declared Integer, but its dtype is datetime64"),
        ({"since": "flag"}, "'since' is declared Date, but its dtype is bool"),
        ({"smoker": "since"}, "'smoker' is declared Boolean, but its dtype is datetime64"),
        ({"size": "age"}, "'size' has dtype int64, but its categories are strings"),
        ({"place": "since"}, "'place' has dtype datetime64"),
    ],
)
def test_a_dtype_that_cannot_fit_is_refused(change, words) -> None:
    wrong = FRAME.assign(flag=True)
    wrong = wrong.assign(**{name: wrong[other] for name, other in change.items()}).drop(columns="flag")
    with pytest.raises(SchemaError, match=words):
        SCHEMA.encoding().encode(wrong)


def test_a_check_knows_every_type() -> None:
    bad = pd.DataFrame(
        {
            "age": [200, -1],
            "born": [1950, 1960],
            "since": ["2009-12-31", "soon"],
            "smoker": ["maybe", "yes"],
            "size": ["huge", None],
            "place": [None, "Lima"],
        }
    )
    report = SCHEMA.check(bad, pd.DataFrame({"y": ["yes", "perhaps"]}))
    found = {(finding.column, finding.kind): finding.message for finding in report.findings}
    assert set(found) == {
        ("age", "below low"),
        ("age", "above high"),
        ("since", "below low"),
        ("since", "not a date"),
        ("smoker", "unknown"),
        ("size", "unknown"),
        ("size", "missing"),
        ("target", "unknown label"),
    }
    assert "clipped to 2010-01-01" in found["since", "below low"]
    assert "the middle category, 'L'" in found["size", "unknown"]
    assert SCHEMA.check(FRAME.assign(size="S", smoker="yes"), pd.Series(LABELS)).ok


LEARNERS = [f"{name}Classifier" for name in ("PrivaTree", "RandomDecisionForest", "Boosting", "MultinomialForest")]


@pytest.fixture(scope="module", params=LEARNERS)
def fitted(request):
    with seeded_noise(3):
        estimator = getattr(privet, request.param)(epsilon=20.0, schema=SCHEMA, random_state=0)
        return estimator.fit(FRAME.assign(id=1, notes="x", ill=0), LABELS)


def test_models_of_every_type_go_to_a_file_and_back(fitted, tmp_path) -> None:
    fitted.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    form = json.loads((files("privet") / "models/model_file.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(form).validate(content)
    again = privet.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(FRAME), fitted.predict_proba(pl.from_pandas(FRAME)))
    write_report(again, tmp_path / "model.html")
    page = (tmp_path / "model.html").read_text()
    for words in ("0 to 120", "1900 to 2020", "2010-01-01 to 2029-12-31", "64 buckets", "the month of since"):
        assert words in page


def test_a_tree_asks_in_the_words_of_its_types() -> None:
    schema = Schema({name: FEATURES[name] for name in ("born", "since", "size")}, classes=[0, 1])
    for name, values, line in (
        ("born", FRAME.born <= 1962, "born <= 1962:"),
        ("since", FRAME.since <= pd.Timestamp("2017-06-15"), "since <= 2017-0[56]"),
        ("size", FRAME["size"].isin(["S", "M"]), "size <= M"),
    ):
        one = Schema({name: schema.features[name]}, classes=[False, True])
        model = privet.PrivaTreeClassifier(epsilon=None, schema=one, max_depth=1)
        with pytest.warns(UserWarning, match="without privacy"):
            model.fit(FRAME[[name]], values)
        assert re.match(line, export_text(model.model_))


def test_the_scaler_knows_every_type() -> None:
    scaler = SchemaScaler(SCHEMA, categories="one_hot").fit(FRAME)
    made = pd.DataFrame(scaler.transform(FRAME), columns=scaler.get_feature_names_out())
    assert made.since.dropna().between(0, 1).all()
    assert made.since.isna().any()
    assert {"size=XL", "place=bucket 63", "weekday=Sun", "smoker=missing"} <= set(made.columns)


def test_onnx_models_of_every_type_agree() -> None:
    with seeded_noise(3):
        forest = privet.RandomDecisionForestClassifier(epsilon=5.0, schema=SCHEMA, n_trees=5, max_depth=5)
        forest.fit(FRAME, LABELS)
    session = onnxruntime.InferenceSession(to_onnx(forest))
    outputs = session.run(None, onnx_inputs(forest, FRAME))
    shares = next(output for output in outputs if getattr(output, "ndim", 0) == 2)
    np.testing.assert_allclose(shares, forest.predict_proba(FRAME), atol=1e-6)


def test_categories_that_are_equal_are_not_the_same_domain() -> None:
    assert Ordinal(["a", "b"]) != Categorical(["a", "b"])
    assert Boolean() != Categorical([False, True])
    assert len({Ordinal(["a"]), Categorical(["a"]), Hashed(2), Hashed(3), Boolean()}) == 5


def test_parquet_files_of_every_type_are_read_as_frames_are(tmp_path) -> None:
    from privet.tables import ParquetTable

    folder = tmp_path / "parts"
    for size, part in FRAME.assign(ill=LABELS).groupby("size"):
        (folder / f"size={size}").mkdir(parents=True)
        part.drop(columns="size").to_parquet(folder / f"size={size}" / "0.parquet")
    counts = []
    for data in (ParquetTable(folder, target="ill", schema=SCHEMA), FRAME):
        with seeded_noise(2):
            forest = privet.RandomDecisionForestClassifier(epsilon=1.0, schema=SCHEMA, n_trees=2, random_state=0)
            forest.fit(data, None if data is not FRAME else LABELS)
            counts.append(forest.predict_proba(FRAME))
    np.testing.assert_array_equal(*counts)


@pytest.mark.parametrize("write", [to_sql, to_python, to_javascript])
def test_exports_know_every_type(write) -> None:
    with seeded_noise(2):
        tree = privet.PrivaTreeClassifier(epsilon=1.0, schema=SCHEMA, max_depth=2)
        tree.fit(FRAME[list(SCHEMA.feature_columns)], LABELS)
    assert len(write(tree)) > 1000
