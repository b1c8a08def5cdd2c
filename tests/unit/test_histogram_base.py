"""Class histograms: what is measured of which features, with what noise, and what is stated of it."""

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.histogram_base import HistogramBase, groups_of
from privet.mechanisms.release import open_release
from privet.parameters import public_rng
from privet.privacy.events import Mechanism, Parallel
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable

FEATURES = {
    "x": Numeric(0, 1, bins=8, missing=True),
    "y": Numeric(0, 1, bins=3),
    "two": Categorical([0, 1]),
    "six": Categorical(list(range(6))),
    "z": Numeric(0, 1, bins=8),
}
ENCODING = Schema(FEATURES, classes=[0, 1, 2]).encoding(8)
GRID = CellGrid.of(ENCODING, CellGrid.even_cuts(ENCODING, 4))
N_CODES = [9, 3, 2, 6, 8]
RNG = np.random.default_rng(0)
CODES = np.stack([RNG.integers(0, n, 600) for n in N_CODES]).astype(np.uint8)
TABLE = MemoryTable(ENCODING, CODES, RNG.integers(0, 3, 600).astype(np.int32)).derive(CELL_STATE, GRID.cells)


def run(base, epsilon=1.0, delta=0.0, seed=0):
    allowance = Allowance.of(epsilon, delta)
    plan, ledger = base.plan(ENCODING, Terms(), allowance.whole), Ledger(Terms(), allowance)
    start = without_base(ENCODING, GRID, np.zeros(3), 1.0)
    return base.run(TABLE, open_release(ledger), plan, GRID, start, public_rng(seed)), plan, ledger


def test_under_pure_epsilon_classes_are_parallel_and_features_are_groups():
    _, plan, ledger = run(HistogramBase(600))
    (whole,) = plan.events
    assert isinstance(whole, Parallel)
    assert len(whole.parts) == 3
    assert {event.groups for event in plan.counts} == {(5, 3, 2, 6, 4)}
    assert {event.mechanism for event in plan.counts} == {Mechanism.CUBE}
    assert ledger.composition.parts == plan.events
    assert ledger.epsilon == 1.0


def test_gaussian_noise_is_one_release_for_all_classes():
    _, plan, ledger = run(HistogramBase(600), delta=1e-6)
    (event,) = plan.events
    assert event.mechanism is Mechanism.GAUSSIAN
    assert event.sensitivity == len(FEATURES)
    assert ledger.events == (event,)


def test_of_many_numeric_features_the_noise_is_a_quarter_less_than_that_of_laplace():
    encoding = Schema({f"x{k}": Numeric(0, 1) for k in range(50)}, classes=[0, 1, 2]).encoding(16)
    plan = HistogramBase(600).plan(encoding, Terms(), Allowance.of(1.0).whole)
    assert plan.deviations.shape == (200,)
    assert plan.deviations.max() == plan.deviations.min() == pytest.approx(50 * np.sqrt(16 / 15), rel=0.01)


def test_how_many_groups_are_measured_is_public_and_which_features_have_them_is_drawn():
    base = HistogramBase(600, 2)
    assert base.plan(ENCODING, Terms(), Allowance.of(1.0).whole).sizes == (3, 5)
    numbers = Schema({f"x{k}": Numeric(0, 1) for k in range(9)}, classes=[0, 1, 2]).encoding(8)
    grid = CellGrid.of(numbers, CellGrid.even_cuts(numbers, 4))
    codes = np.zeros((9, 5), np.uint8)
    table = MemoryTable(numbers, codes, np.zeros(5, np.int32)).derive(CELL_STATE, grid.cells)
    seen, allowance = set(), Allowance.of(1.0)
    for seed in range(20):
        plan, start = base.plan(numbers, Terms(), allowance.whole), without_base(numbers, grid, np.zeros(3), 1.0)
        found = base.run(table, open_release(Ledger(Terms(), allowance)), plan, grid, start, public_rng(seed))
        measured = np.flatnonzero(found.noise.reshape(9, 4).any(axis=1))
        assert measured.size == 2
        seen |= set(measured.tolist())
    assert seen == set(range(9))


def test_the_noise_that_is_stated_is_the_spread_of_the_tables():
    draws = [run(HistogramBase(600), 2.0)[0] for _ in range(400)]
    spread = np.stack([draw.tables for draw in draws]).std(axis=0).mean(axis=1) / (1 << 16)
    stated = np.mean([draw.noise for draw in draws], axis=0)
    np.testing.assert_allclose(spread, stated, rtol=0.15)


def test_groups_stay_empty_where_quantiles_have_left_fewer_cells_than_were_planned_for():
    encoding = Schema({"x": Numeric(0, 1, bins=8, missing=True), "c": Categorical([0, 1])}, classes=[0, 1, 2])
    grid = CellGrid.of(encoding.encoding(8), {0: [3]})
    group, feature_of = groups_of(grid, (5, 2))
    assert group.tolist() == [0, 2, 4, 5, 6], "two cells of four groups, a missing value, two categories"
    assert feature_of.tolist() == [0] * 5 + [1] * 2
