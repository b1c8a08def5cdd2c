"""Growing trees on exact counts, one level at a time: what all learners that choose their splits have in common.

Only one child of each node is counted; its sibling's counts follow by subtraction from their parent's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.tables.protocol import Block, IntArray, Table
from privet.trees.candidates import Candidates
from privet.trees.explicit_trees import ExplicitTrees, TreeBuilder
from privet.trees.kernels.blocks import Codes, Whole
from privet.trees.scores import Score, score_of_counts
from privet.trees.structure import StepDown

_ROWS_AT_ONCE = (
    4096  # row numbers and keys of this many records stay in the nearest cache while all features are counted
)
_BYTE_CODES = 256  # a byte cannot be beyond a table of this many counters: no comparison in the innermost loop

_ONE = np.uint32(1)
_whole = np.uint64  # unsigned numbers as indices: no branch for negative ones


@dataclass(frozen=True)
class AtRoot:
    """Every record at the root of the first tree."""

    def __call__(self, block: Block) -> NDArray[np.uint8]:
        """Return zeros."""
        return np.zeros(block.target.size, np.uint8)


class LevelGrowth:
    """Trees that grow level by level among public candidates: what growth on classes and on residuals shares.

    Parameters
    ----------
    table : Table
        The records. With several trees, each record's tree is in the state `STATE`.
    candidates : Candidates
        The splits to choose among.
    n_trees : int, default=1
        Number of trees on disjoint records.
    """

    STATE: ClassVar[str] = "node"

    def __init__(self, table: Table, candidates: Candidates, n_trees: int = 1) -> None:
        self._table = table if n_trees > 1 else table.derive(self.STATE, AtRoot())
        self._candidates = candidates
        self._n_codes = tuple(table.encoding.n_codes.tolist())
        self._builder = TreeBuilder(candidates.domains, n_trees)

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

    def finish(self) -> ExplicitTrees:
        """Make all open nodes leaves and return the trees."""
        return self._builder.finish()

    def _grow(self, chosen: IntArray) -> tuple[NDArray[np.bool_], IntArray, NDArray[np.bool_]]:
        """Write the chosen splits down; return which nodes are split, by which feature, and which codes go where."""
        is_split = chosen < len(self._candidates)
        splits = [
            self._candidates.split(candidate) if split else None
            for candidate, split in zip(chosen.tolist(), is_split.tolist(), strict=True)
        ]
        feature, second = self._candidates.sides(splits)
        self._builder.grow(splits)
        return is_split, feature, second


class GreedyGrowth(LevelGrowth):
    """Trees that grow level by level on class counts; the caller makes the choices.

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

    def __init__(self, table: Table, candidates: Candidates, n_trees: int = 1) -> None:
        super().__init__(table, candidates, n_trees)
        self._n_classes = table.encoding.n_classes
        self._widths = np.array(self._n_codes, dtype=np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self._n_codes)])
        self._histogram = self._count(np.arange(n_trees, dtype=np.int32))
        self._moved: tuple[StepDown, IntArray] | None = None

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
        is_split, feature, second = self._grow(chosen)
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


@inner
def _list_records(
    node: NDArray[Any],
    target: NDArray[np.int32],
    first_key: IntArray,
    n_classes: Whole,
    step: Whole,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
) -> Whole:
    """List the records that are to be counted, each with its slot and class as one key; return how many."""
    found, n_nodes = _whole(0), _whole(first_key.size)
    for row in range(_whole(node.size)):
        here, label = _whole(np.int64(node[row])), _whole(np.int64(target[row]))
        key = first_key[here] if (here < n_nodes) & (label < n_classes) else -1
        # Written in any case, kept only if it counts: there is no branch to mispredict.
        rows[found] = row
        keys[found] = (_whole(key) + label) * step
        found += _whole(key >= 0)
    return found


@inner
def _count_bytes(
    codes: Codes,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    found: Whole,
    every: bool,
    counts: NDArray[np.uint32],
) -> None:
    """Add listed records to the counts of one feature, laid out by key, then by code; `every` if none was left out."""
    if every:
        for index in range(found):
            counts[_whole(keys[index]) + _whole(codes[index])] += _ONE
    else:
        for index in range(found):
            counts[_whole(keys[index]) + _whole(codes[_whole(rows[index])])] += _ONE


@inner
def _count_words(
    codes: Codes,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    found: Whole,
    width: Whole,
    counts: NDArray[np.uint32],
) -> None:
    """As `_count_bytes`, for codes of two bytes and keys that are still to be multiplied by the number of codes."""
    for index in range(found):
        # a code beyond the last is no code of this feature; it is held within bounds
        code = min(_whole(codes[_whole(rows[index])]), width - _whole(1))
        counts[_whole(keys[index]) * width + code] += _ONE


@compiled
def _count_all_bytes(
    codes: Codes,
    node: NDArray[Any],
    target: NDArray[np.int32],
    first_key: IntArray,
    n_classes: int,
    starts: IntArray,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    counts: NDArray[np.uint32],
) -> None:
    for start in range(0, target.size, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, target.size)
        step = _whole(_BYTE_CODES)
        found = _list_records(node[start:stop], target[start:stop], first_key, _whole(n_classes), step, rows, keys)
        every = found == _whole(stop - start)
        for feature in range(starts.size - 1):
            of_feature = counts[starts[feature] : starts[feature + 1]]
            _count_bytes(codes[feature, start:stop], rows, keys, found, every, of_feature)


@compiled
def _count_all_words(
    codes: Codes,
    node: NDArray[Any],
    target: NDArray[np.int32],
    first_key: IntArray,
    n_classes: int,
    widths: IntArray,
    starts: IntArray,
    rows: NDArray[np.uint16],
    keys: NDArray[np.uint32],
    counts: NDArray[np.uint32],
) -> None:
    for start in range(0, target.size, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, target.size)
        found = _list_records(node[start:stop], target[start:stop], first_key, _whole(n_classes), _whole(1), rows, keys)
        for feature in range(widths.size):
            of_feature = counts[starts[feature] : starts[feature + 1]]
            _count_words(codes[feature, start:stop], rows, keys, found, _whole(widths[feature]), of_feature)


@compiled
def _lay_out(counts: NDArray[np.uint32], widths: IntArray, n_codes: IntArray, out: IntArray) -> None:
    """Turn counts by feature, key and code into counts by slot, code and class; codes beyond the last count as it."""
    n_slots, _, n_classes = out.shape
    begin = place = 0
    for feature in range(widths.size):
        for slot in range(n_slots):
            for label in range(n_classes):
                for code in range(widths[feature]):
                    out[slot, begin + min(code, n_codes[feature] - 1), label] += counts[place]
                    place += 1
        begin += n_codes[feature]


@dataclass(frozen=True, eq=False)
class SiblingHistogram:
    """Count records by node, feature, code and class, at some of the open nodes.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node.
    slots : int32 array of shape (number of open nodes,)
        The place of each node in the result; -1 for a node that is not counted.
    n_classes : int
        Number of classes.
    n_codes : tuple of int
        Number of codes of each feature.

    Notes
    -----
    *Privacy.* Exact, as `NodeHistogram`: adding or removing a record changes one count by one for each feature, in one
    node. Which nodes are counted may depend on private counts, since the others' counts follow exactly: the result
    after subtraction is the same whatever was counted.
    """

    node_state: str
    slots: NDArray[np.int32]
    n_classes: int
    n_codes: tuple[int, ...]

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (number of counted nodes, total number of codes, n_classes)."""
        n_slots, n_codes = int(self.slots.max(initial=-1)) + 1, np.array(self.n_codes, dtype=np.int64)
        out = np.zeros((n_slots, int(n_codes.sum()), self.n_classes), np.int64)
        if not n_slots:
            return out
        in_bytes = block.codes.itemsize == 1
        widths = np.maximum(n_codes, _BYTE_CODES) if in_bytes else n_codes
        starts = np.concatenate([[0], np.cumsum(widths * n_slots * self.n_classes)]).astype(np.int64)
        first_key = self.slots.astype(np.int64) * self.n_classes
        counts = np.zeros(int(starts[-1]), np.uint32)
        node = block.state[self.node_state]
        rows, keys = np.zeros(_ROWS_AT_ONCE, np.uint16), np.zeros(_ROWS_AT_ONCE, np.uint32)
        records = (block.codes, node, block.target, first_key, self.n_classes)
        if in_bytes:
            _count_all_bytes(*records, starts, rows, keys, counts)
        else:
            _count_all_words(*records, widths, starts, rows, keys, counts)
        _lay_out(counts, widths, n_codes, out)
        return out
