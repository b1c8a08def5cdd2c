"""The matrix forest (Tajima, Wu, Houmansadr 2025): measure once, answer everything."""

from privet.learners.matrix_forest import vote_tables as _vote_tables  # lets files hold its models
from privet.learners.matrix_forest.forest import MatrixForestClassifier

del _vote_tables

__all__ = ["MatrixForestClassifier"]
