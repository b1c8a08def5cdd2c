"""Data on the command line that need not fit into memory: folders, patterns, and queries to DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.data import choose_target, say_unused
from privet.errors import ParameterError
from privet.frames.opening import open_frame

if TYPE_CHECKING:
    from privet.schema.schema import Schema
    from privet.tables.described import Described

QUERY = "duckdb:"
_STREAMED = (".feather", ".arrow", ".ipc", ".orc", ".pq")


def described_table(data: Sequence[str]) -> Described | None:
    """Return a table that is streamed; None for text, office and single Parquet files, which are read into memory."""
    from privet.tables import DuckDBTable, ParquetTable

    if any(place.startswith(QUERY) for place in data):
        if len(data) > 1:
            raise ParameterError(f"give one query ({QUERY}SELECT ...) or files, not both")
        return DuckDBTable(data[0].removeprefix(QUERY))
    if any(map(is_streamed, data)):
        return ParquetTable(list(data))
    return None


def with_target(table: Described, schema: Schema, target: str | None) -> Described:
    """Find the column to predict, and say which columns are ignored. Nothing of any record is read."""
    empty = table.columns(schema)
    name = choose_target(empty, schema, target)
    say_unused(empty, schema, name)
    return table.with_target(name)


def read_target(table: Described, estimator: Any) -> Any:
    """Read the target of all records, in order."""
    import numpy as np

    from privet.frames.columns import read_values
    from privet.tables.piecewise import Reading

    frames = table.frames(Reading(estimator.model_.encoding, table.target))
    parts = [read_values(open_frame(frame).named(table.target or "")).objects() for frame in frames]
    return np.concatenate([np.zeros(0, dtype=object), *parts])


def is_streamed(place: str) -> bool:
    """Whether data is streamed: a query, a pattern, Feather and ORC files, and folders but those of texts."""
    path = Path(place)
    if path.is_dir():
        inside = [file.suffix.lower() for file in path.iterdir() if file.is_file() and not file.name.startswith("_")]
        return all(suffix in (".parquet", *_STREAMED) for suffix in inside)
    is_pattern = has_magic(place) and not path.exists()
    return is_pattern or "://" in place or path.suffix.lower() in _STREAMED
