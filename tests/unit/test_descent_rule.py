"""The strengths between which boosting descends are those that were measured: docs/results/descent.csv."""

from pathlib import Path

import pandas as pd
import pytest

from privet.learners.boosting.outline import STRENGTH_FOR_STUMPS, STRENGTHS_MANY_CLASSES, STRENGTHS_TWO_CLASSES

FILE = Path(__file__).parents[2] / "docs" / "results" / "descent.csv"


@pytest.fixture(scope="module")
def means():
    table = pd.read_csv(FILE)
    table["many"] = table.classes > 2
    keys = ["many", "set", "rows", "epsilon", "strength"]
    return 100 * table.pivot_table(index=keys, columns="way", values=["accuracy", "auc"])


def ahead(means, many, strengths, way, other):
    """Return by how many points one way is ahead of another, on average over samples of these strengths."""
    of_kind = means[means.index.get_level_values("many") == many]
    strength = of_kind.index.get_level_values("strength")
    part = of_kind[(strength >= strengths[0]) & (strength < strengths[1])]
    assert len(part) >= 4
    return [(part[measure][way] - part[measure][other]).mean() for measure in ("accuracy", "auc")]


def test_with_many_classes_descent_alone_is_far_ahead_between_its_strengths(means):
    assert min(ahead(means, True, STRENGTHS_MANY_CLASSES, "descent alone", "histograms")) > 2
    assert min(ahead(means, True, STRENGTHS_MANY_CLASSES, "descent alone", "descent, then trees")) > 0


def test_with_two_classes_descent_before_stumps_is_ahead_between_its_strengths(means):
    between = (STRENGTH_FOR_STUMPS, STRENGTHS_TWO_CLASSES[1])
    accuracy, auc = ahead(means, False, between, "descent, then stumps", "stumps or trees")
    assert accuracy > 0.3
    assert auc > 0.3


def test_it_is_not_ahead_in_accuracy_below_them(means):
    assert ahead(means, False, (0, STRENGTHS_TWO_CLASSES[0]), "descent, then stumps", "stumps or trees")[0] < 0
    below = (0, STRENGTHS_MANY_CLASSES[0])
    assert ahead(means, True, below, "descent, then trees", "histograms")[0] < 0


def test_beyond_them_trees_bring_more(means):
    beyond = (STRENGTHS_MANY_CLASSES[1], float("inf"))
    assert ahead(means, True, beyond, "descent, then trees", "descent alone")[0] > 0
