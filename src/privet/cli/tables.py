"""Data on the command line that need not fit into memory: folders, patterns, and queries to DuckDB.

Nothing of any record is read here, but where a function says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.console import note
from privet.cli.data import choose_target, say_unused
from privet.errors import ParameterError
from privet.frames.opening import open_frame
from privet.frames.text_forms import TextOptions

if TYPE_CHECKING:
    from privet.schema.check import SchemaFinding
    from privet.schema.schema import Schema
    from privet.tables.described import Described

QUERY = "duckdb:"
_STREAMED = (".feather", ".arrow", ".ipc", ".orc", ".pq")


def described_table(data: Sequence[str], options: TextOptions) -> Described | None:
    """Return a table that is streamed; None for text, office and single Parquet files, which are read into memory.

    How text files are read is said, once for each form.
    """
    from privet.tables import DuckDBTable, ParquetTable
    from privet.tables.file_formats import form_of
    from privet.tables.files import find_files

    if any(place.startswith(QUERY) for place in data):
        if len(data) > 1:
            raise ParameterError(f"give one query ({QUERY}SELECT ...) or files, not both")
        _refuse_form(options, "a query has no text files: say it to DuckDB, as in read_csv('people.csv', delim = ';')")
        return DuckDBTable(data[0].removeprefix(QUERY))
    if not any(map(is_streamed, data)):
        return None
    files, said = find_files(list(data)), set[str]()
    if files[0].format != "csv":
        _refuse_form(options, f"{files[0].format} files declare their form")
    for file in files if files[0].format == "csv" else ():
        words = form_of(file, options).in_words()
        if words not in said:
            said.add(words)
            note(f"privet: {file.path}: {words}")
    return ParquetTable(list(data), text=options)


def _refuse_form(options: TextOptions, why: str) -> None:
    if options.given:
        raise ParameterError(f"--separator, --encoding, --decimal and --na are for text files; {why}")


def check_streamed(table: Described, schema: Schema) -> list[SchemaFinding]:
    """Check all records, batch by batch; a finding is listed once. States facts about the records."""
    from privet.tables.piecewise import Reading

    found: dict[tuple[str, str], SchemaFinding] = {}
    unit = () if schema.unit is None else (schema.unit.column,)
    for frame in table.frames(Reading(schema.encoding(), table.target, also=unit)):
        for finding in schema.check(frame, table.target).findings:
            found.setdefault((finding.column, finding.kind), finding)
    return list(found.values())


def known_rows(table: Described | None) -> int | None:
    """Return how many records a streamed table has, for progress, if its files say so."""
    from privet.tables import ParquetTable

    return table.known_rows() if isinstance(table, ParquetTable) else None


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
