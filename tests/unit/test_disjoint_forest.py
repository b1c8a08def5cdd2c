"""What the disjoint forest plans, how its labels fall, and that small trees give every leaf an id of its own."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, DisjointForestClassifier, Numeric, Schema
from privet.errors import NonPrivateWarning, ParameterError
from privet.privacy.events import Mechanism
from privet.testing import seeded_noise
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.random_trees import RandomTrees, with_own_leaves

MIXED = Schema(
    {"x": Numeric(0, 1), "z": Numeric(0, 1, missing=True), "c": Categorical(list("abcd"))}, classes=["no", "yes"]
)


def classes(n):
    return Schema(MIXED.features, classes=list(range(n)))


def test_the_depth_follows_from_the_kinds_of_features():
    # two continuous features ask for 3 levels (2 by the formula), one discrete feature for none
    for rule, depth in (("table", 3), ("printed", 2)):
        learner = DisjointForestClassifier(schema=MIXED, depth_rule=rule)._learner()
        assert learner._depth(MIXED.encoding(learner.bins)) == depth


def test_disjoint_trees_are_charged_once_and_sequential_ones_each():
    once = DisjointForestClassifier(0.5, schema=MIXED, n_trees=20, empty="uniform").plan()
    each = DisjointForestClassifier(0.5, schema=MIXED, n_trees=20, empty="uniform", composition="sequential").plan()
    assert once.epsilon == each.epsilon == 0.5
    assert once.events[0].parameter == 20 * each.events[0].parameter == Fraction(1, 2)


def test_delta_is_used_only_where_it_helps():
    for trees, composition, delta in ((100, "disjoint", 0.0), (3, "sequential", 0.0), (100, "sequential", 1e-6)):
        forest = DisjointForestClassifier(1.0, 1e-6, MIXED, n_trees=trees, composition=composition)
        assert (forest.plan().epsilon, forest.plan().delta) == (1.0, delta)


@pytest.mark.parametrize(
    ("epsilon", "n_classes", "mechanism"),
    [
        (1.0, 2, Mechanism.EXPONENTIAL),
        (1.0, 5, Mechanism.EXPONENTIAL),
        (1.0, 6, Mechanism.PERMUTE_AND_FLIP),
        (0.01, 2, Mechanism.EXPONENTIAL),
        (0.01, 3, Mechanism.PERMUTE_AND_FLIP),
        (1e-9, 2, Mechanism.PERMUTE_AND_FLIP),
        (3.0, 40, Mechanism.EXPONENTIAL),
    ],
)
def test_the_margin_law_is_used_where_one_record_outweighs_all_other_classes(epsilon, n_classes, mechanism):
    forest = DisjointForestClassifier(epsilon, schema=classes(n_classes))
    assert forest.plan().events[0].mechanism is mechanism
    assert forest.set_params(empty="uniform").plan().events[0].mechanism is Mechanism.PERMUTE_AND_FLIP


def test_replacing_a_record_halves_what_one_step_may_cost():
    replace = Schema(MIXED.features, MIXED.target, neighbours="replace")
    twice = DisjointForestClassifier(2.0, schema=replace).plan().events[0]
    once = DisjointForestClassifier(1.0, schema=MIXED).plan().events[0]
    assert twice.sensitivity == once.sensitivity
    assert twice.cost.epsilon == 2 * once.cost.epsilon


def labels_without_records(**parameters):
    with seeded_noise(1):
        forest = DisjointForestClassifier(1.0, schema=MIXED, n_trees=400, random_state=0, **parameters)
        return forest.fit(np.empty((0, 3), dtype=object), []).model_.leaves.labels


def test_empty_leaves_abstain_as_often_as_the_law_says_and_are_uniform_otherwise():
    omitted = labels_without_records(empty="omit")
    shares = np.bincount(omitted, minlength=3) / omitted.size
    start = 1 / (1 + math.e)
    np.testing.assert_allclose(shares, [start, start, 1 - 2 * start], atol=5 * 0.5 / math.sqrt(omitted.size))
    uniform = labels_without_records(empty="uniform")
    np.testing.assert_allclose(np.bincount(uniform) / uniform.size, 0.5, atol=5 * 0.5 / math.sqrt(uniform.size))


def test_every_leaf_id_has_a_label_whatever_the_records():
    X = np.array([[0.1, 0.1, "a"]] * 50, dtype=object)
    for max_leaves in (65_536, 3):
        forest = DisjointForestClassifier(schema=MIXED, n_trees=5, max_leaves=max_leaves).fit(X, ["yes"] * 50)
        assert forest.model_.leaves.labels.shape == (forest.model_.structure.n_leaves,)
        assert forest.model_.structure.n_leaves <= 5 * max_leaves


def test_it_learns_what_is_there_to_learn_in_every_mode():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(4000), rng.random(4000), rng.integers(0, 4, 4000)]).astype(object)
    X[:, 2] = np.array(list("abcd"))[X[:, 2].astype(int)]
    y = np.where((X[:, 2] == "a") | (X[:, 2] == "b"), "yes", "no")
    for parameters in (
        {},
        {"empty": "uniform"},
        {"composition": "sequential"},
        {"composition": "sequential", "delta": 1e-6},
        {"max_leaves": 8},
    ):
        forest = DisjointForestClassifier(2.0, schema=MIXED, n_trees=30, max_depth=4, random_state=1, **parameters)
        assert forest.fit(X, y).score(X, y) > 0.9


def test_the_twin_without_privacy_sees_all_records_in_every_tree_and_abstains_in_empty_leaves():
    forest = DisjointForestClassifier(None, schema=MIXED, n_trees=7, random_state=0)
    with pytest.warns(NonPrivateWarning):
        forest.fit(np.array([[0.5, 0.5, "b"]], dtype=object), ["yes"])
    labels = forest.model_.leaves.labels
    assert np.bincount(labels, minlength=3).tolist() == [0, 7, labels.size - 7]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_trees": 0},
        {"max_depth": 0},
        {"max_depth": 2.5},
        {"composition": "parallel"},
        {"empty": "guess"},
        {"max_leaves": 0},
        {"depth_rule": "deep"},
    ],
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DisjointForestClassifier(schema=MIXED, **wrong).plan()


def test_small_trees_give_every_leaf_its_own_id_and_large_ones_share_buckets():
    encoding = MIXED.encoding(16)
    random = RandomTrees.draw(encoding, 5, 4, 4, "multiway", 1000)
    own = with_own_leaves(random)
    assert isinstance(own, ExplicitTrees)
    assert own.n_leaves == (own.leaf >= 0).sum()
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, column.n_codes, 3000) for column in encoding.columns]).astype(encoding.dtype)
    buckets, leaves = random.route(codes), own.route(codes)
    for tree in range(4):
        # records of one leaf are in one bucket; that two leaves share a bucket of 1000 may happen, but is rare
        pairs = {(leaf, bucket) for leaf, bucket in zip(leaves[tree].tolist(), buckets[tree].tolist(), strict=True)}
        assert len(pairs) == len({leaf for leaf, _ in pairs})
        assert len({bucket for _, bucket in pairs}) >= 0.9 * len(pairs)
    assert with_own_leaves(random, most_nodes=20) is random
    few = RandomTrees.draw(encoding, 5, 4, 4, "multiway", 3)
    assert with_own_leaves(few) is few


@pytest.mark.parametrize("composition", ["disjoint", "sequential"])
@pytest.mark.parametrize("max_leaves", [16, 65_536])
def test_labels_do_not_depend_on_how_many_trees_are_counted_at_once(monkeypatch, composition, max_leaves):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random(400), rng.random(400), rng.integers(0, 4, 400)]).astype(object)
    X[:, 2] = [list("abcd")[int(code)] for code in X[:, 2]]
    y = np.where(X[:, 0].astype(float) > 0.5, "yes", "no")

    def fitted(epsilon):
        forest = DisjointForestClassifier(
            epsilon,
            schema=MIXED,
            n_trees=7,
            max_depth=4,
            composition=composition,
            max_leaves=max_leaves,
            random_state=1,
        )
        with warnings.catch_warnings(), seeded_noise(4):
            warnings.simplefilter("ignore")
            return forest.fit(X, y)

    whole = fitted(None), fitted(1.0), fitted(1000.0)
    monkeypatch.setattr("privet.learners.disjoint_forest.forest.MOST_BYTES", 1)  # one tree at a time
    parts = fitted(None), fitted(1.0), fitted(1000.0)
    np.testing.assert_array_equal(parts[0].model_.leaves.labels, whole[0].model_.leaves.labels)
    # so large an epsilon leaves nothing to chance but the trees that records are assigned to
    np.testing.assert_array_equal(parts[2].model_.leaves.labels, whole[2].model_.leaves.labels)
    assert parts[1].privacy_.events == whole[1].privacy_.events
    assert parts[1].model_.leaves.labels.shape == whole[1].model_.leaves.labels.shape
