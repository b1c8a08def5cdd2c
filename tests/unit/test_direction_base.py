"""One step in the direction of all features: its columns, the noise that it pays for, and what comes of it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.direction_base import (
    LEAST_SURE,
    SHAKE,
    DirectionBase,
)
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.grouped_noise import plan_grouped, variance_of_groups
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.outline import DIRECTION_PART, PURE_SIGNAL_FOR_TREES, PURE_SIGNALS_FOR_DIRECTION
from privet.learners.boosting.rank_counts import FINE
from privet.learners.boosting.signed_columns import ClassSums, SignedColumns, column_groups
from privet.mechanisms.release import open_release
from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable

FEATURES = {
    "x": Numeric(0, 1, bins=5, missing=True),
    "two": Categorical(["a", "b"]),
    "three": Categorical(list("abc")),
    "one": Categorical(["only"]),
    "y": Numeric(0, 1, bins=2),
}
ENCODING = Schema(FEATURES, classes=[0, 1]).encoding(8)
GRID = CellGrid.of(ENCODING, CellGrid.public_cuts(ENCODING))
COLUMNS = SignedColumns.of(GRID)
CODES = list(product(range(6), range(2), range(3), range(1), range(2)))


def tabled(rows, labels):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, len(FEATURES)).T.copy()
    return MemoryTable(ENCODING, codes, np.array(labels, dtype=np.int32)).derive(CELL_STATE, GRID.cells)


def run(table, n_rows, epsilon=1.0):
    base, allowance = DirectionBase(n_rows), Allowance.of(epsilon)
    plan = base.plan(ENCODING, Terms(), allowance.whole)
    start = without_base(ENCODING, GRID, np.zeros(1), 1.0)
    return base.run(table, open_release(Ledger(Terms(), allowance)), plan, GRID, start)


def test_columns_are_lines_missing_values_and_categories():
    assert column_groups(ENCODING) == (2, 1, 3, 1), "none for a feature of one code"
    line = np.array([-FINE, -FINE // 2, 0, FINE // 2, FINE])
    expected = {0: (0, line), 5: (1, [FINE]), 6: (2, [-FINE, FINE])}
    for cell, (column, values) in expected.items():
        assert set(COLUMNS.column[cell : cell + len(values)]) == {column}
        np.testing.assert_array_equal(COLUMNS.value[cell : cell + len(values)], values)
    assert COLUMNS.column[8:11].tolist() == [3, 4, 5]
    assert COLUMNS.value[[8, 9, 10, 11, 12, 13]].tolist() == [FINE, FINE, FINE, 0, -FINE, FINE]
    np.testing.assert_allclose(COLUMNS.usual, [0.5, 0.05, 1, 1 / 3, 1 / 3, 1 / 3, 1])


def test_sums_are_those_of_all_records_values_signed_by_their_class():
    rng = np.random.default_rng(0)
    rows, labels = np.array(CODES)[rng.integers(0, len(CODES), 300)], rng.integers(0, 2, 300)
    expected = np.zeros(COLUMNS.n_columns + 1, dtype=np.int64)
    for row, label in zip(rows, labels, strict=True):
        for cell in GRID.cells.offsets[:-1] + row:
            expected[COLUMNS.column[cell]] += (2 * label - 1) * COLUMNS.value[cell]
        expected[-1] += (2 * label - 1) * FINE
    (found,) = np.diff(tabled(rows, labels).aggregate(ClassSums(COLUMNS)), axis=0)
    np.testing.assert_array_equal(found, expected)


def test_without_noise_the_step_ranks_records_as_the_classes_do():
    rng = np.random.default_rng(1)
    rows = np.array(CODES)[rng.integers(0, len(CODES), 20_000)]
    odds = 0.5 * (rows[:, 0] - 2) * (rows[:, 0] < 5) + np.array([0.8, 0.0, -0.8])[rows[:, 2]] + 0.3 * rows[:, 1]
    labels = rng.random(len(rows)) < 1 / (1 + np.exp(-odds))
    found = run(tabled(rows, labels), 20_000, 100.0)
    scores = sum(found.tables[offset + rows[:, k], 0] for k, offset in enumerate(GRID.cells.offsets[:-1]))
    assert np.corrcoef(scores, odds)[0, 1] > 0.9
    assert found.n_records == 20_000
    np.testing.assert_allclose(found.frequencies, np.bincount(labels) / len(labels), atol=0.01)


def test_noise_moves_a_usual_score_by_no_more_than_it_may_and_much_less_where_it_is_all_there_is():
    """A part of the step is always taken; where nothing is seen that is the least part, or little more."""
    draws = [run(tabled([], []), 3_000, 0.01) for _ in range(300)]
    moved = np.stack([draw.tables[:, 0] for draw in draws]) / (1 << 16)
    usual = np.sqrt((moved**2).mean(axis=0))
    assert np.sqrt((usual[GRID.cells.offsets[:-1]] ** 2).sum()) < SHAKE
    lengths = [draw.noise.max() for draw in draws]
    assert min(lengths) == pytest.approx(np.median(lengths), rel=1.0)
    assert min(lengths) > LEAST_SURE * 0.1 * SHAKE


def test_the_noise_that_is_stated_is_the_spread_where_the_step_is_sure():
    rng = np.random.default_rng(2)
    rows = np.array(CODES)[rng.integers(0, len(CODES), 2_000)]
    table = tabled(rows, rows[:, 0] > 2)
    draws = [run(table, 2_000, 0.1) for _ in range(300)]
    spread = np.stack([draw.tables[:, 0] for draw in draws]).std(axis=0) / (1 << 16)
    stated = np.mean([draw.noise for draw in draws], axis=0)
    moving = COLUMNS.value != 0
    # the part that is taken varies with the noise, by which the columns that say most vary a little more
    np.testing.assert_allclose(spread[moving], stated[moving], rtol=0.35)
    assert not stated[~moving].any()


def test_cube_noise_is_planned_unless_very_many_categories_make_it_the_larger_one():
    def planned(groups):
        return plan_grouped(Terms("replace"), "sums", Allowance.of(1.0).epsilon, groups, norm=3)

    for groups in ((1,) * 10, (4,) * 6, (2, 1, 3, 1)):
        event = planned(groups)
        assert event.mechanism is Mechanism.CUBE
        assert event.groups == groups
        assert event.sensitivity == 3
    beside = (1,) * 10 + (80,)
    assert planned(beside).mechanism is Mechanism.LAPLACE
    assert planned(beside).sensitivity == 3 * len(beside)
    cube = Terms("replace").cube("sums", Allowance.of(1.0).epsilon, groups=beside, norm=3)
    assert variance_of_groups(planned(beside), beside) < variance_of_groups(cube, beside)


def test_a_share_of_rho_is_refused_and_without_privacy_there_is_no_noise():
    with pytest.raises(ParameterError, match="a share of epsilon"):
        DirectionBase(100).plan(ENCODING, Terms(), Allowance.of(1.0, 1e-6).whole)
    assert DirectionBase(100).plan(ENCODING, Terms(), None).sums.mechanism is Mechanism.NOTHING


def test_noise_beyond_all_measure_leaves_scores_within_bounds():
    found = run(tabled(CODES, np.zeros(len(CODES))), 100, 1e-7)
    assert np.isfinite(found.noise).all()
    assert np.abs(found.tables).max() < 20 * SHAKE * (1 << 16)


NUMBERS = {f"x{k}": Numeric(0, 1) for k in range(6)}


def base_for(n_rows, features=NUMBERS, classes=(0, 1)):
    encoding = Schema(features, classes=list(classes)).encoding(4096)
    return Boosting().plan(encoding, Terms(), Allowance.of(1.0).whole, Hints(n_rows=n_rows))


def test_two_classes_of_few_features_and_little_signal_begin_with_a_step():
    few, enough = PURE_SIGNALS_FOR_DIRECTION
    plan = base_for(few)
    assert "one step of a logistic regression" in str(plan.facts["base"])
    assert plan.base.sums.cost.epsilon == DIRECTION_PART
    assert plan.rounds.depth == 2
    assert plan.rounds.margin == 0
    assert base_for(few - 1).base is None
    assert base_for(few - 1).rounds.depth == 2
    assert base_for(PURE_SIGNAL_FOR_TREES - 1).small_trees_alone
    assert "one step" in str(base_for(enough - 1).facts["base"])
    assert base_for(enough).base is None
    assert base_for(enough).rounds.depth == 2
    assert base_for(few, {f"x{k}": Numeric(0, 1) for k in range(17)}).base is None, "too many features"
    assert "one step" not in str(base_for(few, classes=(0, 1, 2)).facts["base"])
    assert base_for(few, {"c": Categorical(list(range(500)))}).base is None, "too many columns"


def test_a_fit_with_a_step_charges_what_it_planned_and_can_be_read():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((200, 6)), columns=list(NUMBERS))
    labels = np.where(frame.sum(axis=1) > 3, "yes", "no")
    schema = Schema(NUMBERS, classes=["no", "yes"])
    model = BoostingClassifier(1.0, 0.0, schema, n_rows_hint=200, random_state=0).fit(frame, labels)
    assert model.privacy_.epsilon == model.plan().epsilon == 1.0
    assert model.privacy_.events[0].mechanism is Mechanism.CUBE
    assert model.model_.class_frequencies() is not None
    assert np.isfinite(model.noise_interval(frame)).all()
    assert "x0" in model.model_.export_text()


def test_very_many_numbers_have_laplace_noise_which_is_drawn_at_once():
    for n_groups, mechanism in ((500, Mechanism.CUBE), (501, Mechanism.LAPLACE)):
        assert plan_grouped(Terms(), "counts", Fraction(1), [4] * n_groups).mechanism is mechanism
