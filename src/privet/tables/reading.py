"""From what users pass to ``fit`` to an encoded table: a frame is encoded here, record by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.frames.columns import quietly
from privet.frames.opening import open_frame
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables.described import Described, Job
from privet.tables.memory import MemoryTable
from privet.tables.piecewise import Reading
from privet.tables.protocol import Table
from privet.tables.units import bound_rows, read_units

# Objects of other libraries that are tables as they are: by the module that their class begins with, its name, and the
# adapter that describes them. Nothing is imported before such an object is seen.
ADAPTERS: dict[tuple[str, str], str] = {
    ("polars", "LazyFrame"): "privet.tables.streams:LazyFrameTable",
    ("pyarrow", "Dataset"): "privet.tables.streams:DatasetTable",
    ("pyarrow", "RecordBatchReader"): "privet.tables.streams:ReaderTable",
    ("duckdb", "DuckDBPyRelation"): "privet.tables.duckdb_table:DuckDBTable",
    ("_duckdb", "DuckDBPyRelation"): "privet.tables.duckdb_table:DuckDBTable",
    ("dask", "DataFrame"): "privet.tables.dask_table:DaskTable",
    ("pyspark", "DataFrame"): "privet.tables.spark_table:SparkTable",
}


def described(X: Any, y: Any) -> Described | None:
    """Return the description of a table, with its target; None for a frame in memory."""
    table = X if isinstance(X, Described) else adapted(X)
    if table is None:
        return None
    return table if y is None else table.with_target(y)


def declared_accounts(schema: Any, X: Any) -> tuple[str, ...]:
    """Return the accounts to which work on some records is charged: those that their own schemas name.

    *Privacy.* A table is about certain people, so the account that its schema names is charged also where an estimator
    has a schema of its own.
    """
    of_table = X.schema if isinstance(X, Described) else None
    named = [each.budget for each in (schema, of_table) if isinstance(each, Schema) and each.budget is not None]
    return tuple(dict.fromkeys(named))


def adapted(X: Any) -> Described | None:
    """Describe an object of another library that is a table as it is; None if it is not."""
    for kind in type(X).__mro__:
        adapter = ADAPTERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if adapter is not None:
            module, _, name = adapter.partition(":")
            made: Described = getattr(import_module(module), name)(X)
            return made
    return None


def encode_table(
    schema: Schema,
    encoding: Encoding,
    X: Any,
    y: Any,
    key: Callable[[], bytes],
    n_jobs: int = 1,
    one_pass: bool = False,
) -> Table:
    """Encode features and labels; leave out records without a label, and rows of a unit beyond its maximum.

    `key` draws a fresh secret key, which decides which rows of a unit stay. `X` may be a described table, which has its
    own target; a table for `one_pass` may read its records later, when they are first asked for.
    """
    if isinstance(X, Described):
        return _make_table(X, schema, encoding, key, n_jobs, one_pass)
    if y is None:
        raise SchemaError("fit() needs the labels: pass them as the second argument, fit(X, y)")
    X = of_width(X, encoding.n_features)
    codes, target = encoding.encode(X, ignore=schema.named_columns), encoding.encode_target(y)
    if codes.shape[1] != len(target):
        raise SchemaError("X and y differ in length: pass one label for each record")
    if schema.unit is not None:
        units = read_units(open_frame(X).named(schema.unit.column))
        kept = bound_rows(units, codes, target, schema.unit.max_rows, key())
        rows = np.flatnonzero(kept).astype(np.uint64)
        return MemoryTable(encoding, np.ascontiguousarray(codes[:, kept]), target[kept], n_jobs=n_jobs, rows=rows)
    return MemoryTable(encoding, codes, target, n_jobs=n_jobs)


def _make_table(
    X: Described, schema: Schema, encoding: Encoding, key: Callable[[], bytes], n_jobs: int, one_pass: bool
) -> Table:
    """Return the encoded table that a description stands for."""
    if X.schema is not None and X.schema != schema:
        raise SchemaError(
            "the table's schema is not that of the estimator; give both the same, or only one of them a schema"
        )
    target = schema.target_column if X.target is None else X.target
    if target is None:
        raise SchemaError("fit() needs to know the target: name its column, fit(table, 'column')")
    reading = Reading(encoding, target, schema.unit, X.id, b"" if schema.unit is None else key())
    return X.encoded(Job(reading, n_jobs, one_pass))


def closing_afterwards(table: Table) -> AbstractContextManager[object]:
    """Return a context at whose end the table gives back its memory and files, if it has any to give back."""
    close = getattr(table, "close", None)
    return nullcontext() if close is None else _Closing(close)


class _Closing(AbstractContextManager[None]):
    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close

    def __exit__(self, *_: object) -> None:
        self._close()


def of_width(X: Any, width: int) -> Any:
    """Turn a list of rows into an array with `width` columns; return anything else as it is.

    *Privacy.* An empty list has no width, and a row of another length depends on a single record, so neither raises an
    error. All values of a row of another length count as missing.
    """
    if isinstance(X, np.ndarray) and X.shape in ((0,), (0, 0)):
        return np.empty((0, width), dtype=X.dtype)
    if not isinstance(X, list | tuple):
        return X
    array = np.full((len(X), width), None, dtype=object)
    for i, cells in enumerate(map(_cells, X)):
        if len(cells) == width:
            for j, value in enumerate(cells):
                array[i, j] = value
    return array


def _cells(row: Any) -> Sequence[Any]:
    if type(row) in (list, tuple):
        return row  # type: ignore[no-any-return]  # just seen to be one
    try:
        with quietly():
            return [] if isinstance(row, str) else list(row)
    except Exception:  # not a row at all
        return []
