"""Files that together are one table: found in folders, by patterns or by name, with what hive's folder names say.

A file is known by its size and modification time. Whoever reads it later checks both, so that no fit sees a file change
under its hands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from privet.errors import ParameterError, TableChangedError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".orc": "orc",
}
_NAMED_ONLY = {".txt": "csv"}  # in a folder such a file may hold anything
_PACKED = ".gz"
_NULL = "__HIVE_DEFAULT_PARTITION__"

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class DataFile:
    """One file as it was found.

    Attributes
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where it is; such objects can be pickled.
    path : str
        Where it is there.
    format : str
        One of the values of `FORMATS`.
    size, mtime_ns : int
        Its size and modification time when it was found.
    partition : tuple of (str, str or None)
        What the names of its folders say (``year=2024``), by column; None stands for a missing value.
    """

    filesystem: Any
    path: str
    format: str
    size: int
    mtime_ns: int
    partition: tuple[tuple[str, str | None], ...] = ()

    def check(self) -> None:
        """Raise an error unless the file is still the one that was found."""
        now = self.filesystem.get_file_info(self.path)
        if (now.size, now.mtime_ns) != (self.size, self.mtime_ns):
            what = "is gone" if now.size is None else "was changed"
            raise TableChangedError(
                f"{self.path} {what} since the fit began; fit again when nobody writes to the table any more"
            )


def find_files(paths: Paths) -> list[DataFile]:
    """Return the files of a table: of a folder and all folders in it, of a pattern, or the files given by name.

    Files and folders whose names begin with ``.`` or ``_`` are left out, as everywhere. Files come sorted by path, and
    those given by name in the order given.

    Raises
    ------
    ParameterError
        If there is no file, one is of an unknown format, or there is more than one format.
    """
    if find_spec("pyarrow") is None:
        raise ParameterError("reading tables from files needs PyArrow; pip install pyarrow")
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ParameterError("no path was given; name a file, a folder or a pattern")
    files = [file for path in given for file in _found(os.fspath(path))]
    for file in files[1:]:
        if file.format != files[0].format:
            raise ParameterError(
                f"{file.path} is a {file.format} file, but {files[0].path} is a {files[0].format} file; "
                "give files of one format"
            )
    return files


def _found(path: str) -> list[DataFile]:
    pafs: Any = import_module("pyarrow.fs")  # untyped: imported so that its functions count as Any
    if "://" in path:
        filesystem, inside = pafs.FileSystem.from_uri(path)
    elif has_magic(path) and not Path(path).exists():
        found = [file for each in sorted(glob(path, recursive=True)) for file in _found(each)]  # noqa: PTH207  # also takes absolute patterns
        if not found:
            raise ParameterError(f"{path}: no file fits this pattern; check it")
        return found
    else:
        filesystem, inside = pafs.LocalFileSystem(), str(Path(path).absolute())
    info = filesystem.get_file_info(inside)
    if info.type == pafs.FileType.NotFound:
        raise ParameterError(f"{path}: no such file or folder; check the path")
    if info.type == pafs.FileType.File:
        if _format(inside) is None:
            endings = f"{', '.join([*FORMATS, *_NAMED_ONLY])}, text files also in {_PACKED}"
            raise ParameterError(f"{path}: cannot tell the format; files end in {endings}")
        return [_file(filesystem, info)]
    if info.type == pafs.FileType.Unknown:
        raise ParameterError(f"{path}: not a regular file but a pipe or device, which may never end; save it first")
    base = inside.rstrip("/")
    found = []
    for entry in filesystem.get_file_info(pafs.FileSelector(base, recursive=True)):
        names = entry.path[len(base) :].strip("/").split("/")
        hidden = any(name.startswith((".", "_")) and "=" not in name for name in names)
        if entry.type == pafs.FileType.File and not hidden and _format(entry.path, FORMATS) is not None:
            found.append(_file(filesystem, entry))
    if not found:
        raise ParameterError(f"{path}: no data file in this folder; files end in {', '.join(FORMATS)}")
    return sorted(found, key=lambda file: file.path)


def _file(filesystem: Any, info: Any) -> DataFile:
    file_format, folders = _format(info.path), info.path.split("/")[:-1]
    assert file_format is not None
    return DataFile(filesystem, info.path, file_format, info.size, info.mtime_ns, _partition(folders))


def _format(path: str, known: Mapping[str, str] = FORMATS | _NAMED_ONLY) -> str | None:
    *_, inner, outer = ["", "", *(suffix.lower() for suffix in PurePosixPath(path).suffixes)]
    if outer == _PACKED:
        return known.get(inner) if known.get(inner) == "csv" else None
    return known.get(outer)


def _partition(folders: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return tuple((unquote(name), None if value == _NULL else unquote(value)) for name, _, value in pairs)
