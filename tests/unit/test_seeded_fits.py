"""Seeded fits give the same models and ledgers as before: nobody changed a noise stream, a plan or a text unawares.

``tests/golden/seeded_fits.json`` holds digests of each fit's plan, ledger and model, as the version before this test
gave them. Budgets and noise are integers and fractions, equal on every machine. What is made of released values are
floats, whose last digit depends on the processor and on LAPACK: scores are rounded to 2^-16 before they act again, and
the floats of a model file are compared to six digits. So another machine rounds a value the other way once in many
thousands of fits. ``python -m tests.unit.test_seeded_fits`` writes the digests anew, where a change is meant.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    DisjointForestClassifier,
    Numeric,
    PrivaTreeRegressor,
    Schema,
)
from privet.testing import seeded_noise
from tests.model_contents import in_full, rounded

GOLDEN = Path(__file__).parents[1] / "golden" / "seeded_fits.json"
N_ROWS = 800

MIXED = {"x": Numeric(0, 1), "z": Numeric(-5, 5, missing=True), "c": Categorical(["a", "b", "d"], other=True)}
WIDE = {f"x{k}": Numeric(0, 1) for k in range(18)}
MANY = {"x": Numeric(0, 1), "word": Categorical([f"w{k}" for k in range(410)])}
ONE_VALUE = {"c": Categorical(["only"])}
CLASSES = {2: ["no", "yes"], 3: ["no", "perhaps", "yes"]}


def _schema(features, n_classes, neighbours="add_remove"):
    if n_classes == 0:
        return Schema(features, target=Numeric(0, 10), neighbours=neighbours)
    return Schema(features, classes=CLASSES[n_classes], neighbours=neighbours)


def _records(schema, n_classes):
    """Return records on a coarse grid, made by integer arithmetic alone."""
    rng = np.random.default_rng(19)
    columns, strength = {}, np.zeros(N_ROWS)
    for place, (name, domain) in enumerate(schema.features.items()):
        step = rng.integers(64, size=N_ROWS)
        strength += step / 64 if place < 2 else 0.0
        if isinstance(domain, Numeric):
            values = domain.low + (step + 0.5) / 64 * (domain.high - domain.low)
            columns[name] = np.where(step % 9 == 8, np.nan, values) if domain.missing else values
        else:
            columns[name] = np.array([*domain.categories, "unheard of"])[step * 7 % (len(domain.categories) + 1)]
            if not domain.other:
                columns[name] = np.array(domain.categories)[step * 7 % len(domain.categories)]
    strength += rng.integers(16, size=N_ROWS) / 64
    if n_classes == 0:
        return pd.DataFrame(columns), np.clip(4 * strength, 0, 10)
    ranks = np.argsort(np.argsort(strength, kind="stable"))
    return pd.DataFrame(columns), np.array(CLASSES[n_classes])[ranks * n_classes // N_ROWS]


def _boosting(n_classes, features=MIXED, neighbours="add_remove", **parameters):
    make = BoostingClassifier if n_classes else BoostingRegressor
    schema = _schema(features, n_classes, neighbours)
    return make(schema=schema, random_state=7, **{"n_rows_hint": "unknown", **parameters}), n_classes


def _disjoint(n_classes=2, features=MIXED, neighbours="add_remove", **parameters):
    schema = _schema(features, n_classes, neighbours)
    return DisjointForestClassifier(schema=schema, random_state=7, **parameters), n_classes


def _tree(neighbours="add_remove", **parameters):
    schema = _schema(MIXED, 0, neighbours)
    return PrivaTreeRegressor(schema=schema, random_state=7, **{"n_rows_hint": 5_000, **parameters}), 0


PURE, APPROXIMATE = {"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}
FITS = {
    # nothing known: a common start, or a regression as base
    **{f"boosting, {k} classes, pure": _boosting(k, **PURE) for k in (0, 2, 3)},
    **{f"boosting, {k} classes, approximate": _boosting(k, **APPROXIMATE) for k in (0, 2, 3)},
    **{f"boosting, {k} classes, no privacy": _boosting(k, epsilon=None, n_trees=3) for k in (0, 2, 3)},
    # with a hint: each rule of the outline
    **{
        f"boosting, {k} classes, {kind}, {n} records": _boosting(k, n_rows_hint=n, n_trees=8, **budget)
        for k in (0, 2, 3)
        for n in (100, 1_000, 5_000, 100_000)
        for kind, budget in (("pure", PURE), ("approximate", APPROXIMATE))
    },
    "boosting, 2 classes, pure, 300 records": _boosting(2, n_rows_hint=300, **PURE),
    "boosting, many features, pure": _boosting(2, WIDE, n_rows_hint=3_000, **PURE),
    "boosting, many features, approximate": _boosting(2, WIDE, n_rows_hint=800, **APPROXIMATE),
    "boosting, many features, few of them measured": _boosting(3, WIDE, n_rows_hint=100, **PURE),
    "boosting, too many columns": _boosting(2, MANY, **APPROXIMATE, n_trees=4),
    "boosting, too many columns, regression": _boosting(0, MANY, **PURE, n_trees=4),
    "boosting, nothing to split": _boosting(2, ONE_VALUE, **PURE),
    "boosting, nothing to split, regression": _boosting(0, ONE_VALUE, **APPROXIMATE),
    "boosting, replaced records": _boosting(2, neighbours="replace", n_rows_hint=800, max_depth=2, **APPROXIMATE),
    "disjoint forest, by margin": _disjoint(epsilon=1.0, n_trees=8),
    "disjoint forest, by counts": _disjoint(epsilon=1.0, n_trees=8, empty="uniform"),
    "disjoint forest, three classes": _disjoint(3, epsilon=0.2, n_trees=8, max_depth=3),
    "disjoint forest, sequential": _disjoint(epsilon=2.0, n_trees=5, composition="sequential"),
    "disjoint forest, sequential, approximate": _disjoint(
        epsilon=1.0, delta=1e-6, n_trees=200, composition="sequential", max_depth=3
    ),
    "disjoint forest, disjoint, approximate": _disjoint(epsilon=1.0, delta=1e-6, n_trees=8),
    "disjoint forest, replaced records": _disjoint(epsilon=2.0, n_trees=8, neighbours="replace"),
    "disjoint forest, hashed leaves": _disjoint(epsilon=1.0, n_trees=3, max_leaves=16, depth_rule="printed"),
    "disjoint forest, no privacy": _disjoint(epsilon=None, n_trees=5),
    "regression tree, pure": _tree(),
    "regression tree, approximate": _tree(**APPROXIMATE, n_trees=3),
    "regression tree, stops": _tree(stop=True),
    "regression tree, quantiles": _tree(grid="quantiles", criterion="squares"),
    "regression tree, disjoint records": _tree(n_trees=3, composition="disjoint", criterion="deviations"),
    "regression tree, replaced records": _tree("replace", n_rows_hint=None),
    "regression tree, no privacy": _tree(epsilon=None),
}


def fitted(name):
    """Fit one of the estimators above with seeded noise."""
    estimator, n_classes = FITS[name]
    with seeded_noise(23):
        return estimator.fit(*_records(estimator.schema, n_classes))


def digests(estimator):
    """Return short digests of the plan and the ledger as texts, and of the model as plain data."""
    parts = (
        estimator.plan().table(full=True),
        estimator.privacy_.table(full=True),
        json.dumps(rounded(in_full(estimator.model_))),
    )
    return [hashlib.sha256(part.encode()).hexdigest()[:16] for part in parts]


@pytest.mark.filterwarnings("ignore::privet.errors.NonPrivateWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_seeded_fit_repeats_plan_ledger_and_model(name):
    assert digests(fitted(name)) == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: digests(fitted(name)) for name in FITS}, indent=1) + "\n", encoding="utf-8")
