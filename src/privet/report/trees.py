"""A tree drawn: its upper levels as a picture, and more of it as a nested list that any reader can follow."""

from __future__ import annotations

from dataclasses import dataclass

from privet.models.forest import Forest
from privet.models.reading import Node, question_in_words, read_tree, voted
from privet.report.insight import code_label, plain
from privet.report.markup import Markup, join, tag

PICTURE_DEPTH, LIST_DEPTH = 4, 6
MOST_BRANCHES = 6
_BOX, _GAP, _ROW, _LETTERS = 140, 56, 38, 20  # pixels, and letters in a box


@dataclass(frozen=True)
class ShownNode:
    """A node as the page shows it: what it asks and where the answers lead, or what it votes for."""

    text: str
    branches: tuple[tuple[str, ShownNode], ...] = ()
    more: str = ""  # what is not shown below


def upper_levels(forest: Forest, tree: int, depth: int) -> ShownNode:
    """Return the upper levels of a tree in words."""
    return _shown(read_tree(forest, tree, voted(forest)), depth)


def _shown(node: Node, depth: int) -> ShownNode:
    if node.is_leaf:
        leaf = node.leaf
        return ShownNode(leaf.label if leaf.share is None else f"{leaf.label} ({leaf.share:.0%})")
    if depth == 0:
        return ShownNode(f"{node.column.name} …", more="more below")
    question, answers = question_in_words(node.question, code_label, plain)
    children = node.children
    branches = [
        (answer, _shown(child, depth - 1))
        for answer, child in zip(answers[:MOST_BRANCHES], children[:MOST_BRANCHES], strict=True)
    ]
    left = len(children) - len(branches)
    return ShownNode(question, tuple(branches), f"{left} more" if left else "")


def tree_list(node: ShownNode) -> Markup:
    """Return a tree as nested lists."""
    inner = [tag("li", tag("span", f"{answer}: ", class_="muted"), tree_list(child)) for answer, child in node.branches]
    more = [tag("li", node.more, class_="muted")] if node.more else []
    return join(node.text, tag("ul", *inner, *more) if inner or more else None)


def tree_picture(title: str, root: ShownNode) -> Markup:
    """Draw a tree from left to right, one row for each leaf."""
    parts: list[Markup] = []
    _draw(root, 0.0, 0, parts)
    width, height = _height(root) * (_BOX + _GAP) - _GAP + 2, int(_rows(root) * _ROW)
    return tag(
        "svg",
        tag("title", title),
        tag("desc", "The same tree follows as a list."),
        *parts,
        viewBox=f"-1 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def _rows(node: ShownNode) -> int:
    return max(1, sum(_rows(child) for _, child in node.branches) + bool(node.branches and node.more))


def _height(node: ShownNode) -> int:
    return 1 + max((_height(child) for _, child in node.branches), default=0)


def _draw(node: ShownNode, first_row: float, level: int, parts: list[Markup]) -> float:
    """Draw a node and what is right of it; return the height of its middle."""
    left, middle = level * (_BOX + _GAP), (first_row + _rows(node) / 2) * _ROW
    row = first_row
    for answer, child in node.branches:
        there = _draw(child, row, level + 1, parts)
        start, end = left + _BOX, left + _BOX + _GAP
        bend = (start + end) // 2
        path = f"M{start},{middle:.0f} C{bend},{middle:.0f} {bend},{there:.0f} {end},{there:.0f}"
        parts.append(tag("path", d=path, class_="edge"))
        parts.append(tag("text", _clip(answer, 12), x=end - 5, y=f"{there - 5:.0f}", class_="end muted"))
        row += _rows(child)
    if node.branches and node.more:
        parts.append(tag("text", node.more, x=left + _BOX + _GAP, y=f"{(row + 0.6) * _ROW:.0f}", class_="muted"))
    parts.append(tag("rect", x=left, y=f"{middle - 17:.0f}", width=_BOX, height=34, rx=5, class_="box"))
    lines = _wrap(node.text)
    start_y = middle + 4 - 7 * (len(lines) - 1)
    for number, line in enumerate(lines):
        weight = "middle" if node.branches or node.more else "middle bold"
        parts.append(tag("text", line, x=left + _BOX // 2, y=f"{start_y + 14 * number:.0f}", class_=weight))
    return middle


def _wrap(text: str) -> list[str]:
    """Break a text into one or two rows."""
    if len(text) <= _LETTERS:
        return [text]
    cut = text.rfind(" ", 0, _LETTERS + 1)
    cut = cut if cut > 0 else _LETTERS
    return [text[:cut], _clip(text[cut:].strip(), _LETTERS)]


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
