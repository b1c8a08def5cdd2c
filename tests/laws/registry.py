"""Every learner of the house, in the settings in which the laws look at it. A law fails for a learner not listed here."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import privet
from privet import Categorical, Numeric, Schema

SCHEMA = Schema(
    {
        "age": Numeric(0, 100),
        "income": Numeric(0, 100_000, grid="log", missing=True),
        "colour": Categorical(["red", "green", "blue"], other=True),
    },
    classes=["no", "maybe", "yes"],
)


@dataclass(frozen=True)
class Registered:
    """One way in which a learner is used."""

    estimator: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def make(self, **changes):
        return getattr(privet, self.estimator)(**{"schema": SCHEMA, "random_state": 3, **self.parameters, **changes})

    def __str__(self):
        return "-".join([self.estimator, *(f"{k}={v}" for k, v in self.parameters.items())])


REGISTERED = [
    Registered("DisjointForestClassifier", {"n_trees": 3, "max_depth": 3}),
    Registered("DisjointForestClassifier", {"n_trees": 3, "max_depth": 5, "max_leaves": 16, "empty": "uniform"}),
    Registered("DisjointForestClassifier", {"n_trees": 3, "composition": "sequential", "delta": 1e-6}),
    Registered("PrivaTreeClassifier", {"max_depth": 3}),
    Registered("PrivaTreeClassifier", {"n_trees": 2, "max_depth": 2, "leaves": "counts", "delta": 1e-6}),
    Registered("PrivaTreeClassifier", {"n_trees": 3, "max_depth": 2, "composition": "disjoint", "criterion": "gini"}),
    Registered("PrivaTreeClassifier", {"max_depth": 2, "grid": "quantiles", "n_rows_hint": 1000}),
    Registered("RandomDecisionForestClassifier", {"n_trees": 3, "max_depth": 3}),
    Registered("RandomDecisionForestClassifier", {"n_trees": 3, "max_depth": 3, "voting": "majority", "delta": 1e-6}),
]

every_learner = pytest.mark.parametrize("learner", REGISTERED, ids=str)


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
