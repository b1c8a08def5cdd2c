"""Large tables with a regression target: deeper trees that share their splits beside 30 trees of depth three.

    python benchmarks/large_regression.py --data FOLDER [--repeats 4]        # ten minutes on one core

R2 of `BoostingRegressor` as it is, and with the trees and cells that it had for large signals before. Written to
docs/results: ``large_regression.csv`` and ``.md``. The problems are those that the rule was chosen on: made-up records,
columns of tuning sets, and the income of bench_california.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from arena import arguments, made_up, recipes
from arena.data import Problem
from arena.ours import Ours
from boosting_regression import of_frame
from privet.learners.boosting import regression_outline
from privet.learners.boosting.outlined import Outline
from privet.schema.encoding import Encoding
from small_regression import friedman

DELTA, EPSILONS, SPLITS = 1e-6, (1.0, 4.0), 4
NOW, BEFORE = "now", "depth three"
COLUMNS = [("magic", "fLength"), ("magic", "fDist"), ("pol", "f6"), ("bench_california", "MedInc")]


def trees(folder: Path, n_rows: int) -> Problem:
    """Return correlated numbers; a line and 24 random trees of depth five decide."""
    rng = np.random.default_rng(n_rows)
    x = rng.normal(size=(n_rows, 8)) @ rng.normal(0, 0.5, (8, 8)) + rng.normal(size=(n_rows, 8))
    y = made_up.random_trees(rng, x) + made_up.random_trees(rng, x) + 0.5 * x[:, 0] + rng.normal(0, 0.7, n_rows)
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(8)]).assign(y=y)
    return of_frame(f"random trees, {n_rows:,} records", folder / "trees", frame, "y")


def problems(folder: Path) -> Iterator[Problem]:
    """Made-up records, then columns of data sets."""
    yield from (friedman(folder, f"Friedman, {n_rows:,} records", n_rows, n_rows) for n_rows in (20_000, 100_000))
    yield from (trees(folder, n_rows) for n_rows in (20_000, 100_000, 400_000))
    for name, target in COLUMNS:
        frame = pd.read_parquet(folder / f"{name}.parquet")
        columns = {c: frame[c].astype(float if pd.api.types.is_numeric_dtype(frame[c]) else str) for c in frame.columns}
        yield of_frame(f"{name}: {target}", folder / name, pd.DataFrame(columns).dropna(), target)


def planned(recipe: str) -> AbstractContextManager[object]:
    """Let boosting plan by this recipe."""

    def shallow(encoding: Encoding, rounds: Outline, signal: float) -> Outline:
        return replace(rounds, depth=3) if signal >= regression_outline.LARGE_SIGNAL else rounds

    if recipe == NOW:
        return nullcontext()
    cells, levels = regression_outline.RANK_CELLS, regression_outline.RANK_LEVELS
    as_before = {"LARGE_SIGNAL_BASE_PART": regression_outline.TREES_BASE_PART}
    as_before |= {"LARGE_RANK_CELLS": cells, "LARGE_RANK_LEVELS": levels}
    return mock.patch.multiple(regression_outline, _grown=shallow, **as_before)


def r2(problem: Problem, epsilon: float, repeat: int, recipe: str) -> float:
    """Return R2 of one fit."""
    truth = problem.labels[problem.split(repeat % SPLITS)[1]]
    with planned(recipe):
        left = truth - Ours("BoostingRegressor", DELTA).run(problem, repeat % SPLITS, epsilon).prediction
    return 1 - float((left**2).mean() / truth.var())


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write both files."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=4, help="fits of each kind")
    options = parser.parse_args(given)
    about = [
        "# Large tables with a regression target",
        "",
        f"R2 of `BoostingRegressor` at delta = 1e-6, mean and standard error of {options.repeats} fits on {SPLITS}",
        "splits. By `python benchmarks/large_regression.py --data FOLDER`. *Now*: for signals of a million and more,",
        "deeper trees whose levels share a split, more of them with more signal, on 64 cells, after a base for a tenth",
        "of the budget; *depth three*: 30 trees of depth three, each node with a split of its own, on 32 cells, after",
        "a base for three tenths. The rule was chosen on these problems.",
    ]
    found = recipes.compare(problems(options.data), "epsilon", EPSILONS, [BEFORE, NOW], r2, options.repeats)
    recipes.write(found, "epsilon", "Epsilon", about, options.out / "large_regression")
    return 0


if __name__ == "__main__":
    sys.exit(main())
