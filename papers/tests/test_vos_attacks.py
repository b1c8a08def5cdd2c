"""The attacks do harm to a plain tree, change no more than they say, and never break a certificate."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema
from privet.errors import ParameterError
from privet.robustness import Guarantee, certify, retraining_scores
from privet.robustness.certify import accuracy_on
from privet_papers.vos_2023.poisoning.attacks import flip_labels, insert_records
from privet_papers.vos_2023.poisoning.backdoors import Trigger, attack_success_rate, plant_backdoor, resistance

SIDE = 28
TRIGGER = Trigger.bottom_right(SIDE, SIDE)
IMAGES = Schema({f"p{i}": Numeric(0, 255, bins=2) for i in range(SIDE * SIDE)}, classes=[0, 1])


def records(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.8)).astype(int)
    y[rng.random(n) < 0.1] ^= 1
    return X, y


def digits(n=400, seed=0):
    """Rings for zeros and bars for ones, of MNIST's shape, with noise and a dark bottom-right corner."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:SIDE, :SIDE]
    radius = np.hypot(row - 13.5, column - 13.5)
    shapes = np.stack([(radius > 5) & (radius < 9), (abs(column - 13.5) < 2) & (abs(row - 13.5) < 9)])
    y = rng.integers(0, 2, n)
    X = shapes[y] * rng.integers(120, 256, (n, SIDE, SIDE)) + rng.integers(0, 40, (n, SIDE, SIDE))
    X = X.clip(0, 255)
    X[:, 22:, 22:] = 0
    return X.reshape(n, -1).astype(np.uint8), y


def plain_accuracy(X, y, X_test, y_test):
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y).score(X_test, y_test)


@pytest.mark.parametrize("attack", [flip_labels, insert_records])
def test_greedy_attacks_hurt_a_plain_tree_more_than_random_ones(attack):
    (X, y), (X_test, y_test) = records(), records(seed=1)
    clean = plain_accuracy(X, y, X_test, y_test)
    poisoned = attack(X, y, X_test, y_test, 60)
    greedy = plain_accuracy(poisoned.X, poisoned.y, X_test, y_test)
    rng = np.random.default_rng(2)
    chosen = rng.choice(len(y), 60, replace=False)
    if attack is flip_labels:
        y_random = y.copy()
        y_random[chosen] ^= 1
        at_random = plain_accuracy(X, y_random, X_test, y_test)
    else:
        at_random = plain_accuracy(np.vstack([X, X[chosen]]), np.append(y, 1 - y[chosen]), X_test, y_test)
    assert greedy < clean - 0.05
    assert greedy < at_random


@pytest.mark.parametrize("n_poisoned", [0, 1, 17])
def test_attacks_change_no_more_than_they_say(n_poisoned):
    (X, y), (X_test, y_test) = records(), records(seed=1)
    flipped = flip_labels(X, y, X_test, y_test, n_poisoned)
    np.testing.assert_array_equal(flipped.X, X)
    assert np.count_nonzero(flipped.y != y) == flipped.n_poisoned == n_poisoned
    added = insert_records(X, y, X_test, y_test, n_poisoned)
    assert len(added.y) == len(added.X) == len(y) + n_poisoned
    np.testing.assert_array_equal(added.X[: len(y)], X)
    np.testing.assert_array_equal(added.y[: len(y)], y)


def test_attacks_take_frames_with_categories():
    pd = pytest.importorskip("pandas")
    X, y = records(200)
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 0.5, "big", "small"), "b": X[:, 1]})
    schema = Schema({"a": Categorical(["small", "big"]), "b": Numeric(0, 1)}, classes=[0, 1])
    added = insert_records(frame, pd.Series(y), frame, y, 20, schema=schema)
    assert list(added.X.columns) == ["a", "b"]
    assert len(added.X) == 220
    assert set(added.X["a"]) == {"big", "small"}


@pytest.mark.parametrize("attack", [flip_labels, insert_records])
def test_attacks_on_a_private_forest_stay_above_its_certificate(attack):
    schema = Schema({name: Numeric(0, 1) for name in "abc"}, classes=[0, 1])
    forest = RandomDecisionForestClassifier(epsilon=0.2, schema=schema, n_trees=2, max_depth=3, random_state=0)
    (X, y), (X_test, y_test) = records(2000), records(seed=1)
    poisoned = attack(X, y, X_test, y_test, 5)
    table = certify(forest, X, y, X_test, y_test, poisoned=[5], change=poisoned.change, n_retrainings=300)
    after = retraining_scores(forest, poisoned.X, poisoned.y, accuracy_on(X_test, y_test), 60)
    # Four standard errors for the luck of the 60 trainings.
    assert after.mean() + 4 * after.std() / np.sqrt(60) >= table.at(5).guaranteed
    assert table.at(5).guaranteed > table.at(5).paper


def test_the_trigger_is_four_pixels_in_the_bottom_right_corner_of_a_copy():
    X, _ = digits(5)
    stamped = TRIGGER.stamp(X)
    changed = np.argwhere((stamped != X).reshape(5, SIDE, SIDE).any(axis=0))
    assert len(changed) == 4
    assert changed.min() >= SIDE - 4
    assert not (X.reshape(5, SIDE, SIDE)[:, 22:, 22:] > 0).any()
    with pytest.raises(ParameterError, match="4 by 4"):
        Trigger.bottom_right(3, 8)


def test_a_handful_of_triggers_opens_a_plain_tree_and_not_the_private_one():
    (X, y), (X_test, y_test) = digits(), digits(200, seed=1)
    y_noisy = y.copy()
    y_noisy[::50] ^= 1  # a plain tree then has impure leaves to split, as with real digits
    poisoned = plant_backdoor(X, y_noisy, 8, TRIGGER, source=0, target=1, random_state=3)
    assert len(poisoned.y) == len(y) + 8
    assert (poisoned.y[-8:] == 1).all()
    plain = DecisionTreeClassifier(max_depth=4, random_state=0)
    rate = {
        name: attack_success_rate(plain.fit(*data), X_test, y_test, TRIGGER, source=0, target=1)
        for name, data in [("clean", (X, y)), ("poisoned", (poisoned.X, poisoned.y))]
    }
    assert rate["clean"] < 0.05
    assert rate["poisoned"] > 0.95
    forest = RandomDecisionForestClassifier(epsilon=0.5, schema=IMAGES, n_trees=20, max_depth=6, random_state=0)
    private = forest.fit(poisoned.X, poisoned.y)
    assert attack_success_rate(private, X_test, y_test, TRIGGER, source=0, target=1) < 0.5


def test_resistance_is_one_minus_the_success_rate_and_can_be_certified():
    (X, y), (X_test, y_test) = digits(), digits(100, seed=1)
    score = resistance(X_test, y_test, TRIGGER, source=0, target=1)
    always_one = DecisionTreeClassifier().fit(X, np.ones(len(y)))
    assert score(always_one) == 0.0
    always_zero = DecisionTreeClassifier().fit(X, np.zeros(len(y)))
    table = certify(
        always_zero,
        X,
        np.zeros(len(y)),
        score=score,
        score_name="resistance",
        guarantee=Guarantee.stated(0.1),
        poisoned=[3],
        n_retrainings=40,
    )
    assert table.clean == 1.0
    assert 0.5 < table.at(3).guaranteed < 1.0


def test_a_source_class_that_is_absent_is_told():
    X, y = digits(20)
    with pytest.raises(ParameterError, match="no test image"):
        attack_success_rate(None, X, y, TRIGGER, source=7, target=1)
