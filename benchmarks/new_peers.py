"""Peers that users would pick beside trees, on the splits of ``accuracy.csv``: where each of them wins, and where not.

    python benchmarks/new_peers.py --data FOLDER --tune               # settings, on the tuning sets only
    python benchmarks/new_peers.py --data FOLDER --splits 5           # goes on where a stopped run was
    python benchmarks/new_peers.py --data FOLDER --methods "AIM + HistGradientBoosting"    # slow: some sets, one split
    python benchmarks/new_peers.py --data FOLDER --report-only        # writes the page from what is there, and
                                                       # only of the first --splits, or of more where tables are small

Noisy gradient descent for logistic regression, for its additive form and for a network, AdaSSP, and AIM with gradient
boosting on its synthetic records; ``arena/newcomers.py`` lists them. Small tables have as many splits as privet's
quickest learners have there (``accuracy.py``). Rows of the table so far that are not measured
again stay in it. Written to ``docs/results``: ``new_peers.csv`` and
``new_peers.md``, which read ``accuracy.csv`` for everybody else, and ``new_peers_regression.csv``; with ``--tune``
``new_peers_tuning.csv``. To have the same rows in ``accuracy.csv``: ``accuracy.py --renew METHOD --splits 2``, with the
same ``--cells``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from accuracy import DELTA, EPSILONS, most_splits, selected
from arena import arguments, data, new_peers_page, picture, ranks, regression
from arena.cells import Cells
from arena.filling import fill
from arena.gradient_peers import SETTINGS, GradientPeer, tried
from arena.newcomers import AIM, AIM_SPLITS, AIM_TASKS, newcomers

TUNING_EPSILONS = (0.1, 1.0)


def tune(options: argparse.Namespace) -> None:
    """Compare settings of each peer on the tuning sets, and write their ranks."""
    tuning = [task for task in data.tasks(options.data) if task.used_for_tuning]
    problems = [data.load(task) for task in tuning if task.name in (options.tasks or {task.name})]
    known = [problem for problem in problems if problem]
    cells, tables = Cells(options.cells / "tuning"), []
    for name in SETTINGS:
        rivals = tried(name, DELTA)
        fill(known, rivals, cells, TUNING_EPSILONS, options.splits, options.until)
        names = {peer.name for peer in rivals}
        means = ranks.table([cell for cell in cells if cell.method in names])
        tasks = {problem.task.name for problem in known}
        tables += [ranks.ranks(means, "approximate", measure, tasks, names) for measure in picture.MEASURES]
    places = pd.concat(tables)
    places.to_csv(options.out / "new_peers_tuning.csv", index=False, float_format="%.4f", lineterminator="\n")
    print(places.groupby("method").average_rank.mean().to_string())


def measure(options: argparse.Namespace, tasks: Sequence[data.Task]) -> None:
    """Train what is missing: AIM only where it is asked for by name, and on a few tasks."""
    methods = [method for method in newcomers(DELTA) if method.name in (options.methods or {method.name} - {AIM})]
    cells = Cells(options.cells)
    for task in selected(tasks, options.tasks):
        problem = data.load(task)
        if problem is None:
            continue
        quick = [method for method in methods if method.name != AIM]
        fill([problem], quick, cells, options.epsilons, max(options.splits, most_splits(task)), options.until)
        slow = [method for method in methods if method.name == AIM and task.name in (options.tasks or AIM_TASKS)]
        fill([problem], slow, cells, options.epsilons, AIM_SPLITS, options.until)
    numbers, peer = Cells(options.cells / "regression"), GradientPeer("AdaSSP", "statistics", DELTA)
    fill(regression.problems(options.data), [peer], numbers, regression.EPSILONS, options.splits, options.until)


def with_published(means: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Add the rows of the table so far that were not measured anew, or on fewer splits only."""
    if not file.exists():
        return means
    keys, published = ["task", "rivals", "method", "epsilon"], pd.read_csv(file)
    both = pd.concat([means.set_index(keys), published.set_index(keys)])
    fullest = both.sort_values("splits", ascending=False, kind="stable")
    return fullest[~fullest.index.duplicated()].sort_index().reset_index()


def main(given: Sequence[str] | None = None) -> int:
    """Tune, or measure and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--cells", type=Path, default=arguments.ROOT / "results" / "accuracy", help="kept out of git")
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="go on in another run after so many")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)
    options.until = time.monotonic() + 60 * options.minutes
    if options.tune:
        tune(options)
        return 0
    published = pd.read_csv(options.out / "accuracy.csv")
    tasks = [task for task in data.tasks(options.data) if task.name in set(published.task)]
    if not options.report_only:
        measure(options, tasks)
    names = {method.name for method in newcomers(DELTA)}
    splits = {task.name: max(options.splits, most_splits(task)) for task in tasks}
    measured = [cell for cell in Cells(options.cells) if cell.method in names and cell.split < splits.get(cell.task, 0)]
    if measured:  # else the table so far stays as it is
        means = ranks.table(measured)
        means["used_to_fix_rules"] = means.task.isin({task.name for task in tasks if task.used_for_tuning})
        means = with_published(means, options.out / "new_peers.csv")
        means.to_csv(options.out / "new_peers.csv", index=False, float_format="%.5f", lineterminator="\n")
    numbers = [cell for cell in Cells(options.cells / "regression") if cell.split < options.splits]
    regression_file = options.out / "new_peers_regression.csv"
    errors = ranks.table(numbers) if numbers else pd.read_csv(regression_file)
    errors.to_csv(regression_file, index=False, float_format="%.5f", lineterminator="\n")
    (options.out / "new_peers.md").write_text(new_peers_page.page(options.out), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
