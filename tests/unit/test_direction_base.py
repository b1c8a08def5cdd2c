"""One step in the direction of all features: its columns, the noise that it pays for, and what comes of it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.direction_base import LEAST_SURE, SHAKE, DirectionBase
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.signed_columns import SignedColumns
from privet.learners.boosting.two_classes_outline import FEW_COLUMNS, SIGNALS_FOR_A_STEP, SIGNALS_FOR_MEANS, STEP_PART
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


def test_a_share_of_rho_is_refused_and_without_privacy_there_is_no_noise():
    with pytest.raises(ParameterError, match="a share of epsilon"):
        DirectionBase(100).plan(ENCODING, Terms(), Allowance.of(1.0, 1e-6).whole)
    assert DirectionBase(100).plan(ENCODING, Terms(), None).sums.mechanism is Mechanism.NOTHING


def test_noise_beyond_all_measure_leaves_scores_within_bounds():
    found = run(tabled(CODES, np.zeros(len(CODES))), 100, 1e-7)
    assert np.isfinite(found.noise).all()
    assert np.abs(found.tables).max() < 20 * SHAKE * (1 << 16)


NUMBERS = {f"x{k}": Numeric(0, 1) for k in range(FEW_COLUMNS + 1)}


def planned(n_rows, features=NUMBERS, classes=(0, 1)):
    encoding = Schema(features, classes=list(classes)).encoding(4096)
    return Boosting().plan(encoding, Terms(), Allowance.of(1.0).whole, Hints(n_rows=n_rows))


def test_two_classes_of_few_features_and_little_signal_begin_with_a_step():
    few, enough = SIGNALS_FOR_A_STEP
    plan = planned(few)
    assert "one step of a logistic regression" in str(plan.facts["base"])
    assert plan.base.sums.cost.epsilon == STEP_PART
    assert plan.rounds.depth == 2
    assert plan.rounds.margin == 0
    assert planned(few - 1).base is None
    assert planned(few - 1).rounds.depth == 2
    assert "one step" in str(planned(enough - 1).facts["base"])
    assert "one step" not in str(planned(enough).facts["base"])
    assert "one step" not in str(planned(few, {f"x{k}": Numeric(0, 1) for k in range(17)}).facts["base"])
    of_few_columns = {f"x{k}": Numeric(0, 1) for k in range(FEW_COLUMNS)}
    assert "one step" in str(planned(few, of_few_columns).facts["base"])
    assert "one step" not in str(planned(few - 1, of_few_columns).facts["base"])
    assert "one step" not in str(planned(SIGNALS_FOR_MEANS[0], of_few_columns).facts["base"])
    assert "one step" not in str(planned(few, classes=(0, 1, 2)).facts["base"])
    assert planned(few, {"c": Categorical(list(range(500)))}).base is None, "too many columns"


def test_a_fit_with_a_step_charges_what_it_planned_and_can_be_read():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((200, len(NUMBERS))), columns=list(NUMBERS))
    labels = np.where(frame.sum(axis=1) > len(NUMBERS) / 2, "yes", "no")
    schema = Schema(NUMBERS, classes=["no", "yes"])
    model = BoostingClassifier(1.0, 0.0, schema, n_rows_hint=200, random_state=0).fit(frame, labels)
    assert model.privacy_.epsilon == model.plan().epsilon == 1.0
    assert model.privacy_.events[0].mechanism is Mechanism.CUBE
    assert model.model_.class_frequencies() is not None
    assert np.isfinite(model.noise_interval(frame)).all()
    assert "x0" in model.model_.export_text()
