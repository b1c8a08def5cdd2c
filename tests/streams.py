"""Streams of noise for tests: the same in every run, whatever the process, the thread or the order of the tests.

A test that fails by chance once in a thousand runs teaches people to run it again. So whatever the library would take
from the operating system's entropy comes from a stream with a name: that of the test, of the fixture, or of the task
that was handed to a worker. A stream goes on from fit to fit, so fits differ as they do in production, and the ledger
is not told: what it claims is tested as it stands.

The library knows nothing of this: it has no setting by which its noise could be replaced in silence. Functions are
replaced here, in the processes of the tests alone. A task that joblib hands to a worker carries the name of its stream,
because which worker gets it is a matter of chance. Programs that a test starts by themselves draw the system's noise,
unless they are started by `tests/run_repeatably.py`; so do the samplers where a test gives them `SystemSource`.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any

import joblib
import numpy as np

from privet import parameters
from privet.mechanisms import release, samplers
from privet.randomness.public import SeededSource


class Stream:
    """All that a test, a fixture or a task draws: noise, public seeds, and numbers for its own tasks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seed = zlib.crc32(name.encode())
        self.noise = SeededSource(self.seed)
        self.tasks = count()
        self._unseeded = count()

    def unseeded(self) -> np.random.Generator:
        """Return a generator in place of one without a seed: another at each call."""
        return np.random.default_rng([self.seed, next(self._unseeded)])


_of_the_test: Stream | None = None  # seen by all threads of a test
_of_the_task: ContextVar[Stream | None] = ContextVar("stream of a task", default=None)


def current() -> Stream | None:
    """Return the stream from which is drawn here and now."""
    return _of_the_task.get() or _of_the_test


@contextmanager
def stream(name: str) -> Iterator[None]:
    """Draw everything inside the block from the stream of this name, the generators of random and NumPy included."""
    global _of_the_test
    before = _of_the_test, random.getstate(), np.random.get_state()
    _of_the_test = Stream(name)
    random.seed(_of_the_test.seed)
    np.random.seed(_of_the_test.seed)
    try:
        yield
    finally:
        _of_the_test = before[0]
        random.setstate(before[1])
        np.random.set_state(before[2])


@dataclass(frozen=True)
class Task:
    """A function for a worker, with the name of the stream that it draws from there."""

    function: Callable[..., Any]
    stream: str

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if _of_the_test is None:  # in a process of its own
            install()
            with stream(self.stream):
                return self.function(*arguments, **keywords)
        token = _of_the_task.set(Stream(self.stream))
        try:
            return self.function(*arguments, **keywords)
        finally:
            _of_the_task.reset(token)


_systems_own, _unseeded, _parallel = release._source, parameters._unseeded, joblib.Parallel.__call__


def install() -> None:
    """Let the streams stand where the operating system's entropy would serve."""
    release._source = _source
    parameters._unseeded = _generator
    joblib.Parallel.__call__ = _in_parallel


def _source() -> samplers.Source:
    source, here = _systems_own(), current()
    return source if here is None or not isinstance(source, samplers.SystemSource) else here.noise


def _generator() -> np.random.Generator:
    here = current()
    return _unseeded() if here is None else here.unseeded()


def _in_parallel(parallel: joblib.Parallel, calls: Iterable[tuple[Callable[..., Any], Any, Any]]) -> Any:
    here = current()
    if here is None:
        return _parallel(parallel, calls)
    # Numbered as they are handed out, in order, whenever that happens.
    named = ((Task(function, f"{here.name}, task {next(here.tasks)}"), *rest) for function, *rest in calls)
    return _parallel(parallel, named)
