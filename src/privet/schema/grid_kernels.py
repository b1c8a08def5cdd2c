"""Compiled counting of cuts: the number of cuts strictly below each value, found by rounding or by binary search.

This file is imported only when the first frame is encoded, since numba takes long to import.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.schema.grids import Grid

_ROWS_IN_TURN = 256  # one cache line of each of these rows fits into the first-level cache and serves eight features
_SEARCHES_SIDE_BY_SIDE = 8
_ROWS_CONVERTED_AT_ONCE = 16_384  # a buffer of this many doubles stays in the second-level cache

Floats = NDArray[np.float64]


@compiled
def count_by_rounding(values: Floats, cuts: Floats, cuts_per_unit: float, nan_code: int, out: NDArray[Any]) -> None:
    """Find the nearest cut by arithmetic, then compare the value with it; without branches.

    Exact if and only if every cut is its own nearest cut, which `privet.schema.grids` checks. Proof: the place computed
    here never falls as the value rises, since rounding is monotone. So a value between two neighbouring cuts finds one
    of these two, one beyond the first or last cut finds that one, and the comparison with it gives the cell.
    """
    cast = out.dtype.type
    first, last = cuts[0], float(cuts.size - 1)
    for i in range(values.size):
        x = values[i]
        place = (x - first) * cuts_per_unit + 0.5
        place = place if place > 0.0 else 0.0  # what is not a number becomes zero here
        place = place if place < last else last
        nearest = np.uint64(np.int64(place))  # unsigned: no test for an index from the end
        cell = cast(nearest) + cast(cuts[nearest] < x)
        out[i] = cell if x == x else cast(nan_code)


@compiled
def count_by_search(values: Floats, cuts: Floats, nan_code: int, out: NDArray[Any]) -> None:
    """Find the cells by binary searches, eight side by side and without branches that a processor could mispredict."""
    n_rows, n_cuts = values.size, cuts.size
    base = np.zeros(_SEARCHES_SIDE_BY_SIDE, dtype=np.uint32)
    for start in range(0, n_rows, _SEARCHES_SIDE_BY_SIDE):
        width = min(_SEARCHES_SIDE_BY_SIDE, n_rows - start)
        for k in range(_SEARCHES_SIDE_BY_SIDE):
            base[k] = 0
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


@inner
def _count_cells(values: Floats, cuts: Floats, cuts_per_unit: float, nan_code: int, out: NDArray[Any]) -> None:
    """Write the cell of every value into `out`; `cuts_per_unit` is zero where cells must be searched for."""
    if cuts.size == 0:
        for i in range(values.size):
            out[i] = nan_code if values[i] != values[i] else 0
    elif cuts_per_unit > 0.0:
        count_by_rounding(values, cuts, cuts_per_unit, nan_code, out)
    else:
        count_by_search(values, cuts, nan_code, out)


@compiled
def count_cells_of_rows(
    values: Floats,
    columns: NDArray[np.int64],
    cuts: Floats,
    cuts_end: NDArray[np.int64],
    cuts_per_unit: Floats,
    nan_codes: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Write the cells of an array that is stored row by row into `out`, which is stored column by column.

    Parameters
    ----------
    values : float64 array of shape (n_rows, number of columns)
        The array.
    columns, cuts, cuts_end, cuts_per_unit, nan_codes : arrays
        The fields of `privet.schema.grids.GridsOfRows`; other columns are left alone.
    out : uint8 or uint16 array of shape (number of columns, n_rows)
        The cells.
    """
    for start in range(0, values.shape[0], _ROWS_IN_TURN):
        stop = min(start + _ROWS_IN_TURN, values.shape[0])
        begin = 0
        for index in range(columns.size):
            column, end = columns[index], cuts_end[index]
            of_column, cells = values[start:stop, column], out[column, start:stop]
            _count_cells(of_column, cuts[begin:end], cuts_per_unit[index], nan_codes[index], cells)
            begin = end


def count_cells(values: Floats, cuts: Floats, cuts_per_unit: float, nan_code: int, out: NDArray[Any]) -> None:
    """Do the same for one column. Only the function that its cuts need is compiled."""
    values = values.view()
    values.flags.writeable = False  # frames' own columns often are: one version of a function for both
    if cuts.size == 0:
        out[:] = np.where(np.isnan(values), nan_code, 0)
    elif cuts_per_unit > 0.0:
        count_by_rounding(values, cuts, cuts_per_unit, nan_code, out)
    else:
        count_by_search(values, cuts, nan_code, out)


def count_cuts_below(values: NDArray[Any], grid: Grid, nan_code: int, out: NDArray[Any]) -> None:
    """Write the cell of every number into `out`; what is not a number gets `nan_code`.

    Parameters
    ----------
    values
        One-dimensional, of any real dtype and any stride.
    grid
        Strictly increasing cuts, prepared.
    out
        Contiguous, uint8 or uint16, as long as `values`.
    """
    if values.dtype == np.float64 and values.flags.c_contiguous:
        count_cells(values, *grid, nan_code, out)
        return
    # Converting block by block needs no second copy of the column, and one compiled function serves all dtypes.
    buffer = np.empty(min(_ROWS_CONVERTED_AT_ONCE, len(values)), dtype=np.float64)
    for start in range(0, len(values), _ROWS_CONVERTED_AT_ONCE):
        stop = min(start + _ROWS_CONVERTED_AT_ONCE, len(values))
        block = buffer[: stop - start]
        with np.errstate(all="ignore"):  # a warning (overflow, a signalling NaN) would reveal something about a record
            block[:] = values[start:stop]
        count_cells(block, *grid, nan_code, out[start:stop])
