"""Where boosting of many features descends in lines, alone or before stumps, is what was measured: lines.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import STRENGTH_FOR_BENDS, STRENGTH_FOR_STUMPS, STRENGTHS_TWO_CLASSES

FILE = Path(__file__).parents[2] / "docs" / "results" / "lines.csv"
STUMPS, BENDS, LINES, ALONE = "stumps", "lines and bends, then stumps", "lines, then stumps", "lines alone"
FEW, _ = STRENGTHS_TWO_CLASSES


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(FILE)


def gains(table, strengths, way, other):
    """Return by how many points one way is ahead of another on every sample of these strengths."""
    part = table[(table.strength >= strengths[0]) & (table.strength < strengths[1])]
    means = part.set_index(["kind", "set", "rows", "epsilon", "way"])[["accuracy", "auc"]].unstack("way")
    found = [(means[what][way] - means[what][other]) for what in ("accuracy", "auc")]
    assert len(found[0]) >= 10
    return found


@pytest.mark.parametrize("strengths", [(FEW, 300), (300, STRENGTH_FOR_STUMPS)])
def test_lines_alone_rank_better_than_stumps_and_are_right_as_often(table, strengths):
    accuracy, auc = gains(table, strengths, ALONE, STUMPS)
    assert auc.mean() > auc.sem()
    assert accuracy.mean() > -accuracy.sem()


@pytest.mark.parametrize("other", [LINES, BENDS])
def test_where_they_are_alone_stumps_after_them_would_cost_both(table, other):
    for gain in gains(table, (FEW, STRENGTH_FOR_STUMPS), ALONE, other):
        assert gain.mean() > gain.sem()


def test_with_more_signal_stumps_after_lines_gain(table):
    together = sum(gain.mean() for gain in gains(table, (STRENGTH_FOR_STUMPS, STRENGTH_FOR_BENDS), LINES, ALONE))
    assert together > 0
    for gain in gains(table, (STRENGTH_FOR_STUMPS, STRENGTH_FOR_BENDS), LINES, BENDS):
        assert gain.mean() > -gain.sem()
