"""The table for learners of one pass: records are read, encoded and counted, and nothing of them is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privet.progress import Bar
from privet.schema.encoding import Encoding
from privet.tables.passes import add_up
from privet.tables.pieces import encode_piece
from privet.tables.piecewise import Reading
from privet.tables.protocol import Block, IntArray, Kernel
from privet.tables.source import Piece

_MOST_ROWS = 1 << 18  # that a kernel sees at once


class StreamedTable:
    """Reads its pieces anew in every pass. State is computed where it is needed, and forgotten.

    Parameters
    ----------
    reading : Reading
        How records become codes; without units, since these are bounded before the first pass.
    pieces : function without arguments
        Returns the pieces, each of which knows its number of records.
    n_jobs : int
        Number of threads.
    show : bool, optional
        Whether to show a bar; by default if standard error is a terminal.
    """

    def __init__(
        self, reading: Reading, pieces: Callable[[], Iterable[Piece]], n_jobs: int, show: bool | None = None
    ) -> None:
        assert reading.unit is None
        self._reading, self._pieces, self._n_jobs, self._show = reading, pieces, n_jobs, show
        self._derived: tuple[tuple[str, Kernel], ...] = ()

    @property
    def encoding(self) -> Encoding:
        """How the records become codes."""
        return self._reading.encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all records and add up its integers."""
        pieces = self._pieces()
        known = isinstance(pieces, Sequence)  # else they are known only as they are read
        n_rows = sum(piece.n_rows or 0 for piece in pieces) if known else None
        n_jobs = max(1, min(self._n_jobs, len(pieces))) if isinstance(pieces, Sequence) else self._n_jobs
        with Bar("reading and counting", n_rows, self._show) as progress:

            def integers(item: tuple[int, Piece]) -> Iterator[NDArray[np.generic]]:
                for block, n_read in self._blocks(*item):
                    yield self._integers(kernel, block)
                    progress.advance(n_read)

            total = add_up(self._placed(pieces), integers, n_jobs)
        if total is not None:
            return total
        nothing = np.zeros((self.encoding.n_features, 0), self.encoding.dtype)
        empty = Block(nothing, np.zeros(0, np.int32), np.zeros(0, np.uint64), {})
        return np.asarray(self._integers(kernel, empty), dtype=np.int64)

    def derive(self, name: str, kernel: Kernel) -> StreamedTable:
        """Return a table in which each record also has the kernel's value under `name`."""
        table = StreamedTable(self._reading, self._pieces, self._n_jobs, self._show)
        table._derived = (*self._derived, (name, kernel))
        return table

    def _integers(self, kernel: Kernel, block: Block) -> NDArray[np.generic]:
        for name, deriving in self._derived:
            block = replace(block, state={**block.state, name: np.asarray(deriving(block))})
        return kernel(block)

    def _placed(self, pieces: Iterable[Piece]) -> Iterator[tuple[int, Piece]]:
        """Yield the pieces, each with the identity of its first record."""
        begin = 0
        for piece in pieces:
            assert piece.n_rows is not None
            yield 0 if self._reading.id is not None else begin, piece
            begin += piece.n_rows

    def _blocks(self, begin: int, piece: Piece) -> Iterator[tuple[Block, int]]:
        for records in encode_piece(piece, self._reading, _MOST_ROWS):
            yield Block(records.codes, records.target, records.places + np.uint64(begin), {}), records.n_read

    def __repr__(self) -> str:
        return f"StreamedTable({self.encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")
