"""What the printed algorithms share: fitting one warns, and budgets are of pure epsilon."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from fractions import Fraction
from typing import Any, Self

from privet.errors import ParameterError, UnsoundWarning
from privet.estimators.base import PrivateClassifier
from privet.privacy.terms import Share


class PrintedClassifier(PrivateClassifier):
    """The shared part of the classifiers of this room.

    Notes
    -----
    *Privacy.* None: `fit` says so, and why.
    """

    @property
    @abstractmethod
    def _flaw(self) -> str:
        """Why the printed proof does not hold."""

    def fit(self, X: Any, y: Any = None, **unsupported: Any) -> Self:
        """Fit as printed, with a warning."""
        warnings.warn(f"{self._flaw}; for comparison only", UnsoundWarning, stacklevel=2)
        return super().fit(X, y, **unsupported)


def pure_epsilon(share: Share | None) -> Fraction:
    """Return the budget of an algorithm that was printed for pure epsilon; refuse every other."""
    if share is None or share.epsilon is None:
        raise ParameterError("the printed algorithm is for pure epsilon: set epsilon, and leave delta at 0")
    return share.epsilon
