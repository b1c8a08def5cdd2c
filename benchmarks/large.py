"""Large tables: boosting by its rule for them, beside a split for each node, and beside the rule before.

    python benchmarks/large.py --data FOLDER [--repeats 3]        # ten minutes on one core

The rules of `privet.learners.boosting.outline` for large signals were chosen on such tables: tuning sets of 11,000 rows
and more, and made-up ones (``arena/made_up.py``). *Now* levels share their splits. *Before*, with ``delta`` above zero:
depth 5, 30 rounds, 15% for a regression; with pure epsilon depth 3, 60 rounds, 20% for it, and public cells. All ways
have the same splits and the same seeds of noise. Every fit is kept in a file as it is made, so that a stopped run goes
on. Written to ``docs/results``: ``large.csv`` and ``large.md``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import privet
from arena import arguments, data, made_up
from arena.data import Problem, Task
from privet.learners.boosting import learner
from privet.learners.boosting.outline import outline
from privet.learners.boosting.outlined import MANY_FEATURES, Outline
from privet.learners.boosting.regression_base import AdditiveBase
from privet.testing import seeded_noise

TUNED_ON = ("phishing_websites", "pol", "magic")
BUDGETS = ((1.0, 1e-6), (4.0, 1e-6), (1.0, 0.0), (4.0, 0.0))
WAYS = ("before", "a split for each node", "now")
COLUMNS = ["set", "epsilon", "delta", "repeat", "way", "accuracy", "seconds"]


def load(name: str, folder: Path) -> Problem:
    """Return a problem by its name, with all of its rows."""
    if name in made_up.TABLES:
        return made_up.problem(name)
    problem = data.load(Task(name, folder / f"{name}.parquet"), sys.maxsize)
    assert problem is not None
    return problem


def planned(way: str) -> AbstractContextManager[object]:
    """Let boosting plan this way where its rule is one for large signals."""

    def begin(encoding: Any, share: Any, n_rows: int | None, steps: int) -> Outline:
        now = outline(encoding, share, n_rows, steps)
        if way == WAYS[2] or not (now.shared_splits or now.depth > 3):
            return now
        own = replace(now, shared_splits=False)
        if way == WAYS[1]:
            return own
        if share.epsilon is None:
            if encoding.n_classes == 2 and encoding.n_features <= MANY_FEATURES:
                own = replace(own, base=AdditiveBase(), base_part=Fraction(3, 20))
            return replace(own, depth=5, n_trees=30)
        base_part = Fraction(1, 5) if isinstance(now.base, AdditiveBase) else now.base_part
        return replace(own, depth=3, n_trees=60, base_part=base_part, levels=0, bins_part=Fraction(0))

    return mock.patch.object(learner, "outline", begin)


def measure(problem: Problem, epsilon: float, delta: float, repeat: int, way: str) -> tuple[float, float]:
    """Train once; accuracy in percent, and the processor's seconds."""
    train, test = problem.split(repeat)
    model = privet.BoostingClassifier(
        epsilon, delta, problem.schema, n_rows_hint=problem.rows_hint, random_state=repeat, n_jobs=1
    )
    with planned(way), seeded_noise(1000 * repeat + round(100 * epsilon)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the noise has a seed
        start = time.process_time()
        model.fit(problem.frame.iloc[train], problem.labels[train])
        seconds = time.process_time() - start
    return 100 * float(np.mean(model.predict(problem.frame.iloc[test]) == problem.labels[test])), seconds


def cells(repeats: int) -> Iterator[tuple[str, float, float, int, str]]:
    """Everything that is measured, table by table."""
    for name, (epsilon, delta), repeat in product((*TUNED_ON, *made_up.TABLES), BUDGETS, range(repeats)):
        yield from ((name, epsilon, delta, repeat, way) for way in WAYS)


def page(table: pd.DataFrame) -> str:
    """Write what each way adds to the accuracy of the rule before, with standard errors over splits."""
    repeats = int(table["repeat"].max()) + 1
    text = [
        "# Splits that a level shares",
        "",
        f"Made by `python benchmarks/large.py --data FOLDER --repeats {repeats}`: boosting's accuracy in percent by "
        f"the rule before, and what each way adds to it; means of {repeats} splits, in parentheses the standard error. "
        "The rules were chosen on tables like these, so this is not a test of them.",
        "",
        "| table | delta | epsilon | " + " | ".join(WAYS) + " | seconds |",
        "|---|---|---|" + "---|" * (len(WAYS) + 1),
    ]
    keys = ["set", "delta", "epsilon"]
    scores = table.pivot_table(index=[*keys, "repeat"], columns="way", values="accuracy", sort=False)
    seconds = table.pivot_table(index=keys, columns="way", values="seconds", aggfunc="min", sort=False)
    means, gains = scores[WAYS[0]].groupby(keys, sort=False).mean(), scores.sub(scores[WAYS[0]], axis=0)
    by_cell = gains.groupby(keys, sort=False)
    mean, error = by_cell.mean(), by_cell.sem()
    for key, before in means.items():
        name, delta, epsilon = key
        found = [f"{mean.loc[key, way]:+.1f} ({error.loc[key, way]:.1f})" for way in WAYS[1:]]
        took = f"{seconds.loc[key, WAYS[0]]:.2f}, {seconds.loc[key, WAYS[2]]:.2f}"
        text.append(f"| {name} | {delta:g} | {epsilon:g} | {before:.1f} | {' | '.join(found)} | {took} |")
    for (delta, epsilon), part in mean.groupby(["delta", "epsilon"], sort=False):
        ratio = np.log(seconds[WAYS[2]] / seconds[WAYS[0]]).groupby(["delta", "epsilon"]).mean()[delta, epsilon]
        before = means.groupby(["delta", "epsilon"]).mean()[delta, epsilon]
        found = [f"{part[way].mean():+.1f}" for way in WAYS[1:]]
        text.append(
            f"| all | {delta:g} | {epsilon:g} | {before:.1f} | {' | '.join(found)} | times {np.exp(ratio):.2f} |"
        )
    text += ["", "Seconds of the processor for a fit, the least of the repeats: before, and now."]
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(given)
    file = options.out / "large.csv"
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(table[COLUMNS[:5]].itertuples(index=False, name=None))
    for cell in cells(options.repeats):
        if cell not in done:
            found = measure(load(cell[0], options.data), *cell[1:])
            line = pd.DataFrame([[*cell, *found]], columns=COLUMNS)
            line.to_csv(file, mode="a", index=False, header=not file.exists(), float_format="%.6g", lineterminator="\n")
    (options.out / "large.md").write_text(page(pd.read_csv(file)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
