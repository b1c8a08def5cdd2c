"""Every learner, in the settings in which the laws look at it. A law fails for one not listed here."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.estimators.registry import estimator_class

SCHEMA = Schema(
    {
        "age": Numeric(0, 100),
        "income": Numeric(0, 100_000, grid="log", missing=True),
        "colour": Categorical(["red", "green", "blue"], other=True),
    },
    classes=["no", "maybe", "yes"],
)
NUMBERS = Schema(SCHEMA.features, target=Numeric(0, 100))


@dataclass(frozen=True)
class Registered:
    """One way in which a learner is used."""

    estimator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    # The exact audit on the tiny schema: how many trees and records, and the share of the claim that is really lost
    # there. A loss below the floor means more noise than is paid for.
    floor: float = 1.0
    audited_trees: int = 2
    audited_depth: int = 2
    audited_records: int = 2

    @property
    def is_regressor(self):
        return self.estimator.endswith("Regressor")

    @property
    def schema(self):
        return NUMBERS if self.is_regressor else SCHEMA

    def make(self, **changes):
        settings = {"schema": self.schema, "random_state": 3, **self.parameters, **changes}
        return estimator_class(self.estimator)(**settings)

    def people(self, n=200, seed=0):
        """Return a small frame as a dict of columns, and labels or numbers to learn."""
        columns, labels = people(n, seed)
        return columns, columns["age"] / 2 + 20 if self.is_regressor else labels

    def answers(self, fitted, X):
        """Return all that a fitted estimator says about records: shares of the vote, or numbers."""
        return fitted.predict(X) if self.is_regressor else fitted.predict_proba(X)

    def __str__(self):
        return "-".join([self.estimator, *(f"{k}={v}" for k, v in self.parameters.items())])


REGISTERED = [
    Registered("BoostingClassifier", {"n_trees": 4}, audited_trees=1, audited_depth=1, floor=0.99),
    Registered("BoostingClassifier", {"n_trees": 5, "delta": 1e-6}, audited_trees=1, audited_depth=1, floor=0.99),
    # on the tiny schema a number is at either end of its range, where quartiles, and for little signal the sums that
    # steps are chosen by, do not move as far as they could
    Registered("BoostingRegressor", {"n_trees": 4}, audited_trees=1, audited_depth=1, floor=0.8),
    Registered("BoostingRegressor", {"n_trees": 5, "delta": 1e-6}, audited_trees=1, audited_depth=1, floor=0.85),
    # forests on coins have too many outcomes for two whole trees; test_audit_disjoint_forest.py has two small ones
    Registered("DisjointForestClassifier", {"n_trees": 3, "max_depth": 3}, floor=0.99, audited_trees=1),
    Registered(
        "DisjointForestClassifier",
        {"n_trees": 3, "max_depth": 5, "max_leaves": 16, "empty": "uniform"},
        floor=0.99,
        audited_trees=1,
    ),
    Registered("DisjointForestClassifier", {"n_trees": 8, "composition": "sequential", "delta": 1e-6}, floor=0.95),
    Registered("MatrixForestClassifier", {"n_trees": 8, "max_depth": 2}, floor=0.99),
    Registered("MatrixForestClassifier", {"n_trees": None, "strategy": "marginals", "bins": 2}, floor=0.99),
    Registered("MatrixForestClassifier", {"n_trees": 9, "strategy": "gaussian", "delta": 1e-6}, floor=0.99),
    Registered(
        "MatrixForestClassifier", {"n_trees": 3, "mode": "aggregate", "voting": "hard", "max_depth": 2}, floor=0.99
    ),
    Registered(
        "MatrixForestClassifier", {"n_trees": 8, "tune": "released", "voting": "balanced", "bins": 2}, floor=0.99
    ),
    # coins hide most of what one record does among so few; test_audit_multinomial_forest.py has more records and trees
    Registered("MultinomialForestClassifier", {"max_depth": 3}, audited_trees=1, audited_depth=1, floor=0.37),
    Registered(
        "MultinomialForestClassifier",
        {"n_trees": 3, "max_depth": 2, "stages": "two", "gamma": 0.25, "criterion": "gini"},
        audited_trees=1,
        audited_depth=1,
        floor=0.27,
    ),
    Registered(
        "MultinomialForestClassifier",
        {"n_trees": 3, "composition": "disjoint", "partition_rate": 2.0, "n_rows_hint": 200},
        audited_trees=1,
        audited_depth=1,
        floor=0.43,
    ),
    Registered("FSTreeClassifier", {"max_depth": 2}, floor=0.66),
    Registered(
        "FSTreeClassifier", {"max_depth": 2, "criterion": "information", "n_rows_hint": 500, "delta": 1e-6}, floor=0.5
    ),
    Registered("JPWForestClassifier", {"n_trees": 4, "max_depth": 5}, floor=0.99),
    Registered("PrivaTreeClassifier", {"max_depth": 3}, floor=0.82),
    Registered("PrivaTreeRegressor", {"max_depth": 2}, audited_depth=1, floor=0.5),
    # of four levels the highest is only half as far from the middle as residuals may be;
    # test_audit_privatree_regression has all levels
    Registered("PrivaTreeRegressor", {"n_trees": 2, "max_depth": 2, "delta": 1e-6}, audited_depth=1, floor=0.39),
    Registered(
        "PrivaTreeRegressor",
        {"n_trees": 3, "max_depth": 2, "composition": "disjoint", "criterion": "squares", "n_rows_hint": 500},
        audited_trees=1,
        audited_depth=1,
        floor=0.4,
    ),
    Registered(
        "PrivaTreeRegressor",
        {"max_depth": 2, "grid": "quantiles", "stop": True, "n_rows_hint": "unknown"},
        audited_depth=1,
        floor=0.5,
    ),
    # without a hint a noisy number is bought, and the audit's is always one
    Registered("PrivetClassifier", {}, floor=0.9),
    Registered("PrivetClassifier", {"goal": "readable", "delta": 1e-6}, audited_depth=1, floor=0.6),
    Registered("PrivetClassifier", {"goal": "labels only", "n_rows_hint": 5_000}, audited_depth=1, floor=0.6),
    Registered("PrivetRegressor", {"goal": "readable"}, floor=0.65),
    Registered("DPGDFTreeClassifier", {"max_depth": 2}, audited_depth=1, floor=0.51),
    Registered("PrivaTreeClassifier", {"n_trees": 2, "max_depth": 2, "delta": 1e-6}, audited_depth=1, floor=0.69),
    Registered(
        "PrivaTreeClassifier",
        {"n_trees": 3, "max_depth": 2, "composition": "disjoint", "criterion": "gini", "leaves": "labels"},
        floor=0.58,
        audited_trees=1,
        audited_depth=1,
    ),
    Registered("PrivaTreeClassifier", {"max_depth": 2, "grid": "quantiles", "n_rows_hint": 1000}, floor=0.82),
    Registered("PrivaTreeClassifier", {"max_depth": 2, "grid": "jointexp", "stop": True}, audited_depth=1, floor=0.82),
    Registered("RandomDecisionForestClassifier", {"n_trees": 3, "max_depth": 3}, floor=0.99),
    Registered("RandomDecisionForestClassifier", {"voting": "probabilistic", "n_rows_hint": 200}, floor=0.99),
    Registered(
        "RandomDecisionForestClassifier",
        {"n_trees": 16, "max_depth": 3, "voting": "majority", "delta": 1e-6},
        floor=0.99,
    ),
    Registered(
        "RandomDecisionForestClassifier",
        {"n_trees": 3, "max_depth": 4, "voting": "majority", "leaves": "labels", "composition": "disjoint"},
        floor=0.99,
    ),
    Registered("RandomDecisionForestClassifier", {"n_trees": 2, "max_depth": 18, "empty": "random"}, floor=0.99),
    Registered("RandomDecisionForestClassifier", {"n_trees": 2, "max_depth": 3, "vote_weights": "private"}, floor=0.98),
]

every_learner = pytest.mark.parametrize("learner", REGISTERED, ids=str)
every_classifier = pytest.mark.parametrize(
    "learner", [learner for learner in REGISTERED if not learner.is_regressor], ids=str
)


def people(n=200, seed=0):
    """Return a small frame as a dict of columns, and labels."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    columns = {
        "age": age.astype(float),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(9, 1, n)),
        "colour": rng.choice(["red", "green", "blue", "mauve"], n),
    }
    labels = np.array(["no", "maybe", "yes"])[(age // 34).clip(0, 2)]
    return columns, labels
