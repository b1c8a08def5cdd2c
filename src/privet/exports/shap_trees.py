"""A forest or a boosted model as the plain arrays that SHAP's TreeExplainer takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.exports.thresholds import ThresholdTree, average_votes, forest_of, table_tree, threshold_trees
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.gradients import SCORE_BITS

_UNIT = 2.0**-SCORE_BITS


def to_shap(estimator: Any) -> dict[str, Any]:
    """Return a fitted forest or boosted model as what ``shap.TreeExplainer`` accepts; its inputs are codes.

    `codes_of` makes codes of records. For a forest the explainer's values add up to `predict_proba`, or to `predict`
    for a regression target. For boosting they add up to the scores: the log odds of the second class, a score for each
    class that a softmax takes, or the place within the target's range. Without background data the explainer weighs
    branches by their share of the public domain, since how many records took each branch is private.

    Parameters
    ----------
    estimator : estimator
        A fitted one that holds trees.

    Raises
    ------
    ParameterError
        If the model cannot be said by thresholds and a sum: it is too large, or leaves abstain.

    Notes
    -----
    Boosting holds the sum of its base within bounds (log odds of 4 either way, or the target's range). For a record
    whose base is beyond them the values add up to the score that it would have without bounds.

    Examples
    --------
    ::

        explainer = shap.TreeExplainer(to_shap(estimator), data=codes_of(estimator, public_records))
        values = explainer.shap_values(codes_of(estimator, X))
    """
    model = getattr(estimator, "model_", None)
    if isinstance(model, Additive):
        return _additive(model)
    forest = forest_of(estimator)
    votes = average_votes(forest)
    return _explained([_arrays(tree, votes) for tree in threshold_trees(forest)])


def _additive(model: Additive) -> dict[str, Any]:
    """Return tables as trees of one feature each, and the trees; the start is spread over all of them."""
    tables = model.tables.astype(np.float64) * _UNIT
    arrays = []
    for feature, (begin, end) in enumerate(zip(model.offsets[:-1], model.offsets[1:], strict=True)):
        if tables[begin:end].any() or not feature:
            # SHAP's offset is one number, and scores may be several: the first table takes what all start with.
            rows = tables[begin:end] + (0 if feature else model.start * _UNIT)
            arrays.append(_arrays(table_tree(feature, rows), rows))
    if model.trees is not None:
        values = model.values.astype(np.float64) * _UNIT
        arrays += [_arrays(tree, values) for tree in threshold_trees(model)]
    return _explained(arrays)


def _explained(trees: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "trees": trees,
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "tree_output": "raw_value",
        "objective": None,
        "base_offset": 0.0,
    }


def _arrays(tree: ThresholdTree, votes: Any) -> dict[str, Any]:
    leaf = np.array(tree.leaf)
    values = np.where((leaf >= 0)[:, None], votes[np.maximum(leaf, 0)], 0.0)
    left = np.array(tree.left, dtype=np.int32)
    return {
        "children_left": left,
        "children_right": np.array(tree.right, dtype=np.int32),
        "children_default": left,
        "features": np.array(tree.feature, dtype=np.int32),
        "thresholds": np.array(tree.threshold, dtype=np.float64),
        "values": values,
        "node_sample_weight": np.array(tree.volume, dtype=np.float64),
    }
