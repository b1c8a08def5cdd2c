"""The matrix forest (Tajima, Wu, Houmansadr 2025): measure once, answer everything."""

from privet.learners.matrix_forest.forest import MatrixForestClassifier

__all__ = ["MatrixForestClassifier"]
