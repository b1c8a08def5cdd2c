"""Growing trees on exact counts, one level at a time: what all learners that choose their splits have in common."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.tables.protocol import Block, IntArray, Table
from privet.trees.candidates import Candidates
from privet.trees.explicit_trees import ExplicitTrees, TreeBuilder
from privet.trees.kernels.sibling_histogram import SiblingHistogram
from privet.trees.kernels.step_down import StepDown
from privet.trees.scores import Score, score_of_counts


@dataclass(frozen=True)
class AtRoot:
    """Every record at the root of the first tree."""

    def __call__(self, block: Block) -> NDArray[np.uint8]:
        """Return zeros."""
        return np.zeros(block.target.size, np.uint8)


class GreedyGrowth:
    """Trees that grow level by level; the caller makes the choices.

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
    *Privacy.* What `scores` and `leaf_counts` give is exact and private: learners pass it through a release, and tell
    `split` what was released. Nodes of one level see disjoint records.
    """

    STATE: ClassVar[str] = "node"

    def __init__(self, table: Table, candidates: Candidates, n_trees: int = 1) -> None:
        self._table = table if n_trees > 1 else table.derive(self.STATE, AtRoot())
        self._candidates = candidates
        self._n_classes = table.encoding.n_classes
        self._n_codes = tuple(table.encoding.n_codes.tolist())
        self._widths = np.array(self._n_codes, dtype=np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self._n_codes)])
        self._builder = TreeBuilder(candidates.domains, n_trees)
        self._histogram = self._count(np.arange(n_trees, dtype=np.int32))
        self._moved: tuple[StepDown, IntArray] | None = None

    @property
    def n_candidates(self) -> int:
        """Number of splits to choose among."""
        return len(self._candidates)

    @property
    def n_open(self) -> int:
        """Number of nodes that are neither split nor stopped."""
        return self._builder.n_open

    @property
    def open_trees(self) -> list[int]:
        """The tree of each open node."""
        return self._builder.open_trees

    def scores(self, score: Score, stop_bonus: int | None = None) -> IntArray:
        """Return the score of every candidate at every open node, one row for each.

        Parameters
        ----------
        score : Score
            The score.
        stop_bonus : int, optional
            With it, one more candidate at the end, not to split: the node's own score, which an added record changes
            within the same interval, plus this public constant.
        """
        self._step_down()
        scores = self._candidates.scores(self._histogram, score)
        if stop_bonus is None:
            return scores
        whole = np.array([score_of_counts(int(score.kind), counts) for counts in self.leaf_counts], dtype=np.int64)
        return np.column_stack([scores, whole + stop_bonus])

    def split(self, chosen: IntArray) -> None:
        """Split every open node by the candidate with this number; one beyond the last makes it a leaf."""
        is_split = chosen < len(self._candidates)
        splits = [
            self._candidates.split(candidate) if split else None
            for candidate, split in zip(chosen.tolist(), is_split.tolist(), strict=True)
        ]
        feature, second = self._candidates.sides(splits)
        self._builder.grow(splits)
        if not is_split.all():
            self._histogram = self._histogram[is_split]
        children = self._children(feature[is_split], second[is_split])
        self._moved = StepDown.narrow(self.STATE, feature, second, is_split), children

    def _children(self, feature: IntArray, second: NDArray[np.bool_]) -> IntArray:
        """Return the class counts of the two children of each node of the histogram, which are split like this."""
        # Codes of the next feature follow those of a feature that has fewer than the longest: they go to neither side.
        code = np.arange(second.shape[1])
        own = code < self._widths[feature][:, np.newaxis]
        at = np.minimum(self._offsets[feature][:, np.newaxis] + code, self._histogram.shape[1] - 1)
        counts = self._histogram[np.arange(len(feature))[:, np.newaxis], at]
        sides = np.stack([own & ~second, own & second], axis=1)
        children: IntArray = sides.astype(np.int64) @ counts
        return children

    @property
    def leaf_counts(self) -> IntArray:
        """Class counts of the open nodes, in the order of the leaves that `finish` makes of them."""
        if self._moved is not None:
            return self._moved[1].reshape(-1, self._n_classes)
        counts: IntArray = self._histogram[:, : self._n_codes[0]].sum(axis=1)
        return counts

    def finish(self) -> ExplicitTrees:
        """Make all open nodes leaves and return the trees."""
        return self._builder.finish()

    def _step_down(self) -> None:
        """Move the records and count again, if a level was split; never after the last, whose counts are known."""
        if self._moved is None:
            return
        step, children = self._moved
        self._moved = None
        self._table = self._table.derive(self.STATE, step)
        # The smaller child of each node is counted; the other's counts are what remains of their parent's.
        pairs = np.arange(len(children))
        smaller = children.sum(axis=2).argmin(axis=1)
        slots = np.full((len(children), 2), -1, np.int32)
        slots[pairs, smaller] = pairs
        counted = self._count(slots.reshape(-1))
        below = np.zeros((len(children), 2, *counted.shape[1:]), np.int64)
        below[pairs, smaller] = counted
        below[pairs, 1 - smaller] = self._histogram - counted
        self._histogram = below.reshape(-1, *counted.shape[1:])

    def _count(self, slots: NDArray[np.int32]) -> IntArray:
        return self._table.aggregate(SiblingHistogram(self.STATE, slots, self._n_classes, self._n_codes))
