"""The base of choices and curves: what each releases, and what comes of them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privet import BoostingRegressor, Categorical, Numeric, Schema
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.choice_base import (
    CURVE_CELLS,
    FIRST_STEP,
    ChoiceBase,
    SoftSteps,
    column_groups,
    columns_for_curves,
    smoothed,
)
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.gradients import ONE, Huber
from privet.mechanisms.release import Release, drawn, open_release
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable

FEATURES = {"x": Numeric(0, 1, bins=5, missing=True), "c": Categorical(list("abc"))}
SCHEMA = Schema(FEATURES, target=Numeric(0, 1))
ENCODING = SCHEMA.encoding(8)
GRID = CellGrid.of(ENCODING, {})
CODES = list(product(range(6), range(3)))  # the last code of x is a missing value
LOSS = Huber("l1", 65_536, ONE // 4)


def tabled(rows, shares):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, 2).T.copy()
    return MemoryTable(ENCODING, codes, np.rint(65_535 * np.asarray(shares)).astype(np.int32)).derive(
        CELL_STATE, GRID.cells
    )


def run(base, table, release, plan, centre=0.5):
    start = without_base(ENCODING, GRID, np.array([centre]), 1.0)
    return base.run(table, release, plan, GRID, start, LOSS, public_rng(0))


def scores(found, rows):
    rows = np.asarray(rows)
    return (found.start + found.tables[rows[:, 0]] + found.tables[6 + rows[:, 1]])[:, 0] / (1 << 16)


class Watching(Release):
    """Keeps what choices are made of and what gets noise, and lets every choice and sum come out alike."""

    def __init__(self):
        super().__init__(Ledger(Terms(), None), drawn())
        self.seen = []

    def choose(self, values, event):
        self.seen.append(values[0].copy())
        return np.array([len(self.seen) % values.shape[1]])

    def noisy(self, values, event):
        self.seen.append(values.ravel().copy())
        return np.full_like(values, 3 * ONE)


def test_without_noise_steps_and_curves_lead_towards_the_target():
    rng = np.random.default_rng(0)
    rows = np.array(CODES)[rng.integers(0, len(CODES), 4000)]
    shares = 0.4 + 0.03 * rows[:, 0] + 0.05 * (rows[:, 1] == 1)
    errors = []
    for steps, curves in ((1, 0), (8, 0), (8, 2)):
        base = ChoiceBase(steps, curves)
        release = open_release(Ledger(Terms(), None))
        found = run(base, tabled(rows, shares), release, base.plan(ENCODING, Terms(), None))
        errors.append(np.abs(scores(found, rows) - shares).mean())
    assert errors[0] > 1.2 * errors[1] > 2 * errors[2], errors


def test_the_first_step_is_of_the_public_size_towards_the_side_that_has_more():
    rows = [(0, 0)] * 10 + [(4, 0)] * 10
    base = ChoiceBase(1)
    plan = base.plan(ENCODING, Terms(), None)
    for low, high in ((0.3, 0.7), (0.7, 0.3)):
        table = tabled(rows, [low] * 10 + [high] * 10)
        moved = scores(run(base, table, open_release(Ledger(Terms(), None)), plan), rows) - 0.5
        step = FIRST_STEP * (LOSS.part / 2) * (1 if high > low else -1)
        np.testing.assert_allclose(moved[[0, -1]], [-step, step], atol=2e-5)


@pytest.mark.parametrize(("share", "direction"), [(0.9, 1), (0.1, -1)])
def test_where_all_records_are_on_one_side_the_start_moves(share, direction):
    base = ChoiceBase(1)
    table = tabled([(code, code % 3) for code in range(5)] * 3, [share] * 15)
    found = run(base, table, open_release(Ledger(Terms(), None)), base.plan(ENCODING, Terms(), None))
    assert np.sign(found.start[0] / (1 << 16) - 0.5) == direction
    assert not found.tables.any()


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_record_moves_what_is_chosen_by_or_released_by_more_than_is_paid_for(neighbours):
    base, terms = ChoiceBase(2, 2), Terms(neighbours)
    plan = base.plan(ENCODING, terms, Allowance.of(1.0).whole)
    before = [((2, 1), 0.2), ((0, 0), 0.9), ((5, 2), 0.45)]

    def seen(records):
        release = Watching()
        run(base, tabled([row for row, _ in records], [share for _, share in records]), release, plan)
        return release.seen

    nothing = seen(before)
    moved = [
        [after - then for after, then in zip(seen([*before, (row, share)]), nothing, strict=True)]
        for row, share in product(CODES, (0.0, 0.48, 0.55, 1.0))
    ]
    for number, event in enumerate(plan.events):
        changes = np.array([one[number] for one in moved])
        if neighbours == "replace":
            changes = (changes[:, np.newaxis] - changes[np.newaxis]).reshape(-1, changes.shape[1])
        chosen = "sums" not in event.name
        lost = np.ptp(changes, axis=1).max() * event.parameter
        if not chosen:
            lost = np.abs(changes).sum(axis=1).max() / event.parameter
        assert 0.7 < lost / event.cost.epsilon <= 1


def fine_grid():
    """A number of a hundred cells with missing values, one without, and a category."""
    features = {"x": Numeric(0, 1, bins=100, missing=True), "y": Numeric(0, 1, bins=40), "c": Categorical(list("abcd"))}
    encoding = Schema(features, target=Numeric(0, 1)).encoding(8)
    return encoding, CellGrid.of(encoding, {})


def test_a_soft_step_is_the_mean_of_steps_at_cuts_on_either_side():
    _, grid = fine_grid()
    candidates = grid.candidates(public_rng(0))
    soft = SoftSteps.of(candidates.walks, grid.domains.ordered)
    hard = np.random.default_rng(0).integers(-(2**40), 2**40, len(candidates) + 1)
    means, reaches = soft.means(hard), []
    assert means[0] == hard[0]
    for candidate in range(len(candidates)):
        places = soft.places(candidate)
        splits = [candidates.split(place) for place in places]
        assert len({(type(split), split.feature, getattr(split, "missing_first", None)) for split in splits}) == 1
        assert places[len(places) // 2] == candidate, "as many on either side"
        assert means[candidate + 1] == int(sum(hard[1:][place] for place in places)) // len(places)
        reaches.append(len(places) // 2)
    of_x = [reach for place, reach in enumerate(reaches) if candidates.split(place).feature == 0]
    assert max(of_x) == 99 // 16
    assert max(reaches[len(of_x) :]) == 39 // 16
    assert reaches[98] == reaches[99] == 0, "the last cut, and all that is present against missing"


def test_no_record_moves_a_soft_step_by_more_than_a_hard_one():
    """Every record of a fine grid with residuals cut off on either side, beside others whose means are rounded."""
    encoding, grid = fine_grid()
    terms, base = Terms(), ChoiceBase(1)
    event = base.plan(encoding, terms, Allowance.of(1.0).whole).steps[0]
    rng = np.random.default_rng(1)

    def seen(codes, shares):
        target = np.rint(65_535 * np.asarray(shares)).astype(np.int32)
        table = MemoryTable(encoding, np.array(codes, dtype=np.uint8).T.copy(), target).derive(CELL_STATE, grid.cells)
        release, start = Watching(), without_base(encoding, grid, np.array([0.5]), 1.0)
        base.run(table, release, base.plan(encoding, terms, None), grid, start, LOSS, public_rng(0))
        return release.seen[0]

    others = [[int(rng.integers(101)), int(rng.integers(40)), int(rng.integers(4))] for _ in range(7)]
    shares = rng.random(7).tolist()
    before = seen(others, shares)
    widest = 0
    for x, share in product(range(101), (0.0, 0.47, 1.0)):
        moved = seen([*others, [x, x % 40, x % 4]], [*shares, share]) - before
        assert np.abs(moved).max() <= ONE
        widest = max(widest, np.ptp(moved))
    assert widest * event.parameter <= event.cost.epsilon
    assert widest == 2 * ONE


def test_a_step_of_a_fine_feature_is_a_ramp_of_the_public_size():
    encoding, grid = fine_grid()
    codes = np.array([[code, 0, 0] for code in range(100)] * 5, dtype=np.uint8).T.copy()
    target = np.where(codes[0] < 50, 15_000, 50_000).astype(np.int32)
    table, base = MemoryTable(encoding, codes, target).derive(CELL_STATE, grid.cells), ChoiceBase(1)
    start = without_base(encoding, grid, np.array([0.5]), 1.0)
    plan = base.plan(encoding, Terms(), None)
    found = base.run(table, open_release(Ledger(Terms(), None)), plan, grid, start, LOSS, public_rng(0))
    step, ramp = FIRST_STEP * (LOSS.part / 2), found.tables[:100, 0] / (1 << 16)
    np.testing.assert_allclose(ramp[[0, 40, 59, 99]], [-step, -step, step, step], atol=2e-5)
    assert (np.diff(ramp) >= 0).all()
    assert 10 <= (np.diff(ramp) > 0).sum() <= 13
    assert not found.tables[101:].any()


def test_the_parts_add_up_and_what_is_planned_is_what_is_charged():
    allowance = Allowance.of(1.0)
    for steps, curves in ((3, 0), (4, 1), (8, 2)):
        base = ChoiceBase(steps, curves)
        plan, ledger = base.plan(ENCODING, Terms(), allowance.whole), Ledger(Terms(), allowance)
        assert sum(event.cost.epsilon for event in plan.events) == 1
        run(base, tabled(CODES, np.linspace(0, 1, len(CODES))), Release(ledger, drawn()), plan)
        assert tuple(ledger.events) == plan.events
        assert len(plan.events) == steps + 2 * curves


def test_a_column_of_many_categories_has_no_curve_and_without_columns_all_is_for_steps():
    words = Categorical([f"w{k}" for k in range(40)])
    many = Schema({"word": words, "x": Numeric(0, 1)}, target=Numeric(0, 1)).encoding(8)
    assert columns_for_curves(many) == [1]
    alone = Schema({"word": words}, target=Numeric(0, 1)).encoding(8)
    plan = ChoiceBase(3, 2).plan(alone, Terms(), Allowance.of(1.0).whole)
    assert not plan.curves
    assert [event.cost.epsilon for event in plan.steps] == [Fraction(1, 3)] * 3


def test_groups_are_of_equal_width_and_missing_values_have_one_of_their_own():
    encoding = Schema({"x": Numeric(0, 1, bins=48, missing=True)}, target=Numeric(0, 1)).encoding(64)
    (group,) = column_groups(CellGrid.of(encoding, {}), [0])
    assert np.bincount(group.of_cell).tolist() == [4] * CURVE_CELLS + [1]
    assert group.n_groups == CURVE_CELLS + 1
    by_cell = np.arange(49)
    assert group.sums(by_cell)[:2].tolist() == [0 + 1 + 2 + 3, 4 + 5 + 6 + 7]
    alike = group.alike
    assert np.linalg.eigvalsh(alike).min() > -1e-9
    assert alike[0, 1] > alike[0, 5]
    assert not alike[-1, :-1].any()


def group_of_twelve():
    encoding = Schema({"x": Numeric(0, 1, bins=12)}, target=Numeric(0, 1)).encoding(16)
    return column_groups(CellGrid.of(encoding, {}), [0])[0]


def test_a_curve_is_what_was_released_where_there_is_no_noise_and_nothing_where_all_is():
    group, truth = group_of_twelve(), np.linspace(-0.6, 0.6, 12)
    released = np.stack([-truth * 1000 * ONE, np.full(12, 250.0 * ONE)], axis=1).astype(np.int64)
    values, noise = smoothed(released, 0.0, group)
    np.testing.assert_allclose(values, truth, atol=0.01)
    assert not noise.any()
    faint, _ = smoothed(released // 1000, 50.0 * ONE, group)
    assert np.abs(faint).max() < 0.05


def test_smoothing_comes_nearer_to_the_curve_and_states_its_own_noise():
    group, truth, rng = group_of_twelve(), np.linspace(-0.3, 0.3, 12), np.random.default_rng(0)
    deviation, found, raw = 40.0, [], []
    for _ in range(200):
        sums = np.stack([-truth * 300, np.full(12, 75.0)], axis=1) + rng.laplace(0, deviation / np.sqrt(2), (12, 2))
        values, noise = smoothed((sums * ONE).astype(np.int64), deviation * ONE, group)
        found.append(values)
        raw.append(-sums[:, 0] / 300)
    assert ((np.array(found) - truth) ** 2).mean() < 0.5 * ((np.array(raw) - truth) ** 2).mean()
    assert 0.4 < np.std(found, axis=0).mean() / noise.mean() < 2.5


def test_a_small_table_is_learned_by_choices_and_better_than_by_its_mean():
    rng = np.random.default_rng(1)
    X = rng.random((3000, 3))
    y = 10 * X[:, 0] ** 2 + rng.normal(0, 1, 3000)
    schema = Schema({f"x{k}": Numeric(0, 1) for k in range(3)}, target=Numeric(-5, 20))
    model = BoostingRegressor(0.3, schema=schema, n_rows_hint=3000, random_state=0).fit(X, y)
    assert "choice" in str(model.plan().to_dict()) or "step" in model.plan().table()
    assert 1 - ((model.predict(X) - y) ** 2).mean() / y.var() > 0.4
    assert model.privacy_.epsilon == pytest.approx(0.3)


def test_where_no_feature_can_be_split_the_target_is_guessed_by_a_common_start():
    schema = Schema({"a": Categorical(["x"])}, target=Numeric(0, 10))
    for hint in (100, None):
        model = BoostingRegressor(epsilon=1.0, schema=schema, n_rows_hint=hint).fit([["x"]] * 100, [7.0] * 100)
        assert 0 <= model.predict([["x"]])[0] <= 10
        assert model.privacy_.epsilon == 1.0
