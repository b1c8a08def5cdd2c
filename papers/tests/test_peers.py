"""The scripts that run diffprivlib: they get what they need, in an environment that does not have privet."""

import sys

import numpy as np
import pytest

from privet.errors import ParameterError
from privet_papers.framework.peers.diffprivlib import PEER, run_peer

# Stands for diffprivlib: the same names and parameters, and importing privet fails beside it.
STAND_IN = {
    "privet/__init__.py": "raise ImportError('there is no privet here')\n",
    "diffprivlib/__init__.py": "",
    "diffprivlib/models/__init__.py": """
from sklearn import linear_model

def LogisticRegression(epsilon, data_norm):
    assert epsilon == 0.5 and data_norm > 0
    return linear_model.LogisticRegression()
""",
    "diffprivlib/models/forest.py": """
from sklearn import tree

def DecisionTreeClassifier(max_depth, epsilon, bounds, classes):
    assert epsilon == 0.5 and classes == [0, 1]
    assert bounds[0].tolist() == [0.0] and bounds[1].tolist() == [1.0]
    return tree.DecisionTreeClassifier(max_depth=max_depth)
""",
}


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    for name, text in STAND_IN.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(PEER, sys.executable)
    X = np.linspace(0, 1, 40)[:, np.newaxis]
    y = (X[:, 0] > 0.5).astype(np.int64)
    return {"X": X, "y": y, "X_test": X[::2], "y_test": y[::2]}


def test_the_regression_is_trained_as_often_as_asked(arrays):
    accuracies = run_peer("peer_regression.py", arrays, 0.5, 3)
    assert len(accuracies) == 3
    assert min(accuracies) > 0.8


def test_the_tree_gets_public_bounds_and_classes(arrays):
    arrays |= {"low": np.zeros(1), "high": np.ones(1), "n_classes": np.array(2)}
    found = run_peer("peer_tree.py", arrays, 0.5, 4)
    assert found["accuracy"] == 1.0
    assert found["seconds"] >= 0


def test_a_script_that_fails_says_why(arrays):
    with pytest.raises(ParameterError, match="AssertionError"):
        run_peer("peer_regression.py", arrays, 0.25, 1)


def test_without_an_environment_the_remedy_is_named(arrays, monkeypatch):
    monkeypatch.delenv(PEER)
    with pytest.raises(ParameterError, match=f"let {PEER} name"):
        run_peer("peer_tree.py", arrays, 0.5, 1)
