"""Reading tables: CSV files, Parquet files, and folders of them, as pandas frames.

A CSV file declares no types. With a schema each column is read as the schema declares it, value by value, so that no
type and no error depends on a record. An empty cell is missing, and nothing else is: "NA" is a string. A row with more
cells than there are columns is left out, one with fewer lacks its last values; bytes that are not UTF-8 are escaped.
The only record that is not read by itself is one that opens a quotation and does not close it: CSV has no other end
for it than the next quotation mark, or none, and then the file is not readable.

A Parquet file declares its types, and they are kept: pandas' own would make floats of a column of integers as soon as
one of them is missing, and identifiers beyond 2^53 would coincide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.console import note
from privet.errors import ParameterError, SchemaError
from privet.frames.opening import listed, open_frame
from privet.frames.text import read_text
from privet.schema.category_domains import Boolean, Hashed
from privet.schema.domains import Categorical, Domain
from privet.schema.schema import Schema
from privet.schema.whole_domains import Date

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the data files at the given paths; a folder stands for its CSV and Parquet files, sorted by name."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
            if not inside:
                raise ParameterError(f"{path}: no .csv or .parquet file in this folder")
            files += inside
        elif not path.exists():
            raise ParameterError(f"{path}: no such file or folder; check the path")
        elif path.suffix.lower() not in SUFFIXES:
            raise ParameterError(f"{path}: cannot tell the format; files end in .csv or .parquet")
        else:
            files.append(path)
    return files


def read_features(paths: Sequence[Path], schema: Schema) -> pd.DataFrame:
    """Read the features for a prediction. Further columns are ignored; a missing feature is an error."""
    frame, is_csv = _read_all(find_files(paths))
    open_frame(frame).places(list(schema.feature_columns))
    _selected(frame, schema, None)
    features = frame[list(schema.feature_columns)]
    return _as_declared(features, schema.features) if is_csv else features


def read_labelled(paths: Sequence[Path], schema: Schema, target: str | None) -> tuple[pd.DataFrame, str]:
    """Read features, unit and target; return them with the target's name. Further columns are dropped and named."""
    frame, is_csv = _read_all(find_files(paths))
    name = _target_column(frame, schema, target)
    frame = _selected(frame, schema, name)
    return (_as_declared(frame, {**schema.features, name: schema.target}) if is_csv else frame), name


def read_any(paths: Sequence[Path], schema: Schema, target: str | None) -> tuple[pd.DataFrame, str | None]:
    """Read whatever columns there are, for a check: any may be missing, including the target."""
    frame, is_csv = _read_all(find_files(paths))
    wanted = schema.target_column if target is None else target
    name = wanted if wanted in frame.columns else None
    spare = _spare_columns(frame, schema)
    if wanted is None and len(spare) == 1:
        name = spare[0]
    frame = _selected(frame, schema, name)
    domains = schema.features if name is None else {**schema.features, name: schema.target}
    return (_as_declared(frame, domains) if is_csv else frame), name or wanted


def read_undeclared(paths: Sequence[Path], rows: int | None = None) -> tuple[pd.DataFrame, bool]:
    """Read files without a schema; also return whether types had to be guessed from values, as in a CSV file."""
    frame, is_csv = _read_all(find_files(paths), rows)
    return (_guess_types(frame) if is_csv else frame), is_csv


def _selected(frame: pd.DataFrame, schema: Schema, target: str | None) -> pd.DataFrame:
    """Drop the columns that are not used; say which ones, unless the schema lists them as ignored."""
    spare = [name for name in _spare_columns(frame, schema) if name != target]
    if spare:
        note(f"privet: the schema does not name these columns, so they are ignored: {listed(spare)}")
    unused = {*spare, *schema.ignored}
    return frame[[name for name in frame.columns if name not in unused]]


def _spare_columns(frame: Any, schema: Schema) -> list[str]:
    """Return the columns that the schema does not name."""
    return list(open_frame(frame).unnamed(schema.named_columns))


def _target_column(frame: Any, schema: Schema, named: str | None) -> str:
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
        raise ParameterError(f"reading tables needs {' and '.join(absent)}; pip install 'privet[frames]'")
    import pandas

    return pandas


def _read_all(files: list[Path], rows: int | None = None) -> tuple[pd.DataFrame, bool]:
    """Read files of one table into one frame, with CSV columns as strings; also return whether it is CSV."""
    pandas = import_pandas()
    is_csv = files[0].suffix.lower() == ".csv"
    frames = [_read(file, rows) for file in files]
    for file, frame in zip(files[1:], frames[1:], strict=True):
        if (file.suffix.lower() == ".csv") != is_csv:
            raise ParameterError(f"{file} and {files[0]} differ in format; give files of one format")
        if set(frame.columns) != set(frames[0].columns):
            raise SchemaError(f"{file}: its columns differ from those of {files[0]}; give files of one table")
    for name in frames[0].columns:
        if len({str(frame[name].dtype) for frame in frames}) > 1:  # put together as they are: a common type would round
            frames = [frame.astype({name: object}) for frame in frames]
    whole: pd.DataFrame = frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
    return whole, is_csv


def _read(file: Path, rows: int | None) -> pd.DataFrame:
    pandas = import_pandas()
    try:
        if file.suffix.lower() == ".parquet":
            frame: pd.DataFrame = pandas.read_parquet(file, dtype_backend="pyarrow")
        else:
            frame = _read_csv(file, rows)
    except (ValueError, OSError) as error:  # what pandas and PyArrow raise for files that they cannot read
        if isinstance(error, OSError) and error.errno is not None:
            raise
        kind = "Parquet" if file.suffix.lower() == ".parquet" else "CSV"
        raise SchemaError(f"{file}: this is not a readable {kind} file ({type(error).__name__}); repair it") from error
    return frame


def _read_csv(file: Path, rows: int | None) -> pd.DataFrame:
    """Read a CSV file as strings, each row by itself.

    pandas takes the form of a table from its first row: one with a cell too many moves the cells of all other rows. So
    it is given the line of names as the first row, and one more column for an empty cell at the end of each row.
    """
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": [""]}
    options |= {"encoding_errors": "backslashreplace", "on_bad_lines": "skip", "index_col": False}
    pandas = import_pandas()
    names = list(pandas.read_csv(file, nrows=0, **options).columns)
    beyond = max(map(len, names)) * "." + "."  # not one of the names
    rows = None if rows is None else rows + 1
    table: pd.DataFrame = pandas.read_csv(file, header=None, names=[*names, beyond], nrows=rows, **options)
    table = table.iloc[1:]
    return table[table[beyond].isna()].drop(columns=beyond).reset_index(drop=True)


def _as_declared(frame: pd.DataFrame, domains: Mapping[str, Domain]) -> pd.DataFrame:
    """Convert the strings of a CSV file as the schema declares; other columns, such as the unit, stay strings."""
    return frame.assign(**{name: _convert(frame[name], domains[name]) for name in domains if name in frame})


def _convert(column: pd.Series[Any], domain: Domain) -> Any:
    """Convert strings to a domain's values, one by one; what cannot be converted is left to the schema's rules."""
    if isinstance(domain, Date | Boolean | Hashed):
        return column  # the schema reads texts
    return read_text(column, domain.categories if isinstance(domain, Categorical) else None)


def _guess_types(frame: pd.DataFrame) -> pd.DataFrame:
    pandas = import_pandas()

    def guess(column: pd.Series[Any]) -> Any:
        present = column.dropna()
        if len(present) and present.str.strip().str.lower().isin(["true", "false"]).all():
            return column.map(lambda text: _TRUTH[text.strip().lower()], na_action="ignore").astype("boolean")
        numbers = pandas.to_numeric(present, errors="coerce")
        return pandas.to_numeric(column) if len(present) and numbers.notna().all() else column

    return frame.assign(**{str(name): guess(frame[name]) for name in frame.columns})
