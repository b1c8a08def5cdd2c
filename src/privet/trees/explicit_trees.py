"""Trees of any shape, as flat arrays of nodes; and a builder that grows them level by level."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.tables.protocol import IntArray
from privet.trees.kernels import explicit
from privet.trees.kernels.blocks import BLOCK_ROWS
from privet.trees.kernels.node_tests import Nodes, NodeTests
from privet.trees.structure import (
    MOST_LEAVES,
    NEVER,
    FeatureCodes,
    Multiway,
    Split,
    Splits,
    StepDown,
    Trees,
    check_number_of_leaves,
    children_by_code,
    split_table,
)


@compiled
def _count_levels(first_child: NDArray[np.int32], n_children: NDArray[np.int32], level: IntArray) -> None:
    """Number the levels of all nodes; children come after their parents."""
    for node in range(level.size):
        for child in range(first_child[node], first_child[node] + n_children[node]):
            level[child] = level[node] + 1


@dataclass(frozen=True, eq=False)
class ExplicitTrees(Trees):
    """Trees of any shape: leaves, two-way nodes by threshold or set of codes, and multi-way nodes.

    Parameters
    ----------
    domains : FeatureCodes
        The features' codes.
    splits : Splits
        One entry for each node; feature -1 is a leaf. A multi-way node has a feature and more than two children, and
        uses neither cut nor set.
    first_child, n_children : int32 arrays
        Children of a node lie side by side, after it; 0 and 0 for a leaf. A multi-way node has one child for each
        code of its feature.
    leaf : int32 array
        The id of a leaf (several leaves of a tree may share one), -1 for other nodes.
    tree_offsets : int64 array of shape (n_trees + 1,)
        Where each tree's nodes begin; the first is its root.
    leaves_per_tree : int64 array of shape (n_trees,)
        How many leaf ids each tree has.
    """

    domains: FeatureCodes
    splits: Splits
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    leaf: NDArray[np.int32]
    tree_offsets: IntArray
    leaves_per_tree: IntArray

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ParameterError unless routing ends in a leaf of the right tree, whatever the codes."""
        n_nodes = self.splits.feature.size
        if self.splits.feature.ndim != 1:
            raise ParameterError(f"nodes must be in flat arrays, got shape {self.splits.feature.shape}")
        self.splits.check(self.domains)
        for name in ("first_child", "n_children", "leaf"):
            array = getattr(self, name)
            if array.dtype != np.int32 or array.shape != (n_nodes,):
                raise ParameterError(f"{name} must be int32 of shape ({n_nodes},), got {array.dtype} {array.shape}")
        offsets, leaves = self.tree_offsets, self.leaves_per_tree
        if offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) < 2:
            raise ParameterError("tree_offsets must be int64 and have one entry more than there are trees")
        if offsets[0] != 0 or offsets[-1] != n_nodes or (offsets[1:] <= offsets[:-1]).any():
            raise ParameterError("tree_offsets must rise from 0 to the number of nodes")
        if leaves.dtype != np.int64 or leaves.shape != (self.n_trees,):
            raise ParameterError(f"leaves_per_tree must be int64 of shape ({self.n_trees},)")
        if (leaves < 1).any() or (leaves > MOST_LEAVES).any():
            raise ParameterError(f"every tree must have from 1 to {MOST_LEAVES} leaves")
        check_number_of_leaves(int(self.leaf_offsets[-1]))
        feature, first, number = self.splits.feature, self.first_child, self.n_children
        inner = feature >= 0
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_offsets))
        if (self.leaf[inner] != -1).any() or first[~inner].any() or number[~inner].any():
            raise ParameterError("a node is neither a leaf nor an inner node")
        in_tree = (self.leaf >= self.leaf_offsets[tree]) & (self.leaf < self.leaf_offsets[tree + 1])
        if not in_tree[~inner].all():
            raise ParameterError("a leaf's id is not one of its tree's")
        if (number[inner] < 2).any():
            raise ParameterError("an inner node must have at least two children")
        multiway = inner & (number > 2)
        if (number[multiway] != self.domains.n_codes[feature[multiway]]).any():
            raise ParameterError("a multi-way node must have one child for each code of its feature")
        if (self.splits.set_index[multiway] != -1).any() or self.splits.missing_first[multiway].any():
            raise ParameterError("a multi-way node must not have a set, nor move the missing code")
        node = np.flatnonzero(inner)
        end = first[inner].astype(np.int64) + number[inner]
        # Children come after their parents, so there is no way round in circles.
        if (first[inner] <= node).any() or (end > self.tree_offsets[tree[inner] + 1]).any():
            raise ParameterError("a node's children must come after it, within its tree")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_offsets) - 1

    @cached_property
    def leaf_offsets(self) -> IntArray:
        """Where each tree's leaf ids begin; one entry more than there are trees."""
        return np.concatenate([[0], np.cumsum(self.leaves_per_tree)])

    @classmethod
    def join(cls, forests: Sequence["ExplicitTrees"]) -> "ExplicitTrees":
        """Put the trees of several forests over the same features side by side."""
        if not forests:
            raise ParameterError("join needs at least one forest")
        if len(forests) == 1:
            return forests[0]
        n_words = max(forest.splits.sets.shape[1] for forest in forests)
        set_base = np.cumsum([0] + [len(forest.splits.sets) for forest in forests])
        node_base = np.cumsum([0] + [forest.leaf.size for forest in forests])
        leaf_base = np.cumsum([0] + [forest.n_leaves for forest in forests])
        check_number_of_leaves(int(leaf_base[-1]))

        def moved(arrays: list[NDArray[np.int32]], base: IntArray, lowest: int) -> NDArray[np.int32]:
            parts = [np.where(array < lowest, array, array + by) for array, by in zip(arrays, base, strict=False)]
            return np.concatenate(parts).astype(np.int32)

        splits = [forest.splits for forest in forests]
        padded = [np.pad(part.sets, ((0, 0), (0, n_words - part.sets.shape[1]))) for part in splits]
        offsets = [forest.tree_offsets[:-1] + by for forest, by in zip(forests, node_base, strict=False)]
        return cls(
            forests[0].domains,
            Splits(
                np.concatenate([part.feature for part in splits]),
                np.concatenate([part.cut for part in splits]),
                np.concatenate([part.missing_first for part in splits]),
                moved([part.set_index for part in splits], set_base, 0),
                np.concatenate(padded),
            ),
            moved([forest.first_child for forest in forests], node_base, 1),
            np.concatenate([forest.n_children for forest in forests]),
            moved([forest.leaf for forest in forests], leaf_base, 0),
            np.concatenate([*offsets, node_base[-1:]]),
            np.concatenate([forest.leaves_per_tree for forest in forests]),
        )

    def explicit(self) -> "ExplicitTrees":
        """Return the trees as they are."""
        return self

    @cached_property
    def depths(self) -> IntArray:
        """The depth of each tree."""
        level = np.zeros(self.leaf.size, np.int64)
        _count_levels(self.first_child, self.n_children, level)
        return np.maximum.reduceat(level, self.tree_offsets[:-1])

    @cached_property
    def _tests(self) -> NodeTests:
        tests = self.splits.prepare(self.domains)
        tests.low[self.n_children > 2] = NEVER  # in a multi-way node the code alone says where to go
        return tests

    @cached_property
    def _nodes(self) -> Nodes:
        is_leaf = self.leaf >= 0
        first = np.where(is_leaf, np.arange(self.leaf.size), self.first_child).astype(np.uint32)
        by_code = np.where(self.n_children > 2, np.uint32(0xFFFFFFFF), np.uint32(0))
        records = np.zeros((self.leaf.size, 8), np.uint32)
        for place, part in enumerate((self._tests.offset, self._tests.low, self._tests.set_start, first, by_code)):
            records[:, place] = part
        return Nodes(first, by_code, self.leaf, self.tree_offsets[:-1], self.depths, records)

    def route_block(self, codes: NDArray[Any], start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop (a block at most) in trees from `first_tree` on, one a row of `out`."""
        block = np.zeros(self._tests.columns.source.size * BLOCK_ROWS, codes.dtype)
        explicit.route_explicit(codes, start, stop, self._tests, self._nodes, first_tree, block, out)

    def route_assigned(self, codes: NDArray[Any], trees: IntArray) -> NDArray[np.int32]:
        """Return the leaf id of each row in its own tree only; -1 where there is no such tree."""
        return explicit.route_explicit_assigned(codes, trees, self._tests, self._nodes)


@dataclass
class _Node:
    tree: int
    split: Split | None = None
    first_child: int = 0  # within the tree
    n_children: int = 0


class TreeBuilder:
    """Grows trees from their roots, all of one level at a time.

    Parameters
    ----------
    domains : FeatureCodes
        The features' codes.
    n_trees : int, default=1
        Number of trees. Their roots are the first open nodes, in order: a record's first node is its tree.

    Examples
    --------
    A greedy learner asks the table about all open nodes, decides, and lets the records move::

        builder = TreeBuilder(FeatureCodes.of(table.encoding))
        for level in range(max_depth):
            histogram = table.aggregate(NodeHistogram("node", builder.n_open, n_classes, n_codes))
            builder.grow([... a Split or None for each open node ...])
            table = table.derive("node", builder.step("node"))
        trees = builder.finish()
    """

    def __init__(self, domains: FeatureCodes, n_trees: int = 1) -> None:
        self._domains = domains
        self._trees: list[list[_Node]] = [[_Node(tree)] for tree in range(n_trees)]
        self._open = [nodes[0] for nodes in self._trees]
        self._parents = list[_Node]()

    @property
    def n_open(self) -> int:
        """Number of nodes that are neither split nor closed yet."""
        return len(self._open)

    @property
    def open_trees(self) -> list[int]:
        """The tree of each open node."""
        return [node.tree for node in self._open]

    def grow(self, splits: Sequence[Split | None]) -> None:
        """Split every open node, or make it a leaf where there is None; children are the next open nodes, in order."""
        if len(splits) != len(self._open):
            raise ParameterError(
                f"{len(self._open)} nodes are open, got {len(splits)} splits: give one, or None, for each"
            )
        self._parents, children = self._open, list[_Node]()
        for node, split in zip(self._parents, splits, strict=True):
            if split is None:
                continue
            nodes = self._trees[node.tree]
            n_codes = int(self._domains.n_codes[split.feature])
            node.split, node.first_child = split, len(nodes)
            node.n_children = n_codes if isinstance(split, Multiway) else 2
            born = [_Node(node.tree) for _ in range(node.n_children)]
            nodes.extend(born)
            children.extend(born)
        self._open = children

    def step(self, node_state: str = "node") -> StepDown:
        """Return the kernel that moves the records to the nodes that the last level grew."""
        feature, place = children_by_code(self._domains, [node.split for node in self._parents])
        n_children = np.array([node.n_children for node in self._parents], dtype=np.int32)
        first = np.cumsum(n_children, dtype=np.int32) - n_children
        child = np.where(n_children[:, np.newaxis] > 0, first[:, np.newaxis] + place, np.int32(-1))
        return StepDown(node_state, feature, child)

    def finish(self) -> ExplicitTrees:
        """Make all open nodes leaves and return the trees; leaves are numbered in the order of nodes."""
        self._open = []
        nodes = [node for tree in self._trees for node in tree]
        offsets = np.cumsum([0] + [len(tree) for tree in self._trees]).astype(np.int64)
        is_leaf = np.array([node.split is None for node in nodes])
        leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
        first = [0 if node.split is None else int(offsets[node.tree]) + node.first_child for node in nodes]
        return ExplicitTrees(
            self._domains,
            split_table(self._domains, [node.split for node in nodes]),
            np.array(first, dtype=np.int32),
            np.array([node.n_children for node in nodes], dtype=np.int32),
            leaf,
            offsets,
            np.add.reduceat(is_leaf.astype(np.int64), offsets[:-1]),
        )
