"""A tree drawn: its upper levels as a picture, and more of it as a nested list that any reader can follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.exports.explicit import as_explicit, leaf_votes
from privet.models.forest import Forest
from privet.report.insight import code_label, plain
from privet.report.markup import Markup, join, tag
from privet.schema.encoding import Encoding
from privet.trees.explicit_trees import ExplicitTrees

PICTURE_DEPTH, LIST_DEPTH = 4, 6
MOST_BRANCHES = 6
_BOX, _GAP, _ROW, _LETTERS = 140, 56, 38, 20  # pixels, and letters in a box


@dataclass(frozen=True)
class Node:
    """A node in words: what it asks and where the answers lead, or what it votes for."""

    text: str
    branches: tuple[tuple[str, Node], ...] = ()
    more: str = ""  # what is not shown below


def read_tree(forest: Forest, tree: int, depth: int) -> Node:
    """Return the upper levels of a tree in words."""
    trees = as_explicit(forest.structure)
    votes = leaf_votes(forest)
    return _node(forest.encoding, trees, votes, int(trees.tree_offsets[tree]), depth)


def _node(encoding: Encoding, trees: ExplicitTrees, votes: NDArray[np.float64], node: int, depth: int) -> Node:
    feature = int(trees.splits.feature[node])
    if feature < 0:
        return Node(_vote(encoding, votes[trees.leaf[node]]))
    if depth == 0:
        return Node(f"{encoding.columns[feature].name} …", more="more below")
    first, number = int(trees.first_child[node]), int(trees.n_children[node])
    question, answers = _question(encoding, trees, node, number)
    shown = list(range(number))[:MOST_BRANCHES]
    branches = [(answers[i], _node(encoding, trees, votes, first + i, depth - 1)) for i in shown]
    return Node(question, tuple(branches), f"{number - len(shown)} more" if number > len(shown) else "")


def _question(encoding: Encoding, trees: ExplicitTrees, node: int, number: int) -> tuple[str, list[str]]:
    """Return what a node asks, and the answer that leads to each child in order."""
    splits, feature = trees.splits, int(trees.splits.feature[node])
    column = encoding.columns[feature]
    if number > 2:
        return f"{column.name}?", [code_label(encoding, feature, code) for code in range(number)]
    if splits.set_index[node] >= 0:
        words = splits.sets[splits.set_index[node]]
        inside = [code for code in range(column.n_codes) if int(words[code // 64]) >> code % 64 & 1]
        names = [code_label(encoding, feature, code) for code in inside]
        return f"{column.name} is {_either(names)}?", ["no", "yes"]
    cut, missing_first = int(splits.cut[node]), bool(splits.missing_first[node])
    if not column.ordered:
        return f"{column.name} is {_either([code_label(encoding, feature, c) for c in range(cut + 1)])}?", ["yes", "no"]
    if cut >= len(column.cuts):
        return f"{column.name} is known?", ["yes", "no"]
    missing = ", or missing" if column.missing_code is not None else ""
    question = f"{column.name} ≤ {plain(column.cuts[cut])}?"
    return question, [f"yes{missing if missing_first else ''}", f"no{'' if missing_first else missing}"]


def _either(names: list[str]) -> str:
    shown = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _vote(encoding: Encoding, votes: NDArray[np.float64]) -> str:
    classes: Any = getattr(encoding.target, "classes", ())
    if not votes.any():
        return "no vote"
    best = int(votes.argmax())
    return str(classes[best]) if votes[best] == 1 else f"{classes[best]} ({votes[best]:.0%})"


def tree_list(node: Node) -> Markup:
    """Return a tree as nested lists."""
    inner = [tag("li", tag("span", f"{answer}: ", class_="muted"), tree_list(child)) for answer, child in node.branches]
    more = [tag("li", node.more, class_="muted")] if node.more else []
    return join(node.text, tag("ul", *inner, *more) if inner or more else None)


def tree_picture(title: str, root: Node) -> Markup:
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


def _rows(node: Node) -> int:
    return max(1, sum(_rows(child) for _, child in node.branches) + bool(node.branches and node.more))


def _height(node: Node) -> int:
    return 1 + max((_height(child) for _, child in node.branches), default=0)


def _draw(node: Node, first_row: float, level: int, parts: list[Markup]) -> float:
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
