"""The multinomial forest: what it plans, how it deals and chooses, and what it learns with and without privacy."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Categorical, ConsistentForestClassifier, MultinomialForestClassifier, Numeric, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.errors import ModelFileError, NonPrivateWarning, ParameterError
from privet.estimators.files import file_content
from privet.estimators.learning import Hints
from privet.learners.multinomial_forest.consistent import multinomial_labels
from privet.learners.multinomial_forest.honest_plan import coin_weights, honest_budget, honest_depth
from privet.learners.multinomial_forest.private import MultinomialForest
from privet.learners.multinomial_forest.two_stages import NO_CANDIDATE, TwoStages
from privet.models.files import digest
from privet.parameters import public_rng
from privet.privacy.conversions import mixture_epsilon
from privet.privacy.events import Mixture
from privet.privacy.terms import Allowance, Share, Terms
from privet.trees.candidates import Candidates
from privet.trees.structure import FeatureCodes

SCHEMA = Schema(
    {"x": Numeric(0, 1), "z": Numeric(0, 1, missing=True), "c": Categorical(["a", "b", "c"])}, classes=[0, 1]
)
FEW = Schema({"x": Numeric(0, 1, bins=4), "c": Categorical(["a", "b", "c"]), "d": Categorical([0])}, classes=[0, 1])
ONE = Fraction(1)


def chequers(n, seed=0):
    """Return records whose class depends on two features at once, with a little noise."""
    rng = np.random.default_rng(seed)
    X = {"x": rng.random(n), "z": rng.random(n), "c": rng.choice(["a", "b", "c"], n)}
    y = ((X["x"] > 0.5) & (X["c"] != "b")).astype(int)
    return pd.DataFrame(X), np.where(rng.random(n) < 0.05, 1 - y, y)


def without_privacy(**parameters):
    X, y = chequers(1500)
    estimator = ConsistentForestClassifier(schema=SCHEMA, random_state=0, n_trees=30, **parameters)
    with pytest.warns(NonPrivateWarning):
        return estimator.fit(X, y)


# --------------------------------------------------------------------------------------------------- planning


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), ONE, Fraction(7), Fraction(1000)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), ONE, Fraction(20)])
def test_a_trees_two_parts_fill_its_budget_and_never_overfill_it(rate, epsilon):
    budget = honest_budget(Share(epsilon=epsilon), rate)
    spent = mixture_epsilon(budget.weights, (budget.structure.epsilon, budget.labels.epsilon))
    assert epsilon - Fraction(1, 10**38) < spent <= epsilon
    assert budget.structure.epsilon > epsilon > budget.labels.epsilon, "what labels save goes to the structure"


def test_under_zcdp_both_parts_get_all_of_rho():
    share = Share(rho=Fraction(1, 50))
    assert (honest_budget(share).structure, honest_budget(share).labels) == (share, share)


def test_coins_have_weights_that_coins_can_have():
    assert coin_weights(ONE) == (Fraction(1, 2), Fraction(1, 2))
    assert coin_weights(Fraction(1, 10**9)) == (Fraction(1, 2**16), 1 - Fraction(1, 2**16))
    assert all(2**16 % weight.denominator == 0 for weight in coin_weights(Fraction(1, 3)))


def test_depth_grows_with_what_can_be_paid_for_and_not_with_anything_private():
    depths = [honest_depth(Share(epsilon=Fraction(1, 10)), n) for n in (10, 1000, 10**5, 10**12)]
    assert depths == sorted(depths)
    assert (depths[0], depths[-1]) == (1, 12)
    share = Share(epsilon=ONE)
    assert honest_depth(share, 1000) == honest_depth(share, None)
    assert honest_depth(share, 4000, steps=4) == honest_depth(share, 1000)
    assert honest_depth(Share(rho=Fraction(1, 8)), 1000) == honest_depth(share, 1000)
    assert honest_depth(None, 1000) == honest_depth(share, 1000)


@pytest.mark.parametrize("composition", ["sequential", "disjoint"])
@pytest.mark.parametrize("stages", ["one", "two"])
def test_the_plan_is_a_mixture_for_every_tree_or_one_for_all_on_disjoint_records(composition, stages):
    learner = MultinomialForest(4, 2, stages=stages, composition=composition)
    plan = learner.plan(SCHEMA.encoding(255), Terms(), Share(epsilon=ONE), Hints())
    mixtures = 4 if composition == "sequential" else 1
    assert [type(part) for part in plan.whole.parts] == [Mixture] * mixtures
    assert len(list(plan.whole.events())) == mixtures * (1 + 2 * (1 if stages == "one" else 2))
    assert 1 - Fraction(1, 10**30) < plan.whole.cost.epsilon <= 1


def test_a_hint_decides_the_depth_and_disjoint_trees_have_fewer_records_each():
    def depth(**parameters):
        estimator = MultinomialForestClassifier(schema=SCHEMA, n_rows_hint=20_000, **parameters)
        return estimator.plan().plan.depth

    assert depth() > depth(n_trees=20) == depth(n_trees=20, composition="disjoint")
    assert depth(max_depth=2) == 2


def test_without_a_feature_to_split_there_are_labels_only():
    schema = Schema({"d": Categorical([0])}, classes=["no", "yes"])
    fitted = MultinomialForestClassifier(epsilon=5.0, schema=schema).fit(np.zeros((300, 1)), ["yes"] * 300)
    assert fitted.model_.structure.n_leaves == 1
    assert list(fitted.predict([[0]])) == ["yes"]
    assert fitted.privacy_.epsilon <= 5.0


# ------------------------------------------------------------------------------------------------- two stages


def stages():
    return TwoStages(Candidates.all_of(FeatureCodes.of(FEW.encoding()), public_rng(0)))


def test_two_stages_cover_every_candidate_once():
    two = stages()
    assert two.features.tolist() == [0, 1]  # three cuts of x, three divisions of c; d cannot be split
    numbers = [int(two.candidate(np.array([f]), np.array([v]))[0]) for f in range(2) for v in range(3)]
    assert sorted(numbers) == list(range(6)) == list(range(len(two.candidates)))
    for place, number in enumerate(numbers):
        assert two.candidates.split(number).feature == (0 if place < 3 else 1)


def test_the_first_stage_has_each_features_best_score_and_the_second_that_features_scores():
    two = stages()
    scores = np.array([[-5, -1, -7, -3, -2, -9], [0, -1, -2, -3, -4, -5]])
    np.testing.assert_array_equal(two.best_of_features(scores), [[-1, -2], [0, -3]])
    np.testing.assert_array_equal(two.of_chosen(scores, np.array([0, 1])), [[-5, -1, -7], [-3, -4, -5]])


def test_places_without_a_candidate_have_a_constant_score_and_mean_the_first():
    schema = Schema({"x": Numeric(0, 1, bins=4), "b": Categorical([0, 1])}, classes=[0, 1])
    two = TwoStages(Candidates.all_of(FeatureCodes.of(schema.encoding()), public_rng(0)))
    scores = np.array([[-5, -1, -7, -3]])
    np.testing.assert_array_equal(two.of_chosen(scores, np.array([1])), [[-3, NO_CANDIDATE, NO_CANDIDATE]])
    assert two.candidate(np.array([1, 1]), np.array([2, 0])).tolist() == [3, 3]


def test_by_chance_every_feature_is_as_likely_whatever_its_number_of_candidates():
    two = TwoStages(Candidates.all_of(FeatureCodes.of(SCHEMA.encoding(255)), public_rng(0)))
    drawn = two.by_chance(3000, public_rng(1))
    features = np.array([two.candidates.split(candidate).feature for candidate in drawn.tolist()])
    assert np.bincount(features).min() > 850


# ---------------------------------------------------------------------------------------------- with privacy


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"stages": "two"},
        {"criterion": "gini"},
        {"criterion": "errors"},
        {"n_trees": 4},
        {"n_trees": 4, "composition": "disjoint"},
        {"delta": 1e-6},
        {"partition_rate": 3.0},
        {"gamma": 0.2, "max_depth": 5},
    ],
    ids=str,
)
def test_with_a_budget_it_learns_what_depends_on_two_features(parameters):
    X, y = chequers(20_000)
    estimator = MultinomialForestClassifier(
        epsilon=2.0, schema=SCHEMA, random_state=0, **{"max_depth": 3, **parameters}
    ).fit(X, y)
    assert estimator.score(*chequers(3000, seed=1)) > 0.85
    assert estimator.privacy_.epsilon == 2.0


def test_with_gamma_one_no_split_looks_at_the_data():
    def features(labels):
        X, _ = chequers(2000)
        estimator = MultinomialForestClassifier(gamma=1.0, schema=SCHEMA, max_depth=4, random_state=5)
        splits = estimator.fit(X, labels(X)).model_.structure.splits
        return splits.feature.tolist(), splits.cut.tolist()

    assert features(lambda X: (X["x"] > 0.5).astype(int)) == features(lambda X: (X["c"] == "a").astype(int))


def test_labels_come_from_estimation_points_alone():
    X, _ = chequers(100)
    right = {}
    for rate in (0.001, 1000.0):
        estimator = MultinomialForestClassifier(epsilon=50.0, schema=SCHEMA, max_depth=1, partition_rate=rate)
        right[rate] = np.mean([estimator.fit(X, np.ones(100, int)).score(X, np.ones(100, int)) for _ in range(40)])
    assert right[0.001] == 1.0
    assert 0.3 < right[1000.0] < 0.8, "all records chose splits, so there was nobody left to label leaves"


def test_the_twin_without_privacy_repeats_and_lets_every_record_choose_and_label():
    X, y = chequers(2000)
    estimator = MultinomialForestClassifier(epsilon=None, schema=SCHEMA, random_state=0, n_trees=2)
    assert estimator.plan().plan.trees[0].mixture is None
    assert "share of structure points" not in estimator.plan().table()
    with pytest.warns(NonPrivateWarning):
        shares = [estimator.set_params(composition=c).fit(X, y).predict_proba(X) for c in ("sequential", "disjoint")]
    np.testing.assert_array_equal(*shares)
    assert estimator.score(*chequers(2000, seed=1)) > 0.9
    assert not estimator.privacy_.proven


def test_every_tree_is_dealt_with_the_mixture_that_was_planned():
    X, y = chequers(500)
    estimator = MultinomialForestClassifier(schema=SCHEMA, n_trees=2, max_depth=2, stages="two").fit(X, y)
    assert estimator.privacy_.composition == estimator.plan().plan.whole


# ------------------------------------------------------------------------------------------- without privacy


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"criterion": "entropy"},
        {"leaf_rule": "every_leaf"},
        {"variant": "breiman_se"},
        {"variant": "breiman_m"},
        {"max_depth": 4},
        {"label_rate": 50.0},
    ],
    ids=str,
)
def test_without_privacy_it_is_the_papers_forest(parameters):
    fitted = without_privacy(**parameters)
    assert fitted.score(*chequers(2000, seed=1)) > 0.85
    assert fitted.model_.structure.n_trees == 30
    assert not fitted.privacy_.proven


def test_random_state_seeds_everything_without_privacy():
    X, _ = chequers(200, seed=3)
    np.testing.assert_array_equal(without_privacy().predict_proba(X), without_privacy().predict_proba(X))


def test_labels_by_softmax_of_shares():
    counts = np.tile([[3, 1]], (20_000, 1))
    assert (multinomial_labels(counts, np.inf, public_rng(0)) == 0).all()
    drawn = multinomial_labels(counts, 2.0, public_rng(0))
    expected = np.exp(0.75) / (np.exp(0.75) + np.exp(0.25))
    assert (drawn == 0).mean() == pytest.approx(expected, abs=0.015)
    ties = multinomial_labels(np.tile([[0, 2, 2]], (20_000, 1)), np.inf, public_rng(0))
    assert np.bincount(ties)[0] == 0
    assert (ties == 1).mean() == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_trees": 0}, "n_trees"),
        ({"max_depth": 13}, "max_depth"),
        ({"partition_rate": 0}, "partition_rate"),
        ({"gamma": 1.5}, "gamma"),
        ({"stages": "three"}, "stages"),
        ({"composition": "parallel"}, "composition"),
        ({"criterion": "entropy"}, "criterion"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(parameters, message):
    with pytest.raises(ParameterError, match=message):
        MultinomialForestClassifier(schema=SCHEMA, **parameters).plan()


OLD = {"feature_rate": 10.0, "value_rate": 10.0, "label_rate": None, "min_leaf": 5, "leaf_rule": "algorithm"}
OLD |= {"variant": "multinomial", "stages": "one", "gamma": 0.0, "composition": "sequential"}


@pytest.mark.parametrize("private", [True, False])
def test_files_of_the_time_when_both_forests_were_one_class_are_read_as_what_they_are(private, tmp_path):
    X, y = chequers(300)
    fitted = MultinomialForestClassifier(schema=SCHEMA).fit(X, y) if private else without_privacy(max_depth=3)
    content = file_content(fitted)
    content["estimator"] = "MultinomialForestClassifier"
    automatic = {"n_trees": "auto"} if private else {}
    content["parameters"] = {**OLD, **content["parameters"], **automatic, "criterion": "auto"}
    for digested in (True, False):
        del content["digest"]
        content["digest"] = digest(content)
        (tmp_path / "model.json").write_text(json.dumps(content))
        if digested:
            again = privet.load(tmp_path / "model.json")
            assert type(again) is type(fitted)
            assert again.get_params() == fitted.get_params() | {"schema": SCHEMA}
            np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
            content["parameters"]["unheard_of"] = 1
        else:
            with pytest.raises(ModelFileError, match="unheard_of"):
                privet.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 1.0}, "no private form"),
        ({"n_trees": 0}, "n_trees"),
        ({"partition_rate": 0}, "partition_rate"),
        ({"criterion": "mix"}, "criterion"),
        ({"variant": "bagging"}, "variant"),
        ({"leaf_rule": "none"}, "leaf_rule"),
        ({"feature_rate": -1.0}, "feature_rate"),
        ({"min_leaf": 0}, "min_leaf"),
    ],
    ids=str,
)
def test_parameters_of_the_consistent_forest_are_refused_by_name(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ConsistentForestClassifier(schema=SCHEMA, **parameters).plan()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_leaves_with_counts_give_probabilities_at_the_same_cost(delta):
    rng = np.random.default_rng(0)
    schema = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
    X = rng.random((5_000, 1))
    y = np.where(rng.random(5_000) < 0.2 + 0.6 * (X[:, 0] > 0.5), "yes", "no")
    settings = {"epsilon": 2.0, "delta": delta, "schema": schema, "max_depth": 1, "n_rows_hint": 5_000}
    labels, counts = (MultinomialForestClassifier(leaves=said, **settings).fit(X, y) for said in ("labels", "counts"))
    assert set(np.unique(labels.predict_proba(X))) == {0.0, 1.0}
    assert counts.predict_proba([[0.1], [0.9]])[:, 1] == pytest.approx([0.2, 0.8], abs=0.06)
    assert counts.privacy_.cost.epsilon == labels.privacy_.cost.epsilon
    assert counts.privacy_.epsilon == counts.plan().epsilon == 2.0


def test_the_exact_loss_of_counts_in_leaves_is_within_the_claim():
    schema = Schema({"a": Categorical([0, 1])}, classes=[0, 1])
    found = exact_audit(Subject(MultinomialForest(1, 1, leaves="counts"), schema, Allowance.of(1.0)), 2)
    assert not found.refuted
    assert found.loss > 0.3
