"""One small tree, grown level by level on exact sums of gradients.

The kernels send records down the tree, add up gradients by node and cell, and give records new scores. A record's cells
are kept side by side, one row for each record: a pass reads them in order and adds to as many different sums as there
are features, which a processor does side by side. The caller makes the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.learners.boosting.gradients import SCORE_STATE
from privet.tables.protocol import Block, IntArray, Table
from privet.trees.candidates import Candidates, Walk
from privet.trees.kernels.blocks import Whole
from privet.trees.structure import Split, StepDown

CELL_STATE = "cell"
GRADIENT_STATE = "gradient"
NODE_STATE = "node"

_SCORES_FOR_PAIRS = 4  # from here on gradients are added up two at a time
_RECORDS_IN_WORDS = 1 << 14
_FARTHEST = 1 << 61  # scores are held within this, so that the sum of two cannot overflow


@inlined
def held(score: Whole) -> Whole:
    """Hold a score within what can be added to another without overflow."""
    return min(max(score, -_FARTHEST), _FARTHEST)


@dataclass(frozen=True)
class AllAtRoot:
    """Every record at the root."""

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return zeros."""
        return np.zeros(block.target.size, np.int32)


def _nodes(block: Block) -> NDArray[np.int32]:
    nodes: NDArray[np.int32] = np.asarray(block.state[NODE_STATE], dtype=np.int32)
    return nodes


@compiled
def _add_up(
    cells: NDArray[Any], node: NDArray[np.int32], slot: NDArray[np.int32], gradient: Any, offsets: IntArray, sums: Any
) -> None:
    n_scores = sums.shape[2]
    for row in range(node.size):
        here = node[row]
        place = slot[here] if 0 <= here < slot.size else -1
        if place < 0:
            continue
        of_node = sums[place]
        if n_scores == 1:
            a = np.int64(gradient[row, 0])
            for feature in range(cells.shape[1]):
                of_node[offsets[feature] + np.int64(cells[row, feature]), 0] += a
        else:
            for feature in range(cells.shape[1]):
                of_cell = of_node[offsets[feature] + np.int64(cells[row, feature])]
                for k in range(n_scores):
                    of_cell[k] += gradient[row, k]


@compiled
def _add_up_pairs(
    cells: NDArray[Any], node: NDArray[np.int32], slot: NDArray[np.int32], gradient: Any, offsets: IntArray, sums: Any
) -> None:
    """Do the same for many scores, two of them in one word.

    No gradient is larger than 2^16, so the lower half of a word stays within 2^30 for 2^14 records.
    """
    n_scores = sums.shape[2]
    words = np.zeros((sums.shape[0], sums.shape[1], (n_scores + 1) // 2), np.int64)
    of_row = np.zeros(words.shape[2], np.int64)
    for begin in range(0, node.size, _RECORDS_IN_WORDS):
        for row in range(begin, min(begin + _RECORDS_IN_WORDS, node.size)):
            here = node[row]
            place = slot[here] if 0 <= here < slot.size else -1
            if place < 0:
                continue
            for k in range(of_row.size):
                upper = np.int64(gradient[row, 2 * k + 1]) if 2 * k + 1 < n_scores else np.int64(0)
                of_row[k] = (upper << 32) + np.int64(gradient[row, 2 * k])
            of_node = words[place]
            for feature in range(cells.shape[1]):
                of_cell = of_node[offsets[feature] + np.int64(cells[row, feature])]
                for k in range(of_row.size):
                    of_cell[k] += of_row[k]
        for place in range(words.shape[0]):
            for cell in range(words.shape[1]):
                for k in range(of_row.size):
                    word = words[place, cell, k]
                    lower = np.int64(np.int32(word))
                    sums[place, cell, 2 * k] += lower
                    if 2 * k + 1 < n_scores:
                        sums[place, cell, 2 * k + 1] += (word - lower) >> 32
                    words[place, cell, k] = 0


@dataclass(frozen=True, eq=False)
class GradientHistogram:
    """Add up gradients by node, feature and cell, at some of the open nodes.

    Parameters
    ----------
    slots : int32 array of shape (number of open nodes,)
        The place of each node in the result; -1 for a node that is left out. Which are left out may depend on private
        values, since their sums follow exactly by subtraction.
    offsets : int64 array
        Where each feature's cells begin.
    n_scores : int
        Number of scores.

    Notes
    -----
    *Privacy.* Exact integers. Adding or removing a record changes one cell of each feature, in one node, by the
    record's gradient.
    """

    slots: NDArray[np.int32]
    offsets: IntArray
    n_scores: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (number of counted nodes, total number of cells, n_scores)."""
        sums = np.zeros((int(self.slots.max(initial=-1)) + 1, int(self.offsets[-1]), self.n_scores), np.int64)
        state = block.state
        add_up = _add_up if self.n_scores < _SCORES_FOR_PAIRS else _add_up_pairs
        add_up(state[CELL_STATE], _nodes(block), self.slots, state[GRADIENT_STATE], self.offsets, sums)
        return sums


@compiled
def _by_node(node: NDArray[np.int32], gradient: NDArray[np.int32], sums: IntArray) -> None:
    for row in range(node.size):
        if 0 <= node[row] < sums.shape[0]:
            for k in range(gradient.shape[1]):
                sums[node[row], k] += gradient[row, k]


@dataclass(frozen=True)
class GradientSums:
    """Add up gradients and curvatures by node.

    *Privacy.* Adding or removing a record changes one row by the record's vector, whose norm its loss bounds.
    """

    n_nodes: int
    n_scores: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_nodes, 2 n_scores)."""
        sums = np.zeros((self.n_nodes, 2 * self.n_scores), np.int64)
        _by_node(_nodes(block), np.asarray(block.state[GRADIENT_STATE], dtype=np.int32), sums)
        return sums


def cell_step(feature: IntArray, second: NDArray[np.bool_]) -> StepDown:
    """Return the kernel that moves every record to one of two children; node i's are 2 i and 2 i + 1 of the next ones.

    Parameters
    ----------
    feature : int64 array of shape (n_nodes,)
        The feature that each node splits.
    second : bool array of shape (n_nodes, largest number of cells)
        Whether a cell goes to the second child.
    """
    child = 2 * np.arange(feature.size, dtype=np.int32)[:, np.newaxis] + second
    return StepDown(NODE_STATE, feature, child, code_state=CELL_STATE)


@compiled
def _add_values(score: IntArray, node: NDArray[np.int32], values: IntArray, out: IntArray) -> None:
    for row in range(node.size):
        here = np.int64(node[row])
        for k in range(values.shape[1]):
            # a record at no node keeps its score
            value = values[here, k] if 0 <= here < values.shape[0] else np.int64(0)
            out[row, k] = held(score[row, k]) + held(value)


@dataclass(frozen=True, eq=False)
class AddValues:
    """Add the values of each record's node to its scores, in fixed point.

    Parameters
    ----------
    values : int64 array of shape (n_nodes, n_scores)
        Made of released values.
    """

    values: IntArray

    def __call__(self, block: Block) -> IntArray:
        """Return the new scores, int64 of shape (n, n_scores)."""
        score = np.asarray(block.state[SCORE_STATE], dtype=np.int64)
        out = np.zeros_like(score)
        _add_values(score, _nodes(block), self.values, out)
        return out


class GradientGrowth:
    """One tree that grows level by level.

    Parameters
    ----------
    table : Table
        The records, with their cells and gradients as states.
    candidates : Candidates
        The splits to choose among, of cells.
    offsets : int64 array
        Where each feature's cells begin when all are numbered through; the last entry is their number.
    n_scores : int
        Number of gradients of each record.
    shared_splits : bool
        Whether all nodes of a level are split alike, by one choice.

    Notes
    -----
    *Privacy.* What `scores` and `leaf_sums` give is exact and private: learners pass it through a release, and
    give `split` what was released. Nodes of one level see disjoint records. A candidate's score is
    ``sum over the gradients of |left| + |right|``, left and right being sums over the records of either child. A record
    is in one child of every candidate, whose sums it moves by its gradient, so it moves every score by at most the
    gradient's L1 norm, up or down: the range is twice that, and it is reached, since (10, 10) can become (11, 9).

    Where a level shares its split, a candidate's score is the sum of its scores at all nodes. A record is at one of
    them, so that it moves one of these by as much as before and no other: the range is the same.
    """

    def __init__(
        self, table: Table, candidates: Candidates, offsets: IntArray, n_scores: int, *, shared_splits: bool = False
    ) -> None:
        self.table = table.derive(NODE_STATE, AllAtRoot())
        self.splits: list[Split] = []
        self.n_scores = n_scores
        self._candidates, self._offsets = candidates, offsets
        self._shared_splits, self._n_open = shared_splits, 1
        self._walk_scores = WalkScores.of(candidates.walks, offsets)
        self._histogram: IntArray | None = None
        self._counted = np.zeros(0, np.int64)  # which child of each node of the level above has its gradients added up

    def scores(self) -> IntArray:
        """Return the score of every candidate, one row for each open node; one row for all where they share a split."""
        scores = self._walk_scores(self.cell_sums())
        return scores.sum(axis=0, keepdims=True) if self._shared_splits else scores

    def cell_sums(self) -> IntArray:
        """Return the sums of gradients by open node, cell and score; exact and private."""
        self._add_up()
        assert self._histogram is not None
        return self._histogram

    def split(self, chosen: IntArray) -> None:
        """Split every open node by the candidate with this index; one index is for all nodes where they share it."""
        splits = [self._candidates.split(candidate) for candidate in chosen.tolist()]
        self._split(splits * (self._n_open // len(splits)))

    def split_twice(self, upper: Split, lower: Split) -> None:
        """Split the root, and both of its children alike."""
        self.split_alike([[upper], [lower, lower]])

    def split_alike(self, levels: Sequence[Sequence[Split]]) -> None:
        """Split all open nodes alike, level by level: the splits of the 1, 2, 4 ... nodes below one of them."""
        n_open = self._n_open
        for splits in levels:
            self._split([*splits] * n_open)

    def _split(self, splits: Sequence[Split]) -> None:
        self.splits.extend(splits)
        feature, second = self._candidates.sides(splits)
        n_cells = np.diff(self._offsets)[feature]
        in_second = np.where(np.arange(second.shape[1]) < n_cells[:, np.newaxis], second, False).sum(axis=1)
        self._counted = (2 * in_second < n_cells).astype(np.int64)
        self.table = self.table.derive(NODE_STATE, cell_step(feature, second))
        self._n_open *= 2

    def leaf_sums(self) -> IntArray:
        """Return the sums of gradients and curvatures at the open nodes, one row for each."""
        return self.table.aggregate(GradientSums(self._n_open, self.n_scores))

    def _add_up(self) -> None:
        """Add up the gradients of all open nodes: one child of each node above, and the other by subtraction.

        The one with fewer cells is added up, since it has fewer records where cells are about equally full. Where
        nobody has asked for the sums of the level above, all are added up.
        """
        if self._histogram is not None and len(self._histogram) == self._n_open:
            return
        if self._histogram is None or len(self._histogram) < self._n_open // 2:
            self._histogram = self._sums(np.arange(self._n_open, dtype=np.int32))
            return
        above = np.arange(self._n_open // 2)
        slots = np.full(self._n_open, -1, np.int32)
        slots[2 * above + self._counted] = above
        one = self._sums(slots)
        both = np.stack([one, self._histogram - one], axis=1)
        both[self._counted == 1] = both[self._counted == 1, ::-1]
        self._histogram = both.reshape(-1, *one.shape[1:])

    def _sums(self, slots: NDArray[np.int32]) -> IntArray:
        return self.table.aggregate(GradientHistogram(slots, self._offsets, self.n_scores))


@dataclass(frozen=True, eq=False)
class WalkScores:
    """Where the candidates of all walks are among a histogram's cells, so that the histogram gives their scores.

    Attributes
    ----------
    order : int64 array
        The cells of all walks, one walk after the other.
    places, begins : int64 arrays
        For each candidate the last place in that order of what it sends to one side, and the first.
    first : slice
        The cells of one feature, which every record has one of.
    """

    order: IntArray
    places: IntArray
    begins: IntArray
    first: slice

    @classmethod
    def of(cls, walks: Sequence[Walk], offsets: IntArray) -> Self:
        """Find the candidates; each feature's cells begin at its offset."""
        starts, sizes = np.cumsum([0, *(len(walk.codes) for walk in walks)]), [len(walk) for walk in walks]
        places = np.concatenate([start + np.array(walk.places) for walk, start in zip(walks, starts, strict=False)])
        return cls(
            order=np.concatenate([offsets[walk.feature] + np.array(walk.codes) for walk in walks]),
            places=places,
            begins=np.where(np.repeat([walk.alone for walk in walks], sizes), places, np.repeat(starts[:-1], sizes)),
            first=slice(int(offsets[0]), int(offsets[1])),
        )

    def __call__(self, histogram: IntArray) -> IntArray:
        """Return the sum of |left| + |right| for every candidate at every node, from sums by node, cell and score."""
        left, total = self.sides(histogram)
        scores: IntArray = (np.abs(left) + np.abs(total - left)).sum(axis=2)
        return scores

    def sides(self, histogram: IntArray) -> tuple[IntArray, IntArray]:
        """Return what every candidate sends to one side at every node, and the node's total, in one place for all."""
        total = histogram[:, self.first].sum(axis=1, keepdims=True)
        along = np.zeros((histogram.shape[0], self.order.size + 1, histogram.shape[2]), np.int64)
        np.cumsum(histogram[:, self.order], axis=1, out=along[:, 1:])
        return along[:, self.places + 1] - along[:, self.begins], total
