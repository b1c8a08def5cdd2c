"""What is in one file: Parquet by row groups; CSV, Feather and ORC as a whole. All are read in batches."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from privet.errors import SchemaError, TableChangedError
from privet.frames.text import read_text
from privet.tables.files import DataFile
from privet.tables.partitions import constant_columns, with_constants
from privet.tables.piecewise import Declared, Reading
from privet.tables.source import Layout, Piece

# A column's pages are read through a buffer of this size, not a whole row group's at once: row groups may be large.
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class OpenedFile:
    """What a file says about itself, before any record is read."""

    layout: Layout
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class RowGroup:
    """One row group of a Parquet file: a piece of a table that can be pickled, and read again and again."""

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
        with _parquet(self.file) as opened:
            if opened.num_row_groups != self.n_groups or opened.metadata.row_group(self.number).num_rows != self.n_rows:
                raise _changed(self.file)
            stored = [name for name in self.columns if name in opened.schema_arrow.names]
            for batch in opened.iter_batches(most_rows, [self.number], stored, use_threads=False):
                yield with_constants(pa.Table.from_batches([batch]), constants)
        self.file.check()  # it may have been changed while it was read


@dataclass(frozen=True)
class WholeFile:
    """A file of another format: a piece that can be pickled, and read again and again."""

    file: DataFile
    n_rows: int | None
    columns: tuple[str, ...]
    declared: Declared

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.file.path

    def batches(self, most_rows: int) -> Iterator[Any]:
        """Read the records as Arrow tables; those of a CSV file as pandas frames, each column read as declared."""
        self.file.check()
        pa: Any = import_module("pyarrow")
        constants, n_rows = constant_columns(self.file, self.declared), 0
        with _readable(self.file):
            dataset = _dataset(self.file)
            stored = [name for name in self.columns if name in dataset.schema.names]
            scanner = dataset.scanner(stored, batch_size=most_rows, use_threads=False, batch_readahead=1)
            for batch in scanner.to_batches():
                n_rows += len(batch)
                table = with_constants(pa.Table.from_batches([batch]), constants)
                yield _as_declared(table, self.declared) if self.file.format == "csv" else table
        self.file.check()
        if self.n_rows not in (None, n_rows):
            raise _changed(self.file)


def open_file(file: DataFile, reading: Reading) -> OpenedFile:
    """Read what a file says about itself: its columns with their types, and its pieces.

    Raises
    ------
    SchemaError
        If the file is damaged, with its name.
    """
    named = {name for name, _ in file.partition}
    declared = reading.declared
    of_folders = {name: how for name, how in declared.items() if name in named}
    constants = constant_columns(file, declared)
    if file.format == "parquet":
        with _parquet(file) as opened:
            empty = with_constants(opened.schema_arrow.empty_table(), constants)
            groups = [opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)]
        pieces = [
            RowGroup(file, number, len(groups), n_rows, reading.columns, of_folders)
            for number, n_rows in enumerate(groups)
        ]
        return OpenedFile(Layout(file.path, empty), pieces)
    with _readable(file):
        dataset = _dataset(file)
        empty = with_constants(dataset.schema.empty_table(), constants)
        if file.format == "csv":
            whole = WholeFile(file, None, reading.columns, declared)
            return OpenedFile(Layout(file.path, _as_declared(empty, declared)), [whole])
        n_rows = dataset.count_rows()
    return OpenedFile(Layout(file.path, empty), [WholeFile(file, n_rows, reading.columns, of_folders)])


@contextmanager
def _parquet(file: DataFile) -> Iterator[Any]:
    pq: Any = import_module("pyarrow.parquet")
    with _readable(file), file.filesystem.open_input_file(file.path) as stream:
        yield pq.ParquetFile(stream, buffer_size=_BUFFER_BYTES)


@contextmanager
def _readable(file: DataFile) -> Iterator[None]:
    """Name the file where PyArrow cannot read it. What PyArrow itself says may quote the file, and is not repeated."""
    try:
        yield
    except FileNotFoundError:
        raise TableChangedError(f"{file.path} is gone since the fit began; fit again") from None
    except (OSError, ValueError, NotImplementedError) as error:
        if isinstance(error, SchemaError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise SchemaError(
            f"{file.path}: this is not a readable {file.format} file ({type(error).__name__}); repair it"
        ) from error


def _dataset(file: DataFile) -> Any:
    ds: Any = import_module("pyarrow.dataset")
    if file.format == "csv":
        return ds.dataset(file.path, filesystem=file.filesystem, format=_csv_format(file))
    return ds.dataset(file.path, filesystem=file.filesystem, format=file.format)


def _csv_format(file: DataFile) -> Any:
    """Read every column as text, an empty cell as missing; leave out rows with too few or too many cells."""
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.csv")
    ds: Any = import_module("pyarrow.dataset")
    with file.filesystem.open_input_file(file.path) as stream:
        names = next(csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")), [])
    if len(set(names)) < len(names) or not names:
        raise SchemaError(f"{file.path}: its first line does not name each column once; give the file a header")
    text = pc.ConvertOptions(
        check_utf8=False,
        column_types={name: pa.string() for name in names},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    parse = pc.ParseOptions(newlines_in_values=True, invalid_row_handler=_skip)
    return ds.CsvFileFormat(parse_options=parse, convert_options=text)


def _skip(_: Any) -> str:
    return "skip"


def _as_declared(table: Any, declared: Declared) -> Any:
    pa: Any = import_module("pyarrow")
    try:
        frame = table.to_pandas()
    # Cells that are not UTF-8 stand for unknown values, as they do in other formats. Which error they raise here is a
    # matter of pandas' version.
    except (UnicodeDecodeError, pa.ArrowException):
        frame = table.cast(_binary(table.schema)).to_pandas().map(_decoded)
    texts = {
        name: frame[name] for name in frame.columns if name in declared and table.schema.field(name).type == "string"
    }
    return frame.assign(**{name: read_text(column, declared[name]) for name, column in texts.items()})


def _binary(schema: Any) -> Any:
    pa: Any = import_module("pyarrow")
    return pa.schema([pa.field(each.name, pa.binary() if each.type == "string" else each.type) for each in schema])


def _decoded(cell: Any) -> Any:
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell


def _changed(file: DataFile) -> TableChangedError:
    return TableChangedError(f"{file.path} was changed since the fit began; fit again")
