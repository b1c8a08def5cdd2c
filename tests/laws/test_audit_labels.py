"""The audit where only labels are private: learners that use what is public, and flaws that are planted there."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privet
from privet import Categorical, Numeric, Schema
from privet.audit.canaries import canaries
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.audit.ledger_audit import ledger_audit
from privet.audit.replay_loss import loss_along_a_run
from privet.estimators.learning import Hints
from privet.learners.boosting import label_growth
from privet.learners.boosting.estimators import BoostingUnderAnyRelation
from privet.learners.boosting.gradients import ONE, SCORE_STATE, Huber
from privet.learners.boosting.label_base import ComponentTargets
from privet.learners.boosting.label_components import CAPS, Components
from privet.learners.boosting.label_growth import RESIDUAL_WIDTH, LabelOutline
from privet.learners.boosting.label_losses import for_labels
from privet.learners.boosting.learner import Boosting, loss_of
from privet.learners.privatree.tree import PrivaTree
from privet.learners.random_decision_forest.forest import RandomDecisionForest
from privet.privacy.events import Mechanism
from privet.privacy.terms import Allowance, Share, Terms
from privet.tables import MemoryTable
from privet.tables.features import FeatureView
from privet.tables.protocol import Block
from privet.trees.label_leaves import LabelledLeaves, sums_of
from tests.laws.planted import OneQuestion, Planted
from tests.laws.test_audit_boosting import force_noise

pytestmark = pytest.mark.law

TWO = {"a": Categorical([0, 1]), "b": Categorical([0, 1])}


def subject(learner, delta=0.0, target=None, features=TWO, hints=None):
    schema = Schema(features, target or Categorical([0, 1]), neighbours="label")
    return Subject(learner, schema, Allowance.of(2.0, delta), hints=hints or Hints())


@dataclass(frozen=True)
class PeekingCounts:
    """A kernel that looks for labels wherever it could find them."""

    def __call__(self, block):
        found = sum(np.asarray(values, np.int64).sum() for values in block.state.values())
        return np.array([found + block.target.sum(), block.target.size], np.int64)


@dataclass(frozen=True)
class Copied:
    def __call__(self, block):
        return block.target


@dataclass(frozen=True)
class Free(Planted):
    """Release a feature-only count for free; if `forged`, through a view that claims that a label is no label."""

    forged: bool = False

    def plan(self, encoding, terms, share, hints):
        return OneQuestion(terms.free("counts"))

    def grow(self, table, release, rng, plan):
        table = table.derive("copy", Copied())
        view = FeatureView(table, frozenset({"copy"})) if self.forged else FeatureView.of(table)
        return release.features(view, PeekingCounts(), plan.question)


def test_a_free_release_that_sees_labels_is_refuted_and_one_that_does_not_is_not():
    assert exact_audit(subject(Free()), 2).loss == 0
    assert exact_audit(subject(Free(forged=True)), 2).loss == np.inf


def test_following_one_run_refutes_it_too():
    data, neighbour = ((0, 0, 0), (1, 0, 1)), ((0, 0, 0), (1, 0, 0))
    assert loss_along_a_run(subject(Free()), data, neighbour, 0)[0] == 0
    loss, where = loss_along_a_run(subject(Free(forged=True)), data, neighbour, 0)
    assert loss == np.inf
    assert "counts" in where


def test_leaving_out_records_without_a_label_would_be_refuted(monkeypatch):
    """Which records have a label is private, so a view of those that have one must not be free."""
    whole = MemoryTable.__init__

    def dropping(self, *args, unlabelled=False, **more):
        whole(self, *args, **more)

    monkeypatch.setattr(MemoryTable, "__init__", dropping)
    assert exact_audit(subject(Free()), 2).loss == np.inf


BASE_ALONE, ROUNDS = LabelOutline(Fraction(1), 0, 0), LabelOutline(Fraction(1, 3), 2, 1)


@pytest.mark.parametrize("outline", [BASE_ALONE, ROUNDS], ids=["base", "rounds"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@pytest.mark.parametrize(
    ("target", "floor"), [(Categorical([0, 1]), 0.5), (Categorical([0, 1, 2]), 0.3), (Numeric(0, 1), 0.3)]
)
def test_boosting_stays_within_its_claim(target, floor, factor, delta, outline, monkeypatch):
    monkeypatch.setattr(label_growth, "label_outline", lambda *_: outline)
    force_noise(monkeypatch, factor)
    found = exact_audit(subject(BoostingUnderAnyRelation(2, 1), delta, target), 2)
    assert not found.refuted
    assert found.loss > floor * found.claimed  # else noise would be wasted


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_numeric_features_and_missing_values_stay_within_the_claim(delta, monkeypatch):
    monkeypatch.setattr(label_growth, "label_outline", lambda *_: ROUNDS)
    features = {"x": Numeric(0, 1, bins=3, missing=True)}
    found = exact_audit(subject(BoostingUnderAnyRelation(1, 1), delta, features=features), 2)
    assert not found.refuted
    assert found.loss > 0.3 * found.claimed


FOREST = RandomDecisionForest(2, 2)


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)], ids=["two", "three"])
@pytest.mark.parametrize(
    ("learner", "delta", "lost"),
    [
        (FOREST, 0.0, 1.0),
        (FOREST, 1e-6, 1.0),
        (replace(FOREST, vote_weights="private"), 0.0, 0.9),
        (PrivaTree(1), 0.0, 0.4),
        (PrivaTree(1), 1e-6, 0.2),
    ],
    ids=["forest", "forest, delta", "weights", "tree", "tree, delta"],
)
def test_forests_and_trees_stay_within_their_claim_and_spend_it(learner, delta, lost, classes):
    found = exact_audit(subject(learner, delta, Categorical(classes)), 2)
    assert not found.refuted
    assert found.loss >= lost * found.claimed * (1 - 1e-6)


def test_two_trees_stay_within_their_claim():
    assert not exact_audit(subject(PrivaTree(1, n_trees=2)), 2).refuted


def test_a_forest_of_two_classes_has_half_the_variance_of_one_that_knows_no_features():
    """One signed sum of scale 2 T / epsilon, in place of two counts of that scale each."""
    schema = Schema(TWO, Categorical([0, 1]), neighbours="label")
    shares = schema.encoding(2), Terms.of(schema), Share(epsilon=Fraction(1)), Hints(100)
    public, private = FOREST.plan(*shares).leaves, replace(FOREST, empty="random").plan(*shares).leaves
    assert public.parameter == private.parameter  # of c1 - c0 here, of c1 and c0 there


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-200, 200)), min_size=4, max_size=4), st.floats(0, 100))
def test_counts_of_labelled_leaves_add_up_to_their_exact_totals_and_none_is_negative(leaves, deviation):
    totals, sums = (np.array(column, np.int64) for column in zip(*leaves, strict=True))
    for made in (
        LabelledLeaves(totals, sums[:, np.newaxis], deviation, 2),
        LabelledLeaves(totals, np.stack([sums, sums // 2, -sums], axis=1), deviation, 3),
    ):
        counts = made.smoothed_counts(2)
        assert (counts >= 0).all()
        assert (np.abs(counts.sum(axis=1) - totals) <= made.n_classes - 2).all()


def test_without_noise_labelled_leaves_are_the_exact_counts():
    counts = np.array([[3, 1], [0, 0], [5, 5], [0, 7]], np.int64)
    leaves = LabelledLeaves(counts.sum(axis=1), sums_of(counts), 0.0, 2)
    np.testing.assert_array_equal(leaves.smoothed_counts(1), counts)


def blocks(score, levels):
    for own, target in product(score, levels):
        yield Block(
            np.zeros((1, 1), np.uint8), np.array([target], np.int32), np.zeros(1, np.uint64), {SCORE_STATE: own}
        )


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(
    "target", [Categorical([0, 1]), Categorical([0, 1, 2]), Categorical(list(range(7))), Numeric(0, 1)], ids=str
)
def test_no_label_moves_a_gradient_by_more_than_is_stated_and_some_does(norm, target):
    encoding = Schema(TWO, target, neighbours="label").encoding()
    of_records = loss_of(encoding, norm)
    if isinstance(of_records, Huber):
        of_records = replace(of_records, width=RESIDUAL_WIDTH)
    loss = for_labels(of_records)
    levels = [-1, *(range(encoding.n_classes) if encoding.n_classes else (0, encoding.target.levels - 1))]
    rng, most, widest = np.random.default_rng(0), 0, 0
    for _ in range(50):
        score = [rng.integers(-(2**20), 2**20, (1, loss.n_scores)).astype(np.int64) >> int(rng.integers(8))]
        gradients = [loss(block).astype(np.int64)[0] for block in blocks(score, levels)]
        for a, b in product(gradients, gradients):
            moved = np.abs(a - b)
            most = max(most, int(moved.sum() if norm == "l1" else (moved**2).sum()))
            widest = max(widest, int(moved.sum()))
    stated = 2 * loss.bound * ONE if norm == "l1" else 4 * loss.bound * ONE**2
    assert 0.99 * stated <= most <= stated
    assert widest <= loss.score_range * ONE  # either way, so that the range is twice that; a changed label is two steps


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("target", ["two", "many"])
def test_no_label_moves_the_sums_of_a_base_by_more_than_is_stated(norm, target):
    rng, cap = np.random.default_rng(1), CAPS[norm]
    most = 0
    for _ in range(40):
        large = 3000 if norm == "l1" else 400
        table = rng.integers(-large, large, (5, int(rng.integers(1, 9)))).astype(np.int64)
        of = Components(np.array([0, 2, 4]), table, 1.0, norm, np.ones(table.shape[1]))
        kernel = ComponentTargets(of, target, 3 if target == "many" else 1)
        cells = {"cell": rng.integers(0, 2, (1, 2)).astype(np.uint8)}
        sums = [
            kernel(Block(np.zeros((2, 1), np.uint8), np.array([y], np.int32), np.zeros(1, np.uint64), cells))
            for y in range(-1, 3 if target == "many" else 2)
        ]
        for a, b in product(sums, sums):
            moved = np.abs(a - b)
            most = max(most, int(moved.sum() if norm == "l1" else (moved**2).sum()))
    steps = 2 if norm == "l1" else (4 if target == "two" else 2)
    stated = steps * cap * (64 if norm == "l1" else 64**2)
    assert 0.9 * stated <= most <= stated


def test_other_relations_and_units_are_planned_as_before():
    encoding, share = Schema(TWO, Categorical([0, 1])).encoding(), Share(epsilon=Fraction(1))
    for terms in (Terms(), Terms("replace"), Terms("label", 2, "person")):
        plans = [
            learner.plan(encoding, terms, share, Hints(100)) for learner in (Boosting(), BoostingUnderAnyRelation())
        ]
        assert plans[0] == plans[1]
    assert replace(Terms("label"), unit_column=None).features_are_public


PEOPLE = Schema(
    {"age": Numeric(0, 100, missing=True), "colour": Categorical(["red", "green", "blue"], other=True)},
    classes=["no", "yes"],
    neighbours="label",
)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", ["Boosting", "RandomDecisionForest", "PrivaTree", "DisjointForest", "MatrixForest"])
def test_models_are_functions_of_what_was_released_and_free_releases_are_the_same_for_neighbours(name, delta):
    estimator = getattr(privet, f"{name}Classifier")(1.0, delta, PEOPLE, n_rows_hint=60, random_state=0)
    for found in ledger_audit(estimator, canaries(PEOPLE)[:2]):
        assert not found.refuted, found


@pytest.mark.parametrize("name", ["Boosting", "RandomDecisionForest", "PrivaTree"])
def test_free_releases_stand_in_plan_and_ledger_and_labels_may_be_missing(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 100, 500), "colour": rng.choice(["red", "green", "blue"], 500)})
    y = np.where(X["age"] > 50, "yes", "no").astype(object)
    y[::7] = None
    estimator = getattr(privet, f"{name}Classifier")(5.0, 0.0, PEOPLE, n_rows_hint=500, random_state=0)
    planned, fitted = estimator.plan(), estimator.fit(X, y)
    free = [event for event in fitted.privacy_.events if event.mechanism is Mechanism.FEATURES_ONLY]
    assert [event for event in planned.events if event.mechanism is Mechanism.FEATURES_ONLY] == free != []
    assert fitted.privacy_.epsilon == planned.epsilon == 5.0
    known = y != None  # noqa: E711  # elementwise
    assert (fitted.predict(X)[known] == y[known]).mean() > 0.85
