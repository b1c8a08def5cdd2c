"""A forest as the plain arrays that SHAP's TreeExplainer takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.exports.thresholds import ThresholdTree, average_votes, forest_of, threshold_trees


def to_shap(estimator: Any) -> dict[str, Any]:
    """Return a fitted forest as what ``shap.TreeExplainer`` accepts; its inputs are codes, see `codes_of`.

    The explainer's values add up to `predict_proba`. Without background data it weighs branches by their share of the
    public domain, since how many records took each branch is private.

    Parameters
    ----------
    estimator : estimator
        A fitted one that holds trees.

    Raises
    ------
    ParameterError
        If the forest cannot be said by thresholds and a sum: it is too large, or leaves abstain.

    Examples
    --------
    ::

        explainer = shap.TreeExplainer(to_shap(estimator), data=codes_of(estimator, public_records))
        values = explainer.shap_values(codes_of(estimator, X))
    """
    forest = forest_of(estimator)
    votes = average_votes(forest)
    return {
        "trees": [_arrays(tree, votes) for tree in threshold_trees(forest)],
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
