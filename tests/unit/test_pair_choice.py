"""Pairs of splits that one choice is made among: their scores, what they stand for, and what a record changes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.learners.boosting import pair_choice
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE, GradientGrowth, cell_step
from privet.learners.boosting.pair_choice import MOST_CATEGORIES, MOST_CUTS, PairCandidates
from privet.parameters import public_rng
from privet.tables import MemoryTable
from privet.tables.protocol import Block
from privet.testing import seeded_noise
from privet.trees.structure import Threshold
from tests.unit import boosting_tables

FEATURES = {
    "x": Numeric(0, 1, bins=5, missing=True),
    "two": Categorical(["u", "v"]),
    "five": Categorical(list("vwxyz")),
    "fine": Numeric(0, 1, bins=70),
    "many": Categorical([f"c{k}" for k in range(MOST_CATEGORIES + 9)]),
}


def made_up(names, n_rows=60, n_scores=1):
    return boosting_tables.made_up({name: FEATURES[name] for name in names}, n_rows, n_scores)


def sides(pairs, split, codes):
    """Return the child of a root with this split that each record goes to."""
    state = {CELL_STATE: np.ascontiguousarray(codes.T), "node": np.zeros(codes.shape[1], np.int32)}
    block = Block(codes, np.zeros(codes.shape[1], np.int32), np.arange(codes.shape[1]), state)
    return cell_step(*pairs.features[0].candidates.sides([split]))(block)


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("names", [("x",), ("x", "two"), ("two", "five"), ("x", "five", "two"), ("many", "two")])
def test_scores_of_pairs_are_those_of_the_parts_that_they_divide_records_into(names, n_scores):
    grid, codes, gradient, table = made_up(names, n_scores=n_scores)
    pairs = PairCandidates.of(grid, public_rng(3), n_scores)
    scores, gradient = pairs.scores(table), gradient[:, :n_scores].astype(np.int64)
    assert scores.shape[0] == 1
    for candidate in range(scores.shape[1]):
        upper, lower = (sides(pairs, split, codes) for split in pairs.splits(candidate))
        parts = [gradient[(upper == a) & (lower == b)].sum(axis=0) for a, b in product((0, 1), repeat=2)]
        assert scores[0, candidate] == np.abs(parts).sum()


def test_every_pair_of_splits_of_the_features_has_one_number():
    grid, *_, table = made_up(("x", "five"))
    pairs = PairCandidates.of(grid, public_rng(0), 1)
    n_splits = [len(of.candidates) for of in pairs.features]
    assert n_splits == [2 * 4 + 1, 5 + 2 * 2]  # cuts with missing values on either side; single ones and two orders
    found = {tuple(map(str, pairs.splits(k))) for k in range(pairs.scores(table).shape[1])}
    expected = {
        (str(first.candidates.split(a)), str(second.candidates.split(b)))
        for i, first in enumerate(pairs.features)
        for second in pairs.features[i:]
        for a, b in product(range(len(first.candidates)), range(len(second.candidates)))
    }
    assert found == expected


@pytest.mark.parametrize("name", FEATURES)
def test_no_split_divides_a_group_and_there_are_few_groups(name):
    grid, *_ = made_up((name,))
    (of,) = PairCandidates.of(grid, public_rng(1), 1).features
    assert of.n_groups <= max(MOST_CUTS + 2, MOST_CATEGORIES)
    assert set(of.group.tolist()) == set(range(of.n_groups))
    for candidate in range(len(of.candidates)):
        _, second = of.candidates.sides([of.candidates.split(candidate)])
        for group in range(of.n_groups):
            assert len(set(second[0, : of.group.size][of.group == group].tolist())) == 1
        assert 0 < second[0, : of.group.size].sum() < of.group.size


def test_cuts_of_a_fine_feature_are_others_for_other_trees():
    grid, *_ = made_up(("fine",))
    rng = public_rng(0)
    cuts = [
        {of.candidates.split(k).cut for k in range(len(of.candidates))}
        for of in (PairCandidates.of(grid, rng, 1).features[0] for _ in range(20))
    ]
    assert all(len(some) == MOST_CUTS for some in cuts)
    assert set().union(*cuts) == set(range(69))


@pytest.mark.parametrize(
    ("classes", "n_features", "paired"), [(2, 16, True), (2, 17, False), (3, 12, True), (3, 13, False)]
)
def test_pairs_are_chosen_where_there_are_few_features_and_depth(classes, n_features, paired):
    schema = Schema({f"x{k}": Numeric(0, 1) for k in range(n_features)}, classes=list(range(classes)))
    for depth in (1, 2, 3):
        model = BoostingClassifier(1.0, schema=schema, n_rows_hint=50_000, max_depth=depth)
        assert ("first two splits by one choice" in model.plan().table(full=True)) == (paired and depth > 1)


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-40, 40)), max_size=12),
    one=st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-40, 40)),
)
@settings(max_examples=60, deadline=None)
def test_one_record_moves_all_scores_of_pairs_within_a_range_of_twice_its_gradient(rows, one):
    encoding = Schema({name: FEATURES[name] for name in ("x", "five")}, classes=[0, 1]).encoding()
    grid = CellGrid.of(encoding, {})
    pairs, scores = PairCandidates.of(grid, public_rng(2), 1), []
    for records in (rows, [*rows, one]):
        codes = np.array([record[:2] for record in records], np.uint8).reshape(-1, 2).T.copy()
        gradient = np.array([record[2] for record in records], np.int32)[:, np.newaxis]
        table = MemoryTable(encoding, codes, np.zeros(len(records), np.int32)).derive(CELL_STATE, grid.cells)
        scores.append(pairs.scores(table.derive(GRADIENT_STATE, lambda block, of=gradient: of[block.rows])))
    change = scores[1] - scores[0]
    assert np.abs(change).max() <= abs(one[2])


def test_a_tree_goes_on_below_a_pair_as_if_its_splits_had_been_single_choices():
    grid, _, gradient, table = made_up(("x", "five"))
    candidates, grown = grid.candidates(public_rng(4)), []
    upper, lower = 3, 7
    for paired in (True, False):
        growth = GradientGrowth(table, candidates, grid.cells.offsets, 1, shared_splits=True)
        if paired:
            growth.split_twice(candidates.split(upper), candidates.split(lower))
        else:
            for chosen in (upper, lower):
                growth.scores()
                growth.split(np.array([chosen]))
        grown.append((growth.scores(), growth.leaf_sums(), growth.splits))
    for one, other in zip(*grown, strict=True):
        np.testing.assert_array_equal(one, other)
    assert grown[0][1].sum() == gradient.sum()


def test_splits_of_the_first_two_levels_are_one_charge():
    rng = np.random.default_rng(0)
    X, schema = rng.uniform(size=(400, 2)), Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1])
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    model = BoostingClassifier(8.0, schema=schema, n_trees=1, max_depth=3, n_rows_hint=400, random_state=0).fit(X, y)
    names = [event.name for event in model.privacy_.events if event.name.startswith("round 1")]
    assert names[:2] == ["round 1: splits of levels 1 and 2", "round 1: splits of level 3"]
    pair, single = (event.cost.epsilon for event in model.privacy_.events if "level" in event.name)
    assert pair == 2 * single
    assert "the first two splits by one choice" in model.plan().table(full=True)


def test_one_choice_finds_two_splits_that_say_something_together_alone(monkeypatch):
    """Where only both features together say anything, a first split by itself has nothing to go by."""
    rng = np.random.default_rng(1)
    X, schema = rng.uniform(size=(4_000, 4)), Schema({k: Numeric(0, 1) for k in "abcd"}, classes=[0, 1])
    y = (X[:, 1] > 0.5) ^ (X[:, 2] > 0.5)
    seen = []
    wanted = pair_choice.PairCandidates.splits
    monkeypatch.setattr(
        pair_choice.PairCandidates, "splits", lambda self, k: seen.append(wanted(self, k)) or wanted(self, k)
    )
    with seeded_noise(0):
        BoostingClassifier(4.0, schema=schema, n_trees=4, max_depth=2, n_rows_hint=4_000, random_state=0).fit(X, y)
    upper, lower = seen[0]
    assert isinstance(upper, Threshold)
    assert (upper.feature, lower.feature) == (1, 2)
