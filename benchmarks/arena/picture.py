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


SHORT = ("Boosting", "PrivaTree", "MultinomialForest", "RandomDecisionForest", "DP-EBM, tuned")


def draw_short(places: pd.DataFrame, path: Path) -> None:
    """Draw mean accuracies under approximate guarantees, of a few methods, each named beside its line."""
    from matplotlib import pyplot as plt
    from matplotlib.colors import to_rgb

    part = places[(places.rivals == "approximate") & (places.measure == "accuracy") & places.method.isin(SHORT)]
    with common_style():
        figure, axes = plt.subplots(figsize=(7.2, 4.2))
        last = {}
        for method, colour, marker in zip(SHORT, COLOURS, MARKERS, strict=False):
            line = part[part.method == method].sort_values("epsilon")
            axes.plot(line.epsilon, 100 * line["mean"], color=colour, marker=marker, linewidth=2)
            last[method] = (float(100 * line["mean"].iloc[-1]), colour)
        names = sorted(last, key=lambda method: last[method][0])
        low, high = axes.get_ylim()
        height = -float("inf")
        for method in names:  # from below, each at least a line above the one before
            value, colour = last[method]
            height = max(value, height + 0.05 * (high - low))
            axes.annotate(
                method,
                (4, height),
                xytext=(10, 0),
                textcoords="offset points",
                va="center",
                color=[0.6 * part for part in to_rgb(colour)],  # text needs more contrast than a line
                weight="bold",
            )
        epsilons = sorted(part.epsilon.unique())
        axes.set(xscale="log", xlabel="epsilon", ylabel="accuracy in percent, mean of all sets")
        axes.set_xticks(epsilons, [format(epsilon, "g") for epsilon in epsilons])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        save_svg(figure, path)
        plt.close(figure)
