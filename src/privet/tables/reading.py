"""Encoding a frame and its labels into a table, record by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.frames.columns import quietly
from privet.frames.opening import open_frame
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables.described import Described, make_table
from privet.tables.memory import MemoryTable
from privet.tables.protocol import Table
from privet.tables.units import bound_rows, read_units


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
        return make_table(X, schema, encoding, key, n_jobs, one_pass)
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
