"""Compiled routing through complete binary trees of equal depth, nodes in heap order (children of v: 2v+1 and 2v+2).

Pure threshold forests take the fastest way. The upper levels are evaluated at every node for all rows of a block by
vector comparisons of whole columns (a node costs a fraction of an instruction a row there), the lower levels row by
row, eight rows at a time to hide the latency of loads. A forest with splits by sets of codes goes row by row all the
way, with one more table lookup a level and no branch.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined, inner
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import BLOCK_ROWS, Codes, copy_block
from privet.trees.kernels.node_tests import NodeTests, takes_second

_ONE = np.uint64(1)
# Node and leaf numbers as words: for a plain number numba would compile one more version of what it is passed to.
_ROOT: Any = np.int64(0)
_EIGHT: Any = np.int64(8)
_THIRTY_TWO: Any = np.int64(32)
UPPER_ROOM = 21  # rows for what seven levels have in between: 16 subtrees, 4 that join them, the result
_GROUP = 8  # rows routed side by side; the vector loops rely on BLOCK_ROWS being a multiple of it


def as_signed(low: NDArray[Any]) -> NDArray[Any]:
    """Return thresholds as `route_thresholds` takes them: signed, in the order of the unsigned ones.

    Processors compare vectors of signed numbers in one instruction, unsigned ones in two.
    """
    half = low.dtype.type(1 << (8 * low.itemsize - 1))
    signed: NDArray[Any] = (low ^ half).view(np.dtype(f"i{low.itemsize}"))
    return signed


@inner
def _three_levels(chosen: Codes, block: Codes, offset: NDArray[np.uint32], low: Codes, root: int) -> None:
    """Route all rows of a block through a subtree of seven nodes; `chosen` gets 0..7.

    Every comparison is made for every row, so that the loop has no branch and becomes vector instructions. The casts
    keep all values as narrow as codes; numba would widen them, and each widening halves the rows per instruction.
    """
    cast = chosen.dtype.type
    left, bottom = 2 * root + 1, 4 * root + 3
    column_0, column_1, column_2 = block[offset[root] :], block[offset[left] :], block[offset[left + 1] :]
    column_3, column_4 = block[offset[bottom] :], block[offset[bottom + 1] :]
    column_5, column_6 = block[offset[bottom + 2] :], block[offset[bottom + 3] :]
    low_0, low_1, low_2 = low[root], low[left], low[left + 1]
    low_3, low_4, low_5, low_6 = low[bottom], low[bottom + 1], low[bottom + 2], low[bottom + 3]
    for row in range(BLOCK_ROWS):
        leaf_01 = cast(1) if column_3[row] >= low_3 else cast(0)
        leaf_23 = cast(3) if column_4[row] >= low_4 else cast(2)
        leaf_45 = cast(5) if column_5[row] >= low_5 else cast(4)
        leaf_67 = cast(7) if column_6[row] >= low_6 else cast(6)
        first = leaf_23 if column_1[row] >= low_1 else leaf_01
        second = leaf_67 if column_2[row] >= low_2 else leaf_45
        chosen[row] = second if column_0[row] >= low_0 else first


@inner
def _join_four(
    chosen: Codes, inner: Codes, n_inner: int, block: Codes, offset: NDArray[np.uint32], low: Codes, root: int
) -> None:
    """Put two levels on top of four subtrees, in each of which `inner` has one of `n_inner` places for every row.

    All loads come before the first choice: a load under a condition would keep the loop from becoming vectors.
    """
    cast = chosen.dtype.type
    left = 2 * root + 1
    inner_0, inner_1, inner_2, inner_3 = inner[0], inner[1], inner[2], inner[3]
    column_0, column_1, column_2 = block[offset[root] :], block[offset[left] :], block[offset[left + 1] :]
    low_0, low_1, low_2 = low[root], low[left], low[left + 1]
    base_1, base_2, base_3 = cast(n_inner), cast(2 * n_inner), cast(3 * n_inner)
    for row in range(BLOCK_ROWS):
        value_0 = inner_0[row]
        value_1 = cast(inner_1[row] | base_1)
        value_2 = cast(inner_2[row] | base_2)
        value_3 = cast(inner_3[row] | base_3)
        second_0 = column_0[row] >= low_0
        second_1 = column_1[row] >= low_1
        second_2 = column_2[row] >= low_2
        first = value_1 if second_1 else value_0
        second = value_3 if second_2 else value_2
        chosen[row] = second if second_0 else first


@inner
def _upper_levels(scratch: Codes, block: Codes, offset: NDArray[np.uint32], low: Codes, levels: int) -> None:
    """Evaluate the upper three, five or seven levels of a tree for a block; scratch[0] gets the place in the level."""
    if levels == 3:
        _three_levels(scratch[0], block, offset, low, _ROOT)
    elif levels == 5:
        for quarter in range(4):
            _three_levels(scratch[1 + quarter], block, offset, low, 3 + quarter)
        _join_four(scratch[0], scratch[1:5], _EIGHT, block, offset, low, _ROOT)
    else:
        for sixteenth in range(16):
            _three_levels(scratch[5 + sixteenth], block, offset, low, 15 + sixteenth)
        for quarter in range(4):
            _join_four(scratch[1 + quarter], scratch[5 + 4 * quarter :], _EIGHT, block, offset, low, 3 + quarter)
        _join_four(scratch[0], scratch[1:5], _THIRTY_TWO, block, offset, low, _ROOT)


@inlined
def _below(node: Any, block: Any, offset: Any, low: Any, row: Any) -> Any:
    return node + node + _ONE + np.uint64(block[np.uint64(offset[node]) + row] >= low[node])


@compiled
def route_thresholds(
    codes: Codes,
    start: int,
    stop: int,
    tests: NodeTests,
    depth: int,
    first_tree: int,
    copied: Codes,
    block: NDArray[Any],
    scratch: NDArray[Any],
    out: NDArray[np.int32],
) -> None:
    """Route a block of rows through trees first_tree, first_tree + 1, ...: one for each row of `out`.

    Parameters
    ----------
    codes, start, stop
        The rows; at most `BLOCK_ROWS` of them.
    tests : NodeTests
        Arrays of shape (n_trees, 2 ** depth - 1); no node has a set, and `low` has been made by `as_signed`.
    copied : array like codes, of shape (number of columns * BLOCK_ROWS,)
        Room for the block's columns.
    block : array like `low`
        A view of `copied`.
    scratch : array like `low`, of shape (UPPER_ROOM, BLOCK_ROWS)
        Room for the upper levels.
    out : int32 array of shape (number of trees, BLOCK_ROWS)
        Leaf ids, counted through the whole forest.
    """
    copy_block(codes, start, stop, tests.columns, copied)
    half = codes.dtype.type(1 << (8 * codes.itemsize - 1))
    for place in range(copied.size):
        copied[place] ^= half
    upper = 0
    for levels in (3, 5, 7):
        upper = levels if depth >= levels else upper
    level_start = np.uint64((1 << upper) - 1)
    n_leaves = 1 << depth
    n_groups = (stop - start + _GROUP - 1) // _GROUP
    for index in range(out.shape[0]):
        tree = first_tree + index
        tree_offset, tree_low, leaves = tests.offset[tree], tests.low[tree], out[index]
        if upper:
            _upper_levels(scratch, block, tree_offset, tree_low, upper)
        begun = scratch[0]
        to_leaf = np.int64(tree) * n_leaves - (n_leaves - 1)
        for group in range(n_groups):
            r = np.uint64(group * _GROUP)
            n0 = level_start + np.uint64(begun[r])
            n1 = level_start + np.uint64(begun[r + np.uint64(1)])
            n2 = level_start + np.uint64(begun[r + np.uint64(2)])
            n3 = level_start + np.uint64(begun[r + np.uint64(3)])
            n4 = level_start + np.uint64(begun[r + np.uint64(4)])
            n5 = level_start + np.uint64(begun[r + np.uint64(5)])
            n6 = level_start + np.uint64(begun[r + np.uint64(6)])
            n7 = level_start + np.uint64(begun[r + np.uint64(7)])
            for _ in range(depth - upper):
                n0 = _below(n0, block, tree_offset, tree_low, r)
                n1 = _below(n1, block, tree_offset, tree_low, r + np.uint64(1))
                n2 = _below(n2, block, tree_offset, tree_low, r + np.uint64(2))
                n3 = _below(n3, block, tree_offset, tree_low, r + np.uint64(3))
                n4 = _below(n4, block, tree_offset, tree_low, r + np.uint64(4))
                n5 = _below(n5, block, tree_offset, tree_low, r + np.uint64(5))
                n6 = _below(n6, block, tree_offset, tree_low, r + np.uint64(6))
                n7 = _below(n7, block, tree_offset, tree_low, r + np.uint64(7))
            leaves[r] = np.int64(n0) + to_leaf
            leaves[r + np.uint64(1)] = np.int64(n1) + to_leaf
            leaves[r + np.uint64(2)] = np.int64(n2) + to_leaf
            leaves[r + np.uint64(3)] = np.int64(n3) + to_leaf
            leaves[r + np.uint64(4)] = np.int64(n4) + to_leaf
            leaves[r + np.uint64(5)] = np.int64(n5) + to_leaf
            leaves[r + np.uint64(6)] = np.int64(n6) + to_leaf
            leaves[r + np.uint64(7)] = np.int64(n7) + to_leaf


@inlined
def _below_sets(node: Any, block: Any, offset: Any, low: Any, set_start: Any, sets: Any, row: Any) -> Any:
    code = np.uint64(block[np.uint64(offset[node]) + row])
    return node + node + _ONE + takes_second(code, low[node], set_start[node], sets)


@inlined
def _below_root(node: Any, root: Any, block: Any, offset: Any, low: Any, set_start: Any, sets: Any, row: Any) -> Any:
    at = root + node
    code = np.uint64(block[np.uint64(offset[at]) + row])
    return node + node + _ONE + takes_second(code, low[at], set_start[at], sets)


@compiled
def route_sets(
    codes: Codes,
    start: int,
    stop: int,
    tests: NodeTests,
    depth: int,
    first_tree: int,
    block: Codes,
    out: NDArray[np.int32],
) -> None:
    """Like `route_thresholds`, for forests in which some nodes split by a set of codes; `low` is uint32."""
    copy_block(codes, start, stop, tests.columns, block)
    n_leaves = 1 << depth
    sets = tests.sets
    for index in range(out.shape[0]):
        tree = first_tree + index
        offset, low, set_start, leaves = tests.offset[tree], tests.low[tree], tests.set_start[tree], out[index]
        to_leaf = np.int64(tree) * n_leaves - (n_leaves - 1)
        for group in range((stop - start + 3) // 4):
            r0 = np.uint64(4 * group)
            r1, r2, r3 = r0 + np.uint64(1), r0 + np.uint64(2), r0 + np.uint64(3)
            n0, n1, n2, n3 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            for _ in range(depth):
                n0 = _below_sets(n0, block, offset, low, set_start, sets, r0)
                n1 = _below_sets(n1, block, offset, low, set_start, sets, r1)
                n2 = _below_sets(n2, block, offset, low, set_start, sets, r2)
                n3 = _below_sets(n3, block, offset, low, set_start, sets, r3)
            leaves[r0] = np.int64(n0) + to_leaf
            leaves[r1] = np.int64(n1) + to_leaf
            leaves[r2] = np.int64(n2) + to_leaf
            leaves[r3] = np.int64(n3) + to_leaf


@compiled
def route_assigned(codes: Codes, trees: IntArray, tests: NodeTests, depth: int) -> NDArray[np.int32]:
    """Route each row through its own tree only; -1 for a row whose tree number is not that of a tree.

    Four rows go side by side, each in a tree of its own; a row without a tree goes through the first, for nothing.
    """
    leaves = np.full(trees.size, -1, np.int32)
    n_trees, n_nodes = tests.offset.shape
    offset, low, set_start = tests.offset.reshape(-1), tests.low.reshape(-1), tests.set_start.reshape(-1)
    sets = tests.sets
    block = np.zeros(tests.columns.source.size * BLOCK_ROWS, codes.dtype)
    root = np.zeros(BLOCK_ROWS, np.uint64)
    reached = np.zeros(BLOCK_ROWS, np.uint64)
    for start in range(0, trees.size, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, trees.size)
        copy_block(codes, start, stop, tests.columns, block)
        for row in range(stop - start):
            tree = trees[start + row]
            root[row] = np.uint64(tree * n_nodes) if 0 <= tree < n_trees else np.uint64(0)
        for group in range((stop - start + 3) // 4):
            r0 = np.uint64(4 * group)
            r1, r2, r3 = r0 + np.uint64(1), r0 + np.uint64(2), r0 + np.uint64(3)
            n0, n1, n2, n3 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            for _ in range(depth):
                n0 = _below_root(n0, root[r0], block, offset, low, set_start, sets, r0)
                n1 = _below_root(n1, root[r1], block, offset, low, set_start, sets, r1)
                n2 = _below_root(n2, root[r2], block, offset, low, set_start, sets, r2)
                n3 = _below_root(n3, root[r3], block, offset, low, set_start, sets, r3)
            reached[r0], reached[r1], reached[r2], reached[r3] = n0, n1, n2, n3
        for row in range(stop - start):
            tree = trees[start + row]
            if 0 <= tree < n_trees:
                leaves[start + row] = tree * (n_nodes + 1) + np.int64(reached[row]) - n_nodes
    return leaves
