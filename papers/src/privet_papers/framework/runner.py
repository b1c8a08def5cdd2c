"""Run an entry: look up the cells that are done, compute the rest side by side, write the results."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from privet.errors import ParameterError
from privet_papers.framework.cache import CellCache, cell_key
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Cell, Entry, Outcome, Result
from privet_papers.framework.output import write_results
from privet_papers.framework.sources import code_digest, default_sources


@dataclass(frozen=True)
class Work:
    """The cells of an entry that can be run with the data at hand, and what is known of them."""

    entry: Entry
    data: DataFolder
    cache: CellCache
    cells: dict[str, Cell]  # by key, in the entry's order
    absent: tuple[str, ...]

    def done(self) -> dict[str, Result]:
        """Return the results that are already there, by key."""
        found = ((key, self.cache.get(key)) for key in self.cells)
        return {key: result for key, result in found if result is not None}

    def status(self) -> str:
        """Return ``"done"``, ``"new"`` or ``"partial, k of n cells"``, and which data is absent."""
        done, total = len(self.done()), len(self.cells)
        parts = []
        if total:
            parts.append("done" if done == total else f"partial, {done} of {total} cells" if done else "new")
        if self.absent:
            parts.append(f"data absent: {', '.join(self.absent)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Failure:
    """A cell that raised an error."""

    cell: Cell
    error: str


@dataclass(frozen=True)
class RunReport:
    """What a run did. No files are written where a cell failed, or is left for another run."""

    files: tuple[Path, ...]
    computed: int
    reused: int
    failures: tuple[Failure, ...]
    absent: tuple[str, ...]
    left: int = 0


class NoteProgress(Protocol):
    """Called while cells run."""

    def __call__(self, done: int, total: int) -> object:
        """Take note that `done` of the `total` cells to compute have a result or have failed."""


def prepare(entry: Entry, data: DataFolder, out: Path, *, quick: bool = False, whole: bool = False) -> Work:
    """Return the work of an entry under the folder `out`."""
    cells = entry.whole.cells() if whole and entry.whole is not None else entry.cells(quick)
    present = {name: data.digest(name) for cell in cells for name in cell.data if data.file(name)}
    absent = tuple(dict.fromkeys(name for cell in cells for name in cell.data if name not in present))
    possible = [cell for cell in cells if all(name in present for name in cell.data)]
    shared = default_sources() if entry.sources is None else entry.sources
    code = {
        module: code_digest((*shared, module)) for module in dict.fromkeys(cell.function.__module__ for cell in cells)
    }
    keyed = {cell_key(cell, code[cell.function.__module__], present): cell for cell in possible}
    if len(keyed) < len(possible):
        raise ParameterError(f"{entry.name} has two equal cells; put what tells them apart into the settings")
    return Work(entry, data, CellCache(out / ".cells" / entry.name), keyed, absent)


def run(
    entry: Entry,
    data: DataFolder,
    out: Path,
    *,
    quick: bool = False,
    whole: bool = False,
    jobs: int = 1,
    progress: NoteProgress = lambda done, total: None,
    deadline: float | None = None,
) -> RunReport:
    """Compute what is missing of an entry and write its results.

    Each result is stored as soon as it is there: a run that is stopped goes on where it was. A cell that
    fails does not stop the others. A quick run, and one of a paper's whole protocol, has a folder of its own and never
    replaces the usual results; cells that runs share are computed once.

    Parameters
    ----------
    entry : Entry
        The table or figure.
    data : DataFolder
        Benchmarks; cells whose data is absent are left out.
    out : Path
        Folder for results and the cache of cells.
    quick : bool
        Run the entry's reduced settings.
    whole : bool
        Run the paper's whole protocol, where the entry is smaller than it.
    jobs : int
        Number of processes; with 1 everything runs in this one.
    progress : callable
        Called with the number of cells computed, and of those to compute.
    deadline : float, optional
        By `time.monotonic`: no cell is begun after it.
    """
    if quick and whole:
        raise ParameterError("quick is less than usual, whole is more: choose one of them")
    if jobs < 1:
        raise ParameterError(f"jobs must be at least 1, got {jobs}")
    work = prepare(entry, data, out, quick=quick, whole=whole)
    if not work.cells:
        absent = ", ".join(work.absent)
        raise ParameterError(f"{entry.name} has nothing to run: data absent: {absent}; give a folder with --data")
    results = work.done()
    reused = len(results)
    failures: list[Failure] = []
    missing = {key: cell for key, cell in work.cells.items() if key not in results}
    progress(0, len(missing))
    for key, answer in _compute(missing, data, jobs, deadline):
        if isinstance(answer, Failure):
            failures.append(answer)
        else:
            results[key] = work.cache.put(key, work.cells[key], answer)
        progress(len(results) - reused + len(failures), len(missing))
    files: tuple[Path, ...] = ()
    left = len(work.cells) - len(results) - len(failures)
    if not failures and not left:
        reads_data = any(cell.data for cell in work.cells.values())
        size = "quick" if quick else "whole" if whole else ""
        outcomes = [Outcome(cell.settings, results[key]) for key, cell in work.cells.items()]
        files = write_results(
            entry,
            entry.assemble(outcomes),
            out / size if size else out,
            command=f"privet reproduce {entry.name}{f' --{size}' if size else ''}{' --data DIR' if reads_data else ''}",
            absent=work.absent,
            reads_data=reads_data,
            whole=whole,
        )
    return RunReport(files, len(results) - reused, reused, tuple(failures), work.absent, left)


def _compute(
    cells: dict[str, Cell], data: DataFolder, jobs: int, deadline: float | None
) -> Iterator[tuple[str, Result | Failure]]:
    """Yield the answers as they come, in this process or from others; after the deadline no cell is begun."""

    def in_time() -> bool:
        return deadline is None or time.monotonic() < deadline

    if jobs == 1 or len(cells) < 2:
        for key, cell in cells.items():
            if not in_time():
                return
            yield key, _answer(cell, data)
        return
    # Spawned, not forked: compiled kernels and thread pools do not survive a fork.
    context = multiprocessing.get_context("spawn")
    waiting, running = iter(cells.items()), dict[Future[Result | Failure], str]()
    with ProcessPoolExecutor(min(jobs, len(cells)), mp_context=context) as pool:
        try:
            while True:
                while len(running) < 2 * jobs and in_time() and (following := next(waiting, None)) is not None:
                    running[pool.submit(_answer, following[1], data)] = following[0]
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _answer(cell: Cell, data: DataFolder) -> Result | Failure:
    try:
        result = cell.function(cell.settings, data)
        json.dumps(result)
    except Exception as error:  # whatever it is, it must not cost the other cells
        return Failure(cell, f"{type(error).__name__}: {error}")
    return result


def statuses(entries: Sequence[Entry], data: DataFolder, out: Path) -> list[tuple[Entry, str]]:
    """Return each entry with what is known of its full run: its cells, and whether its results are there."""
    found = []
    for entry in entries:
        status = prepare(entry, data, out).status()
        if (out / f"{entry.name}.csv").is_file() and not status.startswith("done"):
            status = f"results are there; cells: {status}"
        found.append((entry, status))
    return found
