"""One small tree: grown on exact sums of gradients, level by level, and the values that released sums give its leaves.

The kernels send records down the tree, add up gradients by node and cell, and give records new scores. A record's cells
are kept side by side, one row for each record: a pass reads them in order and adds to as many different sums as there
are features, which a processor does side by side. The caller makes the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.learners.boosting.gradients import ONE, SCORE_STATE
from privet.privacy.events import Event
from privet.tables.protocol import Block, Floats, IntArray, Table
from privet.trees.candidates import Candidates, Walk
from privet.trees.kernels.blocks import Whole
from privet.trees.structure import Split, StepDown

CELL_STATE = "cell"
GRADIENT_STATE = "gradient"
NODE_STATE = "node"

LARGEST_VALUE = 2.0  # of a leaf
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
        _add_up(state[CELL_STATE], _nodes(block), self.slots, state[GRADIENT_STATE], self.offsets, sums)
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


class Newton(Protocol):
    """What a loss must say of itself for Newton steps: the number of scores, and how curvatures are stated."""

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        ...

    @property
    def curvature(self) -> float:
        """How many times the curvature is stated."""
        ...


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
        self._candidates, self._offsets, self._n_scores = candidates, offsets, n_scores
        self._shared_splits, self._n_open = shared_splits, 1
        self._walk_scores = WalkScores.of(candidates.walks, offsets)
        self._histogram: IntArray | None = None
        self._counted = np.zeros(0, np.int64)  # which child of each node of the level above has its gradients added up

    def scores(self) -> IntArray:
        """Return the score of every candidate, one row for each open node; one row for all where they share a split."""
        self._add_up()
        assert self._histogram is not None
        scores = self._walk_scores(self._histogram)
        return scores.sum(axis=0, keepdims=True) if self._shared_splits else scores

    def split(self, chosen: IntArray) -> None:
        """Split every open node by the candidate with this index; one index is for all nodes where they share it."""
        splits = [self._candidates.split(candidate) for candidate in chosen.tolist()]
        splits *= self._n_open // len(splits)
        self.splits.extend(splits)
        feature, second = self._candidates.sides(splits)
        n_cells = np.diff(self._offsets)[feature]
        in_second = np.where(np.arange(second.shape[1]) < n_cells[:, np.newaxis], second, False).sum(axis=1)
        self._counted = (2 * in_second < n_cells).astype(np.int64)
        self.table = self.table.derive(NODE_STATE, cell_step(feature, second))
        self._n_open *= 2

    def leaf_sums(self) -> IntArray:
        """Return the sums of gradients and curvatures at the open nodes, one row for each."""
        return self.table.aggregate(GradientSums(self._n_open, self._n_scores))

    def _add_up(self) -> None:
        """Add up the gradients of all open nodes: one child of each node above, and the other by subtraction.

        The one with fewer cells is added up, since it has fewer records where cells are about equally full.
        """
        if self._histogram is None:
            self._histogram = self._sums(np.zeros(1, np.int32))
            return
        above = np.arange(self._n_open // 2)
        slots = np.full(self._n_open, -1, np.int32)
        slots[2 * above + self._counted] = above
        one = self._sums(slots)
        both = np.stack([one, self._histogram - one], axis=1)
        both[self._counted == 1] = both[self._counted == 1, ::-1]
        self._histogram = both.reshape(-1, *one.shape[1:])

    def _sums(self, slots: NDArray[np.int32]) -> IntArray:
        return self.table.aggregate(GradientHistogram(slots, self._offsets, self._n_scores))


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
        total = histogram[:, self.first].sum(axis=1, keepdims=True)
        along = np.zeros((histogram.shape[0], self.order.size + 1, histogram.shape[2]), np.int64)
        np.cumsum(histogram[:, self.order], axis=1, out=along[:, 1:])
        left = along[:, self.places + 1] - along[:, self.begins]
        scores: IntArray = (np.abs(left) + np.abs(total - left)).sum(axis=2)
        return scores


@dataclass(frozen=True, eq=False)
class LeafValues:
    """The values of one tree's leaves, made of released sums.

    Attributes
    ----------
    values : float64 array of shape (n_leaves, n_scores)
        To be added to the scores.
    noise : float64 array of the same shape
        The standard deviation that the noise of the gradients' sums gives to them.
    strength : float
        Mean square of the gradients' sums over the noise's variance.
    """

    values: Floats
    noise: Floats
    strength: float


def leaf_values(
    sums: IntArray,
    event: Event,
    loss: Newton,
    learning_rate: float,
    margin: float = 1.0,
    *,
    exact_curvatures: bool = False,
) -> LeafValues:
    """Return noise-aware values: Newton steps, what each level of the tree adds to them shrunk by how noisy it is.

    The root's step is that of all records together. Each split moves its children away from it, by what one has more
    than its share of their gradient. The higher a split, the more leaves inform it, and since splits were chosen for
    their effect, the higher ones have more of it: so each level is shrunk by itself.

    With G and H the sums of gradients and curvatures of a node, ``D = (G1 H2 - G2 H1) / (H1 + H2)`` is what the first
    of two children has too much, and ``-D / H1`` and ``D / H2`` is what the split adds to their parent's step. For the
    root, ``-G / H`` is what it adds to zero. Where effects ``D / M``, with ``M = H1 H2 / (H1 + H2)``, are taken to have
    variance ``t = max(0, sum of (D^2 - margin s^2)) / sum of M^2`` on a level, s^2 being the noise's variance in D, the
    best linear guess is ``M^2 t / (M^2 t + s^2)`` times what was seen. Without noise all this is Newton's ``-G / H``.

    Parameters
    ----------
    sums : int64 array of shape (n_leaves, 2 n_scores)
        As released; leaves from left to right, children of one parent side by side.
    event : Event
        The noise.
    loss : Loss
        Whose gradients were added up.
    learning_rate : float
        The part of a step that is taken.
    margin : float
        How much of what is seen counts as noise, in units of what noise would give on average: 1 for an unbiased guess.
        Zero where there is no base: the first round must not be shrunk to nothing, and later ones do no worse by it.
    exact_curvatures : bool
        Whether the noise is in the gradients alone.
    """
    noise_deviation = event.deviation / ONE
    gradient = sums[:, : loss.n_scores] / ONE
    # A curvature below its own noise is known to be small, not how small.
    least = 1e-6 if exact_curvatures else max(noise_deviation, 1e-6)
    curvature = np.maximum(sums[:, loss.n_scores :] / ONE, least) / loss.curvature
    variance = noise_deviation**2
    weights = _weights(gradient, curvature, variance, margin)
    steps = _steps(gradient, curvature, weights)
    # Given the weights, steps are linear in the gradients' sums: what each of those adds, one at a time.
    each = _steps_of_units(curvature, weights)
    values = np.clip(learning_rate * steps, -LARGEST_VALUE, LARGEST_VALUE)
    noise = learning_rate * np.sqrt(variance * (each**2).sum(axis=0))
    strength = float("inf") if variance == 0 else float((gradient**2).mean()) / variance
    return LeafValues(values, noise, strength)


def _weights(gradient: Floats, curvature: Floats, variance: float, margin: float) -> list[Floats]:
    """Return by how much each level's effects are shrunk, from the leaves up; the last is the root's."""
    weights = []
    while len(gradient) > 1:
        first, second = curvature[0::2], curvature[1::2]
        whole = first + second
        seen, size = _contrast(gradient, curvature), first * second / whole
        weights.append(_weight(seen, size, variance * (first**2 + second**2) / whole**2, margin))
        # Two noisy sums are added up to one that has twice the noise's variance.
        gradient, curvature, variance = gradient[0::2] + gradient[1::2], whole, 2 * variance
    return [*weights, _weight(gradient, curvature, np.full(gradient.shape, variance), margin)]


def _weight(seen: Floats, size: Floats, variance: Floats, margin: float) -> Floats:
    effects = max(0.0, float((seen**2 - margin * variance).sum())) / float((size**2).sum())
    weight: Floats = size**2 * effects / np.maximum(size**2 * effects + variance, 1e-300)
    return weight


def _contrast(gradient: Floats, curvature: Floats) -> Floats:
    first, second = curvature[0::2], curvature[1::2]
    contrast: Floats = (gradient[0::2] * second - gradient[1::2] * first) / (first + second)
    return contrast


def _steps(gradient: Floats, curvature: Floats, weights: list[Floats]) -> Floats:
    """Return the leaves' steps: the root's, and what each level of splits adds."""
    if len(gradient) == 1:
        return -weights[-1] * gradient / curvature
    above = _steps(gradient[0::2] + gradient[1::2], curvature[0::2] + curvature[1::2], weights[1:])
    effect = weights[0] * _contrast(gradient, curvature)
    steps = np.repeat(above, 2, axis=0)
    steps[0::2] -= effect / curvature[0::2]
    steps[1::2] += effect / curvature[1::2]
    return steps


def _steps_of_units(curvature: Floats, weights: list[Floats]) -> Floats:
    """Return the leaves' steps where one leaf's sums are one and all others zero, for each leaf."""
    units = np.repeat(np.eye(len(curvature))[:, np.newaxis], curvature.shape[1], axis=1)
    steps = _steps(units, curvature[..., np.newaxis], [weight[..., np.newaxis] for weight in weights])
    return np.ascontiguousarray(np.moveaxis(steps, 2, 0))
