"""Voting: route and add up what the leaves say, block by block, on as many threads as wished.

Each row's sum is made in the order of the trees, whatever the block and the thread: results are the same to the bit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, merged
from privet.progress import RECORDS, Counter
from privet.trees.kernels.blocks import BLOCK_ROWS, TREES_AT_ONCE, Codes, Whole
from privet.trees.kernels.count import Router

MOST_PACKED_TREES = (1 << 16) - 1  # a word has 16 bits for the count of one class
_CLASSES_IN_A_WORD = 4
_BITS_OF_A_CLASS, _ONE, _TWO, _THREE = np.uint64(16), np.uint64(1), np.uint64(2), np.uint64(3)


@compiled
def _add_values(leaves: NDArray[np.int32], values: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    for tree in range(leaves.shape[0]):
        for row in range(sums.shape[0]):
            leaf = leaves[tree, row]
            for k in range(sums.shape[1]):
                sums[row, k] += values[leaf, k]


@compiled
def _add_pairs(leaves: NDArray[np.int32], values: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """The same for two classes, in half the time: no inner loop, and sums are fetched once for every four trees."""
    in_fours = leaves.shape[0] - leaves.shape[0] % 4
    for tree in range(0, in_fours, 4):
        tree_0, tree_1, tree_2, tree_3 = leaves[tree], leaves[tree + 1], leaves[tree + 2], leaves[tree + 3]
        for row in range(sums.shape[0]):
            # unsigned: no test for an index from the end
            leaf_0, leaf_1 = np.uint64(tree_0[row]), np.uint64(tree_1[row])
            leaf_2, leaf_3 = np.uint64(tree_2[row]), np.uint64(tree_3[row])
            first = sums[row, 0] + values[leaf_0, 0] + values[leaf_1, 0] + values[leaf_2, 0] + values[leaf_3, 0]
            second = sums[row, 1] + values[leaf_0, 1] + values[leaf_1, 1] + values[leaf_2, 1] + values[leaf_3, 1]
            sums[row, 0], sums[row, 1] = first, second
    _add_values(leaves[in_fours:], values, sums)


@compiled
def _add_labels(leaves: NDArray[np.int32], labels: NDArray[np.uint16], sums: NDArray[np.int32]) -> None:
    n_classes = np.int64(sums.shape[1])
    for tree in range(leaves.shape[0]):
        for row in range(sums.shape[0]):
            label = np.int64(labels[leaves[tree, row]])
            if label < n_classes:  # any other label abstains
                sums[row, label] += 1


@merged
def _ballot(packed: NDArray[np.uint8], leaf: Whole) -> Whole:
    """One, in the bits of the class that a leaf votes for."""
    leaf = np.uint64(leaf)  # unsigned: no test for an index from the end
    label = (np.uint64(packed[leaf >> _TWO]) >> ((leaf & _THREE) << _ONE)) & _THREE
    return _ONE << (label * _BITS_OF_A_CLASS)


@compiled
def _add_ballots(leaves: NDArray[np.int32], packed: NDArray[np.uint8], sums: NDArray[np.uint64]) -> None:
    """Add up ballots, four trees at once: their labels are far apart, and are waited for together."""
    in_fours = leaves.shape[0] - leaves.shape[0] % 4
    for tree in range(0, in_fours, 4):
        tree_0, tree_1, tree_2, tree_3 = leaves[tree], leaves[tree + 1], leaves[tree + 2], leaves[tree + 3]
        for row in range(sums.size):
            first = _ballot(packed, tree_0[row]) + _ballot(packed, tree_1[row])
            sums[row] += first + _ballot(packed, tree_2[row]) + _ballot(packed, tree_3[row])
    for tree in range(in_fours, leaves.shape[0]):
        for row in range(sums.size):
            sums[row] += _ballot(packed, leaves[tree, row])


def _in_blocks(
    structure: Router,
    codes: Codes,
    add: Callable[[NDArray[np.int32], Any, Any], None],
    values: NDArray[Any],
    sums: NDArray[Any],
    n_jobs: int,
) -> None:
    codes = structure.as_codes(codes)
    n_rows, n_trees = codes.shape[1], structure.n_trees
    counter = Counter(RECORDS, n_rows)

    def work(begin: int, end: int) -> None:
        scratch = np.zeros((min(n_trees, TREES_AT_ONCE), BLOCK_ROWS), np.int32)
        for start in range(begin, end, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, end)
            for tree in range(0, n_trees, TREES_AT_ONCE):
                leaves = scratch[: min(TREES_AT_ONCE, n_trees - tree)]
                structure.route_block(codes, start, stop, tree, leaves)
                add(leaves, values, sums[start:stop])
            counter.add(stop - start)

    n_blocks = -(-n_rows // BLOCK_ROWS)
    if n_jobs <= 1 or n_blocks <= 1:
        work(0, n_rows)
        return
    bounds = [min(n_rows, BLOCK_ROWS * (n_blocks * job // n_jobs)) for job in range(n_jobs + 1)]
    with ThreadPoolExecutor(n_jobs) as threads:
        # list() lets an error of any thread come out
        list(threads.map(work, bounds[:-1], bounds[1:]))


def sum_values(structure: Router, codes: Codes, values: NDArray[np.float64], n_jobs: int = 1) -> NDArray[np.float64]:
    """Add up, for each row, the values of the leaves that it reaches.

    Parameters
    ----------
    structure : Router
        The trees.
    codes : array of shape (n_features, n_rows)
        The rows.
    values : float64 array of shape (n_leaves, n_classes)
        What each leaf says.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    float64 array of shape (n_rows, n_classes)
    """
    sums = np.zeros((codes.shape[1], values.shape[1]), np.float64)
    add = _add_pairs if values.shape[1] == 2 else _add_values
    _in_blocks(structure, codes, add, np.ascontiguousarray(values), sums, n_jobs)
    return sums


def pack_labels(labels: NDArray[np.uint16], n_classes: int) -> NDArray[np.uint8] | None:
    """Write labels down in two bits each, four to a byte; None if there are more than two bits can tell apart.

    Labels of deep trees are looked up all over the memory that they take, so it is kept small. The fourth number stands
    for all labels that are not of a class, which abstain.
    """
    fits = n_classes < _CLASSES_IN_A_WORD or (n_classes == _CLASSES_IN_A_WORD and bool((labels < n_classes).all()))
    if not fits:
        return None
    packed = np.zeros((-(-labels.size // 4), 4), np.uint8)
    packed.reshape(-1)[: labels.size] = np.minimum(labels, 3)
    packed <<= np.array([0, 2, 4, 6], np.uint8)
    return np.asarray(np.bitwise_or.reduce(packed, axis=1), dtype=np.uint8)


def count_packed(
    structure: Router, codes: Codes, packed: NDArray[np.uint8], n_classes: int, n_jobs: int = 1
) -> NDArray[np.int32]:
    """As `count_labels`, for labels from `pack_labels` and fewer than 65,536 trees.

    All counts of a row are in one word: an addition for each tree, without a branch and without overflow.
    """
    n_rows = codes.shape[1]
    words = np.zeros(n_rows, np.uint64)
    _in_blocks(structure, codes, _add_ballots, packed, words, n_jobs)
    by_class = words.astype("<u8", copy=False).view("<u2").reshape(n_rows, _CLASSES_IN_A_WORD)
    return by_class[:, :n_classes].astype(np.int32)


def count_labels(
    structure: Router, codes: Codes, labels: NDArray[np.uint16], n_classes: int, n_jobs: int = 1
) -> NDArray[np.int32]:
    """Count, for each row, the labels of the leaves that it reaches; labels from `n_classes` on abstain.

    Returns
    -------
    int32 array of shape (n_rows, n_classes)
    """
    sums = np.zeros((codes.shape[1], n_classes), np.int32)
    _in_blocks(structure, codes, _add_labels, np.ascontiguousarray(labels), sums, n_jobs)
    return sums
