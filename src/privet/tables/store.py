"""Arrays that are kept between passes: in memory up to a limit, and beyond it in files that only this user can read."""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.tables.spill import SpillFolder

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def bytes_of(memory: int | str | None) -> int:
    """Read an amount of memory, such as ``"4GB"`` or a number of bytes; None stands for half of what is free.

    Examples
    --------
    >>> bytes_of("4GB"), bytes_of("512 MiB"), bytes_of(1000)
    (4000000000, 536870912, 1000)
    """
    if memory is None:
        return _free_bytes() // 2
    if isinstance(memory, int) and not isinstance(memory, bool) and memory >= 0:
        return memory
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", memory.lower()) if isinstance(memory, str) else None
    if match is None:
        raise ParameterError(f"memory must be an amount such as '4GB' or a number of bytes, got {memory!r}")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def _free_bytes() -> int:
    """Return how much memory is available, as far as the operating system says; a cautious guess where it does not."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 2 << 30


class Kept(Protocol):
    """An array that was put into a store."""

    def get(self) -> NDArray[Any]:
        """Return the array."""
        ...


class ArrayStore:
    """Keeps arrays in memory as long as they fit into a limit, then in a spill folder.

    Parameters
    ----------
    limit : int
        How many bytes of arrays to hold in memory.
    parent : path, optional
        Where to make the spill folder; by default where temporary files go.
    """

    def __init__(self, limit: int, parent: str | os.PathLike[str] | None = None) -> None:
        self._limit, self._parent = limit, parent
        self._used, self._lock, self._numbers = 0, Lock(), count()
        self._folder: SpillFolder | None = None

    def keep(self, array: NDArray[Any]) -> Kept:
        """Keep an array for later passes."""
        with self._lock:
            if self._used + array.nbytes <= self._limit:
                self._used += array.nbytes
                return _InMemory(self, np.ascontiguousarray(array))
            if self._folder is None:
                self._folder = SpillFolder(self._parent)
            path = self._folder.path / str(next(self._numbers))
        return _OnDisk(path, array)

    def close(self) -> None:
        """Remove the spill folder."""
        with self._lock:
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.remove()

    def _give_back(self, n_bytes: int) -> None:
        with self._lock:
            self._used -= n_bytes


class _InMemory:
    def __init__(self, store: ArrayStore, array: NDArray[Any]) -> None:
        self._store, self._array = store, array

    def get(self) -> NDArray[Any]:
        return self._array

    def __del__(self) -> None:
        self._store._give_back(self._array.nbytes)


class _OnDisk:
    """An array in a file. It is read whole, not mapped: mapped pages would count as this process's memory."""

    def __init__(self, path: Path, array: NDArray[Any]) -> None:
        self._path, self._dtype, self._shape = path, array.dtype, array.shape
        with path.open("xb") as file:
            np.ascontiguousarray(array).tofile(file)

    def get(self) -> NDArray[Any]:
        return np.fromfile(self._path, dtype=self._dtype).reshape(self._shape)

    def __del__(self) -> None:
        self._path.unlink(missing_ok=True)
