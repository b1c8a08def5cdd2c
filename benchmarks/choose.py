"""Which learner `PrivetClassifier` chooses: measurements, the rules that follow, and how good these are elsewhere.

    python benchmarks/choose.py --data FOLDER             # half an hour on one core
    python benchmarks/choose.py --data FOLDER --report-only

For goal="accuracy" the candidates are all of privet's learners, as measured in ``docs/results/accuracy.csv``. For the
other goals they are measured here, at pure epsilon. Rules are chosen on the tuning sets of ``arena/data.py`` alone, in
each quarter of the signal (records times epsilon): for accuracy the candidate with the highest mean accuracy, for the
other goals the first one, from small to large, that is within 1.5 points of the best, and nothing larger than for
larger signals. They are checked on all other sets. Written to ``docs/results``: ``choose.csv`` and ``choose.md``; the
rules are copied by hand into ``privet.learners.choose.rules``, and a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from arena import arguments, data
from privet.errors import PrivetError
from privet.estimators.registry import estimator_class
from privet.learners.choose.rules import CLASSIFIERS, QUARTERS, Choice, quarter

EPSILONS = (0.1, 0.5, 1.0, 4.0)
MOST_ROWS = 20_000
MARGIN = 0.015  # of accuracy: smaller differences are mostly noise, with so few tuning sets
HOUSE = (
    *("Boosting", "PrivaTree", "RandomDecisionForest", "DisjointForest", "MatrixForest", "MultinomialForest"),
    *("FSTree", "JPWForest", "DPGDFTree"),
)
CANDIDATES = {
    "readable": [Choice("PrivaTree", {"max_depth": depth}) for depth in (3, 4, 5, 6)],
    "labels only": [
        *(Choice("PrivaTree", {"max_depth": depth, "leaves": "labels"}) for depth in (3, 4, 5, 6)),
        Choice("DisjointForest"),
        Choice("RandomDecisionForest", {"voting": "majority", "leaves": "labels"}),
    ],
}
KEYS = ["goal", "guarantee", "task", "classes", "tuning", "epsilon", "signal", "candidate"]
COMMAND = "python benchmarks/choose.py --data FOLDER"


def measured(tasks: Sequence[data.Task]) -> pd.DataFrame:
    """Return the accuracy of every candidate for the goals other than accuracy."""
    rows = []
    for task in tasks:
        problem = data.load(task, MOST_ROWS)
        if problem is None:
            continue
        for epsilon in EPSILONS:
            for goal, candidates in CANDIDATES.items():
                for choice in candidates:
                    scores = [
                        fitted(problem, choice, epsilon, split) for split in range(2 if task.used_for_tuning else 1)
                    ]
                    rows.append([goal, "pure", *facts(problem, epsilon), str(choice), float(np.mean(scores))])
        print(task.name, flush=True)
    return pd.DataFrame(rows, columns=[*KEYS, "accuracy"])


def facts(problem: data.Problem, epsilon: float) -> tuple[Any, ...]:
    """Return what is public, as the table has it."""
    task = problem.task
    return task.name, problem.n_classes, task.used_for_tuning, epsilon, problem.rows_hint * epsilon


def fitted(problem: data.Problem, choice: Choice, epsilon: float, split: int) -> float:
    """Return the accuracy of one fit on held-out records."""
    train, test = problem.split(split)
    public = {"schema": problem.schema, "n_rows_hint": problem.rows_hint, "random_state": split}
    try:
        model = estimator_class(choice.learner + "Classifier")(epsilon, **public, **choice.settings)
        model.fit(problem.frame.iloc[train], problem.labels[train])
    except PrivetError:  # a public limit, such as memory for the leaves
        return float("nan")
    return float((model.predict(problem.frame.iloc[test]) == problem.labels[test]).mean())


def from_arena(tasks: Sequence[data.Task], means: pd.DataFrame) -> pd.DataFrame:
    """Return privet's learners from the table of all learners, with the public facts of each task."""
    hints = {task.name: task.rows_hint for task in tasks}
    classes = {task.name: task.n_classes for task in tasks if task.name in set(means.task)}
    ours = means[means.method.isin(HOUSE) & means.task.isin(list(classes))]
    return pd.DataFrame(
        {
            "goal": "accuracy",
            "guarantee": ours.rivals,
            "task": ours.task,
            "classes": ours.task.map(classes),
            "tuning": ours.used_to_fix_rules,
            "epsilon": ours.epsilon,
            "signal": ours.task.map(hints) * ours.epsilon,
            "candidate": ours.method,
            "accuracy": ours.accuracy,
        }
    )


def rules(table: pd.DataFrame) -> Mapping[str, list[str]]:
    """Return for each goal the first good candidate in each quarter of the signal, by the tuning sets alone."""
    tuning = table[table.tuning].assign(quarter=table.signal.map(quarter))
    means = tuning.groupby(["goal", "quarter", "candidate"]).accuracy.mean()
    found: dict[str, list[str]] = {}
    found["accuracy"] = [str(means["accuracy"][number].idxmax()) for number in range(len(QUARTERS) + 1)]
    for goal, candidates in CANDIDATES.items():
        names, chosen = [str(candidate) for candidate in candidates], list[str]()
        for number in range(len(QUARTERS), -1, -1):
            scores = means[goal][number][names]
            chosen.insert(0, next(name for name in names if scores[name] >= scores.max() - MARGIN))
            names = names[: names.index(chosen[0]) + 1]  # nothing larger for a smaller signal
        found[goal] = chosen
    return found


def page(table: pd.DataFrame) -> str:
    """Write rules and checks as a page."""
    chosen = rules(table)
    lines = ["# Which learner PrivetClassifier chooses, and how good that is", "", f"Made by `{COMMAND}`.", ""]
    lines += [
        "Rules are chosen on the tuning sets alone, in each quarter of the signal (records times epsilon): for",
        "*accuracy* the candidate with the highest mean accuracy, for the other goals the first one, from small to",
        "large, that is within 1.5 points of the best, and nothing larger than for larger signals; smaller differences",
        "are mostly noise, and a small tree is easier to read. The candidates for",
        "*accuracy* are all of privet's learners, pure and with delta = 1e-6; for the other goals they are trees of",
        "depth 3 to 6, and for *labels only* also random forests of labels (`benchmarks/choose.py`).",
        "",
        "| goal | signal below 300 | 300 to 1,000 | 1,000 to 6,000 | 6,000 and more |",
        "|---|---|---|---|---|",
        *(f"| {goal} | {' | '.join(names)} |" for goal, names in chosen.items()),
        "",
        "## Check on sets that were not used for the rules",
        "",
        "Average rank of the choice among all candidates of its goal (1 is best), and mean accuracy in percent beside",
        "the best single candidate's.",
        "",
        "| goal | guarantee | epsilon | tasks | rank of the choice | place | accuracy | best single candidate |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += checks(table, chosen, "epsilon")
    lines += ["", "The same in each quarter of the signal:", ""]
    lines += ["| goal | guarantee | quarter | pairs | rank of the choice | place | accuracy | best single candidate |"]
    lines += ["|---|---|---|---|---|---|---|---|", *checks(table, chosen, "quarter"), ""]
    return "\n".join(lines)


def checks(table: pd.DataFrame, chosen: Mapping[str, list[str]], by: str) -> list[str]:
    """Return lines that compare the choice with all single candidates on the other sets."""
    others = table[~table.tuning].assign(quarter=table.signal.map(quarter))
    lines = []
    for (goal, guarantee, at), part in others.groupby(["goal", "guarantee", by], sort=False):
        scores = part.pivot_table(index=["task", "epsilon", "quarter"], columns="candidate", values="accuracy").dropna()
        picks = [chosen[goal][number] for number in scores.index.get_level_values("quarter")]
        places = scores.rank(axis=1, ascending=False)
        rank = np.mean([places.loc[row, pick] for row, pick in zip(scores.index, picks, strict=True)])
        mean = np.mean([scores.loc[row, pick] for row, pick in zip(scores.index, picks, strict=True)])
        place = 1 + int((places.mean() < rank - 1e-9).sum())
        best = scores.mean().idxmax()
        lines.append(
            f"| {goal} | {guarantee} | {at:g} | {len(scores)} | {rank:.2f} | {place} of {scores.shape[1]} | "
            f"{100 * mean:.1f} | {best} {100 * scores[best].mean():.1f} |"
        )
    return lines


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is missing, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args(given)
    path = options.out / "choose.csv"
    if options.report_only:
        table = pd.read_csv(path)
    else:
        tasks = sorted(data.tasks(options.data), key=lambda task: (not task.used_for_tuning, task.n_rows))
        house = from_arena(tasks, pd.read_csv(arguments.ROOT / "docs" / "results" / "accuracy.csv"))
        known = [task for task in tasks if task.name in set(house.task)]
        table = pd.concat([house, measured(known)], ignore_index=True)
        table.to_csv(path, index=False, float_format="%.5g", lineterminator="\n")
    (options.out / "choose.md").write_text(page(table), "utf-8")
    for goal, names in rules(table).items():
        stated = [str(choice) for choice in CLASSIFIERS[goal]]
        print(goal, names, "as stated" if names == stated else f"but stated is {stated}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
