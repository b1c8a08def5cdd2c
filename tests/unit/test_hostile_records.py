"""No error, no warning and no other record's codes depend on what one record says."""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import PrivetError
from privet.mechanisms.measurements import noisy_row_count, private_bounds
from privet.mechanisms.release import secret_key
from privet.tables import MemoryTable
from privet.tables.reading import encode_table

FEATURES = {"x": Numeric(0, 8, bins=8), "c": Categorical([1, 2, "a"], other=True)}
SCHEMA = Schema(FEATURES, classes=[0, 1])
BY_UNIT = Schema(FEATURES, classes=[0, 1], unit=Unit("id", 3))
IN_RANGE = Schema(FEATURES, Numeric(0, 1))
IN_RANGE_BY_UNIT = Schema(FEATURES, Numeric(0, 1), unit=Unit("id", 3))
TEXTS = Schema(
    {"x": Numeric(0, 8), "c": Categorical(["0", "a"], other=True)}, classes=[0, 1], unit=Unit("id", max_rows=1)
)


class Hostile:
    """Fails at, and warns of, whatever is asked of it."""

    def _refuse(self, *_):
        warnings.warn("here I am", RuntimeWarning, stacklevel=1)
        raise RuntimeError("no")

    __eq__ = __ne__ = __hash__ = __float__ = __int__ = __index__ = __str__ = __repr__ = __bool__ = __len__ = _refuse


class Noisy(Hostile):
    """Answers, but not quietly."""

    def __float__(self):
        warnings.warn("here I am", RuntimeWarning, stacklevel=1)
        return 3.0

    def __hash__(self):
        warnings.warn("here I am", RuntimeWarning, stacklevel=1)
        return 1

    def __ne__(self, other):
        warnings.warn("here I am", RuntimeWarning, stacklevel=1)
        return False


SIGNALLING = np.array([0x7F800001], dtype=np.uint32).view(np.float32)
HOSTILE = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("sNaN"), Decimal("NaN"), SIGNALLING[0]]
HOSTILE += [1j, np.complex128(1), np.complex64(1 + 1j), np.longdouble("1e4000" if np.finfo("g").max > 1e308 else "inf")]
HOSTILE += [
    10**400,
    -(10**400),
    10**5000,
    Fraction(10**400, 3),
    Decimal("1e999999999"),
    np.float16(7),
    5e-324,
    "9" * 5000,
]
HOSTILE += ["\ud800", "\x00", "", b"\xff", bytearray(b"1"), memoryview(b"1"), "1_0", "nan", "-inf", "１"]
HOSTILE += [[1, 2], [], {"a": 1}, {1}, (1,), range(3), np.array([1.5]), np.array([]), np.array(1.5), np.ma.masked]
HOSTILE += [
    datetime.date(1, 1, 1),
    datetime.datetime(9999, 1, 1),
    pd.Timestamp(0),
    pd.Timedelta(1),
    np.timedelta64(1, "D"),
]
HOSTILE += [
    pd.Interval(0, 1),
    pd.Period("2020"),
    pd.Series([1]),
    pd.DataFrame(),
    object(),
    type,
    len,
    Hostile(),
    Noisy(),
]
PLACES = range(len(HOSTILE))  # pytest itself cannot print some of them


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


def frame(values):
    return pd.DataFrame({name: pd.Series(objects([3, *values, 5]), dtype=object) for name in ("x", "c", "id")})


def quietly(function, *arguments, **settings):
    """Call a function that must neither raise nor warn, whatever filters are set."""
    answers = []
    for action in ("always", "error"):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter(action)
            answers.append(function(*arguments, **settings))
        assert not heard
    return answers[0]


def codes_of(schema, X, y) -> np.ndarray:
    table = quietly(encode_table, schema, schema.encoding(), X, y, secret_key)
    assert isinstance(table, MemoryTable)
    return np.vstack([np.hstack(table._codes), table._target])


def others_are_unchanged(schema, X, y, without_X, without_y):
    """Whether all records but at most one are encoded as without that one."""
    whole, others = codes_of(schema, X, y), codes_of(schema, without_X, without_y)
    more = whole.shape[1] - others.shape[1]
    assert more in (0, 1)
    kept = whole if more == 0 else np.delete(whole, -2, axis=1)
    return np.array_equal(kept, others)


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_value_in_any_cell_changes_nothing_for_others(place):
    value = [HOSTILE[place]]
    without = frame([])
    for schema, columns in ((SCHEMA, ["x", "c"]), (BY_UNIT, ["x", "c", "id"])):
        assert others_are_unchanged(schema, frame(value)[columns], [0, 0, 1], without[columns], [0, 1])
    rows = frame(value)[["x", "c"]].to_numpy(dtype=object)
    assert others_are_unchanged(SCHEMA, rows, [0, 0, 1], rows[[0, 2]], [0, 1])
    assert others_are_unchanged(SCHEMA, [[3, 3], [*value, *value], [5, 5]], [0, 0, 1], [[3, 3], [5, 5]], [0, 1])


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_label_changes_nothing_for_others(place):
    value, X = HOSTILE[place], frame([1])[["x", "c"]]
    for schema in (SCHEMA, IN_RANGE):
        for convert in (objects, list, lambda y: pd.Series(objects(y), dtype=object)):
            assert others_are_unchanged(schema, X, convert([0, value, 1]), X.iloc[[0, 2]], convert([0, 1]))


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_row_in_a_list_changes_nothing_for_others(place):
    row = HOSTILE[place]
    assert others_are_unchanged(SCHEMA, [[3, 3], row, [5, 5]], [0, 0, 1], [[3, 3], [5, 5]], [0, 1])


def test_hostile_records_are_fitted_and_measured_without_a_word():
    model = RandomDecisionForestClassifier(epsilon=1.0, schema=BY_UNIT, n_trees=1, max_depth=1)
    y = objects([0, *HOSTILE, 1])
    quietly(model.fit, frame(HOSTILE), y)
    quietly(noisy_row_count, [[3], *HOSTILE], epsilon=1.0, units=objects([3, *HOSTILE]))
    quietly(private_bounds, objects(HOSTILE), low=0, high=9, epsilon=1.0, units=objects(HOSTILE))


EMPTY = [[], (), np.array([]), np.empty((0, 2)), np.empty((0, 0)), pd.DataFrame({"x": [], "c": []})]


@pytest.mark.parametrize("empty", EMPTY)
def test_no_records_are_as_good_as_one(empty):
    model = RandomDecisionForestClassifier(epsilon=1.0, schema=SCHEMA, n_trees=1, max_depth=1)
    quietly(model.fit, empty, [])
    quietly(model.fit, [[3, 1]], [0])
    quietly(noisy_row_count, empty, epsilon=1.0)


@pytest.mark.parametrize(
    "convert",
    [
        lambda f: f,
        lambda f: f.convert_dtypes(),
        lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
        lambda f: f.astype("category"),
        lambda f: f.set_index(pd.Index([0] * len(f))),
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda f: pa.Table.from_batches([], schema=pa.Schema.from_pandas(f)) if f.empty else pa.Table.from_pandas(f),
    ],
)
@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_frames_of_every_library_may_have_any_number_of_rows(convert, n_rows):
    f = pd.DataFrame({"x": [3.0, 4.0, 5.0], "c": [1, 2, 3], "id": ["p", "q", "r"]})[:n_rows]
    if convert is pa.Table.from_pandas:
        f = f.reset_index(drop=True)
    made = convert(f)
    if isinstance(made, pa.Table):
        made = made.select(["x", "c", "id"])
    assert codes_of(BY_UNIT, made, [0, 1, 0][:n_rows]).shape == (3, n_rows)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64])
@pytest.mark.parametrize("column", ["x", "c", "id", "y"])
def test_extreme_numbers_of_every_dtype_change_nothing_for_others(dtype, column):
    extremes = [np.iinfo(dtype).min, np.iinfo(dtype).max] if np.dtype(dtype).kind in "iu" else []
    values = np.array(extremes or [np.finfo(dtype).max, np.finfo(dtype).tiny, np.inf, np.nan, -0.0], dtype=dtype)
    if dtype is np.float32:
        values = np.append(values, SIGNALLING)
    for value in values:
        whole = {name: np.array([1, 1, 1], dtype=dtype) for name in ("x", "c", "id", "y")}
        whole[column][1:2] = value
        X, y = pd.DataFrame(whole).drop(columns="y"), whole["y"]
        for schema in (BY_UNIT, IN_RANGE_BY_UNIT):
            assert others_are_unchanged(schema, X, y, X.iloc[[0, 2]], y[[0, 2]])
        plain = X[["x", "c"]].to_numpy()
        assert others_are_unchanged(IN_RANGE, plain, y, plain[[0, 2]], y[[0, 2]])


def dictionary(first, size):
    """An Arrow dictionary of `size` labels with indices of one byte."""
    labels = [str(first + place) for place in range(size)]
    return pa.DictionaryArray.from_arrays(pa.array(range(size), pa.int8()), labels)


def test_dictionaries_in_chunks_are_read_however_many_labels_they_have_together():
    narrow = pa.chunked_array([dictionary(0, 100), dictionary(100, 20)])
    wide = pa.chunked_array([dictionary(0, 100), dictionary(90, 100)])
    for column in (narrow, wide):
        n = len(column)
        X = pa.table({"x": np.full(n, 3.0), "c": column, "id": column})
        assert codes_of(TEXTS, X, np.zeros(n, int)).shape[1] == len(set(column.to_pylist()))


def test_arrow_texts_that_are_no_texts_are_other_categories():
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
    X = pa.table({"x": [1.0, 2.0], "c": broken, "id": broken})
    assert codes_of(TEXTS, X, [0, 1])[1].tolist() == [1, 2]


@pytest.mark.parametrize(
    "form",
    [
        lambda n: (np.zeros(n), np.zeros(n)),
        lambda n: (np.zeros((n, 2, 2)), np.zeros(n)),
        lambda n: (np.zeros((n, 2)), np.zeros((n, 3))),
        lambda n: (np.zeros((n, 2)), np.full(n, n * "a")),
        lambda n: (np.zeros((n, 2)), np.full(n, n * b"a")),
        lambda n: (np.zeros((n, 2)), np.zeros(n, dtype=f"V{n}")),
        lambda n: (np.zeros((n, 3)), np.zeros(n)),
        lambda n: (pd.Series(range(n)), np.zeros(n)),
        lambda n: (np.zeros((n, 2)), None),
        lambda n: (np.zeros((n, 2)), np.zeros(n + 1)),
    ],
)
def test_errors_say_neither_how_many_records_there_are_nor_how_long_their_words(form):
    errors = set()
    for n in (3, 4, 17):
        with pytest.raises(PrivetError) as caught:
            RandomDecisionForestClassifier(schema=SCHEMA, n_trees=2, max_depth=1).fit(*form(n))
        errors.add(str(caught.value))
    assert len(errors) == 1
