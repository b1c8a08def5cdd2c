"""From which strength on boosting of many features begins with descent in lines is what was measured: lines.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import STRENGTH_FOR_BENDS, STRENGTHS_TWO_CLASSES

FILE = Path(__file__).parents[2] / "docs" / "results" / "lines.csv"
STUMPS, BENDS, LINES = "stumps", "lines and bends, then stumps", "lines, then stumps"
FEW, ENOUGH = STRENGTHS_TWO_CLASSES


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(FILE)


def gains(table, strengths, other):
    """Return by how many points lines are ahead of another way on every sample of these strengths."""
    part = table[(table.strength >= strengths[0]) & (table.strength < strengths[1])]
    means = part.set_index(["kind", "set", "rows", "epsilon", "way"])[["accuracy", "auc"]].unstack("way")
    found = [(means[what][LINES] - means[what][other]) for what in ("accuracy", "auc")]
    assert len(found[0]) >= 20
    return found


def test_where_they_are_the_rule_lines_rank_better_than_stumps_and_are_right_as_often(table):
    accuracy, auc = gains(table, (FEW, STRENGTH_FOR_BENDS), STUMPS)
    assert auc.mean() > auc.sem()
    assert accuracy.mean() > -accuracy.sem()


def test_where_they_are_the_rule_bends_add_nothing(table):
    for gain in gains(table, (FEW, STRENGTH_FOR_BENDS), BENDS):
        assert gain.mean() > -gain.sem()
