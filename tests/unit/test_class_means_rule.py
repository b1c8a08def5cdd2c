"""Where boosting measures class means, or takes a step, under pure epsilon is what was measured: class_means.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.two_classes_outline import (
    SIGNAL_FOR_ROUNDS,
    SIGNAL_FOR_ROUNDS_FEW_COLUMNS,
    SIGNAL_FOR_TREES,
    SIGNALS_FOR_A_LOOK,
    SIGNALS_FOR_A_STEP,
    SIGNALS_FOR_MEANS,
)

FILE = Path(__file__).parents[2] / "docs" / "results" / "class_means.csv"
MEANS, BEFORE, LOOK = "class means", "class means, then trees", "class means if a class is rare"
STEP, STUMPS = "one step, then trees", "stumps"
FEW, MORE, MANY = "at most 12 columns", "more columns", "more than 16 features"
SETS = {FEW: 31, MORE: 10, MANY: 22}


@pytest.fixture(scope="module")
def means():
    table = pd.read_csv(FILE)
    return table.pivot_table(index=["width", "set", "rows", "signal"], columns="way", values=["accuracy", "auc"])


def gains(means, widths, signals, way):
    """Return by how many points a way is ahead of trees on every set, for samples of these signals."""
    signal = means.index.get_level_values("signal")
    part = means[(signal >= signals[0]) & (signal < signals[1])].loc[widths]
    found = [(part[what][way] - part[what]["trees"]).groupby("set").mean() for what in ("accuracy", "auc")]
    assert len(found[0]) == sum(SETS[width] for width in widths)
    return found


@pytest.mark.parametrize("widths", [[FEW], [MORE, MANY]], ids=str)
def test_with_next_to_no_signal_class_means_are_right_more_often_than_trees(means, widths):
    accuracy, auc = gains(means, widths, (0, SIGNAL_FOR_ROUNDS), MEANS)
    assert accuracy.mean() > 2 * accuracy.sem()
    assert auc.mean() > -auc.sem()


@pytest.mark.parametrize("signals", [(SIGNAL_FOR_ROUNDS, 50), (50, SIGNAL_FOR_ROUNDS_FEW_COLUMNS)])
def test_of_few_columns_they_rank_better_and_are_right_as_often(means, signals):
    accuracy, auc = gains(means, [FEW], signals, MEANS)
    assert auc.mean() > 3 * auc.sem()
    assert accuracy.mean() > -2 * accuracy.sem()
    accuracy, _ = gains(means, [FEW], (SIGNAL_FOR_ROUNDS, SIGNAL_FOR_ROUNDS_FEW_COLUMNS), MEANS)
    assert accuracy.mean() > accuracy.sem()


def test_with_more_signal_they_are_right_less_often_than_trees_after_one_step(means):
    signals = (SIGNAL_FOR_ROUNDS_FEW_COLUMNS, SIGNALS_FOR_MEANS[0])
    accuracy, _ = gains(means, [FEW], signals, MEANS)
    step, step_auc = gains(means, [FEW], signals, STEP)
    assert accuracy.mean() < -2 * accuracy.sem()
    assert step.mean() > accuracy.mean()
    assert step_auc.mean() > step_auc.sem()


@pytest.mark.parametrize("widths", [[FEW], [MORE]], ids=str)
def test_trees_of_two_levels_are_right_more_often_than_stumps_and_rank_no_worse(means, widths):
    accuracy, auc = gains(means, widths, (SIGNAL_FOR_TREES, SIGNALS_FOR_MEANS[1]), STUMPS)
    assert accuracy.mean() < -accuracy.sem()
    assert auc.mean() < auc.sem()


def test_of_more_columns_trees_are_right_more_often(means):
    accuracy, _ = gains(means, [MORE, MANY], (SIGNAL_FOR_ROUNDS, SIGNALS_FOR_A_LOOK[0]), MEANS)
    assert accuracy.mean() < -0.5


def test_of_many_features_a_look_whether_a_class_is_rare_ranks_better_and_is_right_as_often(means):
    accuracy, auc = gains(means, [MANY], SIGNALS_FOR_A_LOOK, LOOK)
    assert accuracy.mean() > -0.5
    assert auc.mean() > 2 * auc.sem()
    for way in (MEANS, BEFORE):
        other, other_auc = gains(means, [MANY], SIGNALS_FOR_A_LOOK, way)
        assert accuracy.mean() > other.mean()
        assert auc.mean() > other_auc.mean()


@pytest.mark.parametrize("signals", [(0, SIGNALS_FOR_A_LOOK[0]), (SIGNALS_FOR_A_LOOK[1], float("inf"))])
def test_below_and_above_a_look_costs_more_than_it_brings(means, signals):
    accuracy, auc = gains(means, [MANY], signals, LOOK)
    assert accuracy.mean() < -accuracy.sem()
    assert auc.mean() < -3 * accuracy.mean()


def test_of_more_columns_one_step_before_trees_ranks_better_and_is_right_as_often(means):
    accuracy, auc = gains(means, [MORE], SIGNALS_FOR_A_STEP, STEP)
    assert accuracy.mean() > -accuracy.sem()
    assert auc.mean() > 2 * auc.sem()
    for way in (MEANS, BEFORE, LOOK):
        other, other_auc = gains(means, [MORE], SIGNALS_FOR_A_STEP, way)
        assert accuracy.mean() + auc.mean() > other.mean() + other_auc.mean()


def test_of_few_columns_trees_after_class_means_rank_better_and_are_right_as_often(means):
    accuracy, auc = gains(means, [FEW], SIGNALS_FOR_MEANS, BEFORE)
    assert accuracy.mean() > -accuracy.sem()
    assert auc.mean() > 2 * auc.sem()
    step, step_auc = gains(means, [FEW], SIGNALS_FOR_MEANS, STEP)
    assert accuracy.mean() > step.mean()
    assert auc.mean() > step_auc.mean()


def test_with_less_they_are_right_less_often(means):
    accuracy, _ = gains(means, [FEW], (0, SIGNALS_FOR_MEANS[0]), BEFORE)
    assert accuracy.mean() < -2 * accuracy.sem()


def test_class_means_alone_are_right_less_often_where_trees_come_after_them(means):
    accuracy, _ = gains(means, [FEW], SIGNALS_FOR_MEANS, MEANS)
    assert accuracy.mean() < -2 * accuracy.sem()
