"""Bought facts are charged, stated, and near the truth."""

import numpy as np
import pandas as pd
import pytest

import privet
from privet.errors import BudgetError, ParameterError
from privet.mechanisms.measurements import noisy_row_count, private_bounds
from privet.testing import seeded_noise

VALUES = np.random.default_rng(0).lognormal(10, 1, 20_000)


def test_a_noisy_count_is_near_the_truth_and_charged():
    with privet.budget(epsilon=1.0) as budget:
        measured = noisy_row_count(np.zeros((5000, 2)), epsilon=0.25)
        assert budget.spent == 0.25
    assert abs(measured.value - 5000) < 200
    assert measured.privacy.epsilon == 0.25
    assert "number of records" in measured.privacy.table()


def test_a_noisy_count_has_the_noise_of_its_unit():
    units = np.repeat(np.arange(5), 2)
    event = noisy_row_count(np.zeros((10, 1)), epsilon=0.5, units=units, max_rows=3).privacy.events[0]
    assert event.parameter == 6
    counts = [noisy_row_count(np.zeros((0, 1)), epsilon=1.0).value for _ in range(50)]
    assert min(counts) == 1, "never below one"


def test_under_replacement_the_count_is_public():
    with pytest.raises(ParameterError, match="public"):
        noisy_row_count(np.zeros((10, 1)), epsilon=1.0, neighbours="replace")


def test_a_unit_with_many_rows_counts_no_more_than_its_maximum():
    people = pd.DataFrame({"who": [*range(100), *["x"] * 5_000], "age": [*[30.0] * 100, *[90.0] * 5_000]})
    for max_rows in (1, 5):
        bounded = {"units": people["who"], "max_rows": max_rows, "epsilon": 100.0}
        assert abs(noisy_row_count(people, **bounded).value - 100 - max_rows) < 5
        assert private_bounds(people["age"], low=0, high=100, outside=0.1, **bounded).value.high < 89
    assert abs(noisy_row_count(people, epsilon=100.0).value - 5_100) < 5, "one record is what is protected"
    with pytest.raises(ParameterError, match="pass units"):
        noisy_row_count(people, epsilon=1.0, max_rows=5)
    with pytest.raises(ParameterError, match="differ in number"):
        noisy_row_count(people, epsilon=1.0, units=people["who"][:10])


def test_bounds_hold_about_the_share_that_was_asked_for():
    measured = private_bounds(VALUES, low=0, high=1e8, grid="log", epsilon=1.0, outside=0.05)
    assert 0.02 < (measured.value.low > VALUES).mean() < 0.1
    assert 0.02 < (measured.value.high < VALUES).mean() < 0.1
    assert measured.privacy.epsilon == 1.0
    assert [float(event.cost.epsilon) for event in measured.privacy.events] == [0.5, 0.5]


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_the_score_of_a_bound_moves_by_no_more_than_its_range(share, monkeypatch):
    seen = []
    keep = lambda self, scores, event: seen.append((scores, event)) or [0]  # noqa: E731  # a stand-in for one test
    monkeypatch.setattr("privet.mechanisms.release.Release.choose", keep)
    small = np.array([1.0, 2.0, 3.0, 50.0, 99.0])
    for data in (small, np.append(small, 10.0), np.append(small, 100.0)):
        private_bounds(data, low=0, high=100, epsilon=1.0, outside=share)
    for i, j in ((0, 2), (1, 3), (0, 4), (1, 5)):
        change = seen[j][0] - seen[i][0]
        assert np.ptp(change) <= seen[i][1].sensitivity


def test_nothing_is_measured_without_a_budget_and_nothing_claimed_with_a_seed():
    with privet.budget(epsilon=0.1) as budget:
        with pytest.raises(BudgetError):
            private_bounds(VALUES, low=0, high=1e8, epsilon=1.0)
        assert budget.spent == 0
    with seeded_noise(1):
        assert noisy_row_count(np.zeros((10, 1)), epsilon=1.0).privacy.epsilon == np.inf


def test_missing_and_odd_values_are_no_error_and_no_records_give_the_limits_or_worse():
    assert private_bounds([None, "x", 3.0, float("nan")], low=0, high=10, epsilon=1.0).value.high <= 10
    assert private_bounds(np.array([]), low=0, high=10, epsilon=1.0).value.low >= 0


@pytest.mark.parametrize("bad", [{"outside": 0}, {"outside": 0.5}, {"epsilon": 0}, {"grid": "cubic"}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ParameterError):
        private_bounds(VALUES, **{"low": 0, "high": 10, "epsilon": 1.0, **bad})
