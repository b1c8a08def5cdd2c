"""How results of Fletcher and Islam (2017) become tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet_papers.framework.entry import Outcome, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AVERAGE = "average"


def compared(outcomes: Sequence[Outcome], measure: str, reference: str) -> list[Row]:
    """Return one row for each data set and variant, and an average over data sets, each against a reference variant.

    Scores are paired by fold. The average's standard error is over folds, each averaged over all data sets; p is that
    of the two-sided Wilcoxon signed-rank test on the paired scores, of all data sets for the average.
    """
    found: dict[tuple[float, str, str], list[float]] = {}
    for outcome in outcomes:
        key = (outcome.settings["epsilon"], outcome.settings["data"], outcome.settings["variant"])
        found.setdefault(key, []).extend(outcome.result[measure])  # of all repeats, in their order
    rows: list[Row] = []
    variants = dict.fromkeys(variant for _, _, variant in found)
    for epsilon in dict.fromkeys(epsilon for epsilon, _, _ in found):
        names = dict.fromkeys(name for e, name, _ in found if e == epsilon)
        for name in (*names, AVERAGE):
            for variant in variants:
                chosen = list(names) if name == AVERAGE else [name]
                scores = [found.get((epsilon, one, variant)) for one in chosen]
                against = [found.get((epsilon, one, reference)) for one in chosen]
                rows.append(_row(name, variant, epsilon, measure, scores, None if variant == reference else against))
    return [row for row in rows if row[measure] is not None]


def _row(
    name: str,
    variant: str,
    epsilon: float,
    measure: str,
    scores: Sequence[list[float] | None],
    against: Sequence[list[float] | None] | None,
) -> Row:
    row: Row = {"data": name, "variant": variant, "epsilon": epsilon, measure: None}
    if any(score is None for score in scores):
        return row
    table = np.array(scores, dtype=np.float64)
    row[measure] = float(table.mean())
    row["deviation"] = float(table.mean(axis=0).std(ddof=1)) if table.shape[1] > 1 else None
    if against is None or any(score is None for score in against):
        return row
    other = np.array(against, dtype=np.float64)
    folds = min(table.shape[1], other.shape[1])
    difference = table[:, :folds] - other[:, :folds]
    row["against reference"] = float(difference.mean())
    row["standard error"] = float(difference.mean(axis=0).std(ddof=1) / np.sqrt(folds)) if folds > 1 else None
    row["wilcoxon p"] = _wilcoxon(difference.ravel())
    return row


def _wilcoxon(differences: Any) -> float | None:
    from scipy.stats import wilcoxon

    if len(differences) < 5 or not differences.any():
        return None
    return float(wilcoxon(differences).pvalue)


def bars(measure: str) -> Callable[[list[Row]], Figure]:
    """Return a plot of one horizontal bar for each data set and variant, one panel for each epsilon."""

    def plot(rows: list[Row]) -> Figure:
        from matplotlib.figure import Figure

        from privet_papers.framework.plots import COLOURS

        budgets = list(dict.fromkeys(row["epsilon"] for row in rows))
        names = list(dict.fromkeys(row["data"] for row in rows))
        variants = list(dict.fromkeys(row["variant"] for row in rows))
        figure = Figure(figsize=(4.2 * len(budgets), 0.8 + 0.13 * len(names) * (len(variants) + 1)))
        for axes, budget in zip(figure.subplots(1, len(budgets), squeeze=False)[0], budgets, strict=True):
            for k, variant in enumerate(variants):
                shown = [row for row in rows if row["variant"] == variant and row["epsilon"] == budget]
                heights = [names.index(row["data"]) + k / (len(variants) + 1) for row in shown]
                widths = [float(row[measure] or 0) for row in shown]
                errors = [float(row["deviation"] or 0) for row in shown]
                axes.barh(
                    heights,
                    widths,
                    0.9 / (len(variants) + 1),
                    xerr=errors,
                    label=variant,
                    color=COLOURS[k % len(COLOURS)],
                    error_kw={"lw": 0.6},
                )
            axes.set_yticks([i + 0.35 for i in range(len(names))], [str(name) for name in names])
            axes.invert_yaxis()
            axes.set_xlabel(measure)
            axes.set_title(f"epsilon = {budget:g}")
        figure.axes[0].legend(loc="lower right", fontsize=7)
        return figure

    return plot


def lines(x: str, measure: str, group: Sequence[str], *, log: bool = True) -> Callable[[list[Row]], Figure]:
    """Return a plot of one line for each combination of the columns `group`."""

    def plot(rows: list[Row]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        for key in dict.fromkeys(tuple(row[name] for name in group) for row in rows):
            shown = [row for row in rows if tuple(row[name] for name in group) == key]
            axes.plot(
                [float(row[x] or 0) for row in shown],
                [float(row[measure] or 0) for row in shown],
                label=", ".join(
                    f"{part:g}" if isinstance(part, float) else str(part) for part in key if part is not None
                ),
            )
        if log:
            axes.set_xscale("log")
        axes.set_xlabel(x)
        axes.set_ylabel(measure)
        axes.legend(fontsize=7)
        return figure

    return plot


def averaged(outcomes: Sequence[Outcome], on: Sequence[str], measures: Sequence[str]) -> list[Row]:
    """Return one row for each combination of the settings `on`, with mean and deviation of each measure over seeds."""
    rows: list[Row] = []
    for key in dict.fromkeys(tuple(outcome.settings[name] for name in on) for outcome in outcomes):
        shown = [outcome for outcome in outcomes if tuple(outcome.settings[name] for name in on) == key]
        row: Row = dict(zip(on, key, strict=True))
        for measure in measures:
            values = [outcome.result[measure] for outcome in shown if outcome.result.get(measure) is not None]
            flat = np.concatenate([np.atleast_1d(value) for value in values]) if values else None
            row[measure] = None if flat is None else float(flat.mean())
            if flat is not None and len(flat) > 1:
                row[f"{measure}, deviation"] = float(flat.std(ddof=1))
        rows.append(row)
    return rows
