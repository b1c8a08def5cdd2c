"""What is in one file: Parquet by row groups; CSV, Feather and ORC as a whole. All are read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from privet.errors import SchemaError, TableChangedError
from privet.frames.text import read_cells
from privet.frames.text_forms import MOST_BYTES_OF_FIRST_LINE, TextForm, TextOptions, find_form
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
        pa: Any = import_module("pyarrow")
        constants = constant_columns(self.file, self.declared)
        with self._opened() as opened:
            stored = [name for name in self.columns if name in opened.schema_arrow.names]
            for batch in opened.iter_batches(most_rows, [self.number], stored, use_threads=False):
                yield with_constants(pa.Table.from_batches([batch]), constants)

    def some_columns(self, groups: Sequence[Sequence[str]]) -> Iterator[Any]:
        """Read all records, once for each group of columns, as Arrow tables with these columns."""
        constants = constant_columns(self.file, self.declared)
        with self._opened() as opened:
            names = set(opened.schema_arrow.names)
            for group in groups:
                stored = [name for name in group if name in names]
                table = opened.read_row_group(self.number, stored, use_threads=False)
                yield with_constants(table, {name: constants[name] for name in group if name in constants})

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file; an error, now or afterwards, unless it is the one that was found."""
        self.file.check()
        with _parquet(self.file) as opened:
            if opened.num_row_groups != self.n_groups or opened.metadata.row_group(self.number).num_rows != self.n_rows:
                raise _changed(self.file)
            yield opened
        self.file.check()  # it may have been changed while it was read


@dataclass(frozen=True)
class WholeFile:
    """A file of another format: a piece that can be pickled, and read again and again."""

    file: DataFile
    n_rows: int | None
    columns: tuple[str, ...]
    declared: Declared
    form: TextForm | None = None  # of a text file
    skip_odd_rows: bool = True  # which must not be an error where records are private

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
            dataset = _dataset(self.file, self.form, self.skip_odd_rows)
            stored = [name for name in self.columns if name in dataset.schema.names]
            scanner = dataset.scanner(stored, batch_size=most_rows, use_threads=False, batch_readahead=1)
            for batch in scanner.to_batches():
                n_rows += len(batch)
                table = with_constants(pa.Table.from_batches([batch]), constants)
                yield table if self.form is None else _as_declared(table, self.declared, self.form)
        self.file.check()
        if self.n_rows not in (None, n_rows):
            raise _changed(self.file)


def open_file(file: DataFile, reading: Reading, text: TextOptions) -> OpenedFile:
    """Read what a file says about itself: its columns with their types, and its pieces.

    What the user says of the form of text files is used for these alone.

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
        form = form_of(file, text) if file.format == "csv" else None
        dataset = _dataset(file, form)
        empty = with_constants(dataset.schema.empty_table(), constants)
        if form is not None:
            whole = WholeFile(file, None, reading.columns, declared, form, reading.target is not None)
            return OpenedFile(Layout(file.path, _as_declared(empty, declared, form)), [whole])
        n_rows = dataset.count_rows()
    return OpenedFile(Layout(file.path, empty), [WholeFile(file, n_rows, reading.columns, of_folders)])


def declared_columns(file: DataFile, *, records: bool = False) -> Any:
    """Return the columns of a file with declared types as an Arrow table: without its records, or with them."""
    with _readable(file):
        dataset = _dataset(file, None)
        return dataset.to_table() if records else dataset.schema.empty_table()


def file_rows(file: DataFile) -> int | None:
    """Return how many records a Parquet file says that it has; None for other formats."""
    if file.format != "parquet":
        return None
    with _parquet(file) as opened:
        return int(opened.metadata.num_rows)


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


def form_of(file: DataFile, text: TextOptions) -> TextForm:
    """Find out the form of a text file from its name and its first line."""
    with file.filesystem.open_input_stream(file.path) as stream:  # it unpacks by the file's name
        return find_form(Path(file.path), stream.read(MOST_BYTES_OF_FIRST_LINE), text)


def _dataset(file: DataFile, form: TextForm | None, skip_odd_rows: bool = True) -> Any:
    ds: Any = import_module("pyarrow.dataset")
    written = file.format if form is None else _csv_format(form, skip_odd_rows)
    return ds.dataset(file.path, filesystem=file.filesystem, format=written)


def _csv_format(form: TextForm, skip_odd_rows: bool) -> Any:
    """Read every column as text, an empty cell as missing; rows with too few or too many cells are left out."""
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.csv")
    ds: Any = import_module("pyarrow.dataset")
    text = pc.ConvertOptions(
        check_utf8=False,
        column_types={name: pa.string() for name in form.names},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    parse = pc.ParseOptions(
        delimiter=form.separator, newlines_in_values=True, invalid_row_handler=_skip if skip_odd_rows else None
    )
    read = pc.ReadOptions(encoding=form.forgiving_encoding)
    return ds.CsvFileFormat(parse_options=parse, convert_options=text, read_options=read)


def _skip(_: Any) -> str:
    return "skip"


def _as_declared(table: Any, declared: Declared, form: TextForm) -> Any:
    frame = table.to_pandas()
    texts = [name for name in frame.columns if name in declared and table.schema.field(name).type == "string"]
    return frame.assign(**{name: read_cells(frame[name], declared[name], form) for name in texts})


def _changed(file: DataFile) -> TableChangedError:
    return TableChangedError(f"{file.path} was changed since the fit began; fit again")
