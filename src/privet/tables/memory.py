"""The table in memory: contiguous arrays, worked on in blocks by plain threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, IntArray, Kernel

T = TypeVar("T")

# A block has at least this many rows, unless the table has fewer. Partial sums may be large arrays, so there is only
# one block per thread; kernels work in small pieces inside a block.
MIN_BLOCK_ROWS = 1 << 16


@lru_cache(maxsize=8)
def _threads(number: int) -> ThreadPoolExecutor:
    """Return a pool of threads. Pools are kept, because a learner passes over its table many times."""
    return ThreadPoolExecutor(number)


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not survive a fork


class MemoryTable:
    """Encoded records in memory.

    Parameters
    ----------
    encoding : Encoding
        How the records became codes.
    codes : array of shape (n_features, n_rows)
        The features' codes.
    target : int32 array of shape (n_rows,)
        The encoded target; records with a negative value (an unknown label) are left out, one by one.
    n_jobs : int
        Number of threads. Results do not depend on it: integers are added up.
    rows : uint64 array of shape (n_rows,), optional
        The identity of each record; by default its place.
    """

    def __init__(
        self,
        encoding: Encoding,
        codes: NDArray[np.unsignedinteger],
        target: NDArray[np.int32],
        *,
        n_jobs: int = 1,
        rows: NDArray[np.uint64] | None = None,
    ) -> None:
        # A record is known by its place in the frame, whichever others are left out: made once for many passes.
        rows = np.arange(len(target), dtype=np.uint64) if rows is None else rows
        self.n_read = len(target)  # rows without a known label included
        known = target >= 0
        if not known.all():
            codes, target, rows = np.ascontiguousarray(codes[:, known]), target[known], rows[known]
        self._encoding = encoding
        self._target = target
        self._n_jobs = n_jobs
        self._places = self._divided(len(target))
        # Each block is contiguous: compiled loops are slower over slices of a larger array.
        self._codes = [np.ascontiguousarray(codes[:, rows]) for rows in self._places]
        self._rows = rows
        self._states = [dict[str, NDArray[np.generic]]() for _ in self._places]

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self._encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks and add up its integers."""
        total: IntArray | None = None
        for part in self._map(lambda block: np.asarray(kernel(block), dtype=np.int64)):
            total = part if total is None else total + part
        assert total is not None
        return total

    def derive(self, name: str, kernel: Kernel) -> MemoryTable:
        """Return a table in which each record also has the kernel's value under `name`."""
        derived = object.__new__(MemoryTable)  # the records are shared, and were checked when this table was made
        derived.__dict__.update(self.__dict__)
        derived._states = [{**state, name: new} for state, new in zip(self._states, self._map(kernel), strict=True)]
        return derived

    def _map(self, function: Callable[[Block], T]) -> Iterator[T]:
        first, *others = self._blocks()
        if not others:
            yield function(first)
            return
        # The calling thread works on the first block itself: waking a thread is not cheap.
        elsewhere = [_threads(self._n_jobs - 1).submit(function, block) for block in others]
        yield function(first)
        for answer in elsewhere:
            yield answer.result()

    def _divided(self, n_rows: int) -> list[slice]:
        # A table without records still has one block, from which a kernel returns zeros of the right shape.
        length = max(MIN_BLOCK_ROWS, -(-n_rows // self._n_jobs))
        return [slice(start, min(start + length, n_rows)) for start in range(0, max(n_rows, 1), length)]

    def _blocks(self) -> Iterator[Block]:
        for rows, codes, state in zip(self._places, self._codes, self._states, strict=True):
            yield Block(codes, self._target[rows], self._rows[rows], state)

    def __repr__(self) -> str:
        return f"MemoryTable({self._encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")
