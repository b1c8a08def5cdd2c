"""How the values of a column are read before they become codes: as days, levels, truth values or buckets.

A reading is public and looks at one value at a time. What it cannot read becomes missing or unknown, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from hashlib import blake2b
from math import isfinite, nan
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from privet.frames.columns import Category, ValueKind, Values, category_dtype_problem, is_missing, quietly

FIRST_DAY = date(1970, 1, 1).toordinal()  # of which the number is 0
DatePartName = Literal["month", "weekday"]
PARTS: dict[str, tuple[str, ...]] = {
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
}
TRUTH = {"true": True, "false": False, "yes": True, "no": False, "t": True, "f": False, "y": True, "n": False}
TRUTH |= {"on": True, "off": False, "1": True, "0": False, "1.0": True, "0.0": False}
_NUMBERS: tuple[ValueKind, ...] = ("number", "float", "object", "null")


@dataclass(frozen=True)
class Whole:
    """Whole numbers: cuts are whole, and are written as such."""

    def values(self, values: Values) -> Values:
        """Numbers are read as they are."""
        return values

    def problem(self, what: str, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        if values.kind not in (*_NUMBERS, "bool"):
            return f"{what} is declared Integer, but its dtype is {values.dtype}; convert it to numbers"
        return None

    def in_words(self, number: float) -> str:
        """A whole number; years have no thousands separator."""
        return f"{number:.0f}" if abs(number) < 10_000 else f"{number:,.0f}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"as": "whole"}


@dataclass(frozen=True)
class Days:
    """Dates as numbers of days since 1970-01-01; a time of day is left out."""

    format: str | None = None

    def values(self, values: Values) -> Values:
        """Days of dates, of texts in the format (by default ISO's), and of numbers, which are days already."""
        return read_days(values, self.format)

    def problem(self, what: str, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        if values.kind not in (*_NUMBERS, "date", "string"):
            return f"{what} is declared Date, but its dtype is {values.dtype}; convert it to dates"
        return None

    def in_words(self, number: float) -> str:
        """The date, as ISO 8601 writes it."""
        return date_of(number).isoformat()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"as": "days"} | ({} if self.format is None else {"format": self.format})


@dataclass(frozen=True)
class Levels:
    """Ordered categories as their places in the list."""

    levels: tuple[Category, ...]

    def values(self, values: Values) -> Values:
        """Places of the levels; what is none of them has no place."""
        codes = values.match(self.levels, unknown=-1, missing=-1)
        return Values("float", values.dtype, np.where(codes < 0, nan, codes.astype(np.float64)))

    def problem(self, what: str, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        return category_dtype_problem(what, self.levels, values)

    def in_words(self, number: float) -> str:
        """The level at a place."""
        return str(self.levels[int(number)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"as": "levels", "levels": list(self.levels)}


@dataclass(frozen=True)
class Truth:
    """Truth values, also as 0 and 1 and in the usual English words."""

    def values(self, values: Values) -> Values:
        """Words as truth values; all else as it is."""
        if values.kind not in ("string", "object", "null"):
            return values
        return _mapped(values, lambda value: TRUTH.get(value.strip().lower(), value) if type(value) is str else value)

    def problem(self, what: str, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        if values.kind in ("unsupported", "date"):
            return f"{what} is declared Boolean, but its dtype is {values.dtype}; convert it to truth values"
        return None

    def in_words(self, number: float) -> str:
        """Yes or no."""
        return "true" if number else "false"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"as": "truth"}


@dataclass(frozen=True)
class Part:
    """The month or the weekday of the date in another column."""

    of: str
    part: DatePartName
    format: str | None = None

    def values(self, values: Values) -> Values:
        """Names of months or weekdays."""
        days = read_days(values, self.format).data
        known = np.isfinite(days) & (days >= 1 - FIRST_DAY) & (days <= date.max.toordinal() - FIRST_DAY)
        whole = np.where(known, days, 0).astype(np.int64)
        if self.part == "weekday":
            place = (whole + 3) % 7  # 1970-01-01 was a Thursday
        else:
            place = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        return Values("string", values.dtype, np.where(known, place, -1), labels=list(PARTS[self.part]))

    def problem(self, what: str, values: Values) -> str | None:
        """What is wrong with the date's declared dtype, if anything, and the remedy."""
        return Days(self.format).problem(what, values)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        named = {"as": "part", "of": self.of, "part": self.part}
        return named | ({} if self.format is None else {"format": self.format})


@dataclass(frozen=True)
class Buckets:
    """Categories of any number, sent to a fixed number of buckets by a public hash of their text."""

    buckets: int

    def values(self, values: Values) -> Values:
        """Numbers of buckets; equal values of different types (5, 5.0, '5') have the same."""
        if values.data.dtype.kind in "biuf" and values.labels is None:
            distinct, places = np.unique(values.data, return_inverse=True)
            codes = np.array([self._bucket(value) for value in distinct.tolist()], dtype=np.float64)[places]
            return Values("float", values.dtype, codes, values.absent)
        seen: dict[Any, float] = {}

        def bucket(value: Any) -> float:
            if type(value) is not str:
                return self._bucket(value)
            if value not in seen:
                seen[value] = self._bucket(value)
            return seen[value]

        mapped = _mapped(values, bucket)
        return replace(mapped, kind="float", data=mapped.numbers(), labels=None)

    def _bucket(self, value: Any) -> float:
        text = _text_to_hash(value)
        if text is None:
            return nan
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return float(int.from_bytes(digest, "big") % self.buckets)

    def problem(self, what: str, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        if values.kind in ("unsupported", "date"):
            return f"{what} has dtype {values.dtype}, which cannot be hashed; convert it to text or to whole numbers"
        return None

    def in_words(self, number: float) -> str:
        """A bucket by its number."""
        return f"bucket {int(number)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"as": "buckets", "buckets": self.buckets}


Reading = Whole | Days | Levels | Truth | Part | Buckets


def reading_from_dict(document: Any) -> Reading | None:
    """Make a reading from plain data."""
    if document is None:
        return None
    if not isinstance(document, Mapping):
        raise TypeError("reading is not a mapping")
    entries = dict(document)
    kind = entries.pop("as", None)
    makers: dict[Any, Callable[..., Reading]] = {
        "whole": Whole,
        "days": Days,
        "levels": lambda levels: Levels(tuple(levels)),
        "truth": Truth,
        "part": Part,
        "buckets": Buckets,
    }
    if kind not in makers:
        raise TypeError("reading is unknown")
    reading = makers[kind](**entries)
    format_of = getattr(reading, "format", None)
    if not (format_of is None or isinstance(format_of, str)):
        raise TypeError("format is not a text")
    if isinstance(reading, Part) and (reading.part not in get_args(DatePartName) or not isinstance(reading.of, str)):
        raise TypeError("part is unknown")
    if isinstance(reading, Buckets) and (type(reading.buckets) is not int or reading.buckets < 1):
        raise TypeError("buckets is not a number")
    return reading


def date_of(number: float) -> date:
    """The date of a number of days since 1970-01-01, or the nearest that there is."""
    return date.fromordinal(int(min(max(number + FIRST_DAY, 1), date.max.toordinal())))


def day_of(value: Any, form: str | None = None) -> float:
    """The number of days from 1970-01-01 to a date; NaN for what is none.

    Examples
    --------
    >>> day_of("1970-01-02"), day_of("31.12.1969", "%d.%m.%Y"), day_of("soon")
    (1.0, -1.0, nan)
    """
    try:
        if type(value) is str:
            return float(_date_of_text(value.strip(), form).toordinal() - FIRST_DAY)
        if type(value) in (int, float):
            return float(value) if isfinite(value) else nan
        with quietly():
            if isinstance(value, date):  # a datetime and pandas' Timestamp are dates
                return float(value.toordinal() - FIRST_DAY)
            if isinstance(value, np.datetime64):
                return float(value.astype("datetime64[D]").astype(np.int64)) if not np.isnat(value) else nan
            if isinstance(value, np.integer | np.floating | Decimal):
                return float(value)
    except Exception:  # whatever cannot be read is no date
        return nan
    return nan


def _date_of_text(text: str, form: str | None) -> date:
    if form is not None:
        return datetime.strptime(text, form).date()
    day, rest = text[:10], text[10:]
    if rest and rest[0] not in "T ":
        raise ValueError(text)
    return date.fromisoformat(day)


def read_days(values: Values, form: str | None) -> Values:
    """Days of a column of dates, texts or numbers."""
    if values.labels is not None:
        by_label = np.array([*(day_of(label, form) for label in values.labels), nan], dtype=np.float64)
        days: npt.NDArray[np.float64] = by_label.take(values.data)
    elif values.data.dtype == object:
        days = np.fromiter((day_of(value, form) for value in values.data), dtype=np.float64, count=len(values.data))
    else:
        with np.errstate(all="ignore"):
            days = values.data.astype(np.float64)
            days = np.where(np.isfinite(days), days, nan)
    if values.absent is not None:
        days = np.where(values.absent, nan, days)
    with np.errstate(all="ignore"):
        return Values("float", values.dtype, np.floor(days))


def _mapped(values: Values, function: Callable[[Any], Any]) -> Values:
    """Map labels or objects one by one."""
    if values.labels is not None:
        return replace(values, kind="object", labels=[function(label) for label in values.labels])
    data = np.empty(len(values.data), dtype=object)
    for place, value in enumerate(values.data):
        data[place] = function(value)
    return replace(values, kind="object", data=data)


def _text_to_hash(value: Any) -> str | None:
    """The text by which a value is hashed, equal for equal values; None for what is missing or cannot be told apart."""
    try:
        if isinstance(value, str):
            return str(value)
        if isinstance(value, bool | np.bool_):
            return str(int(value))
        if is_missing(value) or not isinstance(value, int | float | np.integer | np.floating | Decimal):
            return None
        with quietly():
            return str(int(value)) if value == int(value) else repr(float(value))
    except Exception:  # an infinity, or an odd subclass
        return None


def check_format(form: Any) -> str | None:
    """What is wrong with a format of dates, if anything, and the remedy."""
    if form is None:
        return None
    sample = date(2001, 12, 31)
    try:
        if isinstance(form, str) and datetime.strptime(sample.strftime(form), form).date() == sample:
            return None
    except ValueError:
        pass
    return f"format must tell day, month and year, such as '%d.%m.%Y', got {form!r}; or leave it out for 2001-12-31"
