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
    "FSTreeClassifier": "privet_papers.fletcher_islam_2017.fs",
    "JPWForestClassifier": "privet_papers.fletcher_islam_2017.jpw",
    "BoostingClassifier": "privet.learners.boosting.estimators",
    "DisjointForestClassifier": "privet.learners.disjoint_forest.forest",
    "MatrixForestClassifier": "privet.learners.matrix_forest.forest",
    "MultinomialForestClassifier": "privet.learners.multinomial_forest.forest",
    "PrivaTreeClassifier": "privet.learners.privatree.tree",
    "DPGDFTreeClassifier": "privet_papers.vos_2023.dpgdf",
    "RandomDecisionForestClassifier": "privet.learners.random_decision_forest.forest",
}

REGRESSORS = {"BoostingRegressor": "privet.learners.boosting.estimators"}

_HOME = {
    **ESTIMATORS,
    **REGRESSORS,
    "Schema": "privet.schema.schema",
    "Numeric": "privet.schema.domains",
    "Categorical": "privet.schema.domains",
    "Unit": "privet.schema.schema",
    "load": "privet.model_files",
    "budget": "privet.privacy.budgets",
    "SchemaScaler": "privet.estimators.scaling",
}

if TYPE_CHECKING:
    from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier as FSTreeClassifier
    from privet_papers.fletcher_islam_2017.jpw import JPWForestClassifier as JPWForestClassifier
    from privet_papers.vos_2023.dpgdf import DPGDFTreeClassifier as DPGDFTreeClassifier

    from privet.estimators.scaling import SchemaScaler as SchemaScaler
    from privet.learners.boosting.estimators import BoostingClassifier as BoostingClassifier
    from privet.learners.boosting.estimators import BoostingRegressor as BoostingRegressor
    from privet.learners.disjoint_forest.forest import DisjointForestClassifier as DisjointForestClassifier
    from privet.learners.matrix_forest.forest import MatrixForestClassifier as MatrixForestClassifier
    from privet.learners.multinomial_forest.forest import MultinomialForestClassifier as MultinomialForestClassifier
    from privet.learners.privatree.tree import PrivaTreeClassifier as PrivaTreeClassifier
    from privet.learners.random_decision_forest.forest import (
        RandomDecisionForestClassifier as RandomDecisionForestClassifier,
    )
    from privet.model_files import load as load
    from privet.privacy.budgets.blocks import budget as budget
    from privet.schema.domains import Categorical as Categorical
    from privet.schema.domains import Numeric as Numeric
    from privet.schema.schema import Schema as Schema
    from privet.schema.schema import Unit as Unit


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
