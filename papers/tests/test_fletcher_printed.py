"""Fletcher and Islam's printed rule is refuted, exactly and by sampling, and is run to the letter."""

import warnings

import numpy as np
import pandas as pd
import pytest

from privet.audit.bounds import epsilon_lower_bound
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.audit.neighbours import smooth_sensitivity
from privet.errors import ParameterError, UnsoundWarning
from privet.privacy.terms import Allowance
from privet.testing import seeded_noise
from privet_papers import SmoothForestClassifier
from privet_papers.fletcher_islam_2017.printed import DealInTurn, SmoothForest
from tests.laws.planted import TINY
from tests.laws.registry import SCHEMA, people

pytestmark = pytest.mark.law


def loss(learner, records, epsilon=1.0):
    return exact_audit(Subject(learner, TINY, Allowance.of(epsilon)), records).loss


@pytest.mark.parametrize(("records", "expected"), [(2, 2.131308810), (3, 6.323728689), (4, 17.256263057)])
def test_the_printed_rule_is_refuted_at_every_margin(records, expected):
    assert loss(SmoothForest(n_trees=1, max_depth=1), records) == pytest.approx(expected, abs=1e-6)


def test_the_global_sensitivity_would_have_been_private_in_one_tree():
    found = loss(SmoothForest(n_trees=1, max_depth=1, sensitivity="global"), 3)
    assert 0.25 < found <= 1.0


def test_equal_parts_are_refuted_even_with_a_private_rule():
    assert loss(SmoothForest(n_trees=3, max_depth=1, sensitivity="global"), 4) > 1.05


@pytest.mark.slow
def test_sampling_refutes_it_at_ninety_nine_percent():
    pair = smooth_sensitivity(gap=1)
    hits, trials = [], 800
    forest = SmoothForestClassifier(epsilon=1.0, schema=pair.schema, n_trees=1, max_depth=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        for first_seed, (X, y) in ((0, pair.D), (trials, pair.D_prime)):
            minority = 0
            for seed in range(first_seed, first_seed + trials):  # fresh noise in every training, but the same each run
                with seeded_noise(seed):
                    minority += forest.fit(X, y).predict(X[:1])[0] != y[0]
            hits.append(int(minority))
    assert epsilon_lower_bound(hits[0], trials, hits[1], trials, level=0.01) > 1.0


def test_it_claims_nothing_and_says_why():
    columns, labels = people()
    forest = SmoothForestClassifier(epsilon=1.0, schema=SCHEMA, n_trees=3, random_state=0)
    with pytest.warns(UnsoundWarning, match="smooth sensitivity"):
        forest.fit(pd.DataFrame(columns), labels)
    assert forest.privacy_.epsilon == np.inf
    assert "smooth sensitivity" in forest.privacy_.why[0]
    assert not forest.plan().proven


def test_the_printed_algorithm_has_no_delta():
    with pytest.raises(ParameterError, match="delta"):
        SmoothForestClassifier(delta=1e-6, schema=SCHEMA).plan()


def test_parts_are_equal():
    class Rows:
        rows = np.arange(10, dtype=np.uint64)

    assert DealInTurn(3)(Rows).tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
