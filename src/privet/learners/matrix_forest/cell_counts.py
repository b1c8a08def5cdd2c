"""Counting classes in the cells of a domain: every combination of codes of some features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.tables.protocol import Block


@dataclass(frozen=True)
class CellClassCounts:
    """Count records by cell and class.

    Parameters
    ----------
    features : tuple of int
        The features that span the cells; the last runs fastest.
    sizes : tuple of int
        Number of codes of each.
    n_classes : int
        Number of classes.

    Notes
    -----
    *Privacy.* Adding or removing a record changes one count by one. The result is exact and private: it goes through a
    release.
    """

    features: tuple[int, ...]
    sizes: tuple[int, ...]
    n_classes: int

    def __call__(self, block: Block) -> NDArray[np.int64]:
        """Return int64 counts of shape (number of cells, n_classes)."""
        cell, n_cells = np.zeros(block.target.size, np.int64), 1
        for feature, size in zip(self.features, self.sizes, strict=True):
            # A code beyond the last is no code of this feature; it is held within bounds.
            cell = cell * size + np.minimum(block.codes[feature].astype(np.int64), size - 1)
            n_cells *= size
        target = block.target.astype(np.int64)
        known = (target >= 0) & (target < self.n_classes)
        place = cell[known] * self.n_classes + target[known]
        return np.bincount(place, minlength=n_cells * self.n_classes).reshape(n_cells, self.n_classes)
