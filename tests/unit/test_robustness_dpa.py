"""DPA: each record reaches one part, and no poisoning within the certificate changes a prediction."""

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.robustness import DPAClassifier
from privet.robustness.dpa import certified_changes


def records(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, (X[:, 0] > 0.5).astype(int)


def test_certified_changes_are_those_of_the_worst_poisoner():
    """Every way to move votes, by enumeration: the winner stands for as many changes as stated, and for no more."""
    for votes in [(4, 1, 2), (3, 3, 0), (0, 5, 1), (2, 0, 6), (1, 1, 1)]:
        stated = int(certified_changes(np.array([votes]))[0])
        winner = int(np.argmax(votes))

        def stands(changes, votes=votes, winner=winner):
            for rival in range(3):
                if rival != winner:
                    moved = np.array(votes)
                    taken = min(changes, moved[winner])
                    moved[winner] -= taken
                    moved[rival] += taken
                    if moved.argmax() != winner:
                        return False
            return True

        assert stands(stated)
        assert not stands(stated + 1)


def test_one_record_changes_one_tree():
    X, y = records()
    clean = DPAClassifier(n_parts=30).fit(X, y).votes(X)
    rng = np.random.default_rng(1)
    for _ in range(10):
        victim = int(rng.integers(len(y)))
        relabelled = y.copy()
        relabelled[victim] ^= 1
        for data in [
            (np.delete(X, victim, axis=0), np.delete(y, victim)),
            (np.vstack([X, rng.random((1, 2))]), np.append(y, 1)),
            (X, relabelled),
        ]:
            votes = DPAClassifier(n_parts=30).fit(*data).votes(X)
            assert np.abs(votes - clean).max() <= 1


def test_the_order_of_records_makes_no_difference():
    X, y = records()
    order = np.random.default_rng(2).permutation(len(y))
    np.testing.assert_array_equal(
        DPAClassifier(n_parts=20).fit(X, y).votes(X), DPAClassifier(n_parts=20).fit(X[order], y[order]).votes(X)
    )


def test_certified_accuracy_holds_against_poisoning_and_falls_with_it():
    (X, y), (X_test, y_test) = records(), records(300, seed=3)
    ensemble = DPAClassifier(n_parts=60, max_depth=2).fit(X, y)
    curve = [ensemble.certified_accuracy(X_test, y_test, n) for n in (0, 5, 10, 31)]
    assert curve[0] == pytest.approx(ensemble.score(X_test, y_test))
    assert curve == sorted(curve, reverse=True)
    assert curve[1] > 0.8
    assert curve[3] == 0.0  # 31 of 60 parts are a majority
    assert ensemble.certified_accuracy(X_test, y_test, 5, "modified") == curve[2]
    poisoned = y.copy()
    poisoned[np.argsort(abs(X[:, 0] - 0.6))[:10]] = 0
    attacked = DPAClassifier(n_parts=60, max_depth=2).fit(X, poisoned)
    assert attacked.score(X_test, y_test) >= curve[2]


def test_categories_classes_and_empty_parts():
    pd = pytest.importorskip("pandas")
    schema = Schema({"a": Categorical(["u", "v"]), "b": Numeric(0, 1)}, classes=["yes", "no"])
    frame = pd.DataFrame({"a": ["u", "v", "u", "v"], "b": [0.1, 0.2, 0.3, 0.4]})
    ensemble = DPAClassifier(n_parts=50, schema=schema).fit(frame, ["no", "no", "no", "unknown"])
    assert list(ensemble.classes_) == ["yes", "no"]
    votes = ensemble.votes(frame)
    assert votes.sum(axis=1).tolist() == [50] * 4
    assert votes[0].tolist() == [47, 3]  # empty parts vote for the first class; the unknown label is left out
    assert ensemble.predict(frame).tolist() == ["yes"] * 4
