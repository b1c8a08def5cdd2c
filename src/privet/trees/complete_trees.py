"""Complete binary trees of equal depth, nodes in heap order: the shape that routes fastest."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.tables.protocol import IntArray
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels import complete
from privet.trees.kernels.bits import BitTests, bit_tests
from privet.trees.kernels.blocks import BLOCK_ROWS
from privet.trees.kernels.complete import UPPER_ROOM
from privet.trees.kernels.node_tests import NodeTests
from privet.trees.structure import FeatureCodes, Splits, Trees, check_number_of_leaves


@dataclass(frozen=True, eq=False)
class CompleteTrees(Trees):
    """Complete binary trees: the children of node v are 2v + 1 and 2v + 2, leaves are numbered from left to right.

    Parameters
    ----------
    domains : FeatureCodes
        The features' codes.
    splits : Splits
        Arrays of shape (n_trees, 2 ** depth - 1); every node has a split.
    """

    domains: FeatureCodes
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
    def leaf_offsets(self) -> IntArray:
        """Where each tree's leaf ids begin; one entry more than there are trees."""
        return np.arange(self.n_trees + 1, dtype=np.int64) << self.depth

    def explicit(self) -> ExplicitTrees:
        """Write the trees down node by node; leaf ids stay the same."""
        n_trees, n_inner = self.splits.feature.shape
        n_leaves, n_nodes = n_inner + 1, 2 * n_inner + 1

        def padded(array: NDArray[np.generic], fill: int) -> NDArray[Any]:
            leaves = np.full((n_trees, n_leaves), fill, array.dtype)
            return np.concatenate([array, leaves], axis=1).reshape(-1)

        offsets = np.arange(n_trees + 1, dtype=np.int64) * n_nodes
        heap = np.concatenate([2 * np.arange(n_inner) + 1, np.zeros(n_leaves, np.int64)])
        first = (heap + np.where(heap > 0, offsets[:-1, None], 0)).reshape(-1)
        number = np.tile(np.repeat([2, 0], [n_inner, n_leaves]), n_trees)
        leaf = np.full((n_trees, n_nodes), -1, np.int64)
        leaf[:, n_inner:] = np.arange(n_trees * n_leaves).reshape(n_trees, n_leaves)
        splits = self.splits
        return ExplicitTrees(
            self.domains,
            Splits(
                padded(splits.feature, -1),
                padded(splits.cut, 0),
                padded(splits.missing_first, 0),
                padded(splits.set_index, -1),
                splits.sets,
            ),
            first.astype(np.int32),
            number.astype(np.int32),
            leaf.reshape(-1).astype(np.int32),
            offsets,
            np.full(n_trees, n_leaves, np.int64),
        )

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

    @cached_property
    def in_bits(self) -> BitTests | None:
        """The trees as questions that are answered by bits, if all are thresholds and the trees many and shallow."""
        return None if (self.splits.set_index >= 0).any() else bit_tests(self._tests, self.depth)

    def route_block(self, codes: NDArray[Any], start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop (a block at most) in trees from `first_tree` on, one a row of `out`."""
        tests = self._tests if self._thresholds is None else self._thresholds
        block = np.zeros(tests.columns.source.size * BLOCK_ROWS, codes.dtype)
        if self._thresholds is None:
            complete.route_sets(codes, start, stop, tests, self.depth, first_tree, block, out)
        else:
            signed, scratch = block.view(tests.low.dtype), np.zeros((UPPER_ROOM, BLOCK_ROWS), tests.low.dtype)
            complete.route_thresholds(codes, start, stop, tests, self.depth, first_tree, block, signed, scratch, out)

    def route_assigned(self, codes: NDArray[Any], trees: IntArray) -> NDArray[np.int32]:
        """Return the leaf id of each row in its own tree only; -1 where there is no such tree."""
        return complete.route_assigned(codes, trees, self._tests, self.depth)
