"""What it costs not to know the number of records: every learner with a hint, with a bought number, and without one.

    python benchmarks/no_hint.py --data FOLDER               # goes on where a stopped run was
    python benchmarks/no_hint.py --data FOLDER --minutes 9
    python benchmarks/no_hint.py --data FOLDER --told hint bought --guarantees approximate
    python benchmarks/no_hint.py --data FOLDER --report-only

On all tasks of the arena. A hint is the number of training records rounded to one digit. Learners that do not plan with
that number are left out, since nothing is bought for them. Small tables, where a fit takes no time and much hangs on
chance, have more splits. Written to ``docs/results``: ``no_hint.csv`` and ``no_hint.md``. Rows of the CSV that are not
measured, or not on all splits, stay as they are, and the page says which kinds of rows are from before.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from arena import arguments, data, ranks
from arena.cells import Cells
from arena.data import Problem, Task
from arena.filling import fill
from arena.methods import Answer
from privet.estimators.registry import estimator_class

LEARNERS = ("Boosting", "RandomDecisionForest", "PrivaTree", "MultinomialForest")
HINTS = ("hint", "bought", "unknown")
GUARANTEES = {"pure": 0.0, "approximate": 1e-6}
EPSILONS = (0.1, 0.5, 1.0)
SPLITS_OF_FEW_ROWS, SPLITS = {600: 160, 5_000: 40}, 10  # tables with fewer rows than that
COMMAND = "python benchmarks/no_hint.py --data FOLDER"


@dataclass(frozen=True)
class Hinted:
    """A learner of privet, and what it is told of the number of records."""

    learner: str
    hint: str
    delta: float

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.learner}, {self.hint}"

    @property
    def rivals(self) -> str:
        """The kind of guarantee."""
        return "approximate" if self.delta else "pure"

    def can(self, problem: Problem) -> bool:
        """All of them classify."""
        return problem.n_classes > 0

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train with secret noise."""
        train, test = problem.split(split)
        known = {"hint": problem.rows_hint, "bought": None, "unknown": "unknown"}[self.hint]
        make = estimator_class(f"{self.learner}Classifier")
        model = make(epsilon, self.delta, problem.schema, n_rows_hint=known, random_state=split)
        start = time.process_time()
        model.fit(problem.frame.iloc[train], problem.labels[train])
        seconds = time.process_time() - start
        return Answer(model.predict_proba(problem.frame.iloc[test]), seconds)


def splits_of(task: Task) -> int:
    """How many splits a task has."""
    return next((splits for few, splits in SPLITS_OF_FEW_ROWS.items() if task.n_rows < few), SPLITS)


def measured(tasks: Sequence[Task], cells: Cells, minutes: float, methods: Sequence[Hinted]) -> None:
    """Train what is missing, small tables first."""
    until = time.monotonic() + 60 * minutes
    for task in sorted(tasks, key=lambda task: task.n_rows):
        problem = data.load(task) if time.monotonic() < until else None
        if problem is not None:
            fill([problem], methods, cells, EPSILONS, splits_of(task), until)


KEYS = ["task", "rivals", "method", "epsilon"]


def with_earlier(means: pd.DataFrame, tasks: Sequence[Task], published: Path) -> pd.DataFrame:
    """Return new rows that are means over all splits, and those of the CSV where there are none."""
    wanted = means.task.map({task.name: splits_of(task) for task in tasks})
    new = means[means.splits == wanted].assign(earlier=False)
    before = pd.read_csv(published).assign(earlier=True)
    both = pd.concat([new, before]).drop_duplicates(KEYS)
    return both.sort_values(KEYS, ignore_index=True)


def differences(means: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Compare with the hint, task by task, and average over all tasks that are finished."""
    means = means.assign(learner=means.method.str.rpartition(", ")[0], hint=means.method.str.rpartition(", ")[2])
    for learner in LEARNERS:
        for (rivals, epsilon), part in means[means.learner == learner].groupby(["rivals", "epsilon"]):
            accuracy, error = (
                100 * part.pivot_table(index="task", columns="hint", values=value).reindex(columns=list(HINTS))
                for value in ("accuracy", "accuracy_error")
            )
            whole = accuracy.notna().all(axis=1)
            accuracy, error = accuracy[whole], error[whole]
            row: dict[str, object] = {
                "learner": learner,
                "guarantee": rivals,
                "epsilon": epsilon,
                "tasks": len(accuracy),
            }
            row["hint"] = accuracy["hint"].mean()
            for name in HINTS[1:]:
                row[name] = (accuracy[name] - accuracy["hint"]).mean()
                row[f"{name}_error"] = float(np.sqrt((error[name] ** 2 + error["hint"] ** 2).sum())) / len(accuracy)
            yield row


def of_earlier_runs(means: pd.DataFrame) -> str:
    """Say which kinds of rows were not measured this time; nothing where all were."""
    named: dict[str, list[str]] = {}
    for (guarantee, method), part in means.groupby(["rivals", "method"]).earlier.mean().items():
        if part:
            learner, _, hint = method.rpartition(", ")
            some = learner if part == 1 else f"{learner} ({part:.0%} of its rows)"
            named.setdefault(f"{guarantee}, {hint}", []).append(some)
    kinds = [f"{kind} ({', '.join(of) if len(of) < len(LEARNERS) else 'all'})" for kind, of in named.items()]
    return f"Of an earlier run: {'; '.join(sorted(kinds))}." if kinds else ""


def page(table: pd.DataFrame, earlier: str) -> str:
    """Write means over all tasks."""
    text = [
        "# Without a hint of the number of records",
        "",
        f"Made by `{COMMAND}`: accuracy in percent, mean of {table.tasks.min()} tasks, tuning sets among them.",
        f"Tables have {SPLITS} splits of 80/20, with fewer records "
        + ", ".join(f"than {few:,} {splits}" for few, splits in reversed(SPLITS_OF_FEW_ROWS.items()))
        + "; rows of",
        "an earlier run have fewer.",
        "*Hint*: the number of training records rounded to one digit. *Bought*: `n_rows_hint=None`, which spends a",
        "hundredth of the budget on it, and up to a twentieth where a table is small. *Unknown*:",
        '`n_rows_hint="unknown"`. These two in points above or below the hint, with the standard error that chance in',
        f"splits and noise gives to the difference. delta = {GUARANTEES['approximate']:g} where the guarantee is",
        "approximate.",
        *([earlier] if earlier else []),
        "",
        "| learner | guarantee | epsilon | hint | bought | unknown |",
        "|---|---|---|---|---|---|",
    ]
    for row in table.itertuples():
        less = [f"{getattr(row, name):+.2f} ± {getattr(row, f'{name}_error'):.2f}" for name in HINTS[1:]]
        text.append(f"| {row.learner} | {row.guarantee} | {row.epsilon:g} | {row.hint:.1f} | {' | '.join(less)} |")
    text += ["", "On average over learners and guarantees:", "", "| epsilon | bought | unknown |", "|---|---|---|"]
    for epsilon, part in table.groupby("epsilon"):
        less = [
            f"{part[name].mean():+.2f} ± {np.sqrt((part[f'{name}_error'] ** 2).sum()) / len(part):.2f}"
            for name in HINTS[1:]
        ]
        text.append(f"| {epsilon:g} | {' | '.join(less)} |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is missing, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--cells", type=Path, default=arguments.ROOT / "results" / "no_hint", help="kept out of git")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="go on in another run after so many")
    parser.add_argument("--tasks", nargs="+", help="measure these alone; rows of others stay as they are")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS)
    parser.add_argument("--told", nargs="+", choices=HINTS, default=HINTS, help="what learners know of the number")
    parser.add_argument("--guarantees", nargs="+", choices=list(GUARANTEES), default=list(GUARANTEES))
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args(given)
    warnings.simplefilter("ignore")  # of deltas that are large for very small tables
    published = pd.read_csv(arguments.ROOT / "docs" / "results" / "accuracy.csv")
    tasks = [task for task in data.tasks(options.data) if task.name in set(published.task)]
    cells = Cells(options.cells)
    if not options.report_only:
        methods = [
            Hinted(learner, told, GUARANTEES[guarantee])
            for learner in options.learners
            for told in options.told
            for guarantee in options.guarantees
        ]
        measured(
            [task for task in tasks if task.name in (options.tasks or {task.name})], cells, options.minutes, methods
        )
    means = with_earlier(ranks.table(cells), tasks, arguments.ROOT / "docs" / "results" / "no_hint.csv")
    shown = means.drop(columns="earlier")
    shown.to_csv(options.out / "no_hint.csv", index=False, float_format="%.5g", lineterminator="\n")
    table = pd.DataFrame(differences(means))
    (options.out / "no_hint.md").write_text(page(table, of_earlier_runs(means)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
