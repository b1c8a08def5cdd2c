"""Units of privacy: which rows belong to one unit, and which of them stay when it has too many."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.frames.columns import read_values
from privet.frames.opening import open_frame
from privet.randomness.hashing import siphash_rows
from privet.tables.protocol import IntArray

_MOST_DIGITS_OF_AN_ID = 4000  # Python itself refuses to write much longer numbers


@dataclass(frozen=True)
class Units:
    """Which unit each row belongs to.

    Parameters
    ----------
    ids : array
        Equal for two rows if and only if they belong to the same unit.
    words : uint64 array
        A word for each unit, to be hashed. Two units may share one without harm.
    present : bool array
        Whether a row belongs to a unit at all; where it does not, `ids` and `words` mean nothing.
    texts : tuple of str, optional
        The units' texts, if `ids` are places in this tuple and so mean nothing outside this column.
    """

    ids: NDArray[Any]
    words: NDArray[np.uint64]
    present: NDArray[np.bool_]
    texts: tuple[str, ...] | None = None

    def rows(self, codes: NDArray[np.unsignedinteger], target: NDArray[np.int32], key: bytes) -> UnitRows:
        """Return each row's unit and rank in a form that can be compared with rows of other pieces of the table."""
        ids = np.zeros((2, len(self.present)), dtype=np.uint64)
        if self.texts is None:
            ids[0] = self.words
        elif self.texts:
            digests = np.array([_digest(text, key) for text in self.texts], dtype=np.uint64)
            ids[:] = digests[np.maximum(self.ids, 0)].T
        return UnitRows(ids, _ranks(self.words, codes, target, key))


@dataclass(frozen=True, repr=False)  # clusters log the arguments of tasks that fail
class UnitRows:
    """Rows of one piece of a table: the unit of each, and its rank among the rows of this unit.

    Parameters
    ----------
    ids : uint64 array of shape (2, n)
        Equal for two rows if and only if they belong to the same unit, in whichever piece they are. Numbers are their
        own ids. Texts, and numbers that NumPy does not have, are hashed to 128 bits under the fit's secret key: the
        chance that any two of n units share an id is below n^2 / 2^129 (10^-17 for 10^11 units), whatever their names.
    ranks : uint64 array of shape (n,)
        A keyed hash of unit and content.
    """

    ids: NDArray[np.uint64]
    ranks: NDArray[np.uint64]

    def take(self, kept: NDArray[np.bool_]) -> UnitRows:
        """Return the marked rows only."""
        return UnitRows(self.ids[:, kept], self.ranks[kept])

    @classmethod
    def joined(cls, parts: Sequence[UnitRows]) -> UnitRows:
        """Put the rows of several pieces together."""
        return cls(np.concatenate([part.ids for part in parts], axis=1), np.concatenate([part.ranks for part in parts]))


@np.errstate(all="ignore")
def read_units(column: Any) -> Units:
    """Read the column that names the units, exactly, as its declared dtype says.

    Whole numbers, decimals and strings are distinguished to the last digit, and floats by their value. (Floats hold
    whole numbers exactly up to 2^53; larger neighbouring numbers were already equal in the user's column.) A column of
    plain objects has no dtype to go by: see `canonical_id`. Missing values, NaN and infinities name no unit.

    *Privacy.* Which rows form one unit is part of the guarantee. If two people were merged into one unit, removing one
    could bring in rows of the other. If one person were split into two, they would be protected half as well. Each
    value is read on its own, and errors depend on the dtype alone.
    """
    values = read_values(column, exact=True)
    if values.kind in (
        "unsupported",
        "date",
    ):  # read as equal, or as equal days, which would merge people into one unit
        raise SchemaError(f"units cannot be read from a column of dtype {values.dtype}; convert it to text or integers")
    data, texts = values.data, None
    if values.labels is not None:
        of_label, words, texts = _number_texts(map(canonical_id, values.labels))
        ids, words = np.append(of_label, -1).take(data), np.append(words, np.uint64(0)).take(data)
        present = ids >= 0
    elif data.dtype == object:
        ids, words, texts = _number_texts(map(canonical_id, data))
        present = ids >= 0
    elif data.dtype.kind == "f":
        present = np.isfinite(data)
        ids = data + data.dtype.type(0)  # turns -0.0 into 0.0
        words = ids.astype(np.float64).view(np.uint64)
    else:
        present = np.ones(len(data), dtype=bool)
        ids, words = data, data.astype(np.uint64)
    return Units(ids, words, present if values.absent is None else present & ~values.absent, texts)


def canonical_id(value: object) -> str | None:
    """Return the string that stands for an id in a column of plain objects; None if it names no unit.

    A string stands for itself; bytes are decoded as UTF-8. A number of any type becomes its decimal digits without
    trailing zeros: ``7``, ``np.int64(7)``, ``7.0``, ``Decimal("7.00")`` and ``"7"`` are one unit, while the strings
    ``"07"`` and ``"7.0"`` are two others. A bool becomes ``"True"`` or ``"False"``, and a UUID its usual text. Anything
    else names no unit.

    Examples
    --------
    >>> [canonical_id(value) for value in (7, 7.0, "7", b"7", Decimal("7.50"), float("nan"), [7])]
    ['7', '7', '7', '7', '7.5', None, None]
    """
    if type(value) is str:
        return value
    try:
        return _text_of(value)
    except Exception:  # a value that fails in any way names no unit
        return None


def _text_of(value: object) -> str | None:
    # A subclass may override any of these methods, so those of the base class are called.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return bytes.decode(value, "utf-8", "surrogateescape")
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int.__repr__(int(value))
    if isinstance(value, float):
        return _text_of_ratio(float.as_integer_ratio(value), float.__repr__(value))
    if isinstance(value, np.floating):
        return _text_of_ratio(value.as_integer_ratio(), np.format_float_scientific(value))
    if isinstance(value, Decimal):
        return _text_of_decimal(value)
    return UUID.__str__(value) if isinstance(value, UUID) else None


def _text_of_ratio(ratio: tuple[int, int], shortest: str) -> str | None:
    return int.__repr__(ratio[0]) if ratio[1] == 1 else _text_of_decimal(Decimal(shortest))


def _text_of_decimal(value: Decimal) -> str | None:
    if not Decimal.is_finite(value):
        return None
    if Decimal.is_zero(value):
        return "0"
    if abs(Decimal.adjusted(value)) > _MOST_DIGITS_OF_AN_ID:
        return None
    text = Decimal.__format__(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number_texts(texts: Iterable[str | None]) -> tuple[IntArray, NDArray[np.uint64], tuple[str, ...]]:
    """Number the strings in order of appearance, with -1 for None, and hash each to a word."""
    every = list(texts)
    distinct = [text for text in dict.fromkeys(every) if text is not None]
    number_of: dict[str | None, int] = {text: number for number, text in enumerate(distinct)} | {None: -1}
    numbers = np.fromiter(map(number_of.__getitem__, every), dtype=np.int64, count=len(every))
    words = np.fromiter(map(_word, distinct), dtype=np.uint64, count=len(distinct))
    return numbers, np.append(words, np.uint64(0)).take(numbers), tuple(distinct)


def _word(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _digest(text: str, key: bytes) -> tuple[int, int]:
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()
    return int.from_bytes(hashed[:8], "little"), int.from_bytes(hashed[8:], "little")


def n_units(X: Any, column: str) -> int:
    """Count the units of a frame exactly. The number is as private as the frame."""
    units = read_units(open_frame(X).named(column))
    return len(np.unique(units.ids[units.present]))


def bound_rows(
    units: Units,
    codes: NDArray[np.unsignedinteger],
    target: NDArray[np.int32],
    max_rows: int,
    key: bytes,
) -> NDArray[np.bool_]:
    """Mark at most `max_rows` records of each unit, those with the smallest keyed hash of unit and content.

    *Privacy.* Which rows of a unit stay depends on that unit's rows and the fresh secret key alone, so adding or
    removing a unit adds or removes at most `max_rows` records and changes no other. Equal rows of a unit have equal
    hashes; which of them stays makes no difference. Rows without a unit are left out. Units are distinguished by their
    ids, not by hashes.
    """
    rows = np.flatnonzero(units.present)
    kept = np.zeros(len(units.present), dtype=bool)
    kept[rows[_first_of_each([units.ids[rows]], _ranks(units.words, codes, target, key)[rows], max_rows)]] = True
    return kept


def bound_pieces(parts: Sequence[UnitRows], max_rows: int) -> list[NDArray[np.bool_]]:
    """Do the same for rows that are spread over the pieces of a table, given in the table's order.

    The very same records stay as if all pieces were one frame: ranks are a function of unit and content, and of equal
    rows the first stays.
    """
    whole = UnitRows.joined(parts)
    kept = np.zeros(len(whole.ranks), dtype=bool)
    kept[_first_of_each([whole.ids[1], whole.ids[0]], whole.ranks, max_rows)] = True
    return np.split(kept, np.cumsum([len(part.ranks) for part in parts])[:-1])


def in_group(ids: NDArray[np.uint64], group: int, n_groups: int) -> NDArray[np.bool_]:
    """Mark the rows whose unit is in one of so many groups of units: all rows of a unit are in the same group."""
    # Multiplying by an odd constant spreads ids that are consecutive numbers; the upper bits are the best mixed.
    spread = ((ids[0] ^ ids[1]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    mine: NDArray[np.bool_] = spread % np.uint64(n_groups) == np.uint64(group)
    return mine


def _ranks(
    words: NDArray[np.uint64], codes: NDArray[np.unsignedinteger], target: NDArray[np.int32], key: bytes
) -> NDArray[np.uint64]:
    """Return each row's rank: a keyed hash of its unit and its content."""
    content = np.vstack([codes.astype(np.uint16), target.astype(np.uint16)[None, :]])
    return siphash_rows(key, words, content)


def _first_of_each(ids: Sequence[NDArray[Any]], ranks: NDArray[np.uint64], number: int) -> NDArray[np.intp]:
    """Return the places of the rows that are among the first so many of their unit by rank."""
    order = np.lexsort((ranks, *ids))
    if not len(order):
        return order
    differ = np.zeros(len(order) - 1, dtype=bool)
    for part in ids:
        differ |= part[order[1:]] != part[order[:-1]]
    firsts = np.flatnonzero(np.append(True, differ))
    place = np.arange(len(order)) - np.repeat(firsts, np.diff(np.append(firsts, len(order))))
    return order[place < number]
