"""Checks of frames against schemas, and schemas made from frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import Date
from privet.errors import SchemaError
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema, Unit

SCHEMA = Schema(
    {"age": Numeric(0, 100), "size": Numeric(0, 1, missing=True), "word": Categorical(["a", "b"])},
    classes=["no", "yes"],
    unit=Unit("person", 2),
)
GOOD = pd.DataFrame({"age": [1, 2], "size": [0.5, None], "word": ["a", "b"], "person": [1, 1], "y": ["no", "yes"]})


def findings(report) -> set[tuple[str, str, int]]:
    return {(found.column, found.kind, found.count) for found in report.findings}


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_a_frame_that_fits_has_no_findings(convert) -> None:
    report = SCHEMA.check(convert(GOOD), target="y")
    assert report.ok, report
    assert str(report) == "The frame fits the schema."


def test_every_break_is_counted_with_a_remedy() -> None:
    bad = pd.DataFrame(
        {
            "age": pd.Series([-1, 101, 200, "what", None], dtype=object),
            "size": [2.0, None, 0.5, 0.5, 0.5],
            "word": ["a", "q", "r", None, "b"],
            "person": 1,
        }
    )
    report = SCHEMA.check(bad, target=["no", "maybe", None, "yes", "yes"])
    assert findings(report) == {
        ("age", "below low", 1),
        ("age", "above high", 2),
        ("age", "not a number", 1),
        ("age", "missing", 1),
        ("size", "above high", 1),
        ("word", "unknown", 2),
        ("word", "missing", 1),
        ("target", "unknown label", 1),
        ("target", "missing label", 1),
    }
    assert not report.ok
    text = str(report)
    assert "not private" in text
    assert all(found.message in text for found in report.findings)


def test_names_and_dtypes_are_findings_not_errors() -> None:
    frame = GOOD.rename(columns={"age": "Age"}).drop(columns="person").assign(word=1)
    assert findings(SCHEMA.check(frame, target="label")) == {
        ("age", "absent column", 1),
        ("label", "absent column", 1),
        ("person", "absent column", 1),
        ("word", "dtype", 2),
    }
    assert findings(SCHEMA.check(GOOD.assign(y=0), target="y")) == {("y", "dtype", 2)}


def test_arrays_are_checked_by_place() -> None:
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, Numeric(0, 10))
    assert findings(schema.check(np.array([[0.5, 3.0]]), target=[11.0])) == {
        ("b", "above high", 1),
        ("target", "above high", 1),
    }
    assert findings(schema.check(np.zeros((2, 5)))) == {("(all)", "number of columns", 5)}


def test_values_that_other_or_missing_declares_are_no_findings() -> None:
    schema = Schema({"w": Categorical(["a"], other=True, missing=True)}, classes=[0, 1])
    assert schema.check(pd.DataFrame({"w": ["a", "q", None]})).ok


def test_an_inferred_schema_says_that_nothing_is_guaranteed() -> None:
    assert Schema.infer(GOOD, "y").inferred == "domains were read off the data"


FRAME = pd.DataFrame(
    {
        "i": [3, 1, 2, 2],
        "f": [0.5, np.nan, 2.0, np.inf],
        "s": ["b", "a", None, "b"],
        "c": pd.Categorical(["u", "v", "v", "u"]),
        "b": [True, False, True, True],
        "o": pd.Series([1, "x", True, (1, 2)], dtype=object),
        "n": pd.Series([5, 7.5, None, 6], dtype=object),
        "constant": 4,
        "empty": pd.Series([None] * 4, dtype=object),
    }
)
DOMAINS = {
    "i": Numeric(1, 3),
    "f": Numeric(0.5, 2, missing=True),
    "s": Categorical(["a", "b"], missing=True),
    "c": Categorical(["u", "v"]),
    "b": Categorical([False, True]),
    "o": Categorical([1, "x"], other=True),
    "n": Numeric(5, 7.5, missing=True),
    "constant": Numeric(0, 4),
    "empty": Categorical([""], missing=True),
}


def test_domains_are_read_off_the_data() -> None:
    assert Schema.infer(FRAME, [0, 1, 0, 1]).features == DOMAINS


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda f: pa.Table.from_pandas(f), lambda f: f.convert_dtypes()])
def test_domains_are_the_same_in_every_library(convert) -> None:
    plain = FRAME[["i", "f", "s", "c", "b", "constant"]].replace(np.inf, 1.0)
    inferred = Schema.infer(convert(plain), [0, 1, 0, 1])
    assert inferred.features == {name: DOMAINS[name] for name in plain}


def test_an_inferred_schema_fits_its_own_data() -> None:
    frame = FRAME.assign(f=[0.5, np.nan, 2.0, 1.0])
    assert Schema.infer(frame, ["u", "v", "u", "u"]).check(frame, ["u", "v", "u", "u"]).ok


@pytest.mark.parametrize(
    ("y", "task", "domain"),
    [
        ([0, 1, 1], None, Categorical([0, 1])),
        (np.array([2.0, 1.0, 2.0]), None, Categorical([1.0, 2.0])),
        (np.array([0.5, 1.0, np.nan]), None, Numeric(0.5, 1)),
        (np.array([1, 2, 3]), "regression", Numeric(1, 3)),
        (np.array([0.5, 1.0, 1.0]), "classification", Categorical([0.5, 1.0])),
        (np.array(["b", "a", "b"]), None, Categorical(["a", "b"])),
        (np.array([True, True, True]), None, Categorical([False, True])),
        (pd.Series(["b", None, "a"]), None, Categorical(["a", "b"])),
    ],
)
def test_the_target_is_classes_or_a_range(y, task, domain) -> None:
    assert Schema.infer(np.zeros((3, 1)), y, task=task).target == domain


def test_columns_of_an_array_are_numbered() -> None:
    schema = Schema.infer(np.array([[1.0, 5.0], [2.0, 7.0]]), [0, 1])
    assert schema.features == {"x0": Numeric(1, 2), "x1": Numeric(5, 7)}


def test_the_widest_range_of_doubles_still_has_a_domain() -> None:
    widest = np.finfo(float).max
    assert Schema.infer(np.array([[-widest], [widest]]), [0, 1]).features == {"x0": Numeric(-1e300, 1e300)}


def test_a_single_class_cannot_be_learned() -> None:
    with pytest.raises(SchemaError, match="one class"):
        Schema.infer(np.zeros((2, 1)), [1, 1])


def test_dtypes_that_no_domain_fits_are_refused_by_name() -> None:
    with pytest.raises(SchemaError, match=r"'when'.*convert"):
        Schema.infer(pd.DataFrame({"when": [pd.Timedelta(0)]}), [0])


def test_dates_are_inferred_as_dates() -> None:
    days = pd.to_datetime(["2020-02-01", "2021-03-04"])
    assert Schema.infer(pd.DataFrame({"when": days}), [0, 1]).features == {"when": Date("2020-02-01", "2021-03-04")}


TYPED = pd.DataFrame(
    {
        "age": [30, 40],
        "sex": pd.Categorical(["F", "F"], categories=["F", "M"]),
        "flag": [True, True],
        "y": pd.Categorical(["no", "no"], categories=["no", "yes"]),
    }
)
EXPECTED = Schema(
    {"age": Numeric(17, 90), "sex": Categorical(["F", "M"], missing=True), "flag": Categorical([False, True])},
    classes=["no", "yes"],
)


def enums(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.from_pandas(frame.astype({"sex": "str", "y": "str"})).with_columns(
        pl.col("sex").cast(pl.Enum(["F", "M"])), pl.col("y").cast(pl.Enum(["no", "yes"]))
    )


@pytest.mark.parametrize("convert", [lambda f: f, enums])
def test_declared_categories_are_taken_when_they_are_public(convert) -> None:
    schema = Schema.from_dtypes(convert(TYPED), "y", public=True, bounds={"age": (17, 90)}, missing=["sex"])
    assert schema == EXPECTED
    assert schema.inferred is None


def test_from_dtypes_never_looks_at_values() -> None:
    schemas = {
        Schema.from_dtypes(TYPED[rows], "y", public=True, bounds={"age": (17, 90)}, missing=["sex"])
        for rows in (slice(0, 0), slice(0, 1), slice(0, 2))
    }
    assert schemas == {EXPECTED}


def test_the_unit_is_no_feature_of_a_schema_from_dtypes() -> None:
    unit = Unit("age", 3)
    assert list(Schema.from_dtypes(TYPED, "y", public=True, unit=unit).features) == ["sex", "flag"]


@pytest.mark.parametrize(
    ("frame", "arguments", "words"),
    [
        (TYPED, {"bounds": {"age": (17, 90)}}, ["public=True", "by hand"]),
        (TYPED, {"public": True}, ["'age'", "bounds={name: (low, high)}"]),
        (TYPED.assign(sex="F"), {"public": True, "bounds": {"age": (0, 1)}}, ["'sex'", "pandas Categorical"]),
        (TYPED, {"public": True, "bounds": {"Age": (17, 90)}}, ["'Age'", "correct the name"]),
        (TYPED.drop(columns="y"), {"public": True, "bounds": {"age": (17, 90)}}, ["'y'", "pass a column's name"]),
        (np.zeros((2, 2)), {"public": True}, ["array", "by hand"]),
    ],
)
def test_what_dtypes_do_not_declare_is_asked_for(frame, arguments, words) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dtypes(frame, "y", **arguments)
    for word in words:
        assert word in str(caught.value)
