"""How much each feature's splits lower the impurity, or the error, of a forest, by what its leaves released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privet.errors import ParameterError
from privet.models.leaf_sums import node_sums
from privet.tables.protocol import Floats, IntArray
from privet.trees.explicit_trees import ExplicitTrees

if TYPE_CHECKING:
    from privet.models.forest import Forest
    from privet.models.regression_forest import RegressionForest


def impurity_decreases(forest: Forest, counts: IntArray) -> Floats | None:
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
    return _by_feature(trees, _count_gini(sums), forest.encoding.n_features)


def error_decreases(forest: RegressionForest) -> Floats | None:
    """Return for each feature how much its splits lower the sum of squared errors, adding up to one (or zero).

    A node's mean is that of the leaves below it, by their noisy numbers of records. None where trees are too large to
    be written down, or where leaves share ids.

    *Privacy.* The leaves' values and numbers were released; this is post-processing.
    """
    try:
        trees = forest.structure.explicit()
    except ParameterError:
        return None
    records = forest.records.astype(np.float64)
    sums = node_sums(trees, np.column_stack([records, records * forest.values]))
    if sums is None:
        return None
    # Up to what all candidates have in common: minus the square of the sum over the number.
    error = -(sums[:, 1] ** 2) / np.maximum(sums[:, 0], 1.0)
    return _by_feature(trees, error, forest.encoding.n_features)


def _by_feature(trees: ExplicitTrees, impurity: Floats, n_features: int) -> Floats:
    """Return by how much the splits of each feature lower an impurity of nodes, as parts of the whole."""
    inner = np.flatnonzero(trees.leaf < 0)
    decreases = impurity[inner] - _of_children(trees, inner, impurity)
    found = np.zeros(n_features)
    np.add.at(found, trees.splits.feature[inner], np.maximum(decreases, 0.0))
    total = found.sum()
    return found / total if total > 0 else found


def _count_gini(counts: Floats) -> Floats:
    """Return n - sum of c^2 / n for each row of counts."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum(axis=1)
    impurity: Floats = total - (positive**2).sum(axis=1) / np.where(total > 0, total, 1.0)
    return impurity


def _of_children(trees: ExplicitTrees, nodes: IntArray, impurity: Floats) -> Floats:
    """Return the children's impurities added up, for each node; the children of a node stand side by side."""
    before = np.concatenate([[0.0], np.cumsum(impurity)])
    first = trees.first_child[nodes].astype(np.int64)
    sums: Floats = before[first + trees.n_children[nodes]] - before[first]
    return sums
