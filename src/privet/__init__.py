"""privet: differentially private decision trees and forests, proven and audited.

Names are imported when they are first used, so that ``import privet`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.estimators.files import load
    from privet.estimators.scaling import SchemaScaler
    from privet.evaluation import evaluate
    from privet.learners.boosting import BoostingClassifier, BoostingRegressor
    from privet.learners.choose import PrivetClassifier, PrivetRegressor
    from privet.learners.disjoint_forest import DisjointForestClassifier
    from privet.learners.matrix_forest import MatrixForestClassifier
    from privet.learners.multinomial_forest import ConsistentForestClassifier, MultinomialForestClassifier
    from privet.learners.privatree import PrivaTreeClassifier, PrivaTreeRegressor
    from privet.learners.random_decision_forest import RandomDecisionForestClassifier
    from privet.privacy.budgets import budget
    from privet.schema import (
        Boolean,
        Categorical,
        Date,
        DatePart,
        Hashed,
        Integer,
        Numeric,
        Ordinal,
        Schema,
        Unit,
    )

__version__ = "0.2.0"

__all__ = [
    "Boolean",
    "BoostingClassifier",
    "BoostingRegressor",
    "Categorical",
    "ConsistentForestClassifier",
    "Date",
    "DatePart",
    "DisjointForestClassifier",
    "Hashed",
    "Integer",
    "MatrixForestClassifier",
    "MultinomialForestClassifier",
    "Numeric",
    "Ordinal",
    "PrivaTreeClassifier",
    "PrivaTreeRegressor",
    "PrivetClassifier",
    "PrivetRegressor",
    "RandomDecisionForestClassifier",
    "Schema",
    "SchemaScaler",
    "Unit",
    "budget",
    "evaluate",
    "load",
]

# Public name -> the package that it lives in.
HOMES = {
    "Boolean": "privet.schema",
    "BoostingClassifier": "privet.learners.boosting",
    "BoostingRegressor": "privet.learners.boosting",
    "Categorical": "privet.schema",
    "ConsistentForestClassifier": "privet.learners.multinomial_forest",
    "Date": "privet.schema",
    "DatePart": "privet.schema",
    "DisjointForestClassifier": "privet.learners.disjoint_forest",
    "Hashed": "privet.schema",
    "Integer": "privet.schema",
    "MatrixForestClassifier": "privet.learners.matrix_forest",
    "MultinomialForestClassifier": "privet.learners.multinomial_forest",
    "Numeric": "privet.schema",
    "Ordinal": "privet.schema",
    "PrivaTreeClassifier": "privet.learners.privatree",
    "PrivaTreeRegressor": "privet.learners.privatree",
    "PrivetClassifier": "privet.learners.choose",
    "PrivetRegressor": "privet.learners.choose",
    "RandomDecisionForestClassifier": "privet.learners.random_decision_forest",
    "Schema": "privet.schema",
    "SchemaScaler": "privet.estimators.scaling",
    "Unit": "privet.schema",
    "budget": "privet.privacy.budgets",
    "evaluate": "privet.evaluation",
    "load": "privet.estimators.files",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
