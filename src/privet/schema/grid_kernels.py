"""Compiled counting of cuts below numbers. Two ways, one answer: the number of cuts strictly below each value.

`privet.schema.grids` fetches this file when the first frame is encoded, since numba takes long to import.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled

_ROWS_AT_ONCE = 256  # one cache line of each of these rows fits the nearest cache, and serves eight features in turn
_SEARCHES = 8

Floats = NDArray[np.float64]


@compiled
def count_by_rounding(values: Floats, cuts: Floats, cuts_per_unit: float, nan_code: int, out: NDArray[Any]) -> None:
    """Find the nearest cut by arithmetic, then ask that cut on which side of it the value lies; no branch.

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
    base = np.zeros(_SEARCHES, dtype=np.uint32)
    for start in range(0, n_rows, _SEARCHES):
        width = min(_SEARCHES, n_rows - start)
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


@compiled
def count_cells(values: Floats, cuts: Floats, cuts_per_unit: float, nan_code: int, out: NDArray[Any]) -> None:
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
    columns : int64 array
        Which columns to count in; the further arrays have an entry for each of these.
    cuts : float64 array
        The cuts of all these columns in a row; those of a column end at its entry in `cuts_end`.
    """
    for start in range(0, values.shape[0], _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, values.shape[0])
        begin = 0
        for index in range(columns.size):
            column, end = columns[index], cuts_end[index]
            of_column, cells = values[start:stop, column], out[column, start:stop]
            count_cells(of_column, cuts[begin:end], cuts_per_unit[index], nan_codes[index], cells)
            begin = end
