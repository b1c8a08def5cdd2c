"""Pictures of what the values of one feature do: steps on the feature's own grid, or a row for each category.

The pages of forests and of boosting draw with the functions below, so they look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privet.markup import Markup, tag
from privet.models.axes import grid_ticks, short, shortened
from privet.report.canvas import Canvas, stairs
from privet.report.charts import legend
from privet.schema.encoding import Column
from privet.tables.protocol import Floats

CATEGORIES = 8
_ROW, _LETTERS = 20, 18  # pixels of a category's row, and letters of its name
_MISSING = 1.12  # where missing values stand, right of the grid that ends at 1


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """What is drawn of one feature.

    Attributes
    ----------
    column : Column
        The feature.
    ends : tuple of int
        The last code of each step; a category, "other" and "missing" are steps of their own.
    labels : tuple of str
        The steps in words.
    values : float64 array of shape (n_steps, n_lines)
        How high each step is.
    reach : float64 array of the same shape, or None
        How far noise reaches either way, if that is known.
    lines : sequence of str
        What the lines are of.
    number : callable
        Writes a height beside the axis.
    """

    column: Column
    ends: tuple[int, ...]
    labels: tuple[str, ...]
    values: Floats
    reach: Floats | None
    lines: Sequence[str]
    number: Callable[[float], str] = short

    @property
    def n_present(self) -> int:
        """How many steps are values of the feature, not "other" or "missing"."""
        return sum(end < self.column.n_values for end in self.ends)


def shape_picture(title: str, spoken: str, drawn: DrawnShape, limits: tuple[float, float]) -> Markup:
    """Draw a feature's steps within limits of height, which pictures side by side have in common."""
    return (_steps if drawn.column.ordered else _categories)(title, spoken, drawn, limits)


def farthest_steps(values: Floats, most: int) -> list[int]:
    """Return the steps that are farthest from the middle of all, in their own order."""
    distance = np.abs(values - values.mean(axis=0)).max(axis=1)
    return sorted(np.argsort(-distance, kind="stable")[:most].tolist())


def _steps(title: str, spoken: str, drawn: DrawnShape, limits: tuple[float, float]) -> Markup:
    """Draw the steps of a numeric feature on the schema's grid; missing values stand apart at the right."""
    column, present, n_lines = drawn.column, drawn.n_present, len(drawn.lines)
    extra = len(drawn.ends) > present
    canvas = Canvas((0.0, _MISSING + 0.06 if extra else 1.0), limits, top=12 + 18 * (n_lines > 1))
    edges = [0.0, *((end + 1) / column.n_values for end in drawn.ends[:present])]
    parts = [*canvas.rows(number=drawn.number), *canvas.ticks(_without_crowding(grid_ticks(column), extra))]
    for number in range(1, n_lines + 1):
        values = drawn.values[:, number - 1]
        reach = np.zeros(len(values)) if drawn.reach is None else drawn.reach[:, number - 1]
        if n_lines == 1 and drawn.reach is not None:
            upper, lower = (stairs(edges, (values + side * reach)[:present].tolist()) for side in (1, -1))
            parts.append(canvas.area(upper, lower, "band"))
        parts.append(canvas.line(stairs(edges, values[:present].tolist()), f"line l{number}"))
        if extra:
            at = f"{canvas.at(_MISSING + 0.02 * (number - 1)):.1f}"
            high, low = (f"{canvas.up(float(values[-1] + side * reach[-1])):.1f}" for side in (1, -1))
            if drawn.reach is not None:
                parts.append(_whisker(at, at, high, low, number))
            parts.append(tag("circle", cx=at, cy=f"{canvas.up(float(values[-1])):.1f}", r=3, class_=f"d{number}"))
    if extra:
        parts += canvas.ticks([(_MISSING, drawn.labels[-1])])
    if n_lines > 1:
        parts += legend(drawn.lines, canvas.left, canvas.width - canvas.right)
    return canvas.svg(title, spoken, *parts)


def _categories(title: str, spoken: str, drawn: DrawnShape, limits: tuple[float, float]) -> Markup:
    """Draw the categories that tell most, a row each, in the schema's order."""
    shown, n_lines = farthest_steps(drawn.values, CATEGORIES), len(drawn.lines)
    top, left = 6 + 18 * (n_lines > 1), len(drawn.labels) - len(shown)
    height = top + _ROW * (len(shown) + (left > 0)) + 28
    canvas = Canvas(limits, (0.0, 1.0), height=height, left=140, right=18, top=top)
    parts = canvas.columns(number=drawn.number)
    for row, step in enumerate(shown):
        middle = top + _ROW * (row + 0.5)
        name = shortened(drawn.labels[step], _LETTERS)
        parts.append(tag("text", name, x=canvas.left - 6, y=f"{middle + 4:.1f}", class_="end"))
        for number in range(1, n_lines + 1):
            value, y = float(drawn.values[step, number - 1]), f"{middle + 3 * (number - (n_lines + 1) / 2):.1f}"
            if drawn.reach is not None:
                reach = float(drawn.reach[step, number - 1])
                low, high = (f"{canvas.at(value + side * reach):.1f}" for side in (-1, 1))
                parts.append(_whisker(low, high, y, y, number))
            parts.append(tag("circle", cx=f"{canvas.at(value):.1f}", cy=y, r=3.2, class_=f"d{number}"))
    if left:
        y = f"{top + _ROW * (len(shown) + 0.5) + 4:.1f}"
        parts.append(tag("text", f"{left} more tell less", x=canvas.left - 6, y=y, class_="end muted"))
    if n_lines > 1:
        parts += legend(drawn.lines, 6, canvas.width - canvas.right)
    return canvas.svg(title, spoken, *parts)


def _whisker(x1: str, x2: str, y1: str, y2: str, number: int) -> Markup:
    return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=f"whisker w{number}")


def _without_crowding(ticks: list[tuple[float, str]], extra: bool) -> list[tuple[float, str]]:
    """Leave out numbers that the word "missing" would run into."""
    return [(place, label) for place, label in ticks if not extra or place < 0.8]
