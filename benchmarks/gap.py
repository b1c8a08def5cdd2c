"""What privacy costs on large tables: boosting against HistGradientBoosting, which has none, on all of their rows.

    python benchmarks/gap.py --data FOLDER          # goes on where a stopped run was; half an hour on one core
    python benchmarks/gap.py --data FOLDER --keep-ceiling --splits-of-largest 2     # boosting alone, a third of that

The arena of ``accuracy.py`` samples large tables, since some of its peers would take hours on them; here nothing is
left out. Written to ``docs/results``: ``gap.csv`` and ``gap.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from arena import arguments, data, ranks
from arena.cells import Cells
from arena.data import SPLITS, Task
from arena.filling import fill
from arena.ours import Ceiling, Ours

DELTA = 1e-6
EPSILONS = (1.0, 4.0)
FEWEST_ROWS, LARGEST_ROWS = 16_000, 100_000
CEILING = "HistGradientBoosting"
METHODS = [Ours("BoostingClassifier", DELTA), Ours("BoostingClassifier", 0.0), Ceiling(CEILING)]


def gaps(
    means: pd.DataFrame, rows: dict[str, int], tuning: set[str], ceilings: dict[str, float] | None = None
) -> pd.DataFrame:
    """Return accuracies in percent, and how far they are below the ceiling; a line for each task and their mean.

    The ceiling of each task is as measured, or as it is given.
    """
    scores = means.assign(method=means.method.str.cat(means.rivals, sep=", "))
    lines = []
    for task in sorted(rows, key=rows.__getitem__):
        own = scores[scores.task == task].set_index(["method", "epsilon"]).accuracy * 100
        name = f"{task} (tuning)" if task in tuning else task
        ceiling = float(own.xs(f"{CEILING}, none").iloc[0]) if ceilings is None else ceilings[name]
        line = {"task": name, "rows": rows[task], CEILING: ceiling}
        for rivals in ("approximate", "pure"):
            for epsilon in EPSILONS:
                accuracy = float(own[f"Boosting, {rivals}", epsilon])
                line[f"{rivals}, epsilon {epsilon:g}"] = accuracy
                line[f"gap, {rivals}, epsilon {epsilon:g}"] = ceiling - accuracy
        lines.append(line)
    table = pd.DataFrame(lines)
    mean = {"task": "mean"} | table.drop(columns=["task", "rows"]).mean().to_dict()
    return pd.concat([table, pd.DataFrame([mean])], ignore_index=True)


def page(table: pd.DataFrame, splits: int, splits_of_largest: int) -> str:
    """Write the table as a page."""
    columns, fewer = [name for name in table.columns if not name.startswith("gap")], splits_of_largest < splits
    text = [
        "# The gap to no privacy on large tables",
        "",
        f"Made by `python benchmarks/gap.py --data FOLDER`: accuracy in percent, mean of {splits} stratified splits of "
        f"80/20, every table with {FEWEST_ROWS:,} rows and more, all of its rows; approximate with delta = {DELTA:g}; "
        "numeric bounds as in the whole table, the number of rows rounded to one digit as a hint. In parentheses how "
        f"many points that is below {CEILING} with its defaults."
        + (f" Boosting on more than {LARGEST_ROWS:,} rows: {splits_of_largest} splits." if fewer else ""),
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
    ]
    for _, line in table.iterrows():
        cells = [line.task, "" if pd.isna(line["rows"]) else f"{line['rows']:,.0f}", f"{line[CEILING]:.1f}"]
        cells += [f"{line[name]:.1f} ({line[f'gap, {name}']:.1f})" for name in columns[3:]]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure the gap."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--cells", type=Path, default=arguments.ROOT / "results" / "gap", help="kept out of git")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--splits-of-largest", type=int, default=SPLITS, help=f"of more than {LARGEST_ROWS:,} rows")
    parser.add_argument("--keep-ceiling", action="store_true", help=f"{CEILING} is as in the last gap.csv: no noise")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD")
    options = parser.parse_args(given)
    cells = Cells(options.cells)
    for name in options.again:
        cells.forget(name)
    measured: list[Task] = []
    methods, ceilings, file = METHODS, None, options.out / "gap.csv"
    if options.keep_ceiling:
        methods, ceilings = METHODS[:-1], pd.read_csv(file).set_index("task")[CEILING].to_dict()
    for task in data.tasks(options.data):
        problem = data.load(task, task.n_rows) if task.n_rows >= FEWEST_ROWS else None
        if problem is not None:  # None has too many features
            splits = options.splits_of_largest if task.n_rows > LARGEST_ROWS else options.splits
            fill([problem], methods, cells, EPSILONS, splits)
            measured.append(task)
    means = ranks.table(list(cells))
    tuning = {task.name for task in measured if task.used_for_tuning}
    table = gaps(means, {task.name: task.n_rows for task in measured}, tuning, ceilings)
    table.to_csv(file, index=False, float_format="%.3f", lineterminator="\n")
    (options.out / "gap.md").write_text(page(table, options.splits, options.splits_of_largest), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
