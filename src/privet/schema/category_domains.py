"""Further domains of categories: truth values, ordered ones, parts of dates, and more than can be listed."""

from collections.abc import Iterable
from typing import Any, get_args

from privet.frames.columns import Category
from privet.schema.domains import Categorical, Size
from privet.schema.encoding import Column, lay_out
from privet.schema.grids import DEFAULT_BINS, MAX_CODES
from privet.schema.readings import PARTS, Buckets, DatePartName, Levels, Part, Truth
from privet.schema.whole_domains import Date


class Boolean(Categorical):
    """True or false, also as 0 and 1 or in the words true, yes, y, t, on and their opposites, in any case.

    Parameters
    ----------
    missing : bool
        Whether missing values have a code of their own. If not, they count as false.

    Examples
    --------
    >>> from privet import Schema
    >>> schema = Schema({"smoker": Boolean(missing=True)}, classes=["no", "yes"])
    >>> schema.encoding().encode([["Yes"], [0], [None]]).tolist()
    [[1, 0, 2]]
    """

    def __init__(self, *, missing: bool = False) -> None:
        super().__init__((False, True), missing=missing)

    def column(self, name: str, bins: int = DEFAULT_BINS) -> Column:
        """The layout of this feature's codes."""
        return lay_out(name, categories=self.categories, missing=self.missing, reading=Truth())

    def __repr__(self) -> str:
        return "Boolean(missing=True)" if self.missing is True else "Boolean()"


class Ordinal(Categorical):
    """One of a public list of categories that have an order, such as grades; trees split it like a number.

    Parameters
    ----------
    categories : sequence of str, int, float or bool
        The categories, in order.
    missing : bool
        Whether missing values have a code of their own. If not, they count as the middle category. Unknown values
        count as missing.

    Examples
    --------
    >>> from privet import Schema
    >>> schema = Schema({"size": Ordinal(["S", "M", "L"])}, classes=["no", "yes"])
    >>> schema.encoding().encode([["L"], ["S"], ["XL"]]).tolist()
    [[2, 0, 1]]
    """

    def __init__(self, categories: Iterable[Category], *, missing: bool = False) -> None:
        super().__init__(categories, missing=missing)  # type: ignore[arg-type]  # made a tuple there

    def column(self, name: str, bins: int = DEFAULT_BINS) -> Column:
        """The layout of this feature's codes."""
        cuts = tuple(float(place) for place in range(len(self.categories) - 1))
        return lay_out(name, cuts=cuts, missing=self.missing, reading=Levels(self.categories))

    def __repr__(self) -> str:
        return super().__repr__().replace("Categorical(", "Ordinal(", 1)


class Hashed(Categorical):
    """Categories that are too many to be listed, such as postcodes or products, in buckets by a public hash.

    Parameters
    ----------
    buckets : int
        Number of buckets. A value's bucket follows from its text alone, in every version and on every machine; values
        that share one cannot be told apart.
    missing : bool
        Whether missing values have a code of their own. If not, they count as bucket 0.

    Examples
    --------
    >>> from privet import Schema
    >>> schema = Schema({"postcode": Hashed(100)}, classes=["no", "yes"])
    >>> schema.encoding().encode([["10115"], [10115], ["SW1A 1AA"]]).tolist()
    [[26, 26, 5]]
    """

    buckets: int

    def __init__(self, buckets: int, *, missing: bool = False) -> None:
        known = type(buckets) is int and 2 <= buckets < MAX_CODES
        super().__init__(tuple(range(buckets)) if known else (), missing=missing)
        object.__setattr__(self, "buckets", buckets)

    def problem(self) -> str | None:
        """What is wrong with this domain, if anything, and the remedy."""
        if not self.categories:
            return (
                f"buckets must be a whole number from 2 to {MAX_CODES - 1:,}, got {self.buckets!r}; e.g. Hashed(1024)"
            )
        return super().problem()

    def column(self, name: str, bins: int = DEFAULT_BINS) -> Column:
        """The layout of this feature's codes."""
        reading = Buckets(len(self.categories))
        return lay_out(name, categories=self.categories, missing=self.missing, reading=reading)

    def size(self, bins: int) -> Size:
        """How much room it takes: the buckets are counted, not listed."""
        return Size(self.buckets)

    def __repr__(self) -> str:
        return f"Hashed({self.buckets!r}{', missing=True' * (self.missing is True)})"


class DatePart(Categorical):
    """The month or the weekday of a date feature, as a feature of its own.

    Parameters
    ----------
    of : str
        The `Date` feature of the same schema.
    part : {"month", "weekday"}
        Which part.

    Notes
    -----
    A missing date has a missing part, which has a code of its own if the date's domain declares missing values; else it
    counts as the first month or day. In an array, the feature's own column is there but not read.

    Examples
    --------
    >>> from privet import Date, Schema
    >>> features = {"day": Date("2020-01-01", "2029-12-31"), "weekday": DatePart("day", "weekday")}
    >>> Schema(features, classes=["no", "yes"]).encoding(8).columns[1].categories
    ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')
    """

    of: str
    part: DatePartName
    format: str | None = None

    def __init__(self, of: str, part: DatePartName) -> None:
        known = isinstance(part, str) and part in PARTS
        super().__init__(PARTS[part] if known else ())
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "part", part)

    def resolved(self, source: Date) -> "DatePart":
        """Return this part with the date's format, and with a code for missing values if the date has one."""
        made = DatePart(self.of, self.part)
        object.__setattr__(made, "format", source.format)
        object.__setattr__(made, "missing", source.missing)
        return made

    def problem(self) -> str | None:
        """What is wrong with this domain, if anything, and the remedy."""
        if not isinstance(self.of, str) or not self.of:
            return f"of must be the name of a Date feature, got {self.of!r}; e.g. DatePart('day', 'month')"
        if not self.categories:
            return f"part must be {' or '.join(map(repr, get_args(DatePartName)))}, got {self.part!r}"
        return super().problem()

    def column(self, name: str, bins: int = DEFAULT_BINS) -> Column:
        """The layout of this feature's codes."""
        reading = Part(self.of, self.part, self.format)
        return lay_out(name, categories=self.categories, missing=self.missing, reading=reading)

    def _content(self) -> tuple[Any, ...]:
        return (*super()._content(), self.of, self.part, self.format)

    def __repr__(self) -> str:
        return f"DatePart({self.of!r}, {self.part!r})"
