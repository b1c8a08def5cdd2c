"""Rare codes of wide tables: counted by themselves, they change how fast honest trees grow and nothing else."""

import itertools

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.learners.multinomial_forest.honest_draws import draw_below, skip, start_draws
from privet.learners.multinomial_forest.honest_growth import HonestRule, lay_out_records
from privet.learners.multinomial_forest.honest_rare import (
    best_of_pairs,
    complete_counts,
    count_rare,
    forget_counts,
    make_rare_counts,
)
from privet.learners.multinomial_forest.honest_scores import (
    CandidateLimits,
    count_codes,
    make_scratch,
    score_found_candidates,
)
from privet.learners.multinomial_forest.honest_tree import grow_honest_tree
from privet.mechanisms.release import open_release
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Terms
from privet.tables import MemoryTable

N_ROWS, N_WIDE = 240, 60
KINDS = (
    Numeric(0, 2, bins=2),
    Numeric(0, 2, bins=2, missing=True),
    Categorical(["x", "y"]),
    Categorical(["x", "y", "z"], other=True),
    Numeric(0, 1, bins=40),  # too many codes
)
SCHEMA = Schema(
    {"age": Numeric(0, 12, bins=12), "income": Numeric(0, 6, bins=6, missing=True), "colour": Categorical(["r", "g"])}
    | {f"wide{i}": KINDS[i % len(KINDS)] for i in range(N_WIDE)},
    classes=["no", "maybe", "yes"],
)
AVOID = {"split_above": 4, "min_child": 4, "small_child": "avoid"}
RULES = {
    f"{choice}, {points}, {criterion}, {small}": HonestRule(
        choice=choice, points=points, criterion=criterion, n_points=5, **(AVOID if small == "avoid" else {})
    )
    for choice, points, criterion, small in itertools.product(
        ("multinomial", "best", "range", "bernoulli"), ("halves", "bootstrap"), ("gini", "entropy"), ("stop", "avoid")
    )
}


def wide_table(seed=0):
    """Records of which most features nearly always have one code, some always; rare codes tell of the class."""
    rng = np.random.default_rng(seed)
    encoding = SCHEMA.encoding()
    codes = np.array([rng.integers(0, n, N_ROWS) for n in encoding.n_codes], dtype=encoding.dtype)
    for j in range(3, 3 + N_WIDE):
        common = rng.random(N_ROWS) >= rng.choice([0.0, 0.01, 0.04, 0.3], p=[0.1, 0.3, 0.5, 0.1])
        codes[j] = np.where(common, rng.integers(encoding.n_codes[j]), codes[j])
    n_rare = sum(codes[j] != np.bincount(codes[j]).argmax() for j in range(3, 3 + N_WIDE))
    target = (n_rare + (codes[0] > 5)) % 3
    return MemoryTable(encoding, codes, target.astype(np.int32))


def laid_out(table, **settings):
    release = open_release(Ledger(Terms.of(SCHEMA), None))
    codes, target = release.records(table, Terms().choice("the forest", None))
    return lay_out_records(table.encoding, codes, target, **settings)


@pytest.fixture(scope="module")
def layouts():
    """The same records, with and without a layout of rare codes."""
    table = wide_table()
    return laid_out(table, x_log_x=True, looked_at=N_WIDE), laid_out(table, x_log_x=True)


def test_only_features_of_few_codes_that_nearly_always_have_one_are_laid_out(layouts):
    rare, plain = layouts
    assert (plain.rare.common == -1).all()
    for j, codes in enumerate(rare.codes):
        counts = np.bincount(codes)
        nearly_always = counts.max() >= N_ROWS * 15 / 16 and rare.n_codes[j] <= 16
        assert rare.rare.common[j] == (counts.argmax() if nearly_always else -1)
    assert 30 < (rare.rare.common >= 0).sum() < N_WIDE


def test_rare_codes_are_not_laid_out_where_records_have_more_of_them_than_features_are_looked_at(layouts):
    per_record = layouts[0].rare.features.size / N_ROWS
    assert 0.2 < per_record < 2
    assert (laid_out(wide_table(), looked_at=0.9 * per_record).rare.common == -1).all()
    assert (laid_out(wide_table(), looked_at=1.1 * per_record).rare.common >= 0).any()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_trees_are_the_same_with_and_without_a_layout_of_rare_codes(rule, layouts):
    growth, by_rare = rule.growth(N_ROWS, 3 + N_WIDE), 0
    for tree in range(6):
        ours, plain = (grow_honest_tree(records, growth, np.uint64(5), tree) for records in layouts)
        for field, of_plain in zip(ours, plain, strict=True):
            np.testing.assert_array_equal(field, of_plain)
        by_rare += (layouts[0].rare.common[ours.feature[ours.feature >= 0]] >= 0).sum()
    assert by_rare > 0, "no split by a feature with rare codes"


def some_node(records, n_structure=30, n_estimation=20, seed=3):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, N_ROWS, n_structure + n_estimation).astype(np.int32)
    columns = np.where(np.arange(rows.size) < n_structure, records.target[rows], 3).astype(np.int32)
    return rows, columns, np.bincount(columns, minlength=4)[:3]


def test_counts_of_rare_codes_are_those_of_looking_at_every_record(layouts):
    records = layouts[0]
    rows, columns, _ = some_node(records)
    counts = make_rare_counts(records.rare, records.n_codes, 3)
    count_rare(records.rare, rows, columns, counts)
    for j in np.flatnonzero(records.rare.common >= 0):
        codes = records.codes[j][rows]
        expected = np.zeros((records.n_codes[j], 4), np.int32)
        np.add.at(expected, (codes, columns), 1)
        histogram = counts.histogram[records.starts[j] :][: expected.size]
        for _ in range(2):  # twice is as good as once
            complete_counts(histogram, records.rare.common[j], counts.totals)
            np.testing.assert_array_equal(histogram.reshape(-1, 4), expected)
        assert counts.varies[j] == (codes != records.rare.common[j]).any()
        histogram[records.rare.common[j] * 4 :][: 4 * (not counts.varies[j])] = 0  # growers leave such features alone
    forget_counts(records.starts, records.n_codes, counts)
    assert not any(array.any() for array in (counts.histogram, counts.totals, counts.varies, counts.n_varying))


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("min_child", [0, 1, 2])
def test_the_score_of_two_codes_is_the_best_of_all_candidates(layouts, entropy, min_child):
    records = layouts[0]
    scored = 0
    for seed in range(10):
        rows, columns, n_each = some_node(records, seed=seed)
        wanted = CandidateLimits(min_child, 20, -1, 1 << 30)
        counts, scratch = make_rare_counts(records.rare, records.n_codes, 3), make_scratch(50, 40, 0, 3)
        count_rare(records.rare, rows, columns, counts)
        best = best_of_pairs(records.starts, records.n_codes, n_each, entropy, records.x_log_x, wanted, counts)
        for j in np.flatnonzero((records.rare.common >= 0) & (records.n_codes == 2)):
            found = count_codes(records.codes[j], 2, rows, columns, scratch)
            made = score_found_candidates(records.kinds[j], found, n_each, entropy, records.x_log_x, wanted, scratch)
            assert best[j] == (scratch.scores[:made].max() if made else -np.inf)
            scored += made
    assert scored > 0


def test_skipped_draws_leave_those_that_follow_as_they_were():
    drawn, skipped = start_draws(np.uint64(1), 2), start_draws(np.uint64(1), 2)
    for _ in range(7):
        draw_below(drawn, 1000)
    skip(skipped, 7)
    assert [draw_below(drawn, 1000) for _ in range(5)] == [draw_below(skipped, 1000) for _ in range(5)]
