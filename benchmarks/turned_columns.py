"""Regression targets with delta above zero: gradient descent in turned columns beside products of columns and stumps.

    python benchmarks/turned_columns.py --data FOLDER [--repeats 10]

R2 of `BoostingRegressor` as it is, and with the recipe that it has where there are too many columns for the signal.
Written to docs/results: ``turned_columns.csv`` and ``.md``. The problems are those that the rule was chosen on: made-up
records, and columns of tuning sets, 4,000 records at most; no other is looked at.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path

import numpy as np
import pandas as pd

from arena.arguments import ROOT
from arena.data import Problem
from arena.ours import Ours
from boosting_regression import of_frame
from privet.learners.boosting import regression_outline
from small_regression import problems as of_little_signal

RESULTS = ROOT / "docs" / "results"
DELTA, EPSILONS = 1e-6, (0.05, 0.15, 0.5, 1.0, 4.0)
LEAST = (regression_outline.SIGNAL_FOR_LINES, regression_outline.SIGNAL_FOR_BENDS)
RECIPES = {"turned": LEAST, "products": (math.inf, math.inf)}
ROWS, SPLITS = 3_000, 5


def sparse(folder: Path, n_columns: int) -> Problem:
    """Columns that have nothing to do with each other, five of which count."""
    rng = np.random.default_rng(0)
    x = rng.random((ROWS, n_columns))
    y = x[:, :5] @ np.array([1.0, -1.0, 0.5, 0.5, 2.0]) + 0.3 * rng.normal(size=ROWS)
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(n_columns)]).assign(y=y)
    return of_frame(f"{n_columns} columns, 5 count", folder / "sparse", frame, "y")


def problems(folder: Path) -> Iterator[Problem]:
    """Those of `small_regression`, and wide ones."""
    return chain(of_little_signal(folder), (sparse(folder, n) for n in (20, 40, 150)))


def r2(problem: Problem, epsilon: float, repeat: int) -> float:
    """Return R2 of one fit."""
    truth = problem.labels[problem.split(repeat % SPLITS)[1]]
    left = truth - Ours("BoostingRegressor", DELTA).run(problem, repeat % SPLITS, epsilon).prediction
    return 1 - float((left**2).mean() / truth.var())


def main() -> None:
    """Measure, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of Parquet files")
    parser.add_argument("--repeats", type=int, default=10, help="fits of each kind")
    options = parser.parse_args()
    rows = []
    for problem, epsilon, (recipe, least) in product(problems(options.data), EPSILONS, RECIPES.items()):
        regression_outline.SIGNAL_FOR_LINES, regression_outline.SIGNAL_FOR_BENDS = least
        found = [r2(problem, epsilon, repeat) for repeat in range(options.repeats)]
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        rows.append((problem.task.name, len(problem.labels), epsilon, recipe, np.mean(found), error))
    table = pd.DataFrame(rows, columns=["problem", "rows", "epsilon", "recipe", "r2", "standard_error"])
    table.to_csv(RESULTS / "turned_columns.csv", index=False, float_format="%.4f", lineterminator="\n")
    shown = table.assign(r2=table.r2.map("{:.3f}".format) + " ± " + table.standard_error.map("{:.3f}".format))
    text = [
        "# Regression targets with delta above zero",
        "",
        f"R2 of `BoostingRegressor` at delta = 1e-6, mean and standard error of {options.repeats} fits on {SPLITS}",
        "splits. By `python benchmarks/turned_columns.py --data FOLDER`. *Turned* is the rule: gradient descent in",
        "turned columns where there is enough signal for their number; *products* are products of columns and trees",
        "everywhere. The rule was chosen on these problems.",
    ]
    for epsilon in EPSILONS:
        here = shown[shown.epsilon == epsilon].pivot(index="problem", columns="recipe", values="r2")
        means = table[table.epsilon == epsilon].groupby("recipe").r2.mean()
        text += ["", f"## Epsilon {epsilon:g}", "", "| problem | turned | products |", "|---|---|---|"]
        text += [f"| {name} | {row['turned']} | {row['products']} |" for name, row in here.iterrows()]
        text += [f"| mean | {means['turned']:.3f} | {means['products']:.3f} |"]
    (RESULTS / "turned_columns.md").write_text("\n".join(text) + "\n", "utf-8")


if __name__ == "__main__":
    main()
