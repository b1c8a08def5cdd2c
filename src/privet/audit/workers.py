"""Where the trainings of an audit run: here, in processes on all cores, or in another environment's interpreter.

A chunk of work is the same everywhere: train a number of times on one data set of one pair, project every model, and
return the outcomes in order.
"""

from __future__ import annotations

import inspect
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from privet.audit import peer
from privet.audit.projections import Projection
from privet.errors import AuditError
from privet.tables.passes import SharedIterator

Data = Sequence[Any]
Train = Callable[..., object]
Project = Callable[[Any], Any]

_MOST_SECONDS_TO_START = 120.0


@dataclass(frozen=True)
class Chunk:
    """Train ``size`` times on one side (0: D, 1: D') of one pair, for one half (0: choose, 1: test) of the samples."""

    pair: int
    side: int
    half: int
    size: int


@dataclass(frozen=True)
class ChunkResult:
    """The outcomes of a chunk: one row per training, one entry per projection of the pair."""

    chunk: Chunk
    rows: list[list[str]]
    seconds: float


@dataclass(frozen=True)
class WorkerJob:
    """Everything that a worker must know; the same for every chunk.

    Parameters
    ----------
    train : callable or str
        Trains on a data set and returns an object; ``"file.py:function"`` names one by its source.
    settings : mapping
        Keyword arguments of ``train``.
    names : sequence of str
        Names of the pairs, for messages.
    pairs : sequence of (data, data)
        The two data sets of every pair; each is unpacked into the positional arguments of ``train``.
    projections : sequence of sequences of callables
        What is looked at in the models of every pair.
    """

    train: Train | str
    settings: Mapping[str, Any]
    names: Sequence[str]
    pairs: Sequence[tuple[Data, Data]]
    projections: Sequence[Sequence[Project]]

    def run(self, chunk: Chunk) -> ChunkResult:
        """Do a chunk of work in this process."""
        started = perf_counter()
        data = self.pairs[chunk.pair][chunk.side]
        try:
            train = _load(self.train) if isinstance(self.train, str) else self.train
            rows = peer.sample(train, dict(self.settings), data, self.projections[chunk.pair], chunk.size)
        except AuditError:
            raise
        except Exception as error:
            raise AuditError(f"{self.place(chunk)}: {type(error).__name__}: {error}") from error
        return ChunkResult(chunk, rows, perf_counter() - started)

    def place(self, chunk: Chunk) -> str:
        """What to say if a chunk fails."""
        return f"training or projecting failed on {'D' if chunk.side == 0 else 'D-prime'} of {self.names[chunk.pair]}"


class Runner(Protocol):
    """Does chunks of work; results come in any order."""

    def __call__(self, job: WorkerJob, chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
        """Yield the result of each chunk."""
        ...


def runner(n_jobs: int | None, python: str | Path | None) -> tuple[Runner, int]:
    """The runner for these settings, and how many workers it has.

    Parameters
    ----------
    n_jobs : int or None
        Number of processes; None is 1 and -1 is one per core.
    python : str, Path or None
        Another environment's interpreter.
    """
    workers = 1 if n_jobs is None else (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    if workers < 1:
        raise AuditError(f"n_jobs={n_jobs}; give a positive number, or -1 for all cores")
    if python is not None:
        return _InOtherInterpreter(str(python), workers), workers
    return (_in_this_process if workers == 1 else _InProcesses(workers)), workers


def _in_this_process(job: WorkerJob, chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
    return (job.run(chunk) for chunk in chunks)


@dataclass(frozen=True)
class _InProcesses:
    """Fresh interpreters, not forks: a fork would copy the state of the noise and repeat it."""

    workers: int

    def __call__(self, job: WorkerJob, chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
        from joblib import Parallel, delayed

        parallel = Parallel(
            n_jobs=self.workers,
            backend="loky",
            return_as="generator_unordered",
            pre_dispatch="2*n_jobs",
            batch_size=1,
        )
        results: Iterator[ChunkResult] = parallel(delayed(job.run)(chunk) for chunk in chunks)
        return results


def _load(reference: str) -> Train:
    path, name = _source_and_name(reference)
    train: Train = getattr(peer.load_source(path), name)
    return train


@dataclass(frozen=True)
class _InOtherInterpreter:
    """One process of the other interpreter per worker, each fed by a thread of this one."""

    python: str
    workers: int

    def __call__(self, job: WorkerJob, chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
        setup = json.dumps(
            encode(
                {
                    "train": _function_reference(job.train),
                    "settings": dict(job.settings),
                    "pairs": [tuple(pair) for pair in job.pairs],
                    "projections": [list(projections) for projections in job.projections],
                }
            )
        )
        processes: list[_PeerProcess] = []
        threads: list[threading.Thread] = []
        results: queue.Queue[ChunkResult | BaseException | None] = queue.Queue()
        source = SharedIterator(chunks)
        try:
            for _ in range(self.workers):
                process = _PeerProcess(self.python, setup)
                processes.append(process)
                # Each worker's first chunk is handed out here, so that every worker starts with fresh noise.
                arguments = (process, job, next(source, None), source, results)
                threads.append(threading.Thread(target=_feed, args=arguments, daemon=True))
            for thread in threads:
                thread.start()
            running = len(threads)
            while running:
                result = results.get()
                if result is None:
                    running -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    yield result
        finally:
            source.stop()
            for process in processes:
                process.stop()


def _feed(
    process: _PeerProcess,
    job: WorkerJob,
    chunk: Chunk | None,
    source: SharedIterator[Chunk],
    results: queue.Queue[ChunkResult | BaseException | None],
) -> None:
    try:
        while chunk is not None:
            started = perf_counter()
            request = {"pair": chunk.pair, "side": chunk.side, "size": chunk.size}
            reply = process.ask(json.dumps(request), job.place(chunk))
            results.put(ChunkResult(chunk, reply["rows"], perf_counter() - started))
            chunk = next(source, None)
    except BaseException as error:
        results.put(error)
    else:
        results.put(None)


class _PeerProcess:
    """A running ``peer.py`` under another interpreter."""

    def __init__(self, python: str, setup: str) -> None:
        self._python = python
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process; stop() closes it
        hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment["OMP_NUM_THREADS"] = "1"  # each worker is one core's work
        try:
            # -I: neither the folder of this package nor the user's own packages may shadow the environment's.
            self._process = subprocess.Popen(
                [python, "-I", str(Path(peer.__file__).resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                env=environment,
            )
        except OSError as error:
            self._errors.close()
            raise AuditError(f"the interpreter {python!r} cannot be started: {error}") from error
        alarm = threading.Timer(_MOST_SECONDS_TO_START, self._process.kill)
        alarm.start()
        try:
            self.ask(setup, "the audited code cannot be loaded there")
        except BaseException:
            self.stop()
            raise
        finally:
            alarm.cancel()

    def ask(self, request: str, what: str) -> dict[str, Any]:
        """Send one line and wait for the answer; ``what`` says what failed if it is an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        if not line:
            raise AuditError(f"{what} ({self._python}): the process ended; its last words: {self._last_words()}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise AuditError(f"{what} ({self._python}): {reply['error']}\n{reply['trace']}")
        return reply

    def _last_words(self) -> str:
        self._process.wait(timeout=10)
        self._errors.seek(0)
        return self._errors.read()[-2000:].decode("utf-8", errors="replace").strip() or "none"

    def stop(self) -> None:
        """End the process and free what it held."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what could not be flushed to a process that is gone
                    continue
        self._errors.close()


def encode(value: Any) -> Any:
    """Turn data, settings and projections into JSON that ``privet.audit.peer.decode`` reads without privet.

    Raises
    ------
    AuditError
        If something has no such form.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple):
        return {"tuple": [encode(part) for part in value]}
    if isinstance(value, list):
        return [encode(part) for part in value]
    if isinstance(value, _FunctionReference):
        return {"function": value.name, "file": value.file}
    if isinstance(value, Mapping):
        return {"dict": {str(name): encode(part) for name, part in value.items()}}
    if isinstance(value, np.ndarray):
        dtype = "object" if value.dtype == object else value.dtype.str
        return {"array": encode(value.tolist()), "dtype": dtype, "shape": list(value.shape)}
    if isinstance(value, Projection) and is_dataclass(value):
        arguments = {part.name: encode(getattr(value, part.name)) for part in fields(value)}
        return {"projection": type(value).__name__, "file": _file_of(type(value)), "arguments": arguments}
    if inspect.isfunction(value):
        return encode(_function_reference(value))
    raise AuditError(
        f"a {type(value).__name__} cannot be sent to another interpreter; use numbers, text, NumPy arrays, "
        "projections of privet.audit.projections, and functions of a source file"
    )


@dataclass(frozen=True)
class _FunctionReference:
    file: str
    name: str


def _function_reference(function: Train | str) -> _FunctionReference:
    if isinstance(function, str):
        return _FunctionReference(*_source_and_name(function))
    name = getattr(function, "__qualname__", "")
    if not inspect.isfunction(function) or "." in name or "<" in name:
        raise AuditError(
            f"{name or type(function).__name__} is not a function at the top of a source file, which is what another "
            'interpreter can load; give "file.py:function" and its settings'
        )
    return _FunctionReference(_file_of(function), name)


def _file_of(thing: Any) -> str:
    try:
        file = inspect.getsourcefile(thing)
    except TypeError:
        file = None
    if file is None or not Path(file).is_file():
        raise AuditError(f"{thing.__qualname__} has no source file that another interpreter could load")
    return str(Path(file).resolve())


def _source_and_name(reference: str) -> tuple[str, str]:
    path, _, name = reference.rpartition(":")
    if not path or not name.isidentifier():
        raise AuditError(f'train={reference!r}; name a function by its source as "file.py:function"')
    if not Path(path).is_file():
        raise AuditError(f"train={reference!r}: there is no file {path}")
    return str(Path(path).resolve()), name
