"""The plan of a PrivaTree: what a record meets on its way from the root to a leaf."""

from __future__ import annotations

from dataclasses import dataclass

from privet.privacy.events import Composition, Event, Parallel, Sequential
from privet.privacy.plan import Plan
from privet.trees.quantiles import OfFeature


@dataclass(frozen=True)
class LevelPlan:
    """One level of a tree: a split for every open node, and leaves for those that stop, where nodes may stop."""

    choice: Event
    early: Event | None


@dataclass(frozen=True)
class TreePlan:
    """One tree: its levels, then its leaves."""

    levels: tuple[LevelPlan, ...]
    leaves: Event

    @property
    def path(self) -> tuple[Composition, ...]:
        """What a record meets: nodes that stop and nodes that go on have no record in common."""
        below: tuple[Composition, ...] = (self.leaves,)
        for level in reversed(self.levels):
            if level.early is not None:
                below = (Parallel((level.early, Sequential(below))),)
            below = (level.choice, *below)
        return below


@dataclass(frozen=True)
class PrivaTreePlan(Plan):
    """Quantiles that all trees share, where they are asked for, then one tree after the other."""

    depth: int
    quantiles: tuple[OfFeature, ...]
    trees: tuple[TreePlan, ...]

    @property
    def whole(self) -> Sequential:
        """Costs add up along a path; siblings see disjoint records."""
        paths = (part for tree in self.trees for part in tree.path)
        return Sequential((*(of.event for of in self.quantiles), *paths))

    @property
    def facts(self) -> dict[str, object]:
        """The depth, which may be less than what was asked for."""
        return {"depth": self.depth}
