"""`compiled`: numba's `njit` with the library's settings, and a cache that is never stale.

`nogil` lets plain threads run kernels side by side (numba's own parallel layers abort on concurrent calls and do not
survive a fork). Machine code is cached between processes. By itself numba only checks the file of the compiled
function, so it would keep using old code after an inlined helper in another file has changed. Here the name of the
cache folder contains a digest of all files with kernels. Where no folder is writable, functions are compiled in memory.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")

_MARKS_OF_KERNELS = (b"@compiled", b"@inlined")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function of arrays and numbers to machine code, without the interpreter's lock."""
    folder = kernel_folder(function.__module__.partition(".")[0])
    if folder is None:
        return cast(Callable[P, T], numba.njit(nogil=True)(function))
    with _cached_in(folder):
        return cast(Callable[P, T], numba.njit(nogil=True, cache=True)(function))


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Like `compiled`, for small helpers that only other compiled functions call."""
    return cast(Callable[P, T], numba.njit(nogil=True, inline="always")(function))


@cache
def kernel_folder(package: str) -> Path | None:
    """Return the folder for the machine code of a package's current kernels; None if no folder is writable.

    It is in ``NUMBA_CACHE_DIR`` if that is set, else in the package's ``__pycache__`` or the user's cache folder,
    whichever can be written to first.
    """
    home = _folder_of(package)
    if home is None:
        return None
    name = f"kernels-{kernel_digest(package)}"
    asked = os.environ.get("NUMBA_CACHE_DIR")
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "privet"
    for parent in [Path(asked)] if asked else [home / "__pycache__", users]:
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


def kernel_digest(package: str) -> str:
    """Return a digest of all files with kernels of a package and of privet, whose helpers it may use."""
    total = hashlib.sha256()
    for name in sorted({package, "privet"}):
        home = _folder_of(name)
        for path in sorted(home.rglob("*.py")) if home is not None else ():
            source = path.read_bytes()
            if any(mark in source for mark in _MARKS_OF_KERNELS):
                total.update(source)
    return total.hexdigest()[:16]


def _folder_of(package: str) -> Path | None:
    spec = find_spec(package) if package != "__main__" else None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Let numba use this folder for functions that are decorated inside the block, and for no others."""
    config: Any = numba.config  # its settings are made at run time
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
