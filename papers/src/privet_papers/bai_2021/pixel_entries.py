"""Bai, Li, Li, Yang, Jiang and Xia (2021), Figures 3 and 4, on an image that stands in for the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privet_papers.bai_2021.pixel_cells import NAMES, segment
from privet_papers.framework.entry import Cell, Entry, Outcome, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "Bai, Li, Li, Yang, Jiang and Xia 2021"
SEEDS = 5
TRAINED = 10_000
SOURCES = (
    "privet.learners.multinomial_forest.honest_tree",
    "privet.learners.multinomial_forest.honest_draws",
    "privet_papers.bai_2021.pivots",
    "privet.learners.multinomial_forest.honest_rare",
    "privet.learners.multinomial_forest.honest_scores",
    "privet.learners.multinomial_forest.honest_growth",
    "privet_papers.bai_2021.consistent_rivals",
    "privet_papers.bai_2021.comprf",
    "privet_papers.bai_2021.cells",
    "privet_papers.bai_2021.data",
)
STAND_IN = (
    "A stand-in: the coins that scikit-image ships, in place of aerial images; coin or not, by the watersheds of its "
    "tutorial, in place of building or not. 10,000 pixels of the left half for training, the right half for testing.",
    "Features as in the paper, but for colours, which the image does not have: grey, local binary pattern of radius "
    "24, eight of Haralick's features (8 levels of grey, windows of 9 x 9, neighbours to the right).",
)


def _cells(quick: bool) -> list[Cell]:
    return [
        Cell(segment, {"method": method, "seed": seed, "n_train": 1_000 if quick else TRAINED})
        for seed in range(1 if quick else SEEDS)
        for method in NAMES
    ]


def _table(outcomes: Sequence[Outcome]) -> list[Row]:
    rows: list[Row] = []
    for method in NAMES:
        found = [outcome.result for outcome in outcomes if outcome.settings["method"] == method]
        row: Row = {"method": method}
        for measure, name in (("accuracy", "pixel accuracy"), ("iou", "intersection over union")):
            values = [100 * result[measure] for result in found]
            row |= {name: round(float(np.mean(values)), 2), f"{name}, s.d.": round(float(np.std(values)), 2)}
        rows.append(row)
    return rows


def _bars(rows: list[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.4))
    for index, measure in enumerate(("pixel accuracy", "intersection over union")):
        axes = figure.add_subplot(1, 2, index + 1)
        heights = [float(str(row[measure])) for row in rows]
        spreads = [float(str(row[f"{measure}, s.d."])) for row in rows]
        axes.bar(range(len(rows)), heights, yerr=spreads, capsize=3)
        axes.set_xticks(range(len(rows)), [str(row["method"]) for row in rows], rotation=45, ha="right")
        axes.set(ylabel=f"{measure}, %", ylim=(min(heights) - 5, max(heights) + 2))
    return figure


def _map_cells(quick: bool) -> list[Cell]:
    return [Cell(segment, {"method": "MRF", "seed": 0, "n_train": 1_000 if quick else TRAINED, "map": True})]


def _map_table(outcomes: Sequence[Outcome]) -> list[Row]:
    (outcome,) = outcomes
    panels = outcome.result["map"]
    return [
        {"grey": grey, "truth": truth, "share": share}
        for grey, truth, share in zip(panels["grey"], panels["truth"], panels["share"], strict=True)
    ]


def _map_figure(rows: list[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.8))
    panels = (("grey", "(a) image", "gray"), ("truth", "(b) truth", "gray"), ("share", "(c) share of votes", "jet"))
    for index, (column, title, colours) in enumerate(panels):
        axes = figure.add_subplot(1, 3, index + 1)
        axes.imshow([[int(digit) for digit in str(row[column])] for row in rows], cmap=colours, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    return figure


ENTRIES = (
    Entry(
        name="bai-fig-3",
        paper=f"{PAPER}, Figure 3",
        title="Pixels of coins: accuracy and intersection over union, in percent (stand-in image)",
        cells=_cells,
        assemble=_table,
        plot=_bars,
        notes=(
            *STAND_IN,
            "**The paper's orders are reversed here.** In the paper MRF is ahead of Breiman's forest and, by more, of "
            "the other consistent forests, and Breiman+M is ahead of Breiman+SE; here MRF is behind Breiman's forest, "
            "BRF and Denil14, ahead of CompRF alone, and Breiman+M is behind Breiman+SE. All differences but CompRF's "
            "are below half a point: the coins are easy, and without colours. The paper's aerial images are not "
            "offered, so that its claim is neither refuted nor confirmed.",
            f"{SEEDS} runs, seeds 0 to {SEEDS - 1}; the paper does not say how many it has.",
        ),
        sources=SOURCES,
    ),
    Entry(
        name="bai-fig-4",
        paper=f"{PAPER}, Figure 4",
        title="Pixels of coins: the multinomial forest's map (stand-in image)",
        cells=_map_cells,
        assemble=_map_table,
        plot=_map_figure,
        notes=(
            *STAND_IN,
            "Every third pixel of the right half, as digits from 0 to 9; red where most trees vote for a coin.",
            "Only the method's picture can be compared with the paper's Figure 4, not the scene; on this image the "
            "orders of the paper's Figure 3 are reversed: [bai-fig-3](bai-fig-3.md).",
        ),
        sources=SOURCES,
    ),
)
