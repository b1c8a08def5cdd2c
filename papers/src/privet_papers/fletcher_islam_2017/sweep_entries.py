"""Fletcher and Islam (2017) by one thing at a time: depth, trees, records, budget (Figures 6, 7, 9 and 10)."""

from __future__ import annotations

from collections.abc import Sequence

from privet_papers.fletcher_islam_2017.cells import TEST_ROWS_OF_SCALING, scaling
from privet_papers.fletcher_islam_2017.data import BENCHMARKS, SYNTHETIC
from privet_papers.fletcher_islam_2017.entry_parts import (
    ONE_GENERATOR,
    OURS,
    PRINTED,
    QUICK,
    SIZE,
    SOUND,
    cell,
    entry,
    grid,
)
from privet_papers.fletcher_islam_2017.layout import averaged, bars, compared, lines
from privet_papers.framework.entry import Cell, Outcome, Row

BUDGETS = (0.01, 0.1, 1.0)
SWEEP = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)


def _fig_6_cells(quick: bool) -> list[Cell]:
    cells = []
    for name, benchmark in BENCHMARKS.items():
        m = benchmark.continuous + benchmark.discrete
        depths = {"m/2": max(1, m // 2), "Theorem 2": benchmark.depth, "m": m}
        for method in ("sound", "printed"):
            for label, depth in depths.items():
                if not quick or name in QUICK:
                    cells.append(cell(name, f"{method}, {label}", method, 1.0, {"max_depth": depth}, 2))
    return cells


def _fig_7_cells(quick: bool) -> list[Cell]:
    return [
        cell(name, f"{method}, {n} trees", method, epsilon, {"n_trees": n}, 1)
        for name in (QUICK[:1] if quick else SYNTHETIC)
        for epsilon in (0.2, 1.0)
        for method in ("sound", "printed")
        for n in ((1, 30) if quick else (1, 3, 10, 30, 100, 300))
    ]


def _fig_7(outcomes: Sequence[Outcome]) -> list[Row]:
    """Average over the synthetic data sets for each number of trees."""
    rows = []
    for outcome in outcomes:
        settings = {**outcome.settings, "trees": outcome.settings["parameters"]["n_trees"]}
        rows.append(Outcome(settings, outcome.result))
    return averaged(rows, ["method", "epsilon", "trees"], ["accuracy"])


def _fig_9_cells(quick: bool) -> list[Cell]:
    numbers = (3_000, 30_000) if quick else (3_000, 30_000, 300_000, 3_000_000)
    return [
        Cell(
            scaling,
            {
                "data": "SynthF",
                "method": method,
                "epsilon": epsilon,
                "parameters": {},
                "n_rows": n,
                "n_generated": max(numbers) + TEST_ROWS_OF_SCALING,
                "seed": seed,
            },
        )
        for n in numbers
        for seed in range(1 if quick or n > 300_000 else 3)
        for method, epsilons in (("sound", BUDGETS), ("printed", BUDGETS), ("without privacy", (None,)))
        for epsilon in epsilons
    ]


_FIG_10 = {
    "sound": SOUND,
    "printed": PRINTED,
    "without privacy": ("without privacy", {}),
    "Breiman": ("Breiman", {}),
}

ENTRIES = (
    entry(
        "fig-6",
        "Depth m/2, Theorem 2, and m",
        _fig_6_cells,
        lambda outcomes: compared(outcomes, "accuracy", "sound, Theorem 2"),
        bars("accuracy"),
        (f"2 folds. {SIZE}", OURS, ONE_GENERATOR),
    ),
    entry(
        "fig-7",
        "Number of trees, average of the synthetic data sets",
        _fig_7_cells,
        _fig_7,
        lines("trees", "accuracy", ["method", "epsilon"]),
        (f"1 fold. {SIZE}", OURS, ONE_GENERATOR),
    ),
    entry(
        "fig-9",
        "Number of records, SynthF",
        _fig_9_cells,
        lambda outcomes: averaged(outcomes, ["method", "epsilon", "n_rows"], ["accuracy"]),
        lines("n_rows", "accuracy", ["method", "epsilon"]),
        (
            "30,000 further records for testing; 3 runs, one for 3,000,000 records, whose bounds are those of all.",
            ONE_GENERATOR,
            "'without privacy' is the same forest with true majorities in its leaves.",
            OURS,
        ),
    ),
    entry(
        "fig-10",
        "Privacy budget, Adult",
        grid(_FIG_10, names=("Adult",), epsilons=SWEEP, folds=2),
        lambda outcomes: averaged(outcomes, ["variant", "epsilon"], ["accuracy"]),
        lines("epsilon", "accuracy", ["variant"], log=False),
        (f"2 folds. {SIZE}", OURS),
    ),
)
