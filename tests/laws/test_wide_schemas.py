"""Every learner's model comes back from its file, however many features the schema has; or nothing is spent."""

import json

import numpy as np
import pytest

import privet
from privet import Categorical, Numeric, Schema
from privet.errors import SchemaError
from privet.estimators.registry import estimator_class, estimator_names
from privet.privacy.budgets import budget
from privet.schema.domains import MOST_CELLS, MOST_VALUES, check_size
from privet.testing import seeded_noise

FAST = {  # smaller than the defaults where a fit of these would take long
    "DisjointForestClassifier": {"n_trees": 2, "max_depth": 6},
    "MatrixForestClassifier": {"n_trees": 2, "max_depth": 3},
    "JPWForestClassifier": {"n_trees": 2, "max_depth": 4},
    "BoostingClassifier": {"n_trees": 2},
    "BoostingRegressor": {"n_trees": 2},
}
WIDTHS = [10, pytest.param(1_000, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.slow)]


def wide(n_features, name):
    """Return a schema and a few records; the widest schema has coarse grids, so that the test is quick."""
    bins = 16 if n_features > 1_000 else None
    features = {f"x{i}": Numeric(0, 1, bins=bins) for i in range(n_features)}
    X = np.random.default_rng(1).random((40, n_features))
    if name.endswith("Regressor"):
        return Schema(features, target=Numeric(0, 1)), X, X[:, 0]
    return Schema(features, classes=[0, 1]), X, (X[:, 0] > 0.5).astype(np.int64)


@pytest.mark.law
@pytest.mark.parametrize("n_features", WIDTHS)
@pytest.mark.parametrize("name", estimator_names())
def test_a_model_of_many_features_comes_back_from_its_file(name, n_features, tmp_path):
    schema, X, y = wide(n_features, name)
    estimator = estimator_class(name)(epsilon=5.0, schema=schema, random_state=0, **FAST.get(name, {}))
    with seeded_noise(3):
        estimator.fit(X, y)
    estimator.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    # what follows from the schema is not in the file
    assert (tmp_path / "model.json").stat().st_size < 1_500 * n_features + 500_000
    assert "encoding" not in json.loads((tmp_path / "model.json").read_text())["model"]


def test_the_finest_grids_of_ten_thousand_features_are_within_the_limits():
    check_size([Numeric(0, 1)] * 10_000, Categorical([0, 1]), 4096)


@pytest.mark.parametrize(
    "features",
    [
        {f"x{i}": Numeric(0, 1, bins=65_534) for i in range(MOST_CELLS // 65_534 + 1)},
        {f"c{i}": Categorical(list(range(60_000))) for i in range(MOST_VALUES // 60_000 + 1)},
    ],
    ids=["cells", "values"],
)
def test_a_schema_whose_file_could_not_be_read_is_refused_before_anything_is_spent(features):
    schema = Schema(features, classes=[0, 1])
    estimator = privet.PrivaTreeClassifier(epsilon=1.0, schema=schema)
    with pytest.raises(SchemaError, match="the most"):
        estimator.plan()
    with budget(epsilon=1.0) as handle, pytest.raises(SchemaError, match="the most"):
        estimator.fit(np.zeros((3, len(features))), [0, 1, 0])
    assert handle.spent == 0
