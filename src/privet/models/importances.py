"""How much each feature's splits lower the impurity of a forest, by the noisy counts that its leaves released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.models.leaf_sums import node_sums
from privet.trees.explicit_trees import ExplicitTrees

if TYPE_CHECKING:
    from privet.models.forest import Forest

Floats = NDArray[np.float64]


def impurity_decreases(forest: Forest, counts: NDArray[np.int64]) -> Floats | None:
    """Return for each feature how much its splits lower the count-weighted Gini impurity, adding up to one (or zero).

    Counts below zero are taken as zero, and a split never counts for less than nothing: with noisy counts, children may
    look more mixed than their parent. None where trees are too large to be written down, or where leaves share ids, so
    that no node has counts of its own.

    *Privacy.* The leaves' counts were released; this is post-processing.
    """
    try:
        trees = forest.structure.explicit()
    except ParameterError:
        return None
    sums = node_sums(trees, counts.astype(np.float64))
    if sums is None:
        return None
    impurity = _count_gini(sums)
    inner = np.flatnonzero(trees.leaf < 0)
    decreases = impurity[inner] - _of_children(trees, inner, impurity)
    found = np.zeros(forest.encoding.n_features)
    np.add.at(found, trees.splits.feature[inner], np.maximum(decreases, 0.0))
    total = found.sum()
    return found / total if total > 0 else found


def _count_gini(counts: Floats) -> Floats:
    """Return n - sum of c^2 / n for each row of counts."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum(axis=1)
    impurity: Floats = total - (positive**2).sum(axis=1) / np.where(total > 0, total, 1.0)
    return impurity


def _of_children(trees: ExplicitTrees, nodes: NDArray[np.int64], impurity: Floats) -> Floats:
    """Return the children's impurities added up, for each node; the children of a node stand side by side."""
    before = np.concatenate([[0.0], np.cumsum(impurity)])
    first = trees.first_child[nodes].astype(np.int64)
    sums: Floats = before[first + trees.n_children[nodes]] - before[first]
    return sums
