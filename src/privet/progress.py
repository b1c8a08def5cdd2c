"""How far long work has come, for whoever asks: the command line shows it, the library alone is silent.

Loops that may take long count what they have done with a `Counter`. Nothing happens unless somebody listens.

*Privacy.* A fit counts what its plan has fixed, such as rounds, never records.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

__all__ = ["Counter", "Step", "listening", "now", "tell"]


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
        tell(Step(what, 0, total))

    def add(self, amount: int = 1) -> None:
        """Count some more."""
        if not _listeners:
            return
        with self._lock:
            self._done += amount
            step = Step(self._what, self._done, self._total)
        tell(step)


def tell(step: Step) -> None:
    """Tell all who listen; for work that counts by itself."""
    for listener in tuple(_listeners):
        listener(step)
