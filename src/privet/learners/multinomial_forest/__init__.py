"""The multinomial random forest (Bai et al. 2021): consistent without privacy, and private."""

from privet.learners.multinomial_forest.forest import MultinomialForestClassifier

__all__ = ["MultinomialForestClassifier"]
