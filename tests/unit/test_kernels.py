"""Kernels over tables agree with plain twins, and do not depend on blocks or threads."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.schema.encoding import Encoding
from privet.tables import Block
from privet.trees.explicit_trees import TreeBuilder
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.kernels.histogram import NodeHistogram
from privet.trees.kernels.vote import count_labels, count_packed, pack_labels, sum_values
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes, Threshold
from tests.unit.forests import encodings, grown, plain_leaf, plain_route, random_codes, random_split, small_encoding

laws = settings(deadline=None, max_examples=40)
N_CLASSES = 3


def random_block(encoding: Encoding, n_rows: int, seed: int, **state: NDArray[Any]) -> Block:
    """Records with any codes and any class; some classes are unknown."""
    target = np.random.default_rng(seed).integers(-1, N_CLASSES + 1, n_rows).astype(np.int32)
    return Block(random_codes(encoding, n_rows, seed), target, np.arange(n_rows, dtype=np.uint64), state)


@laws
@given(encodings(), st.integers(0, 4), st.integers(0, 10**6))
def test_leaf_class_counts_count_every_known_record_once_in_every_tree(
    encoding: Encoding, depth: int, seed: int
) -> None:
    trees = grown(FeatureCodes.of(encoding), 3, depth, seed)
    block = random_block(encoding, 40, seed)
    expected = np.zeros((trees.n_leaves, N_CLASSES), np.int64)
    for leaves in plain_route(trees, block.codes):
        for leaf, target in zip(leaves, block.target, strict=True):
            if 0 <= target < N_CLASSES:
                expected[leaf, target] += 1
    counts = LeafClassCounts(trees, N_CLASSES)(block)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, expected)


@laws
@given(encodings(), st.integers(0, 4), st.integers(0, 10**6))
def test_leaf_class_counts_of_disjoint_parts_count_each_record_in_its_own_tree(
    encoding: Encoding, depth: int, seed: int
) -> None:
    trees = grown(FeatureCodes.of(encoding), 3, depth, seed)
    part = np.random.default_rng(seed).integers(0, 3, 40).astype(np.int32)
    block = random_block(encoding, 40, seed, part=part)
    expected = np.zeros((trees.n_leaves, N_CLASSES), np.int64)
    for row, target in enumerate(block.target):
        if 0 <= target < N_CLASSES:
            expected[plain_leaf(trees, block.codes[:, row], int(part[row])), target] += 1
    np.testing.assert_array_equal(LeafClassCounts(trees, N_CLASSES, "part")(block), expected)


def test_leaf_class_counts_add_up_over_blocks() -> None:
    encoding = small_encoding()
    trees = RandomTrees.draw(encoding, 1, 130, 5).materialise()  # more trees than are routed at once
    block = random_block(encoding, 3000, 0)
    kernel = LeafClassCounts(trees, N_CLASSES)

    def rows(which: slice) -> Block:
        return Block(block.codes[:, which], block.target[which], block.rows[which], {})

    whole = kernel(block)
    np.testing.assert_array_equal(whole, kernel(rows(slice(0, 1111))) + kernel(rows(slice(1111, None))))
    known = ((block.target >= 0) & (block.target < N_CLASSES)).sum()
    assert whole.sum() == 130 * known
    np.testing.assert_array_equal(kernel(rows(slice(0, 0))), np.zeros_like(whole))


@laws
@given(encodings(), st.integers(1, 5), st.integers(0, 10**6))
def test_node_histogram_counts_by_node_feature_code_and_class(encoding: Encoding, n_nodes: int, seed: int) -> None:
    node = np.random.default_rng(seed).integers(-1, n_nodes + 1, 50).astype(np.int32)
    block = random_block(encoding, 50, seed, node=node)
    kernel = NodeHistogram("node", n_nodes, N_CLASSES, tuple(encoding.n_codes.tolist()))
    offsets = kernel.feature_offsets
    expected = np.zeros((n_nodes, offsets[-1], N_CLASSES), np.int64)
    for row in range(50):
        if 0 <= node[row] < n_nodes and 0 <= block.target[row] < N_CLASSES:
            for feature in range(encoding.n_features):
                expected[node[row], offsets[feature] + block.codes[feature, row], block.target[row]] += 1
    counts = kernel(block)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, expected)


@laws
@given(encodings(), st.integers(0, 10**6))
def test_route_steps_lead_every_record_where_the_finished_trees_send_it(encoding: Encoding, seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains, n_trees = FeatureCodes.of(encoding), 2
    builder = TreeBuilder(domains, n_trees)
    node = rng.integers(0, n_trees, 40).astype(np.int32)
    tree = node.copy()
    block = random_block(encoding, 40, seed)
    closed_by: dict[tuple[int, int], set[int]] = {}
    levels = []
    for level in range(4):
        last = level == 3
        splits = [None if last or rng.random() < 0.3 else random_split(domains, rng) for _ in range(builder.n_open)]
        for row, here in enumerate(node):
            if here >= 0 and splits[here] is None:
                closed_by.setdefault((level, int(here)), set()).add(row)
        builder.grow(splits)
        step = builder.step()
        node = step(Block(block.codes, block.target, block.rows, {"node": node}))
        levels.append(node)
        assert ((node >= -1) & (node < max(builder.n_open, 1))).all()
    assert builder.n_open == 0
    leaves = builder.finish().route_assigned(block.codes, tree.astype(np.int64))
    # records that were at one open node when it became a leaf share a leaf, and no others do
    assert sorted(map(sorted, closed_by.values())) == sorted(
        np.flatnonzero(leaves == leaf).tolist() for leaf in np.unique(leaves)
    )


def test_a_builder_wants_one_split_for_each_open_node() -> None:
    builder = TreeBuilder(FeatureCodes.of(small_encoding()), 2)
    with pytest.raises(ParameterError, match="2 nodes are open, got 1"):
        builder.grow([Threshold(0, 1)])
    builder.grow([Threshold(0, 1), None])
    assert builder.open_trees == [0, 0]


@laws
@given(encodings(), st.integers(0, 4), st.integers(0, 10**6), st.sampled_from((2, N_CLASSES)))
def test_summed_values_are_the_sums_over_trees_in_their_order(
    encoding: Encoding, depth: int, seed: int, n_classes: int
) -> None:
    trees = grown(FeatureCodes.of(encoding), 3 + seed % 5, depth, seed)
    codes = random_codes(encoding, 30, seed)
    values = np.random.default_rng(seed).random((trees.n_leaves, n_classes))
    expected = np.zeros((30, n_classes))
    for leaves in plain_route(trees, codes):
        expected += values[leaves]
    np.testing.assert_array_equal(sum_values(trees, codes, values), expected)


@laws
@given(encodings(), st.integers(0, 4), st.integers(0, 10**6), st.integers(1, 6))
def test_counted_labels_leave_out_those_that_abstain(encoding: Encoding, depth: int, seed: int, n_classes: int) -> None:
    trees = grown(FeatureCodes.of(encoding), 3, depth, seed)
    codes = random_codes(encoding, 30, seed)
    labels = np.random.default_rng(seed).integers(0, n_classes + 1, trees.n_leaves).astype(np.uint16)
    labels[labels == n_classes] = (n_classes, 65_535)[seed % 2]
    expected = np.zeros((30, n_classes), np.int32)
    for leaves in plain_route(trees, codes):
        for row, leaf in enumerate(leaves):
            if labels[leaf] < n_classes:
                expected[row, labels[leaf]] += 1
    counted, packed = count_labels(trees, codes, labels, n_classes), pack_labels(labels, n_classes)
    assert counted.dtype == np.int32
    np.testing.assert_array_equal(counted, expected)
    assert (packed is not None) == (n_classes < 4 or (n_classes == 4 and labels.max() < 4))
    if packed is not None:
        np.testing.assert_array_equal(count_packed(trees, codes, packed, n_classes), expected)


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
def test_votes_are_the_same_to_the_bit_on_any_number_of_threads(n_jobs: int) -> None:
    encoding = small_encoding()
    trees = RandomTrees.draw(encoding, 9, 150, 6).materialise()
    codes = random_codes(encoding, 5000, 2)
    values = np.random.default_rng(0).random((trees.n_leaves, N_CLASSES))
    labels = values.argmax(axis=1).astype(np.uint16)
    np.testing.assert_array_equal(sum_values(trees, codes, values), sum_values(trees, codes, values, n_jobs))
    one, many = (count_labels(trees, codes, labels, N_CLASSES, jobs) for jobs in (1, n_jobs))
    np.testing.assert_array_equal(one, many)
    packed = pack_labels(labels, N_CLASSES)
    assert packed is not None
    np.testing.assert_array_equal(count_packed(trees, codes, packed, N_CLASSES, n_jobs), one)


@laws
@given(encodings(), st.integers(0, 10**6), st.integers(0, 5), st.integers(1, 6))
def test_counts_of_some_trees_are_those_rows_of_all_counts(encoding: Encoding, seed: int, first: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    trees = grown(FeatureCodes.of(encoding), 6, 3, seed)
    some = (first, min(first + n, 6))
    codes, target = random_codes(encoding, 60, seed), rng.integers(-1, N_CLASSES, 60).astype(np.int32)
    block = Block(codes, target, np.arange(60, dtype=np.uint64), {"tree": rng.integers(-1, 7, 60)})
    rows = slice(int(trees.leaf_offsets[some[0]]), int(trees.leaf_offsets[some[1]]))
    for part in (None, "tree"):
        whole = LeafClassCounts(trees, N_CLASSES, part)(block)
        np.testing.assert_array_equal(LeafClassCounts(trees, N_CLASSES, part, some)(block), whole[rows])
