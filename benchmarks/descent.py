"""Where gradient descent does best, alone or before stumps: beside stumps, trees and class histograms.

    python benchmarks/descent.py --data FOLDER --repeats 6        # some minutes on one core

The strengths of `privet.learners.boosting.outline` were chosen on this, and a test holds them to what is written:
samples of the tuning sets, and made-up tables whose classes are told apart by lines and waves of single numbers, by
clusters, or by many small trees. All ways are tried whatever the outline would choose. Every fit is kept as it is made,
so that a stopped run goes on. Written to ``docs/results``: ``descent.csv`` and ``descent.md``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import privet
from arena import arguments
from arena.data import Problem, Task
from privet.learners.boosting import outline
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.histogram_base import HistogramBase
from privet.learners.boosting.outlined import Outline
from privet.learners.boosting.rank_counts import RankCounts
from privet.privacy.terms import Share
from privet.schema.domains import Categorical, Numeric
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from wide import DELTA, EPSILONS, MOST_TESTED, hinted, load, signal

SAMPLES: dict[str, tuple[int, ...]] = {
    "banknote": (300, 1_000),
    "mammographic": (300, 760),
    "heart_cleveland": (240,),
    "magic": (300, 1_000, 3_000),
    "pol": (1_000, 3_000),
    "phishing_websites": (300, 1_000, 3_000),
    "segment, classes 0 to 2": (1_800,),
    "segment, classes 0, 3, 6": (500,),
    "made up, 24 lines and waves": (3_000,),
    "made up, 40 lines": (2_000, 3_000),
    "made up, 57 lines and waves": (1_000, 12_000),
    "bushes, 2 classes, 10 features": (3_000, 12_000),
    "bushes, 2 classes, 30 features": (3_000, 12_000),
    "car": (400, 1_380),
    "segment": (500, 1_840),
    "wine_quality_white": (1_000, 3_900),
    "yeast": (400, 1_180),
    "clusters, 3 classes, 8 features": (500, 4_000),
    "clusters, 8 classes, 15 features": (1_000, 8_000),
    "bushes, 4 classes, 12 features": (3_000, 12_000),
}
ALONE, STUMPS, HISTOGRAMS = "descent alone", "stumps or trees", "histograms"
BEFORE_STUMPS, BEFORE_TREES = "descent, then stumps", "descent, then trees"
WAYS = {2: (STUMPS, ALONE, BEFORE_STUMPS), 3: (HISTOGRAMS, ALONE, BEFORE_TREES)}
COLUMNS = ["set", "classes", "rows", "epsilon", "repeat", "way", "strength", "accuracy", "auc", "seconds"]
Planned = Callable[[str, int], ExitStack]  # a way of planning, by its name and a number of records
ZONES = (0, 15, 50, 150, 500, 2_000, 10_000, 30_000, 100_000)  # beyond, nobody would go without trees


def problem_of(name: str, folder: Path) -> Problem:
    """Return a problem by its name."""
    kind, _, rest = name.partition(", ")
    if kind not in ("bushes", "clusters"):
        return load(name, folder)
    n_classes, n_features = (int(part.split()[0]) for part in rest.split(", "))
    rng = np.random.default_rng([n_classes, n_features, len(kind)])
    x = rng.normal(size=(16_000, n_features))
    if kind == "clusters":
        labels = rng.choice(n_classes, len(x), p=rng.dirichlet(np.full(n_classes, 3.0)))
        x = x @ (np.eye(n_features) + 0.5 * rng.normal(size=(n_features,) * 2) / np.sqrt(n_features))
        x += 1.1 * rng.normal(size=(n_classes, n_features))[labels] * rng.integers(0, 2, n_features)
        x = np.where(rng.random(n_features) < 0.3, np.exp(x / 2), x)
        n_categorical = 0
    else:
        n_categorical = n_features // 3
        x[:, :n_categorical] = np.minimum(np.floor(2 * np.abs(x[:, :n_categorical])), 4)
        labels = _by_bushes(x, n_classes, rng)
    low, high = np.quantile(x, [0.001, 0.999], axis=0)
    features: dict[str, Numeric | Categorical] = {}
    columns: dict[str, object] = {}
    for place in range(n_features):
        held = np.clip(x[:, place], low[place], high[place])
        if place < n_categorical:
            features[f"x{place}"] = Categorical(list(range(5)))
            columns[f"x{place}"] = x[:, place].astype(np.int64)
        else:
            features[f"x{place}"] = Numeric(float(low[place]), float(high[place]))
            columns[f"x{place}"] = held
    schema = Schema(features, classes=list(range(n_classes)))
    return Problem(Task(name, Path(name)), pd.DataFrame(columns), x, labels, schema)


def _by_bushes(x: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Draw classes by odds that are sums of twelve small trees."""
    scores = np.zeros((len(x), n_classes))
    for _ in range(12):
        leaf = np.zeros(len(x), np.int64)
        for feature in rng.integers(x.shape[1], size=4):
            leaf = 2 * leaf + (x[:, feature] > np.quantile(x[:, feature], rng.uniform(0.2, 0.8)))
        scores += 1.3 * rng.normal(size=(16, n_classes))[leaf]
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    below = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    drawn: np.ndarray = (below > rng.random((len(x), 1))).argmax(axis=1)
    return drawn


def planned(way: str, n_rows: int) -> ExitStack:
    """Let boosting plan this way, whatever the signal; stumps or trees as the outline has them without descent."""
    usual = outline.outline

    def begin(encoding: Encoding, share: Share | None, hint: int | None, steps: int) -> Outline:
        descent, ranks = DescentBase(n_rows, outline.DESCENT_STEPS_LONG), RankCounts(n_rows)
        if way == ALONE:
            return Outline(outline.BINS_PART, outline.ALL, 0, descent, ranks=ranks)
        if way == BEFORE_STUMPS:
            return Outline(outline.BINS_PART, outline.DESCENT_PART_BEFORE_STUMPS, 0, descent, 16, 1, ranks=ranks)
        if way == HISTOGRAMS:
            return Outline(outline.NOTHING, outline.ALL, 0, HistogramBase(n_rows))
        if way == BEFORE_TREES:
            rounds = Outline(outline.BINS_PART, outline.DESCENT_PART, outline.QUANTILE_LEVELS, descent, 60, 2)
            large = outline.signal_of(share, n_rows, steps) > outline.LARGE_SIGNAL
            return replace(rounds, levels=outline.LARGE_QUANTILE_LEVELS, n_trees=30, depth=5) if large else rounds
        return usual(encoding, share, hint, steps)

    found = ExitStack()
    found.enter_context(mock.patch("privet.learners.boosting.learner.outline", begin))
    if way == STUMPS:
        for strengths in ("STRENGTHS_TWO_CLASSES", "STRENGTHS_FEW_FEATURES"):
            found.enter_context(mock.patch.object(outline, strengths, (0, 0)))
        found.enter_context(mock.patch.object(outline, "_turned", return_value=None))
    elif way != HISTOGRAMS:  # Gaussian noise is needed
        found.enter_context(mock.patch("privet.learners.boosting.estimators.is_better_pure", return_value=False))
    return found


def strength_of(problem: Problem, n_rows: int, epsilon: float) -> float:
    """Return the signal's strength, by the number of records as it is hinted."""
    return outline.strength_of(problem.schema.encoding(16), signal(n_rows, epsilon))


def measure(
    problem: Problem, n_rows: int, epsilon: float, repeat: int, way: str, planned: Planned = planned
) -> list[float]:
    """Train once; accuracy, AUC, and the processor's seconds."""
    rows = np.random.default_rng([repeat, n_rows]).permutation(len(problem.labels))
    train, test = rows[:n_rows], rows[n_rows : n_rows + MOST_TESTED]
    hint = hinted(n_rows)
    model = privet.BoostingClassifier(epsilon, DELTA, problem.schema, n_rows_hint=hint, random_state=repeat, n_jobs=1)
    start = time.process_time()
    with planned(way, hint):
        model.fit(problem.frame.iloc[train], problem.labels[train])
    seconds = time.process_time() - start
    chances, truth = model.predict_proba(problem.frame.iloc[test]), problem.labels[test]
    accuracy = float(np.mean(chances.argmax(axis=1) == truth))
    classes = [1] if problem.n_classes == 2 else np.flatnonzero(np.bincount(truth)).tolist()
    auc = float(np.mean([roc_auc_score(truth == label, chances[:, label]) for label in classes]))
    return [accuracy, auc, seconds]


def cells(sets: Sequence[str], repeats: int) -> Iterator[tuple[str, int, float, int]]:
    """Yield every set, number of records, epsilon and repeat."""
    for repeat, name, epsilon in product(range(repeats), sets, EPSILONS):
        yield from ((name, n_rows, epsilon, repeat) for n_rows in SAMPLES[name])


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points each way is ahead of stumps or trees, or of histograms, for each sample and epsilon."""
    keys = ["classes", "set", "rows", "epsilon", "strength"]
    found = []
    for classes, part in table.groupby(table.classes.clip(upper=3)):
        means = 100 * part.pivot_table(index=keys, columns="way", values=["accuracy", "auc"])
        first, *others = WAYS[classes]
        for way in others:
            ahead = {name: means[name][way] - means[name][first] for name in ("accuracy", "auc")}
            found.append(pd.DataFrame(ahead).reset_index().assign(way=way))
    frame = pd.concat(found)
    frame["zone"] = pd.cut(frame.strength, ZONES, right=False)
    return frame


def page(table: pd.DataFrame) -> str:
    """Write what descent gains by the signal's strength, and the means of every sample."""
    repeats = int(table["repeat"].max()) + 1
    (few, enough), (few_two, enough_two) = outline.STRENGTHS_MANY_CLASSES, outline.STRENGTHS_TWO_CLASSES
    text = [
        "# Gradient descent, or something else",
        "",
        f"Made by `python benchmarks/descent.py --data FOLDER --repeats {repeats}`; delta = {DELTA:g}. The strength of "
        "a signal is n^2 rho for each unit of a record's size and each two classes. By how many points of accuracy and "
        "AUC descent is ahead, on average over samples: for two classes, of stumps or trees (or pure epsilon, where "
        "that is planned without it); for more classes, of class histograms alone, or of pure ones.",
        "",
        f"The outline takes descent alone for more classes from {few} to {enough:,}, then descent before trees; for "
        f"two classes of more than {outline.MANY_FEATURES} features descent from {few_two} to {enough_two:,}, with "
        f"stumps after it from {outline.STRENGTH_FOR_STUMPS:,} on (`lines.md` has its columns below "
        f"{outline.STRENGTH_FOR_BENDS:,}, `few_features.md` the others). That was chosen on such samples, so this is "
        "not a test of it. pol is shown apart: one or two of its 48 features decide, by a threshold.",
        "",
        "| strength | two classes: alone | before stumps | samples | without pol: alone | before stumps | "
        "more classes: alone | before trees | samples |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for zone, part in gains(table).groupby("zone", observed=True):
        two, more = part[part.classes == 2], part[part.classes > 2]
        usual = two[two.set != "pol"]
        shown = [_mean(two, ALONE), _mean(two, BEFORE_STUMPS), str(len(two) // 2)]
        shown += [_mean(usual, ALONE), _mean(usual, BEFORE_STUMPS)]
        shown += [_mean(more, ALONE), _mean(more, BEFORE_TREES), str(len(more) // 2)]
        text.append(f"| {zone.left:,.0f} to {zone.right:,.0f} | " + " | ".join(shown) + " |")
    text += ["", "Accuracy, AUC of every sample in percent:", ""]
    means = 100 * table.pivot_table(
        index=["classes", "set", "rows", "epsilon", "strength"], columns="way", values=["accuracy", "auc"]
    )
    for classes, part in means.groupby(lambda key: min(key[0], 3)):
        ways = WAYS[classes]
        text += [
            "| set | records | epsilon | strength | " + " | ".join(ways) + " |",
            "|---|---|---|---|" + "---|" * len(ways),
        ]
        for (_, name, rows, epsilon, strength), line in part.iterrows():
            scores = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in ways]
            text.append(f"| {name} | {rows:,} | {epsilon:g} | {strength:,.0f} | " + " | ".join(scores) + " |")
        text.append("")
    errors = 100 * table.groupby(["set", "rows", "epsilon", "way"])["accuracy"].sem().mean()
    text.append(f"Standard error of a mean accuracy: {errors:.1f}.")
    return "\n".join(text) + "\n"


def _mean(part: pd.DataFrame, way: str) -> str:
    of_way = part[part.way == way]
    return f"{of_way.accuracy.mean():+.1f}, {of_way.auc.mean():+.1f}" if len(of_way) else ""


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, for so many minutes, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--sets", nargs="+", default=list(SAMPLES), choices=list(SAMPLES))
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this, and go on from there next time")
    options = parser.parse_args(given)
    file, end = options.out / "descent.csv", time.monotonic() + 60 * options.minutes
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done, problems = set(table[["set", "rows", "epsilon", "repeat"]].itertuples(index=False, name=None)), {}
    for cell in cells(options.sets, options.repeats):
        if cell in done or time.monotonic() > end:
            continue
        name, n_rows, epsilon, repeat = cell
        problem = problems.get(name) or problems.setdefault(name, problem_of(name, options.data))
        strength, lines = strength_of(problem, n_rows, epsilon), []
        if strength >= ZONES[-1]:
            continue
        for way in WAYS[min(problem.n_classes, 3)]:
            found = measure(problem, n_rows, epsilon, repeat, way)
            lines.append([name, problem.n_classes, n_rows, epsilon, repeat, way, strength, *found])
        new = pd.DataFrame(lines, columns=COLUMNS)
        new.to_csv(file, mode="a", index=False, header=not file.exists(), float_format="%.4f", lineterminator="\n")
    (options.out / "descent.md").write_text(page(pd.read_csv(file)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
