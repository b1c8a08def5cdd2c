"""Compiled routing through trees of any shape, given as flat arrays of nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.kernels.blocks import BLOCK_ROWS, BLOCK_SHIFT, Codes, copy_block, read_code
from privet.kernels.node_tests import Nodes, NodeTests, takes_second


@inlined
def _child(code: Any, node: Any, tests: Any, nodes: Any) -> Any:
    """Return the child that a code takes: its own in a multi-way node, the first or second otherwise."""
    second = takes_second(code, tests.low[node], tests.set_start[node], tests.sets)
    return np.uint64(nodes.first_child[node]) + second + (code & np.uint64(nodes.by_code[node]))


@compiled
def route_explicit(
    codes: Codes,
    start: int,
    stop: int,
    tests: NodeTests,
    nodes: Nodes,
    first_tree: int,
    out: NDArray[np.int32],
) -> None:
    """Route a block of rows through trees first_tree, first_tree + 1, ...: one for each row of `out`.

    A leaf is its own first child, so that every row takes as many steps as the tree is deep, without a branch; four
    rows go side by side.
    """
    block = np.zeros(tests.columns.source.size * BLOCK_ROWS, codes.dtype)
    copy_block(codes, start, stop, tests.columns, block)
    offset, leaf = tests.offset, nodes.leaf
    for index in range(out.shape[0]):
        root, leaves = np.uint64(nodes.roots[first_tree + index]), out[index]
        for group in range((stop - start + 3) // 4):
            r0 = np.uint64(4 * group)
            r1, r2, r3 = r0 + np.uint64(1), r0 + np.uint64(2), r0 + np.uint64(3)
            n0, n1, n2, n3 = root, root, root, root
            for _ in range(nodes.depths[first_tree + index]):
                n0 = _child(np.uint64(block[np.uint64(offset[n0]) + r0]), n0, tests, nodes)
                n1 = _child(np.uint64(block[np.uint64(offset[n1]) + r1]), n1, tests, nodes)
                n2 = _child(np.uint64(block[np.uint64(offset[n2]) + r2]), n2, tests, nodes)
                n3 = _child(np.uint64(block[np.uint64(offset[n3]) + r3]), n3, tests, nodes)
            leaves[r0], leaves[r1], leaves[r2], leaves[r3] = leaf[n0], leaf[n1], leaf[n2], leaf[n3]


@compiled
def route_explicit_assigned(
    codes: Codes, trees: NDArray[np.int64], tests: NodeTests, nodes: Nodes
) -> NDArray[np.int32]:
    """Route each row through its own tree only; -1 for a row whose tree number is not that of a tree."""
    leaves = np.full(trees.size, -1, np.int32)
    for row in range(trees.size):
        if trees[row] < 0 or trees[row] >= nodes.roots.size:
            continue
        node = np.uint64(nodes.roots[trees[row]])
        while nodes.leaf[node] < 0:
            column = np.int64(tests.offset[node]) >> BLOCK_SHIFT
            node = _child(np.uint64(read_code(codes, row, column, tests.columns)), node, tests, nodes)
        leaves[row] = nodes.leaf[node]
    return leaves
