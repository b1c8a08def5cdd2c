"""The tree for a regression target: what it learns, plans, releases, says and exports."""

import json
import math
import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor, export_text

import privet
from privet import Categorical, Numeric, PrivaTreeRegressor, Schema
from privet.errors import ModelFileError, NonPrivateWarning, ParameterError
from privet.estimators.learning import Hints
from privet.exports import codes_of, onnx_inputs, to_javascript, to_onnx, to_python, to_shap, to_sklearn_tree, to_sql
from privet.learners.privatree.regression import (
    CELLS,
    LEAST_VARIANCE,
    PrivaTreeForRegression,
    ResidualWindow,
    below_near_above,
    find_window,
    shrunk_means,
    variances,
)
from privet.learners.privatree.regression_plan import (
    CAP_OF_SIGNAL,
    cap_of,
    knee_of,
    regression_budget,
    signal_of,
    sums_event,
)
from privet.models import RegressionForest, model_from_dict, model_to_dict
from privet.parameters import public_rng
from privet.privacy.terms import Share, Terms
from privet.report import render
from privet.tables import MemoryTable
from privet.testing import seeded_noise
from privet.trees.candidates import Candidates
from privet.trees.residual_growth import ResidualGrowth
from privet.trees.scores import RESIDUAL
from privet.trees.structure import FeatureCodes

SCHEMA = Schema(
    {
        "size": Numeric(0, 100, bins=50),
        "age": Numeric(0, 10, missing=True),
        "place": Categorical(["town", "village", "island"], other=True),
    },
    target=Numeric(0, 1000),
)


def houses(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    size, age = rng.uniform(0, 100, n), rng.uniform(0, 10, n)
    place = rng.choice(["town", "village", "island", "boat"], n)
    price = 4 * size + np.where(place == "island", 300, 0) - 10 * age + rng.normal(0, 20, n) + 100
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"size": size, "age": age, "place": place}), np.clip(price, 0, 1000)


def fitted(**settings):
    X, y = houses()
    return PrivaTreeRegressor(**{"epsilon": 2.0, "schema": SCHEMA, "n_rows_hint": 4000, **settings}).fit(X, y)


def r_squared(y, predicted):
    return 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def test_without_privacy_it_is_carts_tree_on_the_same_codes():
    X, y = houses()
    twin = PrivaTreeRegressor(None, schema=Schema({"size": SCHEMA.features["size"]}, target=Numeric(0, 1000)))
    with pytest.warns(NonPrivateWarning):
        twin.fit(X[["size"]], y)
    codes = codes_of(twin, X[["size"]])
    cart = DecisionTreeRegressor(max_depth=4).fit(codes, y)
    assert twin.predict(X[["size"]]) == pytest.approx(cart.predict(codes), abs=0.05)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"delta": 1e-6, "n_trees": 2},
        {"criterion": "squares"},
        {"criterion": "deviations"},
        {"stop": True},
        {"grid": "quantiles"},
        {"n_trees": 3, "composition": "disjoint"},
        {"n_rows_hint": None},
        {"n_rows_hint": "unknown"},
    ],
    ids=str,
)
def test_it_learns_what_there_is_to_learn_and_spends_what_it_planned(settings):
    X, y = houses()
    with seeded_noise(1):
        model = fitted(epsilon=8.0, **settings)
    assert r_squared(y, model.predict(X)) > 0.6
    planned = PrivaTreeRegressor(**{"epsilon": 8.0, "schema": SCHEMA, "n_rows_hint": 4000, **settings}).plan()
    assert model.privacy_.cost.epsilon == planned.cost.epsilon
    assert model.privacy_.allowance == planned.allowance


@pytest.mark.parametrize("neighbours", ["replace", "label"])
def test_other_relations_cost_what_they_state(neighbours):
    X, y = houses(500)
    schema = Schema(SCHEMA.features, SCHEMA.target, neighbours=neighbours)
    model = PrivaTreeRegressor(1.0, schema=schema, n_rows_hint=500).fit(X, y)
    assert model.privacy_.proven
    assert model.privacy_.epsilon == 1.0
    assert all(0 <= number <= 1000 for number in model.predict(X))


def test_units_get_noise_for_all_of_their_rows():
    X, y = houses(500)
    X["who"] = np.arange(500) // 2
    schema = Schema(SCHEMA.features, SCHEMA.target, unit=privet.Unit("who", max_rows=2))
    model = PrivaTreeRegressor(1.0, schema=schema, n_rows_hint="unknown").fit(X, y)
    single = PrivaTreeRegressor(1.0, schema=SCHEMA, n_rows_hint="unknown").plan()
    last, of_single = model.privacy_.events[-1], list(single.events)[-1]
    assert model.privacy_.proven
    assert float(last.parameter) == pytest.approx(2 * float(of_single.parameter), rel=1e-6)


def test_fewer_records_get_fewer_levels_and_no_window():
    def depth(n):
        return regression_budget(6, 1000, Share(epsilon=1), Terms(), n).depth

    assert [depth(n) for n in (500, 5_000, 500_000)] == sorted(depth(n) for n in (500, 5_000, 500_000))
    assert depth(500) < depth(500_000) == 6
    assert regression_budget(3, 1000, Share(epsilon=1), Terms(), 1_000).window == 0
    assert regression_budget(3, 1000, Share(epsilon=1), Terms(), 100_000).window > 0


def test_a_cap_grows_with_the_records_of_a_node_and_with_what_its_selection_gets():
    share = Share(epsilon=Fraction(1, 5))
    cap = cap_of("capped", share, Terms(), 1000)
    assert 700 * cap == pytest.approx(CAP_OF_SIGNAL * signal_of(share, Terms(), 700, 0, 1000))
    assert cap_of("capped", Share(epsilon=Fraction(2, 5)), Terms(), 1000) == pytest.approx(2 * cap)
    assert cap_of("capped", share, Terms("replace"), 1000) == pytest.approx(cap / 2)
    assert cap_of("mix", share, Terms(), 1000) is None


def test_a_level_without_noise_scores_squares_and_one_with_no_hint_has_a_middling_knee():
    whole = Share(epsilon=1)
    assert signal_of(None, Terms(), None, 0, 1000) == math.inf
    assert (cap_of("capped", None, Terms(), 1000), knee_of("capped", math.inf)) == (None, RESIDUAL)
    assert signal_of(whole, Terms(), None, 0, 1000) is None
    assert 0 < knee_of("mix", None) < RESIDUAL


@pytest.mark.parametrize(("n_rows", "has_window", "is_told"), [(1_000, 0, 0), (100_000, 1, 1), (None, 1, 0)])
def test_the_root_releases_no_centre_only_where_a_window_is_sure_to_tell_it(n_rows, has_window, is_told):
    plan = PrivaTreeForRegression(2).plan(SCHEMA.encoding(), Terms(), Share(epsilon=Fraction(1)), Hints(n_rows))
    (tree,) = plan.trees
    assert (plan.window is not None) == has_window
    assert [level.centres is None for level in tree.levels] == [is_told, False][: plan.depth]
    assert plan.whole.cost.epsilon == 1


def test_a_level_below_has_half_the_records_and_half_the_signal():
    above, below = (signal_of(Share(epsilon=1), Terms(), 10_000, level, 1000) for level in (1, 2))
    assert above == pytest.approx(2 * below)
    assert signal_of(Share(epsilon=1), Terms("replace"), 10_000, 1, 1000) == pytest.approx(below)


def test_a_feature_that_cannot_be_split_leaves_one_leaf():
    schema = Schema({"only": Categorical(["a"])}, target=Numeric(0, 10))
    X = pd.DataFrame({"only": ["a"] * 1000})
    model = PrivaTreeRegressor(5.0, schema=schema, n_rows_hint=1000).fit(X, [4] * 1000)
    assert model.model_.structure.n_leaves == 1
    assert model.predict(X)[0] == pytest.approx(4, abs=0.5)


class _Exact:
    """A release without noise that keeps what it is asked."""

    def noisy(self, values, event):
        return values


class _Counts:
    """A table whose target has these counts."""

    def __init__(self, counts):
        self.counts = counts
        self.encoding = Schema({"x": Numeric(0, 1)}, target=Numeric(0, 1)).encoding(2)

    def aggregate(self, kernel):
        return self.counts


def test_the_window_is_where_most_values_are():
    event = Terms().noise("spread", Share(epsilon=1))
    counts = np.zeros(CELLS, np.int64)
    counts[8:16] = 10_000
    counts[63] = 5  # a far tail
    window = find_window(_Counts(counts), _Exact(), event)
    cell = 65_536 / CELLS
    assert window.centre == pytest.approx(12 * cell, abs=cell / 10)
    assert window.reach == pytest.approx(4 * cell, abs=cell)
    assert window.records == 80_005
    assert window.variance == pytest.approx(1 / 3, rel=0.05)  # evenly spread over all of it


def test_noise_in_empty_cells_does_not_widen_the_window():
    event = Terms().noise("spread", Share(epsilon=Fraction(1, 200)))
    counts = np.zeros(CELLS, np.int64)
    counts[16:] = np.where(np.arange(CELLS - 16) % 2, 500, -500)  # nearly two deviations each
    counts[8:16] = 2500
    window = find_window(_Counts(counts), _Exact(), event)
    cell = 65_536 / CELLS
    assert window.centre == pytest.approx(12 * cell, abs=cell)
    assert window.reach == pytest.approx(4 * cell, abs=2 * cell)


def test_without_enough_records_the_window_is_the_whole_range():
    event = Terms().noise("spread", Share(epsilon=1))
    counts = np.zeros(CELLS, np.int64)
    counts[3] = 15
    assert find_window(_Counts(counts), _Exact(), event) == ResidualWindow(32_768, 32_768)
    assert find_window(_Counts(counts), _Exact(), None) == ResidualWindow(32_768, 32_768)


def sums_of(*nodes):
    """What nodes release without noise that have this many records, all on one side, with this sum of residuals."""
    return RESIDUAL * np.array([[max(-total, 0), records - abs(total), max(total, 0)] for records, total in nodes])


def test_means_are_shrunk_by_how_noisy_they_are_and_exact_without_noise():
    sums = sums_of((100, 50), (10_000, 5_000))
    exact, records = shrunk_means(sums, Terms().noise("sums", None))
    assert exact.tolist() == [0.5, 0.5]
    assert records.tolist() == [100, 10_000]
    few, many = shrunk_means(sums, Terms().noise("sums", Share(epsilon=1), l1=100 * RESIDUAL))[0]
    assert 0 < few < many < 0.5


def test_a_node_whose_noise_says_fewer_than_no_records_has_none_and_stays_at_its_centre():
    noise = Terms().noise("sums", Share(epsilon=1), l1=RESIDUAL)
    means, records = shrunk_means(np.array([[-3 * RESIDUAL, -RESIDUAL, -RESIDUAL]]), noise)
    assert (means.tolist(), records.tolist()) == ([0.0], [0.0])


def test_noise_that_takes_one_part_below_zero_counts_against_the_others_in_the_number_of_records():
    """Held above zero one by one, the parts would add up to more records than there are, on average."""
    noise = Terms().noise("sums", Share(epsilon=1), l1=RESIDUAL)
    _, records = shrunk_means(RESIDUAL * np.array([[-3, 10, 2], [4, -9, 3]]), noise)
    assert records.tolist() == [9.0, 0.0]


def test_a_small_node_that_is_surely_far_out_keeps_its_mean_beside_large_ones_that_are_not():
    sums = sums_of((200, 160), (10_000, 0), (200, 1))
    far, near, unsure = shrunk_means(sums, Terms().noise("sums", Share(epsilon=1), l1=10 * RESIDUAL))[0]
    assert far == pytest.approx(0.8, rel=0.05)
    assert near == 0
    assert 0 <= unsure < 0.002


def test_the_spread_of_a_node_is_that_of_normal_values_around_their_mean():
    residuals = np.random.default_rng(0).normal(0.2, 0.2, 100_000).clip(-1, 1)
    parts = np.array([np.maximum(-residuals, 0).sum(), (1 - np.abs(residuals)).sum(), np.maximum(residuals, 0).sum()])
    found = variances((RESIDUAL * parts[None]).astype(np.int64), np.array([0.0]))
    assert found[0] == pytest.approx(math.pi / 2 * np.abs(residuals).mean() ** 2, rel=1e-3)
    around_its_mean = variances((RESIDUAL * parts[None]).astype(np.int64), np.array([0.2]))[0]
    assert around_its_mean == pytest.approx(0.04, rel=0.4)
    nothing = variances(np.array([[-5, -5, -5], [0, 0, 0]]) * RESIDUAL, np.zeros(2))
    assert nothing.tolist() == [LEAST_VARIANCE] * 2


@pytest.mark.parametrize("centre", [0, 20_000, 65_535])
def test_what_a_record_adds_to_the_sums_of_a_node_is_never_negative_and_as_large_as_planned(centre):
    encoding = Schema({"x": Numeric(0, 1)}, target=Numeric(0, 1)).encoding(2)
    candidates = Candidates.all_of(FeatureCodes.of(encoding), public_rng(0))
    added = []
    for level in (0, 1, 12_345, 20_000, 20_001, 50_000, 65_535):
        table = MemoryTable(encoding, np.zeros((1, 1), np.uint8), np.array([level], np.int32))
        added += below_near_above(ResidualGrowth(table, candidates), np.array([centre]), 30_000).tolist()
    event = sums_event(Terms(), "sums", Share(epsilon=1), "all records")
    assert event.sensitivity == RESIDUAL
    assert [sum(parts) for parts in added] == [RESIDUAL] * len(added)
    assert min(min(parts) for parts in added) >= 0
    apart = max(sum((x - y) ** 2 for x, y in zip(one, other, strict=True)) for one in added for other in added)
    replaced = sums_event(Terms("replace"), "sums", Share(rho=Fraction(1, 2)), "all records")
    assert apart <= replaced.parameter  # a variance of the squared distance over twice rho


def test_it_goes_to_a_file_and_back(tmp_path):
    X, _ = houses(50)
    model = fitted()
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert isinstance(again.model_, RegressionForest)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.get_params()["criterion"] == "capped"


@pytest.mark.parametrize(("part", "value"), [("values", 2.0), ("records", -1)])
def test_a_file_with_impossible_leaves_is_refused(part, value):
    model = fitted().model_
    broken = {"values": model.values.copy(), "records": model.records.copy()}
    broken[part][0] = value
    with pytest.raises(ParameterError, match=part):
        RegressionForest(model.encoding, model.structure, **broken)
    content = model_to_dict(model)
    del content[part]
    with pytest.raises(ModelFileError, match=part):
        model_from_dict(json.loads(json.dumps(content)))


def test_text_rules_and_drawing_name_numbers_and_records(tmp_path):
    model = fitted(max_depth=2).model_
    number = model.leaf_predictions[0]
    assert f"{number:.0f} (about {model.records[0]} records)" in model.export_text()
    assert len(model.rules()) == 4
    model.plot(tmp_path / "tree.svg")
    assert "records" in (tmp_path / "tree.svg").read_text()
    with pytest.raises(ParameterError, match="no class votes"):
        model.votes(np.zeros((3, 1), np.uint8))


def test_features_matter_by_how_much_their_splits_lower_the_error():
    size, age, place = fitted(epsilon=8.0).feature_importances_
    assert size + age + place == pytest.approx(1)
    assert age < 0.1 < min(size, place)


def test_the_report_shows_the_tree_and_the_predictions():
    page = render(fitted())
    assert "A leaf says which number it predicts" in page
    assert "size: prediction" in page
    assert "centres" in page


@pytest.mark.parametrize("settings", [{}, {"n_trees": 3}], ids=str)
def test_exports_predict_what_the_model_predicts(settings):
    X, _ = houses(300, seed=5)
    model = fitted(**settings)
    expected = model.predict(X)
    program = {}
    exec(to_python(model), program)
    records = X.astype(object).where(X.notna(), None).to_dict("records")
    assert [program["predict"](record) for record in records] == pytest.approx(expected, rel=1e-12)
    assert "predict" in to_javascript(model)
    with sqlite3.connect(":memory:") as database:
        X.to_sql("houses", database, index=False)
        statement = to_sql(model, "houses", keep=["size"])
        rows = database.execute(statement).fetchall()
    assert [row[1] for row in rows] == pytest.approx(expected, rel=1e-12)
    shap = to_shap(model)
    assert len(shap["trees"]) == model.model_.structure.n_trees


def test_onnx_predicts_what_the_model_predicts():
    runtime = pytest.importorskip("onnx.reference")
    X, _ = houses(200, seed=5)
    model = fitted()
    found = runtime.ReferenceEvaluator(to_onnx(model)).run(None, onnx_inputs(model, X))[0]
    assert found[:, 0] == pytest.approx(model.predict(X), rel=1e-12)


def test_scikit_learns_tree_predicts_and_prints_numbers():
    X, _ = houses(200, seed=5)
    model = fitted(max_depth=2)
    tree = to_sklearn_tree(model)
    assert tree.predict(codes_of(model, X)) == pytest.approx(model.predict(X), rel=1e-12)
    assert "value: [" in export_text(tree)


@pytest.mark.parametrize(
    "settings", [{"criterion": "gini"}, {"max_depth": 0}, {"grid": "even"}, {"n_trees": 0}], ids=str
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        PrivaTreeRegressor(schema=SCHEMA, **settings).plan()
