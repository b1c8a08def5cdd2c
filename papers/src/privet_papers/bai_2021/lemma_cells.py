"""What the lemmas of Bai et al. (2021) speak of, measured in trees that were grown: chosen features, values, sizes."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning
from privet.learners.multinomial_forest import ConsistentForestClassifier
from privet.models.forest import Forest
from privet.parameters import public_rng
from privet.schema.domains import Numeric
from privet.schema.schema import Schema
from privet.trees.explicit_trees import ExplicitTrees

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings


@dataclass(frozen=True)
class Boxes:
    """The cells of all nodes, in the order of the trees' nodes: level, corners as shares of the range, and volume."""

    level: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def side(self) -> NDArray[np.float64]:
        """Length of each side."""
        return self.high - self.low

    @property
    def volume(self) -> NDArray[np.float64]:
        """The probability that a uniform point is in the cell."""
        volume: NDArray[np.float64] = self.side.prod(axis=1)
        return volume


def boxes_of(trees: ExplicitTrees) -> Boxes:
    """Return the cells of two-way trees on ordered features; children come after their parents."""
    n_nodes, n_features = trees.splits.feature.size, trees.domains.n_features
    n_cells = trees.domains.n_cells.astype(np.float64)
    level = np.zeros(n_nodes, np.int64)
    low, high = np.zeros((n_nodes, n_features)), np.ones((n_nodes, n_features))
    for node, feature in enumerate(trees.splits.feature):
        if feature >= 0:
            first = trees.first_child[node]
            children = slice(first, first + 2)
            level[children], low[children], high[children] = level[node] + 1, low[node], high[node]
            high[first, feature] = low[first + 1, feature] = (trees.splits.cut[node] + 1) / n_cells[feature]
    return Boxes(level, low, high)


def lemmas_in_trees(settings: Settings, data: DataFolder) -> Result:
    """Grow a forest on uniform features, and say how often features and inner values are chosen, and how cells shrink.

    The mean side is over all points of the cube, each in its cell at that level, or in its leaf if the tree ends above.
    """
    rng = public_rng(settings["seed"])
    n_features, parts = settings["n_features"], settings["n_parts"]
    X = rng.random((settings["n_rows"], n_features))
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-6 * (np.sin(2 * math.pi * X[:, 0]) + X[:, 1] - 0.5)))).astype(np.int64)
    schema = Schema({f"x{j}": Numeric(0, 1) for j in range(n_features)}, classes=[0, 1])
    forest = ConsistentForestClassifier(
        schema=schema,
        n_trees=settings["n_trees"],
        feature_rate=settings["rate"],
        value_rate=settings["rate"],
        max_depth=max(settings["levels"]),
        random_state=settings["seed"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateWarning)
        model = forest.fit(X, y).model_
    assert isinstance(model, Forest)
    trees = model.structure
    assert isinstance(trees, ExplicitTrees)
    boxes = boxes_of(trees)
    inner = np.flatnonzero(trees.splits.feature >= 0)
    feature = trees.splits.feature[inner]
    at = boxes.high[trees.first_child[inner], feature]  # where the node was cut
    place = (at - boxes.low[inner, feature]) / boxes.side[inner, feature]
    ends = trees.splits.feature < 0
    sides = {}
    for level in settings["levels"]:
        there = (boxes.level == level) | (ends & (boxes.level < level))
        sides[str(level)] = float((boxes.volume[there] @ boxes.side[there] / settings["n_trees"]).max())
    return {
        "nodes": len(inner),
        "least chosen feature": float(np.bincount(feature, minlength=n_features).min() / len(feature)),
        "inner values": float(((place >= 1 / parts) & (place <= 1 - 1 / parts)).mean()),
        "largest mean side": sides,
    }


def few_points(settings: Settings, data: DataFolder) -> Result:
    """Return the exact probability that a node has fewer than k estimation points, for exact halves and for coins."""
    from scipy.stats import binom

    n, p, k = settings["n"], settings["p"], settings["k"]
    return {"exact": float(binom.cdf(k - 1, n // 2, p)), "coins": float(binom.cdf(k - 1, n, p / 2))}
