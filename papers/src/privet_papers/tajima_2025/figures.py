"""Figures of Tajima, Wu and Houmansadr (2025)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privet_papers.framework.entry import Row


def by_depth(rows: list[Row]) -> Figure:
    """Accuracy by depth."""
    return _lines(rows, "depth", "depth h")


def by_batch(rows: list[Row]) -> Figure:
    """Accuracy by the number of points predicted."""
    return _lines(rows, "batch", "points predicted", logarithmic=True)


def by_epsilon(rows: list[Row]) -> Figure:
    """Accuracy by epsilon, a panel for each data set."""
    names = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure, panels = _panels(len(names), 3)
    for name, axes in zip(names, panels, strict=False):
        _draw(axes, [row for row in rows if row["data"] == name], "epsilon")
        axes.set(title=name, xlabel="epsilon", ylabel="accuracy")
        axes.set_xscale("log", base=2)
    panels[0].legend(fontsize="x-small")
    return figure


def by_shape(rows: list[Row]) -> Figure:
    """Accuracy by depth, and by the number of trees."""
    figure, panels = _panels(2, 2)
    for panel, key, label, axes in zip(
        ("depth", "trees"), ("depth", "n_trees"), ("depth h", "trees"), panels, strict=True
    ):
        _draw(axes, [row for row in rows if row["panel"] == panel], key)
        axes.set(xlabel=label, ylabel="accuracy")
    panels[1].set_xscale("log", base=2)
    panels[0].legend()
    return figure


def seconds(rows: list[Row]) -> Figure:
    """Seconds by phase, a group of bars for each data set."""
    figure, (axes,) = _panels(1, 1)
    labels = [f"{row['data']}\n{row['line']}" for row in rows]
    left = [0.0] * len(rows)
    for phase in ("build", "optimise", "train", "predict"):
        widths = [_number(row[f"{phase} (s)"]) for row in rows]
        axes.barh(labels, widths, left=left, label=phase)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set(xlabel="CPU seconds")
    axes.tick_params(axis="y", labelsize=6)
    axes.invert_yaxis()
    axes.legend()
    figure.set_size_inches(6, 0.35 * len(rows) + 1)
    return figure


def subsets(rows: list[Row]) -> Figure:
    """The distribution over pairs of subsets."""
    figure, (axes,) = _panels(1, 1)
    for held in (0, 1, 2):
        found = [_number(row["accuracy"]) for row in rows if row["subsets with persons and safety"] == held]
        axes.hist(
            found, bins=[0.56 + 0.01 * i for i in range(36)], alpha=0.7, label=f"persons and safety in {held} of 2"
        )
    axes.axvline(0.81, linestyle=":", color="black", marker="", label="the paper")
    axes.set(xlabel="accuracy, mean of the splits", ylabel="pairs of subsets")
    axes.legend()
    return figure


def noise(rows: list[Row]) -> Figure:
    """Expected noise as lines, simulated noise as points."""
    figure, (axes,) = _panels(1, 1)
    for name in dict.fromkeys(str(row["strategy"]) for row in rows):
        shown = [row for row in rows if row["strategy"] == name]
        depths = [_number(row["depth"]) for row in shown]
        (line,) = axes.plot(depths, [_number(row["expected"]) for row in shown], marker="", label=name)
        axes.plot(
            depths, [_number(row["simulated"]) for row in shown], linestyle="", marker="o", color=line.get_color()
        )
    axes.set(xlabel="depth h", ylabel="noise of a vote (records)", yscale="log")
    axes.legend(fontsize="small")
    return figure


def _lines(rows: Sequence[Row], key: str, label: str, *, logarithmic: bool = False) -> Figure:
    figure, (axes,) = _panels(1, 1)
    _draw(axes, rows, key)
    axes.set(xlabel=label, ylabel="accuracy", xscale="log" if logarithmic else "linear")
    axes.legend()
    return figure


def _draw(axes: Axes, rows: Sequence[Row], key: str) -> None:
    for line in dict.fromkeys(str(row["line"]) for row in rows):
        shown = [row for row in rows if row["line"] == line]
        places, heights = ([_number(row[name]) for row in shown] for name in (key, "accuracy"))
        axes.errorbar(places, heights, yerr=[_number(row["sd"] or 0) for row in shown], label=line, capsize=2)


def _panels(number: int, columns: int) -> tuple[Figure, list[Any]]:
    from matplotlib.figure import Figure

    rows = -(-number // columns)
    figure = Figure(figsize=(3.2 * columns + 1, 2.6 * rows + 0.8))
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(number)]


def _number(value: Any) -> float:
    return float(value)
