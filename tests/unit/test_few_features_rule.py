"""Where boosting descends for two classes of few features is what was measured: docs/results/few_features.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import STRENGTH_FOR_LESS_FEW_FEATURES, STRENGTHS_FEW_FEATURES

FILE = Path(__file__).parents[2] / "docs" / "results" / "few_features.csv"


@pytest.fixture(scope="module")
def means():
    keys = ["set", "rows", "epsilon", "strength"]
    return 100 * pd.read_csv(FILE).pivot_table(index=keys, columns="way", values=["accuracy", "auc"])


def ahead(means, strengths, way, other):
    """Return by how many points one way is ahead of another, on average over samples of these strengths."""
    strength, sets = (means.index.get_level_values(name) for name in ("strength", "set"))
    made_up = sets.str.startswith("bushes")
    part = means[(strength >= strengths[0]) & (strength < strengths[1]) & ~made_up]
    assert len(part) >= 4
    return [(part[measure][way] - part[measure][other]).mean() for measure in ("accuracy", "auc")]


def test_descent_alone_is_ahead_between_its_strengths(means):
    accuracy, auc = ahead(means, STRENGTHS_FEW_FEATURES, "descent alone", "stumps or trees")
    assert accuracy > 0.5
    assert auc > 0.5
    assert min(ahead(means, STRENGTHS_FEW_FEATURES, "descent alone", "descent, then trees")) > 0.5
    assert sum(ahead(means, STRENGTHS_FEW_FEATURES, "descent alone", "descent, then stumps")) > 0, "it is simpler, too"


def test_beyond_them_trees_bring_more_and_do_best_after_descent(means):
    beyond = (STRENGTHS_FEW_FEATURES[1], STRENGTH_FOR_LESS_FEW_FEATURES)
    assert min(ahead(means, beyond, "descent, then trees", "descent alone")) > 0.5
    assert min(ahead(means, beyond, "descent, then trees", "stumps or trees")) > 0


def test_where_there_is_much_signal_three_tenths_are_too_much_for_descent(means):
    much = (STRENGTH_FOR_LESS_FEW_FEATURES, float("inf"))
    assert sum(ahead(means, much, "descent, then trees", "stumps or trees")) < 0
