"""Predicting a folder into a folder: one file of predictions for each file of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.data import data_files, read_features
from privet.cli.safe_text import without_formulas
from privet.cli.tables import is_streamed
from privet.errors import ParameterError
from privet.writing import replacing

if TYPE_CHECKING:
    from privet.frames.text_forms import TextOptions
    from privet.tables.described import Described
    from privet.tables.files import DataFile

Answer = Callable[[Any, Any], Any]  # from features, and columns that name records, to a frame of predictions


def files_to_predict(data: Sequence[str], out: Path, force: bool) -> Iterator[tuple[DataFile | Path, Path]]:
    """Yield each data file with the file that its predictions go to: of the same name, in the other folder."""
    from privet.tables.files import find_files as find_streamed

    if len(data) != 1 or not Path(data[0]).is_dir():
        raise ParameterError(f"{out} is a folder, for predictions of one folder; give the folder of the data")
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not force)):
        raise ParameterError(f"{out} exists and is not an empty folder; give another, or write into it with --force")
    base = Path(data[0]).absolute()
    if out.resolve().is_relative_to(base.resolve()):
        raise ParameterError(f"{out} is within the folder of the data; give another")
    if not is_streamed(data[0]):
        for path in data_files([base]):
            yield path, out / f"{path.name.partition('.')[0]}.csv"
        return
    for file in find_streamed(data):
        suffix = ".csv" if file.format == "csv" else ".parquet"
        yield file, (out / Path(file.path).relative_to(base)).with_suffix(suffix)


def predict_file(estimator: Any, file: DataFile | Path, out: Path, answer: Answer, form: TextOptions) -> None:
    """Predict one file into another; batch by batch, unless it is a text or office file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(file, Path):
        write_answers(iter([answer(*read_features([file], estimator.schema_, form))]), out)
    else:
        from privet.tables import ParquetTable

        write_answers(streamed_answers(estimator, ParquetTable(file.path, text=form), answer), out)


def write_answers(parts: Iterator[Any], out: Path) -> None:
    """Write predictions, one frame after the other, as CSV or Parquet; the whole file or nothing."""
    with replacing(out) as beside:
        if out.suffix.lower() == ".csv":
            with Path(beside).open("w", encoding="utf-8", newline="") as file:
                for number, part in enumerate(parts):
                    without_formulas(part).to_csv(file, index=False, header=number == 0)
            return
        pa: Any = import_module("pyarrow")  # untyped: imported so that its functions count as Any
        pq: Any = import_module("pyarrow.parquet")
        tables = (pa.Table.from_pandas(part, preserve_index=False) for part in parts)
        first = next(tables)
        with pq.ParquetWriter(beside, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)


def streamed_answers(estimator: Any, table: Described, answer: Answer) -> Iterator[Any]:
    """Predict a table that is streamed, batch by batch; a table without records gives one frame without rows."""
    import narwhals as nw

    from privet.frames.opening import open_frame
    from privet.tables.piecewise import Reading
    from privet.tables.predicting import only_named

    schema, encoding = estimator.schema_, estimator.model_.encoding
    empty = table.columns(schema)
    naming = (*(() if schema.unit is None else (schema.unit.column,)), *schema.ignored)
    ids = [name for name in naming if name in (open_frame(empty).names or ())]
    features, read = Reading(encoding, None), table.frames(Reading(encoding, None, also=tuple(ids)))
    first = next(read, empty)
    for frame in chain([first], read):
        named = nw.from_native(frame, eager_only=True).select(*ids).to_pandas()
        yield answer(only_named(frame, features), named if ids else None)
