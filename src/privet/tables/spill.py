"""A folder for what does not fit into memory: private to the user, removed at the end or by the next run.

Every run holds a lock on a file beside its folder. The operating system gives the lock up when the process ends,
however it ends; whoever then gets the lock removes what was left behind.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from privet.errors import ParameterError

try:
    import fcntl
except ImportError:  # Windows: temporary folders are private there, and what a crash leaves is left to the system
    fcntl = None  # type: ignore[assignment]


class SpillFolder:
    """A new, empty folder that nobody else can read. Folders of runs that crashed are removed first.

    Parameters
    ----------
    parent : path, optional
        Where to make it; by default where temporary files go.
    """

    def __init__(self, parent: str | os.PathLike[str] | None = None) -> None:
        home = _private_home(Path(tempfile.gettempdir() if parent is None else parent))
        remove_leftovers(home)
        self._lock, self._lock_path = _new_lock(home)
        self.path = self._lock_path.with_suffix("")
        self.path.mkdir(mode=0o700)

    def remove(self) -> None:
        """Remove the folder and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        with suppress(OSError):
            os.close(self._lock)


def _private_home(parent: Path) -> Path:
    """Return the folder in which one user's spill folders are; refuse one that somebody else made."""
    if not parent.is_dir():
        raise ParameterError(f"{parent}: no such folder to spill into; make it, or give another as spill=...")
    user = os.getuid() if hasattr(os, "getuid") else 0
    home = parent / f"privet-spill-{user}"
    with suppress(FileExistsError):
        home.mkdir(mode=0o700)
    about = home.lstat()
    if hasattr(os, "getuid") and (
        not stat.S_ISDIR(about.st_mode) or about.st_uid != user or stat.S_IMODE(about.st_mode) & 0o077
    ):
        raise ParameterError(f"{home} is not a folder that only you can use; remove it, or give another as spill=...")
    return home


def _new_lock(home: Path) -> tuple[int, Path]:
    while True:
        path = home / f"{token_hex(8)}.lock"
        lock = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        if _locked(lock, path):
            return lock, path
        os.close(lock)  # another process took it for one left behind


def remove_leftovers(home: Path) -> None:
    """Remove the folders of processes that are gone."""
    if fcntl is None:
        return
    for path in home.glob("*.lock"):
        try:
            lock = os.open(path, os.O_RDWR)
        except OSError:
            continue
        try:
            if _locked(lock, path):
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink(missing_ok=True)
        finally:
            os.close(lock)


def _locked(lock: int, path: Path) -> bool:
    """Take the lock of a file if nobody has it, and if the file is still the one at its path."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(lock).st_ino == path.stat().st_ino
    except OSError:
        return False
