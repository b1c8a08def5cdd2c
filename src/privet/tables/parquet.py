"""Parquet files, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from privet.errors import SchemaError, TableChangedError
from privet.tables.files import DataFile
from privet.tables.partitions import constant_columns, with_constants
from privet.tables.piecewise import Declared, Reading
from privet.tables.source import Layout

# A column's pages are read through a buffer of this size, not a whole row group's at once: row groups may be large.
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file: a piece of a table that can be pickled, and read again and again."""

    file: DataFile
    number: int
    n_groups: int
    n_rows: int
    columns: tuple[str, ...]
    declared: Declared

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.file.path

    def batches(self, most_rows: int) -> Iterator[Any]:
        """Read the records as Arrow tables."""
        self.file.check()
        pa: Any = import_module("pyarrow")
        constants = constant_columns(self.file, self.declared)
        stored = [name for name in self.columns if name not in constants]
        with _opened(self.file) as file:
            if file.num_row_groups != self.n_groups or file.metadata.row_group(self.number).num_rows != self.n_rows:
                raise TableChangedError(f"{self.file.path} was changed since the fit began; fit again")
            for batch in file.iter_batches(most_rows, [self.number], stored, use_threads=False):
                yield with_constants(pa.Table.from_batches([batch]), constants)
        self.file.check()  # it may have been changed while it was read


@dataclass(frozen=True)
class ParquetFooter:
    """What a file says about itself, before any record is read."""

    file: DataFile
    layout: Layout
    group_rows: tuple[int, ...]

    def row_groups(self, reading: Reading) -> Iterator[RowGroup]:
        """Yield the file's row groups, in order."""
        named = {name for name, _ in self.file.partition}
        declared = {name: how for name, how in reading.declared.items() if name in named}
        for number, n_rows in enumerate(self.group_rows):
            yield RowGroup(self.file, number, len(self.group_rows), n_rows, reading.columns, declared)


def read_footer(file: DataFile, declared: Declared) -> ParquetFooter:
    """Read a file's footer: its columns with their types, and the sizes of its row groups."""
    with _opened(file) as opened:
        empty = with_constants(opened.schema_arrow.empty_table(), constant_columns(file, declared))
        metadata = opened.metadata
        groups = tuple(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
    return ParquetFooter(file, Layout(file.path, empty), groups)


@contextmanager
def _opened(file: DataFile) -> Iterator[Any]:
    pq: Any = import_module("pyarrow.parquet")
    try:
        stream = file.filesystem.open_input_file(file.path)
    except FileNotFoundError:
        raise TableChangedError(f"{file.path} is gone since the fit began; fit again") from None
    with stream:
        try:
            opened = pq.ParquetFile(stream, buffer_size=_BUFFER_BYTES)
        except (OSError, ValueError) as error:  # what PyArrow raises for a damaged footer
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise SchemaError(
                f"{file.path}: this is not a readable Parquet file ({type(error).__name__}); repair it"
            ) from error
        yield opened
