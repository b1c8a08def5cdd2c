"""Complete binary trees of equal depth, nodes in heap order: the shape that routes fastest."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.trees.kernels import complete
from privet.trees.kernels.node_tests import NodeTests
from privet.trees.structure import Domains, Splits, Trees, check_number_of_leaves


@dataclass(frozen=True, eq=False)
class CompleteTrees(Trees):
    """Complete binary trees: the children of node v are 2v + 1 and 2v + 2, leaves are numbered from left to right.

    Parameters
    ----------
    domains : Domains
        The features' codes.
    splits : Splits
        Arrays of shape (n_trees, 2 ** depth - 1); every node has a split.
    """

    domains: Domains
    splits: Splits

    def __post_init__(self) -> None:
        shape = self.splits.feature.shape
        if len(shape) != 2 or shape[0] < 1 or (shape[1] + 1) & shape[1]:
            raise ParameterError(f"splits must have shape (n_trees, 2 ** depth - 1), got {shape}")
        self.splits.check(self.domains)
        if (self.splits.feature < 0).any():
            raise ParameterError("every inner node of a complete tree must have a split")
        check_number_of_leaves(shape[0] << self.depth)

    @property
    def depth(self) -> int:
        """Number of splits from the root to each leaf."""
        return int(self.splits.feature.shape[1]).bit_length()

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.splits.feature.shape[0])

    @property
    def leaf_offsets(self) -> NDArray[np.int64]:
        """Where each tree's leaf ids begin; one entry more than there are trees."""
        return np.arange(self.n_trees + 1, dtype=np.int64) << self.depth

    @cached_property
    def _tests(self) -> NodeTests:
        return self.splits.prepare(self.domains)

    @cached_property
    def _thresholds(self) -> NodeTests | None:
        """The tests as narrow as codes, if all are thresholds: then whole columns are compared at once."""
        # A cut at the last code sends nothing to the second child, and one more may not fit the dtype.
        dtype = self.domains.dtype
        if (self.splits.set_index >= 0).any() or (self._tests.low > np.iinfo(dtype).max).any():
            return None
        return self._tests._replace(low=complete.as_signed(self._tests.low.astype(dtype)))

    def route_block(self, codes: NDArray[Any], start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop (a block at most) in trees from `first_tree` on, one a row of `out`."""
        if self._thresholds is not None:
            complete.route_thresholds(codes, start, stop, self._thresholds, self.depth, first_tree, out)
        else:
            complete.route_sets(codes, start, stop, self._tests, self.depth, first_tree, out)

    def route_assigned(self, codes: NDArray[Any], trees: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the leaf id of each row in its own tree only; -1 where there is no such tree."""
        return complete.route_assigned(codes, trees, self._tests, self.depth)
