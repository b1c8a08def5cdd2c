"""Trainings in processes and in other interpreters; the store; bad input."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.audit import NeighbourPair, Progress, neighbours, statistical, statistical_audit
from privet.audit.peer import decode
from privet.audit.projections import Agreement, TreeLabels, Value
from privet.audit.store import OutcomeStore
from privet.audit.workers import encode
from privet.errors import AuditError

TRAINERS = '''
"""Stands alone: another interpreter loads it."""
import random

stream = random.Random(0)

def reveal(X, y):
    print("what an estimator prints must not disturb the protocol")
    return len(y)

def respond(X, y, truth=0.75):
    return len(y) if random.SystemRandom().random() < truth else 1 - len(y)

def in_step(X, y):
    return stream.random() < 0.5

def broken(X, y):
    raise ValueError("no luck today")

def last_words(X, y):
    import os, sys
    sys.stderr.write("so long")
    sys.stderr.flush()
    os._exit(3)
'''

PAIR = neighbours.noise_scale()


@pytest.fixture
def trainers(tmp_path: Path) -> Path:
    path = tmp_path / "trainers.py"
    path.write_text(TRAINERS)
    return path


def audit(train: Any, *, trainings: int = 800, pairs: Any = (PAIR,), **more: Any) -> Any:
    settings = {"epsilon": 1.0, "relation": "add_remove", "projections": [Value()], **more}
    return statistical_audit(train, pairs, max_trainings=trainings, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("python", [None, sys.executable], ids=["processes", "another interpreter"])
def test_trainings_elsewhere_give_the_same_verdicts_as_here(trainers: Path, python: str | None) -> None:
    assert audit(f"{trainers}:reveal", n_jobs=2, python=python).refuted
    settings = {"truth": 0.6}  # on the system's entropy: refuted by chance with a probability below 1e-14
    assert not audit(f"{trainers}:respond", n_jobs=2, python=python, settings=settings).refuted


def test_an_error_in_another_interpreter_is_shown(trainers: Path) -> None:
    with pytest.raises(AuditError, match="ValueError: no luck today"):
        audit(f"{trainers}:broken", python=sys.executable)
    with pytest.raises(AuditError, match="so long"):
        audit(f"{trainers}:last_words", python=sys.executable)


def test_an_error_here_is_shown_with_its_pair() -> None:
    def broken(X: Any, y: Any) -> None:
        raise ValueError("no luck today")

    with pytest.raises(AuditError, match="D of noise-scale: ValueError: no luck today"):
        audit(broken)


def test_a_worker_that_cannot_start_is_an_error(trainers: Path, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be started"):
        audit(f"{trainers}:reveal", python=tmp_path / "no" / "python")
    (tmp_path / "empty.py").write_text("import a_module_that_is_not_there\n")
    with pytest.raises(AuditError, match="a_module_that_is_not_there"):
        audit(f"{tmp_path / 'empty.py'}:reveal", python=sys.executable)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ("no_such_file.py:reveal", "no file"),
        ("reveal", "file.py:function"),
        (lambda X, y: len(y), "top of a source file"),
    ],
    ids=["missing file", "no file named", "lambda"],
)
def test_what_another_interpreter_cannot_load_is_refused(train: Any, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        audit(train, python=sys.executable)


def test_workers_whose_noise_runs_in_step_are_noticed(trainers: Path) -> None:
    with pytest.raises(AuditError, match="starts over"):
        audit(f"{trainers}:in_step", trainings=4_000, n_jobs=2, python=sys.executable)


def test_a_generator_that_starts_over_with_every_batch_is_noticed() -> None:
    batch: list[float] = []

    def train(X: Any, y: Any) -> int:
        if not batch:
            batch.extend(np.random.default_rng(0).random(64))
        return int(10 * batch.pop())

    with pytest.raises(AuditError, match="starts over"):
        audit(train, trainings=1_600)


def test_data_settings_and_projections_cross_the_border_unchanged() -> None:
    sent = {
        "numbers": np.array([[1.5, np.inf], [0.0, -2.0]]),
        "nothing": np.empty((0, 3)),
        "mixed": np.array([["a", None], [2, 0.5]], dtype=object),
        "classes": (0, 1, ("x", None, True)),
        "view": Agreement(TreeLabels((0, 1)), (1, 0)),
    }
    got = decode(json.loads(json.dumps(encode(sent))))
    for name in ("numbers", "nothing", "mixed"):
        assert got[name].dtype == sent[name].dtype  # type: ignore[attr-defined]  # an array
        np.testing.assert_array_equal(got[name], sent[name])
    assert got["classes"] == sent["classes"]
    assert got["view"].reference == (1, 0)
    with pytest.raises(AuditError, match="set cannot be sent"):
        encode({1, 2})


def fresh_response(X: Any, y: Any) -> int:
    return int(np.random.default_rng().random() < (0.6 if len(y) else 0.4))


def test_a_stopped_audit_goes_on_where_it_was(tmp_path: Path) -> None:
    store = tmp_path / "outcomes.jsonl"
    seen: list[Progress] = []

    def stop_half_way(progress: Progress) -> None:
        if progress.done > 1_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(fresh_response, trainings=2_000, store=store, identity="r", progress=stop_half_way)
    with store.open("a") as file:
        file.write('{"key": "a line that was being writ')
    report = audit(fresh_response, trainings=2_000, store=store, identity="r", progress=seen.append)
    assert report.trainings == 2_000
    assert seen[0].done > 1_000
    assert seen[-1] == Progress(2_000, 2_000)
    assert audit(fresh_response, trainings=2_000, store=store, identity="other").trainings == 2_000


def test_looking_again_is_free_but_looking_and_going_on_is_paid_for(tmp_path: Path) -> None:
    def look(trainings: int) -> Any:
        store = tmp_path / "outcomes.jsonl"
        return audit(lambda X, y: len(y), trainings=trainings, store=store, identity="r")

    first, again = look(800), look(800)
    assert again.lower == first.lower
    fresh = audit(lambda X, y: len(y), trainings=1_600)
    assert first.lower < look(1_600).lower < fresh.lower


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    path.write_text('nonsense\n{"key": "k", "look": 3}\n')
    with pytest.raises(AuditError, match="line 1 is damaged"):
        OutcomeStore(path).load("k", 1)


def test_minutes_are_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(statistical, "monotonic", lambda: next(ticks) / 100)  # a chunk takes 10 ms
    report = audit(lambda X, y: len(y), trainings=None, max_minutes=0.02)  # type: ignore[arg-type]
    assert report.refuted
    assert report.trainings == 64 * 120
    with pytest.raises(AuditError, match=r"max_minutes=1e-09.*max_trainings=\d+"):
        audit(lambda X, y: len(y), trainings=None, max_minutes=1e-9)  # type: ignore[arg-type]


def test_without_limits_enough_trainings_are_made() -> None:
    assert audit(lambda X, y: len(y), trainings=None).trainings == 4_000  # type: ignore[arg-type]


def test_a_progress_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    audit(lambda X, y: len(y), verbose=True)
    assert "trainings" in capsys.readouterr().out


OTHER = NeighbourPair("other", "f", PAIR.D, PAIR.D_prime, "add_remove", "e")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": None}, "no budget is stated"),
        ({"epsilon": float("inf")}, "state a finite one"),
        ({"delta": None}, "no budget is stated"),
        ({"delta": 1.0}, r"not in \[0, 1\)"),
        ({"relation": None}, "state one of add_remove"),
        ({"relation": "swap"}, "state one of add_remove"),
        ({"relation": "replace"}, "consists of add_remove neighbours"),
        ({"pairs": []}, "no pairs"),
        ({"pairs": [PAIR, PAIR]}, "names must differ"),
        ({"pairs": [OTHER], "projections": None}, "no projection for the pair other"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"max_minutes": 0}, "positive"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"store": "x.jsonl"}, "identity"),
        ({"trainings": 8}, "too few trainings"),
        ({"projections": [lambda model: [model]]}, "not hashable"),
    ],
)
def test_bad_input_is_refused_and_never_passes_silently(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        audit(lambda X, y: len(y), **settings)
