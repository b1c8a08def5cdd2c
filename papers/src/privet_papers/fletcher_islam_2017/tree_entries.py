"""Fletcher and Islam (2017) on the trees themselves: sensitivities, empty leaves, depths, labels (Tables 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from privet_papers.fletcher_islam_2017.cells import depth_of, leaf_facts, smooth_sensitivity
from privet_papers.fletcher_islam_2017.data import BENCHMARKS, SYNTHETIC
from privet_papers.fletcher_islam_2017.entry_parts import QUICK, entry, many_seeds
from privet_papers.fletcher_islam_2017.layout import averaged
from privet_papers.fletcher_islam_2017.printed_numbers import EMPTY_LEAVES, SENSITIVITIES
from privet_papers.framework.entry import Cell, Outcome, Row, beside_paper

EXACT = "Exact counts, which no private fit gives away."


def _table_2_cells(quick: bool) -> list[Cell]:
    return [Cell(smooth_sensitivity, {"j": j, "epsilon": epsilon}) for j, epsilon in SENSITIVITIES]


def _table_2(outcomes: Sequence[Outcome]) -> list[Row]:
    rows: list[Row] = [{**outcome.settings, **outcome.result} for outcome in outcomes]
    return beside_paper(rows, SENSITIVITIES, on=["j", "epsilon"], column="sensitivity")


def _leaf_cells(
    names: Sequence[str], trees: Sequence[int], compositions: Sequence[str], seeds: int
) -> Callable[[bool], list[Cell]]:
    def cells(quick: bool) -> list[Cell]:
        chosen = [name for name in names if name in QUICK] if quick else names
        return [
            Cell(
                leaf_facts,
                {"data": name, "n_trees": n, "composition": composition, "epsilon": 1.0, "seed": seed},
                BENCHMARKS[name].files,
            )
            for name in chosen
            for n in trees
            for composition in compositions
            for seed in range(1 if quick else seeds)
        ]

    return cells


_EMPTY_LEAVES = _leaf_cells(tuple(BENCHMARKS), (1, 30), ("disjoint",), 3)
_SENSITIVITIES = _leaf_cells(tuple(BENCHMARKS), (100,), ("disjoint", "sequential"), 1)
_FLIPS = _leaf_cells(SYNTHETIC, (1, 3, 10, 30, 100, 300), ("disjoint",), 1)


def _table_3(outcomes: Sequence[Outcome]) -> list[Row]:
    rows = averaged(outcomes, ["data", "n_trees"], ["empty"])
    for row in rows:
        for name in ("empty", "empty, deviation"):
            value = row.get(name)
            row[name] = None if value is None else 100 * float(value)
    return beside_paper(rows, EMPTY_LEAVES, on=["data", "n_trees"], column="empty")


def _table_4_cells(quick: bool) -> list[Cell]:
    return [Cell(depth_of, {"data": name}) for name in BENCHMARKS]


def _table_4(outcomes: Sequence[Outcome]) -> list[Row]:
    rows: list[Row] = []
    for outcome in outcomes:
        benchmark = BENCHMARKS[outcome.settings["data"]]
        features: Row = {"data": benchmark.name, "continuous": benchmark.continuous, "discrete": benchmark.discrete}
        rows.append({**features, "depth": outcome.result["table"], "by the formula": outcome.result["printed"]})
    printed = {(name,): benchmark.depth for name, benchmark in BENCHMARKS.items()}
    return beside_paper(rows, printed, on=["data"], column="depth")


ENTRIES = (
    entry("table-2", "Smooth sensitivities", _table_2_cells, _table_2),
    entry(
        "table-3",
        "Share of empty leaves, in percent",
        _EMPTY_LEAVES,
        _table_3,
        notes=(
            f"{EXACT} The number of leaves of trees with millions of them is estimated (Knuth 1975).",
            "The paper's SynthE, whose trees have as many leaves as those of SynthC and SynthD, is out of line.",
        ),
        whole=many_seeds(_EMPTY_LEAVES, "three runs", hours=0.15),
    ),
    entry(
        "table-4",
        "Depth of the trees by Theorem 2",
        _table_4_cells,
        _table_4,
        notes=("The printed formula (16) is one less deep than the table wherever there are continuous features.",),
    ),
    entry(
        "fig-5b",
        "Average smooth sensitivity of leaves that are not empty",
        _SENSITIVITIES,
        lambda outcomes: averaged(outcomes, ["data", "composition"], ["sensitivity"]),
        notes=(EXACT,),
        whole=many_seeds(_SENSITIVITIES, "one run", hours=0.4),
    ),
    entry(
        "fig-8",
        "Share of labels that differ from the most frequent class, in leaves that are not empty",
        _FLIPS,
        lambda outcomes: averaged(
            outcomes, ["data", "n_trees"], ["printed", "permute-and-flip", "margin law", "margin law, silent"]
        ),
        notes=("Expected shares, from exact counts and the rules' laws. 'silent': leaves that abstain.",),
        whole=many_seeds(_FLIPS, "one run", hours=0.6),
    ),
)
