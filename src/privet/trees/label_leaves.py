"""Leaves where only labels are private: how many records reach each is known, and only their labels are noised.

Of two classes one signed sum is released for each leaf, records of the second class less those of the first; with the
number of records it says how many there are of each. Of more classes all counts are released, and what they add up to
is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.tables.features import FeatureView
from privet.tables.protocol import Block, Floats, IntArray
from privet.trees.kernels.count import LeafClassCounts, Router

LEAST_SPREAD = 0.3  # of shares in leaves, over all levels together


@dataclass(frozen=True)
class LeafTotals:
    """Count the records in every leaf of every tree, whatever their labels."""

    structure: Router

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (n_leaves,)."""
        alike = replace(block, target=np.zeros(block.target.size, np.int32))
        return LeafClassCounts(self.structure, 1)(alike)[:, 0]


@dataclass(frozen=True)
class LabelLeavesPlan:
    """The releases of all leaves: how many records reach each, which is free, and what labels add."""

    totals: Event
    sums: Event

    @staticmethod
    def of(name: str, terms: Terms, share: Share, n_classes: int, seen_by: int, sees: str) -> LabelLeavesPlan:
        """Plan the leaves of trees, so many of which see each record.

        *Privacy.* Leaves, and which of them a record reaches, are functions of features and of what was released. In
        each tree that sees it a label that is added or removed, the record staying what it is, moves the sum of one
        leaf by one up or down, or of many classes one count by one. A label that changes is two such steps: it moves a
        signed sum by two, and of many classes two counts by one each.
        """
        sums = terms.noise(
            f"class sums in the {name}" if n_classes == 2 else f"class counts in the {name}",
            share,
            l1=seen_by,
            l2_squared=seen_by,
            signed=n_classes == 2,
            sees=sees,
        )
        return LabelLeavesPlan(terms.free(f"records in the {name}"), sums)

    @property
    def events(self) -> tuple[Event, ...]:
        """In order."""
        return self.totals, self.sums

    def run(self, view: FeatureView, release: Release, trees: Router, counts: IntArray) -> LabelledLeaves:
        """Release both; `counts` are the exact class counts of the leaves, which are private."""
        totals = release.features(view, LeafTotals(trees), self.totals)
        return LabelledLeaves(totals, release.noisy(sums_of(counts), self.sums), self.sums.deviation, counts.shape[1])


def sums_of(counts: IntArray) -> IntArray:
    """Return what is noised of exact class counts: one signed sum for two classes, else the counts."""
    return counts[:, 1:] - counts[:, :1] if counts.shape[1] == 2 else counts


@dataclass(frozen=True, eq=False)
class LabelledLeaves:
    """Leaves as released.

    Attributes
    ----------
    totals : int64 array of shape (n_leaves,)
        Exact numbers of records.
    sums : int64 array
        Noisy sums of labels.
    deviation : float
        Of the noise.
    n_classes : int
        Number of classes.
    """

    totals: IntArray
    sums: IntArray
    deviation: float
    n_classes: int

    @property
    def estimates(self) -> tuple[Floats, Floats]:
        """The records of each class in each leaf, adding up to its total, and the variance that noise gives to each.

        Records without a known label count as spread evenly over the classes.
        """
        totals = self.totals[:, np.newaxis].astype(np.float64)
        if self.n_classes == 2:
            second = (totals + self.sums) / 2
            counts, variance = np.hstack([totals - second, second]), self.deviation**2 / 4
        else:
            counts = self.sums + (totals - self.sums.sum(axis=1, keepdims=True)) / self.n_classes
            variance = self.deviation**2 * (1 - 1 / self.n_classes)
        reached = self.totals > 0  # where no record is, there is nothing to guess
        return np.where(reached[:, np.newaxis], counts, 0.0), np.where(reached, variance, 0.0)

    def smoothed_counts(self, n_trees: int) -> IntArray:
        """Return class counts of complete trees, those of each node drawn to its parent's shares by how noisy they are.

        With N records of a node, q the shares of its parent and c its count of a class, ``c - N q`` is what it has too
        many. Where shares are taken to differ from the parent's by a variance t on a level, and noise in c has the
        variance s^2, the best linear guess at that is ``N^2 t / (N^2 t + s^2)`` times what was seen; t is what makes
        the squares come out as large as they are, over all trees, and no less than is usual: votes of many trees
        rank records even where each is mostly noise.
        """
        counts, variance = self.estimates
        levels = [(counts.reshape(n_trees, -1, self.n_classes), variance.reshape(n_trees, -1, 1))]
        while levels[-1][0].shape[1] > 1:
            counts, variance = levels[-1]
            levels.append((counts[:, 0::2] + counts[:, 1::2], variance[:, 0::2] + variance[:, 1::2]))
        shares = np.full((n_trees, 1, self.n_classes), 1 / self.n_classes)
        for level, (counts, variance) in enumerate(reversed(levels)):
            above = np.repeat(shares, 2, axis=1) if level else shares
            totals = counts.sum(axis=2, keepdims=True)
            seen = counts - totals * above
            seen_spread = float((seen**2 - variance).sum()) / max(float((totals**2).sum()) * self.n_classes, 1.0)
            spread = max(seen_spread, LEAST_SPREAD / len(levels))
            weight = totals**2 * spread / np.maximum(totals**2 * spread + variance, 1e-300)
            guess = np.clip(above + weight * seen / np.maximum(totals, 1.0), 1e-9, None)
            shares = guess / guess.sum(axis=2, keepdims=True)
        return self._whole(shares.reshape(-1, self.n_classes))

    def _whole(self, shares: Floats) -> IntArray:
        counts = np.rint(shares * self.totals[:, np.newaxis]).astype(np.int64)
        counts[:, 0] = np.maximum(self.totals - counts[:, 1:].sum(axis=1), 0)
        return counts
