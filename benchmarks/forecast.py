"""The forecast against reality: what noise costs on made-up records, and what it costs on real ones.

    python benchmarks/forecast.py --data FOLDER             # a quarter of an hour on one core
    python benchmarks/forecast.py --data FOLDER --report-only
    python benchmarks/forecast.py --data FOLDER --again PrivaTreeClassifier    # a learner that has changed

The accuracy of every learner on every data set and epsilon is in ``docs/results/accuracy.csv``. Measured here: the twin
without privacy on the same splits (on two of them where there are 15,000 records and more), both for boosting of
numbers (``arena/number_columns.py``, one split), and the rehearsals of `privet.forecast` for each data set's schema.
The lines that translate one into the other are fitted on the tuning sets of ``arena/data.py`` alone, and checked on all
others. Written: ``forecast.csv``, ``forecast.md`` and ``forecast.svg`` in ``docs/results``, and
``src/privet/forecast/calibration.csv``. What is in the first of these already is not measured again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from arena import arguments, data, number_columns
from privet.errors import NonPrivateWarning
from privet.estimators.registry import estimator_class
from privet.forecast.calibration import ENDS, POOLED, Calibration, StraightLine, Target, target_of
from privet.forecast.rehearsal import rehearse

GUARANTEES = {"pure": 0.0, "approximate": 1e-6}
CLASSIFIERS = ("Boosting", "PrivaTree")
REGRESSOR = "BoostingRegressor"
EPSILONS = (0.1, 0.5, 1.0, 4.0)
MANY_ROWS = 15_000
QUANTILES = dict(zip(ENDS, (0.05, 0.95), strict=True))
PACKAGED = arguments.ROOT / "src" / "privet" / "forecast" / "calibration.csv"
COLOURS = ("#0072B2", "#D55E00")
HEAD = [
    "| | data sets | pairs | inside | median width | mean width | mean error of the expected loss |",
    "|---|---|---|---|---|---|---|",
]
KEYS = ["learner", "task", "guarantee"]
MEASURED = [*KEYS, "target", "epsilon", "rows", "tuning", "twin", "loss", "rehearsed"]


def score(problem: data.Problem, learner: str, split: int, epsilon: float | None, delta: float = 0.0) -> float:
    """Return the accuracy or R2 of one fit on held-out records, in points."""
    train, test = problem.split(split)
    public = {"schema": problem.schema, "n_rows_hint": problem.rows_hint, "random_state": split}
    model = estimator_class(learner)(epsilon, delta, **public)
    model.fit(problem.frame.iloc[train], problem.labels[train])
    return 100 * float(model.score(problem.frame.iloc[test], problem.labels[test]))


def rehearsed(problem: data.Problem, learner: str, delta: float, epsilons: Sequence[float]) -> list[float]:
    """Return the loss on made-up records at each epsilon, from what is public about a data set."""
    found = rehearse(estimator_class(learner)(1.0, delta), problem.schema, problem.rows_hint)
    return list(found.at([problem.rows_hint * epsilon for epsilon in epsilons]))


def classified(folder: Path, known: set[tuple[str, ...]]) -> Iterator[list[Any]]:
    """Yield the rows of classifiers that are not known yet; private accuracies are those of the arena."""
    arena = pd.read_csv(arguments.ROOT / "docs" / "results" / "accuracy.csv")
    for task in [task for task in data.tasks(folder) if task.name in set(arena.task)]:
        for learner in CLASSIFIERS:
            wanted = [name for name in GUARANTEES if (learner + "Classifier", task.name, name) not in known]
            if not wanted:
                continue
            problem = data.load(task)
            splits = range(2 if len(problem.labels) >= MANY_ROWS else data.SPLITS)
            twin = float(np.mean([score(problem, learner + "Classifier", split, None) for split in splits]))
            for guarantee in wanted:
                of_it = (arena.task == task.name) & (arena.method == learner) & (arena.rivals == guarantee)
                private = arena[of_it].sort_values("epsilon")
                made_up = rehearsed(problem, learner + "Classifier", GUARANTEES[guarantee], list(private.epsilon))
                for epsilon, accuracy, loss in zip(private.epsilon, private.accuracy, made_up, strict=True):
                    facts = [problem.rows_hint, task.used_for_tuning]
                    key = [learner + "Classifier", task.name, guarantee, target_of(problem.n_classes), epsilon]
                    yield [*key, *facts, twin, twin - 100 * accuracy, loss]
        print(task.name, flush=True)


def regressed(folder: Path, known: set[tuple[str, ...]]) -> Iterator[list[Any]]:
    """Yield the rows of the regressor that are not known yet."""
    for problem in number_columns.problems(folder):
        wanted = [name for name in GUARANTEES if (REGRESSOR, problem.task.name, name) not in known]
        if not wanted:
            continue
        twin = score(problem, REGRESSOR, 0, None)
        for guarantee in wanted:
            delta = GUARANTEES[guarantee]
            made_up = rehearsed(problem, REGRESSOR, delta, EPSILONS)
            for epsilon, loss in zip(EPSILONS, made_up, strict=True):
                lost = twin - score(problem, REGRESSOR, 0, epsilon, delta)
                facts = [problem.rows_hint, problem.task.used_for_tuning]
                yield [REGRESSOR, problem.task.name, guarantee, target_of(0), epsilon, *facts, twin, lost, loss]
        print(problem.task.name, flush=True)


def fitted(table: pd.DataFrame) -> dict[str, Any]:
    """Return the band and the expected loss by the tuning sets of a table: quantiles over the rehearsed loss."""
    tuning = table[table.tuning]
    x, y = tuning.rehearsed.to_numpy(), tuning.loss.to_numpy()
    ends = {name: quantile_line(x, y, quantile) for name, quantile in QUANTILES.items()}
    middle = quantile_line(np.sqrt(np.maximum(x, 0)), y, 0.5, through_zero=True)
    return {**ends, "factor": middle.slope}


def quantile_line(x: np.ndarray, y: np.ndarray, quantile: float, *, through_zero: bool = False) -> StraightLine:
    """Return the line that so many points are below, by linear programming; it never falls."""
    ones, n = np.eye(len(x)), len(x)
    costs = np.r_[0, 0, np.full(n, quantile), np.full(n, 1 - quantile)]
    sides = np.c_[np.ones(n), x, ones, -ones]
    bounds = [(0, 0) if through_zero else (None, None), (0, None), *[(0, None)] * (2 * n)]
    base, slope = linprog(costs, A_eq=sides, b_eq=y, bounds=bounds).x[:2]
    return StraightLine(round(float(base), 3), round(float(slope), 3))


def calibrated(table: pd.DataFrame) -> tuple[list[Calibration], pd.DataFrame]:
    """Return the calibrations, and the table with the band and whether the measured loss is inside."""
    calibrations, parts = [], []
    for target, of_target in table.groupby("target", sort=True):
        pooled = fitted(of_target)
        calibrations.append(checked(POOLED, target, of_target, pooled)[0])
        for learner, part in of_target.groupby("learner", sort=True):
            made, shown = checked(learner, target, part, pooled)
            calibrations.append(made)
            parts.append(shown)
    return calibrations, pd.concat(parts, ignore_index=True)


def checked(
    learner: str, target: Target, table: pd.DataFrame, pooled: dict[str, Any]
) -> tuple[Calibration, pd.DataFrame]:
    """Fit the lines of one learner, and count how often the farther ones of these and the pooled ones hold."""
    lines = fitted(table)
    lines |= {end: tuple(dict.fromkeys([lines[end], pooled[end]])) for end in ENDS}
    unchecked = Calibration(learner, target, **lines, tasks=0, pairs=1, inside=0, width=0.0)
    low, expected, high = unchecked.band(table.rehearsed.to_numpy())
    shown = table.assign(low=low, expected=expected, high=high)
    shown["inside"] = (shown.loss >= shown.low) & (shown.loss <= shown.high)
    others = shown[~shown.tuning]
    width = round(float((others.high - others.low).median()), 1)
    facts = {"tasks": others.task.nunique(), "pairs": len(others), "inside": int(others.inside.sum())}
    return Calibration(learner, target, **lines, **facts, width=width), shown


def packaged(calibrations: Sequence[Calibration]) -> str:
    """Return the file that the library reads."""
    numbers = [f"{end}_{part}" for end in ENDS for part in ("base", "slope")]
    rows = [",".join(["learner", "target", *numbers, "factor", "tasks", "pairs", "inside", "width"])]
    for made in calibrations:
        numbers = [getattr(getattr(made, end)[0], part) for end in ENDS for part in ("base", "slope")]
        rows.append(
            ",".join(
                map(
                    str,
                    [made.learner, made.target, *numbers, made.factor, made.tasks, made.pairs, made.inside, made.width],
                )
            )
        )
    return "\n".join(rows) + "\n"


def page(shown: pd.DataFrame) -> str:
    """Return the page of results."""
    others = shown[~shown.tuning]
    sets = shown[shown.tuning & (shown.learner != REGRESSOR)].task.nunique()
    lines = [
        "# The forecast against reality",
        "",
        "Made by `python benchmarks/forecast.py --data FOLDER`; figures are in `forecast.csv`.",
        "",
        "A forecast runs the learner on made-up records and translates what it loses there into an expected loss",
        f"and a band. Both were fitted on {sets} data sets (for regression, on those with a numeric column",
        "to predict): the ends of the band are lines, the quantiles 5% and 95% of the measured loss over the loss on",
        "made-up records, or those of all learners together where they are farther; the expected loss is the median,",
        "in proportion to the square root. Here is how often measured losses are inside the band on data sets that",
        "were not used for this, at epsilon 0.1, 0.5, 1 and 4, pure and with delta = 1e-6. Losses are points of",
        "accuracy (of R2 for regression) below the learner's own twin without privacy.",
        "",
        "Accuracies with noise are those of [accuracy.md](accuracy.md): five splits, twenty of small tables.",
        "",
        "No line was fitted to these data sets. How records are made up, that two and more classes have bands of",
        "their own, that the farther line counts, and the square root were decided with results on them in sight.",
        "",
        "![Measured losses and forecasts on data sets that were not used for calibration](forecast.svg)",
        "",
        *HEAD,
    ]
    for (learner, target), part in others.groupby(["learner", "target"]):
        lines.append(_summary(f"{learner}, {target}", part))
    for learner, part in others.groupby("learner"):
        if part.target.nunique() > 1:
            lines.append(_summary(f"{learner}, all", part))
    classes = others[others.learner != REGRESSOR]
    lines += [_summary("all classifiers", classes), ""]
    lines += ["The same for all classifiers by epsilon, and by the number of training records:", "", *HEAD]
    for epsilon, part in classes.groupby("epsilon"):
        lines.append(_summary(f"epsilon {epsilon:g}", part))
    for low, high, name in ((0, 500, "below 500"), (500, 5_000, "500 to 5,000"), (5_000, 10**9, "5,000 and more")):
        part = classes[(classes.rows >= low) & (classes.rows < high)]
        if len(part):
            lines.append(_summary(f"{name} records", part))
    worst = others[~others.inside].assign(off=lambda t: np.maximum(t.low - t.loss, t.loss - t.high))
    names = worst.groupby("task").off.agg(["size", "max"]).sort_values("size", ascending=False).head(5)
    lines += [
        "",
        "Most pairs outside of the band are of "
        + ", ".join(
            f"{task} ({row['size']:.0f} pairs, off by up to {row['max']:.0f} points)" for task, row in names.iterrows()
        )
        + ".",
        "",
    ]
    return "\n".join(lines)


def _summary(name: str, part: pd.DataFrame) -> str:
    width, error = (part.high - part.low).median(), (part.loss - part.expected).abs().mean()
    counts = f"{part.task.nunique()} | {len(part)} | {part.inside.mean():.1%}"
    return f"| {name} | {counts} | {width:.1f} | {(part.high - part.low).mean():.1f} | {error:.1f} |"


def draw(shown: pd.DataFrame, path: Path) -> None:
    """Draw every pair that was not used: its expected loss, its band, and what was measured."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "forecast"
    from matplotlib import pyplot

    learners = [name for name in dict.fromkeys(shown.learner) if (~shown[shown.learner == name].tuning).any()]
    depth = -(-len(learners) // 3)
    figure, panels = pyplot.subplots(depth, 3, figsize=(10.5, 3.3 * depth), squeeze=False)
    for axes, learner in zip(panels.ravel(), learners, strict=False):
        part = shown[(shown.learner == learner) & ~shown.tuning].sort_values("rehearsed")
        for colour, (target, band) in zip(COLOURS, part.groupby("target", sort=False), strict=False):
            axes.fill_between(band.expected, band.low, band.high, color=colour, alpha=0.2, linewidth=0)
            for inside, marker in ((True, "."), (False, "x")):
                points = band[band.inside == inside]
                name = f"{target}, {'inside' if inside else 'outside'}"
                axes.plot(points.expected, points.loss, marker, color=colour, markersize=4, label=name)
        axes.axline((0, 0), slope=1, color="#1b1f24", linewidth=0.8)
        axes.set_title(f"{learner}: {part.inside.mean():.0%} of {len(part)}", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=7)
    figure.supxlabel("expected loss, points")
    figure.supylabel("measured loss, points")
    for axes in panels.ravel()[len(learners) :]:
        axes.set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is missing, calibrate, and write."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--again", nargs="+", default=[], metavar="LEARNER")
    options = parser.parse_args(given)
    path = options.out / "forecast.csv"
    table = pd.read_csv(path)[MEASURED] if path.exists() else pd.DataFrame(columns=MEASURED)
    table = table[~table.learner.isin(options.again)].reset_index(drop=True)
    if not options.report_only:
        known = set(table[KEYS].itertuples(index=False, name=None))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonPrivateWarning)
            for rows in (classified(options.data, known), regressed(options.data, known)):
                for row in rows:
                    table.loc[len(table)] = row
                    table.to_csv(path, index=False, lineterminator="\n")  # a stopped run goes on
    table = rounded(table)
    calibrations, shown = calibrated(table)
    shown.to_csv(path, index=False, float_format="%.7g", lineterminator="\n")
    PACKAGED.write_text(packaged(calibrations), "utf-8")
    (options.out / "forecast.md").write_text(page(shown), "utf-8")
    draw(shown, options.out / "forecast.svg")
    for made in calibrations:
        print(made.in_words)
    return 0


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Return the measurements as the file has them, so that whoever reads it finds the same lines."""
    numbers = {name: table[name].astype(float).round(3) for name in ("twin", "loss", "rehearsed")}
    return table.assign(**numbers, epsilon=table.epsilon.astype(float), tuning=table.tuning.astype(bool))


if __name__ == "__main__":
    sys.exit(main())
