"""DPA: each record reaches one part, and no poisoning within the certificate changes a prediction."""

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet_papers.vos_2023.poisoning.dpa import DPAClassifier, certified_changes


def records(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, (X[:, 0] > 0.5).astype(int)


def after_changes(votes, abstaining):
    """All votes that one changed part can make: from any class, or from abstaining, to any other."""
    answers = [*votes, abstaining]
    for left, taken in enumerate(answers):
        for entered in range(len(answers)):
            if taken and entered != left:
                moved = list(answers)
                moved[left] -= 1
                moved[entered] += 1
                yield tuple(moved[:-1]), moved[-1]


@pytest.mark.parametrize("abstaining", [0, 1, 4])
@pytest.mark.parametrize("votes", [(4, 1, 2), (3, 3, 0), (0, 5, 1), (2, 0, 6), (1, 1, 1), (0, 0, 1), (2, 0, 0)])
def test_certified_changes_are_those_of_the_worst_poisoner(votes, abstaining):
    """Every way to change parts, by enumeration: the winner stands for as many as stated, and for no more."""
    stated, winner = int(certified_changes(np.array([votes]))[0]), int(np.argmax(votes))
    reached = {(votes, abstaining)}
    for _ in range(stated):
        reached |= {after for before in reached for after in after_changes(*before)}
        assert all(np.argmax(after) == winner for after, _ in reached)
    assert any(np.argmax(after) != winner for before in reached for after, _ in after_changes(*before))


def test_one_record_changes_one_tree():
    X, y = records()
    clean = DPAClassifier(n_parts=30, classes=[0, 1]).fit(X, y).votes(X)
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
            votes = DPAClassifier(n_parts=30, classes=[0, 1]).fit(*data).votes(X)
            assert np.abs(votes - clean).max() <= 1


def test_the_order_of_records_makes_no_difference():
    X, y = records()
    order = np.random.default_rng(2).permutation(len(y))
    ensemble = DPAClassifier(n_parts=20, classes=[0, 1])
    np.testing.assert_array_equal(ensemble.fit(X, y).votes(X), ensemble.fit(X[order], y[order]).votes(X))


def test_certified_accuracy_holds_against_poisoning_and_falls_with_it():
    (X, y), (X_test, y_test) = records(), records(300, seed=3)
    ensemble = DPAClassifier(n_parts=60, max_depth=2, classes=[0, 1]).fit(X, y)
    curve = [ensemble.certified_accuracy(X_test, y_test, n) for n in (0, 5, 10, 31)]
    assert curve[0] == pytest.approx(ensemble.score(X_test, y_test))
    assert curve == sorted(curve, reverse=True)
    assert curve[1] > 0.8
    assert curve[3] == 0.0  # 31 of 60 parts are a majority
    assert ensemble.certified_accuracy(X_test, y_test, 5, "modified") == curve[2]
    poisoned = y.copy()
    poisoned[np.argsort(abs(X[:, 0] - 0.6))[:10]] = 0
    attacked = DPAClassifier(n_parts=60, max_depth=2, classes=[0, 1]).fit(X, poisoned)
    assert attacked.score(X_test, y_test) >= curve[2]


def test_categories_classes_and_empty_parts():
    pd = pytest.importorskip("pandas")
    schema = Schema({"a": Categorical(["u", "v"]), "b": Numeric(0, 1)}, classes=["yes", "no"])
    frame = pd.DataFrame({"a": ["u", "v", "u", "v"], "b": [0.1, 0.2, 0.3, 0.4]})
    ensemble = DPAClassifier(n_parts=50, schema=schema).fit(frame, ["no", "no", "no", "unknown"])
    assert list(ensemble.classes_) == ["yes", "no"]
    votes = ensemble.votes(frame)
    assert votes.tolist() == [[0, 3]] * 4  # empty parts abstain; the unknown label is left out
    assert ensemble.predict(frame).tolist() == ["no"] * 4
    assert ensemble.certified_changes(frame).tolist() == [1] * 4
    assert ensemble.certified_accuracy(frame, ["no", "no", "yes", "unknown"], 1) == 0.5


@pytest.mark.parametrize("label", [-1, "a word", None, 2.5])
def test_no_label_of_an_added_record_overturns_a_certificate(label):
    """A label of a new class, which would sort first, or of another type, is that of a record that is left out."""
    X, y = records(400)
    y[:] = 1  # all trees agree
    ensemble = DPAClassifier(n_parts=40, classes=[0, 1]).fit(X, y)
    assert (ensemble.certified_changes(X) == 19).all()
    attacked = DPAClassifier(n_parts=40, classes=[0, 1]).fit(np.vstack([X, [[0.5, 0.5]]]), [*y.tolist(), label])
    np.testing.assert_array_equal(attacked.votes(X), ensemble.votes(X))


def test_an_added_record_of_a_new_class_moves_no_vote_of_empty_parts():
    X, y = records(4)
    y[:] = 1
    ensemble = DPAClassifier(n_parts=800, classes=[0, 1]).fit(X, y)
    assert ensemble.predict(X).tolist() == [1] * 4, "796 empty parts do not outvote four"
    assert (ensemble.certified_changes(X) == 1).all()


def test_classes_are_never_read_off_the_records():
    X, y = records(20)
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1])
    for arguments in ({}, {"schema": schema, "classes": [0, 1]}):
        with pytest.raises(ParameterError, match="classes that no record can change"):
            DPAClassifier(n_parts=3, **arguments).fit(X, y)
    with pytest.raises(ParameterError, match="one label for each record"):
        DPAClassifier(n_parts=3, classes=[0, 1]).fit(X, y[:-1])
    for classes in ("01", [0, 1, 0]):
        with pytest.raises(ParameterError, match="list of labels that all differ"):
            DPAClassifier(n_parts=3, classes=classes).fit(X, y)
    numeric = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, target=Numeric(0, 1))
    with pytest.raises(ParameterError, match="give it classes"):
        DPAClassifier(n_parts=3, schema=numeric).fit(X, y)
