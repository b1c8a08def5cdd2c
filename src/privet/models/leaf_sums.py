"""The counts of every node of a tree, added up from those of its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.trees.explicit_trees import ExplicitTrees


@compiled
def _sum_up(first_child: NDArray[Any], n_children: NDArray[Any], sums: NDArray[np.float64]) -> None:
    for node in range(sums.shape[0] - 1, -1, -1):
        for child in range(first_child[node], first_child[node] + n_children[node]):
            for k in range(sums.shape[1]):
                sums[node, k] += sums[child, k]


def node_sums(trees: ExplicitTrees, counts: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the counts of all nodes; None where leaves share ids, so that no node has counts of its own.

    Parameters
    ----------
    trees : ExplicitTrees
        The trees.
    counts : float64 array of shape (n_leaves, n_classes)
        Released counts of the leaves.
    """
    is_leaf = trees.leaf >= 0
    ids = trees.leaf[is_leaf]
    if np.unique(ids).size != ids.size:
        return None
    sums = np.zeros((trees.leaf.size, counts.shape[1]))
    sums[is_leaf] = counts[ids]
    # Children come after their parents, so one pass from the end knows each child's sum in time.
    _sum_up(trees.first_child, trees.n_children, sums)
    return sums
