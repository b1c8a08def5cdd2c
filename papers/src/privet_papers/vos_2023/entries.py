"""Accuracy and speed of PrivaTree: Vos, Vos, Li, Erkin and Verwer (2023), Tables II, V, VI, VII and Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privet_papers.framework.entry import Cell, Entry, Outcome, Row
from privet_papers.framework.peers import interpreter
from privet_papers.framework.sources import default_sources
from privet_papers.vos_2023.cells import (
    DIFFPRIVLIB,
    HIGGS,
    OTHERS,
    OURS,
    STOP,
    TREE,
    budget_shares,
    cross_validated,
    grids,
    probabilities,
    times,
)
from privet_papers.vos_2023.printed_numbers import CORRECTED, METHODS, PRINTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "Vos, Vos, Li, Erkin and Verwer 2023"
AVERAGE = "average"
DATA = list(dict.fromkeys(name for name, _ in PRINTED))
LARGE = {"bench_covertype_like"}
SMALL = {"breast_w", "diabetes", "vote"}
QUICK = {"breast_w", "bench_compas-two-years"}
SHOWN = (*OURS, *OTHERS, DIFFPRIVLIB)
CURVES = ("ours", "PrivaTree 2023", "PrivaTree repaired", "BDPT", "DPGDF, sound")
EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
HIGGS_ROWS = 940_160

SOURCES = (
    *default_sources(),
    "privet_papers.framework.peers",
    "privet_papers.framework.smooth_sensitivity",
    "privet_papers.vos_2023.bdpt",
    "privet_papers.vos_2023.dpgdf",
    "privet_papers.vos_2023.dpgdf_printed",
    "privet_papers.vos_2023.one_against_rest",
    "privet_papers.vos_2023.printed",
)
NOTES = (
    "Records with a missing value are left out, categories and bounds are those of the data set as published, and the "
    "number of training records is a public hint, all as in the paper.",
    "part_jannis holds 18% of the rows of the paper's jannis; bench_covertype_like has the paper's size and columns.",
    "Printed figures come from an algorithm that spends up to m times its epsilon (docs/learners/privatree.md); "
    "PrivaTree 2023 is that algorithm run again. PrivaTree*, PrivaTree 2023, "
    "PrivaTree repaired, BDPT and DPGDF are not private at the stated epsilon; the two of ours and DPGDF, sound, are.",
    "DiffPrivLib is run again (0.6.6, one tree, public bounds and classes) where the environment variable "
    "PRIVET_DIFFPRIVLIB names the interpreter of an environment that has it. Mean of five stratified folds, three "
    "times over for data sets of fewer than 1,000 records.",
)


def _run_here(*methods: str) -> list[str]:
    """Return the methods that can be run: diffprivlib's needs an environment of its own."""
    return [method for method in methods if method != DIFFPRIVLIB or interpreter.DIFFPRIVLIB.named() is not None]


def _accuracy_cells(epsilon: float, quick: bool) -> list[Cell]:
    cells = []
    for name in DATA:
        if quick and name not in QUICK:
            continue
        for seed in range(3 if name in SMALL and not quick else 1):
            for method in _run_here(TREE, *SHOWN):
                if "DPGDF" in method and PRINTED[name, epsilon][METHODS.index("DPGDF")] is None:
                    continue  # no categorical features
                if name in LARGE and method == "BDPT":
                    continue
                settings = {"data": name, "method": method, "epsilon": epsilon, "seed": seed}
                cells.append(Cell(cross_validated, settings, data=(name,)))
    return cells


def _accuracy_table(epsilon: float, outcomes: Sequence[Outcome]) -> list[Row]:
    found: dict[tuple[str, str], list[float]] = {}
    for outcome in outcomes:
        key = outcome.settings["data"], outcome.settings["method"]
        found.setdefault(key, []).extend(outcome.result["accuracy"])
    rows: list[Row] = []
    for name in dict.fromkeys(name for name, _ in found):
        row: Row = {"data": name}
        for method in (TREE, *SHOWN):
            scores = found.get((name, method))
            row[method] = None if scores is None else round(float(np.mean(scores)), 4)
            if method == "ours" and scores is not None:
                row["ours, s.e."] = round(float(np.std(scores) / np.sqrt(len(scores))), 4)
        for method, figure in zip(METHODS, PRINTED[name, epsilon], strict=True):
            row[f"{method} (paper)"] = figure
        row["PrivaTree (corrected)"] = CORRECTED.get((name, epsilon))
        rows.append(row)
    return [*rows, _average(rows)]


def _average(rows: Sequence[Row]) -> Row:
    """Return column means, over the data sets for which every row has a figure; else none."""
    average: Row = {"data": AVERAGE}
    for column in rows[0]:
        values = [row.get(column) for row in rows]
        numbers = [value for value in values if isinstance(value, float)]
        if column != "data":
            average[column] = round(float(np.mean(numbers)), 4) if len(numbers) == len(values) else None
    return average


def _curve_cells(quick: bool) -> list[Cell]:
    return [
        Cell(cross_validated, {"data": name, "method": method, "epsilon": epsilon, "seed": seed}, data=(name,))
        for name in ("adult", "bench_compas-two-years")
        if not quick or name != "adult"
        for method in (TREE, *CURVES)
        for epsilon in (EPSILONS[2::2] if quick else EPSILONS)
        for seed in range(1 if quick or method == TREE or name == "adult" else 2)
    ]


def _long_table(columns: Sequence[str], measure: str, outcomes: Sequence[Outcome]) -> list[Row]:
    found: dict[tuple[str | float, ...], list[float]] = {}
    for outcome in outcomes:
        key = tuple(outcome.settings[column] for column in columns)
        found.setdefault(key, []).append(float(np.mean(outcome.result[measure])))
    rows: list[Row] = []
    for key, scores in found.items():
        rows.append({**dict(zip(columns, key, strict=True)), measure: round(float(np.mean(scores)), 4)})
    return rows


def _panels(x: str, label: str, lines: str | None, rows: list[Row]) -> Figure:
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure = Figure(figsize=(4.2 * len(names), 3.4))
    for index, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), index + 1)
        of_panel = [row for row in rows if row["data"] == name]
        for line in dict.fromkeys(str(row[lines]) for row in of_panel) if lines else [""]:
            points = [row for row in of_panel if not lines or row[lines] == line]
            places = [float(str(row[x])) for row in points]
            axes.plot(places, [float(str(row["accuracy"])) for row in points], label=line)
        if x == "epsilon":
            axes.set_xscale("log")
        axes.set(title=name, xlabel=label, ylabel="accuracy")
        if lines and index == len(names) - 1:
            axes.legend()
    return figure


def _share_cells(quick: bool) -> list[Cell]:
    return [
        Cell(
            budget_shares,
            {"data": name, "epsilon": 0.1, "leaf_part": f"{tenths}/20", "repetitions": 5 if quick else 50},
            data=(name,),
        )
        for name in ("vote", "bench_pol")
        for tenths in range(1, 20, 4 if quick else 2)
    ]


def _share_table(outcomes: Sequence[Outcome]) -> list[Row]:
    rows = _long_table(["data", "leaf_part"], "accuracy", outcomes)
    for row in rows:
        above, below = str(row["leaf_part"]).split("/")
        row["leaf_part"] = int(above) / int(below)
    return rows


def _time_cells(quick: bool) -> list[Cell]:
    cells = []
    for name in (*DATA, HIGGS):
        if quick and name not in QUICK:
            continue
        for method in _run_here(TREE, *SHOWN):
            if name in (*LARGE, HIGGS) and method not in (TREE, *OURS, DIFFPRIVLIB):
                continue
            settings = {"data": name, "method": method, "epsilon": 0.1, "seed": 0}
            if name == HIGGS:
                settings["n_rows"] = HIGGS_ROWS
            cells.append(Cell(times, settings, data=() if name == HIGGS else (name,)))
    return cells


def _time_table(outcomes: Sequence[Outcome]) -> list[Row]:
    found = {(o.settings["data"], o.settings["method"]): float(o.result["seconds"]) for o in outcomes}
    rows: list[Row] = []
    for name in dict.fromkeys(name for name, _ in found):
        base = found.get((name, TREE))
        row: Row = {"data": name}
        for method in SHOWN:
            seconds = found.get((name, method))
            row[f"{method} / tree"] = None if seconds is None or base is None else round(seconds / base, 2)
        rows.append(row)
    return rows


def _leaf_cells(quick: bool) -> list[Cell]:
    return [
        Cell(probabilities, {"data": name, "epsilon": epsilon, "leaves": leaves, "seed": 0}, data=(name,))
        for name in ("bench_california", "bench_MagicTelescope", "bench_pol", "adult")
        if not quick or name != "adult"
        for epsilon in (0.1, 1.0)
        for leaves in ("labels", "counts")
    ]


def _leaf_table(outcomes: Sequence[Outcome]) -> list[Row]:
    rows: list[Row] = []
    for outcome in outcomes:
        row: Row = {column: outcome.settings[column] for column in ("data", "epsilon", "leaves")}
        rows.append({**row, **{measure: round(float(value), 4) for measure, value in outcome.result.items()}})
    return rows


def _grid_cells(quick: bool) -> list[Cell]:
    cells = []
    for name in ("bench_california", "adult", "tail 1", "tail 2", "tail 4"):
        if quick and name == "adult":
            continue
        for epsilon in (0.1, 1.0):
            for spacing in ("linear", "log"):
                for grid in ("schema", "quantiles", "jointexp"):
                    settings = {"data": name, "epsilon": epsilon, "spacing": spacing, "grid": grid, "seed": 0}
                    cells.append(Cell(grids, settings, data=() if name.startswith("tail") else (name,)))
    return cells


def _grid_table(outcomes: Sequence[Outcome]) -> list[Row]:
    rows: dict[tuple[str, float], Row] = {}
    for outcome in outcomes:
        settings = outcome.settings
        row = rows.setdefault(
            (settings["data"], settings["epsilon"]), {"data": settings["data"], "epsilon": settings["epsilon"]}
        )
        kind = settings["spacing"] if settings["grid"] == "schema" else f"{settings['grid']} on {settings['spacing']}"
        row[kind] = round(float(outcome.result["accuracy"]), 4)
    return list(rows.values())


def _stop_cells(quick: bool) -> list[Cell]:
    return [
        Cell(cross_validated, {"data": name, "method": method, "epsilon": epsilon, "seed": seed}, data=(name,))
        for name in DATA
        if name in QUICK or (not quick and name not in LARGE)
        for epsilon in (0.01, 0.1, 1.0)
        for method in ("ours", STOP)
        for seed in range(1 if quick else 3)
    ]


def _stop_table(outcomes: Sequence[Outcome]) -> list[Row]:
    found: dict[tuple[str, float], dict[str, list[float]]] = {}
    for outcome in outcomes:
        settings = outcome.settings
        of_row = found.setdefault((settings["data"], settings["epsilon"]), {})
        of_row.setdefault(settings["method"], []).extend(outcome.result["accuracy"])
    rows: list[Row] = []
    for (name, epsilon), by_method in found.items():
        means = {method: round(float(np.mean(scores)), 4) for method, scores in by_method.items()}
        rows.append({"data": name, "epsilon": epsilon, **means})
    for epsilon in dict.fromkeys(epsilon for _, epsilon in found):
        rows.append({**_average([row for row in rows if row["epsilon"] == epsilon]), "epsilon": epsilon})
    return rows


def _accuracy_entry(number: str, roman: str, epsilon: float) -> Entry:
    cells: Callable[[bool], Sequence[Cell]] = partial(_accuracy_cells, epsilon)
    return Entry(
        name=f"vos-table-{number}",
        paper=f"{PAPER}, Table {roman}",
        title=f"Accuracy of depth-4 trees at epsilon {epsilon:g}, five stratified folds",
        cells=cells,
        assemble=partial(_accuracy_table, epsilon),
        notes=NOTES,
        sources=SOURCES,
    )


ENTRIES = (
    Entry(
        name="privatree-leaves",
        paper="Ours, beside Vos et al. 2023",
        title="Labels or noisy counts in the leaves: accuracy, AUC and Brier score",
        cells=_leaf_cells,
        assemble=_leaf_table,
        notes=("Depth 4, means of five stratified folds, the number of training records as a hint.",),
        sources=SOURCES,
    ),
    Entry(
        name="privatree-grids",
        paper="Ours, beside Vos et al. 2023",
        title="Public grids and private quantiles: accuracy",
        cells=_grid_cells,
        assemble=_grid_table,
        notes=(
            "Pure epsilon, depth 4, five stratified folds. Tail s is synthetic: six features exp(s N), 20,000 records.",
        ),
        sources=SOURCES,
    ),
    Entry(
        name="privatree-stop",
        paper="Ours, beside Vos et al. 2023",
        title="Not to split as one more candidate: accuracy with labels in the leaves",
        cells=_stop_cells,
        assemble=_stop_table,
        notes=("Depth 4, three times five stratified folds, the number of training records as a hint.",),
        sources=SOURCES,
    ),
    _accuracy_entry("2", "II", 0.1),
    _accuracy_entry("6", "VI", 0.01),
    _accuracy_entry("7", "VII", 1.0),
    Entry(
        name="vos-table-5",
        paper=f"{PAPER}, Table V",
        title="Time of a fit over that of scikit-learn's tree, all records, one thread",
        cells=_time_cells,
        assemble=_time_table,
        notes=(
            "Ratios of times, encoding included, the least of three runs each. The paper prints seconds of its own "
            "machine. Higgs is synthetic, of the same shape (940,160 x 24). Times depend on what else runs.",
        ),
        sources=SOURCES,
    ),
    Entry(
        name="vos-fig-1",
        paper=f"{PAPER}, Figure 1",
        title="Accuracy of depth-4 trees by epsilon",
        cells=_curve_cells,
        assemble=partial(_long_table, ["data", "method", "epsilon"], "accuracy"),
        plot=partial(_panels, "epsilon", "epsilon", "method"),
        notes=("Five folds for adult, twice five for compas, in place of 50 runs.", *NOTES[:1], NOTES[2]),
        sources=SOURCES,
    ),
    Entry(
        name="vos-fig-2",
        paper=f"{PAPER}, Figure 2",
        title="Training accuracy of depth-3 trees at epsilon 0.1 by the leaves' part of the budget",
        cells=_share_cells,
        assemble=_share_table,
        plot=partial(_panels, "leaf_part", "part of epsilon for the leaves", None),
        notes=("Ours has no quantiles to pay for, so there is one share to vary where the paper has two.",),
        sources=SOURCES,
    ),
)
