"""How far long work has come: counted for whoever listens, or shown on a terminal.

Loops that may take long count what they have done with a `Counter`. Nothing happens unless somebody listens, as the
command line does. Passes over files that need not fit into memory show a `Bar`, since they may take hours.

*Privacy.* A fit counts what its plan has fixed, such as rounds, never records. Models vote on private records, too, in
searches, evaluations and some fits; so records are counted only where a prediction asks for it (`counting_records`).
Where even the number of rounds is secret, nothing is reported (`silence`).
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

__all__ = ["Bar", "Counter", "Step", "counting_records", "listening", "now", "silence", "tell"]

RECORDS = "records"  # what predictions count


@dataclass(frozen=True)
class Step:
    """How far work has come.

    Attributes
    ----------
    what : str
        What is being done.
    done : int
        How much of it is done.
    total : int or None
        How much there is to do; None if nobody knows.
    """

    what: str
    done: int = 0
    total: int | None = None


_listeners: list[Callable[[Step], None]] = []
# Of the thread that begins to count, whichever threads go on.
_records_are_told: ContextVar[bool] = ContextVar("whether records are counted", default=False)
_silent: ContextVar[bool] = ContextVar("whether nothing is reported", default=False)


@contextmanager
def listening(listener: Callable[[Step], None]) -> Iterator[None]:
    """Call the listener with every step that is made inside the block, by whichever thread of this process.

    Examples
    --------
    >>> seen = []
    >>> with listening(seen.append):
    ...     count = Counter("rounds", 2)
    ...     count.add()
    >>> seen[-1]
    Step(what='rounds', done=1, total=2)
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def now(what: str) -> None:
    """Say what is being done, where it cannot be counted."""
    tell(Step(what))


@contextmanager
def counting_records() -> Iterator[None]:
    """Let records be counted inside the block: for predictions, whose number of records is the caller's own."""
    before = _records_are_told.set(True)
    try:
        yield
    finally:
        _records_are_told.reset(before)


@contextmanager
def silence() -> Iterator[None]:
    """Let nothing be counted inside the block: how often it is entered is secret."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


class Counter:
    """Counts what is done of one piece of work.

    Parameters
    ----------
    what : str
        What is being done.
    total : int
        How much there is to do.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what, self._done, self._total, self._lock = what, 0, total, Lock()
        self._told = not _silent.get() and (what != RECORDS or _records_are_told.get())
        if self._told:
            tell(Step(what, 0, total))

    def add(self, amount: int = 1) -> None:
        """Count some more."""
        if not self._told or not _listeners:
            return
        with self._lock:
            self._done += amount
            step = Step(self._what, self._done, self._total)
        tell(step)


def tell(step: Step) -> None:
    """Tell all who listen; for work that counts by itself."""
    for listener in tuple(_listeners):
        listener(step)


class Bar(AbstractContextManager["Bar"]):
    """A bar on standard error that moves as records are read, with the time left, for whoever runs a fit at a terminal.

    *Privacy.* It shows a share and a time, never a number of records, and none of it goes to listeners.

    Parameters
    ----------
    what : str
        What is being done.
    total : int or None
        How many records there are, if that is known.
    show : bool, optional
        Whether to show it; by default if standard error is a terminal.
    """

    def __init__(self, what: str, total: int | None, show: bool | None = None) -> None:
        self._what, self._total = what, total
        self._shown = sys.stderr.isatty() if show is None else show
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._shown:
            from rich import progress
            from rich.console import Console

            columns = (
                progress.SpinnerColumn(),
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.TaskProgressColumn(),
                progress.TimeRemainingColumn(),
            )
            self._bar = progress.Progress(*columns, console=Console(stderr=True, force_terminal=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._what, total=self._total)
        return self

    def advance(self, n_rows: int) -> None:
        """Note that so many records more have been read; may be called from any thread."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], n_rows)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
