"""How much of a test's time the compiler took: whichever test comes first compiles what others use, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter

from numba.core import event

_COMPILATION = "numba:compile"


class _Stopwatch(event.Listener):  # type: ignore[misc]  # numba has no types
    """Add up the time during which at least one kernel is being compiled; kernels compile those that they call."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._running, self._begun = Lock(), 0, 0.0

    def on_start(self, _: object) -> None:
        with self._lock:
            if not self._running:
                self._begun = perf_counter()
            self._running += 1

    def on_end(self, _: object) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self.seconds += perf_counter() - self._begun


@contextmanager
def stopwatch() -> Iterator[_Stopwatch]:
    """Time the compilations of this process inside the block."""
    watch = _Stopwatch()
    event.register(_COMPILATION, watch)
    try:
        yield watch
    finally:
        event.unregister(_COMPILATION, watch)
