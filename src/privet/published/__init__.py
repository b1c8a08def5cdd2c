"""Algorithms exactly as printed, whose proofs do not hold: for comparison only.

They run on the same parts as the learners, but their ledgers say "no guarantee" and why, and fitting one warns. Names
are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "BDPTClassifier": "privet.published.bdpt",
    "DPGDFClassifier": "privet.published.dpgdf",
    "MultinomialForest2021Classifier": "privet.published.multinomial_forest",
    "PrivaTree2023Classifier": "privet.published.privatree",
    "PrivaTreeStarClassifier": "privet.published.privatree",
    "PrivaTreeNoisyNClassifier": "privet.published.privatree",
    "RGVForestClassifier": "privet.published.rgv",
    "SmoothForestClassifier": "privet.published.smooth_forest",
    "PrintedRandomDecisionForestClassifier": "privet.published.random_decision_forest",
}

if TYPE_CHECKING:
    from privet.published.bdpt import BDPTClassifier as BDPTClassifier
    from privet.published.dpgdf import DPGDFClassifier as DPGDFClassifier
    from privet.published.multinomial_forest import (
        MultinomialForest2021Classifier as MultinomialForest2021Classifier,
    )
    from privet.published.privatree import PrivaTree2023Classifier as PrivaTree2023Classifier
    from privet.published.privatree import PrivaTreeNoisyNClassifier as PrivaTreeNoisyNClassifier
    from privet.published.privatree import PrivaTreeStarClassifier as PrivaTreeStarClassifier
    from privet.published.random_decision_forest import (
        PrintedRandomDecisionForestClassifier as PrintedRandomDecisionForestClassifier,
    )
    from privet.published.rgv import RGVForestClassifier as RGVForestClassifier
    from privet.published.smooth_forest import SmoothForestClassifier as SmoothForestClassifier


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'privet.published' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
