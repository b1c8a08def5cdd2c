"""Squared errors of a regression target with a cap on what a single record can add: tables of losses, and their sums.

A split of a node is good if, with one value for either child, records are near to their child's value. The sum of
squared errors is a score whose range is the square of the target's whole width. Here a record's squared error counts
only within an interval as long as a cap, which may be a small part of that: what a selection pays for is the cap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.tables.protocol import Block, Floats, IntArray
from privet.trees.kernels.blocks import Codes
from privet.trees.scores import LARGEST_LOSS

NEAREST = 0.7  # how far from the centre a value is nearest to the records beyond it, in roots of the cap


@dataclass(frozen=True)
class TargetGrid:
    """Equal cells of a part of the target's range; values beyond count as in the first or last cell. Public.

    Attributes
    ----------
    low, high : int
        The part's ends, in levels of the target; the end itself is beyond it.
    n_cells : int
        Number of cells. Their middles are the values that a child may have, too.
    """

    low: int
    high: int
    n_cells: int

    def cell_of(self, levels: NDArray[Any]) -> IntArray:
        """Return the cell of each level."""
        held = np.clip(levels.astype(np.int64), self.low, self.high - 1)
        return (held - self.low) * self.n_cells // (self.high - self.low)

    def places(self, levels: NDArray[Any]) -> Floats:
        """Return where levels are, in cells; the middle of the first cell is at zero."""
        return (levels - self.low + 0.5) * (self.n_cells / (self.high - self.low)) - 0.5


def loss_table(grid: TargetGrid, centre: int, cap: float) -> IntArray:
    """Return the loss of a record of each cell, by the value of the child that it is in.

    Parameters
    ----------
    grid : TargetGrid
        Cells and values.
    centre : int
        About the mean of the node's records, in levels; released before.
    cap : float
        The largest loss, as the square of a distance in levels.

    Returns
    -------
    int64 array of shape (n_cells, n_cells)
        Losses from 0 to `LARGEST_LOSS`: rows are records' cells, columns are values.

    Notes
    -----
    A record's squared error counts within an interval that is as long as the cap. It begins at zero for records near
    the centre: errors beyond the cap are all alike. For records farther out it begins at the error of a value that is
    `NEAREST` roots of the cap away from the centre, on their side: a child's value may move as far as this towards
    them, and that counts, but all values beyond are alike. So a split that brings the records of a tail together is
    seen, although each of them is seen with the cap alone. With a cap far beyond the grid's width squared, this is
    the sum of squared errors.

    *Privacy.* Made of public and released values. Every entry is held between 0 and `LARGEST_LOSS`.
    """
    cell = (grid.high - grid.low) / grid.n_cells
    largest = min(cap / cell**2, (grid.n_cells - 1.0) ** 2)  # no cell is farther from another
    values = np.arange(grid.n_cells, dtype=np.float64)
    away: Floats = np.abs(values - grid.places(np.array([centre])))
    begin: Floats = np.maximum(away - NEAREST * math.sqrt(cap) / cell, 0.0)[:, None] ** 2
    counted = np.clip(((values[:, None] - values) ** 2 - begin) / largest, 0.0, 1.0)
    return np.rint(counted * LARGEST_LOSS).astype(np.int64)


@compiled
def _count_cells(
    node: NDArray[Any],
    cells: IntArray,
    known: NDArray[np.bool_],
    first: int,
    n_nodes: int,
    codes: Codes,
    last_code: int,
    counts: IntArray,
) -> None:
    for row in range(cells.size):
        here = np.int64(node[row]) - first
        if known[row] and 0 <= here < n_nodes:
            # a code beyond the last is no code of this feature; it is held within bounds
            code = codes[row] if codes[row] < last_code else last_code
            counts[here, code, cells[row]] += 1


@dataclass(frozen=True)
class TargetHistogram:
    """Count records by node, feature and code, and cell of the target.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node.
    first, n_nodes : int
        Which nodes.
    grid : TargetGrid
        The target's cells.
    n_codes : tuple of int
        Number of codes of each feature.

    Notes
    -----
    *Privacy.* Exact integers. Adding or removing a record changes, in one node and for each feature, one count by one.
    """

    node_state: str
    first: int
    n_nodes: int
    grid: TargetGrid
    n_codes: tuple[int, ...]

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts, shape (n_nodes, total number of codes, n_cells)."""
        cells, known, begin = self.grid.cell_of(block.target), block.target >= 0, 0
        out = np.zeros((self.n_nodes, sum(self.n_codes), self.grid.n_cells), np.int64)
        for feature, n_codes in enumerate(self.n_codes):
            counts = out[:, begin : begin + n_codes]
            node = block.state[self.node_state]
            _count_cells(node, cells, known, self.first, self.n_nodes, block.codes[feature], n_codes - 1, counts)
            begin += n_codes
        return out


@compiled
def losses_of(counts: IntArray, table: IntArray) -> IntArray:
    """Return the losses of all records of each code, by value, from their counts by cell.

    Within 64 bits for up to 2^46 records.
    """
    out = np.zeros((counts.shape[0], table.shape[1]), np.int64)
    for code in range(counts.shape[0]):
        for cell in range(counts.shape[1]):
            count = counts[code, cell]
            if count != 0:
                for value in range(table.shape[1]):
                    out[code, value] += count * table[cell, value]
    return out
