"""Encoding: a map of single records, the same for every library, that never fails on a value."""

import datetime
import decimal
from itertools import pairwise

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import SchemaError
from privet.frames.columns import read_values
from privet.frames.opening import open_frame
from privet.schema.domains import Categorical, Numeric
from privet.schema.encoding import ClassTarget, Encoding, RangeTarget
from privet.schema.schema import Schema

SCHEMA = Schema(
    {
        "age": Numeric(0, 8, bins=8, missing=True),
        "size": Numeric(0, 8, bins=8),
        "word": Categorical(["a", "b"], other=True, missing=True),
        "mark": Categorical([1, 2.5, 3]),
        "flag": Categorical([False, True], missing=True),
    },
    classes=["no", "yes"],
)
NAMES = list(SCHEMA.features)
ENCODING = SCHEMA.encoding()

FRAME = pd.DataFrame(
    {
        "age": [0.0, 1.0, 1.5, 99.0, -99.0, np.nan],
        "size": [0, 1, 2, 8, 9, -1],
        "word": ["a", "b", "c", None, "a", "b"],
        "mark": [1.0, 2.5, 3.0, 2.0, np.nan, 1.0],
        "flag": [True, False, True, False, True, False],
    }
)
CODES = [
    [0, 0, 1, 7, 0, 8],
    [0, 0, 1, 7, 7, 0],
    [0, 1, 2, 3, 0, 1],
    [0, 1, 2, 0, 0, 0],
    [1, 0, 1, 0, 1, 0],
]


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


LIBRARIES = {
    "pandas": lambda f: f,
    "pandas nullable": lambda f: f.convert_dtypes(),
    "pandas arrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "pandas object": lambda f: f.astype(object),
    "pandas string in python": lambda f: f.astype({"word": pd.StringDtype("python")}),
    "pandas category": lambda f: f.astype({"word": "category", "mark": "category", "flag": "category"}),
    "pandas numbers as categories": lambda f: f.astype({"age": "category", "size": "category"}),
    "pandas sparse": lambda f: f.astype({"size": pd.SparseDtype("int64")}),
    "polars": pl.from_pandas,
    "polars categorical": lambda f: pl.from_pandas(f).with_columns(pl.col("word").cast(pl.Categorical)),
    "polars enum": lambda f: pl.from_pandas(f).with_columns(pl.col("word").cast(pl.Enum(["c", "b", "a", "z"]))),
    "polars decimal": lambda f: pl.from_pandas(f).with_columns(pl.col("age").cast(pl.Decimal(10, 2))),
    "arrow": arrow,
    "arrow in chunks": lambda f: pa.concat_tables([arrow(f[:2]), arrow(f[2:])]),
    "arrow dictionary": lambda f: arrow(f).set_column(
        2,
        "word",
        pa.chunked_array([pa.array(f.word[:2]).dictionary_encode(), pa.array(f.word[2:]).dictionary_encode()]),
    ),
    "arrow string view": lambda f: arrow(f).set_column(2, "word", arrow(f)["word"].cast(pa.string_view())),
    "arrow decimal": lambda f: arrow(f).set_column(0, "age", arrow(f)["age"].cast(pa.decimal128(10, 2))),
    "narwhals": nw.from_native,
    "objects": lambda f: f.to_numpy(dtype=object),
    "rows": lambda f: f.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_codes(library) -> None:
    codes = ENCODING.encode(LIBRARIES[library](FRAME))
    assert codes.tolist() == CODES
    assert codes.dtype == np.uint8
    assert codes.flags.c_contiguous


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "rows"])  # no rows tell no width
def test_no_rows_make_no_codes(library) -> None:
    assert ENCODING.encode(LIBRARIES[library](FRAME[:0])).shape == (5, 0)


@pytest.mark.parametrize("library", ["pandas", "pandas nullable", "polars", "arrow", "narwhals"])
def test_columns_may_come_in_any_order(library) -> None:
    assert ENCODING.encode(LIBRARIES[library](FRAME[NAMES[::-1]])).tolist() == CODES


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numbers_are_in_schema_order(dtype, order) -> None:
    encoding = Schema({"a": Numeric(0, 8), "b": Categorical([1, 2])}, classes=[0, 1]).encoding(8)
    array = np.array([[1, 2], [5, 1], [8, 7]], dtype=dtype, order=order)
    assert encoding.encode(array).tolist() == [[0, 4, 7], [1, 0, 0]]


def test_arrays_stored_by_rows_are_turned_block_by_block(monkeypatch) -> None:
    monkeypatch.setattr("privet.frames.opening._ROWS_TURNED_AT_ONCE", 7)
    X = np.random.default_rng(0).normal(4, 5, (30, 2))
    numeric = Schema({"a": Numeric(0, 8), "b": Numeric(0, 8, grid="log", missing=True)}, classes=[0, 1]).encoding()
    X[3] = np.nan
    by_columns = numeric.encode(np.asfortranarray(X))
    np.testing.assert_array_equal(numeric.encode(X), by_columns)  # not turned at all
    X.flags.writeable = False
    np.testing.assert_array_equal(numeric.encode(X), by_columns)


def test_arrays_of_text_are_read_value_by_value() -> None:
    encoding = Schema({"a": Numeric(0, 8), "b": Categorical(["x", "y"])}, classes=[0, 1]).encoding(8)
    array = np.array([["1", "y"], ["5.5", "x"], ["what", "z"]])
    assert encoding.encode(array).tolist() == [[0, 5, 4], [1, 0, 0]]


def test_masked_values_are_missing() -> None:
    encoding = Schema({"a": Numeric(0, 8, missing=True), "b": Categorical([1, 2])}, classes=[0, 1]).encoding(8)
    array = np.ma.MaskedArray([[1, 2], [5, 2]], mask=[[False, False], [True, True]])
    assert encoding.encode(array).tolist() == [[0, 8], [1, 0]]


class Unreasonable:
    """A value that fails whatever is asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __hash__(self) -> int:
        raise RuntimeError("no")

    def __float__(self) -> float:
        raise RuntimeError("no")


ODD = [[1, 2], {"a": 1}, object(), Unreasonable(), b"\xff", "", "a b", 1j, np.array([1, 2]), pd.Timestamp(0)]
ODD += [datetime.date(2020, 1, 1), decimal.Decimal("sNaN"), 10**400, range(3)]
MISSING = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), decimal.Decimal("NaN"), np.float32("nan")]


def objects(values) -> dict[str, object]:
    return np.fromiter(values, dtype=object, count=len(values))


@pytest.mark.parametrize(("values", "word", "mark"), [(ODD, 2, 0), (MISSING, 3, 0)])
def test_odd_and_missing_values_are_mapped_never_refused(values, word, mark) -> None:
    column = objects(values)
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name in NAMES})
    codes = ENCODING.encode(frame).tolist()
    assert codes[0] == [8] * len(values)
    assert codes[1] == [4] * len(values)
    assert codes[2] == [word] * len(values)
    assert codes[3] == [mark] * len(values)
    assert codes[4] == [2] * len(values)
    assert ENCODING.encode_target(column).tolist() == [-1] * len(values)


@pytest.mark.parametrize(
    ("other", "missing", "unknown_code", "missing_code"),
    [(True, True, 2, 3), (True, False, 2, 2), (False, True, 2, 2), (False, False, 0, 0)],
)
def test_unknown_and_missing_categories_have_their_places(other, missing, unknown_code, missing_code) -> None:
    schema = Schema({"w": Categorical(["a", "b"], other=other, missing=missing)}, classes=[0, 1])
    codes = schema.encoding().encode(pd.DataFrame({"w": ["b", "?", None]}))
    assert codes.tolist() == [[1, unknown_code, missing_code]]


def test_a_category_is_matched_by_pythons_equality() -> None:
    encoding = Schema({"c": Categorical([0, 1.0, "1", 2.5, 2**53 + 1])}, classes=[0, 1]).encoding()
    assert encoding.encode(pd.DataFrame({"c": objects([False, 1, "1", 2.5, 2**53 + 1])})).tolist() == [[0, 1, 2, 3, 4]]
    assert encoding.encode(pd.DataFrame({"c": [True, False]})).tolist() == [[1, 0]]
    assert encoding.encode(pd.DataFrame({"c": np.array([1, 0, 1], np.int8)})).tolist() == [[1, 0, 1]]
    big = pl.DataFrame({"c": [2**53 + 1, 2**53, None]})
    assert encoding.encode(big).tolist() == [[4, 0, 0]]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
def test_integers_of_every_type_are_matched_by_their_value(dtype) -> None:
    limits = np.iinfo(dtype)
    values = [limits.min, limits.min + 1, 0, 1, 2, 5, 100, limits.max - 1, limits.max]
    column = np.array(values, dtype=dtype)
    for classes in ([1, 0], [100, limits.max], [limits.min, limits.max, 2], [limits.min, limits.min + 1], [7, 8]):
        expected = [classes.index(value) if value in classes else -1 for value in values]
        assert ClassTarget(tuple(classes)).encode(read_values(column)).tolist() == expected


cell = (
    st.none() | st.floats() | st.integers() | st.text(max_size=2) | st.booleans() | st.sampled_from(["a", "b", 1, 2.5])
)
rows = st.lists(st.tuples(*[cell] * 5), min_size=1, max_size=12)


@settings(deadline=None)
@given(rows, st.data())
def test_a_records_codes_depend_on_that_record_alone(records, data) -> None:
    frame = pd.DataFrame(
        {name: pd.Series(objects([record[i] for record in records]), dtype=object) for i, name in enumerate(NAMES)}
    )
    whole = ENCODING.encode(frame)
    chosen = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=12))
    assert np.array_equal(ENCODING.encode(frame.iloc[chosen]), whole[:, chosen])
    assert np.all(whole < ENCODING.n_codes[:, None])


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.text(max_size=2)), min_size=1),
    st.data(),
)
def test_records_of_typed_frames_are_independent_too(records, data) -> None:
    schema = Schema(
        {"n": Numeric(-5, 5, missing=True), "k": Categorical([0, 2**53 + 1, 2**53]), "w": Categorical(["a", "b"])},
        classes=[0, 1],
    )
    numbers, words = [n for n, _ in records], [w for _, w in records]
    frame = pl.DataFrame(
        {"n": numbers, "k": numbers, "w": words}, schema={"n": pl.Int64, "k": pl.Int64, "w": pl.String}
    )
    chosen = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=12))
    for convert in (lambda f: f, pl.DataFrame.to_arrow, lambda f: f.to_pandas(use_pyarrow_extension_array=True)):
        whole = schema.encoding().encode(convert(frame))
        assert np.array_equal(schema.encoding().encode(convert(frame[chosen])), whole[:, chosen])


@given(st.floats(-20, 20), st.integers(0, 6))
def test_a_code_at_most_c_says_that_x_is_at_most_the_cut(x, c) -> None:
    code = ENCODING.encode([[x, 0, "a", 1, True]])[0, 0]
    assert (code <= c) == (x <= ENCODING.decode_cut(0, c))


TEXT = "str" if pd.Series(["x"]).dtype != object else "string"  # declared as text, in old pandas too

WRONG = [
    (lambda f: f.drop(columns="age"), ["'age' is missing", "add it"]),
    (lambda f: f.rename(columns={"age": "Age"}), ["'age' is missing", "'Age'", "Rename"]),
    (lambda f: f.rename(columns={"flag": "flags"}), ["'flag' is missing", "'flags'", "Rename"]),
    (lambda f: f.assign(age=f.word.astype(TEXT)), ["'age'", "Numeric", "str", "convert it to numbers"]),
    (
        lambda f: f.assign(age=f.word.astype(TEXT).astype("category")),
        ["'age'", "Numeric", "category", "convert it to numbers"],
    ),
    (lambda f: pl.from_pandas(f).with_columns(age=pl.lit("x")), ["'age'", "String", "convert it to numbers"]),
    (lambda f: arrow(f.assign(age="x")), ["'age'", "string", "convert it to numbers"]),
    (lambda f: f.assign(age=pd.Timestamp(0)), ["'age'", "datetime64", "convert it to numbers"]),
    (lambda f: pl.from_pandas(f).with_columns(age=[1, 2]), ["'age'", "List", "convert it to numbers"]),
    (lambda f: arrow(f.assign(word=pd.Timestamp(0))), ["'word'", "timestamp", "convert it to strings"]),
    (lambda f: f.assign(word=1), ["'word'", "int64", "convert it to strings"]),
    (lambda f: f.assign(word=True), ["'word'", "bool", "convert it to strings"]),
    (lambda f: f.assign(mark=f.word.astype(TEXT)), ["'mark'", "str", "convert it to numbers"]),
    (lambda f: pd.concat([f, f], axis=1), ["more than once", "rename"]),
    (lambda f: f.to_numpy(dtype=object)[:, :4], ["4 columns", "5 features", "'age'"]),
    (lambda f: f.age.to_numpy(), ["two dimensions", "reshape"]),
    (lambda f: np.zeros((2, 5)), ["'word'", "float64", "convert it to strings"]),
    (lambda f: pl.from_pandas(f).lazy(), ["LazyFrame", "collect"]),
    (lambda f: f.age, ["Series", "DataFrame"]),
    (lambda f: [[1, 2], [3]], ["equally long", "check"]),
    (lambda f: [1, 2], ["equally long", "check"]),
    (lambda f: 5, ["int", "DataFrame"]),
]


@pytest.mark.parametrize(("change", "words"), WRONG)
def test_wrong_names_and_dtypes_are_refused_with_a_remedy(change, words) -> None:
    with pytest.raises(SchemaError) as caught:
        ENCODING.encode(change(FRAME))
    for word in words:
        assert word in str(caught.value)


def test_an_all_missing_float_column_serves_for_categories() -> None:
    assert ENCODING.encode(FRAME.assign(word=np.nan))[2].tolist() == [3] * 6
    assert ENCODING.encode(pl.from_pandas(FRAME).with_columns(word=None))[2].tolist() == [3] * 6
    assert ENCODING.encode(arrow(FRAME).set_column(2, "word", pa.nulls(6)))[2].tolist() == [3] * 6


def test_nothing_is_said_of_columns_that_are_to_be_ignored() -> None:
    frame = FRAME.assign(person=1, y="no")
    assert ENCODING.encode(frame, ignore=("person", "y", "absent")).tolist() == CODES


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: pd.DataFrame(d).convert_dtypes()])
def test_a_column_is_read_as_plain_objects(convert) -> None:
    frame = convert({"person": ["a", None, "b"], "n": [1, 2, 3]})
    assert read_values(open_frame(frame).named("person")).objects().tolist() == ["a", None, "b"]
    assert read_values(open_frame(frame).named("n")).objects().tolist() == [1, 2, 3]
    with pytest.raises(SchemaError, match=r"'persons' is missing; did you mean the frame's 'person'"):
        open_frame(frame).named("persons")


def test_an_integer_column_with_gaps_keeps_its_integers() -> None:
    read = read_values(pl.Series("n", [1, None])).objects()
    assert [(type(v), v) for v in read] == [(int, 1), (type(None), None)]


def test_an_array_has_no_named_columns() -> None:
    with pytest.raises(SchemaError, match="named columns"):
        open_frame(np.zeros((2, 2))).named("n")


@pytest.mark.parametrize(
    "convert", [list, np.array, pd.Series, pl.Series, pa.array, lambda y: pd.Series(y, dtype="category")]
)
def test_labels_become_class_indices_and_unknown_ones_are_dropped(convert) -> None:
    target = ENCODING.encode_target(convert(["yes", "no", "maybe", "yes"]))
    assert target.tolist() == [1, 0, -1, 1]
    assert target.dtype == np.int32


def test_a_column_vector_of_labels_is_taken_as_a_column() -> None:
    assert ENCODING.encode_target(np.array([["yes"], ["no"]])).tolist() == [1, 0]


@pytest.mark.parametrize("y", [np.array([0, 1]), np.array([True]), np.zeros(2, "M8[s]"), np.zeros((2, 2)), 5])
def test_labels_of_a_wrong_dtype_or_shape_are_refused(y) -> None:
    with pytest.raises(SchemaError, match=r"convert it|one column at a time|pass a pandas"):
        ENCODING.encode_target(y)


def test_a_numeric_target_is_clipped_to_levels_and_back() -> None:
    encoding = Schema({"a": Numeric(0, 1)}, Numeric(-1, 1)).encoding()
    assert encoding.n_classes == 0
    levels = encoding.encode_target([-1, 1, -9, float("inf"), 0, None, "x"])
    assert levels.tolist() == [0, 65535, 0, 65535, 32768, -1, -1]
    assert isinstance(encoding.target, RangeTarget)
    assert encoding.target.decode([0, 65535]).tolist() == [-1.0, 1.0]
    assert encoding.encode_target(pl.Series([1, None])).tolist() == [65535, -1]
    with pytest.raises(SchemaError, match="convert it to numbers"):
        encoding.encode_target(pd.Series(["x"], dtype=TEXT))


@given(st.floats(-3, 30))
def test_decoding_a_level_is_within_half_a_step(y) -> None:
    target = RangeTarget(-3.0, 30.0)
    encoding = Encoding(ENCODING.columns, target)
    assert abs(target.decode(encoding.encode_target([y]))[0] - y) <= 33 / 65535 / 2 * (1 + 1e-9)


@pytest.mark.parametrize(("n", "dtype"), [(256, np.uint8), (257, np.uint16), (65_535, np.uint16)])
def test_codes_take_the_smallest_type(n, dtype) -> None:
    encoding = Schema({"a": Categorical(range(n))}, classes=[0, 1]).encoding()
    assert encoding.dtype == dtype
    assert encoding.encode(np.array([[n - 1]])).tolist() == [[n - 1]]


def test_missing_counts_among_the_codes() -> None:
    schema = Schema({"a": Numeric(0, 1, missing=True)}, classes=[0, 1])
    assert schema.encoding(255).n_codes.tolist() == [256]
    assert schema.encoding(256).dtype == np.uint16


def typed(document) -> object:
    """Compare with types: 1, 1.0 and True are equal in Python."""
    if isinstance(document, dict):
        return {name: typed(value) for name, value in document.items()}
    return [typed(value) for value in document] if isinstance(document, list) else (type(document), document)


@pytest.mark.parametrize("target", [Categorical(["no", 1, 2.0, False]), Numeric(0, 30)])
def test_an_encoding_goes_to_plain_data_and_back(target) -> None:
    encoding = Schema(SCHEMA.features, target).encoding(bins=7)
    again = Encoding.from_dict(encoding.to_dict())
    assert again == encoding
    assert typed(again.to_dict()) == typed(encoding.to_dict())


def damaged(**changes) -> dict:
    return {
        "columns": [{"name": "a", "cuts": [0.0, 1.0], "other": False, "missing": False} | changes],
        "target": {"classes": [0]},
    }


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"columns": [{}], "target": {}},
        {"columns": None, "target": {}},
        {"columns": [], "target": {"classes": 5}},
        {"columns": [], "target": {"lowest": 5}},
        {"columns": [], "target": {"classes": []}},
        {"columns": [], "target": {"classes": [None]}},
        {"columns": [], "target": {"low": 1.0, "high": 0.0}},
        {"columns": [], "target": {"low": 0.0, "high": 1.0, "levels": "9"}},
        damaged(cuts=[1.0, 1.0]),
        damaged(cuts=[0.0, float("nan")]),
        damaged(cuts=["a"]),
        damaged(categories=["a"]),
        damaged(cuts=None),
        damaged(cuts=None, categories=list(range(70_000))),
    ],
)
def test_damaged_plain_data_is_refused(document) -> None:
    with pytest.raises(SchemaError, match="anew"):
        Encoding.from_dict(document)


def test_cuts_increase_in_every_column() -> None:
    assert all(a < b for column in ENCODING.columns for a, b in pairwise(column.cuts))
    assert isinstance(ENCODING.target, ClassTarget)
