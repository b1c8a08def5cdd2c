"""Boosting: an additive base, then rounds of small trees."""

from privet.learners.boosting.estimators import BoostingClassifier, BoostingRegressor

__all__ = ["BoostingClassifier", "BoostingRegressor"]
