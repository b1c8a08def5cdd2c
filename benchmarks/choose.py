"""Which learner `PrivetClassifier` chooses: measurements, the rules that follow, and how good these are elsewhere.

    python benchmarks/choose.py --data FOLDER                 # some half an hour on one core
    python benchmarks/choose.py --data FOLDER --minutes 9     # goes on where a run was stopped
    python benchmarks/choose.py --data FOLDER --report-only   # writes the pages from what is there
    python benchmarks/choose.py --data FOLDER --again "PrivaTree"    # measures what begins so anew

Candidates are all of privet's learners with their defaults, and some of them with other settings: pure and with delta =
1e-6, on the samples and splits of ``docs/results/accuracy.csv``, where the defaults on large tables are taken from;
small tables have more splits. For goal="accuracy" all of them are candidates, for the other goals those in `GOALS`.
Rules are chosen on the tuning sets of ``arena/data.py`` alone, in each quarter of the signal (records times epsilon),
pure and approximate together. They are checked on all other sets. Written to ``docs/results``: ``choose.csv`` and
``choose.md``; the rules are copied by hand into ``privet.learners.choose.rules``, and a test compares the two.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from arena import arguments, data, ranks
from arena.cells import Cells
from arena.filling import fill
from arena.ours import Ours
from privet.learners.choose.rules import CLASSIFIERS, QUARTERS, Choice, quarter

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-6
FEW_ROWS, SPLITS_OF_FEW_ROWS, SPLITS = 2_500, 20, 5  # much hangs on chance in small tables, and a fit takes no time
DEFAULTS = (
    *("Boosting", "PrivaTree", "RandomDecisionForest", "DisjointForest", "MatrixForest", "MultinomialForest"),
    *("FSTree", "JPWForest", "DPGDFTree"),
)
SLOW = ("DisjointForest", "MatrixForest")  # far from the first places; five splits will do
DEFAULT_SETTINGS = tuple(Choice(name) for name in DEFAULTS if name not in SLOW)
OTHER_SETTINGS = (
    *(Choice("PrivaTree", {"max_depth": depth}) for depth in (3, 5, 6)),
    *(Choice("PrivaTree", {"max_depth": depth, "leaves": "labels"}) for depth in (3, 4, 5, 6)),
    Choice("MultinomialForest", {"leaves": "counts"}),
    Choice("RandomDecisionForest", {"voting": "majority", "leaves": "labels"}),
    Choice("RandomDecisionForest", {"vote_weights": "equal"}),
    Choice("Boosting", {"max_depth": 1}),
)
# What may be chosen for each goal, the most wanted first: for the goals other than accuracy from small to large. Trees
# of the multinomial forest are left out there: they need a secret coin for each record, so tables with ids refuse them.
GOALS: Mapping[str, tuple[str, ...]] = {
    "accuracy": (*DEFAULTS, *map(str, OTHER_SETTINGS)),
    "readable": ("PrivaTree, max_depth=3", "PrivaTree", "PrivaTree, max_depth=5", "PrivaTree, max_depth=6"),
    "labels only": (
        *(f"PrivaTree, max_depth={depth}, leaves=labels" for depth in (3, 4, 5, 6)),
        *("DisjointForest", "RandomDecisionForest, voting=majority, leaves=labels"),
    ),
}
# What is compared with what in the check, by heading: the goal, and the candidates.
CHECKED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "accuracy, defaults": ("accuracy", DEFAULTS),
    "accuracy, all settings": ("accuracy", GOALS["accuracy"]),
    "readable": ("readable", GOALS["readable"]),
    "labels only": ("labels only", GOALS["labels only"]),
}
MARGIN = 0.005  # of accuracy: smaller differences are mostly noise, with so few tuning sets
COMMAND = "python benchmarks/choose.py --data FOLDER"


def measured(tasks: Sequence[data.Task], cells: Cells, minutes: float, names: tuple[str, ...]) -> None:
    """Train what is missing of the candidates whose names begin so, the tuning sets first."""
    until = time.monotonic() + 60 * minutes
    for task in sorted(tasks, key=lambda task: (not task.used_for_tuning, task.n_rows)):
        if time.monotonic() > until:
            return
        every = [*(DEFAULT_SETTINGS if is_small(task) else ()), *OTHER_SETTINGS]
        methods = [Ours(each.learner + "Classifier", delta, each.settings) for delta in (0.0, DELTA) for each in every]
        methods = [method for method in methods if method.name.startswith(names)]
        problem = data.load(task)
        if problem is not None:
            fill([problem], methods, cells, EPSILONS, SPLITS_OF_FEW_ROWS if is_small(task) else SPLITS, until)


def is_small(task: data.Task) -> bool:
    """Whether a task has few rows, and so many splits."""
    return task.n_rows < FEW_ROWS


def candidates(tasks: Sequence[data.Task], means: pd.DataFrame) -> pd.DataFrame:
    """Return the means with the public facts of each task."""
    facts = {task.name: task for task in tasks}
    ours = means[means.method.isin(GOALS["accuracy"]) & means.task.isin(list(facts))]
    return pd.DataFrame(
        {
            "guarantee": ours.rivals,
            "task": ours.task,
            "classes": ours.task.map({name: task.n_classes for name, task in facts.items()}),
            "tuning": ours.task.map({name: task.used_for_tuning for name, task in facts.items()}),
            "epsilon": ours.epsilon,
            "signal": ours.task.map({name: task.rows_hint for name, task in facts.items()}) * ours.epsilon,
            "candidate": ours.method,
            "splits": ours.splits,
            "accuracy": ours.accuracy,
        }
    )


def rules(table: pd.DataFrame) -> Mapping[str, list[str]]:
    """Return for each goal the choice in each quarter of the signal, by the tuning sets alone."""
    tuning = table[table.tuning].assign(quarter=table.signal.map(quarter))
    found: dict[str, list[str]] = {}
    for goal, names in GOALS.items():
        left, chosen = list(names), list[str]()
        means = tuning.groupby(["quarter", "candidate"]).accuracy.mean().unstack()[left]
        for number in range(len(QUARTERS), -1, -1):
            scores = means.loc[number, left]
            chosen.insert(0, str((scores >= scores.max() - MARGIN).idxmax()))
            if goal != "accuracy":  # nothing larger for a smaller signal
                left = left[: left.index(chosen[0]) + 1]
        found[goal] = chosen
    return found


def page(table: pd.DataFrame) -> str:
    """Write rules and checks as a page."""
    chosen = rules(table)
    lines = ["# Which learner PrivetClassifier chooses, and how good that is", "", f"Made by `{COMMAND}`.", ""]
    lines += [
        "Rules are chosen on the tuning sets alone, in each quarter of the signal (records times epsilon): of the",
        "candidates for a goal, in a fixed order, the first whose mean accuracy is within half a point of the best;",
        "smaller differences are mostly noise. Boosting comes first for *accuracy*; for the other goals small trees",
        "come before large ones, and nothing larger is chosen than for larger signals. (The margin was 1.5 points,",
        "until the check below showed trees that were too small.)",
        f"The candidates for *accuracy* are all of privet's learners, {len(DEFAULTS)} with their defaults and",
        f"{len(OTHER_SETTINGS)} with other settings, pure and with delta = 1e-6; for *readable* they are single trees",
        "of depth 3 to 6 with counts in their leaves, for *labels only* trees and forests with labels alone (`GOALS`",
        "in `benchmarks/choose.py`). Where there is little signal a tree's own plan keeps it smaller than that, so",
        f"that depths differ by noise alone. Tables with fewer than {FEW_ROWS:,} records have {SPLITS_OF_FEW_ROWS}",
        f"splits, others, and {' and '.join(SLOW)}, {SPLITS}.",
        "",
        "| goal | signal below 300 | 300 to 1,000 | 1,000 to 6,000 | 6,000 and more |",
        "|---|---|---|---|---|",
        *(f"| {goal} | {' | '.join(names)} |" for goal, names in chosen.items()),
        "",
        "## Check on sets that were not used for the rules",
        "",
        "Average rank of the choice among all candidates of its goal (1 is best), the place that this rank has among",
        "those of the single candidates, and mean accuracy in percent beside the best single candidate's.",
        "",
        "| goal | guarantee | epsilon | tasks | rank of the choice | place | accuracy | best single candidate |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [line(check) for check in checks(table, chosen, "epsilon")]
    lines += ["", "The same in each quarter of the signal:", ""]
    lines += ["| goal | guarantee | quarter | pairs | rank of the choice | place | accuracy | best single candidate |"]
    lines += ["|---|---|---|---|---|---|---|---|", *(line(check) for check in checks(table, chosen, "quarter")), ""]
    return "\n".join(lines)


def checks(table: pd.DataFrame, chosen: Mapping[str, list[str]], by: str) -> list[dict[str, Any]]:
    """Compare the choice with all single candidates of its goal, on the other sets where all of them were measured."""
    others = table[~table.tuning].assign(quarter=table.signal.map(quarter))
    found: list[dict[str, Any]] = []
    for heading, (goal, names) in CHECKED.items():
        wide = others.pivot_table(
            index=["guarantee", "task", "epsilon", "quarter"], columns="candidate", values="accuracy"
        )
        wide = wide.reindex(columns=list(names))
        whole = wide.notna().all(axis=1).groupby(level="task").transform("all")
        for (guarantee, at), scores in wide[whole].groupby(level=["guarantee", by], sort=True):
            picks = [chosen[goal][number] for number in scores.index.get_level_values("quarter")]
            columns = scores.columns.get_indexer(picks)
            places, rows = scores.rank(axis=1, ascending=False), np.arange(len(scores))
            rank, mean = (float(each.to_numpy()[rows, columns].mean()) for each in (places, scores))
            best = str(scores.mean().idxmax())
            found.append(
                {
                    "goal": heading,
                    "guarantee": guarantee,
                    "at": at,
                    "n": len(scores),
                    "rank": rank,
                    "place": 1 + int((places.mean() < rank - 1e-9).sum()),
                    "of": scores.shape[1],
                    "mean": mean,
                    "best": best,
                    "most": float(scores[best].mean()),
                }
            )
    return found


def line(check: Mapping[str, Any]) -> str:
    """Write a comparison as a line of a table."""
    return (
        "| {goal} | {guarantee} | {at:g} | {n} | {rank:.2f} | {place} of {of} | {percent:.1f} | {best} {most:.1f} |"
    ).format(**{**check, "percent": 100 * check["mean"], "most": 100 * check["most"]})


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is missing, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--cells", type=Path, default=arguments.ROOT / "results" / "choose", help="kept out of git")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="go on in another run after so many")
    parser.add_argument("--again", nargs="+", default=[], metavar="NAME", help="forget what begins so")
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="measure what begins so")
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args(given)
    defaults = pd.read_csv(arguments.ROOT / "docs" / "results" / "accuracy.csv")
    tasks = [task for task in data.tasks(options.data) if task.name in set(defaults.task)]
    cells = Cells(options.cells)
    for name in {cell.method for cell in cells if cell.method.startswith(tuple(options.again))}:
        cells.forget(name)
    if not options.report_only:
        measured(tasks, cells, options.minutes, tuple(options.only))
    small = defaults.task.isin([task.name for task in tasks if is_small(task)])
    defaults = defaults[~small | defaults.method.isin(SLOW)]
    table = candidates(tasks, pd.concat([defaults, ranks.table(cells)], ignore_index=True))
    table.to_csv(options.out / "choose.csv", index=False, float_format="%.5g", lineterminator="\n")
    table = pd.read_csv(options.out / "choose.csv")
    (options.out / "choose.md").write_text(page(table), "utf-8")
    for goal, names in rules(table).items():
        stated = [str(choice) for choice in CLASSIFIERS[goal]]
        print(goal, names, "as stated" if names == stated else f"but stated is {stated}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
