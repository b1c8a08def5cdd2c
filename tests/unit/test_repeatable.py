"""Tests draw the same in every run: in workers, threads, shared fixtures and programs, and whatever the speed."""

import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from joblib import Parallel, delayed
from sklearn.model_selection import cross_val_score

from privet import Numeric, RandomDecisionForestClassifier, Schema
from privet.audit import canaries, statistical_audit
from privet.audit.whole import trainer
from privet.mechanisms.release import drawn
from privet.parameters import public_rng
from privet.privacy.terms import Terms
from tests import streams

EVENT = Terms().laplace("counts", Fraction(1, 1000))
SCHEMA = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=[0, 1])
FOREST = RandomDecisionForestClassifier(1.0, schema=SCHEMA, n_trees=2, max_depth=2)


def noise(size=8):
    return drawn().noisy(np.zeros(size, np.int64), EVENT).tolist()


def noise_and_proof(X, y):
    fitted = RandomDecisionForestClassifier(1.0, schema=SCHEMA, n_trees=2, max_depth=2).fit(X, y)
    return noise(), random.random(), np.random.random(), fitted.predict_proba(X).tolist(), fitted.privacy_.proven


def twice(name, run):
    """Return what `run` gives in two runs of a test of this name, and in a run of another test."""
    found = []
    for test in (name, name, f"not {name}"):
        with streams.stream(test):
            found.append(run())
    return found


def test_noise_goes_on_within_a_test_and_starts_over_with_it():
    first, again, other = twice("a test", lambda: (noise(), noise()))
    assert first == again
    assert first[0] != first[1]
    assert first[0] not in other


def test_what_is_public_and_has_no_seed_is_repeated_too():
    first, again, other = twice("a test", lambda: [public_rng().random(), public_rng().random(), np.random.random()])
    assert first == again
    assert len({*first, *other}) == 6


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_tasks_of_workers_repeat_each_has_its_own_noise_and_ledgers_are_not_told(backend):
    X = np.random.default_rng(0).random((20, 2))

    def run():
        tasks = [delayed(noise_and_proof)(X, X[:, 0] > 0.5) for _ in range(6)]
        return Parallel(2, backend=backend)(tasks)

    first, again, other = twice("a test", run) if backend == "loky" else twice("a test", lambda: shorn(run()))
    assert first == again
    assert len({str(task[0]) for task in first + other}) == 12
    assert all(task[-1] is True for task in first)


def shorn(tasks):
    """Leave out the generators of random and NumPy: threads share them."""
    return [(task[0], *task[3:]) for task in tasks]


def test_cross_validation_in_worker_processes_repeats():
    X = np.random.default_rng(0).random((60, 2))
    first, again, other = twice("a test", lambda: cross_val_score(FOREST, X, X[:, 0] > 0.5, n_jobs=2).tolist())
    assert first == again != other


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_audit_counts_the_same_whatever_the_speed_and_the_worker(n_jobs, monkeypatch):
    pair = canaries(SCHEMA)[1]
    speeds = iter([1e-5, 7e-3, 1.0] * 100)

    def run():
        monkeypatch.setattr("privet.audit.workers.perf_counter", lambda: next(speeds))
        settings = {"epsilon": 1.0, "relation": "add_remove", "max_trainings": 400}
        found = statistical_audit(trainer(FOREST, SCHEMA), [pair], n_jobs=n_jobs, **settings).findings[0]
        return found.event, found.hits, found.other_hits, found.epsilon

    first, again, _ = twice("a test", run)
    assert first == again


@pytest.fixture(scope="module")
def shared_noise():
    return noise()


def test_a_shared_fixture_draws_the_same_whichever_test_comes_first(shared_noise, request):
    with streams.stream(f"{request.node.parent.nodeid}, fixture shared_noise 0"):
        assert noise() == shared_noise


@pytest.mark.slow
def test_a_program_draws_from_the_stream_that_it_is_given(tmp_path):
    root = Path(__file__).parents[2]
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; from tests.unit.test_repeatable import noise; print(noise() if len(sys.argv) == 1 else sys.argv)"
    )

    def run(*arguments):
        command = [sys.executable, str(root / "tests" / "run_repeatably.py"), "a program", str(script), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    with streams.stream("a program"):
        assert run() == f"{noise()}\n"
    assert run("-e", "1") == f"{[str(script), '-e', '1']}\n"


def test_examples_of_properties_are_the_same_in_every_run_and_have_no_time_limit():
    assert settings.default.derandomize
    assert settings.default.deadline is None
