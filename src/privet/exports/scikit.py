"""One tree of a forest as a scikit-learn decision tree, for its plots and text exports."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.exports.scoring import refuse_objective
from privet.exports.thresholds import ThresholdTree, forest_of, threshold_trees
from privet.models.forest import Forest
from privet.models.regression_forest import RegressionForest
from privet.tables.protocol import IntArray

_LEAF = -2  # what scikit-learn writes into feature and threshold of a leaf


class ReleasedTree(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """A scikit-learn decision tree that was not fitted but written down from a released model.

    It plots and predicts on codes (see `codes_of`). Numbers of samples and impurities are those of the public domain,
    all codes alike, since those of the records are private.
    """


class ReleasedRegressionTree(DecisionTreeRegressor):  # type: ignore[misc]  # scikit-learn has no types
    """The same for a regression target; values are in its units."""


def to_sklearn_tree(estimator: Any, tree: int = 0) -> ReleasedTree | ReleasedRegressionTree:
    """Return one tree of a fitted forest for ``sklearn.tree.plot_tree`` and ``export_text``.

    Parameters
    ----------
    estimator : estimator
        A fitted one that holds trees.
    tree : int, default=0
        Which tree.
    """
    refuse_objective(estimator)
    forest = forest_of(estimator)
    says, twin = _leaf_values(forest), ReleasedTree() if isinstance(forest, Forest) else ReleasedRegressionTree()
    if isinstance(forest, Forest):
        twin.classes_ = np.asarray(estimator.classes_)
        twin.n_classes_ = len(twin.classes_)
    twin.n_outputs_, twin.n_features_in_ = 1, forest.encoding.n_features
    twin.max_features_ = twin.n_features_in_
    twin.tree_ = _Arrays(threshold_trees(forest)[tree], says, twin.n_features_in_, isinstance(forest, Forest))
    return twin


def _leaf_values(forest: Forest | RegressionForest) -> NDArray[np.float64]:
    """Return what each leaf says: shares of the classes, or a number."""
    if isinstance(forest, RegressionForest):
        return forest.leaf_predictions[:, np.newaxis]
    votes = forest.leaf_votes(weighted=False)
    votes[votes.sum(axis=1) == 0] = 1 / votes.shape[1]
    return votes


class _Arrays(SimpleNamespace):
    """What scikit-learn reads of a fitted tree, under the same names."""

    def __init__(self, tree: ThresholdTree, votes: NDArray[np.float64], n_features: int, classes: bool) -> None:
        leaf, left = np.array(tree.leaf), np.array(tree.left, dtype=np.int64)
        right, inner = np.array(tree.right, dtype=np.int64), leaf < 0
        volume = np.array(tree.volume)
        value = np.where(inner[:, None], 0.0, votes[np.maximum(leaf, 0)])
        depth = np.zeros(len(leaf), np.int64)
        for node in np.flatnonzero(inner):
            depth[[left[node], right[node]]] = depth[node] + 1
        for node in np.flatnonzero(inner)[::-1]:  # children come after their parents
            a, b = left[node], right[node]
            value[node] = (volume[a] * value[a] + volume[b] * value[b]) / (volume[a] + volume[b])
        square = (value**2).sum(axis=1)
        for node in np.flatnonzero(inner)[::-1]:
            a, b = left[node], right[node]
            square[node] = (volume[a] * square[a] + volume[b] * square[b]) / (volume[a] + volume[b])
        spread = np.maximum(square - (value**2).sum(axis=1), 0.0)
        super().__init__(
            node_count=len(leaf),
            max_depth=int(depth.max()),
            n_leaves=int((~inner).sum()),
            n_features=n_features,
            n_outputs=1,
            n_classes=np.array([value.shape[1]]),
            max_n_classes=value.shape[1],
            children_left=left,
            children_right=right,
            feature=np.where(inner, np.array(tree.feature), _LEAF),
            threshold=np.where(inner, np.array(tree.threshold), float(_LEAF)),
            impurity=1 - (value**2).sum(axis=1) if classes else spread,
            n_node_samples=np.maximum(1, np.rint(1e6 * volume)).astype(np.int64),
            weighted_n_node_samples=volume,
            value=value[:, None, :],
        )

    def apply(self, X: Any) -> IntArray:
        """Return the leaf that each row comes to."""
        codes = np.asarray(X)
        node = np.zeros(len(codes), np.int64)
        for _ in range(self.max_depth):
            inner = self.children_left[node] >= 0
            goes_left = codes[np.arange(len(codes)), np.maximum(self.feature[node], 0)] <= self.threshold[node]
            child = np.where(goes_left, self.children_left[node], self.children_right[node])
            node = np.where(inner, child, node)
        return node

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the leaf that each row comes to."""
        shares: NDArray[np.float64] = self.value[self.apply(X), 0]
        return shares
