"""Pictures as inline SVG: no script, no font, no file besides the page. Colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privet.markup import Markup, bar, picture, tag

LINES = 4  # how many lines a chart can tell apart, by colour and by dashes


def bars(title: str, items: Sequence[tuple[str, float, str]]) -> Markup:
    """Return horizontal bars: for each its name, its length, and the text beside it. They are as wide as the page."""
    longest = max((value for _, value, _ in items), default=0) or 1.0
    rows = [
        tag("li", tag("span", name, class_="name"), bar(f"{name}: {text}", value / longest), tag("span", text))
        for name, value, text in items
    ]
    return tag("ul", *rows, class_="bars", aria_label=title)


@dataclass(frozen=True)
class Line:
    """One line of a chart: its name and its heights, each from 0 to 1."""

    name: str
    heights: Sequence[float]


def lines(
    title: str,
    series: Sequence[Line],
    ticks: Sequence[tuple[float, str]],
    *,
    x: Sequence[float],
    joined: bool = True,
    width: int = 306,
    height: int = 190,
    x_title: str = "",
    y_title: str = "",
) -> Markup:
    """Draw lines over one axis; `x` and tick places run from 0 to 1, and heights are shares from 0 to 1.

    Places without an order are drawn as dots: not `joined`.
    """
    left, right, top, bottom = 52, 14, 14 + 18 * (len(series) > 1), 46 if x_title else 30
    inner_width, inner_height = width - left - right, height - top - bottom

    def at(share: float) -> str:
        return f"{left + share * inner_width:.1f}"

    def up(share: float) -> str:
        return f"{top + (1 - share) * inner_height:.1f}"

    parts: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        parts.append(tag("line", x1=left, x2=width - right, y1=up(share), y2=up(share), class_="grid"))
        parts.append(tag("text", f"{share:.0%}", x=left - 6, y=f"{float(up(share)) + 4:.1f}", class_="end muted"))
    for place, text in ticks:
        # The outer labels stay within the picture.
        anchor = "muted" if place == 0 else ("end muted" if place == 1 else "middle muted")
        parts.append(tag("text", text, x=at(place), y=height - bottom + 16, class_=anchor))
    parts.append(tag("line", x1=left, x2=width - right, y1=up(0), y2=up(0), class_="axis"))
    for number, line in enumerate(series[:LINES], 1):
        places = [(at(a), up(b)) for a, b in zip(x, line.heights, strict=True)]
        if joined:
            points = " ".join(f"{a},{b}" for a, b in places)
            parts.append(tag("polyline", points=points, class_=f"line l{number}"))
        else:
            parts += [tag("circle", cx=a, cy=b, r=2.6, class_=f"line l{number}") for a, b in places]
    if len(series) > 1:
        parts += legend([line.name for line in series[:LINES]], left, width - right)
    if x_title:
        parts.append(tag("text", x_title, x=at(0.5), y=height - 8, class_="middle muted"))
    spoken = "; ".join(f"{line.name}: from {line.heights[0]:.0%} to {line.heights[-1]:.0%}" for line in series)
    return picture(title, f"{y_title}. {spoken}".lstrip(". "), width, height, *parts)


def legend(names: Sequence[str], left: int, right: int) -> list[Markup]:
    """Name lines by their colours, in a row at the top."""
    step = (right - left) / len(names)
    parts = []
    for number, name in enumerate(names, 1):
        x = left + (number - 1) * step
        parts.append(tag("line", x1=f"{x:.1f}", x2=f"{x + 24:.1f}", y1=10, y2=10, class_=f"line l{number}"))
        parts.append(tag("text", _short(name, int(step / 8)), x=f"{x + 30:.1f}", y=14))
    return parts


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"
