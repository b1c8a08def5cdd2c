"""Random decision forests with and without weights of the classes' votes, on the tuning sets.

    python benchmarks/vote_weights.py --data FOLDER

The constants of `privet.learners.random_decision_forest.weights` were chosen on these sets, so this is not a test of
them. Written to ``docs/results``: ``vote_weights.csv`` and ``vote_weights.md``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from rich.progress import track

from arena import arguments, data
from arena.data import Problem
from privet import RandomDecisionForestClassifier

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-6
WEIGHTS = ("equal", "auto")
MOST_TESTED = 4_000


def accuracy(problem: Problem, epsilon: float, delta: float, weights: str, split: int) -> float:
    """Train once, and test."""
    train, test = problem.split(split)
    known = {"n_rows_hint": problem.rows_hint, "random_state": split}
    forest = RandomDecisionForestClassifier(epsilon, delta, problem.schema, vote_weights=weights, **known)
    forest.fit(problem.frame.iloc[train], problem.labels[train])
    tested = test[:MOST_TESTED]
    return float(np.mean(forest.predict(problem.frame.iloc[tested]) == problem.labels[tested]))


def page(table: pd.DataFrame) -> str:
    """Write a line for each task, and their mean."""
    n_splits = table.split.nunique()
    text = [
        "# Weights of the classes' votes",
        "",
        f"Made by `python benchmarks/vote_weights.py --data FOLDER --splits {n_splits}`: accuracy in percent of random "
        f"decision forests on the tuning sets, mean of {n_splits} stratified splits of 80/20, a hint of one digit; "
        f'`vote_weights="equal"`, then `"auto"`. Approximate with delta = {DELTA:g}.',
        "",
        "| task | guarantee | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS) + " |",
        "|---|---|" + "---|" * len(EPSILONS),
    ]
    means = 100 * table.pivot_table(index=["guarantee", "task"], columns=["epsilon", "weights"], values="accuracy")
    for guarantee in ("pure", "approximate"):
        part = means.loc[guarantee]
        for task in [*part.index, "mean"]:
            line = part.mean() if task == "mean" else part.loc[task]
            cells = [f"{line[epsilon, 'equal']:.1f}, {line[epsilon, 'auto']:.1f}" for epsilon in EPSILONS]
            text.append(f"| {task} | {guarantee} | " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all tuning sets."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args(given)
    warnings.simplefilter("ignore")  # of deltas that are large for very small tables
    lines = []
    for task in track([task for task in data.tasks(options.data) if task.used_for_tuning], "tasks"):
        problem = data.load(task)
        assert problem is not None
        for split in range(options.splits):
            for guarantee, delta in (("pure", 0.0), ("approximate", DELTA)):
                for epsilon in EPSILONS:
                    for weights in WEIGHTS:
                        found = accuracy(problem, epsilon, delta, weights, split)
                        line = {"task": task.name, "guarantee": guarantee, "epsilon": epsilon, "split": split}
                        lines.append(line | {"weights": weights, "accuracy": found})
    table = pd.DataFrame(lines)
    table.to_csv(options.out / "vote_weights.csv", index=False, float_format="%.4f", lineterminator="\n")
    (options.out / "vote_weights.md").write_text(page(table), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
