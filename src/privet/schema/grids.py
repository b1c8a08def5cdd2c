"""Public grids: where the cuts of a numeric feature are, and which cell a number falls into.

A grid is a strictly increasing tuple of cuts. The cell of a number is *the number of cuts strictly below it*, so that
`cell <= c` says the same as `x <= cuts[c]`. Cuts are computed in exact or correctly rounded arithmetic, never by the
platform's own `pow`, so that a schema means the same on every machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from privet.schema.fine_grids import fits, products, rounded, sums

DEFAULT_BINS = 32
MAX_CODES = 65_535
"""The most codes that one feature may have, "other" and "missing" included."""

_FIFTY_DIGITS = Context(prec=50)
_MANY = 1000  # cells of a grid: fewer are computed one by one


class Cuts(Sequence[float]):
    """Cuts that take eight bytes each, where those of a tuple take four times as much. Equal to a tuple of the same.

    A schema of a few hundred kilobytes, from anybody's file, may have fifty million of them.

    Examples
    --------
    >>> cuts = Cuts((18.0, 65.0))
    >>> cuts[0], cuts[1:], len(cuts), cuts == (18.0, 65.0)
    (18.0, (65.0,), 2, True)
    """

    __slots__ = ("_array",)

    def __init__(self, cuts: npt.ArrayLike) -> None:
        self._array = np.array(cuts, dtype=np.float64)
        self._array.setflags(write=False)

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, place: int) -> float: ...
    @overload
    def __getitem__(self, place: slice) -> "Cuts": ...
    def __getitem__(self, place: int | slice) -> "float | Cuts":
        return Cuts(self._array[place]) if isinstance(place, slice) else float(self._array[place])

    def __iter__(self) -> Iterator[float]:
        return iter(self._array.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._array, dtype=dtype) if copy or dtype not in (None, np.float64) else self._array

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Cuts):
            return np.array_equal(self._array, other._array)
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(self._array.tobytes())

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Cuts, (tuple(self),)

    @property
    def sound(self) -> bool:
        """Whether all are finite, and each is above the one before."""
        return bool(np.isfinite(self._array).all() and (self._array[1:] > self._array[:-1]).all())


def as_cuts(cuts: Sequence[float]) -> Cuts:
    """Return cuts as `Cuts`, without a copy if they are already."""
    return cuts if isinstance(cuts, Cuts) else Cuts(cuts)


@lru_cache(maxsize=4096)
def linear_cuts(low: float, high: float, bins: int) -> Cuts:
    """Cuts of `bins` cells of equal width, each the double nearest to its exact place."""
    start, end = Fraction(low), Fraction(high)
    # Whole numbers are faster than fractions, which would be reduced for every cut; Python rounds their quotients
    # correctly.
    unit = lcm(start.denominator, end.denominator)
    first, last = (bound.numerator * (unit // bound.denominator) for bound in (start, end))
    step = last - first

    def cut(i: int) -> float:
        return (first * bins + step * i) / (unit * bins)

    if bins < _MANY or not fits(low, high, float(end - start) / bins):
        return _inner(np.array([cut(i) for i in range(1, bins)]), low, high)
    pairs = sums(lambda i: (first * bins + step * i, unit * bins), lambda i: (step * i, unit * bins), bins)
    return _inner(rounded(*pairs, cut), low, high)


@lru_cache(maxsize=4096)
def log_cuts(low: float, high: float, bins: int) -> Cuts:
    """Cuts whose distance from `low` grows geometrically: `low + (high - low + 1) ** (i / bins) - 1`.

    The one that is added under the power keeps the spacing finite at `low`, so the grid also suits ranges that start at
    or below zero. Near `low` cells are about one unit wide; a feature whose whole range is far below one unit should be
    rescaled, or given explicit edges.
    """
    start = Decimal(low)
    growth = _FIFTY_DIGITS.ln(_FIFTY_DIGITS.add(_FIFTY_DIGITS.subtract(Decimal(high), start), 1))

    def power(i: int) -> Decimal:
        return _FIFTY_DIGITS.exp(_FIFTY_DIGITS.divide(_FIFTY_DIGITS.multiply(growth, i), bins))

    def cut(i: int) -> float:
        return float(_FIFTY_DIGITS.add(start, _FIFTY_DIGITS.subtract(power(i), 1)))

    if bins < _MANY or not fits(low, high, high - low):
        return _inner(np.array([cut(i) for i in range(1, bins)]), low, high)
    pairs = products(lambda i: power(i).as_integer_ratio(), (Fraction(low) - 1).as_integer_ratio(), bins)
    return _inner(rounded(*pairs, cut), low, high)


def _inner(cuts: npt.NDArray[np.float64], low: float, high: float) -> Cuts:
    """Drop cuts that rounding made equal or moved out of the range: a very narrow range has fewer cells."""
    within = cuts[(low <= cuts) & (cuts < high)]
    return Cuts(within[np.append(True, within[1:] != within[:-1])] if within.size else within)


class Grid(NamedTuple):
    """Cuts, prepared for counting; `cuts_per_unit` is zero if arithmetic does not find a value's nearest cut."""

    cuts: npt.NDArray[np.float64]
    cuts_per_unit: float


def prepared(cuts: Sequence[float]) -> Grid:
    """Prepare strictly increasing cuts for counting."""
    array = np.array(cuts, dtype=np.float64)  # a copy that can be written to: numba compiles for others once more
    if len(array) < 2:
        return Grid(array, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        cuts_per_unit = (len(array) - 1) / (array[-1] - array[0])
        # the same arithmetic as in `count_by_rounding`, where this is shown to be enough
        nearest = (array - array[0]) * cuts_per_unit + 0.5
        found_by_arithmetic = np.array_equal(np.floor(nearest), np.arange(len(array)))
    return Grid(array, float(cuts_per_unit) if found_by_arithmetic else 0.0)


class GridsOfRows(NamedTuple):
    """The grids of some columns one after the other, as `grid_kernels.count_cells_of_rows` takes them.

    The cuts of a column end at its entry in `cuts_end`; what is not a number gets its entry in `nan_codes`.
    """

    columns: npt.NDArray[np.int64]
    cuts: npt.NDArray[np.float64]
    cuts_end: npt.NDArray[np.int64]
    cuts_per_unit: npt.NDArray[np.float64]
    nan_codes: npt.NDArray[np.int64]


def laid_out(grids: Mapping[int, Grid], nan_codes: Sequence[int]) -> GridsOfRows:
    """Lay out the grids of columns, which are given by their places, one after the other."""
    return GridsOfRows(
        np.array(list(grids), dtype=np.int64),
        np.concatenate([np.empty(0), *(grid.cuts for grid in grids.values())]),
        np.cumsum([len(grid.cuts) for grid in grids.values()], dtype=np.int64),
        np.array([grid.cuts_per_unit for grid in grids.values()], dtype=np.float64),
        np.array(nan_codes, dtype=np.int64),
    )
