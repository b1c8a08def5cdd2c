"""Grids of two features: scores, the splits that stand for them, what a record changes, and where they are used."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.learners.boosting import grown_trees
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE, NODE_STATE, GradientGrowth
from privet.learners.boosting.gradients import ONE, Logistic
from privet.learners.boosting.grid_choice import MOST_TOGETHER, Grid, PairGrids, group_scores, grouped_features
from privet.learners.boosting.leaf_values import leaf_values
from privet.parameters import public_rng
from privet.privacy.events import Cost, Event, Mechanism
from privet.tables import MemoryTable
from privet.testing import seeded_noise
from tests.unit import boosting_tables

FEATURES = {
    "x": Numeric(0, 1, bins=5, missing=True),
    "two": Categorical(["u", "v"]),
    "other": Categorical(["u", "v"]),
    "five": Categorical(list("vwxyz")),
    "fine": Numeric(0, 1, bins=70),
    "one cut": Numeric(0, 1, bins=2),
    "many": Categorical([f"c{k}" for k in range(30)]),
}


def made_up(names, n_rows=200, n_scores=1):
    return boosting_tables.made_up({name: FEATURES[name] for name in names}, n_rows, n_scores)


def growth_of(table, grid, n_scores=1):
    return GradientGrowth(table, grid.candidates(public_rng(5)), grid.cells.offsets, n_scores, shared_splits=True)


def leaves_of(growth):
    """Return the leaf of each record."""
    seen = []
    growth.table.aggregate(lambda block: seen.append(np.asarray(block.state[NODE_STATE])) or np.zeros(1, np.int64))
    (leaves,) = seen
    return leaves


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("name", FEATURES)
def test_groups_are_about_equal_and_ordered_where_the_feature_is(name, levels):
    grid, *_ = made_up((name,))
    for seed in range(20):
        (of,) = grouped_features(grid, levels, public_rng(seed))
        n_groups, ordered = 1 << levels, of.group[: of.n_ordered]
        assert of.group.size == grid.domains.n_codes[0]
        assert of.group.min() >= 0
        assert of.group.max() < n_groups
        assert (np.diff(ordered) >= 0).all()
        assert of.filled.sum() > 1
        sizes = np.bincount(ordered if of.n_ordered else of.group, minlength=n_groups)
        assert sizes.max() <= max(1, 1.5 * sizes.sum() / n_groups + 1)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(["x", "two", "five", "fine"], 2)))
def test_the_splits_of_a_grid_send_every_record_to_the_leaf_of_its_groups(first, second, levels):
    names = tuple(dict.fromkeys((first, second)))
    grid, codes, _, table = made_up(names)
    features = grouped_features(grid, levels, public_rng(1))
    both = PairGrids(features, 1).grid(0 if len(names) == 1 else 1)
    growth = growth_of(table, grid)
    growth.split_alike(both.levels)
    groups = [of.group[codes[of.feature]] for of in (features[0], features[-1])]
    leaf = np.zeros(codes.shape[1], np.int64)
    for level in reversed(range(levels)):
        for group in groups:
            leaf = 2 * leaf + (group >> level & 1)
    np.testing.assert_array_equal(leaves_of(growth), leaf)
    assert both.possible[leaf].all()
    if {first, second} <= {"two", "five", "fine"}:  # records of all values are there
        assert both.possible.sum() <= np.prod([np.unique(group).size for group in groups])


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("names", [("x",), ("x", "two"), ("five", "fine", "two"), ("many", "one cut", "x")])
def test_scores_of_grids_are_those_of_their_leaves(names, n_scores):
    grid, _, _, table = made_up(names, n_scores=n_scores)
    pairs = PairGrids(grouped_features(grid, 2, public_rng(2)), n_scores)
    scores = pairs.scores(table)
    assert scores.shape == (1, len(names) * (len(names) + 1) // 2)
    for candidate in range(scores.size):
        growth = growth_of(table, grid, n_scores)
        growth.split_alike(pairs.grid(candidate).levels)
        assert scores[0, candidate] == np.abs(growth.leaf_sums()[:, :n_scores]).sum()


@pytest.mark.parametrize("n_scores", [1, 3])
def test_a_second_feature_is_scored_by_the_leaves_that_it_would_make_with_the_first(n_scores):
    grid, _, _, table = made_up(("x", "five", "fine", "two"), n_scores=n_scores)
    growth = growth_of(table, grid, n_scores)
    first = grouped_features(grid, 2, public_rng(0))[2]
    growth.split_alike(Grid.of(first).levels)
    others = grouped_features(grid, 2, public_rng(1), [first])
    assert [of.feature for of in others] == [0, 1, 3]
    scores = group_scores(others, growth.cell_sums(), grid.cells.offsets)
    for place, of in enumerate(others):
        again = growth_of(table, grid, n_scores)
        again.split_alike(Grid.of(first).levels)
        again.split_alike(Grid.of(of).levels)
        assert scores[0, place] == np.abs(again.leaf_sums()[:, :n_scores]).sum()


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-40, 40)), max_size=12),
    one=st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-40, 40)),
)
@settings(max_examples=60, deadline=None)
def test_one_record_moves_all_scores_within_a_range_of_twice_its_gradient(rows, one):
    encoding = Schema({name: FEATURES[name] for name in ("x", "five")}, classes=[0, 1]).encoding()
    grid = CellGrid.of(encoding, {})
    features, together, apart = grouped_features(grid, 2, public_rng(2)), [], []
    for records in (rows, [*rows, one]):
        codes = np.array([record[:2] for record in records], np.uint8).reshape(-1, 2).T.copy()
        gradient = np.array([record[2] for record in records], np.int32)[:, np.newaxis]
        table = MemoryTable(encoding, codes, np.zeros(len(records), np.int32)).derive(CELL_STATE, grid.cells)
        table = table.derive(GRADIENT_STATE, lambda block, of=gradient: of[block.rows])
        growth = growth_of(table, grid)
        growth.split_alike(Grid.of(features[0]).levels)
        together.append(PairGrids(features, 1).scores(table))
        apart.append(group_scores(features, growth.cell_sums(), grid.cells.offsets))
    for scores in (together, apart):
        assert np.abs(scores[1] - scores[0]).max() <= abs(one[2])


def test_pairs_are_of_some_of_many_features_and_others_for_each_tree():
    encoding = Schema({f"c{k}": Categorical(list("ab")) for k in range(MOST_TOGETHER + 6)}, classes=[0, 1]).encoding()
    rng = public_rng(0)
    seen = [{of.feature for of in PairGrids.of(CellGrid.of(encoding, {}), 1, 1, rng).features} for _ in range(20)]
    assert all(len(some) == MOST_TOGETHER for some in seen)
    assert set().union(*seen) == set(range(MOST_TOGETHER + 6))


def test_groups_begin_elsewhere_in_other_trees():
    grid, *_ = made_up(("fine", "many"))
    rng = public_rng(0)
    numbers, categories = zip(*(grouped_features(grid, 3, rng) for _ in range(20)), strict=True)
    assert len({tuple(of.group) for of in numbers}) > 5
    assert len({tuple(of.group) for of in categories}) == 20


NUMBERS = {f"x{k}": Numeric(0, 1) for k in range(4)}
FEW = {f"c{k}": Categorical(list("abc")) for k in range(4)}
LARGE = {f"c{k}": Categorical([f"v{j}" for j in range(9)]) for k in range(2)}
MANY_NUMBERS = {f"x{k}": Numeric(0, 1) for k in range(20)}
MANY_FEW = {f"c{k}": Categorical(list("abc")) for k in range(20)}
TOGETHER, APART = "one choice", "chosen one after the other"


@pytest.mark.parametrize(
    ("features", "n_classes", "n_rows", "delta", "levels", "how", "depth"),
    [
        (NUMBERS, 2, 7_000, 0.0, 0, "", 2),
        (NUMBERS, 2, 8_000, 0.0, 6, TOGETHER, 6),
        (NUMBERS, 2, 200_000, 0.0, 6, TOGETHER, 8),
        (NUMBERS | LARGE, 2, 20_000, 0.0, 0, "", 2),
        (FEW, 2, 900, 0.0, 0, "", 2),
        (FEW, 2, 1_000, 0.0, 4, TOGETHER, 4),
        (FEW, 2, 8_000, 0.0, 6, TOGETHER, 6),
        (NUMBERS, 3, 10_000, 0.0, 0, "", 3),
        (NUMBERS, 3, 20_000, 0.0, 6, APART, 6),
        (NUMBERS, 3, 200_000, 0.0, 6, APART, 8),
        (MANY_NUMBERS, 2, 100_000, 0.0, 0, "", 4),
        (MANY_NUMBERS, 2, 200_000, 0.0, 6, APART, 8),
        (MANY_FEW, 2, 10_000, 0.0, 0, "", 2),
        (MANY_FEW, 2, 20_000, 0.0, 4, TOGETHER, 4),
        (NUMBERS, 2, 10_000, 1e-6, 0, "", 4),
        ({"x": Numeric(0, 1)}, 2, 100_000, 0.0, 0, "", 4),
    ],
)
def test_public_facts_alone_decide_where_trees_are_grids(features, n_classes, n_rows, delta, levels, how, depth):
    schema = Schema(features, classes=list(range(n_classes)))
    rounds = BoostingClassifier(1.0, delta, schema, n_rows_hint=n_rows).plan().table(full=True)
    assert (f"the first {levels} levels a grid of two features, {how}" in rounds) == bool(levels)
    assert ("grid" in rounds) == bool(levels)
    assert f"of depth {depth}" in rounds


@pytest.mark.parametrize(("features", "n_classes"), [(NUMBERS, 2), (NUMBERS, 3), (FEW, 2), (MANY_FEW, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 200.0])
def test_what_is_planned_is_what_is_charged(features, n_classes, epsilon):
    """With a hint that is far too high, so that grids are planned for few records."""
    rng, schema = np.random.default_rng(0), Schema(features, classes=list(range(n_classes)))
    X = rng.integers(3, size=(300, len(features)))
    X = np.array(list("abc"), object)[X] if isinstance(next(iter(features.values())), Categorical) else X / 2
    model = BoostingClassifier(epsilon, schema=schema, n_rows_hint=int(200_000 / epsilon), random_state=0)
    model.fit(X, rng.integers(n_classes, size=300))
    assert "a grid of two features" in model.plan().table(full=True)
    assert model.privacy_.cost == model.plan().cost
    assert any("feature" in event.name for event in model.privacy_.events)
    assert model.predict_proba(X).shape == (300, n_classes)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_groups_without_cells_change_nothing(margin):
    """The same records, as a grid of 2 by 2, 4 by 4 and 8 by 8 groups of which all others are empty."""
    grid, *_ = made_up(("two", "other"))
    found, rng = [], np.random.default_rng(0)
    known = np.array([[12, 20], [-9, 18], [4, 25], [-15, 11]]) * ONE
    event = Event("leaves", Mechanism.GAUSSIAN, Fraction((5 * ONE) ** 2), Fraction(1), Cost(None, Fraction(1)))
    for levels in (1, 2, 3):
        both = PairGrids(grouped_features(grid, levels, public_rng(4)), 1).grid(1)
        assert both.possible.sum() == 4
        sums = rng.integers(-50 * ONE, 50 * ONE, size=(both.possible.size, 2))
        sums[both.possible] = known
        values = leaf_values(sums, event, Logistic("l1"), 1.0, margin, possible=both.possible)
        found.append((values.values[both.possible], values.noise[both.possible], values.strength))
    for values, noise, strength in found[1:]:
        np.testing.assert_allclose(noise, found[0][1], rtol=1e-6)
        np.testing.assert_allclose(values, found[0][0], rtol=1e-6)
        assert strength == pytest.approx(found[0][2])


def test_levels_below_a_grid_are_left_out_where_their_sums_would_take_too_much_memory():
    features = {f"x{k}": Numeric(0, 1) for k in range(8)} | {f"c{k}": Categorical(list(range(1_500))) for k in range(2)}
    for n_classes, depth in ((2, 8), (60, 6)):
        schema = Schema(features, classes=list(range(n_classes)))
        assert f"of depth {depth}" in BoostingClassifier(1.0, schema=schema, n_rows_hint=300_000).plan().table(
            full=True
        )


def test_a_depth_that_is_asked_for_is_kept():
    schema = Schema(NUMBERS, classes=[0, 1])
    model = BoostingClassifier(1.0, schema=schema, n_rows_hint=50_000, max_depth=3)
    assert "depth 3" in model.plan().table(full=True)
    assert "grid" not in model.plan().table(full=True)


def test_two_features_that_say_something_together_alone_are_found(monkeypatch):
    rng, seen = np.random.default_rng(1), []
    X, schema = rng.uniform(size=(8_000, 6)), Schema({k: Numeric(0, 1) for k in "abcdef"}, classes=[0, 1])
    y = (X[:, 1] > 0.5) ^ (X[:, 4] > 0.5)
    wanted = PairGrids.grid
    monkeypatch.setattr(grown_trees.PairGrids, "grid", lambda self, k: seen.append(wanted(self, k)) or wanted(self, k))
    with seeded_noise(0):
        model = BoostingClassifier(1.0, schema=schema, n_rows_hint=8_000, random_state=0).fit(X, y)
    assert {split.feature for level in seen[0].levels for split in level} == {1, 4}
    assert model.score(X, y) > 0.9
