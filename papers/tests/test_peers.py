"""The scripts that run diffprivlib: they get what they need, in an environment that does not have privet."""

import sys
from pathlib import Path

import numpy as np
import pytest

from privet.errors import ParameterError
from privet_papers.framework.peers.interpreter import (
    DIFFPRIVLIB,
    REGRESSION_SCRIPT,
    TREE_SCRIPT,
    Peer,
    PeerProcess,
    run_script,
)

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
    monkeypatch.setenv(DIFFPRIVLIB.variable, sys.executable)
    X = np.linspace(0, 1, 40)[:, np.newaxis]
    y = (X[:, 0] > 0.5).astype(np.int64)
    return {"X": X, "y": y, "is_test": np.arange(2)[:, np.newaxis] == np.arange(len(y)) % 2}


def test_the_regression_is_trained_as_often_as_asked(arrays):
    accuracies = run_script(DIFFPRIVLIB.interpreter(), REGRESSION_SCRIPT, arrays, 0.5, 3)
    assert len(accuracies) == 2 * 3  # splits, trainings
    assert min(accuracies) > 0.8


def test_the_tree_gets_public_bounds_and_classes(arrays):
    arrays |= {"low": np.zeros(1), "high": np.ones(1), "n_classes": np.array(2)}
    found = run_script(DIFFPRIVLIB.interpreter(), TREE_SCRIPT, arrays, 0.5, 4)
    assert len(found["accuracy"]) == len(found["seconds"]) == 2
    assert min(found["accuracy"]) > 0.9  # the split may lie on either side of a record that was left out
    assert min(found["seconds"]) >= 0


def test_a_script_that_fails_says_why(arrays):
    with pytest.raises(ParameterError, match="AssertionError"):
        run_script(DIFFPRIVLIB.interpreter(), REGRESSION_SCRIPT, arrays, 0.25, 1)


def test_without_an_environment_the_remedy_is_named(arrays, monkeypatch):
    monkeypatch.delenv(DIFFPRIVLIB.variable)
    with pytest.raises(ParameterError, match=f"let {DIFFPRIVLIB.variable} name"):
        run_script(DIFFPRIVLIB.interpreter(), TREE_SCRIPT, arrays, 0.5, 1)


def test_an_interpreter_that_is_not_there_is_reported(arrays, monkeypatch, tmp_path):
    monkeypatch.setenv(DIFFPRIVLIB.variable, str(tmp_path / "nowhere"))
    with pytest.raises(ParameterError, match="cannot be run"):
        run_script(DIFFPRIVLIB.interpreter(), TREE_SCRIPT, arrays, 0.5, 1)


def test_the_environment_variable_keeps_the_name_that_is_documented():
    assert DIFFPRIVLIB.variable == "PRIVET_DIFFPRIVLIB"


def test_an_environment_is_built_once_and_told_of(tmp_path):
    peer = Peer("nothing", "1", ())
    folder, told = tmp_path / "environment", []
    (folder / "bin").mkdir(parents=True)
    (folder / "installed.txt").write_text("")
    assert peer.built(folder, told.append).name.startswith("python")
    assert told == []


ANSWERS = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["n"] == 0:
        sys.exit(3)
    print(json.dumps(request["n"] + 1), flush=True)
"""


def test_a_process_answers_until_it_ends(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ANSWERS)
    process = PeerProcess(Path(sys.executable), script)
    assert [process.ask({"n": n}) for n in (1, 5)] == [2, 6]
    with pytest.raises(ParameterError, match=r"script\.py ended with code 3"):
        process.ask({"n": 0})
    with pytest.raises(ParameterError, match="ended with code 3"):
        process.ask({"n": 1})


def test_a_process_can_be_closed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ANSWERS)
    process = PeerProcess(Path(sys.executable), script)
    process.close()
    with pytest.raises(ParameterError, match="ended with code 0"):
        process.ask({"n": 1})
