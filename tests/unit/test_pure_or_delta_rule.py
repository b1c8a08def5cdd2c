"""Up to which signal boosting keeps pure epsilon where a delta is asked for is what was measured: pure_or_delta.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import SIGNAL_FOR_ZCDP, SIGNAL_FOR_ZCDP_MANY_FEATURES

FILE = Path(__file__).parents[2] / "docs" / "results" / "pure_or_delta.csv"


@pytest.mark.parametrize(("many", "limit"), [(False, SIGNAL_FOR_ZCDP), (True, SIGNAL_FOR_ZCDP_MANY_FEATURES)])
def test_pure_epsilon_is_ahead_below_the_limit_and_behind_well_above_it(many, limit):
    table = pd.read_csv(FILE)
    of_sets = table[table.many_features == many].groupby(["signal", "set"])[["accuracy", "auc"]].mean()
    means = of_sets.groupby("signal").mean()
    below, above = means[means.index < limit], means[means.index > 2 * limit]
    assert (below.accuracy > 0.5).all()
    assert below.auc.mean() > 0.5
    assert (above < 0).all(axis=None)
