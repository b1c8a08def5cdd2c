"""Fast counts for trees with two-way splits, level by level.

Only one child of each node is counted; its sibling's counts follow by subtraction from their parent's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.tables.protocol import Block, IntArray
from privet.trees.kernels.blocks import Codes, Whole

_ROWS_AT_ONCE = 4096  # row numbers and keys of so many records stay in the nearest cache while all features are counted
_BYTE_CODES = 256  # a byte cannot be beyond a table of so many counters: no comparison in the innermost loop

_ONE = np.uint32(1)
_whole = np.uint64  # unsigned numbers as indices: no branch for negative ones


@compiled
def _list_records(
    node: NDArray[Any],
    target: NDArray[np.int32],
    first_key: IntArray,
    n_classes: Whole,
    step: Whole,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
) -> Whole:
    """List the records that are to be counted, each with its slot and class as one key; return how many."""
    found, n_nodes = _whole(0), _whole(first_key.size)
    for row in range(_whole(node.size)):
        here, label = _whole(np.int64(node[row])), _whole(np.int64(target[row]))
        key = first_key[here] if (here < n_nodes) & (label < n_classes) else -1
        # Written in any case, kept only if it counts: there is no branch to mispredict.
        rows[found] = row
        keys[found] = (_whole(key) + label) * step
        found += _whole(key >= 0)
    return found


@compiled
def _count_bytes(
    codes: Codes,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    found: Whole,
    every: bool,
    counts: NDArray[np.uint32],
) -> None:
    """Add listed records to the counts of one feature, laid out by key, then by code; `every` if none was left out."""
    if every:
        for index in range(found):
            counts[_whole(keys[index]) + _whole(codes[index])] += _ONE
    else:
        for index in range(found):
            counts[_whole(keys[index]) + _whole(codes[_whole(rows[index])])] += _ONE


@compiled
def _count_words(
    codes: Codes,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    found: Whole,
    width: Whole,
    counts: NDArray[np.uint32],
) -> None:
    """As `_count_bytes`, for codes of two bytes and keys that are still to be multiplied by the number of codes."""
    for index in range(found):
        # a code beyond the last is no code of this feature; it is held within bounds
        code = min(_whole(codes[_whole(rows[index])]), width - _whole(1))
        counts[_whole(keys[index]) * width + code] += _ONE


@compiled
def _count_all(
    codes: Codes,
    node: NDArray[Any],
    target: NDArray[np.int32],
    first_key: IntArray,
    n_classes: int,
    widths: IntArray,
    starts: IntArray,
    counts: NDArray[np.uint32],
) -> None:
    rows = np.zeros(_ROWS_AT_ONCE, np.uint16)
    keys = np.zeros(_ROWS_AT_ONCE, np.uint32)
    in_bytes = codes.itemsize == 1
    step = _whole(_BYTE_CODES if in_bytes else 1)
    for start in range(0, target.size, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, target.size)
        found = _list_records(node[start:stop], target[start:stop], first_key, _whole(n_classes), step, rows, keys)
        every = found == _whole(stop - start)
        for feature in range(widths.size):
            here, of_feature = codes[feature, start:stop], counts[starts[feature] : starts[feature + 1]]
            if in_bytes:
                _count_bytes(here, rows, keys, found, every, of_feature)
            else:
                _count_words(here, rows, keys, found, _whole(widths[feature]), of_feature)


@compiled
def _lay_out(counts: NDArray[np.uint32], widths: IntArray, n_codes: IntArray, out: IntArray) -> None:
    """Turn counts by feature, key and code into counts by slot, code and class; codes beyond the last count as it."""
    n_slots, _, n_classes = out.shape
    begin = place = 0
    for feature in range(widths.size):
        for slot in range(n_slots):
            for label in range(n_classes):
                for code in range(widths[feature]):
                    out[slot, begin + min(code, n_codes[feature] - 1), label] += counts[place]
                    place += 1
        begin += n_codes[feature]


@dataclass(frozen=True, eq=False)
class SiblingHistogram:
    """Count records by node, feature, code and class, at some of the open nodes.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node.
    slots : int32 array of shape (number of open nodes,)
        The place of each node in the result; -1 for a node that is not counted.
    n_classes : int
        Number of classes.
    n_codes : tuple of int
        Number of codes of each feature.

    Notes
    -----
    *Privacy.* Exact, as `NodeHistogram`: adding or removing a record changes one count by one for each feature, in one
    node. Which nodes are counted may depend on private counts, since the others' counts follow exactly: the result
    after subtraction is the same whatever was counted.
    """

    node_state: str
    slots: NDArray[np.int32]
    n_classes: int
    n_codes: tuple[int, ...]

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (number of counted nodes, total number of codes, n_classes)."""
        n_slots, n_codes = int(self.slots.max(initial=-1)) + 1, np.array(self.n_codes, dtype=np.int64)
        out = np.zeros((n_slots, int(n_codes.sum()), self.n_classes), np.int64)
        if not n_slots:
            return out
        widths = np.maximum(n_codes, _BYTE_CODES) if block.codes.itemsize == 1 else n_codes
        starts = np.concatenate([[0], np.cumsum(widths * n_slots * self.n_classes)]).astype(np.int64)
        first_key = self.slots.astype(np.int64) * self.n_classes
        counts = np.zeros(int(starts[-1]), np.uint32)
        node = block.state[self.node_state]
        _count_all(block.codes, node, block.target, first_key, self.n_classes, widths, starts, counts)
        _lay_out(counts, widths, n_codes, out)
        return out
