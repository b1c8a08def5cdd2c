"""Voting: route and add up what the leaves say, block by block, on as many threads as wished.

Each row's sum is made in the order of the trees, whatever the block and the thread: results are the same to the bit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.progress import RECORDS, Counter
from privet.trees.kernels.blocks import BLOCK_ROWS, TREES_AT_ONCE, Codes
from privet.trees.kernels.count import Router

_BITS = 16  # of a word, for the count of one class
_CLASSES_IN_A_WORD = 4
_BITS_OF_A_CLASS, _SHIFTS = np.uint64(_BITS), np.uint64(63)


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


@compiled
def _add_ballots(leaves: NDArray[np.int32], labels: NDArray[np.uint16], sums: NDArray[np.uint64]) -> None:
    """Count the labels of up to four classes, all counts of a row in one word; any other label abstains."""
    for tree in range(leaves.shape[0]):
        of_tree = leaves[tree]
        for row in range(sums.size):
            label = np.uint64(labels[np.uint64(of_tree[row])])
            # beyond the fourth class a shift would be by 64 and more: nothing is added
            sums[row] += np.uint64(label < np.uint64(_CLASSES_IN_A_WORD)) << ((label * _BITS_OF_A_CLASS) & _SHIFTS)


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


def count_labels(
    structure: Router, codes: Codes, labels: NDArray[np.uint16], n_classes: int, n_jobs: int = 1
) -> NDArray[np.int32]:
    """Count, for each row, the labels of the leaves that it reaches; labels from `n_classes` on abstain.

    Returns
    -------
    int32 array of shape (n_rows, n_classes)
    """
    n_rows = codes.shape[1]
    if n_classes <= _CLASSES_IN_A_WORD and structure.n_trees < 1 << _BITS:
        # All counts of a row in one word: an addition for each tree, without a branch and without overflow.
        words = np.zeros(n_rows, np.uint64)
        _in_blocks(structure, codes, _add_ballots, np.ascontiguousarray(labels), words, n_jobs)
        by_class = words.astype("<u8", copy=False).view("<u2").reshape(n_rows, _CLASSES_IN_A_WORD)
        return by_class[:, :n_classes].astype(np.int32)
    sums = np.zeros((n_rows, n_classes), np.int32)
    _in_blocks(structure, codes, _add_labels, np.ascontiguousarray(labels), sums, n_jobs)
    return sums
