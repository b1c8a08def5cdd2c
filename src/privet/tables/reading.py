"""From what users pass to ``fit`` to an encoded table.

A frame is encoded here, record by record, and becomes the table in memory: contiguous arrays, worked on in blocks by
plain threads. Any other table is described, and reads itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.frames.columns import quietly
from privet.frames.opening import open_frame
from privet.privacy.terms import Terms
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables.described import Described, Job
from privet.tables.piecewise import Reading
from privet.tables.protocol import Block, IntArray, Kernel, Table
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
    private: bool = True,
) -> Table:
    """Encode features and labels; leave out records without a label, and rows of a unit beyond its maximum.

    Where features are public (`Terms.features_are_public`), records without a known label stay, with a negative target:
    all neighbours then have the same records, and which of them have a label is as private as the labels. For a model
    that is not `private` they are left out there, too.

    `key` draws a fresh secret key, which decides which rows of a unit stay. `X` may be a described table, which has its
    own target; a table for `one_pass` may read its records later, when they are first asked for.
    """
    unlabelled = private and Terms.of(schema).features_are_public
    if isinstance(X, Described):
        return _make_table(X, schema, encoding, key, n_jobs, one_pass, unlabelled)
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
    return MemoryTable(encoding, codes, target, n_jobs=n_jobs, unlabelled=unlabelled)


def _make_table(
    X: Described,
    schema: Schema,
    encoding: Encoding,
    key: Callable[[], bytes],
    n_jobs: int,
    one_pass: bool,
    unlabelled: bool,
) -> Table:
    """Return the encoded table that a description stands for."""
    if X.schema is not None and X.schema != schema:
        raise SchemaError(
            "the table's schema is not that of the estimator; give both the same, or only one of them a schema"
        )
    target = schema.target_column if X.target is None else X.target
    if target is None:
        raise SchemaError("fit() needs to know the target: name its column, fit(table, 'column')")
    reading = Reading(
        encoding,
        target,
        schema.unit,
        X.id,
        b"" if schema.unit is None else key(),
        unlabelled=unlabelled,
    )
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


T = TypeVar("T")

# A block has at least this many rows, unless the table has fewer. Partial sums may be large arrays, so there is only
# one block per thread; kernels work in small pieces inside a block.
MIN_BLOCK_ROWS = 1 << 16


@lru_cache(maxsize=8)
def _threads(number: int) -> ThreadPoolExecutor:
    """Return a pool of threads. Pools are kept, because a learner passes over its table many times."""
    return ThreadPoolExecutor(number)


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not survive a fork


class MemoryTable:
    """Encoded records in memory.

    Parameters
    ----------
    encoding : Encoding
        How the records became codes.
    codes : array of shape (n_features, n_rows)
        The features' codes.
    target : int32 array of shape (n_rows,)
        The encoded target; records with a negative value (an unknown label) are left out, one by one.
    unlabelled : bool
        Whether they stay, with a negative target: where features are public, which records have a label is not.
    n_jobs : int
        Number of threads. Results do not depend on it: integers are added up.
    rows : uint64 array of shape (n_rows,), optional
        The identity of each record; by default its place.
    """

    def __init__(
        self,
        encoding: Encoding,
        codes: NDArray[np.unsignedinteger],
        target: NDArray[np.int32],
        *,
        n_jobs: int = 1,
        rows: NDArray[np.uint64] | None = None,
        unlabelled: bool = False,
    ) -> None:
        # A record is known by its place in the frame, whichever others are left out: made once for many passes.
        rows = np.arange(len(target), dtype=np.uint64) if rows is None else rows
        self.n_read = len(target)  # rows without a known label included
        known = target >= 0
        if not unlabelled and not known.all():
            codes, target, rows = np.ascontiguousarray(codes[:, known]), target[known], rows[known]
        self._encoding = encoding
        self._target = target
        self._n_jobs = n_jobs
        self._places = self._divided(len(target))
        # Each block is contiguous: compiled loops are slower over slices of a larger array.
        self._codes = [np.ascontiguousarray(codes[:, rows]) for rows in self._places]
        self._rows = rows
        self._states = [dict[str, NDArray[np.generic]]() for _ in self._places]

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self._encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks and add up its integers."""
        total: IntArray | None = None
        for part in self._map(lambda block: np.asarray(kernel(block), dtype=np.int64)):
            total = part if total is None else total + part
        assert total is not None
        return total

    def derive(self, name: str, kernel: Kernel) -> MemoryTable:
        """Return a table in which each record also has the kernel's value under `name`."""
        derived = object.__new__(MemoryTable)  # the records are shared, and were checked when this table was made
        derived.__dict__.update(self.__dict__)
        derived._states = [{**state, name: new} for state, new in zip(self._states, self._map(kernel), strict=True)]
        return derived

    def _map(self, function: Callable[[Block], T]) -> Iterator[T]:
        first, *others = self._blocks()
        if not others:
            yield function(first)
            return
        # The calling thread works on the first block itself: waking a thread is not cheap.
        elsewhere = [_threads(self._n_jobs - 1).submit(function, block) for block in others]
        yield function(first)
        for answer in elsewhere:
            yield answer.result()

    def _divided(self, n_rows: int) -> list[slice]:
        # A table without records still has one block, from which a kernel returns zeros of the right shape.
        length = max(MIN_BLOCK_ROWS, -(-n_rows // self._n_jobs))
        return [slice(start, min(start + length, n_rows)) for start in range(0, max(n_rows, 1), length)]

    def _blocks(self) -> Iterator[Block]:
        for rows, codes, state in zip(self._places, self._codes, self._states, strict=True):
            yield Block(codes, self._target[rows], self._rows[rows], state)

    def __repr__(self) -> str:
        return f"MemoryTable({self._encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")
