"""Domains of whole numbers: integers and dates. Their cuts are whole, so that a tree asks "age <= 65"."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date
from typing import Any

from privet.schema.domains import Numeric, refuse
from privet.schema.encoding import Column, lay_out
from privet.schema.grids import DEFAULT_BINS, log_cuts
from privet.schema.readings import Days, Whole, check_format, date_of, day_of

MOST = 2.0**53  # whole numbers beyond it are not exact as doubles


@dataclass(frozen=True, repr=False)
class Integer(Numeric):
    """A whole number in a public range; cuts are whole numbers, too.

    Parameters
    ----------
    low, high : int
        Public bounds. Values beyond them are clipped.
    grid, edges, bins, missing
        As of `Numeric`; edges are whole. A range with fewer numbers than bins has one cell for each number.

    Examples
    --------
    >>> Integer(1, 5).cuts()
    (1.0, 2.0, 3.0, 4.0)
    >>> Integer(0, 119).cuts(bins=4)
    (29.0, 59.0, 89.0)
    """

    def cuts(self, bins: int = DEFAULT_BINS) -> Sequence[float]:
        """The inner edges of the grid: whole numbers, the largest of each cell but the last."""
        refuse(type(self).__name__, self.problem())
        if self.edges is not None:
            return self.edges
        return _whole_cuts(int(self.low), int(self.high), self.grid, bins if self.bins is None else self.bins)

    def problem(self) -> str | None:
        """What is wrong with this domain, if anything, and the remedy."""
        problem = super().problem()
        if problem is not None:
            return problem
        for number in (self.low, self.high, *(self.edges or ())):
            if not number.is_integer() or abs(number) > MOST:
                return f"bounds and edges must be whole numbers up to 2^53, got {number:g}; or declare it Numeric"
        return None

    def column(self, name: str, bins: int) -> Column:
        """The layout of this feature's codes."""
        return lay_out(name, cuts=self.cuts(bins), missing=self.missing, reading=Whole())

    def __repr__(self) -> str:
        return super().__repr__().replace("Numeric(", "Integer(", 1)


@dataclass(frozen=True, repr=False)
class Date(Numeric):
    """A date in a public range, as its number of days since 1970-01-01; a time of day is left out.

    Parameters
    ----------
    low, high : str or datetime.date
        The first and the last date, such as "2010-01-01". Dates beyond them are clipped.
    format : str, optional
        How texts write a date, such as "%d.%m.%Y"; by default as in "2010-12-31". A frame's own dates need none.
    grid, edges, bins, missing
        As of `Numeric`; edges are dates.

    Notes
    -----
    A number in place of a date counts as days since 1970-01-01; anything else as missing. `DatePart` makes features of
    month and weekday.

    Examples
    --------
    >>> Date("2010-01-01", "2010-01-04")
    Date('2010-01-01', '2010-01-04')
    >>> [str(cut) for cut in Date("2010-01-01", "2010-12-31").dates(bins=4)]
    ['2010-04-01', '2010-07-01', '2010-09-30']
    """

    _: KW_ONLY
    format: str | None = None

    def __post_init__(self) -> None:
        # What is not a date is kept as it is: `Schema` raises the error, since it knows the column's name.
        for name in ("low", "high"):
            object.__setattr__(self, name, _days(getattr(self, name)))
        if isinstance(self.edges, list | tuple):
            object.__setattr__(self, "edges", tuple(map(_days, self.edges)))
        super().__post_init__()

    def cuts(self, bins: int = DEFAULT_BINS) -> Sequence[float]:
        """The inner edges of the grid, in days since 1970-01-01."""
        refuse("Date", self.problem())
        if self.edges is not None:
            return self.edges
        return _whole_cuts(int(self.low), int(self.high), self.grid, bins if self.bins is None else self.bins)

    def dates(self, bins: int = DEFAULT_BINS) -> tuple[date, ...]:
        """The inner edges of the grid as dates."""
        return tuple(map(date_of, self.cuts(bins)))

    def problem(self) -> str | None:
        """What is wrong with this domain, if anything, and the remedy."""
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, float):
                return f"{name} must be a date, got {bound!r}; write it as in Date('2010-01-01', '2030-12-31')"
        if self.low >= self.high:
            return f"low ({date_of(self.low)}) must be before high ({date_of(self.high)}); swap or widen the bounds"
        if self.edges is not None and not all(isinstance(edge, float) for edge in self.edges):
            return f"edges must be a list of dates, got {self.edges!r}; write them as in ['2010-01-01']"
        return super().problem() or check_format(self.format)

    def column(self, name: str, bins: int) -> Column:
        """The layout of this feature's codes."""
        return lay_out(name, cuts=self.cuts(bins), missing=self.missing, reading=Days(self.format))

    def __repr__(self) -> str:
        options = [repr(_date_text(bound)) for bound in (self.low, self.high)]
        options += [f"format={self.format!r}"] * (self.format is not None)
        options += [f"grid={self.grid!r}"] * (self.grid != "linear")
        options += [f"edges={list(map(_date_text, self.edges or ()))!r}"] * (self.edges is not None)
        options += [f"bins={self.bins}"] * (self.bins is not None)
        options += ["missing=True"] * (self.missing is True)
        return f"Date({', '.join(options)})"


def _days(value: Any) -> Any:
    """The number of days of a date; what is none is returned as it is. A double is a bound that was read before."""
    if isinstance(value, float):
        return value
    number = day_of(value) if isinstance(value, str | date) else float("nan")
    return value if number != number else number


def _date_text(value: Any) -> Any:
    return date_of(value).isoformat() if isinstance(value, float) else value


def _whole_cuts(low: int, high: int, grid: str, bins: int) -> tuple[float, ...]:
    """Whole cuts of cells that hold equally many numbers, up to one; or, for a log grid, whole parts of its cuts."""
    if high - low + 1 <= bins:
        return tuple(float(number) for number in range(low, high))
    if grid == "log":
        cuts = [float(int(cut // 1)) for cut in log_cuts(float(low), float(high), bins)]
    else:
        cuts = [float(low + place * (high - low + 1) // bins - 1) for place in range(1, bins)]
    return tuple(dict.fromkeys(cut for cut in cuts if low <= cut < high))
