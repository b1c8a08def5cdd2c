"""Trees for people to read: as text, as sentences, as a drawing. Everything here is made of released values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from privet.errors import ParameterError
from privet.models.forest import LeafCounts, Structure
from privet.privacy.statements import percent_up, stated_down
from privet.schema.encoding import ClassTarget, Column, Encoding
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import Splits
from privet.writing import replace_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privet.models.forest import Forest

MOST_LEAVES = 2048  # of a tree that is still worth drawing or writing down
_MOST_NAMES = 6  # of categories in one condition


@dataclass
class Sketch:
    """One node in words, with its children; `conditions` say what leads to each of them."""

    label: str = ""  # of a leaf: the class
    share: float | None = None  # of the label among the leaf's noisy counts
    records: int | None = None  # in the leaf, noisy
    class_number: int = -1
    conditions: list[str] = field(default_factory=list)
    children: list[Sketch] = field(default_factory=list)

    @property
    def surety(self) -> str:
        """How sure a leaf is, in words; empty where only a label was released."""
        if self.share is None:
            return ""
        return f"{self.share:.0%} of about {self.records}" if self.records else "hardly any record"


def sketch(forest: Forest, tree: int = 0) -> Sketch:
    """Return a tree of the forest in words."""
    leaves = _leaf_sketches(forest, _class_names(forest.encoding))
    return sketch_of(forest.encoding, forest.structure, leaves, tree)


def sketch_of(encoding: Encoding, structure: Structure, leaves: Sequence[Sketch], tree: int) -> Sketch:
    """Return a tree in words, given what each leaf says."""
    structure = _written_down(structure, tree)

    def below(node: int) -> Sketch:
        here = _place(structure, tree, node)
        if here.leaf >= 0:
            return leaves[here.leaf]
        conditions = _conditions(encoding, structure.splits, here.split, len(here.children))
        return Sketch(conditions=conditions, children=[below(child) for child in here.children])

    return below(_root(structure, tree))


def export_text(forest: Forest, tree: int = 0) -> str:
    """Return a tree as indented lines: one for each condition, and what the leaves say.

    Parameters
    ----------
    forest : Forest
        The model.
    tree : int, default=0
        Which of its trees.
    """
    return text_of(sketch(forest, tree))


def text_of(whole: Sketch) -> str:
    """Return a tree in words as indented lines."""

    def lines(node: Sketch, indent: str) -> Iterator[str]:
        for condition, child in zip(node.conditions, node.children, strict=True):
            if child.children:
                yield f"{indent}{condition}"
                yield from lines(child, indent + "|   ")
            else:
                yield f"{indent}{condition}: {_verdict(child)}"

    return "\n".join(lines(whole, "")) if whole.children else _verdict(whole)


def rules(forest: Forest, tree: int = 0) -> list[str]:
    """Return a tree as sentences, one for each leaf.

    Parameters
    ----------
    forest : Forest
        The model.
    tree : int, default=0
        Which of its trees.
    """

    def sentences(node: Sketch, so_far: list[str]) -> Iterator[str]:
        if not node.children:
            yield (f"If {' and '.join(so_far)}, then " if so_far else "Always ") + _verdict(node) + "."
        for condition, child in zip(node.conditions, node.children, strict=True):
            yield from sentences(child, [*so_far, condition])

    return list(sentences(sketch(forest, tree), []))


def plot(
    forest: Forest, target: str | Path | Axes | None = None, *, tree: int = 0, leaf_epsilon: float | None = None
) -> Axes:
    """Draw a tree: questions in the nodes, leaves in the colours of their classes, paler where they are less sure.

    Parameters
    ----------
    forest : Forest
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

    whole = sketch(forest, tree)
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


def _draw(axes: Axes, whole: Sketch, encoding: Encoding) -> None:
    from matplotlib.patches import Patch

    names = _class_names(encoding)
    colours = [f"C{number % 10}" for number in range(len(names))]
    next_leaf = 0

    def place(node: Sketch, level: int) -> float:
        """Draw a node and all below it; return where it stands."""
        nonlocal next_leaf
        if not node.children:
            x, next_leaf = float(next_leaf), next_leaf + 1
            text = fill(f"{node.label} {node.surety}", max(8, len(node.label)))
            strength = 0.55 if node.share is None else 0.15 + 0.6 * node.share
            box = {"boxstyle": "round", "facecolor": colours[node.class_number], "alpha": strength, "edgecolor": "none"}
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
    patches = [Patch(facecolor=colour, alpha=0.75, label=name) for colour, name in zip(colours, names, strict=True)]
    axes.legend(handles=patches, loc="upper left", fontsize=8, frameon=False)


def _question(node: Sketch) -> tuple[str, list[str]]:
    """Return what a node asks, and the answers that lead to its children."""
    if len(node.children) == 2:
        return f"{node.conditions[0]}?", ["yes", "no"]
    asked, answers = zip(*(condition.split(" is ", 1) for condition in node.conditions), strict=True)
    return f"{asked[0]}?", list(answers)


def _note_on_labels(leaf_epsilon: float) -> str:
    margin = math.ceil(3 / leaf_epsilon)
    chance = 0.5 * math.exp(-leaf_epsilon * margin)
    law = f"exp(-{stated_down(leaf_epsilon)} margin) / 2"
    return f"A label is wrong with probability {law}:\n{percent_up(chance)} at {margin} records."


def _verdict(leaf: Sketch) -> str:
    return leaf.label + (f" ({leaf.surety})" if leaf.surety else "")


def _n_leaves(node: Sketch) -> int:
    return sum(map(_n_leaves, node.children)) if node.children else 1


def _depth(node: Sketch) -> int:
    return 1 + max(map(_depth, node.children)) if node.children else 0


@dataclass(frozen=True)
class _Place:
    """A node of a structure of either kind."""

    leaf: int  # -1 for an inner node
    split: int = 0  # its place in the flat arrays of splits
    children: range = range(0)


def _written_down(structure: Structure, tree: int) -> CompleteTrees | ExplicitTrees:
    """Return the structure as nodes that can be walked, or say why that cannot be."""
    if not 0 <= tree < structure.n_trees:
        raise ParameterError(f"tree must be a number from 0 to {structure.n_trees - 1}, got {tree}")
    if isinstance(structure, RandomTrees):
        structure = structure.materialise()
    n_leaves = int(np.diff(structure.leaf_offsets)[tree])
    if n_leaves > MOST_LEAVES:
        raise ParameterError(f"the tree has {n_leaves} leaves, too many to read: the most is {MOST_LEAVES}")
    return structure


def _root(structure: CompleteTrees | ExplicitTrees, tree: int) -> int:
    return 0 if isinstance(structure, CompleteTrees) else int(structure.tree_offsets[tree])


def _place(structure: CompleteTrees | ExplicitTrees, tree: int, node: int) -> _Place:
    if isinstance(structure, CompleteTrees):
        inner = structure.splits.feature.shape[1]
        if node >= inner:
            return _Place(int(structure.leaf_offsets[tree]) + node - inner)
        return _Place(-1, tree * inner + node, range(2 * node + 1, 2 * node + 3))
    if structure.leaf[node] >= 0:
        return _Place(int(structure.leaf[node]))
    first = int(structure.first_child[node])
    return _Place(-1, node, range(first, first + int(structure.n_children[node])))


def _leaf_sketches(forest: Forest, names: list[str]) -> list[Sketch]:
    if not isinstance(forest.leaves, LeafCounts):
        labels = forest.leaves.labels.tolist()
        return [
            Sketch(names[label], class_number=label) if label < len(names) else Sketch("no vote") for label in labels
        ]
    shares = forest.leaves.shares(forest.structure)
    records = np.maximum(forest.leaves.counts, 0).sum(axis=1)
    best = shares.argmax(axis=1)
    return [
        Sketch(names[label], float(share[label]), int(number), int(label))
        for label, share, number in zip(best, shares, records, strict=True)
    ]


def _class_names(encoding: Encoding) -> list[str]:
    assert isinstance(encoding.target, ClassTarget)
    return [str(name) for name in encoding.target.classes]


def _conditions(encoding: Encoding, splits: Splits, node: int, n_children: int) -> list[str]:
    """Return what leads to each child of a node, in the data's own units and names."""
    cut, missing_first = int(splits.cut.flat[node]), bool(splits.missing_first.flat[node])
    column, number = encoding.columns[int(splits.feature.flat[node])], int(splits.set_index.flat[node])
    if n_children > 2:
        return [f"{column.name} is {_code_name(column, code)}" for code in range(n_children)]
    if number >= 0:
        words = splits.sets[number].tolist()
        second = [code for code in range(column.n_codes) if words[code >> 6] >> (code & 63) & 1]
        first = [code for code in range(column.n_codes) if code not in second]
        return [f"{column.name} is {_code_names(column, codes)}" for codes in (first, second)]
    if not column.ordered:
        sides = range(cut + 1), range(cut + 1, column.n_codes)
        return [f"{column.name} is {_code_names(column, list(codes))}" for codes in sides]
    if cut >= len(column.cuts):
        return [f"{column.name} is present", f"{column.name} is missing"]
    threshold = f"{column.cuts[cut]:.6g}"
    or_missing = "" if column.missing_code is None else " or missing"
    sides_missing = (or_missing, "") if missing_first else ("", or_missing)
    return [f"{column.name} <= {threshold}{sides_missing[0]}", f"{column.name} > {threshold}{sides_missing[1]}"]


def _code_name(column: Column, code: int) -> str:
    if code == column.missing_code:
        return "missing"
    if code == column.other_code:
        return "another"
    return str(column.categories[code]) if not column.ordered else f"in cell {code}"


def _code_names(column: Column, codes: list[int]) -> str:
    """Return the names of some codes; where they are many, those that are not among them, or how many they are."""
    if len(codes) <= _MOST_NAMES:
        return " or ".join(_code_name(column, code) for code in codes)
    others = [code for code in range(column.n_codes) if code not in codes]
    if len(others) <= _MOST_NAMES:
        return "not " + " nor ".join(_code_name(column, code) for code in others)
    shown = ", ".join(_code_name(column, code) for code in codes[:_MOST_NAMES])
    return f"one of {shown} and {len(codes) - _MOST_NAMES} more"
