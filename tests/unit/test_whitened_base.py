"""The regression in turned columns: what each step releases, what comes of them, and where it is chosen."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from privet import BoostingRegressor, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.files import file_text
from privet.estimators.learning import Hints
from privet.learners.boosting.cells import CellGrid, with_gradients, without_base
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, Huber
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.regression_base import AdditiveBase
from privet.learners.boosting.stepwise_base import StepwiseBase
from privet.learners.boosting.turned_columns import (
    LARGEST_MATRIX,
    LENGTH,
    LIMIT_STATE,
    RecordLimits,
    Turn,
    TurnedSums,
)
from privet.learners.boosting.whitened_base import SHAKE, WhitenedBase, farthest
from privet.mechanisms.release import Release, drawn, open_release
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable, ParquetTable
from privet.testing import seeded_noise

SCHEMA = Schema({"x": Numeric(0, 1, bins=5, missing=True), "c": Categorical(list("abc"))}, target=Numeric(0, 1))
CODES = list(product(range(6), range(3)))  # the last code of x is a missing value
ENCODING = SCHEMA.encoding(8)
GRID = CellGrid.of(ENCODING, {})
LOSS = Huber("l2", 65_536, ONE // 8)
PART = Fraction(1, 8)


def tabled(rows, shares, encoding=ENCODING, grid=GRID):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, encoding.n_features).T.copy()
    target = np.rint(65_535 * np.asarray(shares, dtype=float)).astype(np.int32)
    return MemoryTable(encoding, codes, target).derive(CELL_STATE, grid.cells)


def start_at(score, encoding=ENCODING, grid=GRID):
    return without_base(encoding, grid, np.array([score]), 1.0)


def design_of(bends=True):
    return AdditiveBase("l2", bends).design(ENCODING, GRID)[0]


def turns(n_columns):
    """Turns by products of columns that data could have, by noise alone, and by nothing."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 300, (n_columns, n_columns))
    line = rng.normal(size=n_columns)
    return [
        Turn.of(gram, penalty, 100.0)
        for gram, penalty in (
            (np.eye(n_columns), 1.0),
            (100 * np.outer(line, line) + np.eye(n_columns), 1.0),
            (noise + noise.T, 500.0),
            (np.zeros((n_columns, n_columns)), 1.0),
        )
    ]


@pytest.mark.parametrize("bends", [False, True])
@pytest.mark.parametrize("terms", [Terms(), Terms("replace"), Terms("label", 2, "id")], ids=str)
def test_no_record_moves_what_is_released_by_more_than_is_paid_for(terms, bends):
    """Every record there can be with the farthest targets, turned in several ways, from scores on both sides."""
    plan = WhitenedBase(100, 4, PART, AdditiveBase("l2", bends)).plan(ENCODING, terms, Allowance.of(1.0, 1e-6).whole)
    design, largest, numbers = design_of(bends), 0, 0
    for turn in turns(design.n_columns + 1):
        for score, loss in product((0.0, 0.37, 1.0), (LOSS, replace(LOSS, width=ONE))):
            moved = []
            for row, share in product(CODES, (0.0, 0.31, 1.0)):
                table = tabled([row], [share]).derive(LIMIT_STATE, RecordLimits(design, turn.matrix, farthest(0)))
                here = with_gradients(table, start_at(score), GRID, loss)
                moved.append(here.aggregate(TurnedSums(design, turn.matrix))[:, 0].astype(object))
            moved = np.stack(moved)
            numbers = max(numbers, (moved != 0).sum(axis=1).max())
            if terms.neighbours == "replace":
                moved = (moved[:, np.newaxis] - moved[np.newaxis]).reshape(-1, moved.shape[1])
            elif terms.neighbours == "label":  # all rows of a unit may be alike
                moved = terms.max_rows * (moved[0::3] - moved[2::3])
            largest = max(largest, (moved**2).sum(axis=1).max())
    for event in plan.steps:
        assert 0.9 < largest / (2 * event.parameter) / event.cost.rho <= 1
        assert event.numbers >= numbers


def test_sums_by_cell_give_the_sums_of_all_turned_records_times_limited_residuals():
    rng = np.random.default_rng(1)
    rows, shares = np.array(CODES)[rng.integers(0, len(CODES), 300)], rng.random(300)
    design, cut_off = design_of(), 0
    for turn in turns(design.n_columns + 1)[:3]:
        table = tabled(rows, shares).derive(LIMIT_STATE, RecordLimits(design, turn.matrix, farthest(0)))
        table = with_gradients(table, start_at(0.4), GRID, LOSS)
        gradients = []
        table.aggregate(lambda block, out=gradients: out.append(block.state[GRADIENT_STATE][:, 0]) or np.zeros(1, int))
        expected = np.zeros(design.n_columns + 1, dtype=object)
        for row, gradient in zip(rows, np.concatenate(gradients).tolist(), strict=True):
            values = np.zeros(design.n_columns + 1, dtype=object)
            for cell in design.offsets[:-1] + row:
                for column, value in zip(design.column[cell].tolist(), design.value[cell].tolist(), strict=True):
                    values[column] += value
            values[-1] = CONSTANT
            turned = turn.matrix.astype(object) @ values
            limit = math.isqrt(farthest(0) // int((turned**2).sum()))
            cut_off += abs(gradient) > limit
            expected += max(min(gradient, limit), -limit) * turned
        sums = table.aggregate(TurnedSums(design, turn.matrix))[:, 0]
        np.testing.assert_array_equal(sums, expected.astype(np.int64))
    assert 0 < cut_off < 900


def test_a_usual_record_is_as_long_as_it_is_meant_to_be_and_no_matrix_is_too_large():
    rng = np.random.default_rng(2)
    columns = np.rint(WEIGHT * rng.uniform(-1, 1, (4000, 1)) + rng.uniform(-9, 9, (4000, 6)))
    turn = Turn.of(columns.T @ columns / WEIGHT**2, 1.0, 4000.0)
    lengths = np.linalg.norm(columns @ turn.matrix, axis=1)
    assert np.sqrt((lengths**2).mean()) == pytest.approx(LENGTH, rel=0.01)
    along = columns @ turn.matrix
    spread = np.linalg.eigvalsh(along.T @ along)
    assert spread[-1] < 1.2 * spread[0], "as long in every direction"
    for n_columns, penalty in product((1, 7, 401), (1.0, 1e-12, 1e12)):
        matrix = Turn.of(np.zeros((n_columns, n_columns)), penalty, 1e9).matrix.astype(object)
        assert 0 < (matrix**2).sum() <= (LARGEST_MATRIX + 401) ** 2


def made_up(n):
    """Records whose target is a bent line of the number and a step for one category."""
    rng = np.random.default_rng(3)
    rows = np.stack([rng.integers(0, 5, n), rng.integers(0, 3, n)], axis=1)
    return rows, 0.4 + 0.02 * (rows[:, 0] - 2) ** 2 + 0.03 * rows[:, 0] + 0.06 * (rows[:, 1] == 0)


def scores_of(found, rows, offsets=GRID.cells.offsets):
    return (found.start[0] + found.tables[offsets[:-1] + rows, 0].sum(axis=1)) / (1 << 16)


def test_without_noise_steps_lead_to_the_target_from_wherever_they_begin():
    rows, shares = made_up(5000)
    base, release = WhitenedBase(5000, 60, PART), open_release(Ledger(Terms(), None))
    plan = base.plan(ENCODING, Terms(), None)
    for centre in (0.35, 0.55):
        found = base.run(tabled(rows, shares), release, plan, GRID, start_at(centre), LOSS)
        np.testing.assert_allclose(scores_of(found, rows), shares, atol=0.01)


class NoiseOfSteps(Release):
    """Releases the products of columns as they are."""

    def noisy(self, values, event):
        return values if event.name == "base: products of columns" else super().noisy(values, event)


def test_where_no_record_pulls_it_back_the_noise_that_is_stated_is_the_spread():
    base, allowance = WhitenedBase(3000, 8, PART), Allowance.of(0.1, 1e-6)
    plan = base.plan(ENCODING, Terms(), allowance.whole)
    rows, _ = made_up(3000)

    class Unmoved(NoiseOfSteps):
        """Takes what steps see for nothing."""

        def noisy(self, values, event):
            return super().noisy(values if event is plan.pairs else 0 * values, event)

    spreads = {}
    with seeded_noise(0):
        outcomes = drawn()
        for kind in (Unmoved, NoiseOfSteps):
            draws = [
                base.run(
                    tabled(rows, np.full(3000, 0.5)),
                    kind(Ledger(Terms(), allowance), outcomes),
                    plan,
                    GRID,
                    start_at(0.5),
                    LOSS,
                )
                for _ in range(300)
            ]
            spreads[kind] = np.stack([draw.tables[:, 0] for draw in draws]).std(axis=0) / (1 << 16)
    np.testing.assert_allclose(spreads[Unmoved], draws[0].noise, rtol=0.15)
    assert (spreads[NoiseOfSteps] < 0.97 * draws[0].noise).mean() > 0.7, "records pull back what noise has moved"
    assert draws[0].noise.max() < 3 * SHAKE * LOSS.part


def test_what_sets_columns_apart_is_found_where_they_follow_each_other():
    """Six columns of one size, of which two differ from it with the target; steps by products alone find less of it."""
    schema = Schema({f"x{k}": Numeric(0, 1, bins=32) for k in range(6)}, target=Numeric(0, 1))
    encoding, rng, n = schema.encoding(32), np.random.default_rng(4), 4000
    size, apart = rng.uniform(6, 26, n), rng.normal(0, 2.5, n)
    rows = np.stack([size + sign * apart + rng.normal(0, 1, n) for sign in (1, -1, 0, 0, 0, 0)], axis=1)
    rows, shares = np.clip(np.rint(rows), 0, 31).astype(np.uint8), 0.5 + 0.02 * apart
    grid, allowance, errors = CellGrid.of(encoding, {}), Allowance.of(0.08, 1e-6), {}
    lines = AdditiveBase("l2", False)
    with seeded_noise(1):
        outcomes = drawn()
        for base in (WhitenedBase(n, 24, PART, lines), StepwiseBase(lines, 8, Fraction(1, 10))):
            plan = base.plan(encoding, Terms(), allowance.whole)
            left = []
            for _ in range(8):
                start, release = start_at(0.5, encoding, grid), Release(Ledger(Terms(), allowance), outcomes)
                found = base.run(tabled(rows, shares, encoding, grid), release, plan, grid, start, LOSS)
                left.append(((scores_of(found, rows, grid.cells.offsets) - shares) ** 2).mean() / shares.var())
            errors[type(base)] = np.mean(left)
    assert errors[WhitenedBase] < 0.7 * errors[StepwiseBase]


def test_steps_have_equal_parts_and_together_all_of_the_share():
    share = Allowance.of(1.0, 1e-6).whole
    plan = WhitenedBase(100, 24, PART).plan(ENCODING, Terms(), share)
    assert len({event.cost for event in plan.steps}) == 1
    assert plan.pairs.cost.rho == share.rho / 8
    assert plan.pairs.numbers == 4 * 5 // 2, "of a line, a bend, a category and the constant"
    assert Fraction(999, 1000) * share.rho < sum(event.cost.rho for event in plan.events) <= share.rho
    assert [event.sensitivity for event in plan.steps] == [farthest(0)] * 24


def test_a_share_of_pure_epsilon_is_refused_since_only_l2_distances_are_bounded():
    with pytest.raises(ParameterError, match="a share of rho"):
        WhitenedBase(100, 3, PART).plan(ENCODING, Terms(), Allowance.of(1.0).whole)


@pytest.mark.parametrize("n", [0, 18])
def test_noise_beyond_all_measure_leaves_scores_within_bounds(n):
    base, allowance = WhitenedBase(100, 3, PART), Allowance.of(1e-6, 1e-9)
    plan = base.plan(ENCODING, Terms(), allowance.whole)
    release = Release(Ledger(Terms(), allowance), drawn())
    found = base.run(tabled(CODES[:n], np.zeros(n)), release, plan, GRID, start_at(0.5), LOSS)
    assert np.isfinite(found.noise).all()
    assert np.abs(found.tables).max() < 100 * SHAKE * LOSS.width


def numbers(n_features):
    return Schema({f"x{k}": Numeric(0, 1) for k in range(n_features)}, target=Numeric(0, 1))


def planned(schema, n_rows, epsilon=1.0, delta=1e-6):
    return Boosting().plan(schema.encoding(64), Terms(), Allowance.of(epsilon, delta).whole, Hints(n_rows=n_rows))


def test_where_columns_are_turned_goes_by_the_signal_and_their_number():
    eight = numbers(8)  # 9 columns of lines, 17 with bends, the constant included
    for n_rows, turned, bent, grows in (
        (50, False, False, True),  # n^2 rho = 61
        (70, True, False, False),  # 119
        (240, True, False, False),  # 1,403
        (300, True, True, False),  # 2,192
        (2_000, True, True, False),  # 97,424
        (2_100, True, True, True),  # 107,410
    ):
        plan = planned(eight, n_rows)
        assert ("turned" in str(plan.facts["base"])) == turned
        assert ("bend" in str(plan.facts["base"])) == bent
        assert (plan.rounds is not None) == grows
    many = numbers(60)
    assert "turned" not in str(planned(many, 1_000).facts["base"]), "too many columns for the signal"
    assert "turned" in str(planned(many, 1_200).facts["base"])
    assert "bend" not in str(planned(many, 1_200).facts["base"])
    assert "turned" not in str(planned(eight, None).facts["base"])
    assert "turned" not in str(planned(eight, 1_000, delta=0.0).facts["base"])
    assert planned(numbers(401), 10**7).base is None, "more than 400 columns"
    assert "bend" not in str(planned(numbers(300), 10**7).facts["base"]), "more than 400 with bends"


def records(n=900):
    rng = np.random.default_rng(5)
    X = rng.random((n, 4))
    return pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"]).assign(y=X[:, :2].mean(axis=1))


def regressor(n_rows=900):
    return BoostingRegressor(1.0, delta=1e-6, schema=numbers(4), n_rows_hint=n_rows, random_state=0)


def test_alone_it_spends_what_the_exact_delta_of_its_noise_allows_and_no_more():
    plan = regressor().plan()
    assert plan.plan.rounds is None
    assert plan.beyond_rho
    assert (plan.epsilon, plan.delta) == (1.0, pytest.approx(1e-6))
    frame = records()
    fitted = regressor().fit(frame.drop(columns="y"), frame["y"])
    assert fitted.privacy_.events == plan.events
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (plan.epsilon, plan.delta)


@pytest.mark.parametrize("n_rows", [900, 3_000])
def test_a_fit_is_the_same_for_records_out_of_memory(n_rows, tmp_path):
    """Alone, and before trees."""
    frame = records()
    for part, rows in enumerate(np.split(np.arange(900), [100, 450])):
        frame.iloc[rows].to_parquet(tmp_path / f"{part}.parquet", row_group_size=60)
    with seeded_noise(5):
        fitted = regressor(n_rows).fit(frame.drop(columns="y"), frame["y"])
    with seeded_noise(5):
        again = regressor(n_rows).fit(ParquetTable(tmp_path, target="y", memory=20_000, spill=tmp_path))
    assert file_text(again) == file_text(fitted)
    assert sum(event.name.startswith("base: residuals") for event in fitted.privacy_.events) == 24


@pytest.mark.parametrize("n_rows", [300, 900, 9_000])
def test_a_guess_that_is_far_off_costs_little(n_rows):
    frame = records(900)
    with seeded_noise(6):
        fitted = regressor(n_rows).fit(frame.drop(columns="y"), frame["y"])
    left = frame["y"] - fitted.predict(frame.drop(columns="y"))
    assert (left**2).mean() < 0.3 * frame["y"].var()
