"""One pass over a table: threads take its blocks one after the other, and each adds up integers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.tables.protocol import IntArray

T = TypeVar("T")
R = TypeVar("R")


class SharedIterator(Iterator[T]):
    """An iterator that several threads take from; it ends early for all of them when one has failed."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items, self._lock, self._stopped = iter(items), Lock(), False

    def __next__(self) -> T:
        with self._lock:  # what is read within is read in order
            if self._stopped:
                raise StopIteration
            return next(self._items)

    def stop(self) -> None:
        """End it for every thread."""
        self._stopped = True


def in_threads(items: Iterable[T], work: Callable[[Iterator[T]], R], n_jobs: int) -> list[R]:
    """Let so many threads work through the items, each with an iterator that it shares with the others."""
    shared = SharedIterator(items)

    def guarded() -> R:
        try:
            return work(shared)
        except BaseException:
            shared.stop()
            raise

    if n_jobs == 1:
        return [guarded()]
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            return [answer.result() for answer in [pool.submit(guarded) for _ in range(n_jobs)]]
        except BaseException:  # an interrupt reaches only this thread
            shared.stop()
            raise


def add_up(items: Iterable[T], integers: Callable[[T], Iterable[NDArray[np.generic]]], n_jobs: int) -> IntArray | None:
    """Add up the integers of all items; None if there are none. Each thread has one sum of its own."""

    def work(shared: Iterator[T]) -> IntArray | None:
        total: IntArray | None = None
        for item in shared:
            for part in integers(item):
                if total is None:
                    total = np.array(part, dtype=np.int64)
                else:
                    total += part.astype(np.int64, copy=False)
        return total

    sums = [total for total in in_threads(items, work, n_jobs) if total is not None]
    for other in sums[1:]:
        sums[0] += other
    return sums[0] if sums else None
