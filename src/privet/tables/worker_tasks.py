"""What workers of a cluster do with the pieces of a table: pure functions, which may run twice, late, or elsewhere.

A worker encodes a piece once and keeps its codes. If it is lost, another one does the same again, and since a result
never contains noise, nothing changes. That the second encoding is the first one is not taken for granted: some engines
hand out records in another order, or other records, when a partition is computed again, and then a record could be
counted in two trees. So the driver knows a checksum of every piece, and each new copy is held against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import TableChangedError
from privet.schema.encoding import Encoding
from privet.tables import pieces
from privet.tables.engine_errors import PARTITION_CHANGED
from privet.tables.piecewise import Reading, Records, joined
from privet.tables.protocol import Block, IntArray, Kernel
from privet.tables.source import Piece
from privet.tables.units import UnitRows, in_group

_MOST_ROWS = 1 << 62  # a piece is one block here: there are as many as files have row groups


@dataclass(frozen=True, repr=False)  # clusters log the arguments of tasks that fail
class Summary:
    """All that the driver learns of a piece before the first pass.

    Attributes
    ----------
    n_read : int
        How many records were read, from which the identities of the records in later pieces follow.
    checksum : int
        Of everything that was encoded, 128 bits: that other records have the same is as good as impossible.
    """

    n_read: int
    checksum: int


@dataclass(frozen=True, repr=False)
class Expected:
    """What a piece must be whenever it is encoded again, and the identity of its first record."""

    checksum: int
    first: int


def encode_own_piece(piece: Piece, reading: Reading) -> Records:
    """Encode a piece that the worker reads by itself."""
    return _whole(list(pieces.encode_piece(piece, reading, _MOST_ROWS)), reading)


def encode_frames(frames: Iterable[Any], reading: Reading) -> Records:
    """Encode the frames of one piece, in their order; or, with ids, in the order of the ids."""
    return _whole(list(reading.encode_all(frames)), reading)


def _whole(parts: list[Records], reading: Reading) -> Records:
    if not parts:
        columns, nothing = reading.encoding.n_features, np.zeros(0, dtype=np.uint64)
        units = None if reading.unit is None else UnitRows(np.zeros((2, 0), dtype=np.uint64), nothing)
        codes = np.zeros((columns, 0), reading.encoding.dtype)
        return Records(codes, np.zeros(0, dtype=np.int32), nothing, 0, units)
    records = joined(parts)
    return records if reading.id is None else records.in_order(np.argsort(records.places, kind="stable"))


def summary(records: Records) -> Summary:
    """Return what the driver needs to know."""
    return Summary(records.n_read, _checksum(records))


def _checksum(records: Records) -> int:
    arrays = [records.codes, records.target, records.places]
    if records.units is not None:
        arrays += [records.units.ids, records.units.ranks]
    digest = blake2b(records.n_read.to_bytes(8, "little"), digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return int.from_bytes(digest.digest(), "little")


def verified(records: Records, expected: Expected) -> Records:
    """Return the records if they are those that the driver knows of.

    Raises
    ------
    TableChangedError
        If the engine computed the piece again and got other records, or the same in another order.
    """
    if _checksum(records) != expected.checksum:
        raise TableChangedError(PARTITION_CHANGED)
    return records


def units_by_group(records: Records, n_groups: int) -> list[UnitRows]:
    """Divide the rows of a piece by their units, so that each group of units can be bounded by another worker."""
    assert records.units is not None
    return [records.units.take(in_group(records.units.ids, group, n_groups)) for group in range(n_groups)]


def block_of(records: Records, expected: Expected, masks: Sequence[NDArray[np.bool_]] | None) -> Block:
    """Return the block that learners see: records that take part, and of each unit only the marked ones."""
    if masks is not None:
        assert records.units is not None
        kept = np.zeros(len(records.target), dtype=bool)
        for group, mask in enumerate(masks):
            kept[in_group(records.units.ids, group, len(masks))] = mask
        records = records.take(kept).labelled()  # without units, those that do not take part were left out before
    return Block(records.codes, records.target, records.places + np.uint64(expected.first), {})


def empty_block(encoding: Encoding) -> Block:
    """Return a block without records, from which a kernel returns zeros of the right shape."""
    codes = np.zeros((encoding.n_features, 0), encoding.dtype)
    return Block(codes, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint64), {})


def with_state(block: Block, name: str, kernel: Kernel) -> Block:
    """Return the block in which each record also has the kernel's value."""
    return replace(block, state={**block.state, name: np.asarray(kernel(block))})


def run(kernel: Kernel, block: Block, state: Mapping[str, NDArray[np.generic]]) -> NDArray[np.generic]:
    """Run a kernel on a block whose records have this state."""
    return np.asarray(kernel(replace(block, state=state)))


def integers(kernel: Kernel, block: Block, state: Mapping[str, NDArray[np.generic]]) -> IntArray:
    """Run a kernel whose integers are to be added up."""
    return run(kernel, block, state).astype(np.int64, copy=False)


def added(*parts: IntArray) -> IntArray:
    """Add up the integers of several blocks."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def expectations(summaries: Sequence[Summary], reading: Reading) -> list[Expected]:
    """Return what each piece must be, and where its identities begin: as if all pieces were one frame."""
    found, begin = [], 0
    for piece in summaries:
        found.append(Expected(piece.checksum, 0 if reading.id is not None else begin))
        begin += piece.n_read
    return found


def n_read(summaries: Sequence[Summary]) -> int:
    """Return how many rows were read, with a known label or without."""
    return sum(piece.n_read for piece in summaries)


def n_unit_groups(summaries: Sequence[Summary], most_rows_at_once: int) -> int:
    """Return into how many groups units are divided, so that one worker can bound a group in its memory."""
    return 1 + n_read(summaries) // most_rows_at_once
