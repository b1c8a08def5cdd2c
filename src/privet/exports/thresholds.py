"""Trees of thresholds on codes, which is all that many tools know.

A node that sends a set of codes to one side, or each code to a child of its own, becomes a few thresholds; where a
child is needed twice it is copied. Copies multiply down a tree, so large random trees over many categories are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.boosting.additive import Additive
from privet.models.forest import Forest
from privet.models.regression_forest import RegressionForest
from privet.tables.protocol import IntArray
from privet.trees.explicit_trees import ExplicitTrees

MOST_NODES = 1 << 20


def forest_of(estimator: object) -> Forest | RegressionForest:
    """Return the forest of a fitted estimator, or say that it has none."""
    model = getattr(estimator, "model_", None)
    if not isinstance(model, Forest | RegressionForest):
        raise ParameterError(
            f"{type(estimator).__name__} holds no forest, and this format knows only trees; "
            "fit a tree or forest, or export to ONNX, SQL, Python or JavaScript"
        )
    return model


@dataclass
class ThresholdTree:
    """A binary tree in flat arrays: a code of at most ``threshold`` goes left. Leaves have feature and children -1.

    Attributes
    ----------
    feature, left, right : list of int
        What a node asks about, and where it leads.
    threshold : list of float
        Halfway between two codes.
    volume : list of float
        The share of the public domain, all codes alike, that comes to the node.
    leaf : list of int
        The id of a leaf in the forest, -1 for other nodes.
    """

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    volume: list[float] = field(default_factory=list)
    leaf: list[int] = field(default_factory=list)

    def add(self, volume: float, leaf: int = -1) -> int:
        """Add a leaf, or a node whose split is set later; return its number."""
        for column, value in ((self.feature, -1), (self.threshold, 0.0), (self.left, -1), (self.right, -1)):
            column.append(value)  # type: ignore[arg-type]  # each list gets what it holds
        self.volume.append(volume)
        self.leaf.append(leaf)
        return len(self.leaf) - 1


def threshold_trees(model: Forest | RegressionForest | Additive) -> list[ThresholdTree]:
    """Return a model's trees with thresholds only.

    Raises
    ------
    ParameterError
        If there would be more than about a million nodes.
    """
    structure = model.trees if isinstance(model, Additive) else model.structure
    if structure is None:
        return []
    trees = structure.explicit()
    writer = _Writer(trees)
    return [writer.write(int(root)) for root in trees.tree_offsets[:-1]]


def table_tree(feature: int, rows: NDArray[np.float64]) -> ThresholdTree:
    """Return a table of one feature, a row for each code, as a tree; a leaf's id is the first code of its run."""
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    starts, tree = [0, *changes.tolist(), len(rows)], ThresholdTree()

    def write(first: int, last: int) -> int:
        here = tree.add((starts[last] - starts[first]) / len(rows), starts[first] if last - first == 1 else -1)
        if last - first > 1:
            middle = (first + last) // 2
            tree.feature[here], tree.threshold[here] = feature, starts[middle] - 0.5
            tree.left[here], tree.right[here] = write(first, middle), write(middle, last)
        return here

    write(0, len(starts) - 1)
    return tree


def average_votes(forest: Forest | RegressionForest) -> NDArray[np.float64]:
    """Return what each leaf adds to the probabilities, or to the number, so that these are a plain sum over trees.

    Raises
    ------
    ParameterError
        If a leaf abstains in a forest of several trees, or classes have weights: votes are then divided by a number
        that differs by record.
    """
    if isinstance(forest, RegressionForest):
        return forest.leaf_predictions[:, np.newaxis] / forest.structure.n_trees
    if forest.weights is not None:
        raise ParameterError("classes have weights, so the probabilities are no sum over trees; export to ONNX instead")
    votes, n_trees = forest.leaf_votes(), forest.structure.n_trees
    silent = votes.sum(axis=1) == 0
    if silent.any() and n_trees > 1:
        raise ParameterError("some leaves abstain, so the probabilities are no sum over trees; export to ONNX instead")
    votes[silent] = 1 / votes.shape[1]
    return votes / n_trees


def codes_of(estimator: Any, frame: Any) -> NDArray[np.float64]:
    """Return a frame as the matrix of codes that exported trees take.

    It has a row for each record and a column for each feature.
    """
    return np.ascontiguousarray(estimator.model_.encoding.encode(frame).T, dtype=np.float64)


class _Writer:
    """Writes trees of thresholds, and counts their nodes."""

    def __init__(self, trees: ExplicitTrees) -> None:
        self._trees = trees
        self._room = MOST_NODES

    def write(self, root: int) -> ThresholdTree:
        tree = ThresholdTree()
        whole = [np.arange(int(n)) for n in self._trees.domains.n_codes]
        self._node(tree, root, whole, 1.0)
        return tree

    def _add(self, tree: ThresholdTree, volume: float, leaf: int = -1) -> int:
        self._room -= 1
        if self._room < 0:
            raise ParameterError(
                f"with thresholds only the forest has more than {MOST_NODES:,} nodes; use fewer or shallower trees, or "
                "export to ONNX"
            )
        return tree.add(volume, leaf)

    def _node(self, tree: ThresholdTree, node: int, reach: list[IntArray], volume: float) -> int:
        """Write a node; `reach` are the codes of each feature that can come to it."""
        feature = int(self._trees.splits.feature[node])
        if feature < 0:
            return self._add(tree, volume, int(self._trees.leaf[node]))
        codes = reach[feature]
        children = self._children(node, feature, codes)
        starts = [0, *(np.flatnonzero(np.diff(children)) + 1).tolist(), len(codes)]
        runs = [(codes[a:b], int(children[a])) for a, b in pairwise(starts)]
        return self._search(tree, feature, runs, reach, volume)

    def _search(
        self,
        tree: ThresholdTree,
        feature: int,
        runs: list[tuple[IntArray, int]],
        reach: list[IntArray],
        volume: float,
    ) -> int:
        """Tell runs of codes apart by thresholds, halving their number each time."""
        if len(runs) == 1:
            codes, child = runs[0]
            return self._node(tree, child, [*reach[:feature], codes, *reach[feature + 1 :]], volume)
        middle = len(runs) // 2
        here = self._add(tree, volume)
        tree.feature[here] = feature
        tree.threshold[here] = float(runs[middle][0][0]) - 0.5
        sizes = [sum(len(codes) for codes, _ in part) for part in (runs[:middle], runs[middle:])]
        share = sizes[0] / sum(sizes)
        tree.left[here] = self._search(tree, feature, runs[:middle], reach, volume * share)
        tree.right[here] = self._search(tree, feature, runs[middle:], reach, volume * (1 - share))
        return here

    def _children(self, node: int, feature: int, codes: IntArray) -> IntArray:
        """Return the child that each code leads to."""
        splits, first = self._trees.splits, np.int64(self._trees.first_child[node])
        if self._trees.n_children[node] > 2:
            return first + codes
        if splits.set_index[node] >= 0:
            second = splits.in_set(int(splits.set_index[node]), codes).astype(np.int64)
        else:
            second = (codes > int(splits.cut[node])).astype(np.int64)
            if splits.missing_first[node]:
                second[codes == self._trees.domains.missing[feature]] = 0
        children: IntArray = first + second
        return children
