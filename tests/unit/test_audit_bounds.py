"""Intervals and events of the statistical audit."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from scipy.stats import beta

from privet.audit.bounds import (
    AuditEvent,
    choose_event,
    epsilon_lower_bound,
    trials_needed,
)
from privet.errors import AuditError
from privet.privacy.laws import clopper_pearson_lower, clopper_pearson_upper


@pytest.mark.parametrize("trials", [1, 7, 5000])
def test_intervals_are_quantiles_of_the_beta_law(trials: int) -> None:
    hits = np.arange(trials + 1)
    lower, upper = (bound(hits, trials, 0.01) for bound in (clopper_pearson_lower, clopper_pearson_upper))
    assert lower[0] == 0.0
    assert upper[-1] == 1.0
    np.testing.assert_allclose(lower[1:], beta.ppf(0.01, hits[1:], trials - hits[1:] + 1))
    np.testing.assert_allclose(upper[:-1], beta.ppf(0.99, hits[:-1] + 1, trials - hits[:-1]), rtol=1e-6)


def test_the_bound_is_the_log_ratio_of_the_interval_ends_less_delta() -> None:
    expected = log((beta.ppf(0.01, 80, 21) - 0.05) / beta.ppf(0.99, 6, 95))
    assert epsilon_lower_bound(80, 100, 5, 100, delta=0.05, level=0.02) == pytest.approx(expected)


def test_no_evidence_is_a_bound_of_zero() -> None:
    assert epsilon_lower_bound(0, 100, 50, 100, level=0.05) == 0.0
    assert epsilon_lower_bound(50, 100, 50, 100, level=0.05) == 0.0
    assert epsilon_lower_bound(5, 100, 0, 100, delta=0.5, level=0.05) == 0.0


def test_the_event_gathers_the_outcomes_that_are_more_likely() -> None:
    event = choose_event(Counter(a=300, b=290, c=410), Counter(a=30, b=30, c=940), delta=0.0, level=0.05)
    assert event == AuditEvent(frozenset({"a", "b"}))


def test_outcomes_that_never_come_twice_are_gathered_by_what_they_are_not() -> None:
    fresh = Counter({f"fresh {i}": 1 for i in range(500)})
    event = choose_event(fresh, Counter(known=500), delta=0.0, level=0.05)
    assert event.complement
    assert event.hits({"never seen": 3, "known": 4}) == 3


def test_an_event_is_shown_short() -> None:
    assert str(AuditEvent(frozenset({"1", "0"}))) == "outcome in {0, 1}"
    assert str(AuditEvent(frozenset({"1"}), complement=True)) == "outcome not in {1}"
    assert str(AuditEvent(frozenset(map(str, range(9))))) == "one of 9 outcomes"


def test_a_claim_beyond_any_sample_is_refused() -> None:
    with pytest.raises(AuditError, match="no number of trainings"):
        trials_needed(1000.0, 0.0, 0.05)
