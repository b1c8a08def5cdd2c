"""Where boosting grows trees, and begins with a step, under pure epsilon is what was measured: direction.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import DIRECTION_PART, PURE_SIGNAL_FOR_TREES, PURE_SIGNALS_FOR_DIRECTION

FILE = Path(__file__).parents[2] / "docs" / "results" / "direction.csv"
FEW, ENOUGH = PURE_SIGNALS_FOR_DIRECTION
STUMPS, TREES, STEP = "stumps", "trees", f"step, {100 * DIRECTION_PART}%, then trees"


@pytest.fixture(scope="module")
def means():
    return pd.read_csv(FILE).pivot_table(index=["set", "rows", "signal"], columns="way", values=["accuracy", "auc"])


def gains(means, signals, way, other):
    """Return by how many points one way is ahead of another on every set, for samples of these signals."""
    signal = means.index.get_level_values("signal")
    part = means[(signal >= signals[0]) & (signal < signals[1])]
    found = [(part[measure][way] - part[measure][other]).groupby("set").mean() for measure in ("accuracy", "auc")]
    assert len(found[0]) == 16
    return found


def test_between_its_signals_a_step_before_trees_ranks_better_than_stumps_and_is_right_as_often(means):
    accuracy, auc = gains(means, (FEW, ENOUGH), STEP, STUMPS)
    assert accuracy.mean() > 0
    assert auc.mean() > 2
    assert auc.mean() > 2 * auc.sem()


def test_it_ranks_better_than_trees_alone_there_by_more_than_it_is_right_less_often(means):
    accuracy, auc = gains(means, (FEW, ENOUGH), STEP, TREES)
    assert accuracy.mean() < 0 < auc.mean()
    assert auc.mean() > -2 * accuracy.mean()


def test_below_them_a_step_costs_accuracy_and_trees_do_not(means):
    accuracy, _ = gains(means, (PURE_SIGNAL_FOR_TREES, FEW), STEP, STUMPS)
    assert accuracy.mean() < -accuracy.sem()
    for gain in gains(means, (PURE_SIGNAL_FOR_TREES, FEW), TREES, STUMPS):
        assert gain.mean() > 0


def test_with_still_less_signal_stumps_are_right_more_often(means):
    for way in (TREES, STEP):
        accuracy, _ = gains(means, (0, PURE_SIGNAL_FOR_TREES), way, STUMPS)
        assert accuracy.mean() < -accuracy.sem()


def test_above_them_trees_alone_are_right_more_often_than_after_a_step_and_than_stumps(means):
    accuracy, auc = gains(means, (ENOUGH, float("inf")), TREES, STUMPS)
    assert accuracy.mean() > 2 * accuracy.sem()
    assert auc.mean() > 0
    accuracy, _ = gains(means, (ENOUGH, float("inf")), TREES, STEP)
    assert accuracy.mean() > 0


@pytest.mark.parametrize("signals", [(FEW, ENOUGH), (ENOUGH, float("inf"))])
def test_a_regression_before_stumps_is_no_better_than_trees_anywhere(means, signals):
    for gain in gains(means, signals, "regression, then stumps", TREES):
        assert gain.mean() < 0


def test_other_parts_of_the_budget_are_no_better_between_its_signals(means):
    for way in ("step, 10%, then trees", "step, 30%, then trees"):
        assert sum(gain.mean() for gain in gains(means, (FEW, ENOUGH), STEP, way)) > 0
