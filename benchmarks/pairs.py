"""The first two splits of a tree by one choice, beside one choice after the other: accuracy and AUC of boosting.

    python benchmarks/pairs.py --data FOLDER [--repeats 3]        # ten minutes on one core

On the large tables that rules are chosen on: tuning sets and made-up ones (``arena/made_up.py``). Both ways have the
same splits of the data and the same seeds of noise. Every fit is kept in a file as it is made, so that a stopped run
goes on. Written to ``docs/results``: ``pairs.csv`` and ``pairs.md``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product
from unittest import mock

import numpy as np
import pandas as pd

import privet
from arena import arguments, made_up
from arena.cells import measures
from arena.data import Problem
from arena.methods import Answer
from large import TUNED_ON, load
from privet.learners.boosting import annealing, learner
from privet.testing import seeded_noise

TABLES = (*TUNED_ON, *(name for name in made_up.TABLES if not name.startswith("much")))  # much ground takes long
BUDGETS = tuple(product((0.3, 1.0, 4.0), (0.0, 1e-6)))
APART, TOGETHER = WAYS = ("one after the other", "together")
COLUMNS = ["set", "epsilon", "delta", "repeat", "way", "accuracy", "auc", "seconds"]


def planned(way: str) -> AbstractContextManager[object]:
    """Let boosting choose this way."""
    apart = partial(_apart, annealing.Rounds)
    return nullcontext() if way == TOGETHER else mock.patch.object(learner, "Rounds", apart)


def _apart(make: type[annealing.Rounds], *values: object, **named: object) -> annealing.Rounds:
    return make(*values, **{**named, "paired": False})


def measure(problem: Problem, epsilon: float, delta: float, repeat: int, way: str) -> tuple[float, float, float]:
    """Train once; accuracy and AUC in percent, and the processor's seconds."""
    train, test = problem.split(repeat)
    model = privet.BoostingClassifier(
        epsilon, delta, problem.schema, n_rows_hint=problem.rows_hint, random_state=repeat, n_jobs=1
    )
    with planned(way), seeded_noise(1000 * repeat + round(100 * epsilon)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the noise has a seed
        start = time.process_time()
        model.fit(problem.frame.iloc[train], problem.labels[train])
        seconds = time.process_time() - start
    found = measures(problem, repeat, Answer(model.predict_proba(problem.frame.iloc[test]), seconds))
    return 100 * found["accuracy"], 100 * found["auc"], seconds


def cells(repeats: int) -> Iterator[tuple[str, float, float, int, str]]:
    """Everything that is measured, table by table."""
    for name, (epsilon, delta), repeat in product(TABLES, BUDGETS, range(repeats)):
        yield from ((name, epsilon, delta, repeat, way) for way in WAYS)


def page(table: pd.DataFrame) -> str:
    """Write accuracy and AUC of the first way, and what the second adds to them."""
    repeats = int(table["repeat"].max()) + 1
    text = [
        "# Two splits by one choice",
        "",
        f"Made by `python benchmarks/pairs.py --data FOLDER --repeats {repeats}`: boosting's accuracy and AUC in "
        "percent where the first two splits of a tree are chosen one after the other, and what one choice of both "
        f"adds; means of {repeats} splits, in parentheses the standard error. Seconds of the processor for a fit: one "
        "after the other, and together, the least of the repeats.",
        "",
        f"| table | delta | epsilon | {APART} | accuracy | AUC | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    keys = ["set", "delta", "epsilon"]
    wide = table.pivot_table(index=[*keys, "repeat"], columns="way", values=["accuracy", "auc"], sort=False)
    seconds = table.pivot_table(index=keys, columns="way", values="seconds", aggfunc="min", sort=False)
    before = wide.xs(APART, axis=1, level="way").groupby(keys, sort=False).mean()
    gains = wide.xs(TOGETHER, axis=1, level="way") - wide.xs(APART, axis=1, level="way")
    mean, error = (getattr(gains.groupby(keys, sort=False), name)() for name in ("mean", "sem"))
    for key, own in before.iterrows():
        name, delta, epsilon = key
        found = [f"{mean.loc[key, of]:+.1f} ({error.loc[key, of]:.1f})" for of in ("accuracy", "auc")]
        took = ", ".join(f"{seconds.loc[key, way]:.2f}" for way in WAYS)
        text.append(
            f"| {name} | {delta:g} | {epsilon:g} | {own.accuracy:.1f}, {own.auc:.1f} | {' | '.join(found)} | {took} |"
        )
    budget = ["delta", "epsilon"]
    ratio = np.exp(np.log(seconds[TOGETHER] / seconds[APART]).groupby(budget).mean())
    for (delta, epsilon), part in mean.groupby(budget, sort=False):
        own = before.groupby(budget).mean().loc[(delta, epsilon)]
        found = [f"{part[of].mean():+.1f}" for of in ("accuracy", "auc")]
        took = f"times {ratio[delta, epsilon]:.2f}"
        text.append(
            f"| all | {delta:g} | {epsilon:g} | {own.accuracy:.1f}, {own.auc:.1f} | {' | '.join(found)} | {took} |"
        )
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(given)
    file = options.out / "pairs.csv"
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(table[COLUMNS[:5]].itertuples(index=False, name=None))
    for cell in cells(options.repeats):
        if cell not in done:
            found = measure(load(cell[0], options.data), *cell[1:])
            line = pd.DataFrame([[*cell, *found]], columns=COLUMNS)
            line.to_csv(file, mode="a", index=False, header=not file.exists(), float_format="%.6g", lineterminator="\n")
    (options.out / "pairs.md").write_text(page(pd.read_csv(file)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
