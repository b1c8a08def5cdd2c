"""The table whose records were encoded once and are kept as codes, in memory or in a spill folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.progress import Bar
from privet.schema.encoding import Encoding
from privet.tables.passes import add_up, in_threads
from privet.tables.pieces import encode_piece
from privet.tables.piecewise import Reading, Records, joined
from privet.tables.protocol import Block, IntArray, Kernel
from privet.tables.source import Piece
from privet.tables.store import ArrayStore, Kept
from privet.tables.units import UnitRows, bound_pieces, in_group

# Kernels return arrays that may be large, so blocks are not too small; every thread holds one, so they are not large.
_MOST_ROWS, _MOST_BYTES = 1 << 18, 16 << 20
_ROWS_BOUNDED_AT_ONCE = 1 << 24  # of units, which takes some 80 bytes a row


@dataclass(frozen=True)
class _KeptBlock:
    """Some consecutive records. `first` is the identity of the record at place zero, which may have been left out."""

    codes: Kept
    target: Kept
    places: Kept | None  # None: all records are there, one after the other
    first: int
    n: int

    def open(self, state: Mapping[str, NDArray[np.generic]]) -> Block:
        rows = np.arange(self.n, dtype=np.uint64) if self.places is None else self.places.get()
        return Block(self.codes.get(), self.target.get(), rows + np.uint64(self.first), state)


class _Derived:
    """State that was asked for: the kernel, and its values for the blocks that were passed since."""

    def __init__(self, name: str, kernel: Kernel, n_blocks: int) -> None:
        self.name, self.kernel = name, kernel
        self.values: list[Kept | None] = [None] * n_blocks


class KeptTable:
    """Records as codes, in blocks. Threads take the blocks in turn; state is derived in the pass that first needs it.

    Made by `encode_pieces`.
    """

    def __init__(self, encoding: Encoding, blocks: Sequence[_KeptBlock], store: ArrayStore, n_jobs: int) -> None:
        self._encoding, self._blocks, self._store, self._n_jobs = encoding, blocks, store, n_jobs
        self._settled: dict[str, list[Kept | None]] = {}  # state that all blocks have
        self._pending: tuple[_Derived, ...] = ()  # state that the next pass computes, in this order
        self.n_read: int | None = None  # rows without a known label included

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self._encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks and add up its integers."""
        n_jobs = min(self._n_jobs, len(self._blocks))
        total = add_up(range(len(self._blocks)), lambda place: (kernel(self._open(place)),), n_jobs)
        assert total is not None  # a table without records still has one block
        # From now on every block has this state, and older state of the same name is no longer needed.
        self._settled |= {derived.name: derived.values for derived in self._pending}
        self._pending = ()
        return total

    def derive(self, name: str, kernel: Kernel) -> KeptTable:
        """Return a table in which each record also has the kernel's value under `name`."""
        table = KeptTable(self._encoding, self._blocks, self._store, self._n_jobs)
        table._settled = dict(self._settled)
        table._pending = (*self._pending, _Derived(name, kernel, len(self._blocks)))
        return table

    def close(self) -> None:
        """Give back what the table holds on disk."""
        self._store.close()

    def _open(self, place: int) -> Block:
        state = {name: _get(values[place]) for name, values in self._settled.items()}
        block = self._blocks[place].open(state)
        for derived in self._pending:
            kept = derived.values[place]
            if kept is None:
                value = np.asarray(derived.kernel(block))
                derived.values[place] = self._store.keep(value)
            else:
                value = kept.get()
            block = Block(block.codes, block.target, block.rows, {**block.state, derived.name: value})
        return block

    def __repr__(self) -> str:
        return f"KeptTable({self._encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")


def _get(kept: Kept | None) -> NDArray[Any]:
    assert kept is not None
    return kept.get()


@dataclass(frozen=True)
class _Encoded:
    """A block before it is known where its piece begins, with units that are still to be bounded."""

    block: _KeptBlock  # its first identity counts from the beginning of the piece
    unit_ids: Kept | None
    unit_ranks: Kept | None
    piece: int
    n_read: int

    @classmethod
    def of(cls, store: ArrayStore, piece: int, records: Records) -> _Encoded:
        units = records.units
        ids, ranks = (None, None) if units is None else (store.keep(units.ids), store.keep(units.ranks))
        return cls(_keep_block(store, records), ids, ranks, piece, records.n_read)

    def unit_rows(self) -> UnitRows:
        return UnitRows(_get(self.unit_ids), _get(self.unit_ranks))


def encode_pieces(
    pieces: Sequence[Piece] | Iterator[Piece], reading: Reading, store: ArrayStore, n_jobs: int, progress: Bar
) -> KeptTable:
    """Read and encode all pieces once; bound the rows of units over all of them; return the table.

    Where pieces begin is known when all have been read, so that records have the same identities as in one frame.
    """
    item = reading.encoding.dtype.itemsize
    most_rows = max(1, min(_MOST_ROWS, _MOST_BYTES // (reading.encoding.n_features * item)))

    def work(shared: Iterator[tuple[int, Piece]]) -> list[_Encoded]:
        found = []
        for number, piece in shared:
            for records in _blocks(reading, piece, most_rows):
                found.append(_Encoded.of(store, number, records))
                progress.advance(records.n_read)
        return found

    parts = in_threads(enumerate(pieces), work, n_jobs)
    # A stable sort: blocks of one piece come from one thread, in their order.
    encoded = sorted((block for part in parts for block in part), key=lambda block: block.piece)
    blocks, begins = list[_KeptBlock](), _begins(encoded, reading)
    for found, mask, begin in zip(encoded, _bounded(encoded, reading), begins, strict=True):
        block = found.block if mask is None else _without_others(store, found.block, mask)
        blocks.append(replace(block, first=block.first + begin))
    if not blocks:  # a table without records still has one block, from which a kernel returns zeros of the right shape
        nothing = np.zeros((reading.encoding.n_features, 0), reading.encoding.dtype)
        blocks = [_KeptBlock(store.keep(nothing), store.keep(np.zeros(0, np.int32)), None, 0, 0)]
    table = KeptTable(reading.encoding, blocks, store, n_jobs)
    table.n_read = sum(block.n_read for block in encoded)
    return table


def _blocks(reading: Reading, piece: Piece, most_rows: int) -> Iterator[Records]:
    """Encode a piece into blocks of about so many records."""
    gathered, n = list[Records](), 0
    for records in encode_piece(piece, reading, most_rows):
        if gathered and n + records.n_read > most_rows:
            yield joined(gathered)
            gathered, n = [], 0
        gathered.append(records)
        n += records.n_read
    if gathered:
        yield joined(gathered)


def _begins(encoded: Sequence[_Encoded], reading: Reading) -> Iterator[int]:
    """Yield for each block how many records there are before its piece; with ids of their own they are not counted."""
    before, begin, piece = 0, 0, -1
    for block in encoded:
        if block.piece != piece:
            piece, begin = block.piece, before
        yield 0 if reading.id is not None else begin
        before += block.n_read


def _keep_block(store: ArrayStore, records: Records) -> _KeptBlock:
    codes, target, places = store.keep(records.codes), store.keep(records.target), records.places
    # Differences wrap around, so that no id is too large, nor a negative one, whose word is near the largest of all.
    if len(places) and np.array_equal(places - places[0], np.arange(len(places), dtype=np.uint64)):
        return _KeptBlock(codes, target, None, int(places[0]), len(places))
    return _KeptBlock(codes, target, store.keep(places), 0, len(places))


def _without_others(store: ArrayStore, block: _KeptBlock, mask: NDArray[np.bool_]) -> _KeptBlock:
    """Leave out the records that are not marked, and those without a known label."""
    opened = block.open({})
    return _keep_block(store, Records(opened.codes, opened.target, opened.rows, block.n).take(mask).labelled())


def _bounded(encoded: Sequence[_Encoded], reading: Reading) -> Sequence[NDArray[np.bool_] | None]:
    """Return for each block which records stay, at most `max_rows` of each unit over all blocks; None without units.

    Units are divided into groups by their ids, and one group is bounded after the other, so that memory stays bounded
    however many units there are.
    """
    if reading.unit is None:
        return [None] * len(encoded)
    n_groups = 1 + sum(block.n_read for block in encoded) // _ROWS_BOUNDED_AT_ONCE
    masks = [np.zeros(0, dtype=bool)] * len(encoded)
    for group in range(n_groups):
        inside = [in_group(block.unit_rows().ids, group, n_groups) for block in encoded]
        rows = [block.unit_rows().take(mine) for block, mine in zip(encoded, inside, strict=True)]
        for place, kept in enumerate(bound_pieces(rows, reading.unit.max_rows) if rows else []):
            if group == 0:
                masks[place] = np.zeros(len(inside[place]), dtype=bool)
            masks[place][inside[place]] = kept
    return masks
