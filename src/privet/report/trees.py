"""A tree drawn with boxes and lines of the page's style: from left to right where there is room, else downwards.

Boxes grow with their texts, so no text leaves its box, and on a phone every level is reached by scrolling down. "Yes"
always comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.markup import Markup, bar, join, tag
from privet.models.forest import Forest
from privet.models.reading import Leaf, Node, question_in_words, read_tree, released
from privet.models.regression_forest import RegressionForest
from privet.report.insight import code_label, plain

PICTURE_DEPTH = 4
MOST_LISTED = 512  # leaves of a tree that is listed whole
MOST_BRANCHES = 8
_LOOKS = 4  # how many classes have colours of their own


@dataclass(frozen=True)
class ShownNode:
    """A node as the page shows it: what it asks and where the answers lead, or what a leaf says.

    Attributes
    ----------
    text : str
        The question, or the leaf's label.
    branches : tuple of (str, ShownNode)
        Answers and where they lead, "yes" first.
    more : str
        What is not shown below.
    detail : str
        How sure a leaf is.
    share : float, optional
        The share of a leaf's label.
    look : int
        The number of a leaf's class; -1 for none.
    """

    text: str
    branches: tuple[tuple[str, ShownNode], ...] = ()
    more: str = ""
    detail: str = ""
    share: float | None = None
    look: int = -1


def upper_levels(root: Node, depth: int) -> ShownNode:
    """Return the upper levels of a tree in words."""
    return _shown(root, depth)


def forest_tree(forest: Forest | RegressionForest, tree: int) -> Node:
    """Return one of a forest's trees, its leaves saying what was released."""
    return read_tree(forest, tree, released(forest))


def depth_to_list(root: Node) -> int:
    """Return how many levels can be listed without more than a page can hold."""
    level, depth = [root], 0
    while any(not node.is_leaf for node in level):
        below = [child for node in level for child in (node.children if not node.is_leaf else [node])]
        if len(below) > MOST_LISTED:
            break
        level, depth = below, depth + 1
    return depth


def _shown(node: Node, depth: int) -> ShownNode:
    if node.is_leaf:
        return _shown_leaf(node.leaf)
    if depth == 0:
        return ShownNode(f"{node.column.name}?", more="more below, in the list")
    question, answers = question_in_words(node.question, code_label, plain)
    paths = list(zip(answers, node.children, strict=True))
    if len(paths) == 2 and paths[1][0].startswith("yes"):
        paths.reverse()
    branches = [(answer, _shown(child, depth - 1)) for answer, child in paths[:MOST_BRANCHES]]
    left = len(paths) - len(branches)
    return ShownNode(question, tuple(branches), f"{left} more answers" if left else "")


def _shown_leaf(leaf: Leaf) -> ShownNode:
    if leaf.share is None and leaf.records is None:
        return ShownNode(leaf.label, look=leaf.class_number)
    if leaf.place is not None and leaf.records:
        return ShownNode(leaf.label, detail=f"about {leaf.records:,} records")
    if not leaf.records:
        return ShownNode(leaf.label, detail="hardly any records", look=leaf.class_number)
    detail = f"{leaf.share:.0%} of about {leaf.records:,}"
    return ShownNode(leaf.label, detail=detail, share=leaf.share, look=leaf.class_number)


def one_tree(which: str, root: Node, said: str) -> list[Markup]:
    """Return a tree under a heading: its upper levels drawn, and below that all levels that a page can hold."""
    whole = depth_to_list(root)
    shown = "all of its levels" if whole <= PICTURE_DEPTH else f"its {PICTURE_DEPTH} upper levels"
    parts = [
        tag("h3", which),
        tag(
            "figure",
            tree_picture(which, upper_levels(root, PICTURE_DEPTH)),
            tag("figcaption", f"{which}: {shown}. {said}"),
        ),
    ]
    if whole > PICTURE_DEPTH:
        listed = tree_list(f"{which}, as a list", upper_levels(root, whole))
        parts.append(tag("details", tag("summary", f"{which}: {whole} levels as a list"), listed))
    return parts


def tree_picture(title: str, root: ShownNode) -> Markup:
    """Draw a tree."""
    return tag("div", _node(root), class_="tree", role="group", aria_label=title)


def tree_list(title: str, root: ShownNode) -> Markup:
    """Draw a tree downwards at every width of the screen."""
    return tag("div", _node(root), class_="tree list", role="group", aria_label=title)


def _node(node: ShownNode) -> Markup:
    kids = [
        tag("li", tag("span", f"{answer}", class_="answer"), _node(child), class_="kid")
        for answer, child in node.branches
    ]
    if node.branches and node.more:
        kids.append(tag("li", tag("span", node.more, class_="answer"), class_="kid"))
    return tag("div", _box(node), tag("ul", *kids, class_="kids") if kids else None, class_="node")


def _box(node: ShownNode) -> Markup:
    if node.branches or node.more:
        more = tag("span", node.more, class_="muted") if node.more and not node.branches else None
        return tag("div", node.text, " " if more else None, more, class_="box")
    look = f"box leaf c{node.look % _LOOKS + 1}" if node.look >= 0 else "box leaf"
    meter = None if node.share is None else bar(f"{node.share:.0%}", node.share)
    return tag("div", tag("strong", node.text), *_detail(node), meter, class_=look)


def _detail(node: ShownNode) -> Iterator[Markup]:
    if node.detail:
        yield join(" ", tag("span", node.detail, class_="muted"))
