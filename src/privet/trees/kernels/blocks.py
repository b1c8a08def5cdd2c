"""How kernels see codes: a block of rows at a time, each column contiguous.

A *column* here is a feature, or a feature whose missing code has been moved in front of all others. With the second
kind a node that sends missing values to its first child is still a plain threshold, so that routing needs only one
comparison whatever a node does with missing values.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privet.compiling import inlined, inner

BLOCK_SHIFT = 10
BLOCK_ROWS = (
    1 << BLOCK_SHIFT
)  # 28 columns of bytes still fit the nearest cache; and a power of two for the vector loops
TREES_AT_ONCE = 128  # leaf ids of this many trees and one block of rows stay in the second cache

Whole: TypeAlias = Any
"""An integer of any width: compiled code cannot tell them apart the way Python does."""

Codes: TypeAlias = NDArray[Any]
"""uint8 or uint16 codes of shape (n_features, n_rows), C-contiguous."""


class Columns(NamedTuple):
    """The columns of blocks, one entry each.

    Attributes
    ----------
    source : int32 array
        The feature that the column is made of.
    last_code : int32 array
        The feature's last code. Anything above is no code; it is held within bounds, so that no input whatever makes
        a kernel read beyond its arrays.
    missing : int32 array
        The missing code that moves to the front; -1 where none does.
    """

    source: NDArray[np.int32]
    last_code: NDArray[np.int32]
    missing: NDArray[np.int32]


@inlined
def _moved(code: Whole, missing: Whole) -> Whole:
    return 0 if code == missing else code + 1


@inner
def copy_block(codes: Codes, start: int, stop: int, columns: Columns, block: Codes) -> None:
    """Copy rows start..stop of every column side by side into `block`, `BLOCK_ROWS` apart."""
    cast = codes.dtype.type
    rows = stop - start
    for column in range(columns.source.size):
        values = codes[columns.source[column], start:stop]
        place = block[column * BLOCK_ROWS : column * BLOCK_ROWS + rows]
        last, missing = cast(columns.last_code[column]), columns.missing[column]
        for row in range(rows):
            value = values[row]
            place[row] = value if value < last else last
        if missing >= 0:
            for row in range(rows):
                place[row] = _moved(np.int64(place[row]), np.int64(missing))
