"""Domains: what is public about one column, and how it lays out the column's codes.

A domain keeps what it is given. Its `problem` says what is wrong with it, so that whoever knows the column's name can
raise the error.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from privet.errors import SchemaError
from privet.frames.columns import Category
from privet.schema.encoding import Column, lay_out
from privet.schema.grids import DEFAULT_BINS, MAX_CODES, linear_cuts, log_cuts

Spacing = Literal["linear", "log"]

MOST_CELLS = 50_000_000  # of all grids together: 12,000 features at the finest grid that a learner has by itself
MOST_VALUES = 4_000_000  # names, bounds, categories and edges, each of which is a value in a file
_VALUES_OF_A_FEATURE = 8


class Size(NamedTuple):
    """How much room a domain takes: cells of a grid, and values in a file."""

    cells: int
    values: int = _VALUES_OF_A_FEATURE


@dataclass(frozen=True, repr=False)
class Numeric:
    """A number in a public range, cut into the cells of a public grid.

    Parameters
    ----------
    low, high : float
        Public bounds. Values beyond them are clipped.
    grid : {"linear", "log"}
        Cells of equal width; or cells that widen geometrically from `low` on, for long tails
        (`privet.schema.grids.log_cuts`).
    edges : sequence of float, optional
        The inner cut points themselves, strictly increasing, between `low` and `high`. They take precedence over
        `grid` and over every number of bins.
    bins : int, optional
        Number of cells; takes precedence over the number that a learner asks for.
    missing : bool
        Whether missing values have a code of their own. If not, they take the middle cell.

    Examples
    --------
    >>> Numeric(0, 100, edges=[18, 65]).cuts()
    (18.0, 65.0)
    >>> Numeric(0, 1).cuts(bins=4)
    (0.25, 0.5, 0.75)
    """

    low: float
    high: float
    _: KW_ONLY
    grid: Spacing = "linear"
    edges: tuple[float, ...] | None = None
    bins: int | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        # What is not a number is kept as it is: `Schema` raises the error, since it knows the column's name.
        object.__setattr__(self, "low", _as_float(self.low))
        object.__setattr__(self, "high", _as_float(self.high))
        if self.edges is not None and isinstance(self.edges, Iterable):
            object.__setattr__(self, "edges", tuple(map(_as_float, self.edges)))
        object.__setattr__(self, "bins", plain_value(self.bins))

    def cuts(self, bins: int = DEFAULT_BINS) -> Sequence[float]:
        """The inner edges of the grid: `edges` if given, else those of `self.bins` cells, else of `bins`."""
        refuse("Numeric", self.problem())
        if self.edges is not None:
            return self.edges
        place = linear_cuts if self.grid == "linear" else log_cuts
        return place(self.low, self.high, bins if self.bins is None else self.bins)

    def problem(self) -> str | None:
        """What is wrong with this domain, if anything, and the remedy."""
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, float) or not isfinite(bound):
                return f"{name} must be a finite number, got {bound!r}; give a public bound, e.g. Numeric(0, 100)"
        if self.low >= self.high:
            return f"low ({self.low:g}) must be below high ({self.high:g}); swap or widen the bounds"
        if not isfinite(self.high - self.low):
            return f"the range from {self.low:g} to {self.high:g} is too wide for a double; narrow the bounds"
        if self.grid not in get_args(Spacing):
            return f"grid must be 'linear' or 'log', got {self.grid!r}; for other grids pass edges=[...]"
        if self.bins is not None and not (type(self.bins) is int and 2 <= self.bins < MAX_CODES):
            return f"bins must be a whole number from 2 to {MAX_CODES - 1:,}, got {self.bins!r}; or leave it out"
        if not isinstance(self.missing, bool):
            return f"missing must be True or False, got {self.missing!r}"
        return None if self.edges is None else self._problem_of_edges(self.edges)

    def _problem_of_edges(self, edges: tuple[float, ...]) -> str | None:
        if not isinstance(edges, tuple) or not all(isinstance(edge, float) for edge in edges):
            return f"edges must be a list of numbers, got {edges!r}; list the inner cut points"
        if not 1 <= len(edges) < MAX_CODES - 1:
            return f"edges must hold 1 to {MAX_CODES - 2:,} cut points, got {len(edges):,}; or leave edges out"
        if not all(a < b for a, b in pairwise(edges)):
            return "edges must increase strictly; sort them and drop repetitions"
        if not self.low < edges[0] or not edges[-1] < self.high:
            return "edges are the inner cut points, strictly between low and high; leave out the bounds themselves"
        return None

    def column(self, name: str, bins: int) -> Column:
        """The layout of this feature's codes."""
        return lay_out(name, cuts=self.cuts(bins), missing=self.missing)

    def size(self, bins: int) -> Size:
        """How much room it takes where it does not say its own number of bins."""
        if self.edges is None:
            return Size(self.bins or bins)
        return Size(len(self.edges) + 1, _VALUES_OF_A_FEATURE + len(self.edges))

    def __repr__(self) -> str:
        options = [repr(bound).removesuffix(".0") for bound in (self.low, self.high)]
        options += [f"grid={self.grid!r}"] * (self.grid != "linear")
        options += [f"edges={list(self.edges or ())!r}"] * (self.edges is not None)
        options += [f"bins={self.bins}"] * (self.bins is not None)
        options += ["missing=True"] * (self.missing is True)
        return f"Numeric({', '.join(options)})"


@dataclass(frozen=True, repr=False, eq=False)
class Categorical:
    """One of a public list of categories.

    Parameters
    ----------
    categories : sequence of str, int, float or bool
        A value belongs to the category that it equals in Python. There 1, 1.0 and True are equal, so a list may
        hold only one of them.
    other : bool
        Whether unknown values have a code of their own. If not, they count as missing.
    missing : bool
        Whether missing values have a code of their own. If not, they count as other if declared, else as the
        first category.

    Examples
    --------
    >>> Categorical(["Female", "Male"], missing=True)
    Categorical(['Female', 'Male'], missing=True)
    """

    categories: tuple[Category, ...]
    _: KW_ONLY
    other: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.categories, Iterable) and not isinstance(self.categories, str | bytes):
            object.__setattr__(self, "categories", tuple(map(plain_value, self.categories)))

    def problem(self) -> str | None:
        """What is wrong with this domain, if anything, and the remedy."""
        if not isinstance(self.categories, tuple):
            return f"categories must be a list, got {self.categories!r}; write Categorical(['a', 'b'])"
        if not self.categories:
            return "categories is empty; list the public values, or drop the feature"
        seen: dict[Category, Category] = {}
        for category in self.categories:
            if type(category) not in (str, int, float, bool):
                return (
                    f"categories must be strings, numbers or bools, got {category!r}; "
                    "declare missing=True for missing values, convert others to strings"
                )
            if isinstance(category, float) and not isfinite(category):
                return f"{category!r} cannot be a category; declare missing=True for missing values"
            if isinstance(category, str) and not category.isascii() and has_surrogates(category):
                return f"category {category!r} is not valid Unicode; decode it properly"
            if category in seen:
                equal = "" if repr(category) == repr(seen[category]) else f" (equal to {seen[category]!r} in Python)"
                return f"category {category!r} is listed twice{equal}; list it once"
            seen[category] = category
        if not isinstance(self.other, bool) or not isinstance(self.missing, bool):
            return f"other and missing must be True or False, got {self.other!r} and {self.missing!r}"
        if len(self.categories) + self.other + self.missing > MAX_CODES:
            return (
                f"{len(self.categories):,} categories are more than {MAX_CODES:,} codes; "
                "list the frequent ones and declare other=True"
            )
        return None

    def column(self, name: str, bins: int = DEFAULT_BINS) -> Column:
        """The layout of this feature's codes."""
        return lay_out(name, categories=self.categories, other=self.other, missing=self.missing)

    def size(self, bins: int) -> Size:
        """How much room it takes."""
        return Size(0, _VALUES_OF_A_FEATURE + len(self.categories))

    def _content(self) -> tuple[object, ...]:
        # Types are compared, too: (0, 1) and (False, True) are equal in Python but are written differently to files,
        # and so are a list of categories and one with an order.
        types = tuple(map(type, self.categories)) if isinstance(self.categories, tuple) else ()
        return type(self), self.categories, types, self.other, self.missing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categorical) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        shown = list(self.categories)
        text = repr(shown) if len(shown) <= 12 else f"[{', '.join(map(repr, shown[:6]))}, ... {len(shown)} in all]"
        options = ", other=True" * (self.other is True) + ", missing=True" * (self.missing is True)
        return f"Categorical({text}{options})"


Domain = Numeric | Categorical


def check_size(features: Collection[Domain], target: Domain, bins: int) -> None:
    """Refuse a schema that would make a model's file too large to be read back.

    A reader of untrusted files needs limits, and a fit must not spend a budget on a model that no reader would accept.
    So both ask the same question, the fit before it spends anything.

    Raises
    ------
    SchemaError
        It depends on the schema alone, never on data.
    """
    cells = sum(domain.size(bins).cells for domain in features)
    if cells > MOST_CELLS:
        raise SchemaError(
            f"the grids of all features have {cells:,} cells together, the most is {MOST_CELLS:,}: "
            "leave out features, or give them fewer bins"
        )
    values = sum(domain.size(bins).values for domain in (*features, target))
    if values > MOST_VALUES:
        raise SchemaError(
            f"the schema has {values:,} values, the most that a model file may have is {MOST_VALUES:,}: "
            "leave out features, or list fewer categories and declare other=True"
        )


def refuse(what: str, problem: str | None) -> None:
    """Raise the problem of `what`, if there is one."""
    if problem is not None:
        raise SchemaError(f"{what}: {problem}")


def plain_value(value: Any) -> Any:
    """A scalar of NumPy as the Python value that it stands for; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _as_float(value: Any) -> Any:
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        try:
            return float(value)
        except OverflowError:
            return value
    return value


def has_surrogates(text: str) -> bool:
    """Whether a string contains surrogates (halves of characters), which no file can hold."""
    return any("\ud800" <= character <= "\udfff" for character in text)
