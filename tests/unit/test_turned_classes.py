"""Gradient descent in turned columns for classes: what each step releases, what comes of it, and where it is chosen."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.files import file_text
from privet.learners.boosting import outline
from privet.learners.boosting.cells import CellGrid, with_gradients, without_base
from privet.learners.boosting.column_sizes import CONSTANT
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import Logistic, Softmax
from privet.learners.boosting.regression_base import AdditiveBase
from privet.learners.boosting.turned_columns import LIMIT_STATE, RecordLimits, Turn, TurnedSums
from privet.learners.boosting.whitened_base import WhitenedBase, farthest
from privet.mechanisms.release import open_release
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable, ParquetTable
from privet.testing import seeded_noise

FEATURES = {"x": Numeric(0, 1, bins=5, missing=True), "c": Categorical(list("abc"))}
CODES = list(product(range(6), range(3)))  # the last code of x is a missing value
FILE = Path(__file__).parents[2] / "docs" / "results" / "turned_classes.csv"


def problem(n_classes):
    encoding = Schema(FEATURES, classes=list(range(n_classes))).encoding(8)
    return encoding, CellGrid.of(encoding, {}), Logistic("l2") if n_classes == 2 else Softmax(n_classes, "l2")


def tabled(rows, labels, encoding, grid):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, 2).T.copy()
    return MemoryTable(encoding, codes, np.asarray(labels, dtype=np.int32)).derive(CELL_STATE, grid.cells)


def start_at(scores, encoding, grid):
    return without_base(encoding, grid, np.asarray(scores, dtype=float), 1.0)


def turns(n_columns):
    """Turns by products of columns that data could have, by noise alone, and by nothing."""
    rng = np.random.default_rng(0)
    noise, line = rng.normal(0, 300, (n_columns, n_columns)), rng.normal(size=n_columns)
    likely = 100 * np.outer(line, line) + np.eye(n_columns)
    grams = [(likely, 1.0), (noise + noise.T, 500.0), (np.zeros((n_columns, n_columns)), 1.0)]
    return [Turn.of(gram, penalty, 100.0) for gram, penalty in grams]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("terms", [Terms(), Terms("replace")], ids=str)
def test_no_record_moves_what_is_released_by_more_than_is_paid_for(terms, n_classes):
    """Every record there can be with every label, turned in several ways, from even scores and from wrong ones."""
    encoding, grid, loss = problem(n_classes)
    plan = WhitenedBase(100, 4, outline.PAIRS_PART).plan(encoding, terms, Allowance.of(1.0, 1e-6).whole)
    design, largest, numbers = AdditiveBase().design(encoding, grid)[0], 0, 0
    wrong = [8.0] if n_classes == 2 else [8.0, *[0.0] * (n_classes - 1)]
    for turn, scores in product(turns(design.n_columns + 1), (np.zeros(loss.n_scores), wrong)):
        moved = []
        for row, label in product(CODES, range(n_classes)):
            limits = RecordLimits(design, turn.matrix, farthest(n_classes))
            table = tabled([row], [label], encoding, grid).derive(LIMIT_STATE, limits)
            here = with_gradients(table, start_at(scores, encoding, grid), grid, loss)
            moved.append(here.aggregate(TurnedSums(design, turn.matrix, loss.n_scores)).astype(object).ravel())
        moved = np.stack(moved)
        numbers = max(numbers, (moved != 0).sum(axis=1).max())
        if terms.neighbours == "replace":
            moved = (moved[:, np.newaxis] - moved[np.newaxis]).reshape(-1, moved.shape[1])
        largest = max(largest, (moved**2).sum(axis=1).max())
    for event in plan.steps:
        # of more classes, two records can be no farther apart than three times what one of them adds
        least = 0.9 if n_classes == 2 or terms.neighbours == "add_remove" else 0.6
        assert least < largest / (2 * event.parameter) / event.cost.rho <= 1
        assert event.numbers >= numbers


def test_sums_by_cell_give_the_sums_of_all_turned_records_times_shortened_gradients():
    rng = np.random.default_rng(1)
    encoding, grid, loss = problem(3)
    rows, labels = np.array(CODES)[rng.integers(0, len(CODES), 300)], rng.integers(0, 3, 300)
    design, shortened = AdditiveBase().design(encoding, grid)[0], 0
    for turn in turns(design.n_columns + 1)[:2]:
        limits = RecordLimits(design, turn.matrix, farthest(3))
        table = tabled(rows, labels, encoding, grid).derive(LIMIT_STATE, limits)
        table = with_gradients(table, start_at([0.5, 0.0, -1.0], encoding, grid), grid, loss)
        kept = []
        table.aggregate(lambda block, out=kept: out.append(block.state[GRADIENT_STATE][:, :3]) or np.zeros(1, int))
        expected = np.zeros((design.n_columns + 1, 3), dtype=object)
        for row, gradient in zip(rows, np.concatenate(kept).astype(object), strict=True):
            values = np.zeros(design.n_columns + 1, dtype=object)
            for cell in design.offsets[:-1] + row:
                for column, value in zip(design.column[cell].tolist(), design.value[cell].tolist(), strict=True):
                    values[column] += value
            values[-1] = CONSTANT
            along, size = turn.matrix.astype(object) @ values, int((gradient**2).sum())
            limit = min(math.isqrt(farthest(3) // int((along**2).sum())), 1 << 16)
            if size > limit**2:
                shortened += 1
                factor = math.isqrt((limit**2 << 20) // size)
                gradient = np.array([int(math.copysign(abs(a) * factor >> 10, a)) for a in gradient], dtype=object)
            expected += np.outer(along, gradient)
        sums = table.aggregate(TurnedSums(design, turn.matrix, 3))
        np.testing.assert_array_equal(sums, expected.astype(np.int64))
    assert 0 < shortened < 600


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_steps_lead_to_scores_that_follow_the_log_odds(n_classes):
    """Classes whose odds follow a line of the number, and differ by category."""
    rng, n = np.random.default_rng(2), 6000
    encoding, grid, loss = problem(n_classes)
    rows = np.stack([rng.integers(0, 5, n), rng.integers(0, 3, n)], axis=1)
    odds = np.stack([0 * rows[:, 0], 0.6 * (rows[:, 0] - 2), (rows[:, 1] == 0) - 0.4], axis=1)[:, :n_classes]
    chances = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    labels = (chances.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    base = WhitenedBase(n, 60, outline.PAIRS_PART)
    found = base.run(
        tabled(rows, labels, encoding, grid),
        open_release(Ledger(Terms(), None)),
        base.plan(encoding, Terms(), None),
        grid,
        start_at(np.zeros(loss.n_scores), encoding, grid),
        loss,
    )
    scores = (found.start + found.tables[grid.cells.offsets[:-1] + rows].sum(axis=1)) / (1 << 16)
    scores = np.concatenate([np.zeros((n, 1)), scores], axis=1) if n_classes == 2 else scores
    # gradients are cut off, so that scores go further out than log-odds, on the same side
    found_of, true_of = (of - of.mean(axis=1, keepdims=True) for of in (scores, odds))
    assert np.corrcoef(found_of.ravel(), true_of.ravel())[0, 1] > 0.98
    sure = np.diff(np.sort(chances, axis=1), axis=1)[:, -1] > 0.1
    np.testing.assert_array_equal(scores.argmax(axis=1)[sure], chances.argmax(axis=1)[sure])


def numbers(n_features, n_classes):
    return Schema({f"x{k}": Numeric(0, 1) for k in range(n_features)}, classes=list(range(n_classes)))


def base_for(n_classes, n_rows, n_features=8, epsilon=1.0):
    share = Allowance.of(epsilon, 1e-6).whole
    return outline.outline(numbers(n_features, n_classes).encoding(64), share, n_rows, 1)


def test_where_columns_are_turned_goes_by_the_signal_and_their_number():
    """17 columns of eight features, the constant included: half of their cube is 2,457; n^2 rho is 0.0244 n^2."""
    assert "turned" not in str(base_for(3, 300).base), "2,192"
    assert "turned" in str(base_for(3, 320).base), "2,494"
    assert base_for(3, 320).n_trees == 0
    assert "turned" not in str(base_for(2, 300).base)
    assert "turned" in str(base_for(2, 320).base)
    assert base_for(2, 320).n_trees == 0
    assert "turned" not in str(base_for(2, 1_150, n_features=20).base), "41 columns: 34,460; 25,800 before stumps"
    assert "turned" in str(base_for(2, 1_400, n_features=20).base)
    assert base_for(2, 1_400, n_features=20).n_trees == 16
    assert "turned" in str(base_for(3, 5_000).base), "before trees"
    assert base_for(3, 5_000).n_trees > 16
    assert "turned" not in str(base_for(3, 4_000, n_features=60).base), "of 121 columns half the cube is 886,000"
    assert "turned" not in str(base_for(3, 10**7, n_features=250).base), "more than 400 columns"


def test_more_columns_than_the_proof_is_for_are_refused():
    encoding = numbers(250, 2).encoding(16)  # 500 columns
    with pytest.raises(ParameterError, match="overflow"):
        WhitenedBase(100, 4, outline.PAIRS_PART).plan(encoding, Terms(), Allowance.of(1.0, 1e-6).whole)


def records(n=600):
    rng = np.random.default_rng(5)
    x = rng.random((n, 4))
    return pd.DataFrame(x, columns=["x0", "x1", "x2", "x3"]).assign(y=(3 * x[:, :2].mean(axis=1)).astype(int))


def classifier():
    return BoostingClassifier(1.0, delta=1e-6, schema=numbers(4, 3), n_rows_hint=600, random_state=0)


def test_alone_it_spends_what_the_exact_delta_of_its_noise_allows_and_no_more():
    plan, frame = classifier().plan(), records()
    assert plan.plan.rounds is None
    assert plan.beyond_rho
    fitted = classifier().fit(frame.drop(columns="y"), frame["y"])
    assert fitted.privacy_.events == plan.events
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (plan.epsilon, plan.delta)
    assert sum(event.name.startswith("base: gradients") for event in plan.events) == outline.TURNED_STEPS


def test_a_fit_is_the_same_for_records_out_of_memory(tmp_path):
    frame = records()
    for part, rows in enumerate(np.split(np.arange(600), [100, 350])):
        frame.iloc[rows].to_parquet(tmp_path / f"{part}.parquet", row_group_size=60)
    with seeded_noise(5):
        fitted = classifier().fit(frame.drop(columns="y"), frame["y"])
    with seeded_noise(5):
        again = classifier().fit(ParquetTable(tmp_path, target="y", memory=20_000, spill=tmp_path))
    assert file_text(again) == file_text(fitted)


@pytest.fixture(scope="module")
def gains():
    table = pd.read_csv(FILE)
    table["many"] = table.classes > 2
    keys = ["many", "set", "rows", "epsilon", "columns", "signal"]
    means = 100 * table.pivot_table(index=keys, columns="way", values=["accuracy", "auc"])
    ahead = {name: means[name]["turned"] - means[name]["as they are"] for name in ("accuracy", "auc")}
    found = pd.DataFrame(ahead).reset_index()
    return found.assign(share=found.signal / found["columns"] ** 3)


def test_the_rules_are_what_was_measured(gains):
    """Turned columns are ahead where they are chosen, and behind where they are far from it."""
    chosen = gains[gains.share >= outline.SIGNAL_FOR_TURNING / float(outline.TURNED_PART_BEFORE_STUMPS)]
    for _, of_kind in chosen.groupby("many"):
        assert len(of_kind) > 10
        assert of_kind.accuracy.mean() > 0.2
        assert of_kind.auc.mean() > 0.1
    assert gains[gains.share < outline.SIGNAL_FOR_TURNING / 2].accuracy.mean() < -0.5
