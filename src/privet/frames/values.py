"""The values of one column, in one of three forms: numbers, indices into a list of labels, or Python objects.

The rules of `privet.schema.encoding` work on these forms, whichever library the column came from.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from math import nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError

Category = str | int | float | bool
Kind = Literal["number", "float", "bool", "string", "object", "null", "unsupported"]
_ROWS_LOOKED_UP_AT_ONCE = 1 << 14  # intermediate results of so many rows stay in a cache
_MOST_TABLE_ENTRIES = 1 << 16  # of a lookup table from integers to codes; one of this size is made in no time
# How these types convert to a number, hash and compare is known, and they never warn.
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, Decimal, np.bool_, np.int64, np.float64, np.str_})


@dataclass(frozen=True)
class Values:
    """One column of a frame, in one of three forms.

    Parameters
    ----------
    kind
        What the declared dtype says. "float" is also pandas' dtype for a column that is all missing.
    dtype
        The dtype as its library calls it, for messages.
    data
        Numbers; or, with `labels`, indices into them (-1 is missing); or an array of Python objects.
    absent
        Where `data` holds no value, if any such place is marked.
    labels
        What the indices stand for.
    declared
        Whether the labels are part of the dtype rather than found among the values.
    """

    kind: Kind
    dtype: str
    data: npt.NDArray[Any]
    absent: npt.NDArray[np.bool_] | None = None
    labels: list[Any] | None = None
    declared: bool = False

    def numbers(self) -> npt.NDArray[Any]:
        """The values as numbers, NaN where one is not a number; `absent` still has to be applied."""
        if self.labels is not None:
            by_label = np.array([*map(_number, self.labels), nan], dtype=np.float64)
            return by_label.take(self.data)
        if self.data.dtype == object:
            return np.array([_number(value) for value in self.data], dtype=np.float64)
        return self.data

    def objects(self) -> npt.NDArray[np.object_]:
        """The values as Python objects, None where one is missing; an error where the dtype cannot be read at all."""
        if self.kind == "unsupported":
            raise SchemaError(f"a column of dtype {self.dtype} cannot be read; convert it to text or to whole numbers")
        if self.labels is not None:
            labels = [None if is_missing(label) else label for label in self.labels]
            return np.fromiter([*labels, None], dtype=object).take(self.data)
        plain = [None if is_missing(value) else value for value in self.data.tolist()]
        objects = np.fromiter(plain, dtype=object, count=len(plain))
        if self.absent is not None:
            objects[self.absent] = None
        return objects

    def missing(self) -> npt.NDArray[np.bool_]:
        """Where there is no value, as opposed to one that cannot be read."""
        if self.labels is not None:
            missing = np.array([*map(is_missing, self.labels), True]).take(self.data)
        elif self.data.dtype == object:
            missing = np.fromiter(map(is_missing, self.data), dtype=bool, count=len(self.data))
        else:
            missing = np.isnan(self.data) if self.data.dtype.kind == "f" else np.zeros(len(self.data), dtype=bool)
        return missing if self.absent is None else missing | self.absent

    def match(self, categories: Sequence[Category], *, unknown: int, missing: int) -> npt.NDArray[np.int32]:
        """The index of the category that each value equals, or `unknown`, or `missing`."""
        code_of = {category: code for code, category in enumerate(categories)}

        def code(value: Any) -> int:
            try:
                if type(value) in _PLAIN:
                    return code_of[value]
                with quietly():
                    return code_of[value]
            except Exception:  # odd values may fail in any way (unhashable, ...); they are unknown like any other
                return missing if is_missing(value) else unknown

        if self.labels is not None:
            by_label = np.array([*map(code, self.labels), missing], dtype=np.int32)
            codes: npt.NDArray[np.int32] = by_label.take(self.data)
        elif self.data.dtype == object:
            codes = np.fromiter(map(code, self.data), dtype=np.int32, count=len(self.data))
        else:
            codes = _match_numbers(self.data, code_of, unknown, missing)
        if self.absent is not None:
            codes[self.absent] = missing
        return codes


def is_missing(value: Any) -> bool:
    """Whether a Python value stands for no value: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        if type(value) in _PLAIN:
            return bool(value != value)
        with quietly():
            return bool(value != value)
    except Exception:
        return False


def _number(value: Any) -> float:
    try:
        if type(value) in _PLAIN:
            return float(value)
        if isinstance(value, np.ndarray | np.complexfloating):
            return nan  # NumPy would convert only a part of it
        with quietly():
            return float(value)
    except Exception:  # as above: whatever is not a number counts as missing
        return nan


@contextmanager
def quietly() -> Iterator[None]:
    """Let no warning out, since it would reveal something about a value.

    Warning filters belong to the whole process, so this is for odd values only.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@np.errstate(all="ignore")  # a signalling NaN warns when it is compared or cast
def _match_numbers(
    data: npt.NDArray[Any], code_of: dict[Category, int], unknown: int, missing: int
) -> npt.NDArray[np.int32]:
    """Match a whole array at once. Only categories that the dtype can hold can match (floats up to their precision)."""
    if data.dtype.kind == "b":
        data = data.view(np.uint8)
    numeric = {category: code for category, code in code_of.items() if not isinstance(category, str)}
    if data.dtype.kind == "f":
        fits = {category: code for category, code in numeric.items() if float(category) == category}
    else:
        limits = np.iinfo(data.dtype)
        fits = {
            int(category): code
            for category, code in numeric.items()
            if category == int(category) and limits.min <= category <= limits.max
        }
    keys, first = np.unique(np.array(list(fits), dtype=data.dtype), return_index=True)
    key_codes = np.array(list(fits.values()), dtype=np.int32)[first]
    if len(keys) == 0:
        codes = np.full(len(data), unknown, dtype=np.int32)
    elif data.dtype.kind in "iu" and data.dtype.isnative and int(keys[-1]) - int(keys[0]) < _MOST_TABLE_ENTRIES:
        codes = _look_up(data, keys, key_codes, unknown)
    else:
        place = np.minimum(np.searchsorted(keys, data), len(keys) - 1)
        codes = np.where(keys[place] == data, key_codes[place], np.int32(unknown))
    if data.dtype.kind == "f":
        codes[np.isnan(data)] = missing
    return codes


def _look_up(
    data: npt.NDArray[Any], keys: npt.NDArray[Any], key_codes: npt.NDArray[np.int32], unknown: int
) -> npt.NDArray[np.int32]:
    """Match integers by a table from the smallest key to the largest, with one more entry for all other values."""
    unsigned = np.dtype(f"u{data.dtype.itemsize}")
    # Differences wrap around within the unsigned type, so values below the smallest key come out large.
    keys = keys.view(unsigned)
    offsets = (keys - keys[0]).astype(np.int64)
    table = np.full(int(offsets[-1]) + 2, unknown, dtype=np.int32)
    table[offsets] = key_codes
    beyond = np.uint64(len(table) - 1)
    codes = np.empty(len(data), dtype=np.int32)
    for start in range(0, len(data), _ROWS_LOOKED_UP_AT_ONCE):
        rows = slice(start, start + _ROWS_LOOKED_UP_AT_ONCE)
        place = np.minimum((data[rows].view(unsigned) - keys[0]).astype(np.uint64, copy=False), beyond)
        table.take(place.view(np.int64), out=codes[rows], mode="clip")
    return codes
