"""PrivaTree (Vos et al. 2023), with a proof that holds; and a tree of its kind for a regression target."""

from privet.learners.privatree.regressor import PrivaTreeRegressor
from privet.learners.privatree.tree import PrivaTreeClassifier

__all__ = ["PrivaTreeClassifier", "PrivaTreeRegressor"]
