"""Which budgets are in force, and the registry in which processes list theirs for descendants to find.

Each process that opens a budget keeps one small file in a folder that only its user can enter, at a place that does
not depend on the environment. The file lists the open budgets and counts all that were ever opened. So a budget that is
counted but not listed was closed properly, while one that is listed but whose store is missing was lost. The file is
removed when the process ends; files of processes that were killed are removed when the next budget is opened.
"""

from __future__ import annotations

import atexit
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

from privet.errors import BudgetError
from privet.privacy.accounts import Address, parse_address
from privet.privacy.budgets.processes import Process, ancestors, is_running, namespace, this_process
from privet.privacy.budgets.store import Handle, Store

# Processes that are started inside a `with privet.budget(...)` block inherit this variable, and with it the budget,
# even if they outlive their parent. Only privet sets it.
VARIABLE = "PRIVET_OPEN_BUDGETS"
# Users set this one: the address of an account to which everything is charged.
ACCOUNT_VARIABLE = "PRIVET_BUDGET"

MOST_TRIES = 10  # to write into a folder that other processes remove when it is empty


def in_force(carried: Sequence[Handle] = (), declared: Sequence[str] = ()) -> tuple[Handle, ...]:
    """Return the budgets to which a fit that begins now must be charged.

    `carried` are those that an estimator brought along from where it, or what it is a clone of, was pickled or copied,
    `declared` are the accounts that schemas name.
    """
    opened = [*reversed(own_handles()), *handles_of_ancestors(), *inherited(), *carried]
    standing = [_standing(parse_address(text)) for text in (*declared, os.environ.get(ACCOUNT_VARIABLE)) if text]
    return tuple(dict.fromkeys([*opened, *standing]))


def _standing(address: Address) -> Handle:
    """Return the handle of an account that no block opened, so that none closes it."""
    return Handle(address.store, "", 0, True, address.dataset, address.purpose)


def inherited() -> list[Handle]:
    """Return the budgets named in the environment that are not closed: a process may outlive the block."""
    text = os.environ.get(VARIABLE, "[]")
    try:
        handles = [Handle(**handle) for handle in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise BudgetError(
            f"the environment variable {VARIABLE} names budgets in force, but cannot be read; nothing was drawn. "
            "Leave it as privet.budget(...) sets it"
        ) from error
    return [handle for handle in handles if not was_closed(handle)]


class Registration:
    """The current process's entry in the registry."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._process = this_process()
        self._path = _usable_place() / f"{self._process.name}.json"
        self._opened = 0
        self._ended = False
        self.open: tuple[Handle, ...] = ()  # replaced as a whole, so that fits can read it without waiting

    def new_handle(self) -> Handle:
        """Return a handle for a budget that is about to be opened, and make sure that this process can be found."""
        with self.lock:
            self._opened += 1
            store = self._path.with_suffix("") / f"{self._opened}.sqlite"
            handle = Handle(str(store), str(self._path), self._opened)
            self._write()
        return handle

    def handle_of_account(self, address: Address) -> Handle:
        """Return a handle for a block that is charged to an account that lasts."""
        return replace(
            self.new_handle(), store=address.store, lasting=True, dataset=address.dataset, purpose=address.purpose
        )

    def announce(self, handle: Handle) -> None:
        """List a budget as open."""
        with self.lock:
            self.open = (*self.open, handle)
            self._write()

    def withdraw(self, handle: Handle) -> None:
        """Remove a budget from the list: it is closed."""
        with self.lock:
            self.open = tuple(other for other in self.open if other != handle)
            self._write()

    def leave(self) -> None:
        """Remove all files of this process, and the folder if no other process uses it."""
        with self.lock:
            self._ended = True
            _remove(self._path)
            with suppress(OSError):
                self._path.parent.rmdir()

    def _write(self) -> None:
        if self._ended:  # a block that the end of the process cuts short is closed after everything was removed
            return
        about = {
            "pid": self._process.pid,
            "started": self._process.started,
            "namespace": namespace(),
            "opened": self._opened,
            "open": [asdict(handle) for handle in self.open],
        }
        beside = _new_file(self._path)
        for attempt in range(MOST_TRIES):
            try:
                _make_private(self._path.parent)
                beside.write_text(json.dumps(about), encoding="utf-8")
                beside.replace(self._path)
                return
            except OSError as error:
                # Another process may have just removed the folder, as it was empty.
                if not isinstance(error, FileNotFoundError) or attempt == MOST_TRIES - 1:
                    raise BudgetError(f"a budget cannot be made known to other processes: {error}") from error


_mine: Registration | None = None
_lock = RLock()


def registration() -> Registration:
    """Return the registration of this process."""
    global _mine
    with _lock:
        if _mine is None:
            _mine = Registration()
        return _mine


def own_handles() -> tuple[Handle, ...]:
    """Return the budgets that were opened in this process and are open."""
    return () if _mine is None else _mine.open


def handles_of_ancestors() -> Iterator[Handle]:
    """Yield the open budgets of the processes that this one descends from."""
    for place in _places():
        names: set[str] = set()
        with suppress(OSError):
            if _is_private(place):
                names = set(os.listdir(place))  # noqa: PTH208  # a scan that an interrupt leaves open would be warned of
        if names:  # nearly always there are none, and the ancestors need not be looked up
            for process in ancestors():
                if (name := f"{process.name}.json") in names:
                    yield from _open_handles(place / name)


def was_closed(handle: Handle) -> bool:
    """Whether the process that opened a budget has closed it; False if nothing is known about it."""
    try:
        about = _read(Path(handle.registration))
        return handle.serial <= about["opened"] and all(known["serial"] != handle.serial for known in about["open"])
    except (OSError, ValueError, TypeError, KeyError):
        return False


def sweep() -> None:
    """Remove files that were left behind by processes that were killed."""
    for place in _places():
        with suppress(OSError):
            for path in list(place.glob("*.json")) if _is_private(place) else ():
                with suppress(OSError, ValueError, KeyError):
                    about = _read(path)
                    # Nothing can be known here about another container's processes.
                    if about["namespace"] == namespace() and not is_running(Process(about["pid"], about["started"])):
                        _remove(path)


def _open_handles(path: Path) -> list[Handle]:
    try:
        return [Handle(**known) for known in _read(path)["open"]]
    except FileNotFoundError:
        return []  # the process has just ended
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BudgetError(f"budgets may be in force, but {path} cannot be read; nothing was drawn: {error}") from error


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _remove(path: Path) -> None:
    """Remove a registration and the stores that belong to it."""
    for store in path.with_suffix("").glob("*.sqlite*"):
        Store.remove(store)
    with suppress(OSError):
        path.with_suffix("").rmdir()
    for file in (_new_file(path), path):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _new_file(path: Path) -> Path:
    return path.with_suffix(".new")


def _places() -> tuple[Path, ...]:
    """Return the possible folders of the registry: files are written to the first usable one, and read from all."""
    with suppress(FileNotFoundError):  # raised where no folder for temporary files can be written
        return _places_of(tempfile.gettempdir(), os.geteuid() if os.name == "posix" else None)
    return ()


@lru_cache(maxsize=1)
def _places_of(temporary: str, user: int | None) -> tuple[Path, ...]:
    if user is None:  # Windows, where each user has a folder for temporary files
        return (Path(temporary) / "privet-budgets",)
    # A process may have another TMPDIR than its parent; /tmp is the same for all.
    return tuple(dict.fromkeys(Path(base) / f"privet-budgets-{user}" for base in ("/tmp", temporary)))


def _usable_place() -> Path:
    problems = []
    for place in _places():
        try:
            _make_private(place)
            return place
        except OSError as error:
            problems.append(str(error))
    raise BudgetError(f"a budget needs a folder that other processes of the same user can find: {'; '.join(problems)}")


def _make_private(place: Path) -> None:
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    if not _is_private(place):
        raise PermissionError(f"{place} is not a folder of this user alone: remove it, or set its mode to 700")


def _is_private(place: Path) -> bool:
    """Whether a folder exists and nobody else can enter it, so that nobody else can open or close budgets."""
    try:
        about = place.lstat()
    except FileNotFoundError:
        return False
    if os.name != "posix":
        return stat.S_ISDIR(about.st_mode)
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077


def _start_anew() -> None:
    """Start afresh in a forked child: it has opened no budgets, and the lock may have been held by another thread."""
    global _mine, _lock
    _mine, _lock = None, RLock()


def _leave() -> None:
    if _mine is not None:
        _mine.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
atexit.register(_leave)
