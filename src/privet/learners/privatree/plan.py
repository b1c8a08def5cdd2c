"""How PrivaTree divides its budget, by the paper's equations 7 to 10, corrected; and the plan that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.privacy.events import Event, Parallel, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Allowance, Share
from privet.trees.quantiles import OfFeature

LEAF_PART = Fraction(3, 10)  # of the budget, if nothing is known about the number of records
MOST_LEAF_PART = Fraction(1, 2)  # equation 8
LEAST_LEAF_PART = Fraction(1, 10)  # costs splits next to nothing, and leaves are what people read
LEAST_SIGNAL_TO_NOISE = 5  # of a level: the records of an average node over the noise of its selection


@dataclass(frozen=True)
class TreeBudget:
    """How one tree is paid for.

    Attributes
    ----------
    depth : int
        Number of levels of splits.
    level, leaves : Fraction
        The parts of the tree's budget that each level and the leaves get; ``depth * level + leaves`` is one.
    """

    depth: int
    level: Fraction
    leaves: Fraction


def tree_budget(
    max_depth: int,
    n_candidates: int,
    share: Share | None,
    steps: int = 1,
    n_rows: int | None = None,
    leaf_need: Fraction = Fraction(20),
) -> TreeBudget:
    """Divide a tree's budget between its levels and its leaves.

    Parameters
    ----------
    max_depth : int
        The most levels.
    n_candidates : int
        Number of splits to choose among.
    share : Share or None
        The tree's budget; None without privacy.
    steps : int
        How many records are added or removed when a unit of privacy changes.
    n_rows : int, optional
        A public guess at the number of the tree's records.
    leaf_need : Fraction
        What a leaf needs: `label_error` divided by the most accuracy that wrong labels may cost.

    Notes
    -----
    With a guess n at the number of records, the leaves get an epsilon of ``2^depth * leaf_need / n``, but at most half
    and at least a tenth of the budget. The paper's equation 7 has twice as much: class counts move in one direction
    only, so the factor two of its mechanism is not needed. Without a guess the leaves get a fixed part. The levels
    share the rest equally.

    Differs from the paper, which always grows to the full depth. A selection among C candidates at rate r is off by
    about ln(C) / r records, so a level whose average node does not have several times as many records only adds noise.
    With a guess at the number of records such levels are left out, but at least one level stays.

    Examples
    --------
    >>> tree_budget(4, 500, Share(epsilon=Fraction(1)), n_rows=30_000).depth
    4
    >>> tree_budget(4, 500, Share(epsilon=Fraction(1, 10)), n_rows=1_000).depth
    1
    """
    if n_candidates == 0:
        return TreeBudget(0, Fraction(0), Fraction(1))
    depth = max_depth
    if share is not None and n_rows is not None:
        least = LEAST_SIGNAL_TO_NOISE * math.log(n_candidates)
        while depth > 1 and n_rows * rate(share, depth) / (steps * 2 ** (depth - 1)) < least:
            depth -= 1
    leaves = _leaf_part(2**depth * leaf_need * steps, share, n_rows)
    return TreeBudget(depth, (1 - leaves) / depth, leaves)


def rate(share: Share, parts: int = 1) -> float:
    """Return the rate of a selection that gets one of `parts` equal parts of a share."""
    if share.epsilon is not None:
        return float(share.epsilon / parts)
    assert share.rho is not None
    return math.sqrt(8 * share.rho / parts)


def _leaf_part(need: Fraction, share: Share | None, n_rows: int | None) -> Fraction:
    if share is None or n_rows is None:
        return LEAF_PART
    needed = need / max(n_rows, 1)
    if share.epsilon is not None:
        part = needed / share.epsilon
    else:
        assert share.rho is not None
        part = needed * needed / (8 * share.rho)
    return max(LEAST_LEAF_PART, min(MOST_LEAF_PART, part))


@lru_cache(maxsize=64)
def label_error(n_classes: int) -> Fraction:
    """Return epsilon times a bound on how many records a permute-and-flip label loses against the best label.

    ``max over p of ln(1/p) (1 - (1 - (1-p)^K) / (K p))``, rounded up; 1 / (2 e) for two classes.

    Examples
    --------
    >>> float(label_error(2))
    0.18394
    """
    if n_classes < 2:
        return Fraction(1, 10**5)  # with a single class there is nothing to lose
    p = np.linspace(1e-6, 1, 200_001)[:-1]
    worst = (-np.log(p) * (1 - (1 - (1 - p) ** n_classes) / (n_classes * p))).max()
    return Fraction(math.ceil(float(worst) * 10**5), 10**5)


@dataclass(frozen=True)
class LevelPlan:
    """One level of a tree: a split for every open node, and leaves for those that stop, where nodes may stop.

    For a regression target, too: a centre for every open node before its split is chosen, unless the window's counts
    tell it, and of the score either the knee, or what each record of a node adds to its cap, in the node's variances.
    """

    choice: Event
    early: Event | None
    centres: Event | None = None
    knee: int = 0
    cap: float | None = None


@dataclass(frozen=True)
class TreePlan:
    """One tree: its levels, then its leaves; `of_labels` where only what labels add to these is noised."""

    levels: tuple[LevelPlan, ...]
    leaves: Event
    of_labels: bool = False

    def path(self, level: int = 0) -> Sequential:
        """What a record meets on its way from a node of this level (0: the root) to its leaf."""
        if level == len(self.levels):
            return Sequential((self.leaves,))
        stop, here = self.stop_or_go_on(level), self.levels[level]
        before = () if here.centres is None else (here.centres,)
        return Sequential((*before, here.choice, *(self.path(level + 1).parts if stop is None else (stop,))))

    def stop_or_go_on(self, level: int) -> Parallel | None:
        """What follows the choice of a level where nodes may stop; those that do share no record with all others."""
        early = self.levels[level].early
        return None if early is None else Parallel((early, self.path(level + 1)))


@dataclass(frozen=True)
class PrivaTreePlan(Plan):
    """A regression target's window and quantiles that all trees share, if they are used, then tree after tree.

    Where only labels are private there are two free releases: `cuts`, of exact quantiles, and `totals`, of how many
    records are in the leaves.
    """

    depth: int
    quantiles: tuple[OfFeature, ...]
    trees: tuple[TreePlan, ...]
    window: Event | None = None
    cuts: Event | None = None
    totals: Event | None = None

    @property
    def whole(self) -> Sequential:
        """Costs add up along a path; siblings see disjoint records."""
        paths = (part for tree in self.trees for part in tree.path().parts)
        window = () if self.window is None else (self.window,)
        before, after = (() if free is None else (free,) for free in (self.cuts, self.totals))
        return Sequential((*window, *before, *(of.event for of in self.quantiles), *paths, *after))

    @property
    def first(self) -> Event:
        """The first choice of a tree; of one without splits, its leaves."""
        tree = self.trees[0]
        return tree.levels[0].choice if tree.levels else tree.leaves

    @property
    def last(self) -> Event:
        """The last choice of a tree; of one without splits, its leaves."""
        tree = self.trees[0]
        return tree.levels[-1].choice if tree.levels else tree.leaves

    @property
    def facts(self) -> dict[str, object]:
        """The depth, which may be less than what was asked for."""
        return {"depth": self.depth}


def no_worse_pure(asked: Allowance, choice: Event) -> bool:
    """Whether a choice that is planned for a delta is no sharper than one for pure epsilon, a stronger guarantee.

    A part p of the budget buys a selection of rate ``p epsilon``, or ``sqrt(8 p rho)``.
    """
    spent = choice.cost.rho
    assert spent is not None
    assert asked.rho is not None
    return spent / asked.rho * asked.epsilon**2 >= 8 * asked.rho
