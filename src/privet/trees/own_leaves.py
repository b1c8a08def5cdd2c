"""Random trees whose leaves have ids of their own, where they are small enough for that."""

from dataclasses import replace

import numpy as np

from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.random_trees import RandomTrees

MOST_STORED_NODES = 1 << 20  # some 20 MB, a few of them in a file


def with_own_leaves(trees: RandomTrees, most_nodes: int = MOST_STORED_NODES) -> ExplicitTrees | RandomTrees:
    """Write small trees down and number their leaves one by one; return large ones as they are, leaves in buckets.

    Parameters
    ----------
    trees : RandomTrees
        Multi-way trees.
    most_nodes : int
        How many nodes all trees together may have to be small.

    Notes
    -----
    *Privacy.* The choice and the numbers are functions of the public seed and the schema. Both ways every leaf id
    exists whether or not any record reaches it.
    """
    written = trees.materialise_if_small(most_nodes)
    if not isinstance(written, ExplicitTrees):
        return trees
    is_leaf = written.leaf >= 0
    tree = np.repeat(np.arange(written.n_trees), np.diff(written.tree_offsets))
    per_tree = np.bincount(tree[is_leaf], minlength=written.n_trees).astype(np.int64)
    if per_tree.max() > trees.max_leaves:
        return trees
    leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    return replace(written, leaf=leaf, leaves_per_tree=per_tree)
