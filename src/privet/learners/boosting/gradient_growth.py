"""Growing one small tree on exact sums of gradients, level by level; the caller makes the choices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.gradient_histogram import (
    NODE_STATE,
    AllAtRoot,
    Cells,
    CellStep,
    GradientHistogram,
    GradientSums,
)
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray, Table
from privet.trees.builder import Split, Threshold
from privet.trees.candidates import Candidates, Walk, orders, thresholds
from privet.trees.features import Domains

PUBLIC_CELLS = 240  # of equal width
CATEGORY_ORDERS = 8  # random orders of a feature's categories, new for each tree


@dataclass(frozen=True, eq=False)
class CellGrid:
    """How the codes of all features are put together into cells.

    Attributes
    ----------
    fine : Domains
        The codes.
    domains : Domains
        The cells, taken for codes.
    cells : Cells
        The cell of each code.
    """

    fine: Domains
    domains: Domains
    cells: Cells

    @classmethod
    def of(cls, encoding: Encoding, cuts: dict[int, list[int]]) -> Self:
        """Put codes between two cuts into one cell; categories, and missing values, keep cells of their own."""
        fine = Domains.of(encoding)
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
        return cls(fine, Domains(fine.ordered, n_codes, n_cells, missing), Cells(tuple(cell_of_code)))

    @staticmethod
    def even_cuts(encoding: Encoding, n_cells: int) -> dict[int, list[int]]:
        """Return cuts of every ordered feature into cells of equal width on its grid; public."""
        domains, cuts = Domains.of(encoding), dict[int, list[int]]()
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
        domains, cuts = Domains.of(encoding), dict[int, list[int]]()
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
        self.table = self.table.derive(NODE_STATE, CellStep(*self._candidates.sides(splits)))
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
