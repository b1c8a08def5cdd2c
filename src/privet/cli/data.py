"""Reading tables: text files, Parquet, Excel and files of statistics programs, and folders of them, as pandas frames.

A text file declares no types. With a schema each column is read as the schema declares it, value by value, so that no
type and no error depends on a record.

A Parquet file declares its types, and they are kept: pandas' own would make floats of a column of integers as soon as
one of them is missing, and identifiers beyond 2^53 would coincide.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.console import note
from privet.cli.conversions import as_declared, as_they_look
from privet.cli.office_files import EXCEL_SUFFIXES, OFFICE_SUFFIXES, read_office
from privet.cli.text_files import PACKED_SUFFIXES, TEXT_SUFFIXES, read_text_file
from privet.errors import ParameterError, SchemaError
from privet.frames.opening import listed, open_frame
from privet.frames.text_forms import MISSING, MOST_COLUMNS, TextForm, TextOptions
from privet.progress import Counter
from privet.schema.domains import Domain
from privet.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

FOUND_OUT = TextOptions()


@dataclass(frozen=True)
class _Loaded:
    """Files of one table, each with its form if its cells are text."""

    parts: list[tuple[pd.DataFrame, TextForm | None]]

    @property
    def first(self) -> pd.DataFrame:
        return self.parts[0][0]

    def selected(self, columns: Sequence[str]) -> _Loaded:
        return _Loaded([(frame[list(columns)], form) for frame, form in self.parts])

    def declared(self, domains: dict[str, Domain]) -> pd.DataFrame:
        """All records, text converted as the schema declares."""
        texts = sum(len(frame.columns) for frame, form in self.parts if form is not None)
        count = Counter("columns", texts) if texts else None
        parts = []
        for frame, form in self.parts:
            parts.append(frame if form is None else as_declared(frame, domains, form, count))
        return _joined(parts)


def data_files(paths: Sequence[Path]) -> list[Path]:
    """Return the data files at the given paths; a folder stands for the data files in it, sorted by name."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if _is_data(file))
            if not inside:
                raise ParameterError(f"{path}: no .csv, .parquet or other data file in this folder")
            files += inside
        elif not path.exists():
            raise ParameterError(f"{path}: no such file or folder; check the path")
        elif not stat.S_ISREG(path.stat().st_mode):
            raise ParameterError(f"{path}: not a regular file but a pipe or device, which may never end; save it first")
        elif not _is_data(path):
            raise ParameterError(
                f"{path}: cannot tell the format; files end in .csv, .tsv, .txt (also .gz, .zip or .zst), .parquet, "
                f"{', '.join(OFFICE_SUFFIXES)}"
            )
        else:
            files.append(path)
    return files


def _is_data(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]] or [""]
    if suffixes[-1] in PACKED_SUFFIXES:
        return suffixes[-1] == ".zip" or suffixes[0] in TEXT_SUFFIXES
    return suffixes[-1] in (*TEXT_SUFFIXES, ".parquet", *OFFICE_SUFFIXES)


def read_features(
    paths: Sequence[Path], schema: Schema, options: TextOptions = FOUND_OUT
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the features for a prediction, and the columns that the schema lists as ignored, as far as there are any.

    A missing feature is an error; of further columns only the names are said.
    """
    loaded = _load(data_files(paths), options)
    open_frame(loaded.first).places(list(schema.feature_columns))
    unit = () if schema.unit is None else (schema.unit.column,)
    kept = [name for name in (*unit, *schema.ignored) if name in loaded.first.columns]
    say_unused(loaded.first, schema, None)
    ids = _joined([frame[kept] for frame, _ in loaded.parts])
    return loaded.selected(schema.feature_columns).declared(schema.features), ids


def read_labelled(
    paths: Sequence[Path], schema: Schema, target: str | None, options: TextOptions = FOUND_OUT, *, private: bool = True
) -> tuple[pd.DataFrame, str]:
    """Read features, unit and target; return them with the target's name. Further columns are dropped and named."""
    loaded = _load(data_files(paths), options, skip_long_rows=private)
    name = choose_target(loaded.first, schema, target)
    loaded = loaded.selected(_used(loaded.first, schema, name))
    return loaded.declared({**schema.features, name: schema.target}), name


def read_any(
    paths: Sequence[Path], schema: Schema, target: str | None, options: TextOptions = FOUND_OUT
) -> tuple[pd.DataFrame, str | None]:
    """Read whatever columns there are, for a check: any may be missing, including the target."""
    loaded = _load(data_files(paths), options)
    wanted = schema.target_column if target is None else target
    name = wanted if wanted in loaded.first.columns else None
    spare = _spare_columns(loaded.first, schema)
    if wanted is None and len(spare) == 1:
        name = spare[0]
    domains = schema.features if name is None else {**schema.features, name: schema.target}
    return loaded.selected(_used(loaded.first, schema, name)).declared(domains), name or wanted


def read_undeclared(
    paths: Sequence[Path], rows: int | None = None, options: TextOptions = FOUND_OUT
) -> tuple[pd.DataFrame, bool]:
    """Read files without a schema; also return whether types had to be guessed from values, as in a text file."""
    loaded = _load(data_files(paths)[: None if rows is None else 1], options, rows)
    guessed = any(form is not None for _, form in loaded.parts)
    return _joined([f if form is None else as_they_look(f, form) for f, form in loaded.parts]), guessed


def say_unused(frame: Any, schema: Schema, target: str | None) -> None:
    """Say which columns are not used, unless the schema lists them as ignored."""
    spare = [name for name in _spare_columns(frame, schema) if name != target]
    if spare:
        note(f"privet: the schema does not name these columns, so they are ignored: {listed(spare)}")


def _used(frame: pd.DataFrame, schema: Schema, target: str | None) -> list[str]:
    """Return the columns that are used; say which ones are not, unless the schema lists them as ignored."""
    say_unused(frame, schema, target)
    unused = {name for name in _spare_columns(frame, schema) if name != target} | set(schema.ignored)
    return [name for name in frame.columns if name not in unused]


def _spare_columns(frame: Any, schema: Schema) -> list[str]:
    """Return the columns that the schema does not name."""
    return list(open_frame(frame).unnamed(schema.named_columns))


def choose_target(frame: Any, schema: Schema, named: str | None) -> str:
    """Return the column to predict: the one named here or in the schema, or the only one that the schema leaves."""
    opened = open_frame(frame)
    # A misspelt feature is reported first, since it is what makes the choice of the target ambiguous.
    opened.places(list(schema.feature_columns))
    named = schema.target_column if named is None else named
    if named is not None:
        opened.named(named)
        return named
    spare = _spare_columns(frame, schema)
    if len(spare) == 1:
        return spare[0]
    if not spare:
        raise SchemaError("every column is a feature or the unit, none is left to predict; name it with --target")
    raise SchemaError(
        f"these columns are not features: {listed(spare)}; say which one to predict with --target, or write "
        "target_column into the schema"
    )


def import_pandas() -> Any:
    """Import pandas, or say how to get it."""
    absent = [package for package in ("pandas", "pyarrow") if find_spec(package) is None]
    if absent:
        raise ParameterError(f"reading tables needs {' and '.join(absent)}; pip install {' '.join(absent)}")
    import pandas

    return pandas


def _load(files: list[Path], options: TextOptions, rows: int | None = None, *, skip_long_rows: bool = False) -> _Loaded:
    """Read files of one table; say once for each form of text how it is read."""
    import_pandas()
    parts: list[tuple[pd.DataFrame, TextForm | None]] = []
    said: set[str] = set()
    for file in files:
        frame, form = _read(file, options, rows, skip_long_rows)
        if parts and _kind(file) != _kind(files[0]):
            raise ParameterError(f"{file} and {files[0]} differ in format; give files of one format")
        if parts and set(frame.columns) != set(parts[0][0].columns):
            raise SchemaError(f"{file}: its columns differ from those of {files[0]}; give files of one table")
        if form is not None and form.in_words() not in said and _kind(file) == "text":
            said.add(form.in_words())
            note(f"privet: {file}: {form.in_words()}")
        parts.append((frame, form))
    return _Loaded(parts)


def _kind(file: Path) -> str:
    suffix = file.suffix.lower()
    return "text" if suffix in (*TEXT_SUFFIXES, *PACKED_SUFFIXES) else suffix


def _read(file: Path, options: TextOptions, rows: int | None, skip_long_rows: bool) -> tuple[pd.DataFrame, Any]:
    suffix = file.suffix.lower()
    if suffix in EXCEL_SUFFIXES:
        frame = read_office(file, rows)
        na = MISSING if options.na is None else options.na
        form: TextForm | None = TextForm("\t", "utf-8", options.decimal or "", na, tuple(frame.columns))
    elif suffix in OFFICE_SUFFIXES:
        frame, form = read_office(file, rows), None
    elif suffix == ".parquet":
        frame, form = _read_parquet(file), None
    else:
        frame, form = read_text_file(file, options, rows, skip_long_rows=skip_long_rows)
    if len(frame.columns) > MOST_COLUMNS:
        raise SchemaError(f"{file}: more than {MOST_COLUMNS:,} columns; keep those that are to be used")
    return frame, form


def _read_parquet(file: Path) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = import_pandas().read_parquet(file, dtype_backend="pyarrow")
    except (ValueError, OSError) as error:  # what PyArrow raises for files that it cannot read
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise SchemaError(f"{file}: this is not a readable Parquet file ({type(error).__name__}); repair it") from error
    return frame


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    for name in frames[0].columns:
        if len({str(frame[name].dtype) for frame in frames}) > 1:  # put together as they are: a common type would round
            frames = [frame.astype({name: object}) for frame in frames]
    whole: pd.DataFrame = frames[0] if len(frames) == 1 else import_pandas().concat(frames, ignore_index=True)
    return whole
