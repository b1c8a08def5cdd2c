"""privet: differentially private decision trees and forests, proven and audited.

Names are imported when they are first used, so that ``import privet`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Classifier, or regressor, -> the module that it lives in; model files name estimators by these keys, and by nothing
# else.
ESTIMATORS = {
    "FSTreeClassifier": "privet.learners.baselines.fs",
    "JPWForestClassifier": "privet.learners.baselines.jpw",
    "BoostingClassifier": "privet.learners.boosting",
    "DisjointForestClassifier": "privet.learners.disjoint_forest",
    "MatrixForestClassifier": "privet.learners.matrix_forest",
    "MultinomialForestClassifier": "privet.learners.multinomial_forest",
    "PrivaTreeClassifier": "privet.learners.privatree",
    "DPGDFTreeClassifier": "privet.learners.baselines.dpgdf",
    "RandomDecisionForestClassifier": "privet.learners.random_decision_forest",
}

REGRESSORS = {"BoostingRegressor": "privet.learners.boosting"}

_HOME = {
    **ESTIMATORS,
    **REGRESSORS,
    "Schema": "privet.schema",
    "Numeric": "privet.domains",
    "Categorical": "privet.domains",
    "Unit": "privet.schema",
    "load": "privet.model_files",
    "budget": "privet.budgets",
    "SchemaScaler": "privet.scaling",
}

if TYPE_CHECKING:
    from privet.budgets import budget as budget
    from privet.domains import Categorical as Categorical
    from privet.domains import Numeric as Numeric
    from privet.learners.baselines.dpgdf import DPGDFTreeClassifier as DPGDFTreeClassifier
    from privet.learners.baselines.fs import FSTreeClassifier as FSTreeClassifier
    from privet.learners.baselines.jpw import JPWForestClassifier as JPWForestClassifier
    from privet.learners.boosting import BoostingClassifier as BoostingClassifier
    from privet.learners.boosting import BoostingRegressor as BoostingRegressor
    from privet.learners.disjoint_forest import DisjointForestClassifier as DisjointForestClassifier
    from privet.learners.matrix_forest import MatrixForestClassifier as MatrixForestClassifier
    from privet.learners.multinomial_forest import MultinomialForestClassifier as MultinomialForestClassifier
    from privet.learners.privatree import PrivaTreeClassifier as PrivaTreeClassifier
    from privet.learners.random_decision_forest import (
        RandomDecisionForestClassifier as RandomDecisionForestClassifier,
    )
    from privet.model_files import load as load
    from privet.scaling import SchemaScaler as SchemaScaler
    from privet.schema import Schema as Schema
    from privet.schema import Unit as Unit


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
