"""Random decision forests: parameters, noise, voting, and what follows from public facts."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema
from privet.errors import NonPrivateWarning, ParameterError
from privet.learners.random_decision_forest.shape import ForestShape, forest_shape
from privet.privacy.events import Mechanism
from privet.privacy.terms import Share
from privet.testing import seeded_noise

SCHEMA = Schema(
    {"x": Numeric(0, 1), "flag": Categorical([False, True]), "kind": Categorical(["a", "b", "c"])},
    classes=["left", "middle", "right"],
)


def records(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    X = pd.DataFrame({"x": x, "flag": x > 0.5, "kind": rng.choice(["a", "b", "c"], n)})
    return X, np.array(["left", "middle", "right"])[np.minimum((3 * x).astype(int), 2)]


def make(epsilon=1.0, **parameters):
    return RandomDecisionForestClassifier(epsilon, schema=SCHEMA, **{"random_state": 0, **parameters})


def only_event(ledger):
    (event,) = ledger.events
    return event


@pytest.mark.parametrize("voting", ["threshold", "majority", "probabilistic"])
@pytest.mark.parametrize("composition", ["sequential", "disjoint"])
def test_every_voting_rule_learns_three_classes(voting, composition):
    X, y = records()
    forest = make(5.0, voting=voting, composition=composition, n_trees=16, max_depth=6).fit(X, y)
    # Guessing is right for a third. Random trees seldom cut out the middle, so that a majority of them rarely votes for
    # it; and a drawn class is right only as often as its share says.
    assert forest.score(X, y) > {"threshold": 0.8, "majority": 0.6, "probabilistic": 0.5}[voting]


def test_noise_has_scale_k_over_epsilon():
    assert only_event(make(0.5, n_trees=7, n_rows_hint="unknown").plan()).parameter == pytest.approx(Fraction(14))
    assert only_event(make(0.5, n_trees=7, max_depth=3, composition="disjoint").plan()).parameter == pytest.approx(
        Fraction(2)
    )
    label = only_event(make(0.5, n_trees=7, max_depth=3, leaves="labels", voting="majority").plan())
    assert label.mechanism is Mechanism.PERMUTE_AND_FLIP
    assert float(label.parameter) == pytest.approx(1 / 14)
    assert label.cost.epsilon == Fraction(1, 2)


def test_noisy_counts_have_the_planned_spread():
    X, y = records(200)
    forest = make(0.5, n_trees=20, max_depth=9).fit(X, y)
    with pytest.warns(NonPrivateWarning):
        exact = make(None, n_trees=20, max_depth=9).fit(X, y)
    noise = (forest.model_.leaves.counts - exact.model_.leaves.counts).ravel()
    assert noise.std() == pytest.approx(np.sqrt(2) * 40, rel=0.05)
    assert abs(noise.mean()) < 2


@pytest.mark.parametrize(
    ("leaves", "last_pure"),
    [("counts", 10), ("labels", 5)],  # 10.3 and 5.1 at epsilon 1, delta 1e-6
)
def test_delta_is_used_only_where_it_lowers_the_noise(leaves, last_pure):
    parameters = {"delta": 1e-6, "leaves": leaves, "voting": "majority", "max_depth": 3}
    few, many = (make(1.0, n_trees=n, **parameters).plan() for n in (last_pure, last_pure + 1))
    assert (few.epsilon, few.delta) == (1.0, 0.0)
    assert (many.epsilon, many.delta) == (1.0, 1e-6)
    assert only_event(few).mechanism in (Mechanism.LAPLACE, Mechanism.PERMUTE_AND_FLIP)
    assert only_event(many).mechanism in (Mechanism.GAUSSIAN, Mechanism.EXPONENTIAL)
    fitted = make(1.0, n_trees=last_pure, **parameters).fit(*records(100)).privacy_
    assert (fitted.epsilon, fitted.delta) == (1.0, 0.0)


def test_disjoint_trees_never_gain_from_delta():
    plan = make(1.0, delta=1e-6, n_trees=500, composition="disjoint").plan()
    assert (plan.epsilon, plan.delta) == (1.0, 0.0)


def test_auto_is_decided_by_hint_and_budget_and_never_by_the_data():
    sizes = set()
    for n in (10, 5000):
        X, y = records(n)
        trees = make(1.0, n_rows_hint=4000).fit(X, y).model_.structure
        sizes.add((trees.n_trees, trees.depth))
    assert sizes == {(16, 10)}
    without = make(1.0, n_rows_hint="unknown").fit(*records(5000)).model_.structure
    assert (without.n_trees, without.depth) == (8, 8)
    fixed = make(1.0, n_trees=3, max_depth="auto", n_rows_hint="unknown").fit(*records(10)).model_.structure
    assert (fixed.n_trees, fixed.depth) == (3, 8)


def test_probabilistic_voting_repeats_and_follows_its_shares():
    X, y = records(4000)
    forest = make(1.0, voting="probabilistic", n_trees=4, max_depth=3).fit(X, y)
    drawn = forest.predict(X)
    np.testing.assert_array_equal(drawn, forest.predict(X))
    shares = forest.predict_proba(X)
    for place, label in enumerate(forest.classes_):
        expected, spread = shares[:, place].sum(), np.sqrt((shares[:, place] * (1 - shares[:, place])).sum())
        assert abs((drawn == label).sum() - expected) < 5 * spread
    assert (drawn != forest.classes_[shares.argmax(axis=1)]).any()


def test_the_coins_of_voting_come_from_random_state():
    X, y = records(500)
    drawn = []
    for random_state in (1, 1, 2):
        with seeded_noise(3):
            forest = make(1.0, voting="probabilistic", n_trees=4, max_depth=3, random_state=random_state).fit(X, y)
        drawn.append(forest.predict(X))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


def test_random_shares_spoil_pure_leaves_and_backing_off_does_not():
    X = pd.DataFrame({"x": np.full(20_000, 0.5), "flag": True, "kind": "a"})
    y = np.full(20_000, "right")
    right = {}
    for empty in ("back_off", "random"):
        forest = make(1.0, empty=empty, n_trees=1, max_depth=1, voting="majority")
        right[empty] = np.mean(
            [forest.set_params(random_state=i).fit(X, y).predict(X[:1])[0] == "right" for i in range(60)]
        )
    assert right["back_off"] == 1.0
    assert (
        right["random"] < 0.8
    )  # a minority count is negative three times of four, and then a third of shares are right


def test_deep_trees_share_buckets_and_still_learn():
    X, y = records(5000)
    forest = make(20.0, n_trees=2, max_depth=20).fit(X, y)
    assert forest.model_.structure.n_leaves == 2 * 65_536
    assert forest.score(X, y) > 0.6


def test_without_privacy_labels_are_those_of_counts():
    X, y = records(300)
    shares = []
    for leaves in ("counts", "labels"):
        with pytest.warns(NonPrivateWarning):
            forest = make(None, leaves=leaves, voting="majority", n_trees=5, max_depth=7).fit(X, y)
        shares.append(forest.predict_proba(X))
    np.testing.assert_array_equal(*shares)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"n_trees": 0}, "n_trees"),
        ({"n_trees": "many"}, "n_trees"),
        ({"max_depth": 41}, "max_depth"),
        ({"voting": "loud"}, "voting"),
        ({"leaves": "labels", "voting": "threshold"}, "voting"),
        ({"leaves": "bare"}, "leaves"),
        ({"composition": "parallel"}, "composition"),
        ({"empty": "none"}, "empty"),
    ],
)
def test_parameters_out_of_their_range_are_refused_by_name(parameters, named):
    with pytest.raises(ParameterError, match=named):
        make(**parameters).fit(*records(10))


def test_the_shape_grows_with_what_the_data_amounts_to_and_stays_within_bounds():
    shapes = [forest_shape(Share(epsilon=Fraction(1)), n) for n in (1, 100, 10_000, 10**6, 10**9)]
    assert shapes[0] == ForestShape(1, 1)
    assert shapes[-1] == ForestShape(64, 12)
    assert shapes == sorted(shapes, key=lambda shape: (shape.n_trees, shape.max_depth))
    assert forest_shape(Share(epsilon=Fraction(1, 10)), 10_000) == forest_shape(Share(epsilon=Fraction(1)), 1000)
    assert forest_shape(Share(epsilon=Fraction(1)), 10_000, steps=2) == forest_shape(Share(epsilon=Fraction(1)), 5000)


def test_gaussian_noise_gets_the_shape_of_laplace_noise_of_its_spread():
    rho, n = Fraction(1, 50), 20_000
    shape = forest_shape(Share(rho=rho), n)
    as_pure = Fraction(2 * math.sqrt(rho * shape.n_trees))
    assert forest_shape(Share(epsilon=as_pure), n) == shape
