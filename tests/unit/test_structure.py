"""Structures send codes to the leaves that plain words say, written down or not."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet import Numeric, Schema
from privet.errors import ParameterError
from privet.randomness.hashing import bounded, mix
from privet.schema.encoding import Encoding
from privet.schema.grids import MAX_CODES
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels.blocks import BLOCK_ROWS
from privet.trees.random_trees import RandomTrees, Rule
from privet.trees.structure import FeatureCodes, Splits
from tests.unit.forests import encodings, grown, plain_route, random_codes
from tests.unit.forests import small_encoding as make_small_encoding

SEEDS = st.integers(0, 2**64 - 1)
MULTIWAY: tuple[Rule, ...] = ("multiway", "multiway_2")


@pytest.fixture
def small_encoding() -> Encoding:
    return make_small_encoding()


laws = settings(deadline=None, max_examples=40)


def complete_by_chance(domains: FeatureCodes, n_trees: int, depth: int, seed: int, with_sets: bool) -> CompleteTrees:
    rng = np.random.default_rng(seed)
    shape = (n_trees, 2**depth - 1)
    feature = rng.integers(0, domains.n_features, shape).astype(np.int32)
    cut = (rng.random(shape) * domains.n_codes[feature]).astype(np.int32)
    words = -(-int(domains.n_codes.max()) // 64)
    sets = rng.integers(0, 2**64, (5, words), dtype=np.uint64)
    set_index = np.where(rng.random(shape) < 0.4 * with_sets, rng.integers(0, 5, shape), -1).astype(np.int32)
    missing_first = (domains.missing[feature] >= 0) & (set_index < 0) & (rng.random(shape) < 0.5)
    return CompleteTrees(domains, Splits(feature, cut, missing_first, set_index, sets))


@laws
@given(encodings(), st.integers(0, 7), st.booleans(), st.integers(0, 10**6))
def test_complete_trees_route_as_plain_words_say(encoding: Encoding, depth: int, with_sets: bool, seed: int) -> None:
    trees = complete_by_chance(FeatureCodes.of(encoding), 3, depth, seed, with_sets)
    codes = random_codes(encoding, 37, seed)
    expected = plain_route(trees, codes)
    np.testing.assert_array_equal(trees.route(codes), expected)
    np.testing.assert_array_equal(trees.route(codes, [2, 0]), expected[[2, 0]])


@pytest.mark.parametrize("n_codes", [200, 256, 300, 65_535])
@pytest.mark.parametrize("depth", range(10))
def test_thresholds_route_the_same_at_every_depth_and_width(depth: int, n_codes: int) -> None:
    domains = FeatureCodes(*(np.full(6, value) for value in (True, n_codes, n_codes, -1)))
    rng = np.random.default_rng(depth)
    shape = (5, 2**depth - 1)
    feature, n_rows = rng.integers(0, 6, shape).astype(np.int32), BLOCK_ROWS + 77
    cut = rng.choice([0, 1, 126, 127, 128, n_codes // 2, n_codes - 3, n_codes - 2], shape).astype(np.int32)
    codes = rng.choice([0, 1, 2, 127, 128, 129, n_codes // 2, n_codes - 2, n_codes - 1], (6, n_rows))
    none = np.full(shape, -1, np.int32)
    trees = CompleteTrees(domains, Splits(feature, cut, none >= 0, none, np.zeros((0, 1), np.uint64)))
    for tree, leaves in enumerate(trees.route(codes)):
        node = np.zeros(n_rows, np.int64)
        for _ in range(depth):
            node = 2 * node + 1 + (codes[feature[tree, node], np.arange(n_rows)] > cut[tree, node])
        np.testing.assert_array_equal(leaves, (tree << depth) + node - (2**depth - 1))


@laws
@given(encodings(), st.integers(0, 5), st.integers(0, 10**6))
def test_explicit_trees_route_as_plain_words_say(encoding: Encoding, depth: int, seed: int) -> None:
    trees = grown(FeatureCodes.of(encoding), 3, depth, seed)
    codes = random_codes(encoding, 37, seed)
    np.testing.assert_array_equal(trees.route(codes), plain_route(trees, codes))


@laws
@given(encodings(), st.integers(0, 4), st.booleans(), st.integers(0, 10**6))
def test_a_row_routed_through_its_own_tree_reaches_the_same_leaf(
    encoding: Encoding, depth: int, explicit: bool, seed: int
) -> None:
    domains = FeatureCodes.of(encoding)
    trees = grown(domains, 4, depth, seed) if explicit else complete_by_chance(domains, 4, depth, seed, True)
    n_rows = 50 if seed % 2 else BLOCK_ROWS + 50
    codes = random_codes(encoding, n_rows, seed)
    own = np.random.default_rng(seed).integers(-1, 5, n_rows)
    leaves = trees.route_assigned(codes, own)
    there = (own >= 0) & (own < 4)
    np.testing.assert_array_equal(leaves[there], trees.route(codes)[own[there], np.flatnonzero(there)])
    assert (leaves[~there] == -1).all()


@pytest.mark.parametrize("n_rows", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS + 5])
def test_routing_does_not_depend_on_blocks(n_rows: int, small_encoding: Encoding) -> None:
    trees = RandomTrees.draw(small_encoding, 5, 2, 6).materialise()
    codes = random_codes(small_encoding, n_rows, 1)
    whole = trees.route(codes)
    assert whole.shape == (2, n_rows)
    for row in range(0, n_rows, 97):
        np.testing.assert_array_equal(trees.route(codes[:, row : row + 1])[:, 0], whole[:, row])


@laws
@given(encodings(), SEEDS, st.integers(0, 7), st.integers(1, 3))
def test_binary_random_trees_route_like_their_written_form(
    encoding: Encoding, seed: int, depth: int, n_trees: int
) -> None:
    trees = RandomTrees.draw(encoding, seed, n_trees, depth)
    codes = random_codes(encoding, 40, seed % 1000)
    written = trees.materialise()
    np.testing.assert_array_equal(written.leaf_offsets, trees.leaf_offsets)
    np.testing.assert_array_equal(trees.route(codes), written.route(codes))


@laws
@given(encodings(), SEEDS, st.integers(0, 3), st.integers(1, 3), st.integers(1, 100), st.sampled_from(MULTIWAY))
def test_multiway_random_trees_route_like_their_written_form(
    encoding: Encoding, seed: int, depth: int, n_trees: int, max_leaves: int, rule: Rule
) -> None:
    trees = RandomTrees.draw(encoding, seed, n_trees, depth, rule, max_leaves)
    codes = random_codes(encoding, 40, seed % 1000)
    own = np.random.default_rng(seed % 1000).integers(-1, n_trees, 40)
    leaves = trees.route(codes)
    assert ((leaves >= trees.leaf_offsets[:-1, None]) & (leaves < trees.leaf_offsets[1:, None])).all()
    reached = trees.route_assigned(codes, own)
    np.testing.assert_array_equal(reached, np.where(own >= 0, leaves[own, np.arange(40)], -1))
    written = trees.materialise_if_small(1 << 17)
    np.testing.assert_array_equal(written.leaf_offsets, trees.leaf_offsets)
    np.testing.assert_array_equal(leaves, written.route(codes))


def plain_mix(*words: int) -> int:
    return int(mix(*(np.uint64(word) for word in words)))


def plain_bounded(word: int, n: int) -> int:
    return int(bounded(np.uint64(word), np.uint64(n)))


def plain_multiway_bucket(domains: FeatureCodes, row: NDArray[Any], trees: RandomTrees, tree: int) -> int:
    """Algorithm 2 of Fletcher and Islam along one path, in plain Python."""
    word = plain_mix(trees.seed, tree, 1)
    cells = {f: (0, int(n) - 1) for f, n in enumerate(domains.n_cells)}
    for _ in range(trees.depth):
        if all(low == high for low, high in cells.values()):
            break
        attempt = 0
        while True:
            feature = plain_bounded(plain_mix(word, 1, attempt), domains.n_features)
            low, high = cells[feature]
            if low < high:
                break
            attempt += 1
        code = int(row[feature])
        if domains.ordered[feature]:
            cut = low + plain_bounded(plain_mix(word, 2, 0), high - low)
            child = int(code > cut)
            if code == domains.missing[feature]:
                child = 1 - plain_mix(word, 3, 0) % 2
            cells[feature] = (cut + 1, high) if child else (low, cut)
        else:
            child = code
            cells[feature] = (0, 0)
        word = plain_mix(word, 5, child)
    return tree * trees.max_leaves + plain_bounded(plain_mix(word, 6, 0), trees.max_leaves)


@laws
@given(encodings(splittable=False), SEEDS, st.integers(0, 20))
def test_multiway_random_trees_follow_the_printed_rule(encoding: Encoding, seed: int, depth: int) -> None:
    trees = RandomTrees.draw(encoding, seed, 2, depth, "multiway")
    codes = random_codes(encoding, 10, seed % 1000)
    expected = [[plain_multiway_bucket(trees.domains, row, trees, tree) for row in codes.T] for tree in range(2)]
    np.testing.assert_array_equal(trees.route(codes), np.array(expected).reshape(2, 10))


def plain_splitmix(word: int) -> int:
    """Return the first output of splitmix64, as Steele, Lea and Flood print it."""
    word = (word + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def plain_one_hash_bucket(domains: FeatureCodes, row: NDArray[Any], trees: RandomTrees, tree: int) -> int:
    """The same path where each node is drawn by one hash."""
    word = plain_mix(trees.seed, tree, 2)
    cells = {int(f): (0, int(domains.n_cells[f]) - 1) for f in domains.splittable}
    for _ in range(trees.depth):
        open_ones = [f for f, (low, high) in cells.items() if low < high]
        if not open_ones:
            break
        feature = list(cells)[(word >> 32) * len(cells) >> 32]
        if feature not in open_ones:
            feature = open_ones[(plain_splitmix(word + 2**20) >> 32) * len(open_ones) >> 32]
        (low, high), code = cells[feature], int(row[feature])
        if domains.ordered[feature]:
            cut = low + (word % 2**32 * (high - low) >> 32)
            child = word % 2 if code == domains.missing[feature] else int(code > cut)
            cells[feature] = (cut + 1, high) if child else (low, cut)
        else:
            child, cells[feature] = code, (0, 0)
        word = plain_splitmix(word + child)
    return tree * trees.max_leaves + ((word >> 32) * trees.max_leaves >> 32)


@laws
@given(encodings(splittable=False), SEEDS, st.integers(0, 20))
def test_multiway_trees_of_one_hash_follow_the_printed_rule(encoding: Encoding, seed: int, depth: int) -> None:
    trees = RandomTrees.draw(encoding, seed, 2, depth, "multiway_2")
    codes = random_codes(encoding, 140, seed % 1000)  # more rows than go side by side
    expected = [[plain_one_hash_bucket(trees.domains, row, trees, tree) for row in codes.T] for tree in range(2)]
    np.testing.assert_array_equal(trees.route(codes), np.array(expected).reshape(2, 140))


def test_trees_of_one_hash_draw_features_and_cuts_uniformly() -> None:
    """Roots and their children, whose words are neighbours before they are hashed: chi-squared, 1e-9 each."""
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(8)}, classes=[0, 1])
    trees = RandomTrees.draw(schema.encoding(17), 3, 4000, 2, "multiway_2").materialise(1 << 20).explicit()
    feature, cut = trees.splits.feature.reshape(4000, 7), trees.splits.cut.reshape(4000, 7)
    inner = trees.first_child.reshape(4000, 7)[0]
    first, second = int(inner[0]), int(inner[0]) + 1
    for table in (
        np.histogram2d(feature[:, 0], cut[:, 0], [np.arange(9), np.arange(17)])[0],
        np.histogram2d(feature[:, first], feature[:, second], [np.arange(9), np.arange(9)])[0],
        np.histogram2d(feature[:, 0], feature[:, second], [np.arange(9), np.arange(9)])[0],
    ):
        expected = table.sum() / table.size
        statistic = ((table - expected) ** 2 / expected).sum()
        assert scipy.stats.chi2.sf(statistic, table.size - 1) > 1e-9


def test_trees_of_one_hash_route_many_features_like_few_at_a_time() -> None:
    """Where features are many, only those are brought back to the root that a path has split."""
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(60)}, classes=[0, 1])
    encoding = schema.encoding(255)
    codes = random_codes(encoding, 300, 4)
    for depth in (3, 30):
        trees = RandomTrees.draw(encoding, 8, 20, depth, "multiway_2")
        leaves = trees.route(codes)
        expected = [
            [plain_one_hash_bucket(trees.domains, row, trees, tree) for row in codes.T[::29]] for tree in (0, 7)
        ]
        np.testing.assert_array_equal(leaves[[0, 7]][:, ::29], np.array(expected))
        block = np.zeros((20, 1024), np.int32)
        trees.route_block(trees.as_codes(codes), 0, 300, 0, block)  # all trees one after another
        np.testing.assert_array_equal(block[:, :300], leaves)


def test_trees_of_one_hash_take_features_of_the_most_codes() -> None:
    """Codes and widths of 16 bits leave no room but for the marks of missing values and unordered features."""
    most, columns = MAX_CODES, [(True, -1), (True, MAX_CODES - 1), (False, -1), (True, 1)]
    ordered, missing = np.array([of[0] for of in columns]), np.array([of[1] for of in columns])
    n_codes = np.array([most, most, most, 2])
    domains = FeatureCodes(ordered, n_codes, n_codes - (missing >= 0), missing)
    rng = np.random.default_rng(5)
    ends = rng.choice([0, 1, most // 2, most - 2, most - 1], (4, 300))
    codes = np.minimum(ends, n_codes[:, None] - 1).astype(np.uint16)
    trees = RandomTrees(domains, 12, 3, 25, "multiway_2")
    expected = [[plain_one_hash_bucket(domains, row, trees, tree) for row in codes.T] for tree in range(3)]
    np.testing.assert_array_equal(trees.route(codes), np.array(expected))


def test_binary_random_trees_draw_features_cuts_and_missing_sides_uniformly(small_encoding: Encoding) -> None:
    trees = RandomTrees.draw(small_encoding, 11, 400, 8).materialise()
    splits, domains = trees.splits, trees.domains
    drawn = np.bincount(splits.feature.ravel(), minlength=domains.n_features)
    expected = splits.feature.size / domains.splittable.size
    assert (np.abs(drawn[domains.splittable] - expected) < 6 * np.sqrt(expected)).all()
    for feature in domains.splittable[domains.ordered[domains.splittable]]:
        here = splits.feature == feature
        cuts = np.bincount(splits.cut[here], minlength=domains.n_cells[feature])
        assert cuts.size == domains.n_cells[feature]
        assert cuts[-1] == 0  # the last cell is no inner cut: nothing would go to the second child
        each = here.sum() / (domains.n_cells[feature] - 1)
        assert (np.abs(cuts[:-1] - each) < 6 * np.sqrt(each)).all()
        if domains.missing[feature] >= 0:
            assert abs(splits.missing_first[here].mean() - 0.5) < 3 / np.sqrt(here.sum())


@laws
@given(encodings(), SEEDS)
def test_random_sets_are_never_empty_or_full(encoding: Encoding, seed: int) -> None:
    trees = RandomTrees.draw(encoding, seed, 2, 6).materialise()
    splits = trees.splits
    for tree, node in zip(*np.nonzero(splits.set_index >= 0), strict=True):
        bits = sum(int(word) << 64 * i for i, word in enumerate(splits.sets[splits.set_index[tree, node]]))
        n_codes = int(trees.domains.n_codes[splits.feature[tree, node]])
        assert 0 < bits < (1 << n_codes) - 1


def test_of_three_categories_every_set_is_equally_likely(small_encoding: Encoding) -> None:
    trees = RandomTrees.draw(small_encoding, 3, 400, 8).materialise()
    splits = trees.splits
    three = int(np.flatnonzero(~trees.domains.ordered & (trees.domains.n_codes == 3))[0])
    chosen = splits.sets[splits.set_index[splits.feature == three], 0]
    counts = np.bincount(chosen.astype(np.int64), minlength=8)
    assert counts[0] == counts[7] == 0
    each = counts.sum() / 6
    assert (np.abs(counts[1:7] - each) < 6 * np.sqrt(each)).all()


def test_equal_seeds_give_equal_trees_and_others_do_not(small_encoding: Encoding) -> None:
    codes = random_codes(small_encoding, 200, 0)
    for rule in ("binary", "multiway"):
        first, second, third = (RandomTrees.draw(small_encoding, s, 3, 6, rule).route(codes) for s in (1, 1, 2))
        np.testing.assert_array_equal(first, second)
        assert (first != third).any()


def test_deep_binary_trees_share_buckets(small_encoding: Encoding) -> None:
    trees = RandomTrees.draw(small_encoding, 1, 2, 40, max_leaves=32)
    leaves = trees.route(random_codes(small_encoding, 2000, 0))
    assert trees.n_leaves == 64
    assert set(np.unique(leaves[0])) == set(range(32))
    assert set(np.unique(leaves[1])) == set(range(32, 64))
    with pytest.raises(ParameterError, match="buckets"):
        trees.materialise()
    assert trees.materialise_if_small() is trees


def test_large_structures_are_not_written_down_unasked(small_encoding: Encoding) -> None:
    with pytest.raises(ParameterError, match=r"65535000 nodes and 65536000 leaves, some 999 MB"):
        RandomTrees.draw(small_encoding, 1, 1000, 16).materialise()
    with pytest.raises(ParameterError, match="more than 1000 nodes"):
        RandomTrees.draw(small_encoding, 1, 10, 12, "multiway").materialise(1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"n_trees": 0}, "n_trees"),
        ({"depth": 63}, "depth"),
        ({"rule": "ternary"}, "rule"),
        ({"max_leaves": 0}, "max_leaves"),
        ({"n_trees": 10**6, "depth": 30}, "leaves"),
    ],
)
def test_random_trees_refuse_what_makes_no_sense(
    small_encoding: Encoding, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        RandomTrees.draw(small_encoding, **({"seed": 1, "n_trees": 2, "depth": 3} | change))


@laws
@given(encodings(), st.integers(0, 10**6))
def test_joined_forests_route_like_their_parts(encoding: Encoding, seed: int) -> None:
    domains = FeatureCodes.of(encoding)
    parts = [grown(domains, n, 3, seed + n) for n in (1, 2, 3)]
    codes = random_codes(encoding, 20, seed)
    joined = ExplicitTrees.join(parts)
    base = np.cumsum([0] + [part.n_leaves for part in parts])
    expected = np.concatenate([part.route(codes) + start for part, start in zip(parts, base[:-1], strict=True)])
    np.testing.assert_array_equal(joined.route(codes), expected)
    assert joined.n_leaves == base[-1]


@pytest.mark.parametrize(
    ("array", "index", "value"),
    [
        ("first_child", 0, 0),  # its own parent
        ("first_child", 0, 10**6),
        ("first_child", 0, -5),
        ("n_children", 0, 1),
        ("n_children", 0, 200),
        ("leaf", -1, 10**6),
        ("leaf", -1, -1),
        ("leaf", 0, 0),
        ("tree_offsets", 1, 0),
        ("leaves_per_tree", 0, 2**40),
        ("leaves_per_tree", 0, 0),
        ("feature", 0, 99),
        ("feature", 0, -2),
        ("cut", 0, -1),
        ("cut", 0, 10**6),
        ("set_index", 0, 7),
    ],
)
def test_damaged_trees_are_refused(small_encoding: Encoding, array: str, index: int, value: int) -> None:
    trees = RandomTrees.draw(small_encoding, 1, 2, 3, "multiway", 10).materialise()
    owner = trees if hasattr(trees, array) else trees.splits
    getattr(owner, array)[index] = value
    with pytest.raises(ParameterError):
        ExplicitTrees(
            trees.domains,
            trees.splits,
            trees.first_child,
            trees.n_children,
            trees.leaf,
            trees.tree_offsets,
            trees.leaves_per_tree,
        )


def test_codes_of_another_shape_are_refused(small_encoding: Encoding) -> None:
    trees = RandomTrees.draw(small_encoding, 1, 2, 3)
    with pytest.raises(ParameterError, match="shape"):
        trees.route(random_codes(small_encoding, 10, 0).T)
    with pytest.raises(ParameterError, match="trees"):
        trees.route(random_codes(small_encoding, 10, 0), [2])


def test_numbers_that_are_no_codes_still_reach_a_leaf(small_encoding: Encoding) -> None:
    codes = np.full((small_encoding.n_features, 30), 255, np.uint8)
    for rule in ("binary", "multiway"):
        drawn = RandomTrees.draw(small_encoding, 1, 5, 6, rule)
        for trees in (drawn, drawn.materialise()):
            leaves = trees.route(codes)
            assert ((leaves >= trees.leaf_offsets[:-1, None]) & (leaves < trees.leaf_offsets[1:, None])).all()
            own = trees.route_assigned(codes, np.full(30, 3))
            np.testing.assert_array_equal(own, leaves[3])
