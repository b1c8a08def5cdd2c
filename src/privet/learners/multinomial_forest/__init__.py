"""The multinomial random forest (Bai et al. 2021): private, and consistent without privacy."""

from privet.learners.multinomial_forest.consistent import ConsistentForestClassifier
from privet.learners.multinomial_forest.private import MultinomialForestClassifier

__all__ = ["ConsistentForestClassifier", "MultinomialForestClassifier"]
