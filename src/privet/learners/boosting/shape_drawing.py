"""Additive models for people to read: shapes as pictures and text, small trees as text; all of released values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from privet.errors import ParameterError
from privet.learners.boosting.gradients import SCORE_BITS
from privet.learners.boosting.shapes import Shape, Shapes, named, shapes_of
from privet.models.axes import grid_ticks, shortened
from privet.models.drawing import indented_text, tree_of
from privet.models.reading import Leaf
from privet.writing import replace_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privet.learners.boosting.additive import Additive

COVERAGE = 0.9  # of the bands for noise
REACH = NormalDist().inv_cdf((1 + COVERAGE) / 2)  # standard deviations either way
MOST_CATEGORIES, MOST_SCORES = 12, 5
_COLUMNS, _WIDTH, _HEIGHT = 3, 3.6, 2.7  # of small pictures, in inches


def plot(
    model: Additive,
    target: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    most: int = 9,
) -> Figure:
    """Draw what the values of features add, one small picture each, the most important first, on one scale.

    Parameters
    ----------
    model : Additive
        The model.
    target : str or Path, optional
        A file to write (SVG, PDF, PNG by its suffix).
    features : sequence of str, optional
        Which features; by default those with the largest importance.
    most : int, default=9
        How many at the most, where none are named.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    whole = shapes_of(model)
    shown = whole.acting[:most] if features is None else [named(whole, name) for name in features]
    if not shown:
        raise ParameterError("no feature acts in this model, so there is nothing to draw")
    columns = min(_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows + 0.7), layout="constrained")
    limits = _axis(shown)
    for place, shape in enumerate(shown):
        _draw(figure.add_subplot(rows, columns, place + 1), shape, whole, limits, legend=place == 0)
    figure.suptitle(_title(whole), fontsize=11)
    figure.supxlabel(_note(whole), fontsize=8, color="0.35")
    if target is not None:
        replace_figure(target, figure)
    return figure


def plot_shape(model: Additive, feature: str, target: str | Path | Axes | None = None) -> Axes:
    """Draw what the values of one feature add, with a band for the noise.

    Parameters
    ----------
    model : Additive
        The model.
    feature : str
        Its name.
    target : str, Path or Axes, optional
        A file to write, or axes to draw in. By default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.figure import Figure

    whole = shapes_of(model)
    shape = named(whole, feature)
    if target is not None and not isinstance(target, str | Path):
        _draw(target, shape, whole, _axis([shape]), legend=True)
        return target
    figure = Figure(figsize=(5.0, 3.4), layout="constrained")
    axes = figure.add_subplot()
    _draw(axes, shape, whole, _axis([shape]), legend=True)
    set_label = axes.set_ylabel if shape.column.ordered else axes.set_xlabel
    set_label(_title(whole), fontsize=8)
    if target is not None:
        replace_figure(target, figure)
    return axes


def export_text(model: Additive) -> str:
    """Return the shapes of all features that act, as lines: what each step adds, and how far noise may reach."""
    whole = shapes_of(model)
    lines = [_title(whole), f"on average: {_numbers(whole.start)}"]
    if len(whole.scores) > 1:
        lines.insert(1, f"classes, in this order: {', '.join(whole.scores)}")
    for shape in whole.acting:
        lines.append(f"{shape.column.name} (importance {shape.importance:.0%})")
        width = max(map(len, shape.labels))
        for label, value, noise in zip(shape.labels, shape.values, shape.noise, strict=True):
            lines.append(f"|   {label:<{width}}  {_numbers(value, sign=True)} ± {_numbers(REACH * noise)}")
    return "\n".join([*lines, _note(whole)])


def export_tree(model: Additive, tree: int) -> str:
    """Return one of the trees as indented lines, with what each leaf adds to the scores."""
    if model.trees is None:
        raise ParameterError("this model has no trees, only tables; call export_text() without an index")
    contributions = model.values.astype(np.float64) * 2.0**-SCORE_BITS
    return indented_text(
        tree_of(model.encoding, model.trees, tree, lambda leaf: Leaf(_numbers(contributions[leaf], sign=True)))
    )


def values_within_reach(shown: Sequence[Shape]) -> tuple[float, float]:
    """Return the lowest and the highest value that noise may have left of these shapes."""
    low = min(float((shape.values - REACH * shape.noise).min()) for shape in shown)
    high = max(float((shape.values + REACH * shape.noise).max()) for shape in shown)
    return low, high


def _axis(shown: Sequence[Shape]) -> tuple[float, float]:
    low, high = values_within_reach(shown)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _title(whole: Shapes) -> str:
    of = whole.scores[0] if len(whole.scores) == 1 else "each class"
    return f"what it adds to {of}, in {whole.unit}"


def _note(whole: Shapes) -> str:
    trees = f"{whole.from_trees:.0%} of the importances come from trees, the rest from tables"
    beyond = f"{whole.beyond:.0%} of the scores' variance is in combinations of features and not shown"
    return f"{trees}; about {beyond}"


def _numbers(values: object, *, sign: bool = False) -> str:
    return " ".join(f"{value:{'+' if sign else ''}.3g}" for value in np.atleast_1d(np.asarray(values)).tolist())


def _draw(axes: Axes, shape: Shape, whole: Shapes, limits: tuple[float, float], *, legend: bool) -> None:
    axes.set_title(f"{shape.column.name} ({shape.importance:.0%})", fontsize=9)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    (_draw_steps if shape.column.ordered else _draw_categories)(axes, shape, whole.scores[:MOST_SCORES], limits)
    if legend and len(whole.scores) > 1:
        axes.legend(fontsize=7, frameon=False)


def _draw_steps(axes: Axes, shape: Shape, scores: Sequence[str], limits: tuple[float, float]) -> None:
    """Draw the steps of a numeric feature on the schema's grid; missing values stand apart at the right."""
    column, present = shape.column, shape.n_present
    edges = np.array([0.0, *((end + 1) / column.n_values for end in shape.ends[:present])])
    axes.axhline(0, color="0.7", linewidth=0.8)
    ticks = grid_ticks(column)
    for number, name in enumerate(scores):
        value, reach, colour = shape.values[:, number], REACH * shape.noise[:, number], f"C{number}"
        axes.stairs(value[:present], edges, color=colour, linewidth=1.6, baseline=None, label=name)
        low, high = value - reach, value + reach
        axes.stairs(high[:present], edges, baseline=low[:present], fill=True, color=colour, alpha=0.2)
        for extra in range(present, len(value)):
            at = 1.1 + 0.1 * (extra - present) + 0.015 * number
            axes.errorbar(at, value[extra], reach[extra], fmt="o", color=colour, markersize=3.5, capsize=2)
    ticks += [(1.1 + 0.1 * place, label) for place, label in enumerate(shape.labels[present:])]
    axes.set_xticks([place for place, _ in ticks], [label for _, label in ticks])
    axes.set_ylim(*limits)


def _draw_categories(axes: Axes, shape: Shape, scores: Sequence[str], limits: tuple[float, float]) -> None:
    """Draw the categories that add or take most, from top to bottom in the schema's order."""
    shown = most_telling(shape, MOST_CATEGORIES)
    axes.axvline(0, color="0.7", linewidth=0.8)
    for number, name in enumerate(scores):
        places = -np.arange(len(shown)) - 0.12 * (number - (len(scores) - 1) / 2)
        value, reach = shape.values[shown, number], REACH * shape.noise[shown, number]
        axes.errorbar(value, places, xerr=reach, fmt="o", color=f"C{number}", markersize=3.5, capsize=2, label=name)
    labels = [shortened(shape.labels[step], 20) for step in shown]
    axes.set_yticks(-np.arange(len(shown)), labels)
    axes.set_xlim(*limits)
    left = len(shape.labels) - len(shown)
    if left:
        axes.set_xlabel(f"{left} more add less", fontsize=7, color="0.35")


def most_telling(shape: Shape, most: int) -> list[int]:
    """Return the steps that add or take most, in the schema's order."""
    order = np.argsort(-np.abs(shape.values).max(axis=1), kind="stable")[:most]
    return sorted(order.tolist())
