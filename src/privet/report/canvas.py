"""The inside of a picture: from the data's numbers to places in an SVG, with lines at round numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from privet.markup import Markup, picture, tag
from privet.models.axes import round_numbers, short

Point = tuple[float, float]

_LETTER = 7.0  # pixels that a letter of a label takes at the most, on average


@dataclass(frozen=True)
class Canvas:
    """A rectangle with two axes.

    Parameters
    ----------
    x, y : (low, high)
        The ranges of the two axes.
    width, height : int
        Of the whole picture.
    left, right, top, bottom : int
        The room around the rectangle, for labels.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 306
    height: int = 190
    left: int = 46
    right: int = 12
    top: int = 12
    bottom: int = 28

    def at(self, x: float) -> float:
        """Return where a number is from left to right."""
        return self.left + (x - self.x[0]) / (self.x[1] - self.x[0]) * (self.width - self.left - self.right)

    def up(self, y: float) -> float:
        """Return where a number is from top to bottom."""
        inner = self.height - self.top - self.bottom
        return self.top + (self.y[1] - y) / (self.y[1] - self.y[0]) * inner

    def rows(self, most: int = 4, number: Callable[[float], str] = short) -> list[Markup]:
        """Draw lines from left to right at round numbers, and the numbers; the line at zero is stronger."""
        parts = []
        for value in round_numbers(*self.y, most):
            y = f"{self.up(value):.1f}"
            style = "axis" if value == 0 else "grid"
            parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=y, y2=y, class_=style))
            parts.append(tag("text", number(value), x=self.left - 6, y=f"{self.up(value) + 4:.1f}", class_="end muted"))
        return parts

    def columns(self, most: int = 4, number: Callable[[float], str] = short) -> list[Markup]:
        """Draw lines from top to bottom at round numbers, and the numbers; the line at zero is stronger."""
        parts = []
        for value in round_numbers(*self.x, most):
            x = f"{self.at(value):.1f}"
            style = "axis" if value == 0 else "grid"
            parts.append(tag("line", x1=x, x2=x, y1=self.top, y2=self.height - self.bottom, class_=style))
        return [*parts, *self.ticks((value, number(value)) for value in round_numbers(*self.x, most))]

    def ticks(self, labels: Iterable[tuple[float, str]]) -> list[Markup]:
        """Write labels below the rectangle; the outer ones stay within the picture, and none runs into another."""
        parts, taken = [], -float("inf")
        for place, label in labels:
            x = self.at(place)
            half = _LETTER * len(label) / 2
            start, end = x - half, x + half
            if x < self.left + 8:
                start, end = x, x + 2 * half
            elif x > self.width - 24:
                start, end = x - 2 * half, x
            if start < taken + _LETTER or end > self.width + 1:
                continue
            taken = end
            style = "muted" if x < self.left + 8 else ("end muted" if x > self.width - 24 else "middle muted")
            parts.append(tag("text", label, x=f"{x:.1f}", y=self.height - self.bottom + 17, class_=style))
        return parts

    def line(self, points: Sequence[Point], style: str) -> Markup:
        """Draw a line through points."""
        places = " ".join(f"{self.at(x):.1f},{self.up(y):.1f}" for x, y in points)
        return tag("polyline", points=places, class_=style)

    def area(self, upper: Sequence[Point], lower: Sequence[Point], style: str) -> Markup:
        """Fill what is between two lines."""
        places = [f"{self.at(x):.1f},{self.up(y):.1f}" for x, y in (*upper, *reversed(lower))]
        return tag("path", d=f"M{' L'.join(places)} Z", class_=style)

    def svg(self, title: str, description: str, *parts: Markup) -> Markup:
        """Return the picture, with its name and a text in its place for those who do not see it."""
        return picture(title, description, self.width, self.height, *parts)


def stairs(edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    """Return the points of a line that is level between edges."""
    points: list[Point] = []
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(left, height), (right, height)]
    return points
