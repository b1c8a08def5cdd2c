"""Regression targets with delta above zero: gradient descent in turned columns beside products of columns and stumps.

    python benchmarks/turned_columns.py --data FOLDER [--repeats 10]

R2 of `BoostingRegressor` as it is, and with the recipe that it has where there are too many columns for the signal.
Written to docs/results: ``turned_columns.csv`` and ``.md``. The problems are those that the rule was chosen on: made-up
records, and columns of tuning sets, 4,000 records at most; no other is looked at.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from arena import arguments, recipes
from arena.data import Problem
from arena.ours import Ours
from boosting_regression import of_frame
from privet.learners.boosting import regression_outline
from small_regression import problems as of_little_signal

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


def r2(problem: Problem, epsilon: float, repeat: int, recipe: str) -> float:
    """Return R2 of one fit."""
    regression_outline.SIGNAL_FOR_LINES, regression_outline.SIGNAL_FOR_BENDS = RECIPES[recipe]
    truth = problem.labels[problem.split(repeat % SPLITS)[1]]
    left = truth - Ours("BoostingRegressor", DELTA).run(problem, repeat % SPLITS, epsilon).prediction
    return 1 - float((left**2).mean() / truth.var())


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write both files."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="fits of each kind")
    options = parser.parse_args(given)
    about = [
        "# Regression targets with delta above zero",
        "",
        f"R2 of `BoostingRegressor` at delta = 1e-6, mean and standard error of {options.repeats} fits on {SPLITS}",
        "splits. By `python benchmarks/turned_columns.py --data FOLDER`. *Turned* is the rule: gradient descent in",
        "turned columns where there is enough signal for their number; *products* are products of columns and trees",
        "everywhere. The rule was chosen on these problems.",
    ]
    found = recipes.compare(problems(options.data), "epsilon", EPSILONS, list(RECIPES), r2, options.repeats)
    recipes.write(found, "epsilon", "Epsilon", about, options.out / "turned_columns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
