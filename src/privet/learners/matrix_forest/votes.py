"""What a forest of random trees asks of the cells, in closed form: no tree is drawn here.

A cell's path in an ID3-style random tree uses a uniformly random set of h features, so two cells that agree in a
features share a leaf with probability C(a, h) / C(d, h). That is the kernel of the *infinite forest*: votes for a
cell are the kernel's row times the counts of the cells. All formulas are per tree: votes are divided by the number of
trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from privet.learners.matrix_forest.domain_cells import DomainCells, over_supersets
from privet.tables.protocol import Floats, IntArray


@dataclass(frozen=True)
class ForestVotes:
    """The weight votes of all cells, of a forest drawn at random: the workload K / tau, in expectation over forests.

    Parameters
    ----------
    cells : DomainCells
        The domain; every feature has at least two codes.
    depth : int
        Features on every path, at most as many as there are.
    n_trees : int or None
        Number of trees; None for the infinite forest.
    """

    cells: DomainCells
    depth: int
    n_trees: int | None = None

    @property
    def kappa(self) -> float:
        """The squared norm of a row of the infinite forest's kernel: a vote's noise variance with unit noise on cells.

        Sum over j of e_j(n_1 - 1, ..., n_d - 1) (C(d - j, h) / C(d, h))^2: e_j counts the cells that differ in j
        features.
        """
        d, h = self.cells.n_features, self.depth
        differing = elementary_symmetric(tuple(size - 1.0 for size in self.cells.dims))
        return sum(differing[j] * (math.comb(d - j, h) / math.comb(d, h)) ** 2 for j in range(d - h + 1))

    @property
    def trace(self) -> float:
        """The same for this number of trees: kappa_tau = Lambda / tau + (1 - 1 / tau) kappa."""
        if self.n_trees is None:
            return self.kappa
        return self.mean_leaf_size / self.n_trees + (1 - 1 / self.n_trees) * self.kappa

    @property
    def mean_leaf_size(self) -> float:
        """Lambda, the number of cells of the leaf that a uniformly random cell falls into."""
        return self.cells.number * self._mean_leaf_share

    def mean_leaf_mass(self, n_rows: int) -> float:
        """Return how many records a leaf holds if they are spread evenly."""
        return n_rows * self._mean_leaf_share

    @property
    def mean_leaves(self) -> float:
        """The expected number of leaves of a tree."""
        sizes = elementary_symmetric(tuple(float(size) for size in self.cells.dims))
        return sizes[self.depth] / math.comb(self.cells.n_features, self.depth)

    @property
    def _mean_leaf_share(self) -> float:
        inverse = elementary_symmetric(tuple(1.0 / size for size in self.cells.dims))
        return inverse[self.depth] / math.comb(self.cells.n_features, self.depth)

    @cached_property
    def eigenvalues(self) -> Floats:
        """Lambda_R: the infinite forest's kernel is the sum over R of lambda_R P_R."""
        return over_supersets(np.where(self._of_depth, self.cells.cells_per_count, 0.0)) / float(self._of_depth.sum())

    @cached_property
    def energies(self) -> Floats:
        """t_R = tr(P_R W'W) / n for every set of features, in expectation over forests; adds up to `trace`."""
        squares = self.eigenvalues**2
        if self.n_trees is not None:
            # One tree's kernel squared is its kernel times the leaves' sizes.
            alone = over_supersets(np.where(self._of_depth, self.cells.cells_per_count**2, 0.0)) / self._of_depth.sum()
            squares = alone / self.n_trees + (1 - 1 / self.n_trees) * squares
        return self.cells.multiplicities * squares / self.cells.number

    @property
    def _of_depth(self) -> NDArray[np.bool_]:
        return np.asarray(self.cells.set_sizes == self.depth)

    def answer(self, counts: Floats) -> Floats:
        """Return the infinite forest's votes for all cells, by transform."""
        return self.cells.apply(self.eigenvalues, counts)

    @property
    def scale(self) -> int:
        """What `whole_rows` have to be divided by."""
        return math.comb(self.cells.n_features, self.depth)

    def whole_rows(self) -> IntArray:
        """Return the infinite forest's kernel times `scale`, explicitly: C(a, h). For small domains.

        Its rows span the votes of every forest of this depth, so what supports it supports them all.
        """
        codes = self.cells.codes()
        agreeing = np.zeros((self.cells.number,) * 2, np.int64)
        for column in codes:
            agreeing += column[:, None] == column[None, :]
        return np.array([math.comb(a, self.depth) for a in range(self.cells.n_features + 1)])[agreeing]

    def rows(self) -> Floats:
        """Return the infinite forest's kernel, explicitly."""
        return self.whole_rows() / self.scale


@dataclass(frozen=True, eq=False)
class BatchVotes:
    """The votes of a public batch: a row for each query, over cells (Q T'T) or over leaves (Q T').

    Parameters
    ----------
    matrix : int64 array of shape (queries, slots)
        How often each slot is counted for each query.
    scale : int
        What a vote is divided by, to be one tree's: the number of trees, or C(d, h) for the infinite forest.
    cells : DomainCells or None
        The slots, if they are cells.
    depth : int
        Depth of the trees.
    """

    matrix: IntArray
    scale: int
    depth: int
    cells: DomainCells | None = None

    @property
    def trace(self) -> float:
        """The mean squared norm of a row."""
        return float((self.rows() ** 2).sum() / len(self.matrix))

    @cached_property
    def energies(self) -> Floats:
        """The mean over queries of tr(P_R w w') for every set of features."""
        if self.cells is None:
            raise TypeError("leaves have no residual subspaces")
        return self.cells.block_energies(self.rows()) / len(self.matrix)

    def whole_rows(self) -> IntArray:
        """Return the matrix of whole numbers."""
        return self.matrix

    def rows(self) -> Floats:
        """Return the votes of one tree, on average."""
        return self.matrix / self.scale


Workload = ForestVotes | BatchVotes


@lru_cache(maxsize=4096)
def elementary_symmetric(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return e_0, ..., e_d of d numbers; of numbers that are not negative to full precision, since nothing cancels.

    Examples
    --------
    >>> elementary_symmetric((1.0, 2.0, 3.0))
    (1.0, 6.0, 11.0, 6.0)
    """
    polynomial = [1.0]
    for value in values:
        shifted = [*polynomial, 0.0]
        for j in range(len(polynomial)):
            shifted[j + 1] += value * polynomial[j]
        polynomial = shifted
    return tuple(polynomial)
