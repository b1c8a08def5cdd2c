"""Boosting: an additive base, then rounds of small trees."""

from privet.learners.boosting import additive_files as _additive_files  # lets files hold additive models
from privet.learners.boosting.estimators import BoostingClassifier, BoostingRegressor

del _additive_files

__all__ = ["BoostingClassifier", "BoostingRegressor"]
