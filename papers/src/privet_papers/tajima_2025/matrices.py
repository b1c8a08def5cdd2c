"""The matrices of the paper, written down: for teaching, for tests, and for small domains only.

    T  (leaves x cells)    which cells reach which leaf; every column has a one for each tree
    D  (cells x classes)   how many records there are
    C = T D                class counts of the leaves
    Q  (queries x cells)   which cell each query is in
    V = Q T' C = Q T' T D  weight votes

The learner never forms T: it counts by routing, and votes by lookup.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.matrix_forest.domain_cells import DomainCells
from privet.tables.protocol import IntArray
from privet.trees.explicit_trees import ExplicitTrees

MOST_ENTRIES = 20_000_000  # ones of T that are written down


@dataclass(frozen=True, eq=False)
class DecisionPaths:
    """T, the decision paths of a forest over all its features.

    Examples
    --------
    >>> from privet import Categorical, Schema
    >>> from privet.parameters import public_rng
    >>> from privet.trees.structure import FeatureCodes
    >>> from privet.trees.id3_trees import draw_id3_trees
    >>> schema = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1, 2])}, classes=[0, 1])
    >>> trees = draw_id3_trees(FeatureCodes.of(schema.encoding()), public_rng(0), n_trees=4, depth=1)
    >>> paths = DecisionPaths(trees)
    >>> paths.T.shape[1], paths.T.sum(axis=0).tolist()
    (6, [4, 4, 4, 4, 4, 4])
    """

    trees: ExplicitTrees

    @property
    def cells(self) -> DomainCells:
        """All combinations of codes."""
        return DomainCells(tuple(self.trees.domains.n_codes.tolist()))

    @cached_property
    def T(self) -> Any:  # noqa: N802  as printed
        """The matrix, a sparse array of whole numbers."""
        from scipy.sparse import csr_array

        cells = self.cells
        if cells.number * self.trees.n_trees > MOST_ENTRIES:
            raise ParameterError(f"T would have {cells.number * self.trees.n_trees} ones; it is for small domains")
        leaves = self.trees.route(cells.codes())
        columns = np.broadcast_to(np.arange(cells.number), leaves.shape)
        ones = np.ones(leaves.size, np.int64)
        return csr_array((ones, (leaves.ravel(), columns.ravel())), shape=(self.trees.n_leaves, cells.number))

    @cached_property
    def K(self) -> Any:  # noqa: N802  as printed
        """T'T, the forest's kernel: in how many trees two cells share a leaf."""
        return self.T.T @ self.T

    def D(self, codes: NDArray[Any], target: NDArray[Any], n_classes: int) -> IntArray:  # noqa: N802  as printed
        """Return the data matrix of encoded records."""
        data = np.zeros((self.cells.number, n_classes), np.int64)
        np.add.at(data, (self.cells.ids(codes), target), 1)
        return data

    def Q(self, codes: NDArray[Any]) -> Any:  # noqa: N802  as printed
        """Return the matrix of encoded queries."""
        from scipy.sparse import csr_array

        ids = self.cells.ids(codes)
        ones = np.ones(len(ids), np.int64)
        return csr_array((ones, (np.arange(len(ids)), ids)), shape=(len(ids), self.cells.number))
