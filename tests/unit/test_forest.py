"""A forest's votes follow from its released leaves by the stated rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.models.forest import Forest, LeafCounts, LeafLabels, estimate_bytes
from privet.trees.explicit_trees import ExplicitTrees, TreeBuilder
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes, Threshold
from tests.unit.forests import encodings, grown, random_codes, small_encoding

laws = settings(deadline=None, max_examples=40)


def two_level_forest(counts: list[list[int]], empty: Any = "back_off", voting: Any = "threshold") -> Forest:
    """One complete tree of depth two."""
    encoding = small_encoding(n_classes=len(counts[0]))
    trees = RandomTrees.draw(encoding, 0, 1, 2).materialise()
    return Forest(encoding, trees, LeafCounts(np.array(counts, dtype=np.int64), empty, 5), voting)


def shares(forest: Forest) -> NDArray[np.float64]:
    assert isinstance(forest.leaves, LeafCounts)
    return forest.leaves.shares(forest.structure)


def test_negative_counts_are_taken_as_zero() -> None:
    forest = two_level_forest([[3, 1], [-5, 2], [4, -1], [0, 7]])
    np.testing.assert_array_equal(shares(forest), [[0.75, 0.25], [0, 1], [1, 0], [0, 1]])


def test_an_empty_leaf_takes_the_shares_of_the_smallest_subtree_that_is_not_empty() -> None:
    forest = two_level_forest([[-2, 0], [8, 4], [-3, -1], [1, -9]])
    # leaf 0: its sibling's counts less its own; leaf 2: (-2, -10) is empty too, so the root's (4, -6)
    np.testing.assert_allclose(shares(forest), [[0.6, 0.4], [2 / 3, 1 / 3], [1, 0], [1, 0]], rtol=1e-15)


def test_a_tree_without_any_positive_sum_gives_equal_shares() -> None:
    forest = two_level_forest([[-1, 0, -3]] * 4)
    np.testing.assert_array_equal(shares(forest), np.full((4, 3), 1 / 3))


def plain_back_off(trees: ExplicitTrees, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Walk up from every leaf, summing over all leaves below."""
    parent = {
        int(trees.first_child[node]) + k: node for node in range(trees.leaf.size) for k in range(trees.n_children[node])
    }

    def below(node: int) -> list[int]:
        if trees.leaf[node] >= 0:
            return [int(trees.leaf[node])]
        return [leaf for k in range(trees.n_children[node]) for leaf in below(int(trees.first_child[node]) + k)]

    result = np.full(counts.shape, 1 / counts.shape[1])
    for leaf_node in np.flatnonzero(trees.leaf >= 0):
        node: int | None = int(leaf_node)
        while node is not None:
            positive = np.maximum(counts[below(node)].sum(axis=0), 0)
            if positive.sum() > 0:
                result[trees.leaf[leaf_node]] = positive / positive.sum()
                break
            node = parent.get(node)
    return result


@laws
@given(encodings(), st.integers(0, 4), st.integers(0, 10**6))
def test_trees_of_any_shape_back_off_the_same_way(encoding: Any, depth: int, seed: int) -> None:
    trees = grown(FeatureCodes.of(encoding), 2, depth, seed)
    counts = np.random.default_rng(seed).integers(-6, 4, (trees.n_leaves, 3))
    np.testing.assert_allclose(LeafCounts(counts).shares(trees), plain_back_off(trees, counts), rtol=1e-12)


def test_buckets_back_off_to_the_whole_tree() -> None:
    encoding = small_encoding(2)
    counts = np.array([[-1, -1], [6, 2], [-1, -1], [-3, 5]])
    drawn = RandomTrees.draw(encoding, 3, 2, 4, "multiway", max_leaves=2)
    expected = [[5 / 6, 1 / 6], [0.75, 0.25], [0, 1], [0, 1]]
    np.testing.assert_allclose(LeafCounts(counts).shares(drawn), expected)
    np.testing.assert_allclose(LeafCounts(counts).shares(drawn.materialise()), expected)


def test_the_papers_rule_draws_shares_where_a_count_is_negative_or_all_are_zero() -> None:
    forest = two_level_forest([[3, 1], [-1, 9], [0, 0], [0, 4]], empty="random")
    result = shares(forest)
    np.testing.assert_array_equal(result[[0, 3]], [[0.75, 0.25], [0, 1]])
    np.testing.assert_allclose(result.sum(axis=1), 1)
    assert len(set(result[:, 0])) == 4
    np.testing.assert_array_equal(result, shares(two_level_forest([[3, 1], [-1, 9], [0, 0], [0, 4]], empty="random")))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_random_shares_are_uniform_on_the_simplex(n_classes: int) -> None:
    encoding = small_encoding(n_classes)
    trees = RandomTrees.draw(encoding, 0, 4, 12)
    result = LeafCounts(np.full((trees.n_leaves, n_classes), -1), "random", 77).shares(trees)
    assert (result >= 0).all()
    # each share follows Beta(1, K - 1)
    order, below = n_classes - 1, [0.1, 0.25, 0.5, 0.8]
    for share in result.T:
        found = [(share <= x).mean() for x in below]
        np.testing.assert_allclose(found, [1 - (1 - x) ** order for x in below], atol=5 / np.sqrt(trees.n_leaves))


@laws
@given(encodings(), st.integers(0, 4), st.integers(0, 10**6), st.sampled_from(["majority", "threshold"]))
def test_votes_are_averages_over_trees(encoding: Any, depth: int, seed: int, voting: Any) -> None:
    trees = grown(FeatureCodes.of(encoding), 3, depth, seed)
    leaves = LeafCounts(np.random.default_rng(seed).integers(-3, 10, (trees.n_leaves, 3)))
    codes = random_codes(encoding, 25, seed)
    per_tree = leaves.shares(trees)[trees.route(codes)]
    if voting == "majority":
        per_tree = np.eye(3)[per_tree.argmax(axis=2)]
    votes = Forest(encoding, trees, leaves, voting).votes(codes)
    np.testing.assert_allclose(votes, per_tree.mean(axis=0), rtol=1e-12, atol=1e-15)


def stump(labels: Sequence[int], abstain: int | None, n_classes: int = 2) -> Forest:
    encoding = small_encoding(n_classes)
    builder = TreeBuilder(FeatureCodes.of(encoding), 2)
    builder.grow([Threshold(1, 2), Threshold(1, 0)])
    return Forest(encoding, builder.finish(), LeafLabels(np.array(labels, dtype=np.uint16), abstain))


def test_leaves_that_abstain_do_not_vote_and_ties_go_to_the_first_class() -> None:
    forest = stump([0, 1, 1, 9], abstain=9)
    codes = np.zeros((6, 3), np.uint8)
    codes[1] = [0, 2, 4]
    np.testing.assert_array_equal(forest.votes(codes), [[0.5, 0.5], [1, 0], [0, 1]])
    np.testing.assert_array_equal(forest.predict(codes), [0, 0, 1])


def test_equal_shares_where_every_tree_abstains() -> None:
    forest = stump([3, 3, 3, 3], abstain=3)
    np.testing.assert_array_equal(forest.votes(np.zeros((6, 2), np.uint8)), np.full((2, 2), 0.5))


def test_probabilistic_voting_draws_classes_with_their_shares() -> None:
    forest = two_level_forest([[6, 3, 1]] * 4, voting="probabilistic")
    codes = random_codes(forest.encoding, 20_000, 0)
    drawn = forest.predict(codes, rng=np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), [0.6, 0.3, 0.1], atol=0.02)
    with pytest.raises(ParameterError, match="pass rng"):
        forest.predict(codes)


def test_votes_do_not_depend_on_the_number_of_threads() -> None:
    encoding = small_encoding()
    trees = RandomTrees.draw(encoding, 4, 20, 7).materialise()
    leaves = LeafCounts(np.random.default_rng(0).integers(-5, 50, (trees.n_leaves, 3)))
    codes = random_codes(encoding, 4000, 0)
    for voting in ("majority", "threshold"):
        forest = Forest(encoding, trees, leaves, voting)
        np.testing.assert_array_equal(forest.votes(codes), forest.votes(codes, n_jobs=3))
        assert forest.votes(codes[:, :0]).shape == (0, 3)


def test_a_forest_refuses_parts_that_do_not_fit() -> None:
    encoding, other = small_encoding(2), small_encoding(3)
    trees = RandomTrees.draw(encoding, 1, 2, 3)
    counts = LeafCounts(np.zeros((16, 2), np.int64))
    labels = LeafLabels(np.zeros(16, np.uint16))
    Forest(encoding, trees, counts, "threshold")
    with pytest.raises(ParameterError, match=r"shape \(16, 3\)"):
        Forest(other, trees, counts, "threshold")
    with pytest.raises(ParameterError, match="needs counts"):
        Forest(encoding, trees, labels, "threshold")
    with pytest.raises(ParameterError, match="voting"):
        Forest(encoding, trees, counts, "loudest")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="neither one of the 2 classes"):
        Forest(encoding, trees, LeafLabels(np.full(16, 2, np.uint16)))
    fewer = type(encoding)(encoding.columns[:-1], encoding.target)
    with pytest.raises(ParameterError, match="other features"):
        Forest(fewer, trees, counts)


def test_the_memory_of_leaves_is_known_beforehand() -> None:
    trees = RandomTrees.draw(small_encoding(), 1, 100, 40)
    assert estimate_bytes(trees, 2) == 2 * 8 * 2 * 100 * 65_536
