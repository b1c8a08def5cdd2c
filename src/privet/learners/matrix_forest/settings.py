"""The public facts that a strategy is chosen from: a forest over one or more subsets of features, a budget, a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.frames.opening import open_frame, read_feature
from privet.learners.matrix_forest.domain_cells import DomainCells, FeatureSet
from privet.learners.matrix_forest.votes import BatchVotes, ForestVotes, Workload
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.trees.explicit_trees import ExplicitTrees

Mode = Literal["training", "prediction", "aggregate"]

MOST_ENTRIES = 100_000_000  # of an explicit batch matrix


class InfeasibleError(ParameterError):
    """What the setting does not allow, and why."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees over some of the features.

    Parameters
    ----------
    features : tuple of int
        The features, each with at least two codes.
    cells : DomainCells
        What they span.
    depth : int
        Features on a path.
    n_trees : int or None
        Number of trees; None for the infinite forest.
    trees : ExplicitTrees or None
        The trees, where the mode or the strategy needs to know them before the data is seen.
    """

    features: FeatureSet
    cells: DomainCells
    depth: int
    n_trees: int | None
    trees: ExplicitTrees | None

    def codes_of_cells(self, n_features: int) -> NDArray[Any]:
        """Return codes of all cells, zero for the features that are not used."""
        codes = np.zeros((n_features, self.cells.number), np.uint16)
        codes[list(self.features)] = self.cells.codes()
        return codes


@dataclass(frozen=True, eq=False)
class Setting:
    """The public facts that a design follows from.

    Parameters
    ----------
    mode : {"training", "prediction", "aggregate"}
        What is released.
    ensembles : tuple of Ensemble
        The forest.
    terms, share
        What one record can change, and the budget; None for a model without privacy.
    batch : array of shape (n_features, n_points), optional
        The codes of the public batch, each point once.
    n_classes : int
        Number of classes.
    hard : bool
        Whether labels of leaves are measured instead of counts: hard votes of trees on disjoint data.
    votes_suffice : bool
        Whether predictions can be made of the batch's votes alone, without class totals or single leaves.
    """

    mode: Mode
    ensembles: tuple[Ensemble, ...]
    terms: Terms
    share: Share | None
    batch: NDArray[Any] | None = None
    n_classes: int = 2
    hard: bool = False
    votes_suffice: bool = True

    @property
    def gaussian(self) -> bool:
        """Whether noise is Gaussian."""
        return self.share is not None and self.share.rho is not None

    @property
    def n_trees(self) -> int | None:
        """Number of trees of all ensembles; None for the infinite forest."""
        numbers = [ensemble.n_trees for ensemble in self.ensembles]
        return None if None in numbers else sum(number for number in numbers if number is not None)

    @cached_property
    def all_trees(self) -> ExplicitTrees:
        """The trees of all ensembles, side by side."""
        trees = [ensemble.trees for ensemble in self.ensembles if ensemble.trees is not None]
        return trees[0] if len(trees) == 1 else ExplicitTrees.join(trees)

    def weight(self, ensemble: Ensemble) -> float:
        """Return the ensemble's share of the votes."""
        if ensemble.n_trees is None or self.n_trees is None:
            return 1 / len(self.ensembles)
        return ensemble.n_trees / self.n_trees

    @cached_property
    def workloads(self) -> tuple[Workload, ...]:
        """What is asked of the cells of each ensemble."""
        return tuple(self._cell_workload(ensemble) for ensemble in self.ensembles)

    def _cell_workload(self, ensemble: Ensemble) -> Workload:
        votes = ForestVotes(ensemble.cells, ensemble.depth, ensemble.n_trees)
        if self.batch is None:
            return votes
        points = ensemble.cells.ids(self.batch[list(ensemble.features)])
        if len(points) * ensemble.cells.number > MOST_ENTRIES:
            raise InfeasibleError(f"{len(points)} points times {ensemble.cells.number} cells: too many to write down")
        if ensemble.trees is None:
            cells, d = ensemble.cells, ensemble.cells.n_features
            agreeing = np.zeros((len(points), cells.number), np.int64)
            for column in cells.codes():
                agreeing += column[points][:, None] == column[None, :]
            shared = np.array([math.comb(a, ensemble.depth) for a in range(d + 1)])[agreeing]
            return BatchVotes(shared, votes.scale, ensemble.depth, cells)
        kernel = np.zeros((len(points), ensemble.cells.number), np.int64)
        codes = ensemble.codes_of_cells(len(ensemble.trees.domains.n_codes))
        for tree in range(ensemble.trees.n_trees):
            leaves = ensemble.trees.route(codes, [tree])[0]
            kernel += leaves[points][:, None] == leaves[None, :]
        return BatchVotes(kernel, ensemble.trees.n_trees, ensemble.depth, ensemble.cells)

    @cached_property
    def leaf_workload(self) -> BatchVotes:
        """Q T' over the leaves of trees on disjoint data: a vote is the sum over all trees."""
        assert self.batch is not None
        trees = self.all_trees
        if self.batch.shape[1] * trees.n_leaves > MOST_ENTRIES:
            raise InfeasibleError(f"{self.batch.shape[1]} points times {trees.n_leaves} leaves: too many to write down")
        reached = trees.route(self.batch)
        matrix = np.zeros((self.batch.shape[1], trees.n_leaves), np.int64)
        matrix[np.arange(len(matrix))[:, None], reached.T] = 1
        return BatchVotes(matrix, 1, max(ensemble.depth for ensemble in self.ensembles))


def encode_batch(encoding: Encoding, batch: Any) -> NDArray[Any]:
    """Encode a public batch, each point once.

    It is public, so unlike in private data, values that the schema does not know are an error.
    """
    frame = open_frame(batch)
    if frame.n_rows == 0:
        raise ParameterError("the batch is empty: pass the points to be predicted")
    places = encoding.places(frame)
    for column, place in zip(encoding.columns, places, strict=True):
        if column.ordered or column.other_code is not None:
            continue
        missing = -2 if column.missing_code is None else 0
        found = column.read(read_feature(frame, place)).match(column.categories, unknown=-1, missing=missing)
        if (found < 0).any():
            raise ParameterError(
                f"batch: {int((found < 0).sum())} values of {column.name!r} are not among its categories; "
                "correct them, or declare other=True"
            )
    return np.unique(encoding.encode(batch), axis=1)


def leaf_sums(trees: ExplicitTrees, codes: NDArray[Any], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return C = T D for estimated counts of cells, without writing T down."""
    sums = np.zeros((trees.n_leaves, counts.shape[1]))
    for tree in range(trees.n_trees):
        leaves = trees.route(codes, [tree])[0]
        for k in range(counts.shape[1]):
            sums[:, k] += np.bincount(leaves, weights=counts[:, k], minlength=trees.n_leaves)
    return sums
