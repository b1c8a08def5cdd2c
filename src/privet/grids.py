"""Public grids: where the cuts of a numeric feature are, and which cell a number falls into.

A grid is a strictly increasing tuple of cuts. The cell of a number is *the number of cuts strictly below it*, so that
`cell <= c` says the same as `x <= cuts[c]`. Cuts are computed in exact or correctly rounded arithmetic, never by the
platform's own `pow`, so that a schema means the same on every machine.

The functions that count are written for machine code (`privet.compiling`), which is only fetched when the first frame
is encoded: importing this file stays cheap. Uncompiled they are their own plain twins.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

DEFAULT_BINS = 32
MAX_CODES = 65_535
"""The most codes that one feature may have, "other" and "missing" included."""

_DIGITS = Context(prec=50)
_ROWS_AT_ONCE = 16_384  # a buffer of doubles this long stays in the second-level cache

P = ParamSpec("P")
T = TypeVar("T")


@lru_cache(maxsize=4096)
def linear_cuts(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Cuts of `bins` cells of equal width, each the double nearest to its exact place."""
    start, width = Fraction(low), Fraction(high) - Fraction(low)
    return _inner((float(start + width * i / bins) for i in range(1, bins)), low, high)


@lru_cache(maxsize=4096)
def log_cuts(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Cuts whose distance from `low` grows geometrically: `low + (high - low + 1) ** (i / bins) - 1`.

    The one under the power keeps the spacing finite at `low`, so the grid also serves ranges that start at or below
    zero. Cells are about as wide as one unit near `low`; a feature whose whole range is far below one unit is better
    rescaled, or given explicit edges.
    """
    start = Decimal(low)
    growth = _DIGITS.ln(_DIGITS.add(_DIGITS.subtract(Decimal(high), start), 1))

    def cut(i: int) -> float:
        power = _DIGITS.exp(_DIGITS.divide(_DIGITS.multiply(growth, i), bins))
        return float(_DIGITS.add(start, _DIGITS.subtract(power, 1)))

    return _inner((cut(i) for i in range(1, bins)), low, high)


def _inner(cuts: Any, low: float, high: float) -> tuple[float, ...]:
    """Drop what rounding pushed onto a neighbour or out of the range: a very narrow range has fewer cells."""
    return tuple(dict.fromkeys(cut for cut in cuts if low <= cut < high))


def count_cuts_below(
    values: npt.NDArray[Any], cuts: npt.NDArray[np.float64], nan_code: int, out: npt.NDArray[Any]
) -> None:
    """Write the cell of every number into `out`; what is not a number gets `nan_code`.

    Parameters
    ----------
    values
        One-dimensional, of any real dtype and any stride.
    cuts
        Strictly increasing.
    out
        Contiguous, uint8 or uint16, as long as `values`.
    """
    if values.dtype == np.float64 and values.flags.c_contiguous:
        _count_contiguous(values, cuts, nan_code, out)
        return
    # Converting block by block needs no second copy of the column, and one compiled function serves all dtypes.
    buffer = np.empty(min(_ROWS_AT_ONCE, len(values)), dtype=np.float64)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, len(values))
        block = buffer[: stop - start]
        block[:] = values[start:stop]
        _count_contiguous(block, cuts, nan_code, out[start:stop])


def _count_contiguous(
    values: npt.NDArray[np.float64], cuts: npt.NDArray[np.float64], nan_code: int, out: npt.NDArray[Any]
) -> None:
    if len(cuts) == 0:
        out[:] = np.where(np.isnan(values), nan_code, 0)
    elif _evenly_spaced(cuts):
        cells_per_unit = (len(cuts) - 1) / (cuts[-1] - cuts[0]) if len(cuts) > 1 else 0.0
        _machine_code(count_by_guess)(values, cuts, cells_per_unit, nan_code, out)
    else:
        _machine_code(count_by_search)(values, cuts, nan_code, out)


def _evenly_spaced(cuts: npt.NDArray[np.float64]) -> bool:
    """Whether a guess by multiplication lands within one cell of the truth (it is corrected in any case)."""
    span = cuts[-1] - cuts[0]
    even = cuts[0] + span * (np.arange(len(cuts)) / max(1, len(cuts) - 1))
    return bool(np.isfinite(span) and np.all(np.abs(cuts - even) * len(cuts) <= span))


@cache
def _machine_code(function: Callable[P, T]) -> Callable[P, T]:
    from privet.compiling import compiled  # numba takes long to import

    return compiled(function)


def count_by_guess(
    values: npt.NDArray[np.float64],
    cuts: npt.NDArray[np.float64],
    cells_per_unit: float,
    nan_code: int,
    out: npt.NDArray[Any],
) -> None:
    """Guess the cell by a multiplication, then walk to the exact one: the cuts decide, not the guess."""
    n_cuts = len(cuts)
    first, last = cuts[0], cuts[n_cuts - 1]
    for i in range(len(values)):
        x = values[i]
        if x > last:
            out[i] = n_cuts
        elif x <= first:
            out[i] = 0
        elif x > first:
            cell = int((x - first) * cells_per_unit) + 1
            cell = min(cell, n_cuts - 1)
            while cuts[cell] < x:
                cell += 1
            while cuts[cell - 1] >= x:
                cell -= 1
            out[i] = cell
        else:
            out[i] = nan_code


def count_by_search(
    values: npt.NDArray[np.float64], cuts: npt.NDArray[np.float64], nan_code: int, out: npt.NDArray[Any]
) -> None:
    """Find the cells by binary searches, eight side by side and without branches that a processor could mispredict."""
    n_rows, n_cuts = len(values), len(cuts)
    base = np.zeros(8, dtype=np.uint32)
    for start in range(0, n_rows, 8):
        width = min(8, n_rows - start)
        base[:] = 0
        length = n_cuts
        # Invariant: every cut before `base` is below the value; its cell lies in base .. base + length.
        while length > 1:
            half = length >> 1
            for k in range(width):
                below = cuts[base[k] + np.uint32(half - 1)] < values[start + k]
                base[k] += np.uint32(half) * np.uint32(below)
            length -= half
        for k in range(width):
            x = values[start + k]
            out[start + k] = nan_code if x != x else base[k] + np.uint32(cuts[base[k]] < x)
