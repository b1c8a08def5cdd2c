"""Encoding a table piece by piece: a pure function of each piece alone, which can travel to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.frames.columns import Category
from privet.frames.opening import open_frame
from privet.schema.encoding import ClassTarget, Encoding
from privet.schema.schema import Unit
from privet.tables.units import UnitRows, read_units

_BYTES_READ_AT_ONCE = 8 << 20  # of doubles: what one thread holds of a file before it is encoded
_FEWEST_ROWS_READ_AT_ONCE, _MOST_ROWS_READ_AT_ONCE = 1 << 10, 1 << 17

Declared = Mapping[str, tuple[Category, ...] | None]


@dataclass(frozen=True, repr=False)  # clusters log the arguments of tasks that fail
class Records:
    """Encoded records of one piece.

    Attributes
    ----------
    codes : array of shape (n_features, n)
        The features' codes.
    target : int32 array of shape (n,)
        The class, or the level of a regression target; negative where it is unknown.
    places : uint64 array of shape (n,)
        The place of each record within its piece; or, where an id column is declared, the word of the record's id.
    n_read : int
        How many records were read, those that were left out included.
    units : UnitRows or None
        Which unit each record belongs to, if the schema declares units.
    """

    codes: NDArray[np.unsignedinteger]
    target: NDArray[np.int32]
    places: NDArray[np.uint64]
    n_read: int
    units: UnitRows | None = None

    def take(self, kept: NDArray[np.bool_]) -> Records:
        """Return the marked records only."""
        if kept.all():
            return self
        units = None if self.units is None else self.units.take(kept)
        codes = np.ascontiguousarray(self.codes[:, kept])
        return Records(codes, self.target[kept], self.places[kept], self.n_read, units)

    def in_order(self, order: NDArray[np.intp]) -> Records:
        """Return the records in another order."""
        units = None if self.units is None else UnitRows(self.units.ids[:, order], self.units.ranks[order])
        codes = np.ascontiguousarray(self.codes[:, order])
        return Records(codes, self.target[order], self.places[order], self.n_read, units)

    def labelled(self) -> Records:
        """Return the records with a known label only, without their units: those that a learner sees."""
        return Records(self.codes, self.target, self.places, self.n_read).take(self.target >= 0)


@dataclass(frozen=True)
class Reading:
    """How records become codes: all that a worker must know, and nothing of any record.

    Parameters
    ----------
    encoding : Encoding
        The learner's encoding.
    target : str or None
        The column to predict; None where only features are read.
    unit : Unit, optional
        The unit that the schema declares.
    id : str, optional
        A column with another value in every record, for an engine whose records have no stable order.
    key : bytes
        A fresh secret key, by which rows of a unit are chosen.
    also : tuple of str
        Further columns that are read along and do not become codes.
    unlabelled : bool
        Whether records without a known label stay, with a negative target; not together with units.

    Notes
    -----
    *Privacy.* Each record's codes, place and unit depend on that record alone (and a place on how many records stand
    before it in its piece). Records without a known label (unless `unlabelled`), a unit or an id are left out, one by
    one. The unit's rows are bounded afterwards, over all pieces together: see `privet.tables.units.bound_pieces`.
    """

    encoding: Encoding
    target: str | None
    unit: Unit | None = None
    id: str | None = None
    key: bytes = field(default=b"", repr=False)
    also: tuple[str, ...] = ()
    unlabelled: bool = False

    def __post_init__(self) -> None:
        names = [column.name for column in self.encoding.columns]
        for what, name in (("target", self.target), ("id", self.id)):
            if name is not None and name in names:
                raise SchemaError(f"the {what} column {name!r} is also a feature of the schema; name another column")
        if self.unit is not None and self.unit.column in (self.target, self.id):
            raise SchemaError(f"the unit's column {self.unit.column!r} is also the target or id; name another column")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read: features, target, unit and id."""
        return tuple(dict.fromkeys([*(column.source for column in self.encoding.columns), *self.columns_beside]))

    @property
    def columns_beside(self) -> tuple[str, ...]:
        """The columns that are read beside the features: target, unit and id."""
        unit = None if self.unit is None else self.unit.column
        others = [name for name in (self.target, unit, self.id, *self.also) if name is not None]
        return tuple(dict.fromkeys(others))

    @property
    def declared(self) -> Declared:
        """How features and target are read from text, which declares no type: their categories, or None for numbers."""
        target = self.encoding.target
        of_target = target.classes if isinstance(target, ClassTarget) else None
        declared = {column.source: column.categories_in_text for column in self.encoding.columns}
        return declared if self.target is None else declared | {self.target: of_target}

    @property
    def rows_at_once(self) -> int:
        """How many records to read at once, so that memory does not depend on how large files or row groups are."""
        rows = _BYTES_READ_AT_ONCE // (8 * len(self.columns))
        return max(_FEWEST_ROWS_READ_AT_ONCE, min(_MOST_ROWS_READ_AT_ONCE, rows))

    def encode(self, frame: Any, first_place: int = 0) -> Records:
        """Encode a frame, which may have further columns; its first record has this place within its piece."""
        return self.records(self.encode_features(frame), frame, first_place)

    def records(self, codes: NDArray[np.unsignedinteger], beside: Any, first_place: int) -> Records:
        """Return the records with these codes; target, unit and id are in a frame, which may have further columns."""
        opened = open_frame(beside)
        assert self.target is not None
        target = self.encoding.encode_target(opened.named(self.target))
        places = np.arange(first_place, first_place + len(target), dtype=np.uint64)
        kept, units = (target >= 0) | self.unlabelled, None
        if self.id is not None:
            ids = read_units(opened.named(self.id))
            places, kept = ids.words, kept & ids.present
        if self.unit is not None:
            of_unit = read_units(opened.named(self.unit.column))
            units = of_unit.rows(codes, target, self.key)
            # Records without a known label stay for now: as in memory, they count among the rows of their unit.
            kept = of_unit.present if self.id is None else of_unit.present & ids.present
        return Records(codes, target, places, len(target), units).take(kept)

    def encode_features(self, frame: Any) -> NDArray[np.unsignedinteger]:
        """Encode the features of a frame, which may have further columns."""
        codes: NDArray[np.unsignedinteger] = self.encoding.encode(frame, ignore=open_frame(frame).names or ())
        return codes

    def encode_all(self, frames: Iterable[Any], place: int = 0) -> Iterator[Records]:
        """Encode the frames of one piece, in their order, from this place on."""
        for frame in frames:
            records = self.encode(frame, place)
            yield records
            place += records.n_read


def joined(parts: list[Records]) -> Records:
    """Put consecutive records of one piece together."""
    if len(parts) == 1:
        return parts[0]
    units = [part.units for part in parts if part.units is not None]
    return Records(
        np.ascontiguousarray(np.concatenate([part.codes for part in parts], axis=1)),
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.places for part in parts]),
        sum(part.n_read for part in parts),
        UnitRows.joined(units) if units else None,
    )
