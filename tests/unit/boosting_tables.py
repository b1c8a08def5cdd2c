"""Tables of random records with cells and gradients, for tests of what boosting chooses among."""

import numpy as np

from privet import Schema
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.tables import MemoryTable


def made_up(features, n_rows=60, n_scores=1, seed=0):
    """Return a grid of cells, codes, gradients and a table of random records."""
    encoding = Schema(features, classes=[0, 1]).encoding()
    grid, rng = CellGrid.of(encoding, {}), np.random.default_rng(seed)
    codes = np.stack([rng.integers(column.n_codes, size=n_rows) for column in encoding.columns]).astype(np.uint8)
    gradient = rng.integers(-50, 50, size=(n_rows, 2 * n_scores)).astype(np.int32)
    table = MemoryTable(encoding, codes, np.zeros(n_rows, np.int32)).derive(CELL_STATE, grid.cells)
    return grid, codes, gradient, table.derive(GRADIENT_STATE, lambda block: gradient[block.rows.astype(np.int64)])
