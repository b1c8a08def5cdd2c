"""Random encodings, structures and plain twins of the routing kernels, for the tests of kernels, structure, models."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.schema.encoding import ClassTarget, Column, Encoding
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees, TreeBuilder
from privet.trees.structure import FeatureCodes, Multiway, Split, Subset, Threshold

SIZES = st.one_of(st.integers(1, 5), st.integers(60, 70), st.just(256), st.just(300))


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    """A feature of either kind, of one value up to more than a byte can count, with or without a missing code."""
    n_values, missing = draw(SIZES), draw(st.booleans())
    if draw(st.booleans()):
        cuts = tuple(float(cut) for cut in range(n_values - 1))
        return Column(name, True, n_values, cuts, (), None, n_values if missing else None)
    other = draw(st.booleans())
    categories = tuple(range(n_values))
    other_code = n_values if other else None
    return Column(name, False, n_values, (), categories, other_code, n_values + other if missing else None)


@st.composite
def encodings(draw: st.DrawFn, n_classes: int = 3, splittable: bool = True) -> Encoding:
    """One to five features; at least one can be split."""
    features = [draw(columns(f"x{i}")) for i in range(draw(st.integers(1, 5)))]
    if splittable:
        features.append(Column("last", True, 4, (0.0, 1.0, 2.0), (), None, 4))
    return Encoding(tuple(features), ClassTarget(tuple(f"class {k}" for k in range(n_classes))))


def small_encoding(n_classes: int = 3) -> Encoding:
    """Both kinds of features, one with missing values, one that cannot be split."""
    features = (
        Column("age", True, 8, tuple(float(cut) for cut in range(7)), (), None, 8),
        Column("size", True, 5, (0.5, 1.5, 2.5, 3.5), (), None, None),
        Column("constant", True, 1, (), (), None, None),
        Column("colour", False, 3, (), ("red", "green", "blue"), None, None),
        Column("shape", False, 5, (), ("a", "b", "c", "d", "e"), 5, 6),
        Column("flag", False, 2, (), (False, True), None, None),
    )
    return Encoding(features, ClassTarget(tuple(f"class {k}" for k in range(n_classes))))


def random_codes(encoding: Encoding, n_rows: int, seed: int) -> NDArray[Any]:
    """Uniformly random codes of every feature."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, column.n_codes, n_rows) for column in encoding.columns]
    return np.array(codes, dtype=encoding.dtype).reshape(encoding.n_features, n_rows)


def random_split(domains: FeatureCodes, rng: np.random.Generator, multiway: bool = True) -> Split | None:
    """Any kind of split that a feature allows."""
    feature = int(rng.integers(domains.n_features))
    n_codes = int(domains.n_codes[feature])
    if n_codes < 2:
        return None
    kind = rng.integers(3)
    if kind == 0:
        missing_first = bool(domains.missing[feature] >= 0 and rng.integers(2))
        return Threshold(feature, int(rng.integers(n_codes)), missing_first)
    if kind == 1:
        return Subset(feature, tuple(np.flatnonzero(rng.integers(0, 2, n_codes)).tolist()))
    return Multiway(feature) if multiway and n_codes <= 10 else Threshold(feature, int(rng.integers(n_codes)))


def grown(domains: FeatureCodes, n_trees: int, depth: int, seed: int) -> ExplicitTrees:
    """Trees with all kinds of nodes, and leaves on every level."""
    rng = np.random.default_rng(seed)
    builder = TreeBuilder(domains, n_trees)
    for _ in range(depth):
        builder.grow([random_split(domains, rng) if rng.random() < 0.8 else None for _ in range(builder.n_open)])
    return builder.finish()


def second_child(trees: CompleteTrees | ExplicitTrees, node: Any, code: int) -> bool:
    """The meaning of a two-way split, in plain words."""
    splits, feature = trees.splits, trees.splits.feature[node]
    if splits.set_index[node] >= 0:
        row = splits.sets[splits.set_index[node]]
        return bool((int(row[code // 64]) >> (code % 64)) & 1)
    if splits.missing_first[node] and code == trees.domains.missing[feature]:
        return False
    return bool(code > splits.cut[node])


def plain_leaf(trees: CompleteTrees | ExplicitTrees, row: NDArray[Any], tree: int) -> int:
    """The leaf id of one row in one tree, step by step."""
    if isinstance(trees, CompleteTrees):
        node = 0
        for _ in range(trees.depth):
            node = 2 * node + 1 + second_child(trees, (tree, node), int(row[trees.splits.feature[tree, node]]))
        return int(trees.leaf_offsets[tree]) + node - (2**trees.depth - 1)
    at = int(trees.tree_offsets[tree])
    while trees.leaf[at] < 0:
        code = int(row[trees.splits.feature[at]])
        child = code if trees.n_children[at] > 2 else int(second_child(trees, at, code))
        at = int(trees.first_child[at]) + child
    return int(trees.leaf[at])


def plain_route(trees: CompleteTrees | ExplicitTrees, codes: NDArray[Any]) -> NDArray[np.int64]:
    """All leaf ids, one at a time."""
    rows = codes.T
    return np.array([[plain_leaf(trees, row, tree) for row in rows] for tree in range(trees.n_trees)], dtype=np.int64)
