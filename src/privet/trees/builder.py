"""Growing trees level by level, as greedy learners do."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from privet.errors import ParameterError
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.features import Domains
from privet.trees.kernels.histogram import RouteStep
from privet.trees.splits import Splits


@dataclass(frozen=True)
class Threshold:
    """Codes up to `cut` go to the first child; missing ones as well if `missing_first`, else to the second."""

    feature: int
    cut: int
    missing_first: bool = False


@dataclass(frozen=True)
class Subset:
    """Codes in the set go to the second child, all others to the first."""

    feature: int
    codes: Collection[int]


@dataclass(frozen=True)
class Multiway:
    """Every code has its own child."""

    feature: int


Split = Threshold | Subset | Multiway


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
    domains : Domains
        The features' codes.
    n_trees : int, default=1
        Number of trees. Their roots are the first open nodes, in order: a record's first node is its tree.

    Examples
    --------
    A greedy learner asks the table about all open nodes, decides, and lets the records move::

        builder = TreeBuilder(Domains.of(table.encoding))
        for level in range(max_depth):
            histogram = table.aggregate(NodeHistogram("node", builder.n_open, n_classes, n_codes))
            builder.grow([... a Split or None for each open node ...])
            table = table.derive("node", builder.step("node"))
        trees = builder.finish()
    """

    def __init__(self, domains: Domains, n_trees: int = 1) -> None:
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

    def step(self, node_state: str = "node") -> RouteStep:
        """Return the kernel that moves the records to the nodes that the last level grew."""
        table, n_children = self._splits(self._parents), [node.n_children for node in self._parents]
        moved = table.missing_first
        missing = np.where(moved, self._domains.missing[np.maximum(table.feature, 0)], -1).astype(np.int32)
        return RouteStep(
            node_state,
            table.feature,
            table.cut,
            missing,
            table.set_index,
            table.sets,
            (np.cumsum(n_children) - n_children).astype(np.int32),
            np.array(n_children, dtype=np.int32),
        )

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
            self._splits(nodes),
            np.array(first, dtype=np.int32),
            np.array([node.n_children for node in nodes], dtype=np.int32),
            leaf,
            offsets,
            np.add.reduceat(is_leaf.astype(np.int64), offsets[:-1]),
        )

    def _splits(self, nodes: Sequence[_Node]) -> Splits:
        feature, cut, set_index = (np.full(len(nodes), empty, np.int32) for empty in (-1, 0, -1))
        missing_first = np.zeros(len(nodes), np.bool_)
        sets: list[int] = []
        for index, node in enumerate(nodes):
            match node.split:
                case Threshold():
                    feature[index], cut[index] = node.split.feature, node.split.cut
                    missing_first[index] = node.split.missing_first
                case Subset():
                    feature[index], set_index[index] = node.split.feature, len(sets)
                    sets.append(sum(1 << code for code in set(node.split.codes)))
                case Multiway():
                    feature[index] = node.split.feature
        n_words = max(1, -(-int(self._domains.n_codes.max()) // 64)) if sets else 1
        words = [[(bits >> 64 * word) & (2**64 - 1) for word in range(n_words)] for bits in sets]
        return Splits(
            feature, cut, missing_first, set_index, np.array(words, dtype=np.uint64).reshape(len(sets), n_words)
        )
