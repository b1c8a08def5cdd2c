"""PrivaTree: the plan follows from public facts, and the tree learns what is there."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Numeric, PrivaTreeClassifier, Schema
from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.privatree.plan import label_error, tree_budget
from privet.learners.privatree.tree import PrivaTree
from privet.mechanisms.release import open_release, secret_key
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Share, Terms
from privet.tables.reading import encode_table
from privet.testing import seeded_noise
from privet.trees.quantiles import QuantileSearch

SCHEMA = Schema(
    {"x": Numeric(0, 1), "z": Numeric(0, 1, missing=True), "c": Categorical(list("abcdef"))}, classes=["no", "yes"]
)


def records(n=20_000, seed=0):
    """Return records whose class follows from x where c is a, b or d, and from a missing z elsewhere."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(0, 1, n)
    z[rng.random(n) < 0.4] = np.nan
    X = pd.DataFrame({"x": rng.uniform(0, 1, n), "z": z, "c": rng.choice(list("abcdef"), n)})
    yes = np.where(X["c"].isin(["a", "b", "d"]), X["x"] > 0.3, np.isnan(z))
    return X, np.where(yes, "yes", "no")


def budget(epsilon, n_rows, max_depth=4, **more):
    return tree_budget(max_depth, 500, Share(epsilon=Fraction(str(epsilon))), n_rows=n_rows, **more)


@pytest.mark.parametrize("n_rows", [None, 10, 1000, 10**6])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_levels_and_leaves_share_the_whole_budget(epsilon, n_rows):
    parts = budget(epsilon, n_rows)
    assert parts.depth * parts.level + parts.leaves == 1
    assert Fraction(1, 10) <= parts.leaves <= Fraction(1, 2)


def test_depth_grows_with_what_the_budget_can_pay_for():
    depths = [budget(0.1, n).depth for n in (10, 100, 3000, 10_000, 10**6)]
    assert depths == sorted(depths)
    assert depths[0] == 1
    assert depths[-1] == 4
    assert budget(0.1, None).depth == 4  # nothing is known: the depth that was asked for
    assert budget(0.1, 10_000, steps=2).depth < budget(0.1, 10_000).depth


def test_nothing_to_split_is_a_single_leaf_with_the_whole_budget():
    assert tree_budget(4, 0, Share(epsilon=Fraction(1))).leaves == 1
    schema = Schema({"c": Categorical(["only"])}, classes=["no", "yes"])
    tree = PrivaTreeClassifier(epsilon=5.0, schema=schema).fit(pd.DataFrame({"c": ["only"] * 50}), ["yes"] * 50)
    assert tree.predict(pd.DataFrame({"c": ["only"]})) == ["yes"]


def test_the_error_of_a_label_is_that_of_permute_and_flip():
    assert float(label_error(2)) == pytest.approx(1 / (2 * np.e), abs=1e-5)
    assert label_error(2) < label_error(3) < label_error(10)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"leaves": "labels"},
        {"delta": 1e-6},
        {"criterion": "gini"},
        {"criterion": "errors"},
        {"grid": "quantiles"},
        {"grid": "jointexp"},
        {"stop": True},
        {"stop": True, "n_trees": 2, "composition": "disjoint", "leaves": "labels"},
        {"n_trees": 3},
        {"n_trees": 3, "composition": "disjoint"},
        {"n_rows_hint": 20_000},
    ],
    ids=str,
)
def test_it_finds_sets_of_categories_thresholds_and_missing_values(parameters):
    X, y = records()
    tree = PrivaTreeClassifier(epsilon=4.0, schema=SCHEMA, max_depth=3, random_state=0, **parameters).fit(X, y)
    assert tree.score(X, y) > 0.93
    assert tree.privacy_.epsilon == 4.0


def test_many_classes_and_many_categories():
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(60)]
    X = pd.DataFrame({"word": rng.choice(words, 30_000), "x": rng.uniform(0, 1, 30_000)})
    y = np.where(X["word"].isin(words[:3]), 9, (X["x"] * 8).astype(int))
    schema = Schema({"word": Categorical(words), "x": Numeric(0, 1)}, classes=list(range(10)))
    tree = PrivaTreeClassifier(epsilon=8.0, schema=schema, max_depth=6, random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.8


def test_quantiles_spread_records_evenly_over_a_long_tail():
    rng = np.random.default_rng(2)
    values = np.exp(rng.normal(0, 1.5, 20_000))
    schema = Schema({"x": Numeric(0, float(values.max()) + 1, grid="log")}, classes=[0, 1])
    encoding, search = schema.encoding(1024), QuantileSearch(levels=3)
    planned = search.plan(encoding, Terms(), Share(epsilon=Fraction(3)))
    with seeded_noise(1):
        table = encode_table(schema, encoding, values.reshape(-1, 1), np.zeros(20_000, int), secret_key, 1)
        cuts = search.run(table, open_release(Ledger(Terms(), Allowance.of(3.0))), planned)[0]
    assert sum(of.event.cost.epsilon for of in planned) == 3
    cells = np.bincount(np.searchsorted([encoding.decode_cut(0, cut) for cut in cuts], values), minlength=8)
    assert len(cuts) == 7
    assert cells.min() > 1500
    assert cells.max() < 3500


def test_quantiles_ask_no_more_levels_than_there_are_cells_for():
    encoding = Schema({"x": Numeric(0, 1, bins=3), "y": Numeric(0, 1, bins=16)}, classes=[0, 1]).encoding()
    planned = QuantileSearch(levels=3).plan(encoding, Terms(), Share(epsilon=Fraction(1)))
    assert [(of.feature, of.event.name) for of in planned] == [
        *((0, f"quantiles of x, level {level}") for level in (1, 2)),
        *((1, f"quantiles of y, level {level}") for level in (1, 2, 3)),
    ]


def test_quantiles_of_no_numeric_feature_cost_nothing():
    schema = Schema({"c": Categorical(list("ab"))}, classes=["no", "yes"])
    ledgers = [PrivaTreeClassifier(schema=schema, grid=grid).plan() for grid in ("schema", "quantiles")]
    assert ledgers[0].to_dict() == ledgers[1].to_dict()
    assert ledgers[0].epsilon == 1.0


def test_the_part_of_the_leaves_can_be_given():
    learner = PrivaTree(max_depth=3, leaf_part=Fraction(9, 10))
    plan = learner.plan(SCHEMA.encoding(), Terms(), Share(epsilon=Fraction(1)), Hints())
    assert plan.trees[0].leaves.cost.epsilon == Fraction(9, 10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 0}, "max_depth"),
        ({"criterion": "entropy"}, "criterion must be one of"),
        ({"leaves": "shares"}, "leaves must be one of"),
        ({"grid": "log"}, "grid must be one of"),
        ({"composition": "parallel"}, "composition must be one of"),
        ({"max_leaf_error": 0.0}, "max_leaf_error"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        PrivaTreeClassifier(schema=SCHEMA, **parameters).plan()
