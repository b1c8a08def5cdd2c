"""Counting by bits gives the very counts that routing gives."""

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.tables import Block
from privet.trees.kernels.bits import GROUP_ROWS
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.random_trees import RandomTrees

# Sets of two codes are thresholds; a missing code may go to either side.
FEATURES = {
    "few": Numeric(0, 1, bins=3, missing=True),
    "many": Numeric(0, 1, bins=255, missing=True),
    "plain": Numeric(0, 1, bins=17),
    "two": Categorical(["a", "b"]),
}
WIDE = {"wide": Numeric(0, 1, bins=600, missing=True), "plain": Numeric(0, 1, bins=17)}  # codes of two bytes


def counted_one_by_one(trees, block, n_classes):
    counts = np.zeros((trees.n_leaves, n_classes), np.int64)
    known = (block.target >= 0) & (block.target < n_classes)
    for leaves in trees.route(block.codes):
        np.add.at(counts, (leaves[known], block.target[known]), 1)
    return counts


@pytest.mark.parametrize("depth", [3, 4, 6, 8])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("features", [FEATURES, WIDE], ids=["bytes", "words"])
def test_bits_count_every_known_record_where_routing_sends_it(features, depth, n_classes):
    encoding = Schema(features, classes=[0, 1]).encoding()
    trees = RandomTrees.draw(encoding, 7, 20, depth).materialise()
    assert trees.in_bits is not None
    rng = np.random.default_rng(depth)
    for n_rows in (GROUP_ROWS * n_classes, GROUP_ROWS * n_classes + 777):
        # any code that the type can hold, also such as no feature has
        codes = rng.integers(0, np.iinfo(encoding.dtype).max + 1, (len(features), n_rows)).astype(encoding.dtype)
        codes[:, : n_rows // 2] = codes[:, : n_rows // 2] % encoding.n_codes[:, None]
        target = rng.integers(-1, n_classes + 1, n_rows).astype(np.int32)
        target[: n_rows // 3] = 0  # classes of different sizes
        block = Block(codes, target, np.arange(n_rows, dtype=np.uint64), {})
        counts = LeafClassCounts(trees, n_classes)(block)
        np.testing.assert_array_equal(counts, counted_one_by_one(trees, block, n_classes))


@pytest.mark.parametrize(
    ("n_trees", "depth", "features"),
    [(4, 6, FEATURES), (20, 2, FEATURES), (20, 9, FEATURES), (20, 6, {"three": Categorical(["a", "b", "c"])})],
    ids=["few trees", "shallow", "deep", "sets"],
)
def test_forests_that_would_not_gain_are_not_counted_by_bits(n_trees, depth, features):
    encoding = Schema(features, classes=[0, 1]).encoding()
    assert RandomTrees.draw(encoding, 7, n_trees, depth).materialise().in_bits is None
