"""Trees, read in one place: what a node asks, what leads to each child, what a leaf says, and all of it in words.

Drawings, pages and shapes word codes and questions with the functions below. Everything is made of released values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from privet.models.axes import few_digits
from privet.models.forest import Forest, LeafLabels, Structure
from privet.models.regression_forest import RegressionForest
from privet.schema.encoding import ClassTarget, Column, Encoding
from privet.schema.readings import Levels

if TYPE_CHECKING:
    from privet.trees.explicit_trees import ExplicitTrees

_MOST_NAMES = 6  # of categories in one condition
_MOST_ASKED = 3  # of categories in one question


@dataclass(frozen=True)
class EveryCode:
    """Every code of a feature leads to a child of its own."""

    column: Column


@dataclass(frozen=True)
class TwoGroups:
    """The codes of a feature in two groups, one for each child; the tree lists those of one child."""

    column: Column
    groups: tuple[Sequence[int], Sequence[int]]
    listed: Literal[0, 1]


@dataclass(frozen=True)
class IsPresent:
    """Values lead to the first child, missing ones to the second."""

    column: Column


@dataclass(frozen=True)
class AtMost:
    """Values up to a threshold lead to the first child; missing ones, where there can be any, to child `missing`."""

    column: Column
    threshold: float
    missing: Literal[0, 1] | None


Question = EveryCode | TwoGroups | IsPresent | AtMost


@dataclass(frozen=True)
class Leaf:
    """What a leaf says.

    Attributes
    ----------
    label : str
        The class, or whatever else a leaf stands for.
    share : float, optional
        The label's share, where more than a label was released.
    records : int, optional
        How many records there are in the leaf, noisy.
    class_number : int
        The number of the class, -1 for none.
    place : float, optional
        Where a leaf's number is within the target's range, from 0 to 1.
    """

    label: str
    share: float | None = None
    records: int | None = None
    class_number: int = -1
    place: float | None = None

    @property
    def surety(self) -> str:
        """How sure the leaf is, in words; empty where only a label was released."""
        if self.share is None and self.records is None:
            return ""
        if self.share is None:
            return f"about {self.records} records" if self.records else "hardly any record"
        return f"{self.share:.0%} of about {self.records}" if self.records else "hardly any record"


LeafReader = Callable[[int], Leaf]  # from a leaf's id to what it says


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a tree: either a leaf, or a question with a child for each answer.

    Attributes
    ----------
    encoding : Encoding
        The features' names and values.
    trees : ExplicitTrees
        The trees, written down.
    says : callable
        What each leaf says.
    number : int
        The node's place in the arrays of `trees`.
    """

    encoding: Encoding
    trees: ExplicitTrees
    says: LeafReader
    number: int

    @property
    def is_leaf(self) -> bool:
        """Whether the node asks nothing."""
        return bool(self.trees.leaf[self.number] >= 0)

    @property
    def leaf(self) -> Leaf:
        """What a leaf says."""
        return self.says(int(self.trees.leaf[self.number]))

    @property
    def column(self) -> Column:
        """The feature that a node asks about."""
        return self.encoding.columns[int(self.trees.splits.feature[self.number])]

    @property
    def children(self) -> list[Node]:
        """The nodes that the answers lead to, in order; none below a leaf."""
        first, number = int(self.trees.first_child[self.number]), int(self.trees.n_children[self.number])
        return [Node(self.encoding, self.trees, self.says, child) for child in range(first, first + number)]

    @property
    def question(self) -> Question:
        """What a node asks."""
        splits, column = self.trees.splits, self.column
        if self.trees.n_children[self.number] > 2:
            return EveryCode(column)
        if splits.set_index[self.number] >= 0:
            codes = np.arange(column.n_codes)
            inside = splits.in_set(int(splits.set_index[self.number]), codes)
            return TwoGroups(column, (codes[~inside].tolist(), codes[inside].tolist()), 1)
        cut = int(splits.cut[self.number])
        if not column.ordered:
            return TwoGroups(column, (range(cut + 1), range(cut + 1, column.n_codes)), 0)
        if cut >= len(column.cuts):
            return IsPresent(column)
        missing: Literal[0, 1] = 0 if splits.missing_first[self.number] else 1
        return AtMost(column, column.cuts[cut], None if column.missing_code is None else missing)

    @property
    def conditions(self) -> list[str]:
        """What leads to each child, in the data's own units and names."""
        return [] if self.is_leaf else conditions(self.question)


def read_tree(forest: Forest | RegressionForest, tree: int, says: LeafReader | None = None) -> Node:
    """Return the root of one of a forest's trees; its leaves say what was released unless another value is given."""
    return root(forest.encoding, forest.structure, tree, says or released(forest))


def root(encoding: Encoding, structure: Structure, tree: int, says: LeafReader) -> Node:
    """Return the root of a tree, given what each leaf says."""
    trees = structure.explicit()
    return Node(encoding, trees, says, int(trees.tree_offsets[tree]))


def released(forest: Forest | RegressionForest) -> LeafReader:
    """Let leaves say what was released: a label, the largest share of noisy counts and their sum, or a number."""
    if isinstance(forest, RegressionForest):
        return _numbers(forest)
    names = class_names(forest.encoding)
    if isinstance(forest.leaves, LeafLabels):
        labels = forest.leaves.labels

        def label(leaf: int) -> Leaf:
            number = int(labels[leaf])
            return Leaf(names[number], class_number=number) if number < len(names) else Leaf("no vote")

        return label
    shares = forest.leaves.shares(forest.structure)
    records = np.maximum(forest.leaves.counts, 0).sum(axis=1)

    def largest(leaf: int) -> Leaf:
        best = int(shares[leaf].argmax())
        return Leaf(names[best], float(shares[leaf, best]), int(records[leaf]), best)

    return largest


def _numbers(forest: RegressionForest) -> LeafReader:
    width = forest.target.high - forest.target.low

    def number(leaf: int) -> Leaf:
        label = few_digits(float(forest.leaf_predictions[leaf]), width)
        return Leaf(label, records=int(forest.records[leaf]), place=float(forest.values[leaf]))

    return number


def voted(forest: Forest) -> LeafReader:
    """Let leaves say what they vote for, with a share where a leaf's vote is divided."""
    names, votes = class_names(forest.encoding), forest.leaf_votes(weighted=False)

    def vote(leaf: int) -> Leaf:
        if not votes[leaf].any():
            return Leaf("no vote")
        best = int(votes[leaf].argmax())
        share = float(votes[leaf, best])
        return Leaf(names[best], None if share == 1 else share, class_number=best)

    return vote


def class_names(encoding: Encoding) -> list[str]:
    """Return the names of the classes."""
    assert isinstance(encoding.target, ClassTarget)
    return [str(name) for name in encoding.target.classes]


def conditions(question: Question) -> list[str]:
    """Return what leads to each child, as statements that hold there."""
    name = question.column.name
    match question:
        case EveryCode(column):
            return [f"{name} is {code_in_words(column, code)}" for code in range(column.n_codes)]
        case TwoGroups(column, groups):
            return [f"{name} is {_codes_in_words(column, list(codes))}" for codes in groups]
        case IsPresent():
            return [f"{name} is present", f"{name} is missing"]
        case AtMost(column, threshold, missing):
            or_missing = [" or missing" if child == missing else "" for child in (0, 1)]
            cut = column.cut_in_words(threshold) or f"{threshold:.6g}"
            return [f"{name} <= {cut}{or_missing[0]}", f"{name} > {cut}{or_missing[1]}"]


def question_in_words(
    question: Question, code: Callable[[Column, int], str], number: Callable[[float], str]
) -> tuple[str, list[str]]:
    """Return what is asked, and the answer that leads to each child.

    Parameters
    ----------
    question : Question
        What a node asks.
    code : callable
        Puts a code of a column into words.
    number : callable
        Writes a threshold.
    """
    name = question.column.name
    match question:
        case EveryCode(column):
            return f"{name}?", [code(column, each) for each in range(column.n_codes)]
        case TwoGroups(column, groups, listed):
            asked = _either([code(column, each) for each in groups[listed]])
            return f"{name} is {asked}?", ["no", "yes"] if listed else ["yes", "no"]
        case IsPresent():
            return f"{name} is known?", ["yes", "no"]
        case AtMost(column, threshold, missing):
            or_missing = [", or missing" if child == missing else "" for child in (0, 1)]
            cut = column.cut_in_words(threshold) or number(threshold)
            return f"{name} ≤ {cut}?", [f"yes{or_missing[0]}", f"no{or_missing[1]}"]


def code_in_words(
    column: Column, code: int, other: str = "another", number: Callable[[float], str] | None = None
) -> str:
    """Return what a code stands for.

    Parameters
    ----------
    column : Column
        The feature.
    code : int
        One of its codes.
    other : str
        The word for categories that the schema does not list.
    number : callable, optional
        Writes the borders of a cell of a range; without it a cell goes by its number.
    """
    if code == column.missing_code:
        return "missing"
    if code == column.other_code:
        return other
    if not column.ordered or isinstance(column.reading, Levels):
        return column.value_in_words(code)
    if number is None:
        return f"in cell {code}"
    low, high = (
        None if not 0 <= cut < len(column.cuts) else column.cut_in_words(column.cuts[cut]) or number(column.cuts[cut])
        for cut in (code - 1, code)
    )
    return interval_in_words(low, high, "any value")


def interval_in_words(low: str | None, high: str | None, everything: str) -> str:
    """Return an interval by its ends, None where it has none."""
    if high is None:
        return everything if low is None else f"above {low}"
    return f"up to {high}" if low is None else f"{low} to {high}"


def _codes_in_words(column: Column, codes: list[int]) -> str:
    """Return the names of some codes; where they are many, those that are not among them, or how many they are."""
    if len(codes) <= _MOST_NAMES:
        return " or ".join(code_in_words(column, code) for code in codes)
    others = [code for code in range(column.n_codes) if code not in codes]
    if len(others) <= _MOST_NAMES:
        return "not " + " nor ".join(code_in_words(column, code) for code in others)
    shown = ", ".join(code_in_words(column, code) for code in codes[:_MOST_NAMES])
    return f"one of {shown} and {len(codes) - _MOST_NAMES} more"


def _either(names: list[str]) -> str:
    shown = names if len(names) <= _MOST_ASKED else [*names[:2], f"{len(names) - 2} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
