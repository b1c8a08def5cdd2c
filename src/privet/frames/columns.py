"""One column of pandas, polars, PyArrow or NumPy, read into `Values` by its declared type.

Values have one of three forms: numbers, indices into a list of labels, or Python objects. The rules of
`privet.schema.encoding` work on these forms, whichever library the column came from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib import import_module
from itertools import repeat
from math import nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError

Category = str | int | float | bool
ValueKind = Literal["number", "float", "bool", "string", "object", "null", "date", "unsupported"]
_ROWS_LOOKED_UP_AT_ONCE = 1 << 14  # intermediate results of this many rows stay in a cache
_MOST_TABLE_ENTRIES = 1 << 16  # of a lookup table from integers to codes; one of this size is made in no time
# How these types convert to a number, hash and compare is known, and they never warn.
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, Decimal, np.bool_, np.int64, np.float64, np.str_})


def read_values(column: Any, *, exact: bool = False) -> Values:
    """Read a column (NumPy, pandas, polars, PyArrow, narwhals or a list) into `Values`.

    Numbers of types that NumPy does not have become doubles or, if `exact`, strings with all their digits.
    """
    if isinstance(column, np.ndarray):
        return _from_numpy(column)
    if isinstance(column, list | tuple):
        return Values("object", "list", np.fromiter(column, dtype=object, count=len(column)))
    library = type(column).__module__.partition(".")[0]
    if library == "narwhals":
        return read_values(column.to_native(), exact=exact)
    readers: dict[str, Callable[[Any, bool], Values]]
    readers = {"polars": _from_polars, "pyarrow": _from_arrow, "pandas": _from_pandas}
    if library not in readers:
        raise SchemaError(
            f"cannot read a column of type {type(column).__qualname__}; "
            "pass a pandas, polars or PyArrow column, a NumPy array or a list"
        )
    return readers[library](column, exact)


def _from_numpy(array: npt.NDArray[Any]) -> Values:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        shape = ", ".join(["n", *map(str, array.shape[1:])][: array.ndim])  # how many rows there are is private
        raise SchemaError(f"a column must have one dimension, got shape ({shape}); pass one column at a time")
    absent = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    kinds: dict[str, ValueKind] = {"b": "bool", "i": "number", "u": "number", "f": "float", "O": "object"}
    kinds |= {"U": "string", "S": "string", "T": "string"}
    if array.dtype.kind == "M":
        return _from_days(np.asarray(array).astype("datetime64[D]"), str(array.dtype), absent)
    kind = kinds.get(array.dtype.kind, "unsupported")
    data = np.asarray(array, dtype=object if kind == "string" else None)
    # NumPy's name of a dtype of strings says how long the longest one is.
    name = array.dtype.type.__name__ if array.dtype.kind in "USV" else str(array.dtype)
    return Values(kind, name, data, absent)


def _from_days(days: npt.NDArray[Any], dtype: str, absent: npt.NDArray[np.bool_] | None = None) -> Values:
    numbers = np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
    return Values("date", dtype, numbers, absent)


def _from_pandas(series: Any, exact: bool) -> Values:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = read_values(dtype.categories.to_series())
        codes = series.cat.codes.to_numpy()
        return Values(labels.kind, str(dtype), codes, labels=dtype.categories.tolist(), declared=True)
    if isinstance(dtype, np.dtype | pd.SparseDtype):
        return _from_numpy(np.asarray(series))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        return replace(_from_arrow(series.array.__arrow_array__(), exact), dtype=str(dtype))
    if isinstance(dtype, pd.StringDtype):
        return Values("string", str(dtype), series.to_numpy(dtype=object, na_value=None))
    if isinstance(dtype, pd.DatetimeTZDtype):  # the date on the calendar of its own time zone
        return replace(_from_numpy(series.dt.tz_localize(None).to_numpy()), dtype=str(dtype))
    if dtype.kind in "biuf":  # pandas' own nullable types
        data = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return replace(_from_numpy(data), dtype=str(dtype), absent=series.isna().to_numpy())
    return Values("unsupported", str(dtype), np.zeros(len(series)))


def _from_polars(series: Any, exact: bool) -> Values:
    import polars as pl

    dtype, name = series.dtype, str(series.dtype)
    if isinstance(dtype, pl.Enum):
        codes = series.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return Values("string", name, codes, labels=dtype.categories.to_list(), declared=True)
    if dtype in (pl.String, pl.Categorical):
        return replace(read_values(series.cast(pl.String).to_list()), kind="string", dtype=name)
    if dtype in (pl.Object, pl.Null):
        return replace(read_values(series.to_list()), kind="null" if dtype == pl.Null else "object", dtype=name)
    if dtype == pl.Boolean or dtype.is_numeric():
        if dtype.is_decimal() or name.endswith("128"):  # NumPy has no such type
            if exact:
                return replace(read_values(series.to_list()), kind="number", dtype=name)  # exact Python numbers
            series = series.cast(pl.Float64)
        absent = series.is_null().to_numpy()
        filled = series.fill_null(False if dtype == pl.Boolean else 0)
        return replace(_from_numpy(filled.to_numpy()), dtype=name, absent=absent)
    if dtype in (pl.Date, pl.Datetime):
        days = series.cast(pl.Date).cast(pl.Int32)
        return Values("date", name, days.fill_null(0).to_numpy().astype(np.float64), days.is_null().to_numpy())
    return Values("unsupported", name, np.zeros(len(series)))


def _from_arrow(column: Any, exact: bool) -> Values:
    pa: Any = import_module("pyarrow")  # untyped: imported so that its functions count as Any
    pc: Any = import_module("pyarrow.compute")

    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    dtype, types, name = column.type, pa.types, str(column.type)
    if types.is_dictionary(dtype):
        kind = _from_arrow(pa.array([], dtype.value_type), exact).kind
        return _from_dictionary(column, kind, name) if kind != "unsupported" else _unsupported(column, name)
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        column = column.cast(pa.large_string()) if types.is_string_view(dtype) else column
        return _from_dictionary(pc.dictionary_encode(column), "string", name)
    if exact and types.is_decimal(dtype):
        return _from_dictionary(pc.dictionary_encode(column.cast(pa.string())), "number", name)
    if types.is_null(dtype):
        return Values("null", name, np.full(len(column), None))
    if types.is_boolean(dtype) or types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        if types.is_decimal(dtype) or types.is_float16(dtype):
            column = column.cast(pa.float64())
        if not column.null_count:  # then the values can be looked at where they are
            return replace(_from_numpy(column.to_numpy()), dtype=name)
        absent = pc.is_null(column).to_numpy()
        filled = pc.fill_null(column, pa.scalar(0).cast(column.type))
        return replace(_from_numpy(filled.to_numpy()), dtype=name, absent=absent)
    if types.is_date(dtype) or types.is_timestamp(dtype):
        column = pc.local_timestamp(column) if types.is_timestamp(dtype) and dtype.tz is not None else column
        column = pc.floor_temporal(column, unit="day") if types.is_timestamp(dtype) else column
        absent = pc.is_null(column).to_numpy()
        days = pc.fill_null(column.cast(pa.date32(), safe=False).cast(pa.int32()), 0).to_numpy()
        return Values("date", name, days.astype(np.float64), absent)
    return _unsupported(column, name)


def _from_dictionary(column: Any, kind: ValueKind, name: str) -> Values:
    """Read Arrow's dictionaries chunk by chunk: unifying them fails where indices are too narrow for all labels."""
    labels: list[Any] = []
    parts, last, first = [np.empty(0, dtype=np.int64)], None, 0
    for chunk in column.chunks:
        if last is None or not chunk.dictionary.equals(last):
            last, first = chunk.dictionary, len(labels)
            labels += _labels(last)
        places = chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        parts.append(np.where(places < 0, -1, places + first))
    return Values(kind, name, np.concatenate(parts), labels=labels)


def _labels(dictionary: Any) -> list[Any]:
    try:
        return list(dictionary.to_pylist())
    except UnicodeDecodeError:  # Arrow does not check that its strings are valid UTF-8
        texts = dictionary.cast("large_binary").to_pylist()
        return [None if text is None else text.decode("utf-8", "surrogateescape") for text in texts]


def _unsupported(column: Any, name: str) -> Values:
    return Values("unsupported", name, np.zeros(len(column)))


@dataclass(frozen=True)
class Values:
    """One column of a frame, in one of three forms.

    Parameters
    ----------
    kind
        What the declared dtype says. "float" is also pandas' dtype for a column that is all missing. Dates are numbers
        of days since 1970-01-01.
    dtype
        The dtype as its library calls it, for messages.
    data
        Numbers; or, with `labels`, indices into them (-1 is missing); or an array of Python objects.
    absent
        Where `data` holds no value, if any such place is marked.
    labels
        What the indices stand for.
    declared
        Whether the labels are part of the dtype rather than found among the values.
    """

    kind: ValueKind
    dtype: str
    data: npt.NDArray[Any]
    absent: npt.NDArray[np.bool_] | None = None
    labels: list[Any] | None = None
    declared: bool = False

    def numbers(self) -> npt.NDArray[Any]:
        """The values as numbers, NaN where one is not a number; `absent` still has to be applied."""
        if self.labels is not None:
            by_label = np.array([*map(_number, self.labels), nan], dtype=np.float64)
            return by_label.take(self.data)
        if self.data.dtype == object:
            return np.array([_number(value) for value in self.data], dtype=np.float64)
        return self.data

    def objects(self) -> npt.NDArray[np.object_]:
        """The values as Python objects, None where one is missing; an error where the dtype cannot be read at all."""
        if self.kind in ("unsupported", "date"):
            raise SchemaError(f"a column of dtype {self.dtype} cannot be read; convert it to text or to whole numbers")
        if self.labels is not None:
            labels = [None if is_missing(label) else label for label in self.labels]
            return np.fromiter([*labels, None], dtype=object).take(self.data)
        plain = [None if is_missing(value) else value for value in self.data.tolist()]
        objects = np.fromiter(plain, dtype=object, count=len(plain))
        if self.absent is not None:
            objects[self.absent] = None
        return objects

    def missing(self) -> npt.NDArray[np.bool_]:
        """Where there is no value, as opposed to one that cannot be read."""
        if self.labels is not None:
            missing = np.array([*map(is_missing, self.labels), True]).take(self.data)
        elif self.data.dtype == object:
            missing = np.fromiter(map(is_missing, self.data), dtype=bool, count=len(self.data))
        else:
            missing = np.isnan(self.data) if self.data.dtype.kind == "f" else np.zeros(len(self.data), dtype=bool)
        return missing if self.absent is None else missing | self.absent

    def match(self, categories: Sequence[Category], *, unknown: int, missing: int) -> npt.NDArray[np.int32]:
        """The index of the category that each value equals, or `unknown`, or `missing`."""
        code_of = {category: code for code, category in enumerate(categories)}

        def code(value: Any) -> int:
            try:
                if type(value) in _PLAIN:
                    return code_of[value]
                with quietly():
                    return code_of[value]
            except Exception:  # odd values may fail in any way (unhashable, ...); they are unknown like any other
                return missing if is_missing(value) else unknown

        if self.labels is not None:
            by_label = np.array([*map(code, self.labels), missing], dtype=np.int32)
            codes: npt.NDArray[np.int32] = by_label.take(self.data)
        elif self.data.dtype == object:
            # Texts are looked up without a call for each; what is no category, or missing, is looked at once more.
            found = map(code_of.get, self.data, repeat(-1)) if self.kind == "string" else map(code, self.data)
            codes = np.fromiter(found, dtype=np.int32, count=len(self.data))
            if self.kind == "string" and (rest := codes < 0).any():
                codes[rest] = [*map(code, self.data[rest])]
        else:
            codes = _match_numbers(self.data, code_of, unknown, missing)
        if self.absent is not None:
            codes[self.absent] = missing
        return codes


def is_missing(value: Any) -> bool:
    """Whether a Python value stands for no value: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        if type(value) in _PLAIN:
            return bool(value != value)
        with quietly():
            return bool(value != value)
    except Exception:
        return False


def _number(value: Any) -> float:
    try:
        if type(value) in _PLAIN:
            return float(value)
        if isinstance(value, np.ndarray | np.complexfloating):
            return nan  # NumPy would convert only a part of it
        with quietly():
            return float(value)
    except Exception:  # as above: whatever is not a number counts as missing
        return nan


@contextmanager
def quietly() -> Iterator[None]:
    """Let no warning out, since it would reveal something about a value.

    Warning filters belong to the whole process, so this is for odd values only.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@np.errstate(all="ignore")  # a signalling NaN warns when it is compared or cast
def _match_numbers(
    data: npt.NDArray[Any], code_of: dict[Category, int], unknown: int, missing: int
) -> npt.NDArray[np.int32]:
    """Match a whole array at once. Only categories that the dtype can hold can match (floats up to their precision)."""
    if data.dtype.kind == "b":
        data = data.view(np.uint8)
    numeric = {category: code for category, code in code_of.items() if not isinstance(category, str)}
    if data.dtype.kind == "f":
        fits = {category: code for category, code in numeric.items() if float(category) == category}
    else:
        limits = np.iinfo(data.dtype)
        fits = {
            int(category): code
            for category, code in numeric.items()
            if category == int(category) and limits.min <= category <= limits.max
        }
    keys, first = np.unique(np.array(list(fits), dtype=data.dtype), return_index=True)
    key_codes = np.array(list(fits.values()), dtype=np.int32)[first]
    if len(keys) == 0:
        codes = np.full(len(data), unknown, dtype=np.int32)
    elif data.dtype.kind in "iu" and data.dtype.isnative and int(keys[-1]) - int(keys[0]) < _MOST_TABLE_ENTRIES:
        codes = _look_up(data, keys, key_codes, unknown)
    else:
        place = np.minimum(np.searchsorted(keys, data), len(keys) - 1)
        codes = np.where(keys[place] == data, key_codes[place], np.int32(unknown))
    if data.dtype.kind == "f":
        codes[np.isnan(data)] = missing
    return codes


def _look_up(
    data: npt.NDArray[Any], keys: npt.NDArray[Any], key_codes: npt.NDArray[np.int32], unknown: int
) -> npt.NDArray[np.int32]:
    """Match integers by a table from the smallest key to the largest, with one more entry for all other values."""
    unsigned = np.dtype(f"u{data.dtype.itemsize}")
    # Differences wrap around within the unsigned type, so values below the smallest key come out large.
    keys = keys.view(unsigned)
    offsets = (keys - keys[0]).astype(np.int64)
    table = np.full(int(offsets[-1]) + 2, unknown, dtype=np.int32)
    table[offsets] = key_codes
    beyond = np.uint64(len(table) - 1)
    codes = np.empty(len(data), dtype=np.int32)
    for start in range(0, len(data), _ROWS_LOOKED_UP_AT_ONCE):
        rows = slice(start, start + _ROWS_LOOKED_UP_AT_ONCE)
        place = np.minimum((data[rows].view(unsigned) - keys[0]).astype(np.uint64, copy=False), beyond)
        table.take(place.view(np.int64), out=codes[rows], mode="clip")
    return codes


def category_dtype_problem(what: str, categories: tuple[Category, ...], values: Values) -> str | None:
    """Why no value of this dtype can ever equal a category, and the remedy; None if some value can."""
    strings = sum(isinstance(category, str) for category in categories)
    if values.kind in ("unsupported", "date"):
        return f"{what} has dtype {values.dtype}, which no category can equal; convert it to strings or numbers"
    if values.kind in ("number", "bool") and strings == len(categories):
        return (
            f"{what} has dtype {values.dtype}, but its categories are strings; "
            "convert it to strings, or list the categories as numbers"
        )
    if values.kind == "string" and strings == 0:
        return (
            f"{what} has dtype {values.dtype}, but its categories are numbers; "
            "convert it to numbers, or list the categories as strings"
        )
    return None
