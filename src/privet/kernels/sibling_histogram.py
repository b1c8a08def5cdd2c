"""Counts at some of the open nodes only: those of a node's sibling follow by subtraction from their parent's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.kernels.blocks import Codes
from privet.tables.protocol import Block

IntArray = NDArray[np.int64]

_ROWS_AT_ONCE = 4096  # row numbers and keys of so many records stay in the nearest cache while all features are counted


@compiled
def _compact(
    node: NDArray[Any],
    target: NDArray[np.int32],
    slot: NDArray[np.int32],
    n_classes: int,
    row: int,
    rows: NDArray[np.uint32],
    keys: NDArray[np.uint32],
) -> tuple[int, int]:
    """List the next records to be counted, from `row` on; return how many, and the row after the last looked at."""
    found = 0
    while row < target.size and found < rows.size:
        here, label = node[row], target[row]
        if 0 <= here < slot.size and 0 <= label < n_classes:
            rows[found] = row
            keys[found] = slot[here] * n_classes + label
            found += slot[here] >= 0  # written in any case, kept only if the node is counted: no branch to mispredict
        row += 1
    return found, row


@compiled
def _count_feature(
    codes: Codes, rows: NDArray[np.uint32], keys: NDArray[np.uint32], found: int, last_code: int, counts: NDArray[Any]
) -> None:
    """Add records to counts of one feature, laid out by code, then by key."""
    n_keys = np.uint64(counts.shape[1])
    flat = counts.reshape(-1)
    last = np.uint64(last_code)
    for index in range(found):
        # a code beyond the last is no code of this feature; it is held within bounds
        code = min(np.uint64(codes[rows[index]]), last)
        flat[code * n_keys + np.uint64(keys[index])] += np.int64(1)


@compiled
def _count_all(
    codes: Codes,
    node: NDArray[Any],
    target: NDArray[np.int32],
    slot: NDArray[np.int32],
    n_classes: int,
    offsets: IntArray,
    counts: NDArray[Any],
) -> None:
    rows = np.zeros(_ROWS_AT_ONCE, np.uint32)
    keys = np.zeros(_ROWS_AT_ONCE, np.uint32)
    row = 0
    while row < target.size:
        found, row = _compact(node, target, slot, n_classes, row, rows, keys)
        for feature in range(offsets.size - 1):
            begin, end = offsets[feature], offsets[feature + 1]
            _count_feature(codes[feature], rows, keys, found, end - begin - 1, counts[begin:end])


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
        offsets = np.concatenate([[0], np.cumsum(self.n_codes)]).astype(np.int64)
        n_slots = int(self.slots.max(initial=-1)) + 1
        counts = np.zeros((int(offsets[-1]), n_slots * self.n_classes), np.int64)
        if n_slots:
            _count_all(
                block.codes, block.state[self.node_state], block.target, self.slots, self.n_classes, offsets, counts
            )
        by_node = counts.reshape(counts.shape[0], n_slots, self.n_classes).transpose(1, 0, 2)
        return np.ascontiguousarray(by_node)
