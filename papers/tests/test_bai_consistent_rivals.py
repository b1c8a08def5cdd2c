"""The consistent rivals: they learn, they refuse a budget, and their trees are what the papers say."""

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Numeric, Schema
from privet.errors import NonPrivateWarning, ParameterError
from privet_papers.bai_2021.comprf import CompRFClassifier, coordinates
from privet_papers.bai_2021.consistent_rivals import BernoulliForestClassifier, Denil14Classifier
from privet_papers.bai_2021.pivots import compare_pivots, nearer_to_second

SCHEMA = Schema(
    {"x": Numeric(0, 1, missing=True), "y": Numeric(-1, 1), "colour": Categorical(["red", "green", "blue"])},
    classes=["no", "yes"],
)
RIVALS = {
    "Denil14": (Denil14Classifier, {}),
    "BRF": (BernoulliForestClassifier, {}),
    "CompRF-C": (CompRFClassifier, {"variant": "consistent"}),
    "CompRF-I": (CompRFClassifier, {"variant": "inconsistent"}),
}
every_rival = pytest.mark.parametrize(("kind", "parameters"), RIVALS.values(), ids=RIVALS)


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "x": np.where(rng.random(n) < 0.05, np.nan, rng.random(n)),
        "y": rng.uniform(-1, 1, n),
        "colour": rng.choice(["red", "green", "blue"], n),
    }
    labels = np.where((columns["y"] > 0) & (columns["colour"] != "blue"), "yes", "no")
    return pd.DataFrame(columns), labels


def fitted(kind, parameters, X, y, **changes):
    model = kind(schema=SCHEMA, **{"n_trees": 30, "random_state": 1, **parameters, **changes})
    with pytest.warns(NonPrivateWarning):
        return model.fit(X, y)


@every_rival
def test_a_rival_learns_what_is_there_and_claims_nothing(kind, parameters):
    X, y = people()
    model = fitted(kind, parameters, X, y)
    others, truth = people(seed=1)
    assert model.score(others, truth) > 0.85
    shares = model.predict_proba(others)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.privacy_.epsilon == np.inf


@every_rival
def test_a_rival_refuses_a_budget(kind, parameters):
    with pytest.raises(ParameterError, match="epsilon=None"):
        kind(epsilon=1.0, schema=SCHEMA, **parameters).plan()


@every_rival
def test_a_rival_is_the_same_again_with_the_same_seed(kind, parameters):
    X, y = people()
    first, again = (fitted(kind, parameters, X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (fitted(kind, parameters, X, y, random_state=2).predict_proba(X) != first).any()


@pytest.mark.parametrize("kind", [Denil14Classifier, BernoulliForestClassifier])
def test_no_leaf_has_fewer_than_k_estimation_points(kind):
    X, y = people()
    small, large = (fitted(kind, {}, X, y, min_leaf=k).model_.structure for k in (2, 40))
    assert large.leaves_per_tree.max() <= 200 // 40
    assert small.leaves_per_tree.mean() > large.leaves_per_tree.mean()


def test_pivots_of_the_inconsistent_variant_are_of_different_classes():
    X, y = people()
    model = fitted(CompRFClassifier, {"variant": "inconsistent"}, X, y).model_
    for tree in model.trees:
        inner = tree.first_pivot >= 0
        assert inner.any()
        assert (y[tree.first_pivot[inner]] != y[tree.second_pivot[inner]]).all()
        assert tree.counts.sum() == len(y)


def test_the_consistent_variant_labels_leaves_by_the_other_half():
    X, y = people()
    model = fitted(CompRFClassifier, {"variant": "consistent"}, X, y).model_
    pivots = [np.concatenate([tree.first_pivot, tree.second_pivot]) for tree in model.trees]
    assert all(tree.counts.sum() == len(y) // 2 for tree in model.trees)
    assert any((y[tree.first_pivot] == y[tree.second_pivot])[tree.first_pivot >= 0].any() for tree in model.trees)
    assert len(set(np.concatenate(pivots).tolist())) > 100


def test_a_record_goes_to_the_nearer_pivot():
    rng = np.random.default_rng(0)
    points = np.hstack([rng.random((60, 2)), rng.integers(0, 3, (60, 2))]).astype(np.float32)
    for x, first, second in points.reshape(20, 3, 4):
        distances = [((x[:2] - pivot[:2]) ** 2).sum() + (x[2:] != pivot[2:]).sum() for pivot in (first, second)]
        pivots = compare_pivots(first, second, 2, np.empty(4, np.int32))
        assert nearer_to_second(x, pivots) == (distances[0] > distances[1])


@pytest.mark.parametrize("n_numeric", [0, 3, 6])
def test_pivots_are_compared_in_all_coordinates_in_which_they_differ_and_in_no_other(n_numeric):
    first, second = np.array([[1, 2, 3, 4, 5, 6], [1, 0, 3, 0, 0, 6]], dtype=np.float32)
    pivots = compare_pivots(first, second, n_numeric, np.empty(6, np.int32))
    assert pivots.numbers.tolist() == [j for j in (1, 3, 4) if j < n_numeric]
    assert pivots.categories.tolist() == [j for j in (1, 3, 4) if j >= n_numeric]


@pytest.mark.parametrize("variant", ["consistent", "inconsistent"])
def test_every_vote_is_that_of_the_leaf_to_which_comparisons_lead(variant):
    X, y = people()
    model = fitted(CompRFClassifier, {"variant": variant}, X, y).model_
    others = people(seed=1)[0]
    codes = model.encoding.encode(others)
    x, n_numeric = coordinates(model.encoding, codes, "scaled")
    expected = np.zeros((len(x), 2))
    for tree, labels in zip(model.trees, model.labels, strict=True):
        for row, point in enumerate(x):
            node = 0
            while tree.first_pivot[node] >= 0:
                pivots = model.points[[tree.first_pivot[node], tree.second_pivot[node]]]
                apart = (point[:n_numeric] - pivots[:, :n_numeric]) ** 2
                distances = apart.sum(axis=1) + (point[n_numeric:] != pivots[:, n_numeric:]).sum(axis=1)
                node = tree.first_child[node] + int(distances[0] > distances[1])
            expected[row, labels[node]] += 1 / len(model.trees)
    # single precision may put a record that is as near to one pivot as to the other on either side
    assert (np.abs(model.votes(codes) - expected).max(axis=1) < 1e-9).mean() > 0.97


def test_coordinates_are_cell_middles_from_zero_to_one_with_missing_in_the_middle():
    schema = Schema({"c": Categorical(["a", "b"]), "x": Numeric(0, 4, bins=4, missing=True)}, classes=[0, 1])
    encoding = schema.encoding()
    points, n_numeric = coordinates(encoding, np.array([[0, 1, 1, 0], [0, 1, 3, 4]], dtype=np.uint8), "scaled")
    assert n_numeric == 1
    np.testing.assert_allclose(points[:, 0], [0, 1 / 3, 1, 0.5], rtol=1e-6)
    assert points[:, 1].tolist() == [0, 1, 1, 0]


def test_raw_coordinates_are_values_as_they_are_and_numbered_categories():
    schema = Schema({"c": Categorical(["a", "b"]), "x": Numeric(0, 4, bins=4)}, classes=[0, 1])
    points, n_numeric = coordinates(schema.encoding(), np.array([[0, 1], [0, 3]], dtype=np.uint8), "raw")
    assert n_numeric == 2
    assert points.tolist() == [[0.5, 0.0], [3.5, 1.0]]


def test_without_halves_every_record_labels_a_leaf():
    X, y = people()
    counts = {
        halves: sum(int(tree.counts.sum()) for tree in fitted(CompRFClassifier, {"halves": halves}, X, y).model_.trees)
        for halves in (True, False)
    }
    assert counts[False] == len(y) * (counts[False] // len(y))
    assert counts[True] * 2 == pytest.approx(counts[False], rel=0.02)


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        (BernoulliForestClassifier, {"p_value": 2.0}, "p_value"),
        (Denil14Classifier, {"n_points": 0}, "n_points"),
        (Denil14Classifier, {"n_features": 0}, "n_features"),
        (CompRFClassifier, {"variant": "other"}, "variant"),
        (CompRFClassifier, {"distance": "other"}, "distance"),
        (CompRFClassifier, {"min_leaf": 0}, "min_leaf"),
    ],
)
def test_parameters_out_of_range_are_named(kind, wrong, words):
    with pytest.raises(ParameterError, match=words):
        kind(schema=SCHEMA, **wrong).plan()
