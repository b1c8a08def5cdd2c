"""Algorithms exactly as printed, whose proofs do not hold: for comparison only.

They run on the same parts as the learners, but their ledgers say "no guarantee" and why, and fitting one warns. Names
are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "BDPTClassifier": "privet_papers.vos_2023.bdpt",
    "DPGDFClassifier": "privet_papers.vos_2023.dpgdf_printed",
    "MultinomialForest2021Classifier": "privet_papers.bai_2021.printed",
    "PrivaTree2023Classifier": "privet_papers.vos_2023.printed",
    "PrivaTreeStarClassifier": "privet_papers.vos_2023.printed",
    "PrivaTreeNoisyNClassifier": "privet_papers.vos_2023.printed",
    "RGVForestClassifier": "privet_papers.fletcher_islam_2017.rgv",
    "SmoothForestClassifier": "privet_papers.fletcher_islam_2017.printed",
    "PrintedRandomDecisionForestClassifier": "privet_papers.bojarski_2014.printed",
}

if TYPE_CHECKING:
    from privet_papers.bai_2021.printed import MultinomialForest2021Classifier as MultinomialForest2021Classifier
    from privet_papers.bojarski_2014.printed import (
        PrintedRandomDecisionForestClassifier as PrintedRandomDecisionForestClassifier,
    )
    from privet_papers.fletcher_islam_2017.printed import SmoothForestClassifier as SmoothForestClassifier
    from privet_papers.fletcher_islam_2017.rgv import RGVForestClassifier as RGVForestClassifier
    from privet_papers.vos_2023.bdpt import BDPTClassifier as BDPTClassifier
    from privet_papers.vos_2023.dpgdf_printed import DPGDFClassifier as DPGDFClassifier
    from privet_papers.vos_2023.printed import PrivaTree2023Classifier as PrivaTree2023Classifier
    from privet_papers.vos_2023.printed import PrivaTreeNoisyNClassifier as PrivaTreeNoisyNClassifier
    from privet_papers.vos_2023.printed import PrivaTreeStarClassifier as PrivaTreeStarClassifier


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'privet_papers' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
