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


def gains(means, signals, way, other):
    """Return by how many points one way is ahead of another on every set, for samples of these signals."""
    signal = means.index.get_level_values("signal")
    part = means[(signal >= signals[0]) & (signal < signals[1])]
    return [(part[measure][way] - part[measure][other]).groupby("set").mean() for measure in ("accuracy", "auc")]


def test_between_its_signals_a_step_ranks_better_than_a_regression_and_is_right_as_often(means):
    accuracy, auc = gains(means, (FEW, ENOUGH), STEP, "regression, then stumps")
    assert len(auc) == 16
    assert abs(accuracy.mean()) < accuracy.sem()
    assert auc.mean() > 2
    assert auc.mean() > 3 * auc.sem()
    assert (auc > 0).sum() >= 12


def test_it_is_no_worse_than_stumps_there(means):
    accuracy, auc = gains(means, (FEW, ENOUGH), STEP, "stumps")
    assert abs(accuracy.mean()) < accuracy.sem()
    assert auc.mean() > 1


def test_below_them_accuracy_would_be_lost_for_a_gain_in_auc_that_could_be_chance(means):
    accuracy, auc = gains(means, (0, FEW), STEP, "stumps")
    assert accuracy.mean() < -2 * accuracy.sem()
    assert auc.mean() < 2 * auc.sem()


def test_above_them_a_step_ranks_no_better_than_a_regression_and_is_right_less_often(means):
    accuracy, auc = gains(means, (ENOUGH, float("inf")), STEP, "regression, then stumps")
    assert accuracy.mean() < 0
    assert abs(auc.mean()) < auc.sem()


def test_other_parts_and_a_longer_step_are_no_better_between_its_signals(means):
    for way in ("step, 20%", "step, 40%", "step, 30%, twice as long"):
        assert sum(gain.mean() for gain in gains(means, (FEW, ENOUGH), STEP, way)) > 0
