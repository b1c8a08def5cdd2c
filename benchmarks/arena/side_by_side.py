"""Two ways to boost side by side: on the same splits of the same tables, with the same seeds of noise.

Every fit is kept in a file as it is made, so that a stopped run goes on.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import privet
from arena import arguments
from arena.cells import measures
from arena.data import Problem
from arena.methods import Answer
from privet.testing import seeded_noise

COLUMNS = ["set", "epsilon", "delta", "repeat", "way", "accuracy", "auc", "seconds"]
KEYS = ["set", "delta", "epsilon"]


@dataclass(frozen=True)
class SideBySide:
    """What is compared, and where.

    Attributes
    ----------
    name : str
        Of the command and its results.
    title, says : str
        Of the page: its heading, and what was measured, as the rest of a sentence on accuracy and AUC.
    ways : tuple of str
        The way before, and the one that is compared with it.
    tables : tuple of str
        What is learned.
    budgets : tuple of (float, float)
        Epsilon and delta.
    planned : callable
        Lets boosting plan a way.
    load : callable
        Returns a problem by its name and the data folder.
    """

    name: str
    title: str
    says: str
    ways: tuple[str, str]
    tables: tuple[str, ...]
    budgets: tuple[tuple[float, float], ...]
    planned: Callable[[str], AbstractContextManager[object]]
    load: Callable[[str, Path], Problem]

    def run(self, description: str | None, given: Sequence[str] | None = None) -> int:
        """Measure what is not in the file yet, and write the page."""
        parser = arguments.parser(description)
        parser.add_argument("--repeats", type=int, default=3)
        options = parser.parse_args(given)
        file = options.out / f"{self.name}.csv"
        table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
        done = set(table[COLUMNS[:5]].itertuples(index=False, name=None))
        for cell in self.cells(options.repeats):
            if cell not in done:
                found = self.measure(self.load(cell[0], options.data), *cell[1:])
                line = pd.DataFrame([[*cell, *found]], columns=COLUMNS)
                new = not file.exists()
                line.to_csv(file, mode="a", index=False, header=new, float_format="%.6g", lineterminator="\n")
        (options.out / f"{self.name}.md").write_text(self.page(pd.read_csv(file)), "utf-8")
        return 0

    def cells(self, repeats: int) -> Iterator[tuple[str, float, float, int, str]]:
        """Everything that is measured, table by table."""
        for name, (epsilon, delta), repeat in product(self.tables, self.budgets, range(repeats)):
            yield from ((name, epsilon, delta, repeat, way) for way in self.ways)

    def measure(
        self, problem: Problem, epsilon: float, delta: float, repeat: int, way: str
    ) -> tuple[float, float, float]:
        """Train once; accuracy and AUC in percent, and the processor's seconds."""
        train, test = problem.split(repeat)
        model = privet.BoostingClassifier(
            epsilon, delta, problem.schema, n_rows_hint=problem.rows_hint, random_state=repeat, n_jobs=1
        )
        with self.planned(way), seeded_noise(1000 * repeat + round(100 * epsilon)), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the noise has a seed
            start = time.process_time()
            model.fit(problem.frame.iloc[train], problem.labels[train])
            seconds = time.process_time() - start
        found = measures(problem, repeat, Answer(model.predict_proba(problem.frame.iloc[test]), seconds))
        return 100 * found["accuracy"], 100 * found["auc"], seconds

    def page(self, table: pd.DataFrame) -> str:
        """Write accuracy and AUC of the first way, and what the second adds to them."""
        repeats, (before, now) = int(table["repeat"].max()) + 1, self.ways
        text = [
            f"# {self.title}",
            "",
            f"Made by `python benchmarks/{self.name}.py --data FOLDER --repeats {repeats}`: boosting's accuracy and "
            f"AUC in percent {self.says}; means of {repeats} splits, in parentheses the standard error. Seconds of the "
            f"processor for a fit: {before}, and {now}, the least of the repeats.",
            "",
            f"| table | delta | epsilon | {before} | accuracy | AUC | seconds |",
            "|---|---|---|---|---|---|---|",
        ]
        wide = table.pivot_table(index=[*KEYS, "repeat"], columns="way", values=["accuracy", "auc"], sort=False)
        seconds = table.pivot_table(index=KEYS, columns="way", values="seconds", aggfunc="min", sort=False)
        means = wide.xs(before, axis=1, level="way").groupby(KEYS, sort=False).mean()
        gains = wide.xs(now, axis=1, level="way") - wide.xs(before, axis=1, level="way")
        mean, error = (getattr(gains.groupby(KEYS, sort=False), name)() for name in ("mean", "sem"))
        for key, own in means.iterrows():
            name, delta, epsilon = key
            found = [f"{mean.loc[key, of]:+.1f} ({error.loc[key, of]:.1f})" for of in ("accuracy", "auc")]
            took = ", ".join(f"{seconds.loc[key, way]:.2f}" for way in self.ways)
            text.append(_line(name, delta, epsilon, own, found, took))
        budget = ["delta", "epsilon"]
        ratio = np.exp(np.log(seconds[now] / seconds[before]).groupby(budget).mean())
        for (delta, epsilon), part in mean.groupby(budget, sort=False):
            own = means.groupby(budget).mean().loc[(delta, epsilon)]
            found = [f"{part[of].mean():+.1f}" for of in ("accuracy", "auc")]
            text.append(_line("all", delta, epsilon, own, found, f"times {ratio[delta, epsilon]:.2f}"))
        return "\n".join(text) + "\n"


def _line(name: str, delta: float, epsilon: float, own: pd.Series, found: list[str], took: str) -> str:
    return f"| {name} | {delta:g} | {epsilon:g} | {own.accuracy:.1f}, {own.auc:.1f} | {' | '.join(found)} | {took} |"
