"""The cells of a finite domain, and the residual subspaces that all marginal counts split it into.

A domain of d features with n_1, ..., n_d codes has n = n_1 ... n_d cells. For every set R of features there is a
subspace of the functions on the cells: those that depend on the features of R alone and average out over each of them
(the analysis of variance of statistics). The projections P_R onto these 2^d subspaces are orthogonal and add up to
the identity, and every matrix of this package that treats the codes of a feature alike is a sum of w_R P_R. So it is
known by 2^d numbers, and it is applied to a table by one small orthonormal (Helmert) transform for each feature: no n
x n matrix is ever made.

Numbers for sets of features are arrays of shape (2, ..., 2): index 1 on axis i means that feature i is in the set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.tables.protocol import Block, Floats, IntArray

FeatureSet = tuple[int, ...]  # the features of a set, rising


@dataclass(frozen=True)
class DomainCells:
    """All combinations of codes of some features, numbered with the last feature running fastest.

    Parameters
    ----------
    dims : tuple of int
        Number of codes of each feature.

    Examples
    --------
    >>> cells = DomainCells((3, 2))
    >>> cells.number
    6
    >>> cells.ids(np.array([[2, 0], [1, 0]]))
    array([5, 0])
    """

    dims: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many cells there are; exact however large."""
        return math.prod(self.dims)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.dims)

    def ids(self, codes: NDArray[Any]) -> IntArray:
        """Return the cell of each row; codes have shape (n_features, n_rows)."""
        cell = np.zeros(codes.shape[1], np.int64)
        for size, column in zip(self.dims, codes, strict=True):
            # A code beyond the last is no code of this feature; it is held within bounds.
            cell = cell * size + np.minimum(column.astype(np.int64), size - 1)
        return cell

    def codes(self) -> IntArray:
        """Return the codes of every cell, shape (n_features, number)."""
        return np.stack(np.unravel_index(np.arange(self.number), self.dims)).astype(np.int64)

    # --- sets of features -----------------------------------------------------------------------------------------

    @cached_property
    def set_sizes(self) -> IntArray:
        """The number of features in each set."""
        return sum(np.ix_(*[np.arange(2)] * self.n_features), np.zeros((2,) * self.n_features, np.int64))

    @cached_property
    def cells_per_count(self) -> Floats:
        """N(S), the number of cells that one count of the marginal on S adds up: the product of n_i outside S."""
        return _outer([(float(size), 1.0) for size in self.dims])

    @cached_property
    def multiplicities(self) -> Floats:
        """The dimension of each residual subspace: the product of n_i - 1 inside the set."""
        return _outer([(1.0, size - 1.0) for size in self.dims])

    def subsets(self) -> list[FeatureSet]:
        """Return all sets of features, in the order of the flattened arrays."""
        return [tuple(np.flatnonzero(flags).tolist()) for flags in product((0, 1), repeat=self.n_features)]

    # --- residual subspaces ---------------------------------------------------------------------------------------

    def transform(self, table: Floats) -> Floats:
        """Return the Helmert coefficients of every column, shape (*dims, columns): block R belongs to subspace R."""
        coefficients = table.reshape(*self.dims, -1)
        for axis, matrix in enumerate(self._helmert):
            coefficients = np.moveaxis(np.tensordot(matrix, coefficients, axes=(1, axis)), 0, axis)
        return coefficients

    def transform_back(self, coefficients: Floats) -> Floats:
        """Undo `transform`; shape (number, columns)."""
        table = coefficients
        for axis, matrix in enumerate(self._helmert):
            table = np.moveaxis(np.tensordot(matrix.T, table, axes=(1, axis)), 0, axis)
        return np.ascontiguousarray(table).reshape(self.number, -1)

    def apply(self, weights: Floats, table: Floats) -> Floats:
        """Return the sum over R of ``weights[R] * P_R``, times a table with a row for each cell."""
        return self.transform_back(self.transform(table) * self.spread(weights)[..., None])

    def spread(self, weights: Floats) -> Floats:
        """Give every Helmert coefficient the weight of its block."""
        spread: Floats = weights[np.ix_(*[np.minimum(np.arange(size), 1) for size in self.dims])]
        return spread

    def block_energies(self, rows: Floats) -> Floats:
        """Return tr(P_R W'W) for every R, of a matrix W with a column for each cell."""
        energy: Floats = (self.transform(rows.T) ** 2).sum(axis=-1)
        for axis, size in enumerate(self.dims):
            starts = [0, 1] if size > 1 else [0]
            energy = np.add.reduceat(energy, starts, axis=axis)
            if size == 1:
                energy = np.concatenate([energy, np.zeros_like(energy)], axis=axis)
        return energy

    @cached_property
    def _helmert(self) -> tuple[Floats, ...]:
        return tuple(helmert(size) for size in self.dims)


def helmert(size: int) -> Floats:
    """Return an orthonormal matrix whose first row is constant."""
    matrix = np.zeros((size, size))
    matrix[0] = 1 / math.sqrt(size)
    for row in range(1, size):
        matrix[row, :row] = 1 / math.sqrt(row * (row + 1))
        matrix[row, row] = -row / math.sqrt(row * (row + 1))
    return matrix


def over_supersets(values: Floats) -> Floats:
    """Return for every set the sum over all sets that contain it."""
    total = values.copy()
    for axis in range(values.ndim):
        total = np.concatenate([total.sum(axis=axis, keepdims=True), total.take([1], axis=axis)], axis=axis)
    return total


def over_subsets(values: Floats) -> Floats:
    """Return for every set the sum over all sets that it contains."""
    total = values.copy()
    for axis in range(values.ndim):
        total = np.concatenate([total.take([0], axis=axis), total.sum(axis=axis, keepdims=True)], axis=axis)
    return total


def _outer(pairs: Sequence[tuple[float, float]]) -> Floats:
    return reduce(np.multiply.outer, [np.array(pair) for pair in pairs], np.array(1.0))


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

    def __call__(self, block: Block) -> IntArray:
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
