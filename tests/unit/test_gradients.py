"""Gradients stay within the norms that their sensitivities are stated for, whatever the scores; sums are exact."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet import Categorical, Numeric, Schema
from privet.learners.boosting.cells import BaseScores, CellGrid, Cells
from privet.learners.boosting.gradient_growth import (
    CELL_STATE,
    GRADIENT_STATE,
    NODE_STATE,
    AddValues,
    GradientGrowth,
    GradientHistogram,
    GradientSums,
    WalkScores,
    cell_step,
)
from privet.learners.boosting.gradients import ONE, SCORE_STATE, Huber, Logistic, Softmax, logistic_table
from privet.parameters import public_rng
from privet.tables import Block, MemoryTable

ANY_SCORE = st.integers(-(2**62), 2**62)
NEAR_SCORE = st.integers(-(2**20), 2**20)
LOSSES = [Logistic("l2"), Logistic("l1"), Softmax(3, "l2"), Softmax(3, "l1"), Softmax(7, "l2"), Softmax(2, "l1")]
LOSSES += [Softmax(1, "l2"), Huber("l2", 65_536), Huber("l1", 65_536, width=ONE // 4), Huber("l2", 2)]


def gradients(loss, scores, targets):
    scores = np.array(scores, dtype=np.int64).reshape(len(targets), loss.n_scores)
    n = len(targets)
    block = Block(
        np.zeros((1, n), np.uint8),
        np.array(targets, dtype=np.int32),
        np.arange(n, dtype=np.uint64),
        {SCORE_STATE: scores},
    )
    return loss(block).astype(object)  # whole numbers of any size from here on


def norm_of(loss, vector):
    return sum(x * x for x in vector) if loss.norm == "l2" else sum(abs(x) for x in vector)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_joint_norm_of_gradient_and_curvature_is_bounded_for_all_scores_and_targets(loss, data):
    scores = data.draw(st.lists(ANY_SCORE | NEAR_SCORE, min_size=loss.n_scores, max_size=loss.n_scores))
    target = data.draw(st.integers(0, 65_535 if isinstance(loss, Huber) else max(loss.n_scores - 1, 1)))
    vector = gradients(loss, scores, [target])[0]
    unit = ONE * ONE if loss.norm == "l2" else ONE
    assert norm_of(loss, vector) <= loss.bound * unit
    gradient = vector[: loss.n_scores]
    assert 2 * sum(abs(x) for x in gradient) <= loss.score_range * ONE, "the range of the split score"


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_every_entry_of_the_logistic_table_is_within_its_norm_and_some_are_close_to_it(norm):
    table = logistic_table(norm).astype(np.int64)
    norms = (table**2).sum(axis=2) if norm == "l2" else np.abs(table).sum(axis=2)
    unit = Logistic(norm).bound * (ONE * ONE if norm == "l2" else ONE)
    assert norms.max() <= unit
    assert norms.max() > 0.99 * unit


def distance_of(vector, other):
    return sum((x - y) ** 2 for x, y in zip(vector, other, strict=True))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.norm == "l2"], ids=str)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_record_that_replaces_another_moves_sums_by_no_more_than_is_paid_for(loss, data):
    of_one = st.lists(ANY_SCORE | NEAR_SCORE, min_size=loss.n_scores, max_size=loss.n_scores)
    scores = [data.draw(of_one), data.draw(of_one)]
    most = 65_535 if isinstance(loss, Huber) else max(loss.n_scores - 1, 1)
    vector, other = gradients(loss, scores, [data.draw(st.integers(0, most)) for _ in scores])
    assert distance_of(vector, other) <= loss.distance * ONE**2, "in one leaf"
    assert norm_of(loss, vector) + norm_of(loss, other) <= loss.distance * ONE**2, "in two leaves"


def test_no_two_entries_of_the_logistic_table_are_farther_apart_and_some_are_as_far():
    vectors = logistic_table("l2").astype(np.int64)
    gaps = ((vectors[0, :, np.newaxis] - vectors[1, np.newaxis]) ** 2).sum(axis=2)
    most = Logistic("l2").distance * ONE**2
    assert 0.99 * most < gaps.max() <= most


def test_the_distances_of_many_classes_and_of_a_regression_target_are_attained():
    far = 2**30
    halves, wrong = gradients(Softmax(3, "l2"), [[0, 0, -far], [far, -far, -far]], [0, 1])
    assert 0.999 * 17 / 8 < distance_of(halves, wrong) / ONE**2 <= 17 / 8
    low, high = gradients(Huber("l2", 2), [[-far], [far]], [1, 0])
    assert distance_of(low, high) == 4 * ONE**2


@given(score=st.floats(-7.9, 7.9), label=st.integers(0, 1))
@settings(max_examples=100, deadline=None)
def test_logistic_gradients_are_those_of_the_loss_cut_off_at_one_half(score, label):
    a, b = gradients(Logistic("l2"), [round(score * ONE)], [label])[0]
    p = 1 / (1 + math.exp(-score))
    assert a / ONE == pytest.approx(np.clip(p - label, -0.5, 0.5), abs=2e-3)
    assert b / ONE == pytest.approx(p * (1 - p), abs=2e-3)


@given(scores=st.lists(st.floats(-5, 5), min_size=4, max_size=4), label=st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_softmax_gradients_are_those_of_the_loss_scaled_down_to_norm_one(scores, label):
    vector = gradients(Softmax(4, "l2"), [round(s * ONE) for s in scores], [label])[0].astype(float) / ONE
    p = np.exp(scores) / np.exp(scores).sum()
    scale = min(1.0, 1 / (2 * (1 - p[label])))
    np.testing.assert_allclose(vector[:4], scale * (p - np.eye(4)[label]), atol=1e-2)
    np.testing.assert_allclose(vector[4:], scale * p * (1 - p), atol=2e-2)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_at_even_scores_gradients_of_many_classes_are_scaled_as_is_stated(norm):
    loss = Softmax(5, norm)
    vector = gradients(loss, [0] * 5, [2])[0].astype(float) / ONE
    np.testing.assert_allclose(vector[:5], loss.at_even_scores * (0.2 - np.eye(5)[2]), atol=1e-3)
    np.testing.assert_allclose(vector[5:], loss.curvature * loss.at_even_scores * 0.16, atol=1e-3)


@given(score=st.floats(0, 1), level=st.integers(0, 999), width=st.integers(ONE // 128, ONE))
@settings(max_examples=100, deadline=None)
def test_residuals_are_cut_off_at_a_part_of_the_range(score, level, width):
    a, b = gradients(Huber("l2", 1000, width), [round(score * ONE)], [level])[0]
    assert a / ONE == pytest.approx(np.clip(ONE / width * (score - level / 999), -1, 1), abs=4e-3)
    assert b == ONE // 4


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_records_gradient_does_not_depend_on_the_other_records(loss):
    rng = np.random.default_rng(0)
    scores = rng.integers(-(2**19), 2**19, (500, loss.n_scores))
    targets = rng.integers(0, max(loss.n_scores, 2), 500)
    together = gradients(loss, scores, targets)
    for row in range(0, 500, 50):
        np.testing.assert_array_equal(together[row], gradients(loss, scores[row], targets[row : row + 1])[0])


SCHEMA = Schema({"x": Numeric(0, 10, bins=10, missing=True), "c": Categorical(list("abcd"))}, classes=[0, 1, 2])


def grid_and_block(n=300, seed=0, n_scores=2):
    rng = np.random.default_rng(seed)
    encoding = SCHEMA.encoding(10)
    codes = np.stack([rng.integers(0, k, n) for k in encoding.n_codes]).astype(np.uint8)
    grid = CellGrid.of(encoding, {0: [2, 6]})
    state = {
        SCORE_STATE: rng.integers(-(2**18), 2**18, (n, n_scores)),
        GRADIENT_STATE: rng.integers(-ONE, ONE, (n, 2 * n_scores)).astype(np.int32),
        NODE_STATE: rng.integers(-1, 4, n).astype(np.int32),
    }
    target = rng.integers(0, 3, n).astype(np.int32)
    block = Block(codes, target, np.arange(n, dtype=np.uint64), state)
    state[CELL_STATE] = grid.cells(block)
    return grid, block


def test_cells_lie_between_cuts_and_missing_values_have_their_own():
    grid, block = grid_and_block()
    cell_of = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3]
    np.testing.assert_array_equal(block.state[CELL_STATE][:, 0], np.array(cell_of)[block.codes[0]])
    np.testing.assert_array_equal(block.state[CELL_STATE][:, 1], block.codes[1])
    assert grid.domains.n_codes.tolist() == [4, 4]
    assert grid.domains.missing.tolist() == [3, -1]


@pytest.mark.parametrize("n_scores", [1, 3, 4, 7])
def test_histograms_and_leaf_sums_are_those_of_a_plain_loop(n_scores):
    grid, block = grid_and_block(n_scores=n_scores)
    slots = np.array([1, -1, 0, -1], dtype=np.int32)
    found = GradientHistogram(slots, grid.cells.offsets, n_scores)(block)
    expected = np.zeros((2, 8, n_scores), np.int64)
    sums = np.zeros((4, 2 * n_scores), np.int64)
    for row in range(block.target.size):
        node, vector = block.state[NODE_STATE][row], block.state[GRADIENT_STATE][row]
        if node >= 0:
            sums[node] += vector
        if node in (0, 2):
            for feature, begin in enumerate((0, 4)):
                expected[slots[node], begin + block.state[CELL_STATE][row, feature]] += vector[:n_scores]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(GradientSums(4, n_scores)(block), sums)


@pytest.mark.parametrize("n_scores", [3, 4, 7])
@pytest.mark.parametrize("sign", [-1, 1])
def test_histograms_of_many_scores_hold_the_largest_sums(n_scores, sign):
    """All gradients as large as any can be, of one sign and of both, and more records than fit into half a word."""
    n_rows = 40_000
    gradient = np.full((n_rows, 2 * n_scores), sign * ONE, np.int32)
    gradient[:, 1:n_scores:2] *= -1
    state = {CELL_STATE: np.zeros((n_rows, 1), np.uint8), NODE_STATE: np.zeros(n_rows, np.int32)}
    block = Block(np.zeros((1, n_rows), np.uint8), np.zeros(n_rows, np.int32), np.arange(n_rows), state)
    block.state[GRADIENT_STATE] = gradient
    found = GradientHistogram(np.zeros(1, np.int32), np.array([0, 1]), n_scores)(block)
    np.testing.assert_array_equal(found[0, 0], gradient[:, :n_scores].sum(axis=0, dtype=np.int64))


def test_scores_of_candidates_are_those_of_the_splits_that_they_stand_for():
    grid, block = grid_and_block()
    candidates = grid.candidates(public_rng(0))
    node = np.zeros(block.target.size, np.int32)
    block.state[NODE_STATE] = node
    histogram = GradientHistogram(np.zeros(1, np.int32), grid.cells.offsets, 2)(block)
    scores = WalkScores.of(candidates.walks, grid.cells.offsets)(histogram)
    assert scores.shape == (1, len(candidates))
    gradient = block.state[GRADIENT_STATE][:, :2].astype(np.int64)
    for candidate in range(len(candidates)):
        split = candidates.split(candidate)
        below = cell_step(*candidates.sides([split]))(block)
        expected = sum(np.abs(gradient[below == child].sum(axis=0)).sum() for child in (0, 1))
        assert scores[0, candidate] == expected
        in_codes = grid.in_codes(split)
        assert in_codes.feature == split.feature


@given(arrays(np.int64, (2, 5), elements=st.integers(-40, 40)), st.integers(0, 4), st.integers(-8, 8))
@settings(max_examples=200, deadline=None)
def test_one_record_moves_all_split_scores_within_a_range_of_twice_its_gradient(histogram, cell, gradient):
    """Two features of five cells: the second holds the same records in another order."""
    grid = CellGrid.of(
        Schema({"a": Categorical(list("vwxyz")), "b": Categorical(list("vwxyz"))}, classes=[0, 1]).encoding(), {}
    )
    candidates = grid.candidates(public_rng(1))
    histogram[1, -1] += histogram[0].sum() - histogram[1].sum()
    before = histogram.reshape(1, 10, 1)
    after = before.copy()
    after[0, cell, 0] += gradient
    after[0, 5 + (cell * 2) % 5, 0] += gradient
    change = np.subtract(*(WalkScores.of(candidates.walks, grid.cells.offsets)(h) for h in (after, before)))
    assert np.ptp(change) <= 2 * abs(gradient)
    assert np.abs(change).max() <= abs(gradient)


@given(arrays(np.int64, (3, 2, 5), elements=st.integers(-40, 40)), st.integers(0, 4), st.integers(-8, 8))
@settings(max_examples=200, deadline=None)
def test_one_record_moves_the_scores_of_shared_splits_by_no_more(histogram, cell, gradient):
    """Three nodes that share a split; the record is at one of them."""
    grid = CellGrid.of(
        Schema({"a": Categorical(list("vwxyz")), "b": Categorical(list("vwxyz"))}, classes=[0, 1]).encoding(), {}
    )
    walk_scores = WalkScores.of(grid.candidates(public_rng(1)).walks, grid.cells.offsets)
    histogram[:, 1, -1] += histogram[:, 0].sum(axis=1) - histogram[:, 1].sum(axis=1)
    before = histogram.reshape(3, 10, 1)
    after = before.copy()
    after[1, [cell, 5 + (cell * 2) % 5], 0] += gradient
    change = np.subtract(*(walk_scores(h).sum(axis=0) for h in (after, before)))
    assert np.ptp(change) <= 2 * abs(gradient)


@pytest.mark.parametrize("shared_splits", [False, True])
@pytest.mark.parametrize("n_scores", [1, 3, 5])
def test_a_tree_grows_on_the_scores_of_a_plain_loop_at_every_level(n_scores, shared_splits):
    """Whichever child is added up and whichever follows by subtraction."""
    schema = Schema({"x": Numeric(0, 1, bins=7), "c": Categorical(list("vwxyz"))}, classes=[0, 1])
    encoding, rng, n_rows = schema.encoding(), np.random.default_rng(5), 200
    codes = np.stack([rng.integers(7, size=n_rows), rng.integers(5, size=n_rows)]).astype(np.uint8)
    gradient = rng.integers(-50, 50, size=(n_rows, 2 * n_scores)).astype(np.int32)
    grid = CellGrid.of(encoding, {})
    table = MemoryTable(encoding, codes, np.zeros(n_rows, np.int32)).derive(CELL_STATE, grid.cells)
    table = table.derive(GRADIENT_STATE, lambda block: gradient)
    candidates = grid.candidates(public_rng(2))
    growth = GradientGrowth(table, candidates, grid.cells.offsets, n_scores, shared_splits=shared_splits)
    node = np.zeros(n_rows, np.int64)
    for level in range(3):
        expected = np.zeros((1 << level, len(candidates)), np.int64)
        sides = [cell_step(*candidates.sides([candidates.split(k)])) for k in range(len(candidates))]
        cells = {CELL_STATE: np.ascontiguousarray(codes.T), NODE_STATE: np.zeros(n_rows, np.int32)}
        block = Block(codes, np.zeros(n_rows, np.int32), np.arange(n_rows), cells)
        below = [side(block) for side in sides]
        for at, candidate, child in product(range(1 << level), range(len(candidates)), (0, 1)):
            here = (node == at) & (below[candidate] == child)
            expected[at, candidate] += np.abs(gradient[here, :n_scores].sum(axis=0, dtype=np.int64)).sum()
        found = growth.scores()
        np.testing.assert_array_equal(found, expected.sum(axis=0, keepdims=True) if shared_splits else expected)
        chosen = rng.integers(len(candidates), size=len(found))
        growth.split(chosen)
        of_node = np.resize(chosen, 1 << level)
        node = np.array([2 * at + below[of_node[at]][row] for row, at in enumerate(node)])
    assert len(growth.splits) == 7
    sums = np.array([gradient[node == leaf].sum(axis=0) for leaf in range(8)])
    np.testing.assert_array_equal(growth.leaf_sums(), sums)


def test_new_scores_are_the_old_ones_and_what_the_leaf_says():
    grid, block = grid_and_block()
    block.state[NODE_STATE] = np.abs(block.state[NODE_STATE])
    values = np.array([[1, 2], [3, 4], [5, 6], [7, -8]])
    expected = block.state[SCORE_STATE] + values[block.state[NODE_STATE]]
    np.testing.assert_array_equal(AddValues(values)(block), expected)
    tables = np.arange(16).reshape(8, 2)
    base = BaseScores(np.array([10, 20]), tables, grid.cells.offsets, 0, 37)(block)
    cells = block.state[CELL_STATE].astype(int)
    plain = np.array([10, 20]) + tables[cells[:, 0]] + tables[4 + cells[:, 1]]
    np.testing.assert_array_equal(base, np.clip(plain, 0, 37))


def test_cells_hold_codes_beyond_the_last_within_bounds():
    block = Block(np.array([[200]], np.uint8), np.zeros(1, np.int32), np.zeros(1, np.uint64), {})
    assert Cells((np.array([0, 1, 1]),))(block).tolist() == [[1]]


def test_a_table_keeps_states_of_several_columns():
    table = MemoryTable(SCHEMA.encoding(10), np.zeros((2, 5), np.uint8), np.zeros(5, np.int32))
    grid = CellGrid.of(SCHEMA.encoding(10), {0: [2, 6]})
    derived = table.derive(CELL_STATE, grid.cells)
    assert derived.aggregate(lambda block: block.state[CELL_STATE].astype(np.int64).sum(axis=0)).tolist() == [0, 0]
