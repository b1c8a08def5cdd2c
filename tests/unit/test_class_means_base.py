"""Class means: their columns, the noise that they pay for, and what comes of them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.class_means import CENTRES_PART, STEEPNESS, ClassMeans
from privet.learners.boosting.class_means_base import ClassMeansBase
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.grouped_noise import plan_by_class, plan_grouped, variance_of_groups
from privet.learners.boosting.rank_counts import FINE
from privet.learners.boosting.signed_columns import ClassSums, SignedColumns, column_groups
from privet.mechanisms.release import open_release
from privet.parameters import public_rng
from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable
from privet.testing import seeded_noise

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


CENTRED = 100


def base_of(n_rows, most_columns=None, most_centred=0):
    return ClassMeansBase(n_rows, ClassMeans(most_columns, most_centred), Fraction(1, 3))


def run(table, n_rows, epsilon=1.0, most_columns=None, seed=0, most_centred=0):
    base, allowance = base_of(n_rows, most_columns, most_centred), Allowance.of(epsilon)
    plan = base.plan(ENCODING, Terms(), allowance.whole)
    start = without_base(ENCODING, GRID, np.zeros(1), 1.0)
    return base.run(table, open_release(Ledger(Terms(), allowance)), plan, GRID, start, public_rng(seed))


def scores_of(found, rows):
    each = (found.tables[offset + rows[:, k], 0] for k, offset in enumerate(GRID.cells.offsets[:-1]))
    return (sum(each) + found.start[0]) / (1 << 16)


def drawn(n_rows, seed, frequent=0.0):
    rng = np.random.default_rng(seed)
    rows = np.array(CODES)[rng.integers(0, len(CODES), n_rows)]
    line = np.array([-1, -1, 0, 1, 1, 0])[rows[:, 0]]
    odds = 1.2 * line + np.array([0.8, 0.0, -0.8])[rows[:, 2]] + 0.3 * rows[:, 1] - frequent
    return rows, odds, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def test_columns_are_lines_missing_values_and_all_categories_but_the_first():
    assert column_groups(ENCODING) == (2, 1, 2, 1), "none for a feature of one code"
    line, first_of_three = [-FINE, -FINE, 0, FINE, FINE], -(FINE // 2)
    assert COLUMNS.value.tolist() == [*line, FINE, -FINE, FINE, first_of_three, FINE, FINE, -FINE, FINE, 0]
    assert COLUMNS.column[:-1].tolist() == [0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 4, 5, 5]
    assert COLUMNS.width.tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 0]
    np.testing.assert_allclose(COLUMNS.usual, [0.8, 0.05, 1, 5 / 12, 5 / 12, 1])
    np.testing.assert_allclose(COLUMNS.middle, [0, 0.05, 0, 1 / 6, 1 / 6, 0])
    assert SignedColumns.of(GRID).value[:5].tolist() == [-FINE, -FINE // 2, 0, FINE // 2, FINE]


@pytest.mark.parametrize("measured", [None, [2, 0], [3], []])
def test_no_cell_adds_more_than_one_to_a_features_columns_and_none_to_those_of_others(measured):
    columns = SignedColumns.of(GRID, STEEPNESS, measured)
    assert (np.abs(columns.value) * columns.width <= FINE).all()
    beginning = 0
    for feature in range(len(FEATURES)) if measured is None else measured:
        cells = slice(*GRID.cells.offsets[feature : feature + 2])
        touched = columns.width[cells] > 0
        ends = columns.column[cells] + columns.width[cells]
        assert (columns.column[cells][touched] >= beginning).all()
        beginning = max(beginning, ends.max(initial=0))
    assert beginning == columns.n_columns
    if measured is not None:
        others = [feature for feature in range(len(FEATURES)) if feature not in measured]
        assert not any(columns.width[slice(*GRID.cells.offsets[k : k + 2])].any() for k in others)


def one_by_one(columns, weights):
    """Return what each cell gives, the plain way."""
    touched = zip(columns.column, columns.width, columns.value, strict=True)
    return [sum(value / FINE * weights[column + k] for k in range(width)) for column, width, value in touched]


def test_what_cells_give_is_the_sum_over_their_columns():
    weights = np.random.default_rng(5).normal(size=COLUMNS.n_columns)
    np.testing.assert_allclose(COLUMNS.score_of_cells(weights), one_by_one(COLUMNS, weights), atol=1e-12)
    squares = [value / FINE for value in COLUMNS.value] * np.array(one_by_one(COLUMNS, weights**2))
    np.testing.assert_allclose(COLUMNS.deviation_of_cells(weights) ** 2, squares, atol=1e-12)


def test_sums_are_those_of_each_class_records():
    rng = np.random.default_rng(0)
    rows, labels = np.array(CODES)[rng.integers(0, len(CODES), 300)], rng.integers(0, 2, 300)
    expected = np.zeros((2, COLUMNS.n_columns), dtype=np.int64)
    for row, label in zip(rows, labels, strict=True):
        for cell in GRID.cells.offsets[:-1] + row:
            for column in range(COLUMNS.column[cell], COLUMNS.column[cell] + COLUMNS.width[cell]):
                expected[label, column] += COLUMNS.value[cell]
    np.testing.assert_array_equal(tabled(rows, labels).aggregate(ClassSums(COLUMNS)), expected)


@pytest.mark.parametrize("most_centred", [0, CENTRED])
@pytest.mark.parametrize("frequent", [0.0, 1.5])
def test_without_noise_records_are_ranked_and_decided_as_the_classes_are(frequent, most_centred):
    rows, odds, labels = drawn(20_000, 1, frequent)
    found = run(tabled(rows, labels), 20_000, 100.0, most_centred=most_centred)
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
        base_of(100).plan(ENCODING, Terms(), Allowance.of(1.0, 1e-6).whole)
    plan = base_of(100).plan(ENCODING, Terms(), None)
    assert {event.mechanism for event in (plan.frequencies.more, *plan.means.sums)} == {Mechanism.NOTHING}


def test_without_columns_the_frequencies_are_all_there_is():
    encoding = Schema({"one": Categorical(["only"])}, classes=[0, 1]).encoding(4)
    plan = base_of(100).plan(encoding, Terms(), Allowance.of(1.0).whole)
    assert plan.means.sizes == ()
    assert plan.events == (plan.frequencies.more,)
    assert plan.events[0].cost.epsilon == 1
    schema = Schema({"one": Categorical(["only"])}, classes=["no", "yes"])
    frame = pd.DataFrame({"one": ["only"] * 9})
    model = BoostingClassifier(1.0, 0.0, schema, n_rows_hint=10).fit(frame, ["yes"] * 9)
    assert np.unique(model.predict_proba(frame), axis=0).shape == (1, 2)


def test_some_features_are_measured_with_less_noise_and_others_add_nothing():
    rows, _, labels = drawn(2_000, 6)
    table, all_of_them, seen = tabled(rows, labels), run(tabled(rows, labels), 2_000, 100.0), set()
    for seed in range(20):
        found = run(table, 2_000, 100.0, most_columns=4, seed=seed)
        bounds = GRID.cells.offsets
        used = tuple(k for k in range(len(FEATURES)) if found.tables[bounds[k] : bounds[k + 1]].any())
        assert len(used) == 2
        measured = found.noise > 0
        assert (found.noise[measured] < 2 * all_of_them.noise[measured]).all()
        seen.add(used)
    assert len(seen) > 1, "which of them is drawn anew by each fit"
    whole, part = (base_of(100, most).plan(ENCODING, Terms(), Allowance.of(1.0).whole).means for most in (None, 4))
    assert part.sums[0].deviation < whole.sums[0].deviation


def test_noise_beyond_all_measure_leaves_scores_within_bounds():
    found = run(tabled(CODES, np.zeros(len(CODES))), 100, 1e-7)
    assert np.isfinite(found.noise).all()
    assert np.abs(scores_of(found, np.array(CODES))).max() < 1_000


def numbers(n_features):
    return {f"x{k}": Numeric(0, 1) for k in range(n_features)}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("n_rows", [12, 600])
def test_a_fit_with_class_means_charges_what_it_planned_and_can_be_read(neighbours, n_rows):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((n_rows, 7)), columns=list(numbers(7)))
    labels = np.where(frame.sum(axis=1) > 3.5, "yes", "no")
    schema = Schema(numbers(7), classes=["no", "yes"], neighbours=neighbours)
    model = BoostingClassifier(1.0, 0.0, schema, n_rows_hint=n_rows, random_state=0).fit(frame, labels)
    assert model.privacy_.epsilon == model.plan().epsilon == 1.0
    first, second = model.privacy_.events[:2]
    assert first.mechanism is Mechanism.LAPLACE
    assert second.mechanism is Mechanism.CUBE
    assert model.model_.class_frequencies() is not None
    assert np.isfinite(model.noise_interval(frame)).all()
    assert any(name in model.model_.export_text() for name in numbers(7))


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


def test_very_many_numbers_have_laplace_noise_which_is_drawn_at_once():
    for n_groups, mechanism in ((500, Mechanism.CUBE), (501, Mechanism.LAPLACE)):
        assert plan_grouped(Terms(), "counts", Fraction(1), [4] * n_groups).mechanism is mechanism


def test_columns_whose_means_are_known_are_zero_there():
    means = np.array([-0.5, 0.1, 0.2, 0.3, 0.4, 1.0])
    found = SignedColumns.of(GRID, STEEPNESS, means=means)
    np.testing.assert_allclose(found.value[:5] / FINE, [-1, 0, 1, 1, 1], atol=1e-3)
    np.testing.assert_allclose(found.value[11:13] / FINE, [-1, 0], atol=1e-3)
    np.testing.assert_array_equal(found.value[5:11], COLUMNS.value[5:11])
    np.testing.assert_allclose(found.middle, [0, 0.1, 0.2, 0.3, 0.4, 0])


def test_means_of_all_records_are_a_part_of_the_budget_and_see_the_same_columns():
    share = Allowance.of(1.0).whole
    for too_few in (0, 5):
        assert base_of(100, None, too_few).plan(ENCODING, Terms(), share).means.centres is None
    for most_columns in (None, 4):
        planned = base_of(100, most_columns, CENTRED).plan(ENCODING, Terms(), share)
        centres, (first, _) = planned.means.centres, planned.means.sums
        assert centres.cost.epsilon == Fraction(2, 3) * CENTRES_PART
        assert first.cost.epsilon == Fraction(2, 3) * (1 - CENTRES_PART)
        assert centres.groups == first.groups == planned.means.sizes


def test_lines_around_the_means_rank_records_whose_values_are_all_near_one_end():
    """A steep line in the middle of the range is flat there."""
    encoding = Schema(numbers(4), classes=[0, 1]).encoding(256)
    grid = CellGrid.of(encoding, CellGrid.public_cuts(encoding))
    rng = np.random.default_rng(7)
    codes = np.minimum(rng.exponential(12, (4, 8_000)), 60).astype(np.uint8)
    labels = (rng.random(8_000) < 1 / (1 + np.exp((12 - codes[0]) / 4))).astype(np.int32)
    table = MemoryTable(encoding, codes, labels).derive(CELL_STATE, grid.cells)

    def reach(most_centred):
        base, allowance = base_of(8_000, None, most_centred), Allowance.of(20.0)
        plan = base.plan(encoding, Terms(), allowance.whole)
        start = without_base(encoding, grid, np.zeros(1), 1.0)
        with seeded_noise(5):
            found = base.run(table, open_release(Ledger(Terms(), allowance)), plan, grid, start, public_rng(0))
        cells = grid.cells.offsets[0] + grid.cells.cell[0][np.arange(0, 60, 5)]
        return np.ptp(found.tables[cells, 0]) / (1 << 16)

    assert reach(CENTRED) > 0.1 > 10 * reach(0)
