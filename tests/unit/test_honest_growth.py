"""Honest trees: their splits follow the printed laws, their leaves count estimation points, nothing else matters."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.learners.multinomial_forest.honest_draws import poisson, softmax_choice, start_draws
from privet.learners.multinomial_forest.honest_growth import (
    HonestRule,
    grow_honest_forest,
    join_grown,
    lay_out_records,
    majority_labels,
)
from privet.learners.multinomial_forest.honest_scores import count_codes, make_scratch
from privet.learners.multinomial_forest.honest_tree import deal_points, grow_honest_tree
from privet.mechanisms.release import open_release
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable

SCHEMA = Schema(
    {
        "age": Numeric(0, 12, bins=12),
        "income": Numeric(0, 6, bins=6, missing=True),
        "colour": Categorical(["red", "green", "blue"], other=True),
    },
    classes=["no", "maybe", "yes"],
)
AVOID = {"split_above": 4, "min_child": 4, "small_child": "avoid"}
RULES = {
    "multinomial": HonestRule(),
    "entropy": HonestRule(criterion="entropy"),
    "bootstrap": HonestRule(points="bootstrap"),
    "best": HonestRule(choice="best"),
    "range": HonestRule(choice="range", **AVOID),
    "bernoulli": HonestRule(choice="bernoulli", **AVOID),
    "every leaf": HonestRule(**AVOID),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def table_of(n_rows=60, seed=0, schema=SCHEMA):
    """Random records; the class depends on age and colour."""
    rng = np.random.default_rng(seed)
    encoding = schema.encoding()
    codes = np.array([rng.integers(0, n, n_rows) for n in encoding.n_codes], dtype=encoding.dtype)
    target = ((codes[0] > 5).astype(int) + (codes[-1] == 2)) % encoding.n_classes
    target = np.where(rng.random(n_rows) < 0.1, rng.integers(0, encoding.n_classes, n_rows), target)
    return MemoryTable(encoding, codes, target.astype(np.int32)), codes, target


def without_privacy(schema=SCHEMA):
    return open_release(Ledger(Terms.of(schema), None, []))


EVENT = Terms().choice("the forest", None)


def records_of(table, **settings):
    codes, target = without_privacy().records(table, EVENT)
    return lay_out_records(table.encoding, codes, target, **settings)


def whole_forest(table, release, *settings):
    return grow_honest_forest(table, release, EVENT, *settings)


def forest(rule, n_trees=5, seed=0, n_jobs=1, n_rows=60):
    return whole_forest(table_of(n_rows)[0], without_privacy(), rule, n_trees, public_rng(seed), n_jobs)


@every_rule
def test_leaves_count_the_estimation_points_that_reach_them(rule):
    table, codes, target = table_of(n_rows=200)
    records = records_of(table, x_log_x=rule.criterion == "entropy")
    growth = rule.growth(200, 3)
    for tree in range(5):
        _, estimation = deal_points(200, growth, start_draws(np.uint64(9), tree))
        grown, counts = join_grown(table.encoding, [grow_honest_tree(records, growth, np.uint64(9), tree)])
        leaves = grown.route(np.ascontiguousarray(codes[:, estimation]))[0]
        expected = np.zeros_like(counts)
        np.add.at(expected, (leaves, target[estimation]), 1)
        np.testing.assert_array_equal(counts, expected)
        assert grown.n_leaves > 2


def node_sizes(trees, counts):
    """The number of estimation points of every node."""
    sizes = np.where(trees.leaf >= 0, counts.sum(axis=1)[trees.leaf], 0)
    for node in reversed(range(len(sizes))):
        first = trees.first_child[node]
        sizes[node] += sizes[first : first + trees.n_children[node]].sum()
    return sizes


@every_rule
def test_only_nodes_with_enough_estimation_points_are_split_and_no_child_is_too_small(rule):
    trees, counts = forest(rule, n_rows=300)
    sizes = node_sizes(trees, counts)
    assert (sizes[trees.splits.feature >= 0] > rule.split_above).all()
    assert (counts.sum(axis=1) >= rule.min_child).all()
    assert trees.n_leaves > trees.n_trees


@every_rule
def test_trees_are_a_function_of_the_seed_and_not_of_threads(rule):
    first, again, threads, other = forest(rule), forest(rule), forest(rule, n_jobs=3), forest(rule, seed=1)
    for twin in (again, threads):
        np.testing.assert_array_equal(first[1], twin[1])
        np.testing.assert_array_equal(first[0].splits.cut, twin[0].splits.cut)
    assert first[1].shape != other[1].shape or (first[1] != other[1]).any()


def impurity(labels, criterion):
    shares = np.bincount(labels, minlength=3) / len(labels)
    if criterion == "gini":
        return 1 - (shares**2).sum()
    return -sum(share * math.log(share) for share in shares if share > 0)


def plain_law(codes, target, structure, estimation, rule):
    """The chance of each (feature, cut) at the root, and of None for a leaf; by the paper's formulas, one by one."""
    decreases = {}
    for j in range(len(codes)):
        values, labels = codes[j][structure].astype(int), target[structure]
        if j == 1:  # the missing code, 6, comes first
            values = np.where(values == 6, 0, values + 1)
        present = np.unique(values)
        cuts = list(present) if j == 2 else [(a + b - 1) // 2 for a, b in pairwise(present)]
        for cut in cuts:
            second = values == cut if j == 2 else values > cut
            if 0 < second.sum() < len(values):
                children = sum(part.mean() * impurity(labels[part], rule.criterion) for part in (second, ~second))
                decreases.setdefault(j, {})[int(cut)] = impurity(labels, rule.criterion) - children
    law = Counter()
    features = softmax([max(found.values()) for found in decreases.values()], rule.feature_rate)
    for (j, found), of_feature in zip(decreases.items(), features, strict=True):
        for cut, of_value in zip(found, softmax(list(found.values()), rule.value_rate), strict=True):
            values = codes[j][estimation].astype(int)
            if j == 1:
                values = np.where(values == 6, 0, values + 1)
            second = values == cut if j == 2 else values > cut
            law[(j, cut) if 0 < second.sum() < len(values) else None] += of_feature * of_value
    return law


def softmax(values, rate):
    values = np.array(values)
    span = values.max() - values.min()
    scaled = (values - values.min()) / span if span > 1e-12 else np.zeros(len(values))
    if math.isinf(rate):
        weights = (scaled > 1 - 1e-9) if span > 1e-12 else np.ones(len(values))
    else:
        weights = np.exp(rate / 2 * scaled)
    return weights / weights.sum()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (10.0, 10.0), (4.0, 0.0), (math.inf, math.inf)])
def test_the_split_of_the_root_follows_the_two_softmax_laws(criterion, rates):
    rule = HonestRule(criterion=criterion, feature_rate=rates[0], value_rate=rates[1], split_above=1, max_depth=1)
    n_trees, n_rows = 700, 30
    table, codes, target = table_of(n_rows, seed=4)
    records = records_of(table, x_log_x=criterion == "entropy")
    growth = rule.growth(n_rows, 3)
    expected, variance, drawn = Counter(), Counter(), Counter()
    for tree in range(n_trees):
        structure, estimation = deal_points(n_rows, growth, start_draws(np.uint64(3), tree))
        for split, chance in plain_law(codes, target, structure, estimation, rule).items():
            expected[split] += chance
            variance[split] += chance * (1 - chance)
        grown = grow_honest_tree(records, growth, np.uint64(3), tree)
        drawn[None if grown.feature[0] < 0 else (int(grown.feature[0]), int(grown.cut[0]))] += 1
    assert set(drawn) <= set(expected)
    for split, mean in expected.items():
        assert abs(drawn[split] - mean) < 5 * math.sqrt(variance[split]) + 3, split


def test_a_softmax_choice_has_the_chances_it_says():
    values, n = np.array([1.0, 3.0, 2.0, 3.0]), 20_000
    state = start_draws(np.uint64(1), 0)
    for rate in (0.0, 2.0, math.inf):
        drawn = np.bincount([softmax_choice(state, values, rate) for _ in range(n)], minlength=4) / n
        np.testing.assert_allclose(drawn, softmax(values, 2 * rate), atol=0.02)


def test_poisson_draws_have_their_mean_and_variance():
    state = start_draws(np.uint64(2), 0)
    drawn = np.array([poisson(state, 3.5) for _ in range(20_000)])
    assert drawn.mean() == pytest.approx(3.5, abs=0.08)
    assert drawn.var() == pytest.approx(3.5, abs=0.25)


def test_counting_by_sorting_and_by_histogram_agree():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 700, 40).astype(np.uint16)
    rows, columns = np.arange(40, dtype=np.int32), rng.integers(0, 4, 40).astype(np.int32)
    by_sorting, by_histogram = make_scratch(40, 700, 700, 3), make_scratch(40, 700, 700, 3)
    # 700 codes are more than 16 for each of 40 records; 640 are not, and hold none of these codes beyond the end
    n_found = count_codes(codes, 700, rows, columns, by_sorting)
    assert n_found == len(np.unique(codes))
    low = np.minimum(codes, 639)
    assert count_codes(low, 640, rows, columns, by_histogram) == len(np.unique(low))
    kept = by_sorting.codes[:n_found] < 639
    n_kept = kept.sum()
    np.testing.assert_array_equal(by_sorting.codes[:n_kept], by_histogram.codes[:n_kept])
    np.testing.assert_array_equal(by_sorting.counts[:n_kept], by_histogram.counts[:n_kept])
    assert not by_histogram.histogram.any()


def test_greedy_trees_find_the_one_feature_that_decides():
    rule = HonestRule(feature_rate=math.inf, value_rate=math.inf)
    rng = np.random.default_rng(1)
    encoding = SCHEMA.encoding()
    codes = np.array([rng.integers(0, n, 400) for n in encoding.n_codes], dtype=encoding.dtype)
    table = MemoryTable(encoding, codes, (codes[1] == 6).astype(np.int32) * 2)  # missing values decide
    trees, counts = whole_forest(table, without_privacy(), rule, 4, public_rng(0))
    assert trees.leaves_per_tree.tolist() == [2, 2, 2, 2]
    assert (trees.splits.feature[trees.tree_offsets[:-1]] == 1).all()
    assert (counts > 0).sum(axis=1).tolist() == [1] * 8


def test_a_range_of_one_point_leaves_nothing_to_split():
    # one point spans no gap between two values; a category may still be taken against the rest
    schema = Schema({"x": Numeric(0, 1), "y": Numeric(0, 1)}, classes=[0, 1])
    table, _, _ = table_of(100, schema=schema)
    one, many = (
        whole_forest(table, without_privacy(schema), HonestRule(choice="range", n_points=n, **AVOID), 3, public_rng(0))[
            0
        ]
        for n in (1, 50)
    )
    assert one.n_leaves == 3
    assert many.n_leaves > 6


def test_random_values_make_worse_and_so_deeper_trees_than_the_best_ones():
    best, by_chance = (
        whole_forest(
            table_of(600)[0],
            without_privacy(),
            HonestRule(choice="bernoulli", p_feature=p, p_value=p),
            20,
            public_rng(0),
        )[0].depths.mean()
        for p in (0.0, 1.0)
    )
    assert by_chance > best


def test_partition_rate_is_structure_points_for_each_estimation_point():
    _, counts = whole_forest(table_of(90)[0], without_privacy(), HonestRule(partition_rate=2.0), 1, public_rng(0))
    assert counts.sum() == 30


def test_ties_of_a_leaf_are_broken_by_chance():
    labels = majority_labels(np.tile([[3, 3, 1]], (2000, 1)), public_rng(0))
    assert 850 < (labels == 0).sum() < 1150
    assert (labels < 2).all()


def test_one_record_and_no_record_make_a_leaf():
    for n_rows in (0, 1):
        trees, counts = whole_forest(table_of(n_rows)[0], without_privacy(), HonestRule(), 2, public_rng(0))
        assert trees.n_leaves == 2
        assert counts.sum() == 2 * (n_rows - round(n_rows / 2))


def test_a_release_with_a_budget_is_refused():
    release = open_release(Ledger(Terms.of(SCHEMA), Allowance.of(1.0, 0.0), []))
    with pytest.raises(ParameterError, match="epsilon=None"):
        whole_forest(table_of()[0], release, HonestRule(), 1, public_rng(0))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"choice": "worst"}, "choice"),
        ({"partition_rate": 0.0}, "partition_rate"),
        ({"min_child": 0}, "min_child"),
        ({"feature_rate": -1.0}, "feature_rate"),
        ({"value_rate": math.nan}, "value_rate"),
    ],
)
def test_parameters_out_of_range_are_named(wrong, words):
    with pytest.raises(ParameterError, match=words):
        HonestRule(**wrong)
