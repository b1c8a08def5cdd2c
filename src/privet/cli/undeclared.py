"""Data without a schema: what a draft is made from.

Of files and queries that declare types no record is read; of text files the first records, whose form shows the types.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.conversions import as_they_look
from privet.cli.data import read_undeclared
from privet.cli.tables import described_table
from privet.frames.text_forms import MISSING, TextForm, TextOptions

if TYPE_CHECKING:
    import pandas as pd

    from privet.tables.files import DataFile


def undeclared_columns(data: Sequence[str], rows: int, options: TextOptions) -> tuple[pd.DataFrame, bool]:
    """Return a frame for a draft, and whether types had to be guessed from values.

    What stands in the names of folders is looked at in all of them.

    Parameters
    ----------
    data : sequence of str
        Files, folders, patterns, or a query.
    rows : int
        The most records of a text file to be read.
    options : TextOptions
        What the user says of text files.
    """
    from privet.tables.duckdb_table import DuckDBTable
    from privet.tables.file_formats import declared_columns
    from privet.tables.files import find_files

    table = described_table(data, options)
    if table is None:
        return read_undeclared([Path(place) for place in data], rows, options)
    if isinstance(table, DuckDBTable):
        return _typed(table.layout().empty), False
    files = find_files(list(data))
    if files[0].format == "csv":
        frame, guessed = read_undeclared([Path(files[0].path)], rows, options)
    else:
        frame, guessed = _typed(declared_columns(files[0])), False
    said = {name: [dict(file.partition).get(name) for file in files] for name in _named_by_folders(files)}
    looks = _as_it_looks({name: texts for name, texts in said.items() if name not in frame.columns})
    return frame.assign(**{str(name): column.reindex(frame.index) for name, column in looks.items()}), guessed


def undeclared_records(data: Sequence[str], options: TextOptions) -> pd.DataFrame:
    """Read all records, for a schema that is read off the data; *nothing about it is private*."""
    import pandas

    from privet.tables.duckdb_table import DuckDBTable
    from privet.tables.file_formats import declared_columns
    from privet.tables.files import find_files

    table = described_table(data, options)
    if table is None:
        return read_undeclared([Path(place) for place in data], None, options)[0]
    if isinstance(table, DuckDBTable):
        batches = table.read(table.layout().empty.column_names, 1 << 16)
        whole: pd.DataFrame = pandas.concat([batch.to_pandas() for batch in batches], ignore_index=True)
        return whole
    files = find_files(list(data))
    if files[0].format == "csv":
        parts = [read_undeclared([Path(file.path)], None, options)[0] for file in files]
    else:
        parts = [declared_columns(file, records=True).to_pandas() for file in files]
    for name in _named_by_folders(files):
        if name not in parts[0].columns:
            texts = [dict(file.partition).get(name) for file in files]
            looks = _as_it_looks({name: texts})[name]
            parts = [part.assign(**{name: looks.iloc[place]}) for place, part in enumerate(parts)]
    return pandas.concat(parts, ignore_index=True)


def _typed(table: Any) -> pd.DataFrame:
    """Return an Arrow table as a pandas frame that keeps its types: pandas' own know no dates."""
    import pandas

    frame: pd.DataFrame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    return frame


def _named_by_folders(files: Sequence[DataFile]) -> list[str]:
    return list(dict.fromkeys(name for file in files for name, _ in file.partition))


def _as_it_looks(texts: dict[str, list[str | None]]) -> pd.DataFrame:
    import pandas

    frame = pandas.DataFrame({name: pandas.Series(column, dtype=object) for name, column in texts.items()})
    return as_they_look(frame, TextForm(",", "utf-8", ".", MISSING, tuple(texts)))
