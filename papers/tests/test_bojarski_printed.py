"""Bojarski et al.'s printed noise is refuted in both readings, claims nothing, and is all that differs from ours."""

import math

import numpy as np
import pytest

from privet import RandomDecisionForestClassifier
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.errors import UnsoundWarning
from privet.privacy.terms import Allowance
from privet_papers import PrintedRandomDecisionForestClassifier
from privet_papers.bojarski_2014.printed import PrintedRandomDecisionForest
from tests.laws.planted import TINY

pytestmark = pytest.mark.law


def audit(learner, records, epsilon=1.0):
    return exact_audit(Subject(learner, TINY, Allowance.of(epsilon)), records)


def test_the_printed_scale_is_refuted_with_a_loss_of_k_squared_over_eta():
    result = audit(PrintedRandomDecisionForest(3, 1, "majority", "algorithm"), 1, epsilon=0.5)
    assert result.refuted
    assert result.loss == pytest.approx(9 / 0.5, rel=1e-6)


def test_a_scale_taken_for_a_standard_deviation_is_refuted_with_a_loss_of_root_two():
    result = audit(PrintedRandomDecisionForest(3, 1, "majority", "deviation"), 1, epsilon=0.5)
    assert result.refuted
    assert result.loss == pytest.approx(0.5 * math.sqrt(2), rel=1e-6)


@pytest.mark.parametrize(("reading", "why"), [("algorithm", r"k\^2/eta"), ("deviation", "standard deviation")])
def test_the_printed_forest_claims_nothing_and_says_why(reading, why):
    X, y = np.eye(2, dtype=int)[[0, 1] * 20], [0, 1] * 20
    forest = PrintedRandomDecisionForestClassifier(0.5, schema=TINY, n_trees=3, max_depth=2, reading=reading)
    with pytest.warns(UnsoundWarning, match=why):
        forest.fit(X, y)
    assert forest.privacy_.epsilon == math.inf
    assert not forest.plan().proven
    assert forest.predict(X).shape == (40,)


def test_sound_and_printed_forest_differ_in_nothing_but_the_noise():
    X, y = np.eye(2, dtype=int)[[0, 1] * 20], [0, 1] * 20
    sound = RandomDecisionForestClassifier(4.0, schema=TINY, n_trees=3, max_depth=2, random_state=1).fit(X, y)
    printed = PrintedRandomDecisionForestClassifier(4.0, schema=TINY, n_trees=3, max_depth=2, random_state=1)
    with pytest.warns(UnsoundWarning):
        printed.fit(X, y)
    np.testing.assert_array_equal(sound.model_.structure.splits.feature, printed.model_.structure.splits.feature)
    assert float(sound.privacy_.events[0].parameter) == pytest.approx(3 / 4)
    assert float(printed.privacy_.events[0].parameter) == pytest.approx(4 / 3)
