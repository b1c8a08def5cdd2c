"""Forests on disjoint data with one label per leaf (Fletcher and Islam 2017), made sound."""

from privet.learners.disjoint_forest.forest import DisjointForestClassifier

__all__ = ["DisjointForestClassifier"]
