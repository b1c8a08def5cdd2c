"""Fast counts and steps for trees with two-way splits, level by level.

Only one child of each node is counted; its sibling's counts follow by subtraction from their parent's.
"""

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
def _list_records(
    node: NDArray[Any],
    target: NDArray[np.int32],
    slot: NDArray[np.int32],
    n_classes: int,
    start: int,
    stop: int,
    rows: NDArray[np.uint32],
    keys: NDArray[np.uint32],
) -> int:
    """List the records of rows start..stop that are to be counted, each with its slot and class; return how many."""
    found = 0
    for row in range(start, stop):
        here, label = np.int64(node[row]), np.int64(target[row])
        known = (here >= 0) & (here < slot.size) & (label >= 0) & (label < n_classes)
        place = slot[here] if known else -1
        # Written in any case, kept only if it counts: there is no branch to mispredict.
        rows[found] = row
        keys[found] = place * n_classes + label
        found += place >= 0
    return found


@compiled
def _count_feature(
    codes: Codes, rows: NDArray[np.uint32], keys: NDArray[np.uint32], found: int, every: bool, counts: IntArray
) -> None:
    """Add listed records to the counts of one feature, laid out by code, then by key; `every` if none was left out."""
    n_keys, last = np.uint64(counts.shape[1]), np.uint64(counts.shape[0] - 1)
    flat = counts.reshape(-1)
    if every:
        codes = codes[rows[0] : rows[0] + found]
        for index in range(found):
            # a code beyond the last is no code of this feature; it is held within bounds
            flat[min(np.uint64(codes[index]), last) * n_keys + np.uint64(keys[index])] += 1
    else:
        for index in range(found):
            flat[min(np.uint64(codes[rows[index]]), last) * n_keys + np.uint64(keys[index])] += 1


@compiled
def _count_all(
    codes: Codes,
    node: NDArray[Any],
    target: NDArray[np.int32],
    slot: NDArray[np.int32],
    n_classes: int,
    offsets: IntArray,
    counts: IntArray,
) -> None:
    rows = np.zeros(_ROWS_AT_ONCE, np.uint32)
    keys = np.zeros(_ROWS_AT_ONCE, np.uint32)
    for start in range(0, target.size, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, target.size)
        found = _list_records(node, target, slot, n_classes, start, stop, rows, keys)
        if found == 0:
            continue
        for feature in range(offsets.size - 1):
            of_feature = counts[offsets[feature] : offsets[feature + 1]]
            _count_feature(codes[feature], rows, keys, found, found == stop - start, of_feature)


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
            node = block.state[self.node_state]
            _count_all(block.codes, node, block.target, self.slots, self.n_classes, offsets, counts)
        by_node = counts.reshape(counts.shape[0], n_slots, self.n_classes).transpose(1, 0, 2)
        return np.ascontiguousarray(by_node)


@compiled
def _step_down(
    codes: Codes,
    node: NDArray[Any],
    feature: IntArray,
    second: NDArray[np.bool_],
    below: NDArray[Any],
) -> None:
    n_nodes, last = feature.size, second.shape[1] - 1
    for row in range(node.size):
        here = np.int64(node[row])
        if 0 <= here < n_nodes:
            code = min(np.int64(codes[feature[here], row]), last)
            below[row] = 2 * here + second[here, code]
        else:
            below[row] = -1


@dataclass(frozen=True, eq=False)
class StepDown:
    """Move every record from its open node to one of two children; node i's are 2 i and 2 i + 1 of the next open nodes.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node.
    feature : int64 array of shape (n_nodes,)
        The feature that each node splits.
    second : bool array of shape (n_nodes, largest number of codes)
        Whether a code goes to the second child.
    """

    node_state: str
    feature: IntArray
    second: NDArray[np.bool_]

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return each record's node among the next open nodes, -1 if it was in none."""
        node = block.state[self.node_state]
        below = np.empty(node.size, np.int32)
        _step_down(block.codes, node, self.feature, self.second, below)
        return below
