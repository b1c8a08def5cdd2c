"""What the entries of Fletcher and Islam (2017) share: the code that counts, notes, and cross-validated cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from privet_papers.fletcher_islam_2017.cells import N_FOLDS, cross_validated
from privet_papers.fletcher_islam_2017.data import BENCHMARKS, GENERATORS
from privet_papers.framework.entry import Cell, Entry, Outcome, Row, WholeProtocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "Fletcher and Islam 2017"
SOURCES = (
    "privet.learners.disjoint_forest.forest",
    "privet_papers.fletcher_islam_2017.fs",
    "privet_papers.fletcher_islam_2017.jpw",
    "privet_papers.fletcher_islam_2017.rgv",
    "privet_papers.fletcher_islam_2017.printed",
    "privet_papers.fletcher_islam_2017.multiway_growth",
    "privet_papers.fletcher_islam_2017.pruning",
    "privet_papers.framework.printed",
    "privet_papers.framework.smooth_sensitivity",
    "privet.learners.disjoint_forest.depth",
    "privet.learners.disjoint_forest.labels",
    "privet.learners.disjoint_forest.margin_law",
    "privet.trees.random_trees",
    "privet_papers.fletcher_islam_2017.data",
)
N_REPEATS = 10  # of the paper's cross-validation
QUICK = ("SynthA", "WallSensor", "Nursery")
BUCKETS = "Trees with more than 16,384 leaves share as many buckets (the default is 65,536), for speed."
ONE_GENERATOR = (
    "synthetic sets of one seed of the generator (1, an unfavourable one for SynthF: "
    "[fletcher-generators](fletcher-generators.md) averages over eight)"
)
OURS = (
    "'sound' is privet's default: labels by the margin law, or permute-and-flip where classes are many. 'printed' is "
    "the paper's algorithm, which is not private at any epsilon: the comparison flatters it."
)
Variant = tuple[str, Mapping[str, Any]]  # method, parameters
SOUND: Variant = ("sound", {})
PRINTED: Variant = ("printed", {})
_OTHER_PLACES = {
    "fig-5b": "Figure 5 (b)",
    "soundness": "Theorem 1 against a private rule",
    "fs": "FS in Figure 11",
    "generators": "the synthetic sets of Table 1",
    "auc": "Figure 12 and what its figures ask for",
}


def several_generators(folds: int) -> str:
    """Say which problems the folds of a synthetic set are of."""
    n = min(folds, GENERATORS)
    return (
        f"Each of {n} folds of a synthetic set is of another problem: the generator's seeds are 1 to {n}. How easy a "
        "problem of the same shape is differs by more than ten points from seed to seed."
    )


def entry(
    number: str,
    title: str,
    cells: Callable[[bool], list[Cell]],
    assemble: Callable[[Sequence[Outcome]], list[Row]],
    plot: Callable[[list[Row]], Figure] | None = None,
    notes: tuple[str, ...] = (),
    whole: WholeProtocol | None = None,
) -> Entry:
    """Return the entry of a figure (``"fig-4"``) or table (``"table-2"``) of the paper."""
    place = _OTHER_PLACES.get(number) or number.replace("fig-", "Figure ").replace("table-", "Table ")
    return Entry(f"fletcher-{number}", f"{PAPER}, {place}", title, cells, assemble, plot, notes, SOURCES, whole)


def ten_times_ten(cells: Callable[[bool], list[Cell]], folds: int, hours: float) -> WholeProtocol:
    """Return the paper's protocol for cross-validated cells, of which an entry runs the first folds once.

    Synthetic sets are of eight seeds of the generator in turn.
    """

    def all_cells() -> list[Cell]:
        return [
            replace(cell, settings={**cell.settings, "folds": N_FOLDS, "seed": seed, **_problems(cell)})
            for seed in range(N_REPEATS)
            for cell in cells(False)
        ]

    here = f"{folds} of ten folds, once" if folds > 1 else "one of ten folds"
    if any(_problems(cell) and "generators" not in cell.settings for cell in cells(False)):
        here = f"{here}, {ONE_GENERATOR}"
    return WholeProtocol(all_cells, here, "ten-fold cross-validation ten times over, 100 results", hours)


def _problems(cell: Cell) -> dict[str, int]:
    return {} if cell.data else {"generators": GENERATORS}


def many_seeds(cells: Callable[[bool], list[Cell]], here: str, hours: float) -> WholeProtocol:
    """Return the paper's 100 results for cells that take a seed and no folds."""

    def all_cells() -> list[Cell]:
        first = [cell for cell in cells(False) if cell.settings["seed"] == 0]
        n_results = N_FOLDS * N_REPEATS
        return [replace(cell, settings={**cell.settings, "seed": seed}) for seed in range(n_results) for cell in first]

    return WholeProtocol(all_cells, here, "100 results of each", hours)


def cell(
    name: str,
    variant: str,
    method: str,
    epsilon: float,
    parameters: Mapping[str, Any],
    folds: int,
    generators: int = 1,
) -> Cell:
    """Return the cross-validation of one method on one data set."""
    settings: dict[str, Any] = {
        "data": name,
        "variant": variant,
        "method": method,
        "epsilon": epsilon,
        "parameters": dict(parameters),
        "folds": folds,
        "seed": 0,
    }
    if generators > 1 and not BENCHMARKS[name].files:
        settings["generators"] = generators
    return Cell(cross_validated, settings, BENCHMARKS[name].files)


def grid(
    variants: Mapping[str, Variant],
    *,
    names: Sequence[str],
    epsilons: Sequence[float],
    folds: int,
    generators: int = 1,
) -> Callable[[bool], list[Cell]]:
    """Return the cells of all variants on all data sets at every budget."""

    def cells(quick: bool) -> list[Cell]:
        chosen = [name for name in names if name in QUICK] or list(names[:1]) if quick else names
        return [
            cell(name, variant, method, epsilon, parameters, 2 if quick else folds, generators)
            for name in chosen
            for epsilon in epsilons
            for variant, (method, parameters) in variants.items()
        ]

    return cells
