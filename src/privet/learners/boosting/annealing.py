"""Rounds whose budgets adapt: what is known of them before any, and what each of them may spend."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privet.learners.boosting.gradients import ONE, Bounded
from privet.privacy.events import Cost, Event, Filter
from privet.privacy.terms import Share, Terms

SEES, SEES_ALL = "the records of each node; nodes of one level are disjoint", "all records"


@dataclass(frozen=True)
class GridOfTwo:
    """What the first levels of a tree are: the grid of two features (`privet.learners.boosting.grid_choice`).

    Attributes
    ----------
    levels : int
        An even number; each feature has half of them.
    apart : bool
        Whether the features are two choices, one after the other, in place of one.
    """

    levels: int
    apart: bool = False

    @property
    def n_choices(self) -> int:
        """The number of selections."""
        return 1 + self.apart

    def __str__(self) -> str:
        how = "chosen one after the other" if self.apart else "one choice"
        return f"the first {self.levels} levels a grid of two features, {how}"


@dataclass(frozen=True)
class Rounds:
    """What is known of the rounds before any of them.

    Attributes
    ----------
    share : Share or None
        What all rounds together may spend; None without privacy.
    n_trees : int
        The most rounds that the share is divided into at first. Without privacy, the number of rounds.
    depth : int
        Levels of splits of each tree.
    patience : float
        Where the leaves' sums are less than this many times their noise, the next rounds get twice as much.
    split_part : Fraction
        Of each round's budget; the rest is for the leaves.
    n_rows : int, optional
        A public guess at the number of records.
    records_per_deviation : int
        The noise of a leaf's sum is, to begin with, at most one record in this many.
    margin : float
        How much of the leaves' sums is taken for noise; see `privet.learners.boosting.leaf_values`.
    shared_splits : bool
        Whether all nodes of a level are split alike, by one choice that sees all records.
    paired : bool
        Whether the splits of the first two levels are one choice, the second level's the same for both nodes.
    grid : GridOfTwo, optional
        What the first levels are in place of that.
    """

    share: Share | None
    n_trees: int
    depth: int
    patience: float
    split_part: Fraction
    n_rows: int | None = None
    records_per_deviation: int = 20
    margin: float = 1.0
    shared_splits: bool = False
    paired: bool = False
    grid: GridOfTwo | None = None

    def at_first(self, loss: Bounded, terms: Terms, n_rows: float) -> int:
        """Return the number of rounds to plan for: so few that a round's leaves are not mostly noise.

        A sum's noise has deviation ``sqrt(b / (2 rho))`` or ``sqrt(2) b / epsilon`` for a round's leaves, with b the
        bound of the loss; it is to be at most ``n / records_per_deviation``.
        """
        if self.share is None:
            return self.n_trees
        part, bound, n = 1 - self.split_part, float(loss.bound), n_rows / (self.records_per_deviation * terms.steps)
        if self.share.epsilon is not None:
            most = n * float(self.share.epsilon * part) / (math.sqrt(2) * bound)
        else:
            assert self.share.rho is not None
            most = n**2 * 2 * float(self.share.rho * part) / bound
        return max(1, min(self.n_trees, int(most)))

    @property
    def first_levels(self) -> int:
        """How many levels a grid or a pair of splits is for; each of the others is a choice by itself."""
        return self.grid.levels if self.grid is not None else 2 * self.paired

    @property
    def n_choices(self) -> int:
        """Among how many choices the part for splits is divided; a pair of splits has what two of them would."""
        return self.depth if self.grid is None else self.grid.n_choices + self.depth - self.grid.levels

    @property
    def cap(self) -> Cost:
        """The most that all rounds together can cost."""
        if self.share is None:
            return Cost.unbounded()
        if self.share.epsilon is not None:
            return Cost.pure(self.share.epsilon)
        return Cost(None, self.share.rho)

    @cached_property
    def filter(self) -> Filter:
        """The composition of all rounds: whatever each of them gets, together they stay below the cap."""
        return Filter("annealed rounds", self.cap)

    def __str__(self) -> str:
        trees = f"{self.n_trees} trees of depth {self.depth}"
        if self.grid is not None:
            trees += f", {self.grid}"
        elif self.paired:
            trees += ", the first two splits by one choice"
        if self.shared_splits and (self.grid is None or self.depth > self.grid.levels):
            trees += ", one split for each level" + (" below" if self.grid is not None else "")
        return trees if self.share is None else f"at most {trees}; fewer and surer ones where the noise asks for it"


@dataclass(frozen=True)
class Round:
    """The events of one round: selections of a grid's features, or of paired splits; of each other level; leaves."""

    grid: tuple[Event, ...]
    pair: Event | None
    splits: tuple[Event, ...]
    leaves: Event


class Annealing:
    """Rounds whose budgets adapt to released values, under a total that was fixed before.

    *Privacy.* The budget of a round depends on released values and public constants only, and rounds end before the
    total would be passed. The ledger's filter checks the latter once more.
    """

    def __init__(self, rounds: Rounds, loss: Bounded, terms: Terms, n_rows: float) -> None:
        self._rounds, self._loss, self._terms = rounds, loss, terms
        self._left = Fraction(min(rounds.n_trees, 1))  # of the rounds' share
        self._next = Fraction(1, rounds.at_first(loss, terms, n_rows))
        self._number = 0

    def __iter__(self) -> Iterator[Round]:
        while self._left > 0:
            # a last round that could pay for next to nothing is joined with the one before it
            part = self._next if self._left >= self._next * Fraction(3, 2) else self._left
            self._left -= part
            self._number += 1
            yield self._events(part)

    def note(self, strength: float) -> None:
        """Take note of how strong the leaves of the last round were: their sums' squares over the noise's."""
        if strength < self._rounds.patience and self._rounds.share is not None:
            self._next *= 2

    def _events(self, part: Fraction) -> Round:
        rounds, loss, name = self._rounds, self._loss, f"round {self._number}: "
        share = None if rounds.share is None else rounds.share * part
        of_level, of_leaves = rounds.split_part / max(rounds.n_choices, 1), 1 - rounds.split_part
        for_splits, for_pair, for_leaves = (
            None if share is None else share * part for part in (of_level, 2 * of_level, of_leaves)
        )
        of_each, sees = ("split", SEES_ALL) if rounds.shared_splits else ("splits", SEES)
        score_range, grid, pair = loss.score_range * ONE, tuple[Event, ...](), None
        if rounds.grid is not None:
            features = ("first feature", "second feature") if rounds.grid.apart else ("two features",)
            grid = tuple(
                self._terms.choice(f"{name}{called}", for_splits, score_range=score_range, sees=SEES_ALL)
                for called in features
            )
        elif rounds.paired:
            called = f"{name}splits of levels 1 and 2"
            pair = self._terms.choice(called, for_pair, score_range=score_range, sees=SEES_ALL)
        splits = tuple(
            self._terms.choice(f"{name}{of_each} of level {level + 1}", for_splits, score_range=score_range, sees=sees)
            for level in range(rounds.first_levels, rounds.depth)
        )
        leaves = self._terms.noise(
            f"{name}sums in the leaves",
            for_leaves,
            l1=loss.bound * ONE,
            l2_squared=loss.bound * ONE**2,
            signed=True,
            replaced=loss.distance * ONE**2,
            sees=SEES,
        )
        return Round(grid, pair, splits, leaves)
