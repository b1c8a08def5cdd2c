"""Stumps and pairs of splits made soft decide as before, and rank records by the features that they split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.learners.boosting.cells import CellGrid, in_fixed_point, without_base
from privet.learners.boosting.grown_trees import GrownTree, assemble
from privet.learners.boosting.soft_stumps import softened
from privet.learners.boosting.two_classes_outline import FEW_COLUMNS
from privet.testing import seeded_noise
from privet.trees.structure import Subset, Threshold

N_CELLS = 12
SCHEMA = Schema({"x": Numeric(0, 12, missing=True), "c": Categorical(["a", "b", "c"])}, classes=[0, 1])
ENCODING = SCHEMA.encoding(N_CELLS)
GRID = CellGrid.of(ENCODING, {})
CODES = np.array([[*range(N_CELLS + 1)], [0] * (N_CELLS + 1)], np.uint8)  # every number, then a missing one

a_size = st.floats(-2, 2).filter(lambda size: abs(size) > 1e-3)


def stump(split, first, second):
    return GrownTree([split], in_fixed_point(np.array([[first], [second]])), np.full((2, 1), 0.1))


def scores(stumps, *, soft):
    base = without_base(ENCODING, GRID, np.zeros(1), 100.0)
    return assemble(ENCODING, GRID, softened(base, stumps, GRID) if soft else base, stumps).scores(CODES)[:, 0]


@given(cut=st.integers(0, N_CELLS - 2), first=a_size, second=a_size)
def test_one_soft_stump_decides_as_before_and_keeps_the_order_of_its_sides(cut, first, second):
    stumps = [stump(Threshold(0, cut, missing_first=False), first, second)]
    hard, soft = scores(stumps, soft=False), scores(stumps, soft=True)
    np.testing.assert_array_equal(np.sign(hard), np.sign(soft))
    assert hard[-1] == soft[-1]  # a missing value has no place on either side
    rises = np.diff(soft[:N_CELLS]) * np.sign(second - first)
    assert (rises >= 0).all()


@pytest.mark.parametrize("slope", [1, -1])
def test_records_on_one_side_are_ranked_by_the_feature(slope):
    stumps = [stump(Threshold(0, 5, missing_first=True), -slope * 0.5, slope * 0.8)]
    assert len(np.unique(scores(stumps, soft=False)[:N_CELLS])) == 2
    assert (np.diff(scores(stumps, soft=True)[:N_CELLS]) * slope > 0).all()


@pytest.mark.parametrize("split", [Subset(1, frozenset({0})), Threshold(0, N_CELLS - 1, missing_first=False)])
def test_a_split_of_categories_or_of_missing_values_is_left_as_it_is(split):
    stumps = [stump(split, -0.5, 0.8)]
    np.testing.assert_array_equal(scores(stumps, soft=False), scores(stumps, soft=True))


def test_a_side_of_one_cell_has_no_slope():
    stumps = [stump(Threshold(0, 0, missing_first=False), -0.5, 0.8)]
    assert scores(stumps, soft=True)[0] == scores(stumps, soft=False)[0]


@given(
    cuts=st.tuples(st.integers(0, N_CELLS - 2), st.integers(0, N_CELLS - 2)),
    values=st.lists(a_size, min_size=4, max_size=4),
)
def test_one_soft_pair_of_splits_decides_as_before(cuts, values):
    """Of two features, and of one twice."""
    schema = Schema({"x": Numeric(0, 12), "z": Numeric(0, 12)}, classes=[0, 1])
    encoding = schema.encoding(N_CELLS)
    grid = CellGrid.of(encoding, {})
    codes = np.array(list(np.ndindex(N_CELLS, N_CELLS)), np.uint8).T.copy()
    for lower_feature in (0, 1):
        upper, lower = Threshold(0, cuts[0]), Threshold(lower_feature, cuts[1])
        pair = [GrownTree([upper, lower, lower], in_fixed_point(np.array(values)[:, np.newaxis]), np.full((4, 1), 0.1))]
        base = without_base(encoding, grid, np.zeros(1), 100.0)
        hard, soft = (
            assemble(encoding, grid, of, pair).scores(codes)[:, 0] for of in (base, softened(base, pair, grid))
        )
        np.testing.assert_array_equal(np.sign(hard), np.sign(soft))


def test_records_of_one_leaf_are_ranked_by_both_features():
    schema = Schema({"x": Numeric(0, 12), "z": Numeric(0, 12)}, classes=[0, 1])
    encoding = schema.encoding(N_CELLS)
    grid = CellGrid.of(encoding, {})
    values = in_fixed_point(np.array([[-1.0], [-0.2], [0.3], [0.9]]))
    pair = [GrownTree([Threshold(0, 5), Threshold(1, 5), Threshold(1, 5)], values, np.full((4, 1), 0.1))]
    base = softened(without_base(encoding, grid, np.zeros(1), 100.0), pair, grid)
    codes = np.array(list(np.ndindex(6, 6)), np.uint8).T.copy()
    found = assemble(encoding, grid, base, pair).scores(codes)[:, 0].reshape(6, 6)
    assert (np.diff(found, axis=0) > 0).all()
    assert (np.diff(found, axis=1) > 0).all()


@pytest.mark.parametrize(("max_depth", "n_answers"), [(1, 50), (2, 50), (3, 8)])
def test_little_data_of_two_classes_is_ranked_finely_by_small_trees_alone(max_depth, n_answers):
    rng = np.random.default_rng(0)
    x = np.full((400, FEW_COLUMNS + 1), 0.5)  # with fewer features there would be class means in place of trees
    x[:, 0] = rng.random(400)
    y = (x[:, 0] + 0.2 * rng.normal(size=400) > 0.5).astype(int)
    schema = Schema({f"x{k}": Numeric(0, 1) for k in range(FEW_COLUMNS + 1)}, classes=[0, 1])
    model = BoostingClassifier(1.0, schema=schema, n_rows_hint=90, n_trees=1, max_depth=max_depth)
    with seeded_noise(3):
        model.fit(x, y)
    answers = np.unique(model.predict_proba(x)[:, 1])
    assert answers.size >= n_answers if max_depth < 3 else answers.size <= n_answers
