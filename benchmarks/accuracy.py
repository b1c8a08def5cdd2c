"""Accuracy for a given epsilon: privet's learners against other libraries' and against no privacy at all.

    python benchmarks/accuracy.py --data FOLDER              # goes on where a stopped run was; hours on one core
    python benchmarks/accuracy.py --data FOLDER --tasks adult magic --methods Boosting DP-EBM --splits 2
    python benchmarks/accuracy.py --data FOLDER --again Boosting    # trains a method anew that has changed
    python benchmarks/accuracy.py --data FOLDER --renew Boosting --minutes 9    # only that, the rest is as published
    python benchmarks/accuracy.py --data FOLDER --report-only       # writes the pages from what is there
    python benchmarks/accuracy.py --data FOLDER --report-only --without vote --out OTHER  # but for a task
    python benchmarks/accuracy.py --data FOLDER --tune              # the peer's settings, on the tuning sets only
    python benchmarks/accuracy.py --data FOLDER --regression        # two regression problems alone

Peers run in environments of their own, which are built on first use. ``arena/data.py`` says which data sets were used
to fix rules, and which files are left out and why. Written to ``docs/results``: ``accuracy.csv`` (every mean),
``accuracy_ranks.csv``, ``accuracy.svg``, ``accuracy_short.svg``, ``accuracy.md``, and ``accuracy_regression.csv``
and ``.md``.

``--renew`` needs no cells of other methods: rows of the methods that it names take the place of those in
``accuracy.csv``, or join them where there are none, on the tasks that are in there, and the pages are made of the
whole. ``--minutes`` ends a run early; the next one goes on, and no row is replaced or added before all of its method
are there; with ``--tasks``, on these. Small tables have more splits for privet's quickest learners, whose accuracies at
small epsilons lie close together. A run of all methods leaves out AIM, which takes hours; ``new_peers.py`` has a few
tasks of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from arena import arguments, data, page, picture, ranks, regression
from arena.cells import Cell, Cells
from arena.data import MOST_ROWS, SPLITS, Problem, Task
from arena.filling import fill
from arena.gradient_peers import GradientPeer
from arena.methods import Method
from arena.newcomers import AIM, newcomers
from arena.ours import CEILINGS, Ours, house
from arena.peers import PeerLearner, candidates, peers
from privet.estimators.registry import estimator_names

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-6
SMALL = 100  # rows to train on, times epsilon
# Much hangs on chance in small tables, and these take no time there.
SPLITS_OF_FEW_ROWS = {400: 80, 2_500: 20}  # with fewer rows than that
QUICK = ("Boosting", "PrivaTree", "MultinomialForest", "RandomDecisionForest")
COMMAND = "python benchmarks/accuracy.py --data FOLDER"
Key = tuple[str, str, str, float]  # task, rivals, method, epsilon
FIRST = (  # so that a run that is stopped early has what is asked for most
    *("adult", "california", "covertype (2)", "nursery (priority)", "mushroom", "compas", "diabetes", "wdbc"),
    *("magic", "phishing_websites", "banknote", "mammographic", "heart_cleveland", "pol", "kr_vs_kp", "transfusion"),
)


def regression_methods() -> list[Method]:
    """What predicts numbers."""

    # PrivetRegressor is the one of the others that it chooses.
    ours = [Ours(name, DELTA) for name in estimator_names("Regressor") if name != "PrivetRegressor"]
    return [*ours, PeerLearner("DP-EBM", "dp_ebm", DELTA), GradientPeer("AdaSSP", "statistics", DELTA), *CEILINGS]


def selected(found: Sequence[Task], names: Sequence[str] | None) -> list[Task]:
    """Tasks of the given names, or all, the most wanted first."""
    order = {name: place for place, name in enumerate(names or FIRST)}
    chosen = [task for task in found if names is None or task.name in order]
    return sorted(chosen, key=lambda task: order.get(task.name, len(order)))


def needed(rivals: str, many_classes: bool) -> set[str]:
    """Who must have answered before a task counts: ours, and every peer that can."""
    able = [peer for peer in peers(DELTA) if peer.rivals == rivals and not (peer.binary and many_classes)]
    return {"Boosting", *(peer.name for peer in able)}


def unfinished(means: pd.DataFrame, many_classes: Collection[str]) -> list[str]:
    """Say which tasks do not count yet, since someone has not answered."""
    done = means[ranks.complete(means)].groupby(["task", "rivals"]).method.agg(set)
    late = set()
    for task in means.task.unique():
        for rivals in picture.GUARANTEES:
            if not needed(rivals, task in many_classes) <= done.get((task, rivals), set()):
                late.add(task)
    if not late:
        return []
    return [f"Not finished, and not among the ranks where answers are missing: {', '.join(sorted(late))}.", ""]


def expected(methods: Iterable[Method], found: Iterable[Task], epsilons: Iterable[float]) -> set[Key]:
    """Return what tells the rows apart that private methods have once they are finished."""
    tasks = list(found)
    private = [method for method in methods if method.rivals != "none"]
    rivals = [(task.name, method) for method in private for task in tasks if method.can(task)]
    return {(name, method.rivals, method.name, epsilon) for name, method in rivals for epsilon in epsilons}


def most_splits(task: Task) -> int:
    """Return how many splits a table has for what is quick."""
    return next((splits for few, splits in SPLITS_OF_FEW_ROWS.items() if task.n_rows < few), SPLITS)


def fill_all(
    problem: Problem, methods: Sequence[Method], cells: Cells, options: argparse.Namespace, until: float
) -> None:
    """Train whatever is missing of a problem; a small table has more splits for what is quick."""
    for quick, splits in ((False, options.splits), (True, max(most_splits(problem.task), options.splits))):
        of_kind = [method for method in methods if (method.name in QUICK) == quick]
        fill([problem], of_kind, cells, options.epsilons, splits, until)


def renewed(
    published: pd.DataFrame,
    means: pd.DataFrame,
    finished: Collection[Key] = (),
    tasks: Collection[str] | None = None,
    splits: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Put the means of methods that were trained anew in the place of the published ones, where all of them are.

    Parameters
    ----------
    published : DataFrame
        The table so far.
    means : DataFrame
        Rows of the methods that were trained.
    finished : collection
        The rows that methods which are not in the table yet must have before they join it (see `expected`).
    tasks : collection of str, optional
        Those that were asked for; default all. Rows of others stay as they are.
    splits : mapping, optional
        How many splits tasks may have, where that is not the same for all.
    """
    keys = ["task", "rivals", "method", "epsilon"]
    asked = set(published.task) if tasks is None else set(tasks)
    rows, new = published.set_index(keys), means[means.task.isin(asked)].set_index(keys)
    missing = rows.index[~rows.index.isin(new.index) & rows.index.isin(asked, level="task")]
    late = set(missing.droplevel(["task", "epsilon"]))
    sizes = new.index.get_level_values("task").map(lambda task: (splits or {}).get(task, 0))
    of_size = new.groupby(["method", sizes]).splits.transform("max")
    late |= set(new.index[new.splits < of_size].droplevel(["task", "epsilon"]))
    late |= {(rivals, method) for task, rivals, method, epsilon in set(finished) - set(new.index)}
    known = new.index.isin(rows.index) | new.index.isin(list(finished))
    whole = new[known & ~new.index.droplevel(["task", "epsilon"]).isin(list(late))]
    return pd.concat([rows[~rows.index.isin(whole.index)], whole]).sort_index().reset_index()


def report(means: pd.DataFrame, found: Sequence[Task], out: Path) -> None:
    """Write the tables, the picture and the page."""
    tuning = {task.name for task in found if task.used_for_tuning}
    binary = {task.name for task in found if task.n_classes == 2}
    means["used_to_fix_rules"] = means.task.isin(tuning)
    means.to_csv(out / "accuracy.csv", index=False, float_format="%.5f", lineterminator="\n")
    untouched = set(means.task) - tuning
    kinds = {"two classes": untouched & binary, "many classes": untouched - binary, "tuning sets": tuning}
    rules = page.RULES.format(splits=page.splits_in_words(means), delta=DELTA, rows=MOST_ROWS)
    text = ["# Accuracy for a given epsilon", "", f"Made by `{COMMAND}`. {rules}", ""]
    named = ", ".join(sorted(tuning))
    text += [f"Rules and defaults were chosen on {named}; these are marked, and ranked apart from the others."]
    text += ["Results on the others were seen, and some prompted changes: `benchmarks/arena/data.py` says which.", ""]
    text += unfinished(means, set(means.task) - binary)
    text += ["![Average ranks on sets of two classes that are no tuning sets](accuracy.svg)", ""]
    every_place = []
    for kind, tasks in kinds.items():
        for rivals, words in picture.GUARANTEES.items():
            heading = [f"## Average rank, {kind}, {words} (wins in parentheses)", ""]
            for measure in picture.MEASURES:
                places = ranks.ranks(means, rivals, measure, tasks, needed(rivals, kind == "many classes"))
                if not places.empty:
                    every_place.append(places.assign(kind=kind))
                    text += [*heading, *page.rank_table(places, rivals, measure)]
                    heading = []
    signals = means.task.map({task.name: task.rows_hint for task in found}) * means.epsilon
    text += [f"## Very small data: n epsilon below {SMALL}", ""]
    n_pairs = len(means[signals < SMALL][["task", "epsilon"]].drop_duplicates())
    text += [
        f"Means over all {n_pairs} pairs of a task and an epsilon; who did not finish all of them is left out.",
        "",
    ]
    text += page.small_table(means, signals, SMALL)
    for rivals, words in picture.GUARANTEES.items():
        for epsilon in sorted(means.epsilon.dropna().unique()):
            for measure, name in picture.MEASURES.items():
                text += [f"## {name[0].upper()}{name[1:]} in percent, {words}, epsilon {epsilon:g}", ""]
                text += page.score_table(means, rivals, measure, epsilon, tuning)
    (out / "accuracy.md").write_text("\n".join(text).rstrip() + "\n", "utf-8")
    if not every_place:  # some methods only, and nobody to rank them against
        return
    places = pd.concat(every_place)
    places.to_csv(out / "accuracy_ranks.csv", index=False, float_format="%.4f", lineterminator="\n")
    picture.draw(places[places.kind == "two classes"], out / "accuracy.svg")
    picture.draw_short(places[places.kind == "two classes"], out / "accuracy_short.svg")


def report_regression(cells: Sequence[Cell], out: Path) -> None:
    """Write the regression part."""
    means = ranks.table(cells)
    means.to_csv(out / "accuracy_regression.csv", index=False, float_format="%.5f", lineterminator="\n")
    text = ["# Root mean squared error for a given epsilon", "", f"Made by `{COMMAND}`; delta = {DELTA:g}.", ""]
    for problem in (regression.abalone_shaped, regression.california):
        assert problem.__doc__ is not None
        text += [f"- {' '.join(problem.__doc__.split())}"]
    for epsilon in regression.EPSILONS:
        text += ["", f"## Epsilon {epsilon:g}", "", *page.score_table(means, "approximate", "rmse", epsilon, ())[:-1]]
    (out / "accuracy_regression.md").write_text("\n".join(text) + "\n", "utf-8")


def tune(problems: Sequence[Problem], cells: Cells, options: argparse.Namespace) -> None:
    """Compare settings of DP-EBM on the tuning sets, and write their ranks."""
    fill(problems, candidates(DELTA), cells, options.epsilons, options.splits)
    names = {peer.name for peer in candidates(DELTA)}
    means = ranks.table([cell for cell in cells if cell.method in names])
    tasks = {problem.task.name for problem in problems}
    places = pd.concat([ranks.ranks(means, "approximate", measure, tasks, names) for measure in picture.MEASURES])
    places.to_csv(options.out / "accuracy_tuning.csv", index=False, float_format="%.4f", lineterminator="\n")
    print(places.groupby("method").average_rank.mean().sort_values().to_string())


def main(given: Sequence[str] | None = None) -> int:
    """Run the arena."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--cells", type=Path, default=arguments.ROOT / "results" / "accuracy", help="kept out of git")
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--rivals", nargs="+", choices=("approximate", "pure", "none"))
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD")
    parser.add_argument("--renew", nargs="+", default=[], metavar="METHOD")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="go on in another run after so many")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--regression", action="store_true", help="the part for regression alone")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--without", nargs="+", default=[], metavar="TASK", help="leave out of the pages")
    options = parser.parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)

    if options.tune:
        tuning = [data.load(task) for task in data.tasks(options.data) if task.used_for_tuning]
        tune([problem for problem in tuning if problem], Cells(options.cells / "tuning"), options)
        return 0
    cells, numbers = Cells(options.cells), Cells(options.cells / "regression")
    for name in options.again:
        cells.forget(name)
        numbers.forget(name)
    if options.regression:
        fill(regression.problems(options.data), regression_methods(), numbers, regression.EPSILONS, options.splits)
        report_regression(list(numbers), options.out)
        return 0
    published = pd.read_csv(options.out / "accuracy.csv") if options.renew else None
    found = [task for task in data.tasks(options.data) if task.name not in options.without]
    if published is not None:
        found = [task for task in found if task.name in set(published.task)]
        options.methods = options.renew
    methods: list[Method] = [*house(DELTA), *peers(DELTA), *newcomers(DELTA), *CEILINGS]
    methods = [method for method in methods if method.name in (options.methods or {method.name} - {AIM})]
    methods = [method for method in methods if options.rivals is None or method.rivals in options.rivals]
    until = time.monotonic() + 60 * options.minutes
    if not options.report_only:
        for task in selected(found, options.tasks):
            problem = data.load(task)
            if problem is not None:
                fill_all(problem, methods, cells, options, until)
        if options.tasks is None and published is None:
            problems = regression.problems(options.data)
            fill(problems, regression_methods(), numbers, regression.EPSILONS, options.splits, until)
    shown = ranks.table(cell for cell in cells if cell.task in {task.name for task in found})
    if published is not None:
        added = [method for method in methods if method.name not in set(published.method)]
        finished = expected(added, found, published.epsilon.dropna().unique())
        splits = {task.name: most_splits(task) for task in found}
        shown = renewed(published, shown[shown.method.isin(options.renew)], finished, options.tasks, splits)
    report(shown, found, options.out)
    if list(numbers):
        report_regression(list(numbers), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
