"""Where machine code is kept between processes, and what happens if it cannot be, or was damaged.

By itself numba only checks the file of the compiled function, so it would keep using old code after an inlined helper
in another file has changed. Here the name of the cache folder contains a digest of all files with kernels.

Numba fails on a damaged file of its cache, and on a full disk. Here a file that is not exactly what was written is
compiled again and replaced, and a file that cannot be written is done without. Where no folder is writable, functions
are compiled in memory.
"""

import hashlib
import os
import pickle
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

_MARKS_OF_KERNELS = (b"@compiled", b"@inner", b"@merged", b"@inlined")
_DIGEST_BYTES = 32


@cache
def kernel_folder(package: str) -> Path | None:
    """Return the folder for the machine code of a package's current kernels; None if no folder is writable.

    The first that can be written to of: ``NUMBA_CACHE_DIR`` if that is set, the package's ``__pycache__``, the user's
    cache folder, and a folder for temporary files that is this user's alone.
    """
    home = folder_of(package)
    if home is None:
        return None
    name = f"kernels-{kernel_digest(package)}"
    for parent in _parents(home):
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


def _parents(home: Path) -> Iterator[Path]:
    asked = os.environ.get("NUMBA_CACHE_DIR")
    if asked:
        yield Path(asked)
    yield home / "__pycache__"
    users = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111  # never fails
    if users.is_absolute():  # else the user has no home
        yield users / "privet"
    private = _private_folder()
    if private is not None:
        yield private


def _private_folder() -> Path | None:
    """Return a folder beside everybody's temporary files that nobody else can write to: code is loaded from it."""
    if not hasattr(os, "getuid"):
        return None
    folder = Path(gettempdir()) / f"privet-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == 0o700
    return folder if is_own else None


def kernel_digest(package: str) -> str:
    """Return a digest of all files with kernels of a package and of privet, whose helpers it may use."""
    total = hashlib.sha256()
    for name in sorted({package, "privet"}):
        home = folder_of(name)
        for path in sorted(home.rglob("*.py")) if home is not None else ():
            source = path.read_bytes()
            if any(mark in source for mark in _MARKS_OF_KERNELS):
                total.update(source)
    return total.hexdigest()[:16]


def folder_of(package: str) -> Path | None:
    """Return the folder of a package's sources, None where there is none."""
    spec = find_spec(package) if package != "__main__" else None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


@contextmanager
def cached_in(folder: Path) -> Iterator[None]:
    """Let numba use this folder for caches that are made inside the block, and for no others."""
    config: Any = numba.config  # its settings are made at run time
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


class _CheckedFiles(IndexDataCacheFile):
    """An index and its files of machine code, each of which begins with its digest."""

    def _load_index(self) -> dict[Any, Any]:
        try:
            index: dict[Any, Any] = super()._load_index()
        except Exception:  # whatever a damaged pickle may raise: nothing is in this cache
            return {}
        return index

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        data = content[_DIGEST_BYTES:]
        if hashlib.sha256(data).digest() != content[:_DIGEST_BYTES]:
            raise OSError(f"{name} is damaged")  # numba goes on as if there were no such file
        return pickle.loads(data)  # what this user's own process has written

    def _save_data(self, name: str, data: Any) -> None:
        written = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(written).digest() + written)


class KernelCache(FunctionCache):
    """The machine code of one function between processes; never an error, at worst it is compiled again."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        files = self._cache_file
        self._cache_file = _CheckedFiles(files._cache_path, self._impl.filename_base, files._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was kept for these types of arguments; None if there is nothing, or nothing sound."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever another version's content may raise
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code if there is room for it."""
        try:
            super().save_overload(sig, data)
        except OSError:
            self.disable()
