"""Models in other tools' formats: ONNX, SQL, plain Python and JavaScript, MLflow, SHAP, scikit-learn's tree plots.

Each export is checked in the tests to give the same probabilities as the model itself; what cannot be said faithfully
in a format is refused.
"""

from __future__ import annotations

from privet.exports.buckets import with_buckets
from privet.exports.onnx_file import onnx_inputs, to_onnx
from privet.exports.scikit import ReleasedRegressionTree, ReleasedTree, to_sklearn_tree
from privet.exports.scorers import to_javascript, to_python
from privet.exports.shap_trees import to_shap
from privet.exports.sql import to_sql
from privet.exports.thresholds import codes_of

__all__ = [
    "ReleasedRegressionTree",
    "ReleasedTree",
    "codes_of",
    "onnx_inputs",
    "to_javascript",
    "to_onnx",
    "to_python",
    "to_shap",
    "to_sklearn_tree",
    "to_sql",
    "with_buckets",
]
