"""What learners return: models that route, vote, and go to a file and back."""

from privet.models import forest_files as _forest_files  # registers forests with files
from privet.models.files import digest, model_from_dict, model_to_dict
from privet.models.forest import Forest, LeafCounts, LeafLabels, estimate_bytes
from privet.models.regression_forest import RegressionForest

del _forest_files

__all__ = [
    "Forest",
    "LeafCounts",
    "LeafLabels",
    "RegressionForest",
    "digest",
    "estimate_bytes",
    "model_from_dict",
    "model_to_dict",
]
