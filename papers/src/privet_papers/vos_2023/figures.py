"""Vos, Vos, Li, Erkin and Verwer (2023), Figures 1 and 2: accuracy by epsilon, and by the shares of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privet_papers.framework.entry import Cell, Entry, Outcome, Row
from privet_papers.vos_2023.cells import DIFFPRIVLIB, TREE, budget_shares, cross_validated, printed_shares
from privet_papers.vos_2023.entry_parts import (
    AS_IN_THE_PAPER,
    BDPT_READINGS,
    PAPER,
    PEER_NOTE,
    SOURCES,
    WHAT_IS_PRIVATE,
    mean_and_error,
    run_here,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVES = ("ours", "PrivaTree 2023", "BDPT", "DPGDF", DIFFPRIVLIB)
FIGURE_1_DATA = ("bench_compas-two-years", "adult")
EPSILONS = (0.001, 0.01, 0.1, 1.0, 10.0)  # those of the authors' code
SEEDS = 4  # five folds each
FIGURE_2_DATA = ("vote", "bench_pol")
TENTHS = 10
QUANTILE_TENTHS = (1, 2, 4, 6, 8)
REPETITIONS = {"vote": 50, "bench_pol": 20}
OURS, PRINTED = "ours", "PrivaTree 2023"


def _curve_cells(quick: bool) -> list[Cell]:
    """A cell for each curve, epsilon and seed; a plain tree has no epsilon."""
    cells = []
    for name in FIGURE_1_DATA[:1] if quick else FIGURE_1_DATA:
        for seed in range(1 if quick else SEEDS):
            for method in run_here(TREE, *CURVES):
                for epsilon in EPSILONS[-1:] if method == TREE else EPSILONS[2:4] if quick else EPSILONS:
                    settings = {"data": name, "method": method, "epsilon": epsilon, "seed": seed}
                    cells.append(Cell(cross_validated, settings, data=(name,)))
    return cells


def _curve_table(outcomes: Sequence[Outcome]) -> list[Row]:
    found: dict[tuple[str, str, float | None], list[float]] = {}
    for outcome in outcomes:
        settings = outcome.settings
        epsilon = None if settings["method"] == TREE else settings["epsilon"]
        found.setdefault((settings["data"], settings["method"], epsilon), []).extend(outcome.result["accuracy"])
    rows: list[Row] = []
    for (name, method, epsilon), scores in sorted(found.items(), key=lambda item: _place(item[0])):
        mean, error = mean_and_error(scores)
        head: Row = {"data": name, "method": method, "epsilon": epsilon}
        rows.append({**head, "accuracy": mean, "s.e.": error, "runs": len(scores)})
    return rows


def _place(key: tuple[str, str, float | None]) -> tuple[int, int, float]:
    name, method, epsilon = key
    return FIGURE_1_DATA.index(name), (TREE, *CURVES).index(method), epsilon or 0.0


def _curve_plot(rows: list[Row]) -> Figure:
    """Accuracy by epsilon, a panel for each data set."""
    figure, panels = _panels(rows)
    for axes, of_panel in panels:
        for method in dict.fromkeys(str(row["method"]) for row in of_panel):
            line = [row for row in of_panel if row["method"] == method]
            heights = [float(str(row["accuracy"])) for row in line]
            if method == TREE:
                axes.axhline(heights[0], color="0.4", linestyle="--", label=method)
            else:
                axes.plot([float(str(row["epsilon"])) for row in line], heights, label=method)
        axes.set_xscale("log")
        axes.set(xlabel="epsilon", ylabel="accuracy")
    panels[-1][0].legend(fontsize="small")
    return figure


def _share_cells(quick: bool) -> list[Cell]:
    """All divisions among quantiles, nodes and leaves by tenths as printed; of ours the leaves' twentieths."""
    cells: list[Cell] = []
    step = 3 if quick else 1
    for name in FIGURE_2_DATA:
        repetitions = 2 if quick else REPETITIONS[name]
        base = {"data": name, "epsilon": 0.1, "repetitions": repetitions}
        twentieths = range(1, 20, 4 if quick else 2)
        cells += [Cell(budget_shares, {**base, "leaves": f"{place}/20"}, data=(name,)) for place in twentieths]
        for quantiles in QUANTILE_TENTHS[::step]:
            leaves = [f"{tenths}/10" for tenths in range(1, TENTHS - quantiles, step)]
            cells.append(Cell(printed_shares, {**base, "quantiles": f"{quantiles}/10", "leaves": leaves}, data=(name,)))
    return cells


def _share_table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One line for each division of the budget."""
    rows: list[Row] = []
    for outcome in outcomes:
        settings = outcome.settings
        if "quantiles" in settings:
            quantiles, method = _share(settings["quantiles"]), PRINTED
            divisions = list(zip(settings["leaves"], outcome.result["accuracy"], strict=True))
        else:
            quantiles, method, divisions = 0.0, OURS, [(settings["leaves"], outcome.result["accuracy"])]
        for part, scores in divisions:
            leaves, (mean, error) = _share(part), mean_and_error(scores)
            row: Row = {"data": settings["data"], "method": method, "quantiles": quantiles}
            row |= {"nodes": round(1 - quantiles - leaves, 4), "leaves": leaves}
            rows.append({**row, "accuracy": mean, "s.e.": error, "runs": len(scores)})
    return rows


def _share(text: str) -> float:
    above, below = text.split("/")
    return int(above) / int(below)


def _share_plot(rows: list[Row]) -> Figure:
    """Training accuracy by the leaves' share, a line for each share of the quantiles, and one of ours."""
    figure, panels = _panels(rows)
    for axes, of_panel in panels:
        for method, quantiles in dict.fromkeys((str(row["method"]), row["quantiles"]) for row in of_panel):
            line = [row for row in of_panel if (row["method"], row["quantiles"]) == (method, quantiles)]
            label = method if method == OURS else f"printed, {quantiles:.0%} for quantiles"
            places, heights = ([float(str(row[name])) for row in line] for name in ("leaves", "accuracy"))
            axes.plot(places, heights, label=label)
        axes.set(xlabel="part of epsilon for the leaves", ylabel="training accuracy")
    panels[-1][0].legend(fontsize="small")
    return figure


def _panels(rows: list[Row]) -> tuple[Figure, list[tuple[Axes, list[Row]]]]:
    """Return a figure with a panel for each data set, and the rows of each."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure = Figure(figsize=(4.8 * len(names), 3.8))
    panels = []
    for index, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), index + 1)
        axes.set_title(name)
        panels.append((axes, [row for row in rows if row["data"] == name]))
    return figure, panels


ENTRIES = (
    Entry(
        name="vos-fig-1",
        paper=f"{PAPER}, Figure 1",
        title="Accuracy of depth-4 trees by epsilon",
        cells=_curve_cells,
        assemble=_curve_table,
        plot=_curve_plot,
        notes=(
            "20 runs, five stratified folds with each of the seeds 0 to 3, where the paper draws 50 splits. The paper "
            "prints no numbers.",
            AS_IN_THE_PAPER,
            WHAT_IS_PRIVATE,
            BDPT_READINGS,
            PEER_NOTE,
        ),
        sources=SOURCES,
    ),
    Entry(
        name="vos-fig-2",
        paper=f"{PAPER}, Figure 2",
        title="Training accuracy of depth-3 trees at epsilon 0.1 by the shares of the budget",
        cells=_share_cells,
        assemble=_share_table,
        plot=_share_plot,
        notes=(
            "As printed, epsilon is divided three ways, among quantiles, nodes and leaves, here by tenths, "
            "and 10, 20, 40, 60 or 80% for quantiles, where the paper has all "
            "twentieths; what quantiles would get goes to the nodes of categorical features. Ours has no quantiles to "
            "pay for, so one share is varied.",
            "50 runs for vote, as in the paper, 20 for pol; divisions with the same share of quantiles share their "
            "draws of quantiles. vote has 232 records without missing values; the paper names all 435.",
        ),
        sources=SOURCES,
    ),
)
