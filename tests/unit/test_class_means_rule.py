"""Below which signal boosting measures frequencies and class means is what was measured: class_means.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import PURE_SIGNAL_FOR_STUMPS

FILE = Path(__file__).parents[2] / "docs" / "results" / "class_means.csv"
STUMPS, START, MEANS = "stumps", "a common start, then stumps", "frequencies and class means"
KINDS = pytest.mark.parametrize(("kind", "n_sets"), [("people", 43), ("tuning", 20)])


@pytest.fixture(scope="module")
def means():
    table = pd.read_csv(FILE)
    return table.pivot_table(index=["kind", "set", "rows", "signal"], columns="way", values=["accuracy", "auc"])


def gains(means, kind, n_sets, signals, other):
    """Return by how many points class means are ahead of another way on every set, for samples of these signals."""
    of_kind = means.loc[kind]
    signal = of_kind.index.get_level_values("signal")
    part = of_kind[(signal >= signals[0]) & (signal < signals[1])]
    found = [(part[what][MEANS] - part[what][other]).groupby("set").mean() for what in ("accuracy", "auc")]
    assert len(found[0]) == n_sets
    return found


@KINDS
@pytest.mark.parametrize("other", [STUMPS, START])
def test_below_the_signal_they_are_right_more_often_and_rank_no_worse(means, kind, n_sets, other):
    accuracy, auc = gains(means, kind, n_sets, (0, PURE_SIGNAL_FOR_STUMPS), other)
    assert accuracy.mean() > 2
    assert accuracy.mean() > 2 * accuracy.sem()
    assert auc.mean() > -2 * auc.sem()


def test_above_it_stumps_are_right_more_often_on_tuning_sets(means):
    accuracy, auc = gains(means, "tuning", 20, (PURE_SIGNAL_FOR_STUMPS, float("inf")), STUMPS)
    assert accuracy.mean() < -accuracy.sem()
    assert auc.mean() < 0
