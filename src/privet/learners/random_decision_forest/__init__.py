"""Random decision forests (Bojarski et al. 2014)."""

from privet.learners.random_decision_forest.forest import RandomDecisionForestClassifier

__all__ = ["RandomDecisionForestClassifier"]
