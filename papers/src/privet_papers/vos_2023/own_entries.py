"""Ours beside Vos et al. (2023): leaves, grids and stops of PrivaTree, on data that rules may be chosen on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet_papers.framework.entry import Cell, Entry, Outcome, Row
from privet_papers.vos_2023.cells import STOP, cross_validated, grids, probabilities
from privet_papers.vos_2023.data import FOR_RULES, LARGE
from privet_papers.vos_2023.entry_parts import QUICK, SOURCES, column_means


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
        for name in FOR_RULES
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
        rows.append({**column_means([row for row in rows if row["epsilon"] == epsilon]), "epsilon": epsilon})
    return rows


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
)
