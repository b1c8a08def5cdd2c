"""Where boosting begins with one step under pure epsilon is what was measured: docs/results/direction.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import DIRECTION_PART, PURE_SIGNALS_FOR_DIRECTION

FILE = Path(__file__).parents[2] / "docs" / "results" / "direction.csv"
FEW, ENOUGH = PURE_SIGNALS_FOR_DIRECTION
STEP = f"step, {100 * DIRECTION_PART}%"


@pytest.fixture(scope="module")
def means():
    return pd.read_csv(FILE).pivot_table(index=["set", "rows", "signal"], columns="way", values=["accuracy", "auc"])


def ahead(means, signals, way, other):
    """Return by how many points one way is ahead of another, on average over samples of these signals."""
    signal = means.index.get_level_values("signal")
    part = means[(signal >= signals[0]) & (signal < signals[1])]
    assert len(part) >= 20
    return [(part[measure][way] - part[measure][other]).mean() for measure in ("accuracy", "auc")]


def test_between_its_signals_a_step_ranks_better_than_stumps_and_is_right_about_as_often(means):
    accuracy, auc = ahead(means, (FEW, ENOUGH), STEP, "stumps")
    assert accuracy > -0.5
    assert auc > 1.5


def test_in_the_upper_half_it_is_ahead_of_a_regression_as_well(means):
    accuracy, auc = ahead(means, (2 * FEW, ENOUGH), STEP, "regression, then stumps")
    assert accuracy > -0.1
    assert auc > 2


def test_below_them_too_much_accuracy_would_be_lost(means):
    accuracy, auc = ahead(means, (0, FEW), STEP, "stumps")
    assert accuracy < -1
    assert auc < 2


def test_above_them_a_regression_is_right_more_often_and_a_step_ranks_no_better(means):
    accuracy, auc = ahead(means, (ENOUGH, float("inf")), STEP, "regression, then stumps")
    assert accuracy < 0
    assert auc < 0.5


def test_other_parts_and_a_longer_step_are_no_better_between_its_signals(means):
    for way in ("step, 20%", "step, 40%", "step, 30%, twice as long"):
        assert sum(ahead(means, (FEW, ENOUGH), STEP, way)) > 0
