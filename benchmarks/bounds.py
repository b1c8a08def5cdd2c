"""What closer public bounds are worth: numbers clipped at outer quantiles, for every method alike.

    python benchmarks/bounds.py --data FOLDER        # some ten minutes on one core

The arena of ``accuracy.py`` takes the smallest and the largest value of a file for public bounds. Whoever knows the
field declares closer ones: no household has 1,243 members. Here bounds are quantiles of the file, which stand for what
such a person would say. Written to ``docs/results``: ``bounds.csv`` and ``bounds.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from rich.progress import track

from arena import arguments, data
from arena.cells import measures
from arena.data import SPLITS, Problem, coded
from arena.ours import Ours
from arena.peers import peers
from privet.schema.domains import Numeric
from privet.schema.schema import Schema

TASKS = ("california", "bench_california")
TAILS = (0.0, 0.005, 0.01, 0.02)
EPSILONS = (0.1, 1.0)
DELTA = 1e-6


def clipped(problem: Problem, tail: float) -> Problem:
    """The problem with bounds that leave out a share of the values at either end."""
    features, frame = problem.schema.features, problem.frame.copy()
    for name, feature in features.items():
        if isinstance(feature, Numeric):
            low, high = np.quantile(frame[name], [tail, 1 - tail])
            features[name] = Numeric(float(low), float(high))
            frame[name] = frame[name].clip(low, high)
    schema = Schema(features, classes=list(range(problem.n_classes)))
    task = replace(problem.task, name=f"{problem.task.name}, {tail:g}")  # peers know problems by their names
    return Problem(task, frame, coded(frame, features), problem.labels, schema)


def page(table: pd.DataFrame) -> str:
    """Write the table as a page."""
    text = [
        "# Closer public bounds",
        "",
        "Made by `python benchmarks/bounds.py --data FOLDER`: accuracy in percent, mean and standard error of "
        f"{SPLITS} splits, delta = {DELTA:g}; numeric bounds leave out a share of the values at either end.",
        "",
        "| task | left out | epsilon | " + " | ".join(table.method.unique()) + " |",
        "|---|---|---|" + "---|" * table.method.nunique(),
    ]
    for (task, tail, epsilon), part in table.groupby(["task", "tail", "epsilon"], sort=False):
        cells = [f"{100 * line.accuracy:.1f} ± {100 * line.error:.1f}" for line in part.itertuples()]
        text.append(f"| {task} | {100 * tail:g}% | {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all bounds."""
    parser = arguments.parser(__doc__)
    options = parser.parse_args(given)
    rivals = [peer for peer in peers(DELTA) if peer.rivals == "approximate"]
    methods = [Ours("BoostingClassifier", DELTA), *rivals]
    problems = [data.load(task) for task in data.tasks(options.data) if task.name in TASKS]
    lines = []
    for problem in (found for found in problems if found is not None):
        for tail in track(TAILS, problem.task.name):
            close = clipped(problem, tail)
            for epsilon in EPSILONS:
                for method in methods:
                    answers = [method.run(close, split, epsilon) for split in range(SPLITS)]
                    found = [measures(close, split, answer)["accuracy"] for split, answer in enumerate(answers)]
                    line = {"task": problem.task.name, "tail": tail, "epsilon": epsilon, "method": method.name}
                    lines.append(line | {"accuracy": np.mean(found), "error": np.std(found, ddof=1) / SPLITS**0.5})
    table = pd.DataFrame(lines)
    table.to_csv(options.out / "bounds.csv", index=False, float_format="%.5f", lineterminator="\n")
    (options.out / "bounds.md").write_text(page(table), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
