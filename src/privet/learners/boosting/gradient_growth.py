"""Growing one small tree on exact sums of gradients, level by level; the caller makes the choices."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.gradient_histogram import (
    NODE_STATE,
    AllAtRoot,
    Cells,
    GradientHistogram,
    GradientSums,
    cell_step,
)
from privet.tables.protocol import IntArray, Table
from privet.trees.candidates import Candidates, Walk
from privet.trees.explicit_trees import Split


class GradientGrowth:
    """One tree that grows level by level.

    Parameters
    ----------
    table : Table
        The records, with their cells and gradients as states.
    candidates : Candidates
        The splits to choose among, of cells.
    cells : Cells
        The cells.
    n_scores : int
        Number of gradients of each record.

    Notes
    -----
    *Privacy.* What `scores` and `leaf_sums` give is exact and private: learners pass it through a release, and
    give `split` what was released. Nodes of one level see disjoint records. A candidate's score is
    ``sum over the gradients of |left| + |right|``, left and right being sums over the records of either child. A record
    is in one child of every candidate, whose sums it moves by its gradient, so it moves every score by at most the
    gradient's L1 norm, up or down: the range is twice that, and it is reached, since (10, 10) can become (11, 9).
    """

    def __init__(self, table: Table, candidates: Candidates, cells: Cells, n_scores: int) -> None:
        self.table = table.derive(NODE_STATE, AllAtRoot())
        self.splits: list[Split] = []
        self._candidates, self._offsets, self._n_scores = candidates, cells.offsets, n_scores
        self._n_open = 1
        self._histogram: IntArray | None = None

    def scores(self) -> IntArray:
        """Return the score of every candidate at every open node, one row for each."""
        self._add_up()
        assert self._histogram is not None
        return score_walks(self._histogram, self._candidates.walks, self._offsets)

    def split(self, chosen: IntArray) -> None:
        """Split every open node by the candidate with this index."""
        splits = [self._candidates.split(candidate) for candidate in chosen.tolist()]
        self.splits.extend(splits)
        self.table = self.table.derive(NODE_STATE, cell_step(*self._candidates.sides(splits)))
        self._n_open *= 2

    def leaf_sums(self) -> IntArray:
        """Return the sums of gradients and curvatures at the open nodes, one row for each."""
        return self.table.aggregate(GradientSums(self._n_open, self._n_scores))

    def _add_up(self) -> None:
        """Add up the gradients of all open nodes: the first child of each, and the second by subtraction."""
        if self._histogram is None:
            self._histogram = self._sums(np.zeros(1, np.int32))
            return
        slots = np.full(self._n_open, -1, np.int32)
        slots[::2] = np.arange(self._n_open // 2)
        first = self._sums(slots)
        self._histogram = np.stack([first, self._histogram - first], axis=1).reshape(-1, *first.shape[1:])

    def _sums(self, slots: NDArray[np.int32]) -> IntArray:
        return self.table.aggregate(GradientHistogram(slots, self._offsets, self._n_scores))


def score_walks(histogram: IntArray, walks: Sequence[Walk], offsets: IntArray) -> IntArray:
    """Return the sum of |left| + |right| for every candidate of every walk at every node.

    Parameters
    ----------
    histogram : int64 array of shape (n_nodes, total number of cells, n_scores)
        Sums by cell.
    walks : sequence of Walk
        The candidates.
    offsets : int64 array
        Where each feature's cells begin.
    """
    lengths = [len(walk.codes) for walk in walks]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order = np.concatenate([offsets[walk.feature] + np.array(walk.codes) for walk in walks])
    places = np.concatenate([start + np.array(walk.places) for walk, start in zip(walks, starts, strict=False)])
    begins = np.repeat(starts[:-1], [len(walk) for walk in walks])
    total = histogram[:, offsets[0] : offsets[1]].sum(axis=1, keepdims=True)
    along = np.zeros((histogram.shape[0], order.size + 1, histogram.shape[2]), np.int64)
    np.cumsum(histogram[:, order], axis=1, out=along[:, 1:])
    left = along[:, places + 1] - along[:, begins]
    scores: IntArray = (np.abs(left) + np.abs(total - left)).sum(axis=2)
    return scores
