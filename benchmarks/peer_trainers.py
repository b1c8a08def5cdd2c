"""Training functions for diffprivlib, loaded by its own interpreter; privet is not needed there."""

from __future__ import annotations

import warnings
from typing import Any

from diffprivlib import BudgetAccountant
from diffprivlib.models import RandomForestClassifier
from diffprivlib.models.forest import DecisionTreeClassifier
from diffprivlib.utils import PrivacyLeakWarning

BOUNDS = ([0.0], [1.0])

# Where bounds or classes are left out on purpose, the library says so itself at every training.
warnings.simplefilter("ignore", PrivacyLeakWarning)


def _settings(parameters: dict[str, Any]) -> dict[str, Any]:
    """Public bounds and classes, and an accountant of its own.

    The default accountant is shared by all trainings and copied for every tree, so that each would be slower than the
    one before.
    """
    return {"bounds": BOUNDS, "classes": [0, 1], "accountant": BudgetAccountant(), **parameters}


def forest(X: Any, y: Any, **parameters: Any) -> Any:
    """A forest with public bounds and classes; every other parameter at its default unless given."""
    return RandomForestClassifier(**_settings(parameters)).fit(X, y)


def tree(X: Any, y: Any, **parameters: Any) -> Any:
    """A tree with public bounds and classes; every other parameter at its default unless given."""
    return DecisionTreeClassifier(**_settings(parameters)).fit(X, y)
