"""Capped losses: none is beyond its bounds, a record moves all scores within the range, kernels have plain twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.parameters import public_rng
from privet.tables import Block, MemoryTable
from privet.trees import residual_growth
from privet.trees.candidates import Candidates
from privet.trees.capped_losses import TargetGrid, TargetHistogram, loss_table, losses_of
from privet.trees.residual_growth import ResidualGrowth
from privet.trees.scores import LARGEST_LOSS, LOSSES
from privet.trees.structure import FeatureCodes

pytestmark = pytest.mark.law

SCHEMA = Schema(
    {"x": Numeric(0, 1, bins=6), "m": Numeric(0, 1, bins=3, missing=True), "c": Categorical(list("abcd"))},
    target=Numeric(0, 1),
)
ENCODING = SCHEMA.encoding()
CANDIDATES = Candidates.all_of(FeatureCodes.of(ENCODING), public_rng(0))
GRID = TargetGrid(1000, 60_000, 16)


def records(n, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, c, n) for c in ENCODING.n_codes]).astype(np.uint8)
    return codes, rng.integers(0, 65_536, n).astype(np.int32)


def growth_of(codes, target):
    return ResidualGrowth(MemoryTable(ENCODING, codes, target), CANDIDATES)


grids = st.tuples(st.integers(0, 60_000), st.integers(1, 65_536), st.integers(2, 64)).map(
    lambda drawn: TargetGrid(drawn[0], drawn[0] + drawn[1], drawn[2])
)


@given(grid=grids, centre=st.integers(0, 65_535), cap=st.floats(1e-3, 1e12))
def test_no_loss_is_below_zero_or_above_the_largest(grid, centre, cap):
    table = loss_table(grid, centre, cap)
    assert table.shape == (grid.n_cells, grid.n_cells)
    assert table.min() >= 0
    assert table.max() <= LARGEST_LOSS


@pytest.mark.parametrize("bonus", [None, 12_345])
@pytest.mark.parametrize("cap", [1e6, 1e8, 1e10])
def test_an_added_record_lowers_all_scores_by_at_most_the_range(cap, bonus):
    codes, target = records(60)
    centres = np.array([20_000])
    for seed in range(1, 30):
        code, level = records(1, seed)
        before = growth_of(codes, target).capped_scores(GRID, centres, np.array([cap]), bonus)
        grown = growth_of(np.hstack([codes, code]), np.append(target, level).astype(np.int32))
        change = grown.capped_scores(GRID, centres, np.array([cap]), bonus) - before
        assert before.shape == (1, len(CANDIDATES) + (bonus is not None))
        assert change.max() <= 0
        assert change.min() >= -LOSSES.range


def test_the_range_is_tight():
    counts = np.array([[1000, *[0] * 15]])
    table = loss_table(GRID, 20_000, 1e6)
    alone, joined = (losses_of(counts + added, table).min() for added in (0, np.eye(1, 16, 15, dtype=np.int64)))
    assert joined - alone == LOSSES.range


def test_scores_are_those_of_plain_loops():
    codes, target = records(200)
    cap, centre = 2e8, 30_000
    table = loss_table(GRID, centre, cap)
    cells = [min(max(level - GRID.low, 0), GRID.high - 1 - GRID.low) * 16 // 59_000 for level in target.tolist()]
    found = growth_of(codes, target).capped_scores(GRID, np.array([centre]), np.array([cap]))[0]
    for number in range(0, len(CANDIDATES), 3):
        split = CANDIDATES.split(number)
        feature, second = CANDIDATES.sides([split])
        goes = second[0][codes[feature[0]]]
        least = [sum((table[cell] for cell, side in zip(cells, goes, strict=True) if side == child), np.zeros(16)).min()
                 for child in (False, True)]  # fmt: skip
        assert found[number] == -sum(least)


def test_records_without_a_target_or_in_another_node_are_not_counted():
    codes, target = records(50)
    target[:10] = -1
    node = (np.arange(50) % 3).astype(np.uint8)
    block = Block(codes, target, np.arange(50, dtype=np.uint64), {"node": node})
    counts = TargetHistogram("node", 1, 1, GRID, tuple(ENCODING.n_codes.tolist()))(block)
    known = (target >= 0) & (node == 1)
    assert counts.shape == (1, ENCODING.n_codes.sum(), 16)
    assert counts[0, :6].sum() == known.sum() == counts[0, 6:10].sum()
    assert counts[0, :6].sum(axis=1).tolist() == np.bincount(codes[0][known], minlength=6).tolist()


def test_nodes_that_are_counted_in_turn_score_as_all_at_once(monkeypatch):
    codes, target = records(300)
    growth = growth_of(codes, target)
    growth.split(np.array([2]))
    centres, caps = np.array([15_000, 40_000]), np.array([1e8, 3e7])
    at_once = growth.capped_scores(GRID, centres, caps, 7)
    monkeypatch.setattr(residual_growth, "MOST_COUNTERS", 300)
    assert np.array_equal(growth.capped_scores(GRID, centres, caps, 7), at_once)
    assert growth.most_cells(64) == 300 // int(ENCODING.n_codes.sum())


def test_each_node_has_a_cap_of_its_own():
    codes, target = records(300)
    growth = growth_of(codes, target)
    growth.split(np.array([2]))
    centres = np.array([15_000, 40_000])
    low, high, both = (
        growth.capped_scores(GRID, centres, np.array(caps)) for caps in ([1e7] * 2, [1e9] * 2, [1e7, 1e9])
    )
    assert np.array_equal(both, [low[0], high[1]])
    assert not np.array_equal(low, high)


@pytest.mark.parametrize("times", [3, 100])
def test_with_a_cap_far_beyond_the_grid_losses_are_squared_errors_and_use_all_of_the_range(times):
    table = loss_table(GRID, 30_000, times * float((GRID.high - GRID.low) ** 2))
    cells = np.arange(16)
    assert table == pytest.approx((cells[:, None] - cells) ** 2 / 15**2 * LARGEST_LOSS, abs=1)


def test_far_out_a_value_counts_that_moves_towards_the_records_but_not_how_far_beyond_that_it_moves():
    grid = TargetGrid(0, 65_536, 64)
    # records 27 cells above the centre, a cap of 20 cells squared: values 14 cells above it and more are all alike, and
    # the cap is what lies between squares of 13 cells and of the root of 13^2 + 20^2, 23.85
    losses = loss_table(grid, 16 * 1024 + 512, (20.0 * 1024) ** 2)[43]
    assert losses[:20].tolist() == [LARGEST_LOSS] * 20
    assert losses[20] == pytest.approx((23**2 - 13**2) / 20**2 * LARGEST_LOSS, rel=0.01)
    assert losses[25] == pytest.approx((18**2 - 13**2) / 20**2 * LARGEST_LOSS, rel=0.01)
    assert losses[31:56].tolist() == [0] * 25


def test_near_the_centre_errors_count_from_zero_up_to_the_cap():
    grid = TargetGrid(0, 65_536, 64)
    losses = loss_table(grid, 20 * 1024 + 512, (8.0 * 1024) ** 2)[20]
    assert losses[20] == 0
    assert losses[24] == LARGEST_LOSS // 4
    assert losses[28:].tolist() == [LARGEST_LOSS] * 36
