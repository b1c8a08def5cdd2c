"""HTML and SVG by construction: text is escaped wherever it comes from, and only tags are not."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

VOID = frozenset({"meta", "br", "hr", "input", "line", "rect", "circle", "path", "polyline"})


class Markup(str):
    """Text that is markup already; nothing else may pass unescaped."""


Piece = str | Markup | None


def tag(name: str, /, *children: Piece, **attributes: object) -> Markup:
    """Return an element. ``class_`` and ``for_`` lose their underscore, inner ones become hyphens; None is left out.

    Examples
    --------
    >>> tag("p", "1 < 2", class_="note", aria_label='"a"')
    '<p class="note" aria-label="&quot;a&quot;">1 &lt; 2</p>'
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(*children)}</{name}>")


def join(*children: Piece) -> Markup:
    """Put children side by side, escaping those that are plain text."""
    parts = [child if isinstance(child, Markup) else escape(child) for child in children if child is not None]
    return Markup("".join(parts))


def picture(title: str, description: str, width: int, height: int, *parts: Markup) -> Markup:
    """Return a picture, with its name and a text in its place for those who do not see it."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        join(*parts),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def bar(title: str, share: float) -> Markup:
    """Return a bar that is as long as a share of whatever room there is."""
    length = f"{100 * min(max(share, 0.0), 1.0):.2f}"
    filled = tag("rect", x=0, y=0, width=length, height=10, class_="f1")
    attributes = {"viewBox": "0 0 100 10", "preserveAspectRatio": "none", "class_": "bar"}
    return tag("svg", filled, role="img", aria_label=title, **attributes)


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Piece]],
    *,
    numbers: frozenset[int] = frozenset(),
) -> Markup:
    """Return a table that scrolls sideways on narrow screens, by touch or keyboard; `numbers` are aligned right."""
    head = tag(
        "tr",
        *(tag("th", name, scope="col", class_="number" if i in numbers else None) for i, name in enumerate(header)),
    )
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_="number" if i in numbers else None) for i, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def figure(picture: Markup, caption: str) -> Markup:
    """Return a picture with its caption."""
    return tag(
        "figure",
        tag("div", picture, class_="scroll", tabindex="0", role="region", aria_label=caption),
        tag("figcaption", caption),
    )


def bullets(*items: Piece) -> Markup:
    """Return a list."""
    return tag("ul", *(tag("li", item) for item in items))


def paragraph(*children: Piece, **attributes: object) -> Markup:
    """Return a paragraph."""
    return tag("p", *children, **attributes)


# Colours are the notebook's own, so a card reads well in light and dark: lines and bars are thinned from the text's.
_CARD = """
.privet-card { color: inherit; font: 14px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; max-width: 60rem;
  border: 1px solid color-mix(in srgb, currentColor 35%, transparent); border-radius: .5rem; padding: .6rem .9rem; }
.privet-card p { margin: .2rem 0 .5rem; }
.privet-card table { border-collapse: collapse; margin: .3rem 0; color: inherit; background: none; }
.privet-card tr, .privet-card tr:nth-child(even) { background: none; }
.privet-card caption { text-align: left; padding: 0 0 .2rem; color: inherit; }
.privet-card th, .privet-card td { text-align: left; padding: .15rem .9rem .15rem 0; vertical-align: top;
  color: inherit; font-weight: normal; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
.privet-card thead th { font-weight: 600; }
.privet-card .number { text-align: right; font-variant-numeric: tabular-nums; }
.privet-card .scroll { overflow-x: auto; }
.privet-card code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; color: inherit; background: none;
  overflow-wrap: anywhere; }
"""


def card(title: str, *children: Piece) -> Markup:
    """Return what a notebook shows of an object: self-contained, and in the notebook's own colours."""
    return tag("div", tag("style", Markup(_CARD)), paragraph(tag("strong", title)), *children, class_="privet-card")
