"""Does private tuning pay? Searches against the same budget spent on the defaults, on tables of 16,000 rows and more.

    python benchmarks/tuning.py --data FOLDER            # goes on where a stopped run was; some minutes on one core

Three grids: learners (boosting, PrivaTree, a forest of random trees), settings of boosting, settings of PrivaTree. Each
is searched by held-out records and by random stopping, and the winner is published as it is, or trained once more with
half or three quarters of the budget. *defaults* spends the
whole budget on the first candidate of the grid, which has the library's own rules; *best* spends it on whichever
candidate is best on the test part, which nobody can know. Written to ``docs/results``: ``tuning.csv``, ``tuning.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from arena import arguments
from arena.data import Problem, Task, load, tasks
from privet import BoostingClassifier, PrivaTreeClassifier, RandomDecisionForestClassifier
from privet.tuning import PrivateSearch

DELTA = 1e-6
EPSILON = 1.0
SETS = ("adult", "bench_MagicTelescope", "bench_electricity", "california", "bench_default-of-credit-card-clients")
MOST_ROWS = 40_000

GRIDS: dict[str, tuple[Any, Any]] = {
    "learners": ([BoostingClassifier(), PrivaTreeClassifier(), RandomDecisionForestClassifier()], None),
    "boosting": (BoostingClassifier(), {"max_depth": ["auto", 1, 2, 3]}),
    "PrivaTree": (PrivaTreeClassifier(), {"max_depth": [4, 2, 6, 8], "criterion": ["mix", "gini"]}),
}
WAYS: dict[str, dict[str, Any]] = {
    "held out": {"refit": 0.0},
    "held out, half": {"refit": 0.5},
    "held out, three quarters": {"refit": 0.75},
    "random stopping": {"method": "random_stopping", "refit": 0.0},
    "random stopping, three quarters": {"method": "random_stopping", "refit": 0.75},
}
COLUMNS = ["task", "split", "grid", "delta", "way", "accuracy"]


def accuracies(problem: Problem, split: int, grid: str, delta: float) -> Iterator[tuple[str, float]]:
    """Yield the test accuracy of every way to spend the budget."""
    train, test = problem.split(split)
    own = {"epsilon": EPSILON, "delta": delta, "schema": problem.schema, "n_rows_hint": problem.rows_hint}
    estimator, settings = GRIDS[grid]

    def accuracy(model: Any) -> float:
        model.fit(problem.frame.iloc[train], problem.labels[train])
        return float(np.mean(model.predict(problem.frame.iloc[test]) == problem.labels[test]))

    search = PrivateSearch(estimator, settings, random_state=split, **own)
    alone = [accuracy(clone(each.estimator).set_params(random_state=split, **own)) for each in search._candidates()]
    yield "defaults", alone[0]
    yield "best", max(alone)
    for way, parameters in WAYS.items():
        if not delta or parameters.get("method") != "random_stopping":
            yield way, accuracy(clone(search).set_params(**parameters))


def measured(task: Task, splits: int, done: pd.DataFrame, out: Path) -> pd.DataFrame:
    """Measure what is not there yet, and write down every piece."""
    for split in range(splits):
        for grid in GRIDS:
            for delta in (0.0, DELTA):
                here = (done.task == task.name) & (done.split == split) & (done.grid == grid) & (done.delta == delta)
                if here.any():
                    continue
                problem = load(task, MOST_ROWS)
                assert problem is not None
                rows = [
                    (task.name, split, grid, delta, way, round(accuracy, 5))
                    for way, accuracy in accuracies(problem, split, grid, delta)
                ]
                done = pd.concat([done, pd.DataFrame(rows, columns=COLUMNS)], ignore_index=True)
                done.to_csv(out, index=False)
    return done


def page(results: pd.DataFrame) -> str:
    """Write the means as a page: accuracy of the defaults, and how far each way is above or below them."""
    ways = ["best", *WAYS]
    text = [
        "# Does private tuning pay?",
        "",
        f"Made by `python benchmarks/tuning.py --data FOLDER`: test accuracy in percent at epsilon {EPSILON:g}, delta "
        f"0 or {DELTA:g}, tables of 16,000 rows and more (samples of at most {MOST_ROWS:,}), mean over "
        f"{results.split.nunique()} splits of 80/20. *defaults* spends the whole budget on the first candidate of the "
        "grid. All other columns say how many points they are above or below that: *best* spends the budget on the "
        "candidate that is best on the test part, which nobody can know, and includes the luck of its noise; the "
        "others are searches, which pay for every fit and for the choice. The grids are in the benchmark.",
        "",
        "| grid | delta | task | defaults | " + " | ".join(ways) + " |",
        "|---|---|---|---|" + "---|" * len(ways),
    ]
    table = results.pivot_table(index=["grid", "delta", "task"], columns="way", values="accuracy") * 100
    lines = [(key, row) for key, row in table.iterrows()]
    lines += [((*key, "mean"), row) for key, row in table.groupby(level=["grid", "delta"]).mean().iterrows()]
    for (grid, delta, task), row in sorted(lines, key=lambda line: (line[0][0], line[0][1], line[0][2] == "mean")):
        gains = ["" if pd.isna(row.get(way)) else f"{row[way] - row['defaults']:+.1f}" for way in ways]
        text.append(f"| {grid} | {delta:g} | {task} | {row['defaults']:.1f} | " + " | ".join(gains) + " |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args(given)
    out = options.out / "tuning.csv"
    done = pd.read_csv(out) if out.exists() else pd.DataFrame(columns=COLUMNS)
    for task in tasks(options.data):
        if task.name in SETS:
            done = measured(task, options.splits, done, out)
    out.with_suffix(".md").write_text(page(done), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
