"""How a piece becomes records: a row group of modest size column by column, anything else batch by batch.

A reader of Parquet holds some megabytes for each column that it reads at the same time, however few rows are asked for.
So where the codes of a whole row group are no burden, its columns are read a few at a time, and each is turned into
codes before the next one is read: memory then does not grow with the number of columns, and values are still in the
processor's cache when they are encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np

from privet.frames.columns import read_values
from privet.tables.piecewise import Reading, Records
from privet.tables.source import Piece

_FEWEST_ROWS = 1 << 16  # in a piece, where there are more: small files are read together
_MOST_BYTES_OF_CODES = 1 << 27  # of a row group that one thread holds
_BYTES_READ_AT_ONCE = 1 << 20  # of doubles: as many columns as fit, at least one, so that they stay in a cache


@runtime_checkable
class ByColumns(Protocol):
    """A piece whose columns can be read one after the other. It knows how many records it has."""

    @property
    def n_rows(self) -> int:
        """The number of records, which is as private as they are."""
        ...

    def some_columns(self, groups: Sequence[Sequence[str]]) -> Iterator[Any]:
        """Read all records, once for each group of columns, as Arrow tables with these columns."""
        ...


class Bundle:
    """Small pieces that are read together, one after the other."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.name = pieces[0].name
        self.n_rows: int | None = sum(piece.n_rows or 0 for piece in pieces)

    def batches(self, most_rows: int) -> Iterator[Any]:
        """Read all pieces."""
        return chain.from_iterable(piece.batches(most_rows) for piece in self.pieces)


def bundled(pieces: Sequence[Piece]) -> list[Piece]:
    """Put consecutive small pieces together. Identities do not change: places go on from piece to piece."""
    found, waiting, n_rows = list[Piece](), list[Piece](), 0
    for piece in pieces:
        if waiting and (piece.n_rows is None or n_rows + piece.n_rows > _FEWEST_ROWS):
            found.append(Bundle(waiting) if len(waiting) > 1 else waiting[0])
            waiting, n_rows = [], 0
        if piece.n_rows is None:
            found.append(piece)
        else:
            waiting.append(piece)
            n_rows += piece.n_rows
    return [*found, *([Bundle(waiting) if len(waiting) > 1 else waiting[0]] if waiting else [])]


def encode_piece(piece: Piece, reading: Reading, most_rows: int) -> Iterator[Records]:
    """Read a piece and encode it, in order, into parts of at most so many records."""
    place = 0
    for part in piece.pieces if isinstance(piece, Bundle) else [piece]:
        if isinstance(part, ByColumns) and _fits(part, reading):
            found = _encode_by_columns(part, reading, most_rows, place)
        else:
            found = reading.encode_all(part.batches(min(reading.rows_at_once, most_rows)), place)
        for records in found:
            yield records
            place += records.n_read


def _fits(piece: ByColumns, reading: Reading) -> bool:
    return piece.n_rows * reading.encoding.n_features * reading.encoding.dtype.itemsize <= _MOST_BYTES_OF_CODES


def _encode_by_columns(piece: ByColumns, reading: Reading, most_rows: int, first: int) -> Iterator[Records]:
    encoding, n_rows = reading.encoding, piece.n_rows
    made_of: dict[str, list[int]] = {}
    for feature, column in enumerate(encoding.columns):
        made_of.setdefault(column.source, []).append(feature)
    sources = list(made_of)
    at_once = max(1, _BYTES_READ_AT_ONCE // (8 * max(1, n_rows)))
    groups = [sources[start : start + at_once] for start in range(0, len(sources), at_once)]
    codes = np.empty((encoding.n_features, n_rows), encoding.dtype)
    frames = piece.some_columns([*groups, reading.columns_beside])
    for names, frame in zip(groups, frames, strict=False):  # one more frame is left
        for name in names:
            for feature in made_of[name]:
                encoding.columns[feature].encode(read_values(frame.column(name)), codes[feature])
    (beside,) = frames
    for start in range(0, n_rows, most_rows):
        rows = slice(start, min(start + most_rows, n_rows))
        part = codes if n_rows <= most_rows else np.ascontiguousarray(codes[:, rows])
        yield reading.records(part, beside.slice(start, rows.stop - start), first + start)
