"""Up to which signal boosting keeps pure epsilon where a delta is asked for is what was measured: pure_or_delta.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import SIGNAL_FOR_ZCDP

FILE = Path(__file__).parents[2] / "docs" / "results" / "pure_or_delta.csv"


@pytest.fixture(scope="module")
def of_sets():
    return pd.read_csv(FILE).groupby(["many_features", "signal", "set"])[["accuracy", "auc"]].mean()


@pytest.mark.parametrize(("many", "n_sets"), [(False, 41), (True, 21)])
def test_pure_epsilon_is_right_as_often_and_ranks_better_up_to_the_limit(of_sets, many, n_sets):
    part = of_sets.loc[many]
    below = part[part.index.get_level_values("signal") < SIGNAL_FOR_ZCDP].groupby("set").mean()
    assert len(below) == n_sets
    for gain in (below.accuracy, below.auc):
        assert gain.mean() > gain.sem()


@pytest.mark.parametrize("many", [False, True])
def test_with_more_it_is_no_more_often_right(of_sets, many):
    part = of_sets.loc[many]
    signal = part.index.get_level_values("signal")
    above = part[(signal > SIGNAL_FOR_ZCDP) & (signal < 4 * SIGNAL_FOR_ZCDP)].groupby("set").mean()
    assert above.accuracy.mean() < above.accuracy.sem()


@pytest.mark.parametrize("many", [False, True])
def test_with_much_more_a_delta_ranks_better_and_is_right_as_often(of_sets, many):
    part = of_sets.loc[many]
    above = part[part.index.get_level_values("signal") > 4 * SIGNAL_FOR_ZCDP].groupby("set").mean()
    assert above.auc.mean() < -above.auc.sem()
    assert above.accuracy.mean() < above.accuracy.sem()
