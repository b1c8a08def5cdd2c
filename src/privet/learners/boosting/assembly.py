"""How what boosting released becomes an additive model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.additive import Additive
from privet.learners.boosting.base_tables import BaseTables
from privet.learners.boosting.gradient_growth import CellGrid, write_down
from privet.schema.encoding import Encoding
from privet.trees.builder import Split


def assemble(
    encoding: Encoding,
    grid: CellGrid,
    base: BaseTables,
    trees: list[list[Split]],
    values: list[NDArray[np.int64]],
    noise: list[NDArray[np.float64]],
) -> Additive:
    """Put the model together: what was said of cells is said of codes."""
    offsets, none = grid.cells.offsets, np.zeros((0, base.start.size))
    cell = np.concatenate([begin + cells for begin, cells in zip(offsets, grid.cells.cell, strict=False)])
    return Additive(
        encoding,
        base.start,
        base.tables[cell],
        base.low,
        base.high,
        write_down(grid.fine, trees) if trees else None,
        np.concatenate(values) if trees else none.astype(np.int64),
        np.concatenate(noise) if trees else none,
        base.noise[cell],
    )
