"""rpart with its defaults, in the hands of scikit-learn: the paper's rival without privacy.

R's rpart grows a tree by the Gini index (minsplit 20, minbucket 7) and prunes it by cost-complexity in *misclassified*
records at cp = 0.01 of the root's. scikit-learn prunes by impurity, so its tree is pruned here. What rpart has besides
(surrogate splits for missing values, one split for a set of categories) has no part in this emulation: every category
has a column, and a missing one sets none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet_papers.bojarski_2014.data import frame, split
from privet_papers.framework.data import TARGET

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

MINSPLIT, MINBUCKET, CP = 20, 7, 0.01


@dataclass(frozen=True)
class Pruned:
    """A fitted scikit-learn tree, cut back to the nodes that are marked as leaves."""

    tree: Any
    leaf: NDArray[np.bool_]

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the majority class of the first marked node on each record's way down."""
        arrays = self.tree.tree_
        node = np.zeros(len(X), np.int64)
        while True:
            open_rows = np.flatnonzero(~self.leaf[node])
            if not len(open_rows):
                return np.asarray(arrays.value[node, 0].argmax(axis=1))
            at = node[open_rows]
            goes_left = X[open_rows, arrays.feature[at]] <= arrays.threshold[at]
            node[open_rows] = np.where(goes_left, arrays.children_left[at], arrays.children_right[at])

    @property
    def n_leaves(self) -> int:
        """How many leaves are left."""
        arrays, reached, stack = self.tree.tree_, 0, [0]
        while stack:
            node = stack.pop()
            if self.leaf[node]:
                reached += 1
            else:
                stack += [int(arrays.children_left[node]), int(arrays.children_right[node])]
        return reached


def fit_rpart(X: NDArray[Any], y: NDArray[Any], cp: float = CP) -> Pruned:
    """Grow and prune a tree as rpart does with its defaults.

    The subtree of least cost ``errors + cp * root's errors * leaves`` is found from the leaves upwards.
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(min_samples_split=MINSPLIT, min_samples_leaf=MINBUCKET, random_state=0).fit(X, y)
    arrays = tree.tree_
    counts = arrays.value[:, 0] * arrays.weighted_n_node_samples[:, None]  # shares, times the node's records
    errors = counts.sum(axis=1) - counts.max(axis=1)
    a_leaf = cp * errors[0]
    cost = errors + a_leaf
    leaf = arrays.children_left < 0
    for node in range(arrays.node_count - 1, -1, -1):  # children have larger numbers than their parents
        if arrays.children_left[node] >= 0:
            below = cost[arrays.children_left[node]] + cost[arrays.children_right[node]]
            leaf[node] = cost[node] <= below + 1e-9
            cost[node] = min(cost[node], below)
    return Pruned(tree, leaf)


def rpart(settings: Settings, data: DataFolder) -> Result:
    """Return the test error of a tree with rpart's defaults."""
    import pandas as pd

    parts = split(settings["data"], settings["seed"], data)
    X = pd.get_dummies(frame(settings["data"], data).drop(columns=TARGET), dummy_na=False).to_numpy(dtype=np.float32)
    known = np.concatenate([parts.train, parts.validation])  # rpart chooses nothing on the validation part
    fitted = fit_rpart(X[known], parts.labels[known])
    wrong = fitted.predict(X[parts.test]) != parts.labels[parts.test]
    return {"error": float(wrong.mean()), "leaves": fitted.n_leaves, "tested": len(wrong)}
