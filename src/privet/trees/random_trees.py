"""Random trees as a pure function of a public seed; written down only if asked, and only if they are small."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels import implicit, one_hash
from privet.trees.kernels.fill_multiway import fill_multiway
from privet.trees.kernels.implicit import Lanes, MultiwayTable, RandomRule
from privet.trees.structure import FeatureCodes, Splits, Trees, check_number_of_leaves, n_words

_WITHOUT_KNOWLEDGE = 8 << 30
_ARRAYS = 4  # the sum, one block's counts, the noise, and the leaves' shares


def check_leaves_fit(n_leaves: int, n_classes: int) -> None:
    """Refuse a forest whose leaf counts would take more than half of this machine's memory.

    Raises
    ------
    ParameterError
        With the memory that would be needed, and the remedy.
    """
    needed = _ARRAYS * 8 * n_classes * n_leaves
    allowed = memory_of_machine() // 2
    if needed > allowed:
        raise ParameterError(
            f"{n_leaves} leaves with {n_classes} classes need about {needed / 2**30:.1f} GB, but at most "
            f"{allowed / 2**30:.1f} GB may be used here: take fewer trees (n_trees) or less depth (max_depth)"
        )


def memory_of_machine() -> int:
    """Return the bytes of physical memory, or a modest guess where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _WITHOUT_KNOWLEDGE


Rule = Literal["binary", "multiway", "multiway_2"]
RULES = ("binary", "multiway", "multiway_2")

MAX_LEAVES = 65_536
MOST_NODES = 1 << 22  # of a structure that is written down: some 60 MB
_BYTES_PER_NODE = 16
_MOST_TREES = 1 << 20
_LANES = 256  # rows that are routed side by side by the first way of drawing multi-way trees
_FEW = 4  # features for each level: to write all of them anew is quicker than to remember which were split
_MOST_DEPTH = 62  # a path of the binary rule is a number of 64 bits


@dataclass(frozen=True, eq=False)
class RandomTrees(Trees):
    """Trees whose every node is a hash of the public seed, the tree's number and the path to the node.

    Parameters
    ----------
    domains : FeatureCodes
        The features' codes.
    seed : int
        The public seed, 64 bits. Equal seeds give equal trees on every machine.
    n_trees : int
        Number of trees.
    depth : int
        Number of splits from the root to a leaf; multi-way trees may end earlier.
    rule : {"binary", "multiway", "multiway_2"}
        *binary* (Bojarski et al.): complete trees; a uniformly random feature at every node; of an ordered feature a
        uniformly random inner cut, of an unordered one a uniformly random set of codes, neither empty nor full.
        *multiway* (Fletcher and Islam, Algorithm 2): a uniformly random feature among those that can still be split;
        an ordered feature at a uniformly random cut of the node's current interval, again and again; an unordered
        one into all its codes, at most once on a path. A node where nothing can be split is a leaf.
        *multiway_2*: the same law, drawn by one hash a node instead of a chain of them, so that rows get to their
        leaves some ten times faster. Equal seeds give other trees than under *multiway*, which files name that were
        written before there was this rule.
        Under all rules missing values of an ordered feature go to a uniformly random side.
    max_leaves : int, default=65536
        A tree that could have more leaves shares this number of buckets among them, by a public hash of the path.
        Multi-way trees always do.
    """

    domains: FeatureCodes
    seed: int
    n_trees: int
    depth: int
    rule: Rule = "binary"
    max_leaves: int = MAX_LEAVES

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**64:
            raise ParameterError(f"seed must be from 0 to 2**64 - 1, got {self.seed}")
        if not 1 <= self.n_trees <= _MOST_TREES or not 0 <= self.depth <= _MOST_DEPTH or self.max_leaves < 1:
            raise ParameterError(
                f"n_trees must be from 1 to {_MOST_TREES}, depth from 0 to {_MOST_DEPTH} and max_leaves at least 1, "
                f"got {self.n_trees}, {self.depth} and {self.max_leaves}"
            )
        if self.rule not in RULES:
            raise ParameterError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        if self.rule == "binary" and self.depth and not self.domains.splittable.size:
            raise ParameterError(
                "no feature has more than one value, so there is nothing to split: declare more values"
            )
        check_number_of_leaves(self.n_trees * self.leaves_per_tree)

    @classmethod
    def draw(
        cls,
        encoding: Encoding,
        seed: int,
        n_trees: int,
        depth: int,
        rule: Rule = "binary",
        max_leaves: int = MAX_LEAVES,
    ) -> Self:
        """Make the trees for an encoding's features."""
        return cls(FeatureCodes.of(encoding), seed, n_trees, depth, rule, max_leaves)

    @property
    def in_buckets(self) -> bool:
        """Whether leaves share buckets."""
        return self.rule != "binary" or self.max_leaves < 1 << self.depth

    @property
    def leaves_per_tree(self) -> int:
        """Number of leaf ids of each tree."""
        return self.max_leaves if self.in_buckets else 1 << self.depth

    @property
    def leaf_offsets(self) -> IntArray:
        """Where each tree's leaf ids begin; one entry more than there are trees."""
        return np.arange(self.n_trees + 1, dtype=np.int64) * self.leaves_per_tree

    def route_block(self, codes: NDArray[Any], start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop (a block at most) in trees from `first_tree` on, one a row of `out`."""
        self._route(codes, start, stop, np.zeros(0, np.int64), first_tree, out)

    def route_assigned(self, codes: NDArray[Any], trees: IntArray) -> NDArray[np.int32]:
        """Return the leaf id of each row in its own tree only; -1 where there is no such tree."""
        leaves = np.full((1, trees.size), -1, np.int32)
        if trees.size:
            self._route(codes, 0, trees.size, trees, 0, leaves)
        assigned: NDArray[np.int32] = leaves[0]
        return assigned

    def _route(
        self, codes: NDArray[Any], start: int, stop: int, trees: IntArray, first_tree: int, out: NDArray[np.int32]
    ) -> None:
        if self.rule == "binary":
            subset = np.zeros(n_words(int(self.domains.n_codes.max())), np.uint64)
            implicit.route_binary(codes, start, stop, trees, first_tree, self._rule, subset, out)
            return
        if self.rule == "multiway_2":
            self._route_side_by_side(codes, start, stop, trees, first_tree, out)
            return
        word, begun, feature, cut, child = np.zeros((5, _LANES), np.uint64)
        spans = np.zeros((self.domains.n_features, _LANES), np.uint64)
        lanes = Lanes(word, begun, feature, cut, child, np.zeros(_LANES, np.int64), spans)
        implicit.route_multiway(codes, start, stop, trees, first_tree, self._rule, self._table, lanes, out)

    def _route_side_by_side(
        self, codes: NDArray[Any], start: int, stop: int, trees: IntArray, first_tree: int, out: NDArray[np.int32]
    ) -> None:
        n_features = self._features.source.size
        depth = self.depth if n_features else 0
        few = n_features <= _FEW * depth
        word, mine = np.zeros(one_hash.LANES, np.uint64), np.zeros(one_hash.LANES, np.uint32)
        at = np.zeros((1 if few else depth, one_hash.LANES), np.uint32)
        entries, fresh = np.zeros((2, n_features * one_hash.LANES), np.uint32)
        lanes = one_hash.DescendingLanes(word, mine, at, entries, fresh)
        one_hash.route_side_by_side(
            codes, start, stop, trees, first_tree, self._roots, depth, self.max_leaves, self._features, lanes, out
        )

    @cached_property
    def _features(self) -> one_hash.Features:
        domains, source = self.domains, self.domains.splittable
        missing = domains.missing[source]
        return one_hash.Features(
            source,
            (domains.n_cells[source] - 1).astype(np.uint64),
            np.where(missing >= 0, missing, one_hash.NEVER_MISSING).astype(np.uint64),
            np.where(domains.ordered[source], domains.n_cells[source] - 1, one_hash.UNORDERED).astype(np.uint64),
        )

    @cached_property
    def _roots(self) -> NDArray[np.uint64]:
        seed = np.uint64(self.seed)
        return np.array([one_hash.root_of(seed, np.int64(tree)) for tree in range(self.n_trees)], np.uint64)

    @cached_property
    def _table(self) -> MultiwayTable:
        domains = self.domains
        whole = (domains.n_cells - 1).astype(np.uint64) << np.uint64(16)
        return MultiwayTable(whole, np.where(domains.ordered, -1, domains.n_codes - 1))

    @cached_property
    def _rule(self) -> RandomRule:
        domains = self.domains
        return RandomRule(
            self.rule == "multiway_2",
            np.uint64(self.seed),
            self.n_trees,
            self.depth,
            self.max_leaves,
            self.leaves_per_tree,
            domains.splittable,
            domains.ordered,
            domains.n_cells,
            domains.n_codes,
            domains.missing,
        )

    def materialise(self, most_nodes: int = MOST_NODES) -> CompleteTrees | ExplicitTrees:
        """Write the trees down; routing then gives the same leaf ids, faster.

        Raises
        ------
        ParameterError
            If there are more than `most_nodes` nodes, or binary trees share buckets among their leaves.
        """
        if self.rule != "binary":
            return self._materialise_multiway(most_nodes)
        n_nodes = self.n_trees * ((1 << self.depth) - 1)
        if self.in_buckets:
            raise ParameterError(
                f"{1 << self.depth} leaves a tree share {self.max_leaves} buckets, so the trees stay as they are: "
                "route with them directly, or raise max_leaves"
            )
        if n_nodes > most_nodes:
            raise ParameterError(
                f"{self.n_trees} trees of depth {self.depth} have {n_nodes} nodes and "
                f"{self.n_leaves} leaves, some {n_nodes * _BYTES_PER_NODE >> 20} MB; the most is {most_nodes} nodes: "
                "route with the trees directly, or raise most_nodes"
            )
        domains, shape = self.domains, (self.n_trees, (1 << self.depth) - 1)
        feature, cut = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        missing_first, set_index = np.zeros(shape, np.bool_), np.full(shape, -1, np.int32)
        n_sets = implicit.fill_binary(self._rule, feature, cut, missing_first)
        widest = int(domains.n_codes[~domains.ordered].max(initial=1))
        sets = np.zeros((n_sets, n_words(widest)), np.uint64)
        implicit.fill_subsets(self._rule, feature, cut, set_index, sets)
        return CompleteTrees(domains, Splits(feature, cut, missing_first, set_index, sets))

    def _materialise_multiway(self, most_nodes: int) -> ExplicitTrees:
        domains = self.domains
        for room in (min(most_nodes, 1 << 12), min(most_nodes, 1 << 17), most_nodes):
            feature, cut = np.zeros(room, np.int32), np.zeros(room, np.int32)
            first_child, n_children = np.zeros(room, np.int32), np.zeros(room, np.int32)
            missing_first, bucket = np.zeros(room, np.bool_), np.full(room, -1, np.int32)
            offsets = np.zeros(self.n_trees + 1, np.int64)
            fits = fill_multiway(self._rule, feature, cut, missing_first, first_child, n_children, bucket, offsets)
            if fits:
                break
        else:
            raise ParameterError(
                f"{self.n_trees} multi-way trees of depth {self.depth} have more than {most_nodes} nodes, "
                f"{most_nodes * _BYTES_PER_NODE >> 20} MB: route with the trees directly, or raise most_nodes"
            )
        used = int(offsets[-1])
        tree = np.repeat(np.arange(self.n_trees), np.diff(offsets))
        bucket = bucket[:used]
        leaf = np.where(bucket >= 0, bucket + tree * self.max_leaves, -1).astype(np.int32)
        splits = Splits(
            feature[:used], cut[:used], missing_first[:used], np.full(used, -1, np.int32), np.zeros((0, 1), np.uint64)
        )
        per_tree = np.diff(self.leaf_offsets)
        return ExplicitTrees(domains, splits, first_child[:used], n_children[:used], leaf, offsets, per_tree)

    def explicit(self) -> ExplicitTrees:
        """Write the trees down node by node; leaf ids stay the same. As `materialise`, refuses large trees."""
        return self.materialise().explicit()

    def materialise_if_small(self, most_nodes: int = MOST_NODES) -> CompleteTrees | ExplicitTrees | Self:
        """Write the trees down if they are small, for speed; else return them as they are. Leaf ids are the same."""
        if self.rule == "binary" and (self.in_buckets or self.n_trees << self.depth > most_nodes):
            return self
        try:
            return self.materialise(most_nodes)
        except ParameterError:
            return self


MOST_STORED_NODES = 1 << 20  # some 20 MB, a few of them in a file


def with_own_leaves(trees: RandomTrees, most_nodes: int = MOST_STORED_NODES) -> ExplicitTrees | RandomTrees:
    """Write small trees down and number their leaves one by one; return large ones as they are, leaves in buckets.

    Parameters
    ----------
    trees : RandomTrees
        Multi-way trees.
    most_nodes : int
        How many nodes all trees together may have to be small.

    Notes
    -----
    *Privacy.* The choice and the numbers are functions of the public seed and the schema. Both ways every leaf id
    exists whether or not any record reaches it.
    """
    written = trees.materialise_if_small(most_nodes)
    if not isinstance(written, ExplicitTrees):
        return trees
    is_leaf = written.leaf >= 0
    tree = np.repeat(np.arange(written.n_trees), np.diff(written.tree_offsets))
    per_tree = np.bincount(tree[is_leaf], minlength=written.n_trees).astype(np.int64)
    if per_tree.max() > trees.max_leaves:
        return trees
    leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    return replace(written, leaf=leaf, leaves_per_tree=per_tree)
