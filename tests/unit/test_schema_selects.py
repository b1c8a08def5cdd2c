"""The schema selects: columns that it does not name are ignored and said once; a missing one is an error."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import Categorical, Numeric, PrivaTreeClassifier, Schema, Unit
from privet.errors import IgnoredColumnsWarning, SchemaError
from privet.testing import seeded_noise

FEATURES = {"age": Numeric(0, 100), "sex": Categorical(["F", "M"])}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])
ROWS = 60
AGES, SEXES = np.arange(ROWS) % 97, ["F", "M"] * (ROWS // 2)
LABELS = ["yes" if age > 40 else "no" for age in AGES]
FRAME = pd.DataFrame({"age": AGES, "sex": SEXES})


def fitted(schema: Schema, X: object, y: object) -> PrivaTreeClassifier:
    with seeded_noise(1):
        return PrivaTreeClassifier(epsilon=1.0, schema=schema, max_depth=2).fit(X, y)


@pytest.mark.parametrize("library", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_columns_that_the_schema_does_not_name_are_ignored_and_said_once(library, request) -> None:
    mark = f"notes {request.node.name}"  # each process says it once for the same names
    more = library(FRAME.assign(**{mark: "text"}, person=range(ROWS)))
    with pytest.warns(IgnoredColumnsWarning, match=r"'notes .*', 'person'.*`ignored`"):
        with_more = fitted(SCHEMA, more, LABELS)
    plain = fitted(SCHEMA, library(FRAME), LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(with_more.predict_proba(more), plain.predict_proba(FRAME))


def test_nothing_is_said_of_columns_that_the_schema_lists() -> None:
    schema = Schema(
        FEATURES, classes=["no", "yes"], unit=Unit("person", 1), ignored=["notes of these"], target_column="income"
    )
    assert schema.named_columns == ("age", "sex", "person", "income", "notes of these")
    fitted(schema, FRAME.assign(**{"notes of these": "", "income": LABELS}, person=range(ROWS)), LABELS)


def test_a_missing_column_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(SchemaError, match=r"'age' is missing; did you mean the frame's 'Agee'\? Rename it"):
        fitted(SCHEMA, FRAME.rename(columns={"age": "Agee"}), LABELS)


FORMS = {
    "list": lambda: LABELS,
    "array": lambda: np.array(LABELS),
    "column": lambda: np.array(LABELS)[:, np.newaxis],
    "series": lambda: pd.Series(LABELS),
    "objects": lambda: pd.Series(LABELS, dtype=object),
    "strings": lambda: pd.Series(LABELS, dtype="string"),
    "category": lambda: pd.Series(LABELS, dtype="category"),
    "arrow in pandas": lambda: pd.Series(LABELS, dtype=pd.ArrowDtype(pa.string())),
    "frame": lambda: pd.DataFrame({"y": LABELS}),
    "polars": lambda: pl.Series(LABELS),
    "polars frame": lambda: pl.DataFrame({"y": LABELS}),
    "polars enum": lambda: pl.Series(LABELS, dtype=pl.Enum(["no", "yes"])),
    "arrow": lambda: pa.array(LABELS),
    "arrow chunks": lambda: pa.chunked_array([LABELS[:7], LABELS[7:]]),
    "arrow dictionary": lambda: pa.array(LABELS).dictionary_encode(),
    "arrow table": lambda: pa.table({"y": LABELS}),
}


@pytest.mark.parametrize("form", FORMS)
def test_labels_of_every_form_give_the_same_model(form) -> None:
    expected = fitted(SCHEMA, FRAME, LABELS).predict_proba(FRAME)
    np.testing.assert_array_equal(fitted(SCHEMA, FRAME, FORMS[form]()).predict_proba(FRAME), expected)


@pytest.mark.parametrize("dtype", ["bool", "boolean", "int8", "Int64", "float32", "Float64", "uint16[pyarrow]", object])
def test_labels_of_every_dtype_that_equal_the_classes_are_read(dtype) -> None:
    schema = Schema(FEATURES, classes=[0, 1])
    y = pd.Series([label == "yes" for label in LABELS]).astype(dtype)
    assert schema.encoding().encode_target(y.to_frame()).tolist() == [int(label == "yes") for label in LABELS]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_two_columns_of_labels_are_refused_by_name(frame) -> None:
    with pytest.raises(SchemaError, match=r"one column, got a frame of 2: 'y', 'z'; pass the column to predict"):
        fitted(SCHEMA, FRAME, frame({"y": LABELS, "z": LABELS}))


def test_a_frame_of_one_column_serves_without_a_schema_too() -> None:
    with pytest.warns(UserWarning, match="no schema was given"):
        PrivaTreeClassifier(epsilon=1.0, max_depth=2).fit(FRAME, pl.DataFrame({"y": LABELS}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ignored": "age"}, "'age' is ignored and used"),
        ({"ignored": ["a", "a"]}, "twice"),
        ({"ignored": [1]}, "names of columns, got 1"),
        ({"ignored": 5}, "names of columns, got 5"),
        ({"ignored": ["y"], "target_column": "y"}, "'y' is ignored and used"),
        ({"target_column": "age"}, "'age' is also a feature"),
        ({"target_column": ""}, "a column's name"),
    ],
)
def test_what_a_schema_ignores_and_predicts_is_checked(options, words) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema(FEATURES, classes=[0, 1], **options)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_what_is_ignored_and_predicted_goes_to_a_file_and_back(tmp_path, suffix) -> None:
    schema = Schema(FEATURES, classes=["no", "yes"], ignored=["id", "no"], target_column="income")
    schema.save(tmp_path / f"schema{suffix}")
    assert Schema.load(tmp_path / f"schema{suffix}") == schema
    assert schema.to_dict()["version"] == 2
    assert SCHEMA.to_dict()["version"] == 1  # older versions of privet read what they can
