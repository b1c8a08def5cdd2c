"""Training whatever the arena does not have yet."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.cells import Cells, run, wanted
from arena.data import Problem
from arena.methods import Method


def fill(
    problems: Iterable[Problem],
    methods: Sequence[Method],
    cells: Cells,
    epsilons: Sequence[float],
    splits: int,
    until: float = math.inf,
) -> None:
    """Train whatever is not there yet, until a time of the monotonic clock."""
    bar = Progress(TextColumn("{task.description:60}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with bar:
        for problem in problems:
            every = wanted(problem, methods, epsilons, splits)
            open_ones = [(cell, method) for cell, method in every if cell not in cells]
            if not open_ones:
                continue
            line = bar.add_task(problem.task.name, total=len(open_ones))
            for cell, method in open_ones:
                if time.monotonic() > until:
                    return
                bar.update(line, description=f"{problem.task.name}: {method.name}, {cell.rivals}, {cell.epsilon}")
                done = run(problem, cell, method)
                cells.add(done)
                if done.error:
                    bar.console.print(f"{done.task}: {done.method} at {done.epsilon}: {done.error}")
                bar.advance(line)
