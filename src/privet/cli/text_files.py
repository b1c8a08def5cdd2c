"""Reading text files as pandas frames of strings, plain or compressed."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import GzipFile
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from privet.errors import ParameterError, SchemaError
from privet.frames.text_forms import MOST_BYTES_OF_FIRST_LINE, TextForm, TextOptions, find_form
from privet.progress import Counter

if TYPE_CHECKING:
    import pandas as pd

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
PACKED_SUFFIXES = (".gz", ".zip", ".zst")


def read_text_file(
    path: Path, options: TextOptions, rows: int | None = None, *, skip_long_rows: bool = False
) -> tuple[pd.DataFrame, TextForm]:
    """Read a file with a line of names; every cell is a string, None where it is empty.

    Parameters
    ----------
    path : Path
        A .csv, .tsv or .txt file, or one of these within a .gz, .zip or .zst file.
    options : TextOptions
        What the user says of its form.
    rows : int, optional
        The most records to read.
    skip_long_rows : bool
        Leave out records with more cells than there are names, one by one. That must not be an error where records are
        private; elsewhere it is. The only record that is not read by itself is one that opens a quotation and does not
        close it: text files have no other end for it than the next quotation mark, or none, which is an error.
    """
    import pandas

    with unpacked(path) as stream:
        form = find_form(path, _head(stream, path), options)
    # pandas takes the form of a table from its first row: one with a cell too many moves the cells of all other rows.
    # So it is given the line of names as the first row, and one more column for an empty cell at the end of each row.
    beyond = max(map(len, form.names)) * "." + "."  # not one of the names
    with unpacked(path) as stream:
        try:
            frame = pandas.read_csv(
                _Counted(stream, path),
                sep=form.separator,
                header=None,
                names=[*form.names, beyond],
                encoding=form.encoding,
                encoding_errors=form.errors,
                dtype=str,
                keep_default_na=False,
                na_values=[""],
                index_col=False,
                nrows=None if rows is None else rows + 1,
                on_bad_lines="skip" if skip_long_rows else "error",
            ).iloc[1:]
        except ValueError as error:  # pandas' parsers raise nothing else for what they cannot read
            raise _unreadable(path, form, "close its quotes" if "EOF" in str(error) else "repair it") from error
    too_long = frame[beyond].notna()
    if not skip_long_rows and too_long.any():
        raise _unreadable(path, form, "repair it")
    frame = frame[~too_long].drop(columns=beyond).reset_index(drop=True)
    return frame, form


class _Counted(io.RawIOBase):
    """A stream that counts what is read of it; of a packed file nobody knows how much there is."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream = stream
        packed = path.suffix.lower() in PACKED_SUFFIXES
        self._count = None if packed else Counter("bytes", path.stat().st_size)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part = self._stream.read(size)
        if self._count is not None:
            self._count.add(len(part))
        return part


def _unreadable(path: Path, form: TextForm, remedy: str) -> SchemaError:
    return SchemaError(f"{path}: this is not a readable table ({form.in_words()}); {remedy}, or give --separator")


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file; what is packed in it, if its suffix says so."""
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as raw:
            if suffix == ".gz":
                with GzipFile(fileobj=raw) as stream:
                    yield cast(IO[bytes], stream)
            elif suffix == ".zip":
                with zipfile.ZipFile(raw) as archive, archive.open(_only_table(path, archive)) as stream:
                    yield stream
            elif suffix == ".zst":
                with _zstandard().ZstdDecompressor().stream_reader(raw, read_across_frames=True) as stream:
                    yield cast(IO[bytes], stream)
            else:
                yield raw
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SchemaError(f"{path}: cannot be unpacked ({error}); pack it again") from error


def _only_table(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
    if len(names) != 1 or not names[0].lower().endswith(TEXT_SUFFIXES):
        found = "no file" if not names else f"{len(names)} files" if len(names) > 1 else repr(names[0])
        raise SchemaError(f"{path}: expected one {', '.join(TEXT_SUFFIXES)} file in it, got {found}; unpack it")
    return names[0]


def _zstandard() -> Any:
    if find_spec("zstandard") is None:
        raise ParameterError("reading .zst files needs zstandard; pip install 'privet[office]', or unpack the file")
    import zstandard

    return zstandard


def _head(stream: IO[bytes], path: Path) -> bytes:
    parts, left = [], MOST_BYTES_OF_FIRST_LINE
    try:
        while left > 0 and (part := stream.read(left)):
            parts.append(part)
            left -= len(part)
    except Exception as error:  # each library has its own errors for damaged data
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise SchemaError(f"{path}: cannot be unpacked ({error}); pack it again") from error
    return b"".join(parts)
