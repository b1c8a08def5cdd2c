"""Two classes of few features: where gradient descent does best alone, and where before stumps or trees.

    python benchmarks/few_features.py --data FOLDER --repeats 6        # ten minutes on one core

The strengths of `privet.learners.boosting.outline` for at most 16 features were chosen on this, and a test holds them
to what is written. Samples of the tuning sets, of some of them with features left out at random, and made-up tables
whose classes are told apart by many small trees and nothing else, which is the worst that descent can meet. All ways
are tried whatever the outline would choose. Every fit is kept as it is made, so that a stopped run goes on. Written to
``docs/results``: ``few_features.csv`` and ``few_features.md``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import descent
from arena import arguments
from arena.data import Problem, Task
from privet.learners.boosting import outline
from privet.learners.boosting.outlined import Outline
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.whitened_base import WhitenedBase
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from wide import DELTA, EPSILONS

SAMPLES: dict[str, tuple[int, ...]] = {
    "banknote": (300, 1_000),
    "mammographic": (300, 760),
    "heart_cleveland": (240,),
    "magic": (300, 1_000, 3_000, 6_000, 15_000),
    "phishing_websites, 12 features": (1_000, 8_800),
    "phishing_websites, 14 features": (3_000, 8_800),
    "pol, 12 features": (3_000, 12_000),
    "pol, 14 features": (1_000, 12_000),
    "pol, 16 features": (3_000, 12_000),
    "bushes, 2 classes, 10 features": (3_000, 12_000),
}
MADE_UP = "bushes"
TREES, BEFORE_STUMPS, ALONE, BEFORE_TREES = (
    "stumps or trees",
    "descent, then stumps",
    "descent alone",
    "descent, then trees",
)
WAYS = (TREES, BEFORE_STUMPS, ALONE, BEFORE_TREES)
COLUMNS = ["set", "rows", "epsilon", "repeat", "way", "strength", "accuracy", "auc", "seconds"]
ZONES = (50, 150, 500, 2_000, 10_000, 60_000, 200_000, 600_000, 3_000_000)


def problem_of(name: str, folder: Path) -> Problem:
    """Return a problem by its name, with so many features drawn at random where it says so."""
    kind, _, rest = name.partition(", ")
    if kind == MADE_UP or not rest:
        return descent.problem_of(name, folder)
    whole, n_features = descent.problem_of(kind, folder), int(rest.split()[0])
    drawn = np.sort(np.random.default_rng(n_features).permutation(whole.codes.shape[1])[:n_features])
    names = [whole.frame.columns[place] for place in drawn]
    schema = Schema({name: whole.schema.features[name] for name in names}, classes=list(range(whole.n_classes)))
    return Problem(Task(name, Path(name)), whole.frame[names], whole.codes[:, drawn], whole.labels, schema)


def planned(way: str, n_rows: int) -> ExitStack:
    """Let boosting plan this way, whatever the strength."""

    def before_stumps(encoding: Encoding, share: Share, hint: int | None, steps: int) -> Outline:
        turned = WhitenedBase(n_rows, outline.TURNED_STEPS, outline.PAIRS_PART, shake=outline.TURNED_SHAKE)
        part, ranks = outline.TURNED_PART_BEFORE_STUMPS, RankCounts(n_rows)
        return Outline(outline.BINS_PART, part, 0, turned, 16, 1, ranks=ranks)

    found = ExitStack()
    strengths = (0.0, float("inf") if way == ALONE else 0.0)
    # Three tenths at every strength.
    parts = {"STRENGTHS_FEW_FEATURES": strengths, "LARGE_SIGNAL_BASE_PART": outline.BASE_PART}
    if way in (ALONE, BEFORE_TREES):
        found.enter_context(mock.patch.multiple(outline, **parts))
    else:
        found.enter_context(mock.patch.object(outline, "STRENGTHS_FEW_FEATURES", strengths))
        found.enter_context(mock.patch.object(outline, "_turned", return_value=None))
    if way in (BEFORE_STUMPS, ALONE):  # Gaussian noise is needed
        found.enter_context(mock.patch("privet.learners.boosting.estimators.is_better_pure", return_value=False))
    if way == BEFORE_STUMPS:
        found.enter_context(mock.patch("privet.learners.boosting.learner.outline", before_stumps))
    return found


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points each way is ahead of stumps or trees, for each sample and epsilon."""
    means = 100 * table.pivot_table(
        index=["set", "rows", "epsilon", "strength"], columns="way", values=["accuracy", "auc"]
    )
    found = []
    for way in WAYS[1:]:
        ahead = {name: means[name][way] - means[name][TREES] for name in ("accuracy", "auc")}
        found.append(pd.DataFrame(ahead).reset_index().assign(way=way))
    frame = pd.concat(found)
    return frame.assign(zone=pd.cut(frame.strength, ZONES, right=False))


def page(table: pd.DataFrame) -> str:
    """Write what descent gains by the signal's strength, and the means of every sample."""
    repeats, (few, enough) = int(table["repeat"].max()) + 1, outline.STRENGTHS_FEW_FEATURES
    text = [
        "# Two classes of few features: descent or trees",
        "",
        f"Made by `python benchmarks/few_features.py --data FOLDER --repeats {repeats}`; delta = {DELTA:g}. The "
        "strength of a signal is n^2 rho for each unit of a record's size. By how many points of accuracy and AUC each "
        "way is ahead of stumps or trees (or pure epsilon, where that is planned with them), on average over samples. "
        "Descent is in turned columns: alone, for four fifths of the budget before stumps, or for three tenths before "
        "trees.",
        "",
        f"With at most {outline.MANY_FEATURES} features the outline takes descent alone from {few} to {enough:,}, then "
        f"descent before trees, for less of the budget from {outline.STRENGTH_FOR_LESS_FEW_FEATURES:,} on. That was "
        "chosen on such samples, so this is not a test of it. Bushes are made up of small trees and nothing else; they "
        "are shown apart.",
        "",
        "| strength | then stumps | alone | then trees | samples "
        "| bushes: then stumps | alone | then trees | samples |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for zone, part in gains(table).groupby("zone", observed=True):
        made_up = part.set.str.startswith(MADE_UP)
        shown = [cell for of in (part[~made_up], part[made_up]) for cell in _cells(of)]
        text.append(f"| {zone.left:,.0f} to {zone.right:,.0f} | " + " | ".join(shown) + " |")
    text += [
        "",
        "Accuracy, AUC of every sample in percent:",
        "",
        "| set | records | epsilon | strength | " + " | ".join(WAYS) + " |",
        "|---|---|---|---|" + "---|" * len(WAYS),
    ]
    means = 100 * table.pivot_table(
        index=["set", "rows", "epsilon", "strength"], columns="way", values=["accuracy", "auc"]
    )
    for (name, rows, epsilon, strength), line in means.iterrows():
        scores = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(f"| {name} | {rows:,} | {epsilon:g} | {strength:,.0f} | " + " | ".join(scores) + " |")
    errors = 100 * table.groupby(["set", "rows", "epsilon", "way"])["accuracy"].sem().mean()
    text += ["", f"Standard error of a mean accuracy: {errors:.1f}."]
    return "\n".join(text) + "\n"


def _cells(part: pd.DataFrame) -> list[str]:
    """Return the means of each way, and how many samples there are."""
    means = [part[part.way == way][["accuracy", "auc"]].mean() for way in WAYS[1:]]
    shown = [f"{mean.accuracy:+.1f}, {mean.auc:+.1f}" if len(part) else "" for mean in means]
    return [*shown, str(len(part) // len(means))]


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, for so many minutes, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--sets", nargs="+", default=list(SAMPLES), choices=list(SAMPLES))
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this, and go on from there next time")
    options = parser.parse_args(given)
    file, end = options.out / "few_features.csv", time.monotonic() + 60 * options.minutes
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done, problems = set(table[["set", "rows", "epsilon", "repeat"]].itertuples(index=False, name=None)), {}
    for repeat, name, epsilon in product(range(options.repeats), options.sets, EPSILONS):
        problem = problems.get(name) or problems.setdefault(name, problem_of(name, options.data))
        for n_rows in SAMPLES[name]:
            strength = descent.strength_of(problem, n_rows, epsilon)
            late = time.monotonic() > end
            if late or (name, n_rows, epsilon, repeat) in done or not ZONES[0] <= strength < ZONES[-1]:
                continue
            found = {way: descent.measure(problem, n_rows, epsilon, repeat, way, planned) for way in WAYS}
            lines = [[name, n_rows, epsilon, repeat, way, strength, *of_way] for way, of_way in found.items()]
            new = pd.DataFrame(lines, columns=COLUMNS)
            new.to_csv(file, mode="a", index=False, header=not file.exists(), float_format="%.4f", lineterminator="\n")
    (options.out / "few_features.md").write_text(page(pd.read_csv(file)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
