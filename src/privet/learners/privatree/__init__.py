"""PrivaTree (Vos et al. 2023), with a proof that holds."""

from privet.learners.privatree.tree import PrivaTreeClassifier

__all__ = ["PrivaTreeClassifier"]
