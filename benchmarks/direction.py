"""Two classes of few features under pure epsilon: where trees, and one step in the direction of all features, pay off.

    python benchmarks/direction.py --data FOLDER --repeats 12        # seven minutes on two cores

From where on `privet.learners.boosting.outline` grows trees of depth two, whose splits are one choice, and where it
begins with a step, was chosen on this, and a test holds it to what is written. Samples of the tuning sets, of some of
them with features left out at random or the rarer class thinned out; sets of many classes have two made of them, the
most frequent one against the rest, or the first classes against the others, about half of the records each. All ways
are tried whatever the outline would choose.
Written to ``docs/results``: ``direction.csv`` and ``direction.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.metrics import roc_auc_score

import few_features
import privet
from arena import arguments
from arena.data import Problem, Task
from privet.learners.boosting import outline
from privet.learners.boosting.direction_base import DirectionBase
from privet.learners.boosting.outline import SPLIT_PART, Outline
from privet.learners.boosting.regression_base import AdditiveBase
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from wide import hinted

SAMPLES: dict[str, tuple[int, ...]] = {
    "banknote": (300, 1_000),
    "mammographic": (300, 700),
    "heart_cleveland": (240,),
    "magic": (300, 1_500),
    "magic; rare": (300, 1_500),
    "phishing_websites, 12 features": (300, 1_500),
    "phishing_websites, 12 features; rare": (300, 1_500),
    "pol, 14 features": (300, 1_500),
    "pol, 12 features; rare": (1_500,),
    "car; one": (300, 1_000),
    "segment, 12 features; one": (300, 1_000),
    "segment, 12 features; halves": (300, 1_000),
    "wine_quality_white; one": (300, 1_500),
    "wine_quality_white; halves": (300, 1_500),
    "yeast; one": (300, 1_000),
    "yeast; halves": (300, 1_000),
}
SIGNALS = (20, 30, 50, 70, 100, 140, 200, 280, 400, 560, 800, 1_200, 2_000)
MOST_TESTED = 4_000
FREQUENT = 0.75  # the share of the more frequent class where the other is thinned out
STUMPS, REGRESSION, TREES = "stumps", "regression, then stumps", "trees"
# The part of a step, and the levels of what comes after it.
STEPS = {
    "step, 30%, then stumps": (Fraction(3, 10), 1),
    "step, 10%, then trees": (Fraction(1, 10), 2),
    "step, 20%, then trees": (Fraction(1, 5), 2),
    "step, 30%, then trees": (Fraction(3, 10), 2),
}
WAYS = (STUMPS, REGRESSION, TREES, *STEPS)
ZONES = (20, 50, 100, 200, 400, 800, 2_100)

Planned = Callable[[str], AbstractContextManager[object]]


def problem_of(name: str, folder: Path) -> Problem:
    """Return a problem of two classes by its name."""
    whole, _, kind = name.partition("; ")
    problem = few_features.problem_of(whole, folder)
    if not kind:
        return problem
    frequent = int(np.bincount(problem.labels).argmax())
    if kind == "rare":
        others = np.random.default_rng(0).permutation(np.flatnonzero(problem.labels != frequent))
        of_frequent = np.flatnonzero(problem.labels == frequent)
        kept = np.concatenate([of_frequent, others[: round(len(of_frequent) * (1 - FREQUENT) / FREQUENT)]])
        labels = problem.labels
    else:
        kept, shares = np.arange(len(problem.labels)), np.cumsum(np.bincount(problem.labels)) / len(problem.labels)
        first = int(np.abs(shares - 0.5).argmin())
        labels = (problem.labels == frequent if kind == "one" else problem.labels > first).astype(np.int64)
    schema = Schema(dict(problem.schema.features), classes=[0, 1])
    frame = problem.frame.iloc[kept].reset_index(drop=True)
    return Problem(Task(name, Path(name)), frame, problem.codes[kept], labels[kept], schema)


def planned(way: str) -> AbstractContextManager[object]:
    """Let boosting plan this way, whatever the signal."""

    def begin(encoding: Encoding, share: Share, n_rows: int, steps: int) -> Outline:
        part, depth = STEPS.get(way, (Fraction(0), 2 if way == TREES else 1))
        rounds = Outline(Fraction(0), part, 0, DirectionBase(n_rows) if part else None, 16, depth, SPLIT_PART)
        return rounds if way != REGRESSION else replace(rounds, base=AdditiveBase("l1"), base_part=outline.BASE_PART)

    return mock.patch("privet.learners.boosting.learner.outline", begin)


def measure(
    problem: Problem, n_rows: int, signal: float, repeat: int, way: str, planned: Planned = planned
) -> tuple[float, float]:
    """Train once, planned this way; accuracy and AUC in percent."""
    rows = np.random.default_rng([repeat, n_rows]).permutation(len(problem.labels))
    train, test = rows[:n_rows], rows[n_rows : n_rows + MOST_TESTED]
    epsilon = round(signal / n_rows, 4)
    settings = {"schema": problem.schema, "n_rows_hint": hinted(n_rows), "random_state": repeat, "n_jobs": 1}
    model = privet.BoostingClassifier(epsilon, **settings)
    with planned(way):
        model.fit(problem.frame.iloc[train], problem.labels[train])
    chances, truth = model.predict_proba(problem.frame.iloc[test]), problem.labels[test]
    accuracy, auc = float(np.mean(chances.argmax(axis=1) == truth)), float(roc_auc_score(truth, chances[:, 1]))
    return 100 * accuracy, 100 * auc


def measure_all(problem: Problem, n_rows: int, signal: float, repeats: int) -> list[dict[str, object]]:
    """Return means of all ways on one sample, and the standard errors of their gains over stumps."""
    found = np.array([[measure(problem, n_rows, signal, repeat, way) for way in WAYS] for repeat in range(repeats)])
    means, errors = found.mean(axis=0), (found - found[:, :1]).std(axis=0, ddof=1) / np.sqrt(repeats)
    sample = {"set": problem.task.name, "rows": n_rows, "signal": signal}
    names = ("accuracy", "auc", "accuracy_error", "auc_error")
    return [
        sample | {"way": way} | dict(zip(names, (*means[k], *errors[k]), strict=True)) for k, way in enumerate(WAYS)
    ]


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points each way is ahead of stumps, for each sample and signal."""
    means = table.pivot_table(index=["set", "rows", "signal"], columns="way", values=["accuracy", "auc"])
    found = []
    for way in WAYS[1:]:
        ahead = {name: means[name][way] - means[name][STUMPS] for name in ("accuracy", "auc")}
        found.append(pd.DataFrame(ahead).reset_index().assign(way=way))
    frame = pd.concat(found)
    return frame.assign(zone=pd.cut(frame.signal, ZONES, right=False))


def page(table: pd.DataFrame, repeats: int) -> str:
    """Write what each way gains by the signal, and the means of every sample."""
    few, enough = outline.PURE_SIGNALS_FOR_DIRECTION
    text = [
        "# Two classes of few features under pure epsilon: trees, and one step in the direction of all features",
        "",
        f"Made by `python benchmarks/direction.py --data FOLDER --repeats {repeats}`. By how many points of accuracy "
        "and AUC each way is ahead of stumps alone, on average over samples, by n epsilon. Trees have two levels, "
        "whose splits are one choice. A step has a part of the budget, and what comes after it the rest; so has a "
        "regression, with 30%.",
        "",
        f"With at most {outline.MANY_FEATURES} features the outline takes stumps below "
        f"{outline.PURE_SIGNAL_FOR_TREES}, then trees, and from {few} to {enough:,} a step before them, with "
        f"{100 * float(outline.DIRECTION_PART):g}% of the budget. That was chosen on such samples, so this is not a "
        "test of it. Sets of many classes have the most frequent one against the rest (one), or the first classes "
        "against the others (halves); of some the rarer class is thinned out until the other has "
        f"{100 * FREQUENT:g}% (rare).",
        "",
        "| n epsilon | " + " | ".join(WAYS[1:]) + " | samples |",
        "|---|" + "---|" * len(WAYS),
    ]
    for zone, part in gains(table).groupby("zone", observed=True):
        means = [part[part.way == way][["accuracy", "auc"]].mean() for way in WAYS[1:]]
        shown = [f"{mean.accuracy:+.1f}, {mean.auc:+.1f}" for mean in means]
        text.append(f"| {zone.left:,} to {zone.right:,} | " + " | ".join(shown) + f" | {len(part) // len(means)} |")
    text += ["", *over_sets(table)]
    text += [
        "",
        "Accuracy, AUC of every sample in percent:",
        "",
        "| set | records | n epsilon | " + " | ".join(WAYS) + " |",
        "|---|---|---|" + "---|" * len(WAYS),
    ]
    means = table.pivot_table(index=["set", "rows", "signal"], columns="way", values=["accuracy", "auc"])
    for (name, rows, signal), line in means.iterrows():
        scores = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(f"| {name} | {rows:,} | {signal:,} | " + " | ".join(scores) + " |")
    return "\n".join([*text, "", errors(table)]) + "\n"


def over_sets(table: pd.DataFrame) -> list[str]:
    """Write how far ahead of stumps two ways are by sets, whose differences are larger than those of fits."""
    means = table.pivot_table(index=["set", "rows", "signal"], columns="way", values=["accuracy", "auc"])
    zone_of = pd.cut(means.index.get_level_values("signal"), ZONES, right=False)
    step = f"step, {100 * outline.DIRECTION_PART}%, then trees"
    text = [
        "Against stumps: means over sets, standard errors in parentheses, and on how many sets it is ahead.",
        "",
        f"| n epsilon | {TREES}: accuracy | AUC | {step}: accuracy | AUC |",
        "|---|---|---|---|---|",
    ]
    for zone in zone_of.categories:
        part, cells = means[zone_of == zone], []
        for way, measure_name in product((TREES, step), ("accuracy", "auc")):
            of_sets = (part[measure_name][way] - part[measure_name][STUMPS]).groupby("set").mean()
            ahead = f"{int((of_sets > 0).sum())} of {len(of_sets)}"
            cells.append(f"{of_sets.mean():+.1f} ({of_sets.sem():.1f}), {ahead}")
        text.append(f"| {zone.left:,} to {zone.right:,} | " + " | ".join(cells) + " |")
    return text


def errors(table: pd.DataFrame) -> str:
    """Say how exact gains are: for one sample, and on average over those of a row of the first table."""
    of_one = table[table.way == TREES]
    zones = of_one.groupby(pd.cut(of_one.signal, ZONES, right=False), observed=True)["accuracy_error"]
    of_zone = zones.apply(lambda part: float(np.sqrt((part**2).sum())) / len(part))
    return (
        f"Standard error of a gain in accuracy: {of_one.accuracy_error.mean():.1f} for one sample, at most "
        f"{of_zone.max():.2f} for the mean of a row of the first table, given its samples."
    )


def main(given: Sequence[str] | None = None) -> int:
    """Measure all samples."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=16)
    options = parser.parse_args(given)
    lines, at_once = [], Parallel(n_jobs=2)
    for name, sizes in track(SAMPLES.items(), "sets"):
        problem = problem_of(name, options.data)
        each = (delayed(measure_all)(problem, *sample, options.repeats) for sample in product(sizes, SIGNALS))
        lines += [line for sample in at_once(each) for line in sample]
    table = pd.DataFrame(lines)
    table.to_csv(options.out / "direction.csv", index=False, float_format="%.2f", lineterminator="\n")
    (options.out / "direction.md").write_text(page(table, options.repeats), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
