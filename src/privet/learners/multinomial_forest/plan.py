"""The plan of a multinomial forest: what structure points and estimation points spend, tree by tree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privet.privacy.events import Composition, Event, Mixture, Sequential
from privet.privacy.plan import Plan

Weights = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class HonestLevel:
    """The choices of one level: a split at once, or first a feature and then a split of that feature."""

    feature: Event | None
    split: Event

    @property
    def events(self) -> tuple[Event, ...]:
        """What is charged, in this order."""
        return (self.split,) if self.feature is None else (self.feature, self.split)


@dataclass(frozen=True)
class HonestTreePlan:
    """One tree, or all trees that grow side by side on disjoint records.

    Attributes
    ----------
    weights : tuple of Fraction, or None
        How probable it is that a record is a structure point, and that it is an estimation point. None without
        privacy, where every record is both.
    levels : tuple of HonestLevel
        What structure points choose.
    labels : Event
        What estimation points choose, or the noise of their counts.
    """

    weights: Weights | None
    levels: tuple[HonestLevel, ...]
    labels: Event

    @cached_property
    def mixture(self) -> Mixture | None:
        """The two parts, for a coin that makes a record one or the other; None where there is no coin."""
        return None if self.weights is None else Mixture(self.weights, (self.structure, self.labels))

    @property
    def choices(self) -> tuple[Event, Event]:
        """The choice of a split (all levels are alike), and that of a label, or the noise of the leaves."""
        return (self.levels[0].split if self.levels else self.labels), self.labels

    @property
    def whole(self) -> Composition:
        """All that the tree charges."""
        return self.mixture or Sequential((self.structure, self.labels))

    @cached_property
    def structure(self) -> Sequential:
        """What structure points choose, level by level."""
        return Sequential(tuple(event for level in self.levels for event in level.events))


@dataclass(frozen=True)
class MultinomialForestPlan(Plan):
    """Trees one after the other; those that grow side by side share one plan."""

    n_trees: int
    depth: int
    trees: tuple[HonestTreePlan, ...]

    @property
    def whole(self) -> Sequential:
        """Costs of trees add up."""
        return Sequential(tuple(tree.whole for tree in self.trees))

    def chooses_no_worse_than(self, other: MultinomialForestPlan) -> bool:
        """Whether there are no fewer levels, and splits and labels are chosen at least as sharply."""
        pairs = zip(self.trees[0].choices, other.trees[0].choices, strict=True)
        return self.depth >= other.depth and all(
            mine.deviation <= theirs.deviation if mine.deviation else mine.parameter >= theirs.parameter
            for mine, theirs in pairs
        )

    @property
    def facts(self) -> dict[str, object]:
        """The forest's shape, and the coin."""
        facts: dict[str, object] = {"trees": self.n_trees, "depth": self.depth}
        weights = self.trees[0].weights
        return facts if weights is None else {**facts, "share of structure points": weights[0]}
