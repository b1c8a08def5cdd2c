"""Regression targets with pure epsilon and little signal: a base of choices beside products of columns and stumps.

    python benchmarks/small_regression.py --data FOLDER [--repeats 10]

R2 of `BoostingRegressor` as it is, and with products of columns at every signal, which it has from an ``n epsilon`` of
2,000 on. Written to docs/results: ``small_regression.csv`` and ``.md``. The problems are those that the rule was chosen
on: made-up records, and columns of tuning sets, 4,000 records at most; no other is looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from arena import arguments, recipes, regression
from arena.data import Problem
from arena.ours import Ours
from boosting_regression import of_frame
from privet.learners.boosting import regression_outline

SIGNALS = (120, 250, 450, 800, 1600, 3000)
RECIPES = {"choices": regression_outline.PURE_SIGNAL_FOR_PRODUCTS * 2, "products": 0}
MOST_ROWS, SPLITS = 4_000, 5
COLUMNS = [("wine_quality_white", "target"), ("magic", "fLength"), ("magic", "fDist"), ("magic", "fAsym")]
COLUMNS += [("pol", "f6"), ("segment", "intensity-mean"), ("banknote", "skewness"), ("yeast", "mcg")]


def friedman(folder: Path, name: str = "Friedman", n_rows: int = MOST_ROWS, seed: int = 0) -> Problem:
    """Friedman's first problem: five of ten features count."""
    rng = np.random.default_rng(seed)
    x = rng.random((n_rows, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(10)]).assign(y=y + rng.normal(0, 1, n_rows))
    return of_frame(name, folder / "friedman", frame, "y")


def correlated(folder: Path) -> Problem:
    """Seven columns that follow one size, some of them with a long tail, and so does the target."""
    rng = np.random.default_rng(1)
    size = rng.normal(size=MOST_ROWS)
    columns = {}
    for k in range(7):
        seen = np.sqrt(0.8) * size + np.sqrt(0.2) * rng.normal(size=MOST_ROWS)
        columns[f"x{k}"] = np.exp(0.7 * seen) if k % 2 else seen
    frame = pd.DataFrame(columns).assign(y=np.exp(0.3 * (size + 0.8 * rng.normal(size=MOST_ROWS))))
    return of_frame("correlated", folder / "correlated", frame, "y")


def problems(folder: Path) -> Iterator[Problem]:
    """Made-up records, then columns of tuning sets."""
    yield from (regression.abalone_documented(folder, seed) for seed in range(2))
    yield from (regression.abalone_shaped(folder), friedman(folder), correlated(folder))
    for name, target in COLUMNS:
        frame = pd.read_parquet(folder / f"{name}.parquet")
        frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
        for column in frame.columns:
            numeric = pd.api.types.is_numeric_dtype(frame[column])
            frame[column] = frame[column].astype(float if numeric else str)
        yield of_frame(f"{name}: {target}", folder / name, frame.dropna(), target)


def r2(problem: Problem, signal: float, repeat: int, recipe: str) -> float:
    """Return R2 of one fit at the epsilon that has this signal."""
    regression_outline.PURE_SIGNAL_FOR_PRODUCTS = RECIPES[recipe]
    train, test = problem.split(repeat % SPLITS)
    truth, epsilon = problem.labels[test], round(signal / train.size, 4)
    left = truth - Ours("BoostingRegressor", 0.0).run(problem, repeat % SPLITS, epsilon).prediction
    return 1 - float((left**2).mean() / truth.var())


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write both files."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="fits of each kind")
    options = parser.parse_args(given)
    about = [
        "# Regression targets with pure epsilon and little signal",
        "",
        f"R2 of `BoostingRegressor`, mean and standard error of {options.repeats} fits on {SPLITS} splits. By",
        "`python benchmarks/small_regression.py --data FOLDER`. *Choices* is the base of choices, the rule below an",
        "n epsilon of 2,000; *products* are products of columns and stumps, the rule above. The rule was chosen on",
        "these problems.",
    ]
    found = recipes.compare(problems(options.data), "signal", SIGNALS, list(RECIPES), r2, options.repeats)
    recipes.write(found, "signal", "n epsilon", about, options.out / "small_regression")
    return 0


if __name__ == "__main__":
    sys.exit(main())
