"""What the entries of Fletcher and Islam (2017) share: the code that counts, notes, and cross-validated cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privet_papers.fletcher_islam_2017.cells import cross_validated
from privet_papers.fletcher_islam_2017.data import BENCHMARKS, GENERATORS
from privet_papers.framework.entry import Cell, Entry, Outcome, Row

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
QUICK = ("SynthA", "WallSensor", "Nursery")
SIZE = (
    "The paper repeats ten-fold cross-validation ten times; here the first few of ten folds, once. Trees with more "
    "than 16,384 leaves share as many buckets (the default is 65,536), for speed."
)
SEVERAL_GENERATORS = (
    f"Each of the {GENERATORS} folds of a synthetic set is of another problem: the generator's seeds are 1 to "
    f"{GENERATORS}. How easy a problem of the same shape is differs by more than ten points from seed to seed."
)
ONE_GENERATOR = (
    "Synthetic sets are of one generator seed, 1, an unfavourable one for SynthF; "
    "[fletcher-generators](fletcher-generators.md) averages over eight."
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
}


def entry(
    number: str,
    title: str,
    cells: Callable[[bool], list[Cell]],
    assemble: Callable[[Sequence[Outcome]], list[Row]],
    plot: Callable[[list[Row]], Figure] | None = None,
    notes: tuple[str, ...] = (),
) -> Entry:
    """Return the entry of a figure (``"fig-4"``) or table (``"table-2"``) of the paper."""
    place = _OTHER_PLACES.get(number) or number.replace("fig-", "Figure ").replace("table-", "Table ")
    return Entry(f"fletcher-{number}", f"{PAPER}, {place}", title, cells, assemble, plot, notes, SOURCES)


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
