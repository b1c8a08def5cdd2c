"""What it costs not to know the number of records: every learner with a hint, with a bought number, and without one.

    python benchmarks/no_hint.py --data FOLDER               # the tuning sets
    python benchmarks/no_hint.py --data FOLDER --others      # the sets on which no rule was chosen

A hint is the number of training records rounded to one digit. Learners that do not plan with that number are left out,
since nothing is bought for them. Written to ``docs/results``: ``no_hint.csv`` and ``no_hint.md``, or
``no_hint_others.csv`` and ``no_hint_others.md``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
from rich.progress import track

import privet
from arena import arguments, data
from arena.data import Problem
from privet.estimators import counting

LEARNERS = ("Boosting", "RandomDecisionForest", "PrivaTree", "MultinomialForest")
HINTS = ("hint", "bought", "unknown")
EPSILONS = (0.1, 0.5, 1.0)
DELTA = 1e-6
MOST_TESTED = 4_000


def accuracy(problem: Problem, learner: str, epsilon: float, delta: float, hint: str, split: int) -> float:
    """Train once, and test."""
    train, test = problem.split(split)
    known = {"hint": problem.rows_hint, "bought": None, "unknown": "unknown"}[hint]
    make = getattr(privet, f"{learner}Classifier")
    model = make(epsilon, delta, problem.schema, n_rows_hint=known, random_state=split)
    model.fit(problem.frame.iloc[train], problem.labels[train])
    tested = test[:MOST_TESTED]
    return float(np.mean(model.predict(problem.frame.iloc[tested]) == problem.labels[tested]))


def page(table: pd.DataFrame, command: str) -> str:
    """Write means over all tasks."""
    n_tasks, n_splits = table.task.nunique(), table.split.nunique()
    text = [
        "# Without a hint of the number of records",
        "",
        f"Made by `{command}`: accuracy in percent, mean of {n_tasks} tasks and {n_splits} stratified splits of 80/20, "
        f"at most {MOST_TESTED:,} records tested. *Hint*: the number of training records rounded to one digit. "
        "*Bought*: `n_rows_hint=None`, which spends a hundredth to a twentieth of the budget on it. *Unknown*: "
        '`n_rows_hint="unknown"`. In parentheses the difference from the hint, and the standard error of that '
        f"difference over splits. delta = {DELTA:g} where the guarantee is approximate.",
        "",
        "| learner | guarantee | epsilon | hint | bought | unknown |",
        "|---|---|---|---|---|---|",
    ]
    for (learner, guarantee, epsilon), part in table.groupby(["learner", "guarantee", "epsilon"], sort=False):
        means = 100 * part.pivot_table(index="split", columns="hint", values="accuracy")
        cells = [f"{means['hint'].mean():.1f}"]
        for name in HINTS[1:]:
            less = means[name] - means["hint"]
            error = less.std() / np.sqrt(len(less)) if len(less) > 1 else np.nan
            cells.append(f"{means[name].mean():.1f} ({less.mean():+.1f} +- {error:.1f})")
        text.append(f"| {learner} | {guarantee} | {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all tasks."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--others", action="store_true", help="the sets on which no rule was chosen")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument(
        "--hints", nargs="+", default=list(HINTS), help="for a look at some of them; no page is written"
    )
    parser.add_argument("--part", type=Fraction, help="of the budget for the number; no page is written")
    options = parser.parse_args(given)
    if options.part is not None:
        counting.MOST_PART = counting.LEAST_PART = options.part
    warnings.simplefilter("ignore")  # of deltas that are large for very small tables
    lines = []
    chosen = [task for task in data.tasks(options.data) if task.used_for_tuning != options.others]
    for task in track(chosen, "tasks"):
        problem = data.load(task)
        if problem is None or not problem.n_classes:
            continue
        for split in range(options.splits):
            for guarantee, delta in (("pure", 0.0), ("approximate", DELTA)):
                for epsilon in options.epsilons:
                    for learner in options.learners:
                        for hint in options.hints:
                            found = accuracy(problem, learner, epsilon, delta, hint, split)
                            line = {"task": task.name, "learner": learner, "guarantee": guarantee, "epsilon": epsilon}
                            lines.append(line | {"split": split, "hint": hint, "accuracy": found})
    table = pd.DataFrame(lines)
    order = pd.Categorical(table.learner, options.learners)
    table = table.assign(learner=order).sort_values(["learner"], kind="stable").astype({"learner": str})
    if options.part is not None or options.hints != list(HINTS):
        keys = ["learner", "guarantee", "epsilon", "hint"]
        means = table.groupby([*keys, "split"], sort=False).accuracy.mean()
        print(means.groupby(keys, sort=False).agg(["mean", "sem"]).to_string())
        return 0
    name = "no_hint_others" if options.others else "no_hint"
    table.to_csv(options.out / f"{name}.csv", index=False, float_format="%.4f", lineterminator="\n")
    command = "python benchmarks/no_hint.py --data FOLDER" + (" --others" if options.others else "")
    (options.out / f"{name}.md").write_text(page(table, f"{command} --splits {options.splits}"), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
