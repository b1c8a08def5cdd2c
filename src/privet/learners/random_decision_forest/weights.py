"""Weights of the classes' votes, chosen privately: where random trees are to be cut.

Shares in random leaves are shrunk towards the classes' shares of all records, and noise shrinks them further. So a rare
class hardly ever has the largest share, however well the votes rank records. Multiplied by weights, votes are cut
elsewhere. One more pass over the records counts for each of a few public weightings how many records it gets right, and
one selection chooses among them.

docs/learners/random_decision_forest.md says what that gains, and on which data sets the constants were chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts
from privet.privacy.events import Event
from privet.tables import Table
from privet.tables.protocol import Block, Floats, IntArray

WEIGHTS_PART = Fraction(1, 20)  # of the budget
ENOUGH_RECORDS = 20  # in units of the selection's noise: with fewer records, a choice among weightings is mostly chance
STRENGTHS = np.arange(-2, 11) / 8  # 0 is no weighting, and 1 cuts about where the classes' shares are
UNWEIGHTED = 2  # its place
LEAST_LEAN = 1.0  # of two classes that are about as frequent, in log odds
LEAST_SHARE = 1 / 500  # of a class, for more than two


@dataclass(frozen=True, eq=False)
class RightUnderWeights:
    """Kernel: how many records a forest gets right under each weighting.

    *Privacy.* Forest and weightings are public. A record's votes are sums in a fixed order, which depend on no other
    record; it adds one or nothing to each number.
    """

    forest: Forest
    weightings: Floats

    ROWS_AT_ONCE = 16_384

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Count right answers in a block."""
        right = np.zeros(len(self.weightings), dtype=np.int64)
        for start in range(0, block.target.size, self.ROWS_AT_ONCE):
            rows = slice(start, start + self.ROWS_AT_ONCE)
            votes = self.forest.votes(np.ascontiguousarray(block.codes[:, rows]))
            for place, weights in enumerate(self.weightings):
                right[place] += np.count_nonzero((votes * weights).argmax(axis=1) == block.target[rows])
        return right


def weightings(counts: IntArray) -> Floats:
    """Return the weightings to choose among, from released class counts: one row each, one of them all ones.

    Examples
    --------
    >>> weightings(np.array([[900, 100]])).round(2)[[2, 10]]
    array([[1., 1.],
           [1., 9.]])
    """
    totals = np.maximum(counts.sum(axis=0), 1).astype(np.float64)
    shares = totals / totals.sum()
    if shares.size == 2:
        lean = math.log(shares[0] / shares[1])
        rare = np.array([0.0, math.copysign(max(abs(lean), LEAST_LEAN), lean)])
    else:
        rare = -np.log(np.maximum(shares, LEAST_SHARE))
    return np.asarray(np.exp(np.outer(STRENGTHS, rare)))


def choose_weights(table: Table, release: Release, forest: Forest, event: Event) -> Floats | None:
    """Choose the weighting that gets most records right; None for none.

    *Privacy.* A record adds one or nothing to the number of right answers of every weighting: scores move in one
    direction, by at most one, so the selection has range one. A constant is added to no weighting, which wins unless
    another is better by more than chance.
    """
    assert isinstance(forest.leaves, LeafCounts)
    tried = weightings(forest.leaves.counts)
    right = table.aggregate(RightUnderWeights(forest, tried))
    right[UNWEIGHTED] += math.ceil(math.log(len(tried) - 1) / event.parameter) if event.parameter else 0
    chosen = int(release.choose(right.reshape(1, -1), event)[0])
    return None if chosen == UNWEIGHTED else tried[chosen]
