"""Estimators that choose their learner by themselves: from the goal, and from what is public."""

from privet.learners.choose.estimators import PrivetClassifier, PrivetRegressor

__all__ = ["PrivetClassifier", "PrivetRegressor"]
