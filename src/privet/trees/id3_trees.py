"""ID3-style random trees: at every node a random feature that the path has not used, and a child for each code."""

from collections.abc import Sequence

import numpy as np

from privet.errors import ParameterError
from privet.randomness.public import PublicRng
from privet.tables.protocol import IntArray
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.structure import FeatureCodes, Splits

_DRAWS_AT_ONCE = 1 << 20  # 8 MB


def draw_id3_trees(
    domains: FeatureCodes, rng: PublicRng, n_trees: int, depth: int, features: Sequence[int] | None = None
) -> ExplicitTrees:
    """Draw trees (Tajima et al. 2025, Algorithm 1, BuildTree); siblings draw independently.

    Parameters
    ----------
    domains : FeatureCodes
        The features' codes.
    rng : Generator
        Public randomness.
    n_trees, depth : int
        Number of trees, and of features on every path; fewer where features run out.
    features : sequence of int, optional
        The features to choose from; by default all. Those with a single code are never chosen.
    """
    allowed = np.arange(domains.n_features) if features is None else np.array(sorted(features), dtype=np.int64)
    allowed = allowed[domains.n_codes[allowed] > 1]
    if not allowed.size:
        raise ParameterError("no feature has more than one value, so there is nothing to split: declare more values")
    sizes = domains.n_codes[allowed]
    tree, path = np.arange(n_trees), np.zeros((n_trees, 0), np.int64)  # path: which features a node's path has used
    levels: list[tuple[IntArray, IntArray, IntArray]] = []  # tree, feature, number of children
    for _ in range(min(depth, allowed.size)):
        chosen = _unused(path, allowed.size, rng)
        children = sizes[chosen]
        levels.append((tree, allowed[chosen], children))
        path = np.column_stack([path, chosen])
        tree, path = np.repeat(tree, children), np.repeat(path, children, axis=0)
    levels.append((tree, np.full(len(tree), -1), np.zeros(len(tree), np.int64)))
    return _assemble(domains, n_trees, levels)


def _unused(path: IntArray, n_features: int, rng: PublicRng) -> IntArray:
    """Draw for each node a feature that is not on its path, some nodes at a time: memory does not grow with them."""
    chosen = np.zeros(len(path), np.int64)
    at_once = max(1, _DRAWS_AT_ONCE // n_features)
    for start in range(0, len(path), at_once):
        here = path[start : start + at_once]
        draws = rng.random((len(here), n_features))
        np.put_along_axis(draws, here, -1.0, axis=1)
        chosen[start : start + at_once] = draws.argmax(axis=1)
    return chosen


def _assemble(domains: FeatureCodes, n_trees: int, levels: list[tuple[IntArray, IntArray, IntArray]]) -> ExplicitTrees:
    """Put the nodes of all levels into the order of trees; a stable sort keeps siblings together, after parents."""
    tree, feature, n_children = (np.concatenate(arrays) for arrays in zip(*levels, strict=True))
    starts = np.cumsum([0] + [len(level[0]) for level in levels])
    first_child = np.zeros(len(tree), np.int64)
    for place, (_, _, children) in enumerate(levels[:-1]):
        first_child[starts[place] : starts[place + 1]] = starts[place + 1] + np.cumsum(children) - children
    order = np.argsort(tree, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    inner = feature >= 0
    first_child = np.where(inner, position[first_child], 0)[order]
    is_leaf = ~inner[order]
    leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    n_nodes = len(order)
    splits = Splits(
        feature[order].astype(np.int32),
        np.zeros(n_nodes, np.int32),  # with two codes: the first to the first child, the second to the second
        np.zeros(n_nodes, np.bool_),
        np.full(n_nodes, -1, np.int32),
        np.zeros((0, 1), np.uint64),
    )
    return ExplicitTrees(
        domains,
        splits,
        first_child.astype(np.int32),
        n_children[order].astype(np.int32),
        leaf.astype(np.int32),
        np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=n_trees))]).astype(np.int64),
        np.bincount(tree[~inner], minlength=n_trees).astype(np.int64),
    )
