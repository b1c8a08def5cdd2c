"""Compiled routing through trees of any shape, given as flat arrays of nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import BLOCK_ROWS, Codes, copy_block
from privet.trees.kernels.node_tests import Nodes, NodeTests, takes_second


@inner
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
    block: Codes,
    out: NDArray[np.int32],
) -> None:
    """Route a block of rows through trees first_tree, first_tree + 1, ...: one for each row of `out`.

    A leaf is its own first child, so that every row takes as many steps as the tree is deep, without a branch; four
    rows go side by side. `block` is room for the block's columns, `BLOCK_ROWS` of each.
    """
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


@inner
def _next(node: Any, row: Any, block: Any, records: Any, sets: Any) -> Any:
    """Return the child that a row of a block takes; a leaf is its own."""
    code = np.uint64(block[np.uint64(records[node, 0]) + row])
    second = takes_second(code, records[node, 1], records[node, 2], sets)
    return np.uint64(records[node, 3]) + second + (code & np.uint64(records[node, 4]))


@compiled
def route_explicit_assigned(codes: Codes, trees: IntArray, tests: NodeTests, nodes: Nodes) -> NDArray[np.int32]:
    """Route each row through its own tree only; -1 for a row whose tree number is not that of a tree.

    Eight rows go side by side, each in a tree of its own, until none of them moves any more.
    """
    leaves = np.full(trees.size, -1, np.int32)
    block = np.zeros(tests.columns.source.size * BLOCK_ROWS, codes.dtype)
    roots, records, sets = nodes.roots, nodes.records, tests.sets
    first = np.zeros(BLOCK_ROWS, np.uint64)
    for start in range(0, trees.size, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, trees.size)
        copy_block(codes, start, stop, tests.columns, block)
        for row in range(stop - start):
            tree = trees[start + row]
            first[row] = np.uint64(roots[tree]) if 0 <= tree < roots.size else np.uint64(0)
        for group in range((stop - start + 7) // 8):
            r0 = np.uint64(8 * group)
            r1, r2, r3 = r0 + np.uint64(1), r0 + np.uint64(2), r0 + np.uint64(3)
            r4, r5, r6, r7 = r0 + np.uint64(4), r0 + np.uint64(5), r0 + np.uint64(6), r0 + np.uint64(7)
            n0, n1, n2, n3 = first[r0], first[r1], first[r2], first[r3]
            n4, n5, n6, n7 = first[r4], first[r5], first[r6], first[r7]
            moved = True
            while moved:
                m0 = _next(n0, r0, block, records, sets)
                m1 = _next(n1, r1, block, records, sets)
                m2 = _next(n2, r2, block, records, sets)
                m3 = _next(n3, r3, block, records, sets)
                m4 = _next(n4, r4, block, records, sets)
                m5 = _next(n5, r5, block, records, sets)
                m6 = _next(n6, r6, block, records, sets)
                m7 = _next(n7, r7, block, records, sets)
                some = (m0 ^ n0) | (m1 ^ n1) | (m2 ^ n2) | (m3 ^ n3)
                moved = (some | (m4 ^ n4) | (m5 ^ n5) | (m6 ^ n6) | (m7 ^ n7)) != np.uint64(0)
                n0, n1, n2, n3, n4, n5, n6, n7 = m0, m1, m2, m3, m4, m5, m6, m7
            first[r0], first[r1], first[r2], first[r3] = n0, n1, n2, n3
            first[r4], first[r5], first[r6], first[r7] = n4, n5, n6, n7
        for row in range(stop - start):
            if 0 <= trees[start + row] < roots.size:
                leaves[start + row] = nodes.leaf[first[row]]
    return leaves
