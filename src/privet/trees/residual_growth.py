"""Growing trees on exact sums of residuals, one level at a time: for learners with a regression target.

A residual is a record's target less a centre of its node, which is public by then, held within a reach. Centres change
from level to level, so every level is added up anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.tables.protocol import Block, Floats, IntArray
from privet.trees.capped_losses import TargetGrid, TargetHistogram, loss_table, losses_of
from privet.trees.greedy import LevelGrowth
from privet.trees.kernels.blocks import Codes
from privet.trees.scores import LOSSES, RESIDUAL, Score, score_of_residuals
from privet.trees.structure import StepDown

MOST_COUNTERS = 1 << 24  # at once: 128 MB


@inlined
def _residual(level: Any, centre: Any, reach: int) -> Any:
    """Return a target's residual on the grid, rounded towards zero: never beyond `RESIDUAL` either way."""
    away = min(max(level - centre, -reach), reach)
    size = abs(away) * RESIDUAL // reach
    return size if away > 0 else -size


@compiled
def _place_residuals(
    node: NDArray[Any], target: NDArray[np.int32], centres: IntArray, reach: int, place: IntArray, residual: IntArray
) -> None:
    """Write each record's node and residual; one node beyond the last for records that are in none."""
    for row in range(target.size):
        here, level = np.int64(node[row]), np.int64(target[row])
        inside = (here >= 0) & (here < centres.size) & (level >= 0)
        place[row] = here if inside else centres.size
        residual[row] = _residual(level, centres[here], reach) if inside else 0


@compiled
def _add_residuals(place: IntArray, residual: IntArray, codes: Codes, last_code: int, of_feature: IntArray) -> None:
    for row in range(place.size):
        # a code beyond the last is no code of this feature; it is held within bounds
        code = codes[row] if codes[row] < last_code else last_code
        of_feature[place[row], code, 0] += 1
        of_feature[place[row], code, 1] += residual[row]


@compiled
def _add_up(place: IntArray, residual: IntArray, out: IntArray) -> None:
    for row in range(place.size):
        out[place[row], 0] += 1
        out[place[row], 1 if residual[row] < 0 else 2] += abs(residual[row])


@dataclass(frozen=True, eq=False)
class ResidualSums:
    """Count records and add up their residuals by node, those below zero and those above apart.

    Parameters
    ----------
    node_state, centres, reach
        As for `ResidualHistogram`.

    Notes
    -----
    *Privacy.* Exact integers. Adding or removing a record changes, in one node, one number by one and one of two sums
    by the size of the record's residual, at most `RESIDUAL`.
    """

    node_state: str
    centres: IntArray
    reach: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 numbers, sums below and sums above, shape (n_nodes, 3)."""
        place, residual = np.zeros((2, block.target.size), np.int64)
        _place_residuals(block.state[self.node_state], block.target, self.centres, self.reach, place, residual)
        out = np.zeros((self.centres.size + 1, 3), np.int64)
        _add_up(place, residual, out)
        return out[:-1]


@dataclass(frozen=True, eq=False)
class ResidualHistogram:
    """Count records and add up their residuals by node, feature and code.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node; a number beyond the last means none.
    centres : int64 array of shape (n_nodes,)
        What is taken from the targets of each node's records, in levels of the target; public.
    reach : int
        How far from the centre a target counts, in levels; public. A residual of this size is `RESIDUAL`.
    n_codes : tuple of int
        Number of codes of each feature.

    Notes
    -----
    *Privacy.* Exact integers. Adding or removing a record changes, in one node and for each feature, one number by one
    and one sum by the record's residual, at most `RESIDUAL` either way, which depends on that record and on public
    values alone.
    """

    node_state: str
    centres: IntArray
    reach: int
    n_codes: tuple[int, ...]

    def __call__(self, block: Block) -> IntArray:
        """Return int64 numbers and sums, shape (n_nodes, total number of codes, 2)."""
        n_rows, begin = block.target.size, 0
        place, residual = np.zeros((2, n_rows), np.int64)
        _place_residuals(block.state[self.node_state], block.target, self.centres, self.reach, place, residual)
        out = np.zeros((self.centres.size + 1, sum(self.n_codes), 2), np.int64)
        for feature, n_codes in enumerate(self.n_codes):
            _add_residuals(place, residual, block.codes[feature], n_codes - 1, out[:, begin : begin + n_codes])
            begin += n_codes
        return out[:-1]


class ResidualGrowth(LevelGrowth):
    """Trees that grow level by level on residuals of a regression target; the caller makes the choices.

    Parameters
    ----------
    table : Table
        The records. With several trees, each record's tree is in the state `STATE`.
    candidates : Candidates
        The splits to choose among.
    n_trees : int, default=1
        Number of trees on disjoint records.

    Notes
    -----
    *Privacy.* What `scores` and `sums` give is exact and private: learners pass it through a release, and tell `split`
    what was released. Centres and reach are made of released values. Nodes of one level see disjoint records.
    """

    def scores(self, score: Score, centres: IntArray, reach: int, stop_bonus: int | None = None) -> IntArray:
        """Return the score of every candidate at every open node, one row for each.

        Parameters
        ----------
        score : Score
            One of `privet.trees.scores.deviations`.
        centres, reach
            Of the residuals; see `ResidualHistogram`.
        stop_bonus : int, optional
            With it, one more candidate at the end, not to split: the node's own score, which an added record changes
            within the same interval, plus this public constant.
        """
        histogram = self._table.aggregate(ResidualHistogram(self.STATE, centres, reach, self._n_codes))
        scores = self._candidates.scores(histogram, score)
        if stop_bonus is None:
            return scores
        whole = histogram[:, : self._n_codes[0]].sum(axis=1).tolist()
        alone = np.array([score_of_residuals(score.knee, *sums) for sums in whole], dtype=np.int64)
        return np.column_stack([scores, alone + stop_bonus])

    def capped_scores(
        self, grid: TargetGrid, centres: IntArray, caps: Floats, stop_bonus: int | None = None
    ) -> IntArray:
        """Return `LOSSES` of every candidate at every open node, one row for each.

        Parameters
        ----------
        grid, centres, caps
            Of the losses; see `loss_table`. One centre and one cap for each open node, made of released values.
        stop_bonus : int, optional
            As for `scores`.
        """
        n_candidates = self.n_candidates + (stop_bonus is not None)
        out = np.zeros((centres.size, n_candidates), np.int64)
        at_once = max(1, MOST_COUNTERS // (sum(self._n_codes) * grid.n_cells))
        for first in range(0, centres.size, at_once):
            nodes = range(first, min(first + at_once, centres.size))
            kernel = TargetHistogram(self.STATE, first, len(nodes), grid, self._n_codes)
            for node, counts in zip(nodes, self._table.aggregate(kernel), strict=True):
                losses = losses_of(counts, loss_table(grid, int(centres[node]), float(caps[node])))
                out[node, : self.n_candidates] = self._candidates.scores(losses[None], LOSSES)[0]
                if stop_bonus is not None:
                    out[node, -1] = stop_bonus - losses[: self._n_codes[0]].sum(axis=0).min()
        return out

    def most_cells(self, wanted: int) -> int:
        """Return how many cells of the target's range are counted: fewer than wanted if there are very many codes."""
        return max(2, min(wanted, MOST_COUNTERS // int(sum(self._n_codes))))

    def sums(self, centres: IntArray, reach: int) -> IntArray:
        """Return how many records every open node has, and how far they are below and above its centre, added up."""
        return self._table.aggregate(ResidualSums(self.STATE, centres, reach))

    def split(self, chosen: IntArray) -> NDArray[np.bool_]:
        """Split every open node by the candidate with this number; one beyond the last makes it a leaf.

        Returns which nodes were split.
        """
        is_split, feature, second = self._grow(chosen)
        self._table = self._table.derive(self.STATE, StepDown.narrow(self.STATE, feature, second, is_split))
        return is_split
