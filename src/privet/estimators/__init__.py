"""What every estimator shares: checks, plan, fit, predict, files; and what a learner is."""

from privet.estimators.base import PrivateClassifier, PrivateEstimator, PrivateRegressor
from privet.estimators.learning import Hints, Learner, Model

__all__ = ["Hints", "Learner", "Model", "PrivateClassifier", "PrivateEstimator", "PrivateRegressor"]
