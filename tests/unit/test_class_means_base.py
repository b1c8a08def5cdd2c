"""Class means: their columns, the noise that they pay for, and what comes of them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.class_means_base import CLASSES_PART, STEEPNESS, ClassMeansBase
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.grouped_noise import plan_by_class
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.outline import (
    PURE_SIGNAL_FOR_STUMPS,
)
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
    "y": Numeric(0, 1, bins=2),
    "one": Categorical(["only"]),
}
ENCODING = Schema(FEATURES, classes=[0, 1]).encoding(8)
GRID = CellGrid.of(ENCODING, CellGrid.public_cuts(ENCODING))
COLUMNS = SignedColumns.of(GRID, STEEPNESS)
CODES = list(product(range(6), range(2), range(3), range(2), range(1)))


def tabled(rows, labels):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, len(FEATURES)).T.copy()
    return MemoryTable(ENCODING, codes, np.array(labels, dtype=np.int32)).derive(CELL_STATE, GRID.cells)


def run(table, n_rows, epsilon=1.0):
    base, allowance = ClassMeansBase(n_rows), Allowance.of(epsilon)
    plan = base.plan(ENCODING, Terms(), allowance.whole)
    start = without_base(ENCODING, GRID, np.zeros(1), 1.0)
    return base.run(table, open_release(Ledger(Terms(), allowance)), plan, GRID, start)


def scores_of(found, rows):
    each = (found.tables[offset + rows[:, k], 0] for k, offset in enumerate(GRID.cells.offsets[:-1]))
    return (sum(each) + found.start[0]) / (1 << 16)


def drawn(n_rows, seed, frequent=0.0):
    rng = np.random.default_rng(seed)
    rows = np.array(CODES)[rng.integers(0, len(CODES), n_rows)]
    line = np.array([-1, -1, 0, 1, 1, 0])[rows[:, 0]]
    odds = 1.2 * line + np.array([0.8, 0.0, -0.8])[rows[:, 2]] + 0.3 * rows[:, 1] - frequent
    return rows, odds, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def test_columns_are_lines_missing_values_and_categories():
    assert column_groups(ENCODING) == (2, 1, 3, 1), "none for a feature of one code"
    expected = {0: (0, [-FINE, -FINE, 0, FINE, FINE]), 5: (1, [FINE]), 6: (2, [-FINE, FINE])}
    for cell, (column, values) in expected.items():
        assert set(COLUMNS.column[cell : cell + len(values)]) == {column}
        np.testing.assert_array_equal(COLUMNS.value[cell : cell + len(values)], values)
    assert COLUMNS.column[8:11].tolist() == [3, 4, 5]
    assert COLUMNS.value[8:].tolist() == [FINE, FINE, FINE, -FINE, FINE, 0]
    np.testing.assert_allclose(COLUMNS.usual, [0.8, 0.05, 1, 1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_allclose(COLUMNS.middle, [0, 0.05, 0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert SignedColumns.of(GRID).value[:5].tolist() == [-FINE, -FINE // 2, 0, FINE // 2, FINE]


def test_sums_are_those_of_each_class_records():
    rng = np.random.default_rng(0)
    rows, labels = np.array(CODES)[rng.integers(0, len(CODES), 300)], rng.integers(0, 2, 300)
    expected = np.zeros((2, COLUMNS.n_columns + 1), dtype=np.int64)
    for row, label in zip(rows, labels, strict=True):
        for cell in GRID.cells.offsets[:-2] + row[:-1]:  # the last feature has no column
            expected[label, COLUMNS.column[cell]] += COLUMNS.value[cell]
        expected[label, -1] += FINE
    np.testing.assert_array_equal(tabled(rows, labels).aggregate(ClassSums(COLUMNS)), expected)


@pytest.mark.parametrize("frequent", [0.0, 1.5])
def test_without_noise_records_are_ranked_and_decided_as_the_classes_are(frequent):
    rows, odds, labels = drawn(20_000, 1, frequent)
    found = run(tabled(rows, labels), 20_000, 100.0)
    scores = scores_of(found, rows)
    assert np.corrcoef(scores, odds)[0, 1] > 0.95
    best = np.mean((odds > 0) == labels)
    assert np.mean((scores > 0) == labels) > best - 0.02
    assert found.n_records == 20_000
    np.testing.assert_allclose(found.frequencies, np.bincount(labels) / len(labels), atol=0.01)


def test_a_column_whose_values_are_all_at_one_end_does_not_decide_where_one_class_is_rare():
    """The centre of a column is where its records are, not the middle of its range."""
    rng = np.random.default_rng(4)
    rows = np.array(CODES)[rng.integers(0, len(CODES), 20_000)]
    rows[:, 0] = 4
    labels = rng.random(len(rows)) < 0.1 + 0.1 * rows[:, 1]
    found = run(tabled(rows, labels), 20_000, 100.0)
    np.testing.assert_allclose(np.mean(scores_of(found, rows)), np.log(0.15 / 0.85), atol=0.1)


def test_where_noise_is_all_there_is_scores_are_those_of_the_frequencies():
    """No bias of the products of noise with itself is left, which would drown them."""
    rows = np.array(CODES)
    draws = [run(tabled([], []), 2_000, 0.001) for _ in range(300)]
    moved = np.array([scores_of(draw, rows) - np.diff(np.log(draw.frequencies)) for draw in draws])
    assert np.sqrt((moved**2).mean()) < 0.5
    assert abs(np.median(moved)) < 0.1


def test_the_noise_that_is_stated_is_the_spread_where_there_is_signal():
    rows, _, labels = drawn(3_000, 2)
    table = tabled(rows, labels)
    draws = [run(table, 3_000, 0.3) for _ in range(300)]
    spread = np.stack([draw.tables[:, 0] for draw in draws]).std(axis=0) / (1 << 16)
    stated = np.mean([draw.noise for draw in draws], axis=0)
    moving = COLUMNS.value != 0
    np.testing.assert_allclose(spread[moving], stated[moving], rtol=0.35)
    assert not stated[~moving].any()


def test_classes_have_noise_of_their_own_for_all_of_epsilon():
    first, second = plan_by_class(Terms(), "sums", Fraction(1), (1, 2), 2)
    assert first.name == "sums, class 1"
    assert second.name == "sums, class 2"
    assert first.cost.epsilon == second.cost.epsilon == 1


def test_a_share_of_rho_is_refused_and_without_privacy_there_is_no_noise():
    with pytest.raises(ParameterError, match="a share of epsilon"):
        ClassMeansBase(100).plan(ENCODING, Terms(), Allowance.of(1.0, 1e-6).whole)
    assert {event.mechanism for event in ClassMeansBase(100).plan(ENCODING, Terms(), None).sums} == {Mechanism.NOTHING}


def test_without_columns_the_frequencies_are_all_there_is():
    encoding = Schema({"one": Categorical(["only"])}, classes=[0, 1]).encoding(4)
    plan = ClassMeansBase(100).plan(encoding, Terms(), Allowance.of(1.0).whole)
    assert plan.events == (plan.classes,)
    assert plan.classes.cost.epsilon == 1
    schema = Schema({"one": Categorical(["only"])}, classes=["no", "yes"])
    frame = pd.DataFrame({"one": ["only"] * 9})
    model = BoostingClassifier(1.0, 0.0, schema, n_rows_hint=10).fit(frame, ["yes"] * 9)
    assert np.unique(model.predict_proba(frame), axis=0).shape == (1, 2)


def test_noise_beyond_all_measure_leaves_scores_within_bounds():
    found = run(tabled(CODES, np.zeros(len(CODES))), 100, 1e-7)
    assert np.isfinite(found.noise).all()
    assert np.abs(scores_of(found, np.array(CODES))).max() < 1_000


def numbers(n_features):
    return {f"x{k}": Numeric(0, 1) for k in range(n_features)}


def plan_for(n_rows, n_features, classes=(0, 1)):
    encoding = Schema(numbers(n_features), classes=list(classes)).encoding(4096)
    return Boosting().plan(encoding, Terms(), Allowance.of(1.0).whole, Hints(n_rows=n_rows))


def test_where_there_is_hardly_any_signal_half_of_it_is_for_the_frequencies():
    for n_features in (2, 10, 40):
        plan = plan_for(PURE_SIGNAL_FOR_STUMPS - 1, n_features)
        assert plan.base.classes.cost.epsilon == CLASSES_PART
        assert plan.whole.cost.epsilon == 1
        assert plan.rounds is None
        assert plan_for(PURE_SIGNAL_FOR_STUMPS, n_features).small_trees_alone
    assert "class means" not in str(plan_for(10, 2, (0, 1, 2)).facts["base"])


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_a_fit_with_class_means_charges_what_it_planned_and_can_be_read(neighbours):
    n_rows, rng = 12, np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((n_rows, 7)), columns=list(numbers(7)))
    labels = np.where(frame.sum(axis=1) > 3.5, "yes", "no")
    schema = Schema(numbers(7), classes=["no", "yes"], neighbours=neighbours)
    model = BoostingClassifier(1.0, 0.0, schema, n_rows_hint=n_rows, random_state=0).fit(frame, labels)
    assert model.privacy_.epsilon == model.plan().epsilon == 1.0
    assert model.privacy_.composition == model.plan().composition
    assert model.privacy_.events[-1].mechanism is Mechanism.CUBE
    assert model.model_.class_frequencies() is not None
    assert np.isfinite(model.noise_interval(frame)).all()
    assert "x0" in model.model_.export_text()
