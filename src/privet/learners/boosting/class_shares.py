"""How frequent each class is, from noisy counts: what a model begins with, and what most objectives need.

A record is in one class, so that this costs less than anything else does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.learners.boosting.rank_counts import FINE
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.tables.protocol import Block, Floats, IntArray, Table

SMALLEST_CLASS_SHARE = 0.02  # of a class, in units of what it would be if all were equally frequent


@dataclass(frozen=True)
class ClassCounts:
    """Count the records of each class, in units of 1/4096, so that the noise is drawn on a fine grid.

    *Privacy.* Adding or removing a record changes one count by one.
    """

    n_classes: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (n_classes,)."""
        label = np.clip(block.target.astype(np.int64), 0, self.n_classes - 1)
        counts: IntArray = FINE * np.bincount(label, minlength=self.n_classes).astype(np.int64)
        return counts


def plan_classes(terms: Terms, share: Share | None) -> Event:
    """Plan Gaussian noise on the counts of classes."""
    return terms.noise("base: classes", share, l1=FINE, l2_squared=FINE**2, numbers=1)


def released_shares(table: Table, release: Release, planned: Event, n_rows: int) -> Floats:
    """Release the counts of classes, and return their shares."""
    counts = release.noisy(table.aggregate(ClassCounts(table.encoding.n_classes)), planned)
    return shares_of(counts / FINE, (planned.deviation / FINE) ** 2, n_rows)


def shares_of(sizes: Floats, variance: float, n_rows: float) -> Floats:
    """Return the shares of classes from their noisy sizes, which are drawn towards equal ones by how noisy they are."""
    even = np.full(sizes.size, n_rows / sizes.size)
    held = np.maximum(drawn_towards(sizes, even, variance), SMALLEST_CLASS_SHARE * even)
    shares: Floats = held / held.sum()
    return shares


def drawn_towards(noisy: Floats, even: Floats, variance: Floats | float) -> Floats:
    """Return the best linear guess of counts that are expected to deviate from `even` by as much as `even` itself."""
    weight = even**2 / (even**2 + variance)
    guess: Floats = weight * noisy + (1 - weight) * even
    return guess


def log_shares(shares: Floats) -> Floats:
    """Return the scores that stand for shares: log-odds of the second of two classes, else centred logarithms."""
    logarithms = np.log(shares)
    scores: Floats = np.diff(logarithms) if shares.size == 2 else logarithms - logarithms.mean()
    return scores
