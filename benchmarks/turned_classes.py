"""Gradient descent in columns that are turned, beside descent in columns as they are, for classes.

    python benchmarks/turned_classes.py --data FOLDER --repeats 6        # ten minutes on one core

From which signal on, for their number, `privet.learners.boosting.outline` turns columns was chosen on this, and a test
holds it to what is written. Samples are those of ``descent.py``: of the tuning sets, and made up. Both kinds are
measured on the same splits, alone, before stumps or before trees, as the outline has them at a strength; stumps leave
descent less where columns are not turned. Every fit is kept as it is made, so that a stopped run goes on. Written to
``docs/results``: ``turned_classes.csv`` and ``turned_classes.md``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

import pandas as pd

from arena import arguments
from arena.data import Problem
from descent import SAMPLES, cells, measure, problem_of, strength_of
from privet.learners.boosting import outline
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.outlined import Outline
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.regression_base import AdditiveBase
from privet.learners.boosting.whitened_base import WhitenedBase
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding
from wide import DELTA, signal

PLAIN, TURNED = "as they are", "turned"
WAYS = (PLAIN, TURNED)
COLUMNS = [
    "set",
    "classes",
    "rows",
    "epsilon",
    "repeat",
    "way",
    "strength",
    "columns",
    "signal",
    "accuracy",
    "auc",
    "seconds",
]
ZONES = (0, 0.1, 0.2, 0.5, 1, 2, 5, 20, 1e9)  # of n^2 rho over the cube of the columns
LEAST_STRENGTH = {2: outline.STRENGTHS_TWO_CLASSES[0], 3: outline.STRENGTHS_MANY_CLASSES[0]}
MOST_STRENGTH = {2: outline.STRENGTHS_TWO_CLASSES[1], 3: float("inf")}


def planned(way: str, n_rows: int) -> ExitStack:
    """Let boosting descend in columns of this kind, whatever the signal for their number."""

    def begin(encoding: Encoding, share: Share, hint: int | None, steps: int) -> Outline:
        turned = WhitenedBase(n_rows, outline.TURNED_STEPS, outline.PAIRS_PART, shake=outline.TURNED_SHAKE)
        turned = turned if way == TURNED else None
        ranks, base = RankCounts(n_rows), turned or DescentBase(n_rows, outline.DESCENT_STEPS_LONG)
        of_signal = outline.signal_of(share, n_rows, steps)
        if encoding.n_classes == 2:
            part = outline.TURNED_PART_BEFORE_STUMPS if turned else outline.DESCENT_PART_BEFORE_STUMPS
            return Outline(outline.BINS_PART, part, 0, base, 16, 1, ranks=ranks)
        if outline.strength_of(encoding, of_signal) < outline.STRENGTHS_MANY_CLASSES[1]:
            return Outline(outline.BINS_PART, outline.ALL, 0, base, ranks=ranks)
        usual = outline.outline(encoding, share, hint, steps)
        calm = turned and replace(turned, shake=outline.TURNED_SHAKE_BEFORE_TREES)
        return replace(usual, base=calm or DescentBase(n_rows, outline.DESCENT_STEPS))

    found = ExitStack()
    found.enter_context(mock.patch("privet.learners.boosting.learner.outline", begin))
    found.enter_context(mock.patch("privet.learners.boosting.estimators.is_better_pure", return_value=False))
    return found


def n_columns(problem: Problem) -> int:
    """Return the number of columns, the constant among them."""
    return AdditiveBase().n_columns(problem.schema.encoding(16)) + 1


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points turned columns are ahead, for each sample and epsilon."""
    keys = ["classes", "set", "rows", "epsilon", "columns", "signal"]
    means = 100 * table.pivot_table(index=keys, columns="way", values=["accuracy", "auc"])
    ahead = {name: means[name][TURNED] - means[name][PLAIN] for name in ("accuracy", "auc")}
    found = pd.DataFrame(ahead).reset_index()
    return found.assign(share=found.signal / found["columns"] ** 3)


def page(table: pd.DataFrame) -> str:
    """Write what turned columns gain by the signal for every two of them."""
    repeats, found = int(table["repeat"].max()) + 1, gains(table)
    text = [
        "# Descent in turned columns",
        "",
        f"Made by `python benchmarks/turned_classes.py --data FOLDER --repeats {repeats}`; delta = {DELTA:g}. By how "
        "many points of accuracy and AUC gradient descent in turned columns is ahead of descent in columns as they "
        "are, on average over samples, by n^2 rho over the cube of the columns: alone or, at large strengths, "
        "before trees for more than two classes; before stumps for two. Standard errors in parentheses, over samples.",
        "",
        f"The outline turns columns from {outline.SIGNAL_FOR_TURNING:g} on, of what descent gets of the signal: all of "
        f"it alone, {float(outline.TURNED_PART_BEFORE_STUMPS):g} of it before stumps (two classes of more than "
        f"{outline.MANY_FEATURES} features; `few_features.md` has the others), {float(outline.DESCENT_PART):g} "
        "before trees. That was chosen on such samples, so this is not a test of it.",
        "",
        "| n^2 rho over the cube of the columns | two classes: accuracy | AUC | samples "
        "| more classes: accuracy | AUC | samples |",
        "|---|---|---|---|---|---|---|",
    ]
    found["zone"] = pd.cut(found.share, ZONES, right=False)
    for zone, part in found.groupby("zone", observed=True):
        shown = [cell for kind in (part[part.classes == 2], part[part.classes > 2]) for cell in _shown(kind)]
        end = "and more" if zone.right == ZONES[-1] else f"to {zone.right:g}"
        text.append(f"| {zone.left:g} {end} | " + " | ".join(shown) + " |")
    text += ["", "Every sample: accuracy, AUC in percent.", ""]
    text += [
        "| set | records | epsilon | columns | over their cube | as they are | turned |",
        "|---|---|---|---|---|---|---|",
    ]
    keys = ["classes", "set", "rows", "epsilon", "columns", "signal"]
    means = 100 * table.pivot_table(index=keys, columns="way", values=["accuracy", "auc"])
    for (_, name, rows, epsilon, columns, of_signal), line in means.iterrows():
        scores = [f"{line['accuracy', way]:.1f}, {line['auc', way]:.1f}" for way in WAYS]
        text.append(
            f"| {name} | {rows:,} | {epsilon:g} | {columns} | {of_signal / columns**3:.2f} | "
            + " | ".join(scores)
            + " |"
        )
    times = table.pivot_table(index=["set", "rows", "epsilon"], columns="way", values="seconds")
    ratio = (times[TURNED] / times[PLAIN]).median()
    text += ["", f"A fit takes {ratio:.2f} times as long with turned columns, by the median."]
    return "\n".join(text) + "\n"


def _shown(part: pd.DataFrame) -> list[str]:
    if not len(part):
        return ["", "", "0"]
    of = [(part[name].mean(), part[name].sem()) for name in ("accuracy", "auc")]
    return [*(f"{mean:+.1f}" + ("" if error != error else f" ({error:.1f})") for mean, error in of), str(len(part))]


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, for so many minutes, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this, and go on from there next time")
    options = parser.parse_args(given)
    file, end = options.out / "turned_classes.csv", time.monotonic() + 60 * options.minutes
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done, problems = set(table[["set", "rows", "epsilon", "repeat"]].itertuples(index=False, name=None)), {}
    for cell in cells(list(SAMPLES), options.repeats):
        if cell in done or time.monotonic() > end:
            continue
        name, n_rows, epsilon, repeat = cell
        problem = problems.get(name) or problems.setdefault(name, problem_of(name, options.data))
        strength, kind, lines = strength_of(problem, n_rows, epsilon), min(problem.n_classes, 3), []
        if not LEAST_STRENGTH[kind] <= strength < MOST_STRENGTH[kind]:
            continue
        for way in WAYS:
            found = measure(problem, n_rows, epsilon, repeat, way, planned)
            facts = [strength, n_columns(problem), signal(n_rows, epsilon)]
            lines.append([name, problem.n_classes, n_rows, epsilon, repeat, way, *facts, *found])
        new = pd.DataFrame(lines, columns=COLUMNS)
        new.to_csv(file, mode="a", index=False, header=not file.exists(), float_format="%.4f", lineterminator="\n")
    (options.out / "turned_classes.md").write_text(page(pd.read_csv(file)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
