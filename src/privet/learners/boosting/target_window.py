"""Where a regression target mostly lies: quartiles, found privately, say where a model begins and how far it looks.

Noise is paid for the farthest residual that counts. A target of which most values lie in a tenth of its public range
has residuals that are far smaller than the range: cut off where they are rare, they need less noise by as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privet.learners.boosting.gradients import ONE
from privet.learners.boosting.rank_counts import FINE
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import RangeTarget
from privet.tables.protocol import Block, IntArray, Table
from privet.trees.quantiles import evenness

FINEST_CELLS = 4096  # in which quartiles are told apart
QUARTILE_LEVELS = 2  # the median, then one half of either half
WIDTH_IN_QUARTILES = 2  # where residuals are cut off, in units of the distance between the outer quartiles
WIDEST, NARROWEST = ONE // 4, ONE // 64  # of the range

# By counts, where there is little signal.
FEW_CELLS = 16
NOISE_IN_CELL = 0.7  # deviations of the noise that are taken from every cell's count
WIDEST_BY_COUNTS = ONE  # of the range; steps go by it, and a target that is spread evenly has far to go


@dataclass(frozen=True)
class Window:
    """What a regressor looks at; made of released values.

    Attributes
    ----------
    centre : float
        Where it begins, in units of the target's range.
    width : int
        How far from there residuals count, in steps of ``2^-SCORE_BITS`` of the range.
    """

    centre: float
    width: int


@dataclass(frozen=True)
class TargetCounts:
    """Count records by cell of their target, all cells equally wide.

    *Privacy.* Adding or removing a record changes one count by one.
    """

    levels: int
    n_cells: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (n_cells,)."""
        level = np.clip(block.target.astype(np.int64), 0, self.levels - 1)
        return np.bincount(level * self.n_cells // self.levels, minlength=self.n_cells).astype(np.int64)


@dataclass(frozen=True)
class WindowPlan:
    """One selection for each level of quartiles.

    Parameters
    ----------
    questions : tuple of Event
        The selections: the median, then one cut of either half.

    Notes
    -----
    *Privacy.* As for quantiles of features (`privet.trees.quantiles.QuantileSearch`): a cut's score is minus the number
    of records on its fuller side. An added record lowers it by one or not at all, so the range is 1. The halves see
    disjoint records, and so they share one charge; levels do not, so their costs add up.
    """

    questions: tuple[Event, ...]

    @staticmethod
    def of(target: RangeTarget, terms: Terms, share: Share | None) -> WindowPlan:
        """Plan as many levels as there surely is something left to cut."""
        n_levels = min(QUARTILE_LEVELS, (_n_cells(target) - 1).bit_length())
        part = None if share is None else share * Fraction(1, n_levels)
        sees = "the targets between two cuts; intervals of one level are disjoint"
        names = ("median of the target", "quartiles of the target")
        return WindowPlan(tuple(terms.choice(name, part, sees=sees) for name in names[:n_levels]))

    def run(self, table: Table, release: Release) -> Window:
        """Release the cuts, and look from halfway between the outer ones."""
        target = table.encoding.target
        assert isinstance(target, RangeTarget)
        n_cells = _n_cells(target)
        counts = table.aggregate(TargetCounts(target.levels, n_cells))
        edges = [-1, n_cells - 1]  # an interval's cells come after one edge, up to the next
        for event in self.questions:
            wide = [(low, high) for low, high in pairwise(edges) if high - low > 1]
            chosen = release.choose(np.stack([evenness(counts, low, high) for low, high in wide]), event)
            edges = sorted({*edges, *chosen.tolist()})
        low, high = ((edge + 1) * ONE // n_cells for edge in (edges[1], edges[-2]))
        width = min(max(WIDTH_IN_QUARTILES * (high - low), NARROWEST), WIDEST)
        return Window((low + high) / 2 / ONE, width)


@dataclass(frozen=True)
class CountedWindowPlan:
    """One release of noisy counts: for little signal, where two choices among thousands of cuts are too many.

    Notes
    -----
    *Privacy.* A record changes one count by one, which is `unit`, so both norms are that. Quartiles are made of the
    released counts.
    """

    counts: Event
    unit: int = 1

    @property
    def questions(self) -> tuple[Event, ...]:
        """The counts."""
        return (self.counts,)

    @staticmethod
    def of(terms: Terms, share: Share | None) -> CountedWindowPlan:
        """Plan noise on the counts of all cells."""
        # Gaussian noise is drawn on a fine grid, so that its exact delta is that of a normal variable.
        unit = FINE if share is not None and share.rho is not None else 1
        counts = terms.noise("where the target lies", share, l1=unit, l2_squared=unit**2, numbers=1)
        return CountedWindowPlan(counts, unit)

    def run(self, table: Table, release: Release) -> Window:
        """Release the counts, and look from halfway between the quartiles that they have without what may be noise."""
        target = table.encoding.target
        assert isinstance(target, RangeTarget)
        n_cells = min(target.levels, FEW_CELLS)
        counts = release.noisy(self.unit * table.aggregate(TargetCounts(target.levels, n_cells)), self.counts)
        found = np.maximum(counts - NOISE_IN_CELL * self.counts.deviation, 0.0)
        if not found.any():  # nothing but noise: the whole range is alike
            found = np.ones(n_cells)
        shares = np.concatenate([[0.0], np.cumsum(found) / found.sum()])
        low, high = np.interp([0.25, 0.75], shares, np.arange(n_cells + 1) / n_cells).tolist()
        width = int(np.clip(WIDTH_IN_QUARTILES * (high - low) * ONE, NARROWEST, WIDEST_BY_COUNTS))
        return Window((low + high) / 2, width)


def _n_cells(target: RangeTarget) -> int:
    return min(target.levels, FINEST_CELLS)
