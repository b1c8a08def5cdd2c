"""Reading one column of pandas, polars, PyArrow or NumPy into `Values`, by its declared type."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.frames.values import Kind, Values


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
        raise SchemaError(f"a column must have one dimension, got shape {array.shape}; pass one column at a time")
    absent = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    kinds: dict[str, Kind] = {"b": "bool", "i": "number", "u": "number", "f": "float", "O": "object"}
    kinds |= {"U": "string", "S": "string", "T": "string"}
    kind = kinds.get(array.dtype.kind, "unsupported")
    data = np.asarray(array, dtype=object if kind == "string" else None)
    return Values(kind, str(array.dtype), data, absent)


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
        absent = pc.is_null(column).to_numpy()
        if types.is_decimal(dtype) or types.is_float16(dtype):
            column = column.cast(pa.float64())
        filled = pc.fill_null(column, pa.scalar(0).cast(column.type))
        return replace(_from_numpy(filled.to_numpy()), dtype=name, absent=absent)
    return _unsupported(column, name)


def _from_dictionary(column: Any, kind: Kind, name: str) -> Values:
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
