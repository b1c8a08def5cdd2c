"""A command that is killed, interrupted or finds no room leaves the old files whole."""

import os
import signal
import time
from pathlib import Path

import pytest
from benchmarks.kill_and_full import finish, interrupted, prepared, survives

pytestmark = pytest.mark.slow
KILLS, FULL = 6, 6


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("work"))


def test_old_files_survive_a_kill(work) -> None:
    assert survives(work, kills=KILLS, full=0) == KILLS


def test_old_files_survive_a_full_disk(work) -> None:
    assert survives(work, kills=0, full=FULL) == FULL


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_in_order_and_leaves_nothing_behind(work, number, code) -> None:
    child = interrupted(work)
    time.sleep(0.3)
    os.kill(child, number)
    found, whole = finish(work, child)
    assert whole
    assert found in (0, code)  # 0 if the training was quicker
    assert not list(work.glob(".privet-*"))
