"""Pruning on released counts: post-processing, so it costs nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.trees.explicit_trees import ExplicitTrees

_Z = 0.6744897501960817  # C4.5's confidence of 25 percent
_LARGEST = 2.0**62  # sums of very noisy counts are held here, where they fit an integer


@inner
def _estimated_errors(counts: NDArray[np.float64]) -> Any:
    """Return the upper confidence limit of a node's errors as a leaf (C4.5), from counts none of which is negative."""
    total = counts.sum()
    if total <= 0.0:
        return 0.0
    share = (total - counts.max()) / total
    squared = _Z * _Z / total
    spread = _Z * np.sqrt(share / total - share * share / total + squared / (4.0 * total))
    return total * (share + squared / 2.0 + spread) / (1.0 + squared)


@compiled
def _prune(
    first_child: NDArray[np.int32],
    n_children: NDArray[np.int32],
    sums: NDArray[np.float64],
    errors: NDArray[np.float64],
    pruned: NDArray[np.bool_],
) -> None:
    """Walk from the leaves to the root; a node is pruned if it errs no more than its subtree would."""
    for node in range(first_child.size - 1, -1, -1):
        below = 0.0
        for child in range(first_child[node], first_child[node] + n_children[node]):
            sums[node] += sums[child]
            below += errors[child]
        here = _estimated_errors(np.maximum(sums[node], 0.0))
        pruned[node] = n_children[node] > 0 and here <= below
        errors[node] = here if n_children[node] == 0 or pruned[node] else below


@compiled
def _hand_down(
    first_child: NDArray[np.int32],
    n_children: NDArray[np.int32],
    sums: NDArray[np.float64],
    pruned: NDArray[np.bool_],
) -> None:
    """Give every node below a pruned one its counts; parents come before their children."""
    for node in range(first_child.size):
        if pruned[node]:
            for child in range(first_child[node], first_child[node] + n_children[node]):
                sums[child] = sums[node]
                pruned[child] = True


def prune_by_error(trees: ExplicitTrees, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return leaf counts in which subtrees that do not pay speak with one voice (error-based pruning of C4.5).

    Parameters
    ----------
    trees : ExplicitTrees
        Trees whose leaves have ids of their own.
    counts : int64 array of shape (n_leaves, n_classes)
        Released, noisy counts.

    Returns
    -------
    int64 array of shape (n_leaves, n_classes)
        Each leaf's counts, or the sum over the largest subtree around it whose estimated errors, all counts below zero
        taken as zero, are no more than those of the leaves in it.
    """
    is_leaf = trees.leaf >= 0
    sums = np.zeros((trees.leaf.size, counts.shape[1]))
    sums[is_leaf] = counts[trees.leaf[is_leaf]]
    errors, pruned = np.zeros(len(sums)), np.zeros(len(sums), np.bool_)
    _prune(trees.first_child, trees.n_children, sums, errors, pruned)
    _hand_down(trees.first_child, trees.n_children, sums, pruned)
    result = counts.copy()
    result[trees.leaf[is_leaf]] = np.clip(sums[is_leaf], -_LARGEST, _LARGEST).astype(np.int64)
    return result
