"""Candidate splits: the list is complete, and scores, children and histograms agree with plain twins."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.parameters import public_rng
from privet.tables import Block, MemoryTable
from privet.trees.candidates import Candidates, count_candidates
from privet.trees.greedy import GreedyGrowth, SiblingHistogram
from privet.trees.scores import SCORES
from privet.trees.structure import FeatureCodes, Subset, Threshold

SCHEMA = Schema(
    {
        "x": Numeric(0, 1, bins=5),
        "m": Numeric(0, 1, bins=4, missing=True),
        "c": Categorical(list("abcd"), other=True),
        "many": Categorical(list(range(14))),
        "one": Categorical(["only"]),
    },
    classes=[0, 1, 2],
)
ENCODING = SCHEMA.encoding()
DOMAINS = FeatureCodes.of(ENCODING)


CANDIDATES = Candidates.all_of(DOMAINS, public_rng(1))


def goes_second(split, code):
    """Return whether a code goes to the second child, as the structure's own words have it."""
    if isinstance(split, Subset):
        return code in split.codes
    if code == DOMAINS.missing[split.feature]:
        return not split.missing_first
    return code > split.cut


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, c, n) for c in ENCODING.n_codes]).astype(np.uint8)
    return codes, ((codes[0] + codes[2] + rng.integers(0, 2, n)) % 3).astype(np.int32)


def plain_score(name, split, codes, target):
    total = Fraction(0)
    second = np.array([goes_second(split, code) for code in codes[split.feature].tolist()], dtype=bool)
    for child in (target[~second], target[second]):
        counts = np.bincount(child, minlength=3).tolist()
        n = sum(counts)
        gini = Fraction(0) if n == 0 else n - Fraction(sum(c * c for c in counts), n)
        errors = n - max(counts)
        total -= {"errors": Fraction(errors), "gini": gini, "mix": Fraction(errors, 2) + gini / 4}[name]
    return total


def test_every_threshold_and_every_division_of_few_categories_is_listed_once():
    splits = [CANDIDATES.split(i) for i in range(len(CANDIDATES))]
    by_feature = {f: [s for s in splits if s.feature == f] for f in range(5)}
    assert [s.cut for s in by_feature[0]] == [0, 1, 2, 3]
    assert [(s.cut, s.missing_first) for s in by_feature[1]] == [
        *[(cut, False) for cut in (0, 1, 2, 3)],
        *[(cut, True) for cut in (0, 1, 2)],
    ]
    divisions = {frozenset(s.codes) for s in by_feature[2]}
    assert divisions == {frozenset(c) for k in (1, 2, 3, 4) for c in combinations(range(1, 5), k)}
    assert len(by_feature[2]) == 2**4 - 1
    assert {(code,) for code in range(14)} <= {tuple(s.codes) for s in by_feature[3]}
    assert all(2 <= len(s.codes) <= 12 for s in by_feature[3][14:])
    assert by_feature[4] == []


@given(
    st.lists(
        st.one_of(
            st.builds(Numeric, st.just(0), st.just(1), bins=st.integers(2, 300), missing=st.booleans()),
            st.builds(Categorical, st.integers(1, 40).map(range), other=st.booleans(), missing=st.booleans()),
            st.builds(Categorical, st.sampled_from([1_023, 2_048, 2_049, 5_000]).map(range)),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 100),
)
def test_the_number_of_candidates_is_known_without_listing_them_whatever_the_public_seed(domains, seed):
    schema = Schema({str(i): domain for i, domain in enumerate(domains)}, classes=[0, 1])
    codes = FeatureCodes.of(schema.encoding())
    assert count_candidates(codes) == len(Candidates.all_of(codes, public_rng(seed)))


def test_released_cuts_replace_the_grid():
    few = Candidates.all_of(DOMAINS, public_rng(1), cuts={0: [2], 1: [1]})
    splits = [few.split(i) for i in range(4)]
    assert splits == [Threshold(0, 2), Threshold(1, 1), Threshold(1, 3), Threshold(1, 1, missing_first=True)]


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_of_the_plain_twin_rounded_down_child_by_child(name):
    codes, target = table()
    block = Block(codes, target, np.arange(300, dtype=np.uint64), {"node": np.zeros(300, np.int32)})
    histogram = SiblingHistogram("node", np.zeros(1, np.int32), 3, tuple(ENCODING.n_codes.tolist()))(block)
    scores = CANDIDATES.scores(histogram, SCORES[name])[0]
    for i in range(len(CANDIDATES)):
        exact = plain_score(name, CANDIDATES.split(i), codes, target) * SCORES[name].steps
        assert exact - 2 < scores[i] <= exact


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(SCORES)))
def test_adding_a_record_moves_all_candidates_within_the_range_of_the_score(seed, name):
    rng = np.random.default_rng(seed)
    codes, target = table(int(rng.integers(0, 12)), seed)
    more_codes, more_target = table(1, seed + 1)
    grown = [np.concatenate([codes, more_codes], axis=1), np.concatenate([target, more_target])]
    scores = []
    for c, t in ((codes, target), grown):
        block = Block(c, t, np.arange(len(t), dtype=np.uint64), {"node": np.zeros(len(t), np.int32)})
        histogram = SiblingHistogram("node", np.zeros(1, np.int32), 3, tuple(ENCODING.n_codes.tolist()))(block)
        scores.append(CANDIDATES.scores(histogram, SCORES[name])[0])
    change = scores[1] - scores[0]
    assert change.max() <= 0
    assert change.min() >= -SCORES[name].range


@pytest.mark.parametrize("n_trees", [1, 3])
def test_subtracting_siblings_counts_what_counting_every_node_would(n_trees):
    codes, target = table(500)
    tree = np.arange(500, dtype=np.int32) % n_trees
    private = MemoryTable(ENCODING, codes, target).derive("node", lambda block: tree[block.rows.astype(np.intp)])
    growth = GreedyGrowth(private, CANDIDATES, n_trees)
    rng = np.random.default_rng(5)
    for _ in range(3):
        n_open = growth.scores(SCORES["mix"]).shape[0]
        growth.split(rng.integers(0, len(CANDIDATES), n_open))
    counts = growth.leaf_counts
    trees = growth.finish()
    leaves = trees.route_assigned(codes, tree.astype(np.int64))
    expected = np.zeros((trees.n_leaves, 3), np.int64)
    np.add.at(expected, (leaves, target), 1)
    np.testing.assert_array_equal(counts, expected)


def test_records_without_a_node_or_a_class_are_not_counted():
    codes, target = table(10)
    target = target.copy()
    target[0] = -1
    node = np.zeros(10, np.int32)
    node[1], node[2] = -1, 7
    block = Block(codes, target, np.arange(10, dtype=np.uint64), {"node": node})
    counted = SiblingHistogram("node", np.zeros(1, np.int32), 3, tuple(ENCODING.n_codes.tolist()))(block)
    assert counted[:, :5].sum() == 7


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_histograms_of_narrow_and_wide_codes_are_those_of_a_plain_count(dtype):
    rng = np.random.default_rng(3)
    n_codes, n_rows = (5, 250 if dtype == np.uint8 else 700, 2), 9000
    codes = np.stack([rng.integers(0, n, n_rows) for n in n_codes]).astype(dtype)
    codes[0, :9] = 200  # no code of this feature: it counts as the last
    target, node = rng.integers(0, 3, n_rows).astype(np.int32), rng.integers(0, 4, n_rows).astype(np.uint8)
    slots = np.array([1, -1, 0, -1], np.int32)
    block = Block(codes, target, np.arange(n_rows, dtype=np.uint64), {"node": node})
    counted = SiblingHistogram("node", slots, 3, n_codes)(block)
    expected, starts = np.zeros((2, sum(n_codes), 3), np.int64), np.cumsum((0, *n_codes))
    for row in np.flatnonzero(slots[node] >= 0):
        for feature, n in enumerate(n_codes):
            expected[slots[node[row]], starts[feature] + min(int(codes[feature, row]), n - 1), target[row]] += 1
    np.testing.assert_array_equal(counted, expected)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_nodes_that_stop_keep_their_records_and_leave_the_others_as_they_are(n_trees):
    codes, target = table(500)
    tree = np.arange(500, dtype=np.int32) % n_trees
    private = MemoryTable(ENCODING, codes, target).derive("node", lambda block: tree[block.rows.astype(np.intp)])
    growth = GreedyGrowth(private, CANDIDATES, n_trees)
    rng = np.random.default_rng(6)
    stopped, trees_of = [], []
    for _ in range(3):
        scores = growth.scores(SCORES["mix"], stop_bonus=0)
        assert (scores[:, -1] <= scores[:, :-1].max(axis=1)).all()  # a split never loses
        chosen = rng.integers(0, len(CANDIDATES), len(scores))
        chosen[rng.random(len(scores)) < 0.4] = len(CANDIDATES)
        stops = chosen == len(CANDIDATES)
        stopped.append(growth.leaf_counts[stops])
        trees_of.append(np.array(growth.open_trees)[stops])
        growth.split(chosen)
    stopped.append(growth.leaf_counts)
    trees_of.append(np.array(growth.open_trees, dtype=np.int64))
    counts = np.concatenate(stopped)[np.argsort(np.concatenate(trees_of), kind="stable")]
    trees = growth.finish()
    expected = np.zeros((trees.n_leaves, 3), np.int64)
    np.add.at(expected, (trees.route_assigned(codes, tree.astype(np.int64)), target), 1)
    np.testing.assert_array_equal(counts, expected)
