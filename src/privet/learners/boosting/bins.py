"""Bins: how the codes of features are put together into a few cells, at private quantiles or at public cuts."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from privet.learners.boosting.gradient_histogram import Cells
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.trees.candidates import Candidates, Walk, orders, thresholds
from privet.trees.explicit_trees import Split, Threshold
from privet.trees.structure import FeatureCodes

PUBLIC_CELLS = 240  # of equal width
CATEGORY_ORDERS = 8  # random orders of a feature's categories, new for each tree


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
