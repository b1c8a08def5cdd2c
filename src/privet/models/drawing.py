"""Trees for people to read: as text, as sentences, as a drawing. Everything here is made of released values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from privet.errors import ParameterError
from privet.models.forest import Forest, Structure
from privet.models.reading import EveryCode, Leaf, LeafReader, Node, class_names, code_in_words, released, root
from privet.models.regression_forest import RegressionForest
from privet.privacy.statements import percent_up, stated_down
from privet.schema.encoding import ClassTarget, Encoding
from privet.trees.random_trees import RandomTrees
from privet.writing import replace_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LEAVES = 2048  # of a tree that is still worth drawing or writing down


def tree_of(encoding: Encoding, structure: Structure, tree: int, says: LeafReader) -> Node:
    """Return the root of a tree that is small enough to read, given what each leaf says."""
    if not 0 <= tree < structure.n_trees:
        raise ParameterError(f"tree must be a number from 0 to {structure.n_trees - 1}, got {tree}")
    if isinstance(structure, RandomTrees):
        structure = structure.materialise()
    n_leaves = int(np.diff(structure.leaf_offsets)[tree])
    if n_leaves > MOST_LEAVES:
        raise ParameterError(f"the tree has {n_leaves} leaves, too many to read: the most is {MOST_LEAVES}")
    return root(encoding, structure, tree, says)


def _tree(forest: Forest | RegressionForest, tree: int) -> Node:
    return tree_of(forest.encoding, forest.structure, tree, released(forest))


def export_text(forest: Forest | RegressionForest, tree: int = 0) -> str:
    """Return a tree as indented lines: one for each condition, and what the leaves say.

    Parameters
    ----------
    forest : Forest or RegressionForest
        The model.
    tree : int, default=0
        Which of its trees.
    """
    return indented_text(_tree(forest, tree))


def indented_text(whole: Node) -> str:
    """Return a tree in words as indented lines."""

    def lines(node: Node, indent: str) -> Iterator[str]:
        for condition, child in zip(node.conditions, node.children, strict=True):
            if child.is_leaf:
                yield f"{indent}{condition}: {_verdict(child.leaf)}"
            else:
                yield f"{indent}{condition}"
                yield from lines(child, indent + "|   ")

    return _verdict(whole.leaf) if whole.is_leaf else "\n".join(lines(whole, ""))


def rules(forest: Forest | RegressionForest, tree: int = 0) -> list[str]:
    """Return a tree as sentences, one for each leaf.

    Parameters
    ----------
    forest : Forest or RegressionForest
        The model.
    tree : int, default=0
        Which of its trees.
    """

    def sentences(node: Node, so_far: list[str]) -> Iterator[str]:
        if node.is_leaf:
            yield (f"If {' and '.join(so_far)}, then " if so_far else "Always ") + _verdict(node.leaf) + "."
        for condition, child in zip(node.conditions, node.children, strict=True):
            yield from sentences(child, [*so_far, condition])

    return list(sentences(_tree(forest, tree), []))


def plot(
    forest: Forest | RegressionForest,
    target: str | Path | Axes | None = None,
    *,
    tree: int = 0,
    leaf_epsilon: float | None = None,
) -> Axes:
    """Draw a tree: questions in the nodes, leaves in the colours of their classes, paler where they are less sure.

    Leaves of a regression forest are the darker, the higher their number is within the target's range.

    Parameters
    ----------
    forest : Forest or RegressionForest
        The model.
    target : str, Path or Axes, optional
        A file to write (SVG, PDF, PNG by its suffix), or axes to draw in. By default a new figure.
    tree : int, default=0
        Which of its trees.
    leaf_epsilon : float, optional
        Where leaves have labels only: the budget of a label, for a note on how often one is wrong.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.figure import Figure

    whole = _tree(forest, tree)
    width, depth = _n_leaves(whole), _depth(whole)
    figure: Figure | None = None
    if target is None or isinstance(target, str | Path):
        figure = Figure(figsize=(max(4.0, 1.25 * width), 1.0 + 1.5 * depth))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        axes = target
    _draw(axes, whole, forest.encoding)
    if leaf_epsilon is not None:
        note = _note_on_labels(leaf_epsilon)
        axes.text(0.5, -0.02, note, transform=axes.transAxes, ha="center", va="top", fontsize=8)
    if figure is not None and isinstance(target, str | Path):
        replace_figure(target, figure, bbox_inches="tight")
    return axes


def _draw(axes: Axes, whole: Node, encoding: Encoding) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    names = class_names(encoding) if isinstance(encoding.target, ClassTarget) else []
    colours = [f"C{number % 10}" for number in range(max(1, len(names)))]
    next_leaf = 0

    def place(node: Node, level: int) -> float:
        """Draw a node and all below it; return where it stands."""
        nonlocal next_leaf
        if node.is_leaf:
            leaf = node.leaf
            x, next_leaf = float(next_leaf), next_leaf + 1
            text = fill(f"{leaf.label} {leaf.surety}", max(8, len(leaf.label)))
            sure = leaf.share if leaf.place is None else leaf.place
            strength = 0.55 if sure is None else 0.15 + 0.6 * sure
            # Mixed with white rather than transparent: the branch behind it would strike the text through.
            paler = tuple(1 - strength * (1 - part) for part in to_rgb(colours[leaf.class_number]))
            box = {"boxstyle": "round", "facecolor": paler, "edgecolor": "none"}
            axes.text(x, -level, text, ha="center", va="center", fontsize=9, bbox=box)
            return x
        places = [place(child, level + 1) for child in node.children]
        x = (places[0] + places[-1]) / 2
        question, answers = _question(node)
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}
        axes.text(x, -level, fill(question, 24), ha="center", va="center", fontsize=8, bbox=box)
        for at, answer in zip(places, answers, strict=True):
            axes.plot([x, at], [-level, -level - 1], color="0.6", linewidth=1, zorder=0)
            background = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.text((x + at) / 2, -level - 0.5, answer, ha="center", va="center", fontsize=7, bbox=background)
        return x

    place(whole, 0)
    axes.set_xlim(-0.8, max(next_leaf - 0.2, 0.8))
    axes.set_ylim(-_depth(whole) - 0.5, 0.3)
    axes.set_axis_off()
    patches = [Patch(facecolor=colours[number], alpha=0.75, label=name) for number, name in enumerate(names)]
    if patches:
        axes.legend(handles=patches, loc="upper left", fontsize=8, frameon=False)


def _question(node: Node) -> tuple[str, list[str]]:
    """Return what a node asks, and the answers that lead to its children."""
    asked = node.question
    if isinstance(asked, EveryCode):
        return f"{asked.column.name}?", [code_in_words(asked.column, code) for code in range(asked.column.n_codes)]
    return f"{node.conditions[0]}?", ["yes", "no"]


def _note_on_labels(leaf_epsilon: float) -> str:
    margin = math.ceil(3 / leaf_epsilon)
    chance = 0.5 * math.exp(-leaf_epsilon * margin)
    law = f"exp(-{stated_down(leaf_epsilon)} margin) / 2"
    return f"A label is wrong with probability {law}:\n{percent_up(chance)} at {margin} records."


def _verdict(leaf: Leaf) -> str:
    return leaf.label + (f" ({leaf.surety})" if leaf.surety else "")


def _n_leaves(node: Node) -> int:
    return 1 if node.is_leaf else sum(map(_n_leaves, node.children))


def _depth(node: Node) -> int:
    return 0 if node.is_leaf else 1 + max(map(_depth, node.children))
