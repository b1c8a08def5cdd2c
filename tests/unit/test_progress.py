"""Progress is counted for whoever listens, and shown on a terminal only."""

import io
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import privet
from privet import BoostingClassifier, Numeric, PrivaTreeClassifier, RandomDecisionForestClassifier, Schema
from privet.cli import app, warmup
from privet.cli.console import working
from privet.errors import BudgetError
from privet.privacy.budgets import budget
from privet.progress import Counter, Step, listening, now
from privet.tuning import PrivateSearch

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1])


def test_nobody_is_told_outside_the_block():
    seen = []
    with listening(seen.append):
        counter = Counter("rounds", 3)
        counter.add(2)
        now("assembling")
    counter.add()
    assert seen == [Step("rounds", 0, 3), Step("rounds", 2, 3), Step("assembling", 0, None)]


@pytest.mark.slow
def test_a_fit_counts_rounds_and_never_records():
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    X = np.linspace(0, 1, 5_000).reshape(-1, 1)
    fitting, predicting = [], []
    with listening(fitting.append):
        model = BoostingClassifier(epsilon=8.0, schema=schema, n_trees=3, n_rows_hint=5_000).fit(X, X[:, 0] > 0.5)
    with listening(predicting.append):
        model.predict(X)
    assert {step.what for step in fitting} <= {"rounds"}
    assert predicting[-1] == Step("records", 5_000, 5_000)


FIT = {
    "random trees with private weights": RandomDecisionForestClassifier(
        8.0, schema=SCHEMA, vote_weights="private", n_trees=2, max_depth=2
    ),
    "search": PrivateSearch(PrivaTreeClassifier(), {"max_depth": [1, 2]}, 8.0, schema=SCHEMA, refit=0.0),
    "random stopping": PrivateSearch(
        BoostingClassifier(n_trees=2), None, 8.0, schema=SCHEMA, method="random_stopping", n_tickets=2, refit=0.0
    ),
}


@pytest.mark.parametrize("name", FIT)
def test_votes_on_private_records_are_not_counted(name):
    """Their number is private, and so is the number of trials of random stopping."""
    X, seen = np.linspace(0, 1, 500).reshape(-1, 1), []
    with listening(seen.append):
        FIT[name].fit(X, X[:, 0] > 0.5)
    assert not seen


def test_an_evaluation_does_not_count_private_records():
    X, seen = np.linspace(0, 1, 500).reshape(-1, 1), []
    model = PrivaTreeClassifier(8.0, schema=SCHEMA).fit(X, X[:, 0] > 0.5)
    with listening(seen.append):
        privet.evaluate(model, X, X[:, 0] > 0.5, epsilon=1.0)
    assert "records" not in {step.what for step in seen}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_a_bar_is_for_terminals_only(stream, shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with working("training"):
        Counter("rounds", 2).add()
    assert ("training: rounds" in stream.getvalue()) is shown


def test_warmup_compiles_and_says_where(monkeypatch):
    compiled = []
    monkeypatch.setattr(warmup, "compile_all", lambda: compiled.append(True))
    result = CliRunner().invoke(app, ["warmup"])
    assert result.exit_code == 0
    assert "kernels-" in result.output
    assert compiled


def test_warmup_charges_no_budget():
    with budget(epsilon=1.0) as handle:
        result = CliRunner().invoke(app, ["warmup"])
        assert isinstance(result.exception, BudgetError)
    assert handle.spent == 0


@pytest.mark.slow
def test_warmup_fits_every_learner_on_each_kind_of_records():
    seen = []
    with listening(seen.append):
        warmup.compile_all()
    last = [step for step in seen if step.what == "learners"][-1]
    assert last.done == last.total > 40
