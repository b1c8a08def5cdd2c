"""Laws of exports: what another tool answers is what the model answers."""

import warnings

import numpy as np
import pytest

from privet import Categorical, Numeric, PrivaTreeClassifier, RandomDecisionForestClassifier, Schema
from privet.datasets import load_adult
from privet.errors import ParameterError
from privet.exports import codes_of, onnx_inputs, to_onnx, to_shap, to_sklearn_tree
from privet.exports.onnx_file import scoring_to_onnx
from privet.exports.scoring import scoring_of_model
from privet.exports.thresholds import average_votes, threshold_trees
from privet.models.forest import Forest, LeafCounts, LeafLabels
from privet.trees.complete_trees import CompleteTrees
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes
from tests.unit.forests import grown, random_codes, small_encoding

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.fixture(scope="module")
def tree(adult):
    """One greedy tree on Adult: thresholds and sets of categories."""
    return PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, max_depth=4, random_state=0).fit(*adult.train)


@pytest.fixture(scope="module")
def forest(adult):
    """A random forest on Adult that averages shares."""
    settings = {"n_trees": 16, "max_depth": 6, "random_state": 0}
    return RandomDecisionForestClassifier(epsilon=1.0, schema=adult.schema, **settings).fit(*adult.train)


def run_onnx(estimator, X):
    session = onnxruntime.InferenceSession(to_onnx(estimator), providers=["CPUExecutionProvider"])
    return session.run(["probabilities", "label"], onnx_inputs(estimator, X))


def shap_explainer(*arguments, **options):
    with warnings.catch_warnings():  # of other people's deprecations
        warnings.simplefilter("ignore")
        shap = pytest.importorskip("shap")
        return shap.TreeExplainer(*arguments, **options)


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_onnx_agrees_with_predict_proba_on_adult(name, adult, request):
    estimator = request.getfixturevalue(name)
    X = adult.test[0]
    shares, labels = run_onnx(estimator, X)
    np.testing.assert_allclose(shares, estimator.predict_proba(X), atol=1e-12, rtol=0)
    assert (labels == estimator.predict(X)).all()


def test_onnx_carries_the_certificate(tree):
    import json

    import onnx

    facts = {entry.key: entry.value for entry in onnx.load_from_string(to_onnx(tree)).metadata_props}
    guarantee = json.loads(facts["privet.certificate"])["guarantee"]
    assert guarantee == "epsilon = 1 for adding or removing one record, for what reached this estimator"
    assert len(facts["privet.digest"]) == 64


def test_onnx_maps_values_that_break_the_schema_as_the_schema_says():
    schema = Schema(
        {
            "number": Numeric(0, 10, missing=True),
            "plain": Numeric(0, 10),
            "colour": Categorical(["red", "green"], other=True, missing=True),
            "grade": Categorical([1, 2.5, 4]),
            "flag": Categorical([False, True], missing=True),
        },
        classes=[3, 1, 2],
    )
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "number": rng.choice([-5.0, 0.0, 3.3, 10.0, 99.0, np.nan, np.inf, -np.inf], 500),
            "plain": rng.choice([2.0, 7.0, np.nan], 500),
            "colour": rng.choice(np.array(["red", "green", "mauve", None], dtype=object), 500),
            "grade": rng.choice([1.0, 2.5, 4.0, 7.0, np.nan], 500),
            "flag": rng.choice([0.0, 1.0, np.nan, 5.0], 500),
        }
    )
    labels = rng.choice([1, 2, 3], 500)
    model = RandomDecisionForestClassifier(epsilon=5.0, schema=schema, n_trees=8, max_depth=5, random_state=1)
    model.fit(frame, labels)
    shares, answers = run_onnx(model, frame)
    np.testing.assert_allclose(shares, model.predict_proba(frame), atol=1e-12)
    assert (answers == model.predict(frame)).all()


def random_forests():
    """Forests with every kind of node, leaf and vote."""
    encoding = small_encoding()
    domains, rng = FeatureCodes.of(encoding), np.random.default_rng(5)
    complete = RandomTrees(domains, 7, 4, 4).materialise()
    assert isinstance(complete, CompleteTrees)
    for structure in (complete, grown(domains, 5, 4, 3), RandomTrees(domains, 8, 3, 4, "multiway_2", 64)):
        counts = rng.integers(-3, 9, (structure.n_leaves, 3))
        labels = rng.integers(0, 4, structure.n_leaves).astype(np.uint16)
        yield Forest(encoding, structure, LeafCounts(counts), "threshold")
        yield Forest(encoding, structure, LeafCounts(counts), "majority")
        yield Forest(encoding, structure, LeafLabels(labels, abstain=3), "majority")


FORESTS = list(random_forests())


def described(forest):
    return f"{type(forest.structure).__name__}-{type(forest.leaves).__name__}-{forest.voting}"


def values_of(encoding, codes):
    """Return values that have these codes, as ONNX takes them."""
    inputs = {}
    for column, row in zip(encoding.columns, codes, strict=True):
        if column.ordered:
            cells = [*column.cuts, (column.cuts or (0.0,))[-1] + 1]
            values = [np.nan if code == column.missing_code else cells[code] for code in row]
        else:
            strings = isinstance(column.categories[0], str)
            names = [*column.categories, *["odd" if strings else 9.0] * (column.other_code is not None)]
            values = ["" if code == column.missing_code else names[code] for code in row]
        kind = object if isinstance(values[0], str) else np.float64
        inputs[column.name] = np.array(values, dtype=kind).reshape(-1, 1)
    return inputs


@pytest.mark.parametrize("forest", FORESTS, ids=described)
def test_onnx_agrees_for_every_kind_of_node_leaf_and_vote(forest):
    codes = random_codes(forest.encoding, 400, 2)
    session = onnxruntime.InferenceSession(
        scoring_to_onnx(scoring_of_model(forest), {}), providers=["CPUExecutionProvider"]
    )
    (shares,) = session.run(["probabilities"], values_of(forest.encoding, codes))
    np.testing.assert_allclose(shares, forest.votes(codes), atol=1e-12)


@pytest.mark.parametrize("forest", FORESTS[::3], ids=described)
def test_trees_that_are_written_down_route_alike(forest):
    codes = random_codes(forest.encoding, 400, 3)
    expected = forest.structure.route(codes)
    np.testing.assert_array_equal(forest.structure.explicit().route(codes), expected)
    for tree, leaves in zip(threshold_trees(forest), expected, strict=True):
        for row, leaf in zip(codes.T, leaves, strict=True):
            node = 0
            while tree.leaf[node] < 0:
                goes_left = row[tree.feature[node]] <= tree.threshold[node]
                node = tree.left[node] if goes_left else tree.right[node]
            assert tree.leaf[node] == leaf
        shares = [tree.volume[node] for node, leaf in enumerate(tree.leaf) if leaf >= 0]
        assert sum(shares) == pytest.approx(1)


def test_shap_adds_up_to_predict_proba_on_adult(tree, adult):
    X = adult.test[0]
    codes, expected = codes_of(tree, X), tree.predict_proba(X)
    explainer = shap_explainer(to_shap(tree))
    np.testing.assert_allclose(explainer.model.predict(codes), expected, atol=1e-6, rtol=0)
    values = explainer.shap_values(codes[:200])
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, expected[:200], atol=1e-6, rtol=0)


def test_shap_agrees_with_a_background_of_public_records(adult):
    X = adult.test[0]
    forest = RandomDecisionForestClassifier(epsilon=1.0, schema=adult.schema, n_trees=4, max_depth=3, random_state=0)
    forest.fit(*adult.train)
    codes, expected = codes_of(forest, X), forest.predict_proba(X)
    explainer = shap_explainer(to_shap(forest), data=codes[:50])
    values = explainer.shap_values(codes[:100])
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, expected[:100], atol=1e-6, rtol=0)


def test_a_forest_that_thresholds_cannot_say_is_refused(forest, monkeypatch):
    monkeypatch.setattr("privet.exports.thresholds.MOST_NODES", 10_000)
    with pytest.raises(ParameterError, match="more than 10,000 nodes"):
        to_shap(forest)
    with pytest.raises(ParameterError, match="some leaves abstain"):
        average_votes(FORESTS[2])


def test_scikit_learn_plots_and_predicts_a_released_tree(tree, adult):
    from sklearn.tree import export_text, plot_tree

    X = adult.test[0]
    twin = to_sklearn_tree(tree)
    np.testing.assert_allclose(twin.predict_proba(codes_of(tree, X)), tree.predict_proba(X), atol=1e-12)
    assert (twin.predict(codes_of(tree, X)) == tree.predict(X)).all()
    names = list(adult.schema.features)
    assert "class: <=50K" in export_text(twin, feature_names=names, max_depth=20)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    assert plot_tree(twin, feature_names=names, ax=axes, max_depth=2)
    pyplot.close(figure)


def test_a_model_without_trees_is_refused_with_the_reason():
    class NoForest:
        model_ = "something else"

    with pytest.raises(ParameterError, match="holds no forest"):
        to_shap(NoForest())
