"""The arena in one picture: average ranks against epsilon."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pandas as pd

from privet_papers.framework.plots import COLOURS, MARKERS, common_style, save_svg

MEASURES = {"accuracy": "accuracy", "auc": "AUC"}
GUARANTEES = {"approximate": "approximate guarantees", "pure": "pure guarantees"}


def draw(places: pd.DataFrame, path: Path) -> None:
    """Draw a panel for each kind of guarantee and each measure; lower is better, so that the best is on top."""
    from matplotlib import pyplot as plt

    with common_style():
        figure, grid = plt.subplots(2, 2, figsize=(10.5, 8.0), sharex=True)
        for axes, (rivals, guarantee) in zip(grid, GUARANTEES.items(), strict=True):
            row = places[places.rivals == rivals]
            # One look for a method in both panels of a row, since they share a legend.
            order = row.groupby("method").average_rank.mean().sort_values().index
            lines = [style for style in ("-", "--", ":") for _ in COLOURS]  # dashed where colours begin anew
            looks = dict(zip(order, zip(cycle(COLOURS), cycle(MARKERS), cycle(lines)), strict=False))
            for panel, (measure, words) in zip(axes, MEASURES.items(), strict=True):
                part = row[row.measure == measure]
                for method in [method for method in order if method in set(part.method)]:
                    line, (colour, marker, style) = part[part.method == method], looks[method]
                    panel.plot(line.epsilon, line.average_rank, style, label=method, color=colour, marker=marker)
                panel.set(xscale="log", title=f"{guarantee}: average rank by {words}", ylabel="average rank")
                panel.invert_yaxis()
            if axes[1].lines:
                axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
        for panel in grid[1]:
            epsilons = sorted(places.epsilon.unique())
            panel.set_xticks(epsilons, [format(epsilon, "g") for epsilon in epsilons])
            panel.set_xlabel("epsilon")
            panel.minorticks_off()
        save_svg(figure, path)
        plt.close(figure)
