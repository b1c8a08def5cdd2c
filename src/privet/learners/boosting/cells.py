"""Cells: codes of features put together, and what boosting adds up over them.

`CellGrid` puts codes into cells at private quantiles or at public cuts. The kernels send records to cells and down a
tree, add up gradients by node and cell, and give records new scores.

A record's cells are kept side by side, one row for each record: a pass reads them in order and adds to as many
different sums as there are features, which a processor does side by side.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.learners.boosting.gradients import SCORE_STATE
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, IntArray
from privet.trees.candidates import Candidates, Walk, orders, thresholds
from privet.trees.kernels.blocks import Whole
from privet.trees.structure import FeatureCodes, Split, StepDown, Threshold

CELL_STATE = "cell"
GRADIENT_STATE = "gradient"
NODE_STATE = "node"

PUBLIC_CELLS = 240  # of equal width
CATEGORY_ORDERS = 8  # random orders of a feature's categories, new for each tree

_FARTHEST = 1 << 61  # scores are held within this, so that the sum of two cannot overflow


@inlined
def _held(score: Whole) -> Whole:
    return min(max(score, -_FARTHEST), _FARTHEST)


@dataclass(frozen=True, eq=False)
class Cells:
    """Send the codes of each feature to cells.

    Parameters
    ----------
    cell : tuple of int arrays
        For each feature the cell of each code; public, or made of released values.
    """

    cell: tuple[IntArray, ...]

    @property
    def n_cells(self) -> IntArray:
        """Number of cells of each feature."""
        return np.array([int(cells.max()) + 1 for cells in self.cell], dtype=np.int64)

    @property
    def offsets(self) -> IntArray:
        """Where each feature's cells begin when all are numbered through; the last entry is their number."""
        return np.concatenate([[0], np.cumsum(self.n_cells)]).astype(np.int64)

    def __call__(self, block: Block) -> NDArray[Any]:
        """Return each record's cells, shape (n, n_features)."""
        dtype = np.uint8 if self.n_cells.max() <= 256 else np.uint16
        out = np.zeros((block.target.size, len(self.cell)), dtype)
        for feature, cells in enumerate(self.cell):
            # a code beyond the last is no code of this feature; it is held within bounds
            out[:, feature] = cells.astype(dtype)[np.minimum(block.codes[feature], cells.size - 1)]
        return out


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
            out[row, k] = _held(score[row, k]) + _held(value)


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


@compiled
def _look_up_base(
    cells: NDArray[Any], offsets: IntArray, tables: IntArray, start: IntArray, low: int, high: int, out: IntArray
) -> None:
    for row in range(cells.shape[0]):
        for k in range(start.size):
            total = start[k]
            for feature in range(cells.shape[1]):
                total = _held(total) + _held(tables[offsets[feature] + np.int64(cells[row, feature]), k])
            out[row, k] = min(max(total, low), high)


@dataclass(frozen=True, eq=False)
class BaseScores:
    """The scores that an additive base gives to each record.

    Parameters
    ----------
    start : int64 array of shape (n_scores,)
        What all records have in common.
    tables : int64 array of shape (total number of cells, n_scores)
        What each cell adds.
    offsets : int64 array
        Where each feature's cells begin.
    low, high : int
        Scores are held within these.
    """

    start: IntArray
    tables: IntArray
    offsets: IntArray
    low: int
    high: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 scores of shape (n, n_scores)."""
        out = np.zeros((block.target.size, self.start.size), np.int64)
        _look_up_base(block.state[CELL_STATE], self.offsets, self.tables, self.start, self.low, self.high, out)
        return out


@dataclass(frozen=True)
class AllAtRoot:
    """Every record at the root."""

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return zeros."""
        return np.zeros(block.target.size, np.int32)


def _nodes(block: Block) -> NDArray[np.int32]:
    nodes: NDArray[np.int32] = np.asarray(block.state[NODE_STATE], dtype=np.int32)
    return nodes


@dataclass(frozen=True, eq=False)
class CellGrid:
    """How the codes of all features are put together into cells.

    Attributes
    ----------
    fine : FeatureCodes
        The codes.
    domains : FeatureCodes
        The cells, taken for codes.
    cells : Cells
        The cell of each code.
    """

    fine: FeatureCodes
    domains: FeatureCodes
    cells: Cells

    @classmethod
    def of(cls, encoding: Encoding, cuts: dict[int, list[int]]) -> Self:
        """Put codes between two cuts into one cell; categories, and missing values, keep cells of their own."""
        fine = FeatureCodes.of(encoding)
        cell_of_code, n_cells, missing = [], fine.n_cells.copy(), fine.missing.copy()
        for feature in range(fine.n_features):
            codes = np.arange(int(fine.n_codes[feature]))
            if fine.ordered[feature]:
                inner = cuts.get(feature, list(range(int(fine.n_cells[feature]) - 1)))
                cells = np.searchsorted(np.array(inner, dtype=np.int64), codes, side="left")
                n_cells[feature] = len(inner) + 1
                if fine.missing[feature] >= 0:
                    missing[feature] = len(inner) + 1
                    cells[fine.missing[feature]] = len(inner) + 1
                codes = cells
            cell_of_code.append(codes.astype(np.int64))
        n_codes = np.array([int(cells.max()) + 1 for cells in cell_of_code], dtype=np.int64)
        return cls(fine, FeatureCodes(fine.ordered, n_codes, n_cells, missing), Cells(tuple(cell_of_code)))

    @staticmethod
    def even_cuts(encoding: Encoding, n_cells: int) -> dict[int, list[int]]:
        """Return cuts of every ordered feature into cells of equal width on its grid; public."""
        domains, cuts = FeatureCodes.of(encoding), dict[int, list[int]]()
        for feature in np.flatnonzero(domains.ordered).tolist():
            n_codes = int(domains.n_cells[feature])
            cuts[feature] = sorted({n_codes * k // n_cells - 1 for k in range(1, n_cells)} - {-1})
        return cuts

    @staticmethod
    def public_cuts(encoding: Encoding) -> dict[int, list[int]]:
        """Return cuts of every ordered feature that are public and yet see long tails.

        Into 240 cells of equal width, and at a 64th of the grid, a 128th and so on from either end. On a grid of up to
        4,096 codes a cell fits into a byte.
        """
        domains, cuts = FeatureCodes.of(encoding), dict[int, list[int]]()
        for feature in np.flatnonzero(domains.ordered).tolist():
            n_codes = int(domains.n_cells[feature])
            tails = [n_codes >> k for k in range(6, 63) if n_codes >> k]
            even = {n_codes * k // PUBLIC_CELLS for k in range(1, PUBLIC_CELLS)}
            ends = even | set(tails) | {n_codes - tail for tail in tails}
            cuts[feature] = sorted(end - 1 for end in ends if 0 < end < n_codes)
        return cuts

    def candidates(self, rng: PublicRng) -> Candidates:
        """List the splits of one tree: every cut; each category against the rest, and prefixes of a few random orders.

        The orders are public, and new for each tree.
        """
        walks: list[Walk] = []
        for feature in self.domains.splittable.tolist():
            n_cells = int(self.domains.n_cells[feature])
            if self.domains.ordered[feature]:
                walks.extend(thresholds(self.domains, feature, range(n_cells - 1)))
            else:
                walks.extend(orders(feature, n_cells, rng, CATEGORY_ORDERS))
        return Candidates(self.domains, tuple(walks), ())

    def in_codes(self, split: Split) -> Split:
        """Return a split of cells as a split of codes."""
        if not isinstance(split, Threshold):
            return split
        present = self.cells.cell[split.feature][: self.fine.n_cells[split.feature]]
        last = int(np.searchsorted(present, split.cut, side="right")) - 1
        return Threshold(split.feature, last, split.missing_first)
