"""Cells of the arena, one for each task, method, epsilon and split, kept on disk so that a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from arena.data import Problem
from arena.methods import Answer, Method, MethodError


@dataclass(frozen=True)
class Cell:
    """What one training gave; `error` where it gave nothing. For numbers `accuracy` is empty and `rmse` is not."""

    task: str
    method: str
    rivals: str
    epsilon: float | None
    split: int
    accuracy: float | None = None
    auc: float | None = None
    rmse: float | None = None
    seconds: float | None = None
    error: str = ""


class Cells:
    """All cells on disk, a file of JSON lines for each task and method."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, str, str, float | None, int], Cell] = {}
        for file in sorted(folder.glob("*.jsonl")):
            for line in file.read_text("utf-8").splitlines():
                try:
                    cell = Cell(**json.loads(line))
                except ValueError:  # the last line of a run that was stopped
                    continue
                self._known[key(cell)] = cell

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._known.values())

    def __contains__(self, cell: Cell) -> bool:
        return key(cell) in self._known

    def add(self, cell: Cell) -> None:
        """Keep a cell; a failure is kept for this run only, so that the next one tries again."""
        self._known[key(cell)] = cell
        if not cell.error:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._file(cell.task, cell.method, cell.rivals).open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(cell)) + "\n")

    def forget(self, method: str) -> None:
        """Drop all cells of a method, since it has changed."""
        for cell in [cell for cell in self if cell.method == method]:
            del self._known[key(cell)]
            self._file(cell.task, cell.method, cell.rivals).unlink(missing_ok=True)

    def _file(self, task: str, method: str, rivals: str) -> Path:
        plain = "".join(letter if letter.isalnum() else "_" for letter in f"{task}--{method}--{rivals}")
        return self._folder / f"{plain}.jsonl"


def key(cell: Cell) -> tuple[str, str, str, float | None, int]:
    """What tells cells apart."""
    return cell.task, cell.method, cell.rivals, cell.epsilon, cell.split


def wanted(
    problem: Problem, methods: Iterable[Method], epsilons: Iterable[float], splits: int
) -> list[tuple[Cell, Method]]:
    """Every cell of a problem, empty still; a ceiling has one for each split, whatever the epsilon."""
    cells = []
    for method in methods:
        if not method.can(problem):
            continue
        for epsilon in epsilons if method.rivals != "none" else [None]:
            cells += [(Cell(problem.task.name, method.name, method.rivals, epsilon, n), method) for n in range(splits)]
    return cells


def run(problem: Problem, cell: Cell, method: Method) -> Cell:
    """Train and measure."""
    same = {"task": cell.task, "method": cell.method, "rivals": cell.rivals, "epsilon": cell.epsilon}
    try:
        answer = method.run(problem, cell.split, cell.epsilon or 0.0)
    except MethodError as error:
        return Cell(**same, split=cell.split, error=str(error))
    return Cell(**same, split=cell.split, seconds=round(answer.seconds, 4), **measures(problem, cell.split, answer))


def measures(problem: Problem, split: int, answer: Answer) -> dict[str, float]:
    """Accuracy and AUC (for many classes the mean over those in the test records, one against the rest), or RMSE."""
    truth = problem.labels[problem.split(split)[1]]
    if not problem.n_classes:
        return {"rmse": float(np.sqrt(np.mean((truth - answer.prediction) ** 2)))}
    shares = np.nan_to_num(answer.prediction)
    accuracy = float(np.mean(shares.argmax(axis=1) == truth))
    present = range(1, 2) if problem.n_classes == 2 else np.unique(truth)
    areas = [roc_auc_score(truth == label, shares[:, label]) for label in present]
    return {"accuracy": accuracy, "auc": float(np.mean(areas))}
