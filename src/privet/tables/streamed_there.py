"""One pass over files on a cluster: workers read, encode and count, and nothing of the records is kept anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.schema.encoding import Encoding
from privet.tables import worker_tasks as tasks
from privet.tables.described import Job
from privet.tables.pieces import encode_piece
from privet.tables.piecewise import Reading
from privet.tables.protocol import Block, IntArray, Kernel
from privet.tables.source import Piece

_MOST_ROWS = 1 << 18  # that a kernel sees at once

Placed = tuple[int, Piece]
"""A piece, and the identity of its first record."""


@dataclass(frozen=True, repr=False)  # clusters log the arguments of tasks that fail
class CountPiece:
    """What a worker does with a piece: a pure function, which may run twice."""

    reading: Reading
    derived: tuple[tuple[str, Kernel], ...]
    kernel: Kernel

    def __call__(self, placed: Placed) -> IntArray:
        """Read a piece and return the sum of the kernel's integers over its records."""
        first, piece = placed
        total = self.integers(tasks.empty_block(self.reading.encoding))
        for records in encode_piece(piece, self.reading, _MOST_ROWS):
            total = total + self.integers(Block(records.codes, records.target, records.places + np.uint64(first), {}))
        return total

    def integers(self, block: Block) -> IntArray:
        """Give the records their state, and count."""
        for name, kernel in self.derived:
            block = tasks.with_state(block, name, kernel)
        return tasks.integers(self.kernel, block, block.state)


class StreamedThere:
    """Files whose pieces are read by the workers of a cluster, for learners of one pass.

    Parameters
    ----------
    reading : Reading
        How records become codes; without units.
    pieces : sequence of Piece
        The pieces, each of which knows its number of records.
    add_up : function
        Lets the workers call a function with each of some items, and returns the sum of the results.

    Notes
    -----
    *Privacy.* Identities of records follow from the numbers of records that files state about themselves, and a worker
    refuses a file that is not the one that was found. So a task that is repeated counts the same records in the same
    trees, and no checksum is needed: nothing of a first reading is used with a second one.
    """

    def __init__(
        self, reading: Reading, pieces: Sequence[Piece], add_up: Callable[[Sequence[Placed], CountPiece], IntArray]
    ) -> None:
        self._reading, self._pieces, self._add_up = reading, pieces, add_up
        self._derived: tuple[tuple[str, Kernel], ...] = ()

    @property
    def encoding(self) -> Encoding:
        """How the records become codes."""
        return self._reading.encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all records in the workers, and add up its integers."""
        work, items, begin = CountPiece(self._reading, self._derived, kernel), list[Placed](), 0
        for piece in self._pieces:
            items.append((0 if self._reading.id is not None else begin, piece))
            begin += piece.n_rows or 0
        return self._add_up(items, work) if items else work.integers(tasks.empty_block(self.encoding))

    def derive(self, name: str, kernel: Kernel) -> StreamedThere:
        """Return a table in which each record also has the kernel's value under `name`."""
        table = StreamedThere(self._reading, self._pieces, self._add_up)
        table._derived = (*self._derived, (name, kernel))
        return table

    def __repr__(self) -> str:
        return f"StreamedThere({self.encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")


def can_stream(job: Job, pieces: Sequence[Piece]) -> bool:
    """Whether one pass is enough, and it is known beforehand which identities the records of each piece have."""
    return job.one_pass and job.reading.unit is None and all(piece.n_rows is not None for piece in pieces)


def apply(work: CountPiece, placed: Any) -> IntArray:
    """Call the function with a piece: for engines that send functions and arguments apart."""
    return work(placed)
