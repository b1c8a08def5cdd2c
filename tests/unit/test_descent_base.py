"""The logistic regression by gradient descent: what each step releases, and what comes of them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.base import Circumstances
from privet.estimators.files import file_text
from privet.estimators.learning import Hints
from privet.learners.boosting.cells import CellGrid, with_gradients, without_base
from privet.learners.boosting.class_shares import ClassCounts
from privet.learners.boosting.column_sizes import CONSTANT
from privet.learners.boosting.descent_base import FACTOR_STATE, SHAKE, ColumnGradients, DescentBase, RecordFactors
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import Logistic, Softmax
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.rank_counts import FINE, RankCounts
from privet.learners.boosting.regression_base import AdditiveBase
from privet.mechanisms.release import noise_source, open_release
from privet.privacy.accounts import slots
from privet.privacy.accounts.slots import Slot
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable, ParquetTable
from privet.testing import seeded_noise

SCHEMA = Schema({"x": Numeric(0, 1, bins=5, missing=True), "c": Categorical(list("abc"))}, classes=[0, 1])
CODES = list(product(range(6), range(3)))  # the last code of x is a missing value
ENCODING = SCHEMA.encoding(8)
GRID = CellGrid.of(ENCODING, {})
LOSS = Logistic("l2")
OF_THREE = Schema(SCHEMA.features, classes=[0, 1, 2]).encoding(8)
SOFTMAX = Softmax(3, "l2")
ANY = DescentBase(100, 4)


def tabled(rows, labels, encoding=ENCODING, base=ANY):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, 2).T.copy()
    table = MemoryTable(encoding, codes, np.array(labels, dtype=np.int32)).derive(CELL_STATE, GRID.cells)
    return table.derive(FACTOR_STATE, RecordFactors(base.design(encoding, GRID)))


def start_at(*scores, encoding=ENCODING):
    return without_base(encoding, GRID, np.array(scores), 1.0)


def run(base, table, allowance, plan=None, loss=LOSS):
    encoding = table.encoding
    plan = plan or base.plan(encoding, Terms(), allowance.whole)
    start = start_at(*[0.0] * loss.n_scores, encoding=encoding)
    return base.run(table, open_release(Ledger(Terms(), allowance)), plan, GRID, start, loss)


@pytest.mark.parametrize("held", [Fraction(1), Fraction(1, 2)])
@pytest.mark.parametrize("bends", [False, True])
@pytest.mark.parametrize("terms", [Terms(), Terms("replace"), Terms("label", 2, "id")], ids=str)
def test_no_record_moves_what_is_released_by_more_than_is_paid_for(terms, bends, held):
    """Every record there can be, of either class, from scores on both sides."""
    base = DescentBase(100, 4, AdditiveBase("l2", bends), held)
    plan = base.plan(ENCODING, terms, Allowance.of(1.0, 1e-6).whole)
    kernel, farthest = ColumnGradients(base.design(ENCODING, GRID)), 0
    for score in (-3.0, 0.0, 0.4, 9.0):
        moved = np.stack(
            [
                with_gradients(tabled([row], [label], base=base), start_at(score), GRID, LOSS).aggregate(kernel)[:, 0]
                for row, label in product(CODES, (0, 1))
            ]
        ).astype(object)
        if terms.neighbours == "replace":
            moved = (moved[:, np.newaxis] - moved[np.newaxis]).reshape(-1, moved.shape[1])
        elif terms.neighbours == "label":  # all rows of a unit may be alike
            moved = terms.max_rows * (moved[0::2] - moved[1::2])
        farthest = max(farthest, (moved**2).sum(axis=1).max())
    assert len(plan.steps) == 4
    for event in plan.steps:
        assert 0.9 < farthest / (2 * event.parameter) / event.cost.rho <= 1


@pytest.mark.parametrize("terms", [Terms(), Terms("replace"), Terms("label", 2, "id")], ids=str)
def test_no_record_of_many_classes_moves_more_than_is_paid_for(terms):
    base = DescentBase(100, 4)
    plan = base.plan(OF_THREE, terms, Allowance.of(1.0, 1e-6).whole)
    kernel, farthest, numbers = ColumnGradients(base.columns.design(OF_THREE, GRID)[0], 3), 0, 0
    for scores in ((0.0, 0.0, 0.0), (9.0, -9.0, 0.0), (3.0, 3.0, -3.0), (-0.4, 0.2, 0.2)):
        start = start_at(*scores, encoding=OF_THREE)
        moved = np.stack(
            [
                with_gradients(tabled([row], [label], OF_THREE), start, GRID, SOFTMAX).aggregate(kernel).ravel()
                for row, label in product(CODES, (0, 1, 2))
            ]
        ).astype(object)
        numbers = max(numbers, (moved != 0).sum(axis=1).max())
        if terms.neighbours == "replace":
            moved = (moved[:, np.newaxis] - moved[np.newaxis]).reshape(-1, moved.shape[1])
        elif terms.neighbours == "label":
            pairs = [moved[first::3] - moved[second::3] for first, second in ((0, 1), (0, 2), (1, 2))]
            moved = terms.max_rows * np.concatenate(pairs)
        farthest = max(farthest, (moved**2).sum(axis=1).max())
    for event in plan.steps:
        # two records of different classes are not opposite to each other, as the four times that are paid for allow
        least = 0.9 if terms.neighbours == "add_remove" else 0.6
        assert least < farthest / (2 * event.parameter) / event.cost.rho <= 1
        assert event.numbers >= numbers


def test_the_counts_of_classes_move_by_one_record():
    for encoding in (ENCODING, OF_THREE):
        kernel = ClassCounts(encoding.n_classes)
        before, after = (tabled(CODES[:n], [1] * n, encoding).aggregate(kernel) for n in (4, 5))
        assert np.abs(after - before).tolist() == [0, FINE, 0][: encoding.n_classes]
        event = DescentBase(100, 4).plan(encoding, Terms(), Allowance.of(1.0, 1e-6).whole).classes
        assert event.sensitivity == FINE**2
        assert event.numbers == 1


def test_sums_by_cell_give_the_sums_of_all_records_values_times_gradients():
    rng = np.random.default_rng(0)
    rows, labels = np.array(CODES)[rng.integers(0, len(CODES), 300)], rng.integers(0, 2, 300)
    table = with_gradients(tabled(rows, labels), start_at(0.7), GRID, LOSS)
    design, _ = AdditiveBase("l2").design(ENCODING, GRID)
    gradients = []
    table.aggregate(lambda block: gradients.append(block.state[GRADIENT_STATE][:, 0].copy()) or np.zeros(1, np.int64))
    expected, shortened = np.zeros(design.n_columns + 1, dtype=object), 0
    for row, gradient in zip(rows, np.concatenate(gradients).tolist(), strict=True):
        values = np.zeros(design.n_columns + 1, dtype=object)
        for cell in design.offsets[:-1] + row:
            for column, value in zip(design.column[cell].tolist(), design.value[cell].tolist(), strict=True):
                values[column] += value
        values[-1] = CONSTANT
        size = int((values**2).sum())
        if size > design.cap:
            gradient = int(np.sign(gradient)) * (abs(gradient) * int((2**20 * design.cap // size) ** 0.5) // 2**10)
            shortened += 1
        expected += gradient * values
    assert 0 < shortened < 300
    np.testing.assert_array_equal(table.aggregate(ColumnGradients(design))[:, 0], expected.astype(np.int64))


def test_with_next_to_no_noise_steps_lead_to_the_log_odds():
    rng = np.random.default_rng(1)
    rows = np.array(CODES)[rng.integers(0, len(CODES), 40_000)]
    odds = 0.3 * (rows[:, 0] - 2) * (rows[:, 0] < 5) + np.array([0.8, 0.0, -0.8])[rows[:, 1]]
    labels = rng.random(len(rows)) < 1 / (1 + np.exp(-odds))
    found = run(DescentBase(40_000, 200), tabled(rows, labels), Allowance.of(8.0, 1e-6))
    scores = (found.start + found.tables[rows[:, 0]] + found.tables[6 + rows[:, 1]])[:, 0] / (1 << 16)
    # gradients that are cut off at one half lead further out on either side, never to the other one
    sure = np.abs(odds) > 0.3
    assert ((scores > 0) == (odds > 0))[sure].all()
    assert np.corrcoef(scores, odds)[0, 1] > 0.98
    assert found.n_records == 40_000


def test_with_next_to_no_noise_the_likeliest_of_many_classes_wins_and_shares_are_those_of_the_records():
    rng = np.random.default_rng(4)
    rows = np.array(CODES)[rng.integers(0, len(CODES), 20_000)]
    labels = np.where(rng.random(len(rows)) < 0.8, rows[:, 1], 0)
    found = run(DescentBase(20_000, 60), tabled(rows, labels, OF_THREE), Allowance.of(8.0, 1e-6), loss=SOFTMAX)
    for category in range(3):
        scores = found.start + found.tables[2] + found.tables[6 + category]
        assert scores.argmax() == category
    np.testing.assert_allclose(found.frequencies, np.bincount(labels) / len(labels), atol=0.01)


def test_where_no_record_pulls_it_back_the_noise_that_is_stated_is_the_spread():
    base, allowance = DescentBase(3_000, 8), Allowance.of(0.1, 1e-6)
    rng = np.random.default_rng(2)
    spreads = []
    for n in (0, 3_000):
        table = tabled(np.array(CODES)[rng.integers(0, len(CODES), n)], rng.integers(0, 2, n))
        draws = [run(base, table, allowance) for _ in range(300)]
        spreads.append(np.stack([draw.tables[:, 0] for draw in draws]).std(axis=0) / (1 << 16))
    assert draws[0].noise.min() > 0.1 * SHAKE
    np.testing.assert_allclose(spreads[0], draws[0].noise, rtol=0.2)
    assert (spreads[1] < 0.95 * draws[0].noise).all(), "records pull back what noise has moved"


def test_steps_have_equal_parts_and_together_all_of_the_share():
    share = Allowance.of(1.0, 1e-6).whole
    plan = DescentBase(100, 60).plan(ENCODING, Terms(), share)
    assert len({event.cost for event in plan.steps}) == 1
    assert plan.classes.cost.rho == share.rho / 50
    assert Fraction(999, 1000) * share.rho < sum(event.cost.rho for event in plan.events) <= share.rho


def test_a_share_of_pure_epsilon_is_refused_since_only_l2_distances_are_bounded():
    share = Allowance.of(1.0).whole
    for base in (DescentBase(100, 3), RankCounts(100)):
        with pytest.raises(ParameterError, match="a share of rho"):
            base.plan(ENCODING, Terms(), share)


def test_noise_beyond_all_measure_leaves_scores_within_bounds():
    base, allowance = DescentBase(100, 3), Allowance.of(1e-6, 1e-9)
    plan = base.plan(ENCODING, Terms(), allowance.whole)
    found = run(base, tabled(CODES, np.zeros(len(CODES))), allowance, plan)
    assert np.isfinite(found.noise).all()
    assert np.abs(found.tables).max() < 20 * SHAKE * (1 << 16)


WIDE = Schema({f"x{k}": Numeric(0, 1, bins=8) for k in range(18)}, classes=[0, 1])


def wide(**changes):
    settings = {"epsilon": 1.0, "delta": 1e-6, "schema": WIDE, "n_rows_hint": 5_000, "n_trees": 3, "random_state": 0}
    return BoostingClassifier(**(settings | changes))


def base_for(schema=WIDE, n_rows=5_000, delta=1e-6):
    share = Allowance.of(1.0, delta).whole
    return Boosting().plan(schema.encoding(16), Terms(), share, Hints(n_rows=n_rows)).base


def test_two_classes_with_many_features_and_enough_signal_begin_with_descent():
    assert "turned" in str(base_for().base)
    assert "60 steps of gradient descent" in str(base_for(n_rows=700).base), "before stumps"
    assert base_for(n_rows=150) is None, "too little signal"
    assert (base_for(n_rows=300).base.columns.bends, base_for(n_rows=300).base.held) == (False, Fraction(1, 2))
    assert base_for(n_rows=300).base.n_rows == 300
    assert base_for(delta=0.0) is None, "Laplace noise would have to pay for every column"
    few = Schema({f"x{k}": Numeric(0, 1) for k in range(16)}, classes=[0, 1])
    assert "turned" in str(base_for(few).base)
    assert "turned" in str(base_for(few, n_rows=20_000).base), "for less of the budget"
    lines = Schema({f"x{k}": Numeric(0, 1) for k in range(57)}, classes=[0, 1])
    assert "60 steps of gradient descent" in str(base_for(lines, n_rows=5_000).base), "before stumps"
    assert "30 steps of gradient descent" in str(base_for(lines, n_rows=6_000).base), "before trees"
    tens = Schema({f"x{k}": Categorical(list(range(10))) for k in range(30)}, classes=[0, 1])
    assert base_for(tens, n_rows=5_000) is None, "too little signal for each of 300 columns"
    assert base_for(tens, n_rows=8_000) is not None
    of_budget = [sum(event.cost.rho for event in base_for(n_rows=n).events) for n in (5_000, 10_000)]
    assert of_budget[0] > 1.9 * of_budget[1] > 0, "much signal leaves more to the trees"
    many = Schema({f"x{k}": Categorical(list(range(24))) for k in range(18)}, classes=[0, 1])
    assert base_for(many, n_rows=6_000) is None, "more than 400 columns, and trees to come"
    assert base_for(many, n_rows=1_000) is not None
    more = Schema({f"x{k}": Categorical(list(range(250))) for k in range(18)}, classes=[0, 1])
    assert base_for(more, n_rows=1_000) is None, "more than 4,000 columns"


def test_descent_alone_spends_what_the_exact_delta_of_its_noise_allows_and_no_more():
    three = Schema(WIDE.features, classes=[0, 1, 2])
    alone = wide(n_rows_hint=700, n_trees="auto", schema=three)
    plan = alone.plan()
    assert plan.plan.rounds is None
    assert plan.beyond_rho
    assert (plan.epsilon, plan.delta) == (1.0, pytest.approx(1e-6))
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.random((700, 18)), columns=list(WIDE.features))
    fitted = alone.fit(frame, (3 * frame["x0"]).astype(int))
    assert fitted.privacy_.events == plan.events
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (plan.epsilon, plan.delta)
    assert fitted.set_params(objective="balanced_accuracy").predict(frame[:5]).shape == (5,)
    by_rho = alone._plan(alone._learner_for, three, 700, Circumstances(noise_source(), by_rho=True)).stated
    assert not by_rho.beyond_rho, "accounts add up rho"
    assert by_rho.cost.rho < plan.cost.rho
    slot = Slot.of(3, plan)
    assert sum(times for _, times in slot.planned) == len(by_rho.events), "a slot is for what a fit charges there"
    assert slots._by_rho(plan).events == by_rho.events


def test_a_fit_is_charged_what_was_planned_and_is_the_same_for_records_out_of_memory(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.random((900, 18))
    frame = pd.DataFrame(X, columns=list(WIDE.features)).assign(y=(X[:, :3].sum(axis=1) > 1.5).astype(int))
    for part, rows in enumerate(np.split(np.arange(900), [100, 450])):
        frame.iloc[rows].to_parquet(tmp_path / f"{part}.parquet", row_group_size=60)
    with seeded_noise(5):
        fitted = wide().fit(frame.drop(columns="y"), frame["y"])
    with seeded_noise(5):
        again = wide().fit(ParquetTable(tmp_path, target="y", memory=20_000, spill=tmp_path))
    assert file_text(again) == file_text(fitted)
    planned, charged = (
        [event for event in ledger.events if event.name.startswith("base: gradients")]
        for ledger in (wide().plan(), fitted.privacy_)
    )
    assert len(planned) == 36
    assert charged == planned
