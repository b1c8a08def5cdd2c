"""Two classes with many features: boosting with a base by gradient descent, without it, and the base alone.

    python benchmarks/wide.py --data FOLDER --repeats 4        # some minutes on one core

The rule of `privet.learners.boosting.outline` for more than 16 features was chosen on this: samples of the tuning sets
that have as many (of segment, some of the classes against the rest), and made-up tables of 24 to 57 numbers, whose
log-odds are lines and waves of single numbers, or products of two of them. Every fit is kept in a file as it is made,
so that a stopped run goes on. Written to ``docs/results``: ``wide.csv`` and ``wide.md``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import privet
from arena import arguments, data
from arena.data import Problem, Task, hint_of
from privet.learners.boosting import outline
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.regression_base import AdditiveBase
from privet.privacy.terms import Allowance
from privet.schema.domains import Numeric
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema

SAMPLES = {
    "phishing_websites": (1_000, 3_000, 8_800),
    "pol": (1_000, 3_000, 12_000),
    "segment, classes 0 to 2": (1_800,),
    "segment, classes 0, 3, 6": (1_800,),
    "made up, 24 lines and waves": (3_000, 12_000),
    "made up, 40 lines": (3_000, 12_000),
    "made up, 57 lines and waves": (3_000, 12_000),
    "made up, 30 with products": (3_000, 12_000),
}
EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-6
MOST_TESTED = 4_000
WAYS = ("rounds alone", "with a base", "base alone")
COLUMNS = ["set", "rows", "epsilon", "repeat", "way", "accuracy", "auc", "seconds"]


def load(name: str, folder: Path) -> Problem:
    """Return a problem of two classes by its name."""
    if name.startswith("made up"):
        return made_up(name)
    of, _, classes = name.partition(", classes ")
    (task,) = (task for task in data.tasks(folder) if task.name == of)
    problem = data.load(task)
    assert problem is not None
    if not classes:
        return problem
    chosen = [0, 1, 2] if classes == "0 to 2" else [0, 3, 6]
    schema = Schema(dict(problem.schema.features), classes=[0, 1])
    return replace(problem, labels=np.isin(problem.labels, chosen).astype(np.int64), schema=schema)


def made_up(name: str) -> Problem:
    """Make up 16,000 records of correlated numbers, three in ten of them with a long tail."""
    n, d = 16_000, int(name.split()[2])
    rng = np.random.default_rng([d, len(name)])
    z = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d))
    z /= z.std(axis=0)
    x = np.where(rng.random(d) < 0.3, np.exp(z), z)
    weights = rng.normal(size=d) * (rng.random(d) < 0.6)
    waves = (rng.random(d) < 0.5) & ("waves" in name)
    odds = np.where(waves, np.sin(1.5 * z + rng.normal(size=d)), z) @ weights
    if "products" in name:
        for first, second in rng.integers(d, size=(d // 3, 2)):
            odds += rng.normal() * z[:, first] * z[:, second]
    odds = 2.5 * (odds - odds.mean()) / odds.std()
    labels = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    low, high = np.quantile(x, [0.001, 0.999], axis=0)
    features = {f"x{j}": Numeric(float(low[j]), float(high[j])) for j in range(d)}
    codes = np.clip(x, low, high)
    schema = Schema(features, classes=[0, 1])
    return Problem(Task(name, Path(name)), pd.DataFrame(codes, columns=list(features)), codes, labels, schema)


def planned(way: str) -> AbstractContextManager[object]:
    """Let the outline of many features plan this way, whatever the signal."""

    def begin(rounds: outline.Outline, encoding: Encoding, signal: float, n_rows: int) -> outline.Outline:
        if way == "rounds alone":
            return rounds
        base = DescentBase(n_rows, outline.DESCENT_STEPS)
        if way == "base alone":
            return replace(rounds, base=base, base_part=Fraction(1), n_trees=0, depth=0)
        return replace(rounds, base=base, base_part=outline.descent_part(encoding, signal))

    # Middling strengths have descent before stumps: not what is compared here.
    return mock.patch.multiple(outline, _after_descent=begin, STRENGTHS_TWO_CLASSES=(0, 0))


def measure(problem: Problem, n_rows: int, epsilon: float, repeat: int, way: str) -> tuple[float, float, float]:
    """Train once; accuracy, AUC, and the processor's seconds."""
    rows = np.random.default_rng([repeat, n_rows]).permutation(len(problem.labels))
    train, test = rows[:n_rows], rows[n_rows : n_rows + MOST_TESTED]
    model = privet.BoostingClassifier(
        epsilon, DELTA, problem.schema, n_rows_hint=hinted(n_rows), random_state=repeat, n_jobs=1
    )
    start = time.process_time()
    with planned(way):
        model.fit(problem.frame.iloc[train], problem.labels[train])
    seconds = time.process_time() - start
    chances = np.nan_to_num(model.predict_proba(problem.frame.iloc[test]))
    truth = problem.labels[test]
    return float(np.mean(chances.argmax(axis=1) == truth)), float(roc_auc_score(truth, chances[:, 1])), seconds


def signal(n_rows: int, epsilon: float) -> float:
    """Return n^2 rho, by the number of records as it is hinted."""
    return outline.signal_of(Allowance.of(epsilon, DELTA).whole, hinted(n_rows), 1)


def hinted(n_rows: int) -> int:
    """Return the public guess: one digit and zeros."""
    return hint_of(round(n_rows / (1 - data.TEST_SHARE)))


def cells(sets: Sequence[str], repeats: int) -> Iterator[tuple[str, int, float, int, str]]:
    """Everything that is measured, where the rule has a base: repeat by repeat, and the base alone last."""
    for ways, repeat in product((WAYS[:2], WAYS[2:]), range(repeats)):
        for name, epsilon in product(sets, EPSILONS):
            for n_rows in SAMPLES[name]:
                if signal(n_rows, epsilon) >= outline.SIGNAL_FOR_TREES_TWO_CLASSES:
                    yield from ((name, n_rows, epsilon, repeat, way) for way in ways)


def page(table: pd.DataFrame, folder: Path) -> str:
    """Write the means of each sample and epsilon, and over all samples."""
    table = table.assign(accuracy=100 * table["accuracy"], auc=100 * table["auc"])
    repeats = int(table["repeat"].max()) + 1
    text = [
        "# Two classes with many features",
        "",
        f"Made by `python benchmarks/wide.py --data FOLDER --repeats {repeats}`: accuracy and AUC in percent, delta = "
        f"{DELTA:g}, means of up to {repeats} samples. Where n^2 rho is "
        f"{outline.SIGNAL_FOR_TREES_TWO_CLASSES:,} and more; a star marks where the rule has a base: from "
        f"{outline.SIGNAL_FOR_EACH_COLUMN:,} for each column on. It was chosen on these "
        "samples, so this is not a test of it.",
        "",
        "| epsilon | set | records | " + " | ".join(WAYS) + " |",
        "|---|---|---|" + "---|" * len(WAYS),
    ]
    keys, starred = ["epsilon", "set", "rows"], {}
    for name in SAMPLES:
        enough = outline.SIGNAL_FOR_EACH_COLUMN * AdditiveBase().n_columns(load(name, folder).schema.encoding(16))
        for _, n_rows, epsilon, _, _ in cells([name], 1):
            starred[name, n_rows, epsilon] = signal(n_rows, epsilon) >= enough
    means = table.pivot_table(index=keys, columns="way", values=["accuracy", "auc"], sort=False).sort_index(level=0)
    for (epsilon, name, rows), line in means.iterrows():
        found = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(f"| {epsilon:g} | {name}{'*' * starred[name, rows, epsilon]} | {rows:,} | {' | '.join(found)} |")
    kinds = [
        ("made up" if name.startswith("made up") else "tuning sets") + "*" * starred[name, rows, epsilon]
        for epsilon, name, rows in means.index
    ]
    for kind, part in means.groupby(kinds):
        found = [f"{part['accuracy', way].mean():.1f}, {part['auc', way].mean():.1f}" for way in WAYS]
        text.append(f"| all | {kind} | | " + " | ".join(found) + " |")
    errors = table.groupby([*keys, "way"])["accuracy"].sem().mean()
    seconds = table.groupby("way")["seconds"].mean()
    text += ["", f"Standard error of a mean accuracy: {errors:.1f}. Seconds of the processor for a fit, on average: "]
    text[-1] += ", ".join(f"{way} {seconds[way]:.2f}" for way in WAYS) + "."
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, for so many minutes, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--sets", nargs="+", default=list(SAMPLES), choices=list(SAMPLES))
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this, and go on from there next time")
    options = parser.parse_args(given)
    file, end = options.out / "wide.csv", time.monotonic() + 60 * options.minutes
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done, problems = set(table[COLUMNS[:5]].itertuples(index=False, name=None)), dict[str, Problem]()
    for cell in cells(options.sets, options.repeats):
        if cell in done or time.monotonic() > end:
            continue
        name, n_rows, epsilon, repeat, way = cell
        problem = problems.get(name) or problems.setdefault(name, load(name, options.data))
        found = measure(problem, n_rows, epsilon, repeat, way)
        line = pd.DataFrame([[*cell, *found]], columns=COLUMNS)
        line.to_csv(file, mode="a", index=False, header=not file.exists(), float_format="%.4f", lineterminator="\n")
    (options.out / "wide.md").write_text(page(pd.read_csv(file), options.data), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
