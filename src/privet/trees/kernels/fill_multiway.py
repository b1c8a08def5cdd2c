"""Compiled writing down of multi-way random trees, by either way of drawing them."""

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.randomness.hashing import splitmix
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import Whole
from privet.trees.kernels.implicit import RandomRule, bucket, child_word, draw_multiway, enter_child, root_word
from privet.trees.kernels.one_hash import bucket_of, draw_node, root_of


@compiled
def fill_multiway(
    rule: RandomRule,
    feature: NDArray[np.int32],
    cut: NDArray[np.int32],
    missing_first: NDArray[np.bool_],
    first_child: NDArray[np.int32],
    n_children: NDArray[np.int32],
    leaf_bucket: NDArray[np.int32],
    tree_offsets: IntArray,
) -> bool:
    """Write down the nodes of multi-way trees; False if they do not fit the arrays.

    Depth first with a stack of open nodes, each with its own intervals; children of a node lie side by side.
    """
    width = rule.n_codes.size
    room = rule.depth * max(2, rule.n_codes.max()) + 1
    open_node, open_depth = np.zeros(room, np.int64), np.zeros(room, np.int64)
    open_word = np.zeros(room, np.uint64)
    open_low, open_high = np.zeros((room, width), np.int64), np.zeros((room, width), np.int64)
    low, high = np.zeros(width, np.int64), np.zeros(width, np.int64)
    used = 0
    for tree in range(rule.n_trees):
        tree_offsets[tree] = used
        if used == feature.size:
            return False
        n_open = 1
        open_node[0], open_depth[0] = used, 0
        open_word[0] = root_of(rule.seed, tree) if rule.one_hash else root_word(rule.seed, tree)
        open_low[0], open_high[0] = 0, rule.n_cells - 1
        used += 1
        while n_open > 0:
            n_open -= 1
            node, level, word = open_node[n_open], open_depth[n_open], open_word[n_open]
            low[:], high[:] = open_low[n_open], open_high[n_open]
            if level == rule.depth or not np.any(high > low):
                feature[node] = -1
                leaf_bucket[node] = bucket_of(word, rule.max_leaves) if rule.one_hash else bucket(word, rule.max_leaves)
                continue
            if rule.one_hash:
                drawn, where, first = draw_node(word, rule.splittable, rule.ordered, low, high)
            else:
                drawn, where, first = draw_multiway(word, rule.ordered, low, high)
            children: Whole = rule.n_codes[drawn] if where < 0 else 2
            if used + children > feature.size:
                return False
            feature[node], cut[node] = drawn, max(where, 0)
            missing_first[node] = first and rule.missing[drawn] >= 0
            first_child[node], n_children[node] = used, children
            for child in range(children):
                open_node[n_open], open_depth[n_open] = used + child, level + 1
                open_word[n_open] = splitmix(word, np.uint64(child)) if rule.one_hash else child_word(word, child)
                open_low[n_open], open_high[n_open] = low, high
                enter_child(drawn, where, child, open_low[n_open], open_high[n_open])
                n_open += 1
            used += children
    tree_offsets[-1] = used
    return True
