"""Figures 1 to 10 of Bojarski et al. (2014), and their bounds beside what is measured.

Odd figures show the test error against h and k at the paper's budget, even ones against the budget. The paper's figures
exist as pictures only, so that there are no printed numbers to put beside ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet_papers.bojarski_2014.cells import METHODS, SOURCES, VOTES, grid, tree_quality
from privet_papers.bojarski_2014.data import BENCHMARKS
from privet_papers.bojarski_2014.private_theorems import theorem_5_7
from privet_papers.bojarski_2014.theorems import Voting, theorem_5_4
from privet_papers.framework.entry import Cell, Entry, Outcome, Row, WholeProtocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = "Bojarski et al. 2014"
SHOWN = ("banknote", "vote", "mammographic", "mushroom")
HEIGHTS, TREES = list(range(1, 16)), list(range(1, 22, 2))
SOME_TREES, SOME_HEIGHTS = (1, 5, 21), (5, 10)
BUDGETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
MANY_TREES = [1, 3, 5, 7, 9, 13, 17, 21, 31, 41, 61, 81, 101]
ALL_TREES = list(range(1, 102))
RUNS_OF_THE_PAPER = 10
IN_WORDS = {1: "one run", 10: "ten runs"}
# Of two cores, for the paper's ten runs: over shapes, over budgets with all k.
HOURS = {
    "small": (0.1, 0.2),
    "adult": (0.05, 0.2),
    "transfusion": (0.05, 0.05),
    "covertype": (0.1, 1.5),
    "quantum": (0.05, 0.1),
}
BOUNDED: tuple[Voting, Voting] = ("majority", "threshold")
PRIVATE = [method for method in METHODS if method != "n-dp"]
NOTES = (
    "Odd figures: the budget is 1000 / n_tr. 'dp' is the paper's algorithm with the noise that its proof needs, 'dp, "
    "back-off' is ours; the figure shows the first. The paper prints no numbers beside its figures.",
)
BUDGET_NOTES = (
    *NOTES,
    f"k out of {MANY_TREES}. Where a curve is over budgets, k is the one of the smallest validation error, which is "
    f"not private. The panels over k have h = {SOME_HEIGHTS[1]}, one for each voting rule.",
)


def _shape_cells(names: Sequence[str], runs: int) -> Callable[[bool], list[Cell]]:
    def cells(quick: bool) -> list[Cell]:
        heights, trees = ([3, 5, 10], [1, 5, 21]) if quick else (HEIGHTS, TREES)
        return [cell for name in names for cell in _over_shapes(name, heights, trees, 1 if quick else runs)]

    return cells


def _over_shapes(name: str, heights: list[int], trees: list[int], runs: int) -> list[Cell]:
    return [
        Cell(grid, {"data": name, "seed": seed, "h": heights, "k": trees}, BENCHMARKS[name].files)
        for seed in range(runs)
    ]


def _budget_cells(names: Sequence[str], runs: int) -> Callable[[bool], list[Cell]]:
    def cells(quick: bool) -> list[Cell]:
        budgets, trees = ((0.1, 1.0), [1, 5, 21]) if quick else (BUDGETS, MANY_TREES)
        return [cell for name in names for cell in _over_budgets(name, budgets, trees, 1 if quick else runs)]

    return cells


def _over_budgets(name: str, budgets: Sequence[float], trees: list[int], runs: int) -> list[Cell]:
    return [
        Cell(
            grid,
            {"data": name, "seed": seed, "h": list(SOME_HEIGHTS), "k": trees, "eta": eta},
            BENCHMARKS[name].files,
        )
        for eta in budgets
        for seed in range(runs)
    ]


def by_shape(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set, budget, method, voting rule, h and k: errors averaged over the runs."""
    found: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for outcome in outcomes:
        for method, vote, h, k, validation, test in outcome.result["rows"]:
            if method in PRIVATE:
                key = (outcome.settings["data"], round(outcome.result["eta"], 4), method, vote, h, k)
                found.setdefault(key, []).append((validation, test))
    names = ("data", "eta", "method", "vote", "h", "k")
    rows: list[Row] = []
    for key, errors in found.items():
        validation, test = np.mean(errors, axis=0)
        row: Row = dict(zip(names, key, strict=True))
        rows.append({**row, "validation error %": round(100 * validation, 2), "test error %": round(100 * test, 2)})
    return rows


def _pick(rows: list[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _line(axes: Axes, rows: list[Row], x: str, label: str, y: str = "test error %") -> None:
    ordered: list[Any] = sorted(rows, key=lambda row: float(row[x] or 0))
    axes.plot([row[x] for row in ordered], [row[y] for row in ordered], label=label)


def _spread(axes: Axes, rows: list[Row], x: str) -> None:
    """Draw the smallest, mean and largest test error for each value of x."""
    places: list[Any] = sorted({row[x] for row in rows}, key=lambda place: float(place or 0))
    errors: list[list[Any]] = [[row["test error %"] for row in rows if row[x] == place] for place in places]
    for label, summary in (("smallest", np.min), ("mean", np.mean), ("largest", np.max)):
        axes.plot(places, [float(summary(values)) for values in errors], label=label)


def plot_shapes(rows: list[Row]) -> Figure:
    """Four panels for each data set, as in the paper: a) over h, b) its spread, c) over k, d) its spread."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(13, 3.1 * len(names)))
    grid_of_axes = figure.subplots(len(names), 4, squeeze=False)
    for axes, name in zip(grid_of_axes, names, strict=True):
        own = _pick(rows, data=name, method="dp")
        some_k = [k for k in SOME_TREES if _pick(own, k=k)]
        for vote in VOTES:
            for k in some_k[1:]:
                _line(axes[0], _pick(own, vote=vote, k=k), "h", f"{vote}, k = {k}")
            for h in SOME_HEIGHTS:
                _line(axes[2], _pick(own, vote=vote, h=h), "k", f"{vote}, h = {h}")
        _spread(axes[1], _pick(own, vote="MV"), "h")
        _spread(axes[3], _pick(own, vote="MV"), "k")
        for panel, (letter, x) in zip(axes, (("a", "h"), ("b", "h"), ("c", "k"), ("d", "k")), strict=True):
            over = ", MV over all others" if letter in "bd" else ""
            panel.set(title=f"{letter}) {name}{over}", xlabel=x, ylabel="test error %")
            panel.legend(fontsize=6)
    return figure


def plot_budgets(rows: list[Row]) -> Figure:
    """For each data set a) over the budget with k by validation error, b) over k for each budget, a panel a vote."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(14, 3.4 * len(names)))
    grid_of_axes = figure.subplots(len(names), 1 + len(VOTES), squeeze=False)
    for (left, *right), name in zip(grid_of_axes, names, strict=True):
        own = _pick(rows, data=name, method="dp")
        for axes, vote in zip(right, VOTES, strict=True):
            for h in SOME_HEIGHTS:
                _line(left, _best_k(_pick(own, vote=vote, h=h)), "eta", f"{vote}, h = {h}")
            for eta in dict.fromkeys(row["eta"] for row in own):
                _line(axes, _pick(own, vote=vote, h=SOME_HEIGHTS[1], eta=eta), "k", f"eta = {eta}")
            axes.set(title=f"b) {name}, {vote}, h = {SOME_HEIGHTS[1]}", xlabel="k", ylabel="test error %")
            axes.legend(fontsize=6)
        left.set(title=f"a) {name}", xlabel="eta", ylabel="test error %", xscale="log")
        left.legend(fontsize=6)
    return figure


def _best_k(rows: list[Row]) -> list[Row]:
    best: dict[Any, Row] = {}
    for row in rows:
        if row["eta"] not in best or float(row["validation error %"] or 0) < float(
            best[row["eta"]]["validation error %"] or 0
        ):
            best[row["eta"]] = row
    return list(best.values())


def _bound_cells(quick: bool) -> list[Cell]:
    names = SHOWN[:1] if quick else ("banknote", "mushroom")
    trees = [1, 5, 21] if quick else [1, 3, 5, 11, 21, 51, 101, 201]
    return [
        Cell(tree_quality, {"data": name, "seed": 0, "h": h, "k": trees}, BENCHMARKS[name].files)
        for name in names
        for h in (4, 8, 12)
    ]


def bounds(outcomes: Sequence[Outcome]) -> list[Row]:
    """Put Theorem 5.4's bound beside measured training errors, with the delta for which k trees are just enough.

    From k = (1 + C) log(n) / (2 delta^2), C = 1; no bound where that is one half or more.
    """
    rows: list[Row] = []
    for outcome in outcomes:
        n, error = outcome.result["n"], max(outcome.result["tree_error"], 1e-6)
        private = theorem_5_7(n, outcome.settings["h"], 1000 / n, error)
        for k, majority, threshold in outcome.result["rows"]:
            delta = math.sqrt(math.log(n) / k)
            found = [theorem_5_4(n, error, delta, voting=voting) for voting in BOUNDED] if delta < 0.5 else []
            by_vote = dict(zip(BOUNDED, [round(100 * bound.error, 2) for bound in found], strict=bool(found)))
            rows.append(
                {
                    "data": outcome.settings["data"],
                    "h": outcome.settings["h"],
                    "k": k,
                    "average tree %": round(100 * error, 2),
                    "MV %": round(100 * majority, 2),
                    "TA %": round(100 * threshold, 2),
                    "delta": round(delta, 3) if found else None,
                    "bound MV %": by_vote.get("majority"),
                    "bound TA %": by_vote.get("threshold"),
                    "probability of the private bound (5.7)": private.probability,
                }
            )
    return rows


def plot_bounds(rows: list[Row]) -> Figure:
    """Measured training error against k, and the bound as a line."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["data"] for row in rows))
    heights = list(dict.fromkeys(row["h"] for row in rows))
    figure = Figure(figsize=(3.6 * len(heights), 3.2 * len(names)))
    grid_of_axes = figure.subplots(len(names), len(heights), squeeze=False)
    for line, name in zip(grid_of_axes, names, strict=True):
        for axes, h in zip(line, heights, strict=True):
            own = _pick(rows, data=name, h=h)
            for column in ("MV %", "TA %", "bound MV %", "bound TA %", "average tree %"):
                there = [row for row in own if row[column] is not None]
                _line(axes, there, "k", column.removesuffix(" %"), column)
            axes.set(title=f"{name}, h = {h}", xlabel="k", ylabel="training error %", xscale="log")
            axes.legend(fontsize=6)
    return figure


def _figures(
    number: int, names: Sequence[str], runs: tuple[int, int], hours: tuple[float, float]
) -> tuple[Entry, Entry]:
    """Return a figure over shapes and one over budgets; runs of each, and hours that all of the paper's runs take."""
    shown = ", ".join(names)
    shapes = WholeProtocol(
        lambda: [cell for name in names for cell in _over_shapes(name, HEIGHTS, TREES, RUNS_OF_THE_PAPER)],
        IN_WORDS[runs[0]],
        "the average of ten",
        hours[0],
    )
    budgets = WholeProtocol(
        lambda: [cell for name in names for cell in _over_budgets(name, BUDGETS, ALL_TREES, RUNS_OF_THE_PAPER)],
        f"{IN_WORDS[runs[1]]} with {len(MANY_TREES)} numbers of trees",
        "the average of ten with every k from 1 to 101",
        hours[1],
    )
    return (
        Entry(
            name=f"bojarski-fig-{number}",
            paper=f"{PAPER}, Figure {number}",
            title=f"Test error against h and k ({shown})",
            cells=_shape_cells(names, runs[0]),
            assemble=by_shape,
            sources=SOURCES,
            plot=plot_shapes,
            notes=NOTES,
            whole=None if runs[0] == RUNS_OF_THE_PAPER else shapes,
        ),
        Entry(
            name=f"bojarski-fig-{number + 1}",
            paper=f"{PAPER}, Figure {number + 1}",
            title=f"Test error against the budget ({shown})",
            cells=_budget_cells(names, runs[1]),
            assemble=by_shape,
            sources=SOURCES,
            plot=plot_budgets,
            notes=BUDGET_NOTES,
            whole=budgets,
        ),
    )


FIGURES = (
    *_figures(1, SHOWN, (10, 10), HOURS["small"]),
    *_figures(3, ("adult",), (10, 10), HOURS["adult"]),
    *_figures(5, ("transfusion",), (10, 10), HOURS["transfusion"]),
    *_figures(7, ("covertype",), (10, 1), HOURS["covertype"]),
    *_figures(9, ("quantum (synthetic stand-in)",), (10, 10), HOURS["quantum"]),
    Entry(
        name="bojarski-bounds",
        paper=f"{PAPER}, Theorems 5.4 and 5.7",
        title="The bounds beside what is measured",
        cells=_bound_cells,
        assemble=bounds,
        sources=SOURCES,
        plot=plot_bounds,
        notes=(
            "Training error without privacy. The bounds use the measured error of the average tree and the smallest "
            "delta for which k trees are enough, sqrt(log(n) / k) (C = 1): they fail with probability 1 / n. Where "
            "delta is 1/2 or more, k trees are too few for any bound. The private bound's probability is below zero: "
            "it says nothing. Bounds with a measured mu (Theorems 5.3 and 5.6) are on "
            "[bojarski-points](bojarski-points.md).",
        ),
    ),
)
