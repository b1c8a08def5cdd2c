"""Any forest as trees that are written down, with one vote for each leaf: what other formats are made from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.models.forest import Forest, LeafLabels, Structure
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import Splits


def forest_of(estimator: object) -> Forest:
    """Return the forest of a fitted estimator, or say that it has none."""
    model = getattr(estimator, "model_", None)
    if not isinstance(model, Forest):
        raise ParameterError(
            f"{type(estimator).__name__} holds no forest, and other formats know only trees; "
            "fit a tree or forest, or predict with privet itself"
        )
    return model


def as_explicit(structure: Structure) -> ExplicitTrees:
    """Write trees down node by node; leaf ids stay the same."""
    if isinstance(structure, RandomTrees):
        structure = structure.materialise()
    return structure if isinstance(structure, ExplicitTrees) else _from_complete(structure)


def _from_complete(trees: CompleteTrees) -> ExplicitTrees:
    n_trees, n_inner = trees.splits.feature.shape
    n_leaves, n_nodes = n_inner + 1, 2 * n_inner + 1

    def padded(array: NDArray[np.generic], fill: int) -> NDArray[np.generic]:
        leaves = np.full((n_trees, n_leaves), fill, array.dtype)
        return np.concatenate([array, leaves], axis=1).reshape(-1)

    offsets = np.arange(n_trees + 1, dtype=np.int64) * n_nodes
    heap = np.concatenate([2 * np.arange(n_inner) + 1, np.zeros(n_leaves, np.int64)])
    first = (heap + np.where(heap > 0, offsets[:-1, None], 0)).reshape(-1)
    number = np.tile(np.repeat([2, 0], [n_inner, n_leaves]), n_trees)
    leaf = np.full((n_trees, n_nodes), -1, np.int64)
    leaf[:, n_inner:] = np.arange(n_trees * n_leaves).reshape(n_trees, n_leaves)
    splits = trees.splits
    return ExplicitTrees(
        trees.domains,
        Splits(
            padded(splits.feature, -1),  # type: ignore[arg-type]  # the dtype is kept
            padded(splits.cut, 0),  # type: ignore[arg-type]  # the dtype is kept
            padded(splits.missing_first, 0),  # type: ignore[arg-type]  # the dtype is kept
            padded(splits.set_index, -1),  # type: ignore[arg-type]  # the dtype is kept
            splits.sets,
        ),
        first.astype(np.int32),
        number.astype(np.int32),
        leaf.reshape(-1).astype(np.int32),
        offsets,
        np.full(n_trees, n_leaves, np.int64),
    )


def leaf_votes(forest: Forest) -> NDArray[np.float64]:
    """Return what each leaf adds to the vote for each class; a row of zeros where a leaf abstains."""
    n_classes = forest.encoding.n_classes
    if isinstance(forest.leaves, LeafLabels):
        labels = forest.leaves.labels
    else:
        shares = forest.leaves.shares(forest.structure)
        if forest.voting != "majority":
            return shares
        labels = shares.argmax(axis=1)
    votes = np.zeros((len(labels), n_classes))
    voting = labels < n_classes
    votes[np.flatnonzero(voting), labels[voting]] = 1.0
    return votes
