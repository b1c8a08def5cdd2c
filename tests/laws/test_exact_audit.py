"""The exact audit finds every planted bug, and the exact loss of what is right."""

import collections
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from privet import Categorical, Schema
from privet.audit.at_delta import epsilon_at_delta
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.audit.replay_loss import loss_along_a_run
from privet.errors import AuditError
from privet.mechanisms.release import Release, drawn
from privet.mechanisms.replay import Recording
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable
from tests.laws import planted
from tests.laws.planted import TINY

pytestmark = pytest.mark.law


def loss(learner, epsilon=1.0, records=3, neighbours="add_remove", delta=0):
    schema = Schema(TINY.features, TINY.target, neighbours=neighbours)
    return exact_audit(Subject(learner, schema, Allowance.of(epsilon, delta)), records).loss


def test_the_label_of_a_leaf_spends_exactly_its_epsilon():
    assert loss(planted.Label()) == pytest.approx(1.0, abs=1e-9)
    assert loss(planted.Label(), neighbours="replace") == pytest.approx(1.0, abs=1e-9)
    assert loss(planted.Label(), neighbours="label") == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("score", "expected"), [("mix", 1.239880), ("gini", 1.333333), ("errors", 1.489880)])
def test_a_greedy_tree_of_depth_two_on_all_data_sets_of_up_to_four_records(score, expected):
    assert loss(planted.GreedyTree(score=score), epsilon=2.0, records=4) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_greedy_tree_by_the_exponential_mechanism_stays_below_its_pure_cost():
    subject = planted.GreedyTree(score="gini")
    epsilon = float(Fraction(8 * Allowance.of(1.0, 1e-6).rho / 6) ** 1)
    assert 0 < loss(subject, epsilon=1.0, delta=1e-6, records=3) < 3 * math.sqrt(epsilon * 6)


def test_coins_make_disjoint_trees_cost_as_much_as_one():
    assert loss(planted.CoinForest()) == pytest.approx(1.0, abs=1e-6)
    assert loss(planted.CoinForest(noise=True), records=2) == pytest.approx(1.0, abs=1e-6)


def test_dealing_the_first_half_to_one_tree_is_refuted():
    assert loss(planted.HalfTheRecordsEach(), records=4) > 1.5


def test_equal_chunks_with_the_remainder_dropped_are_refuted():
    assert loss(planted.EqualChunks(), records=4) >= 2.0


@pytest.mark.parametrize(("records", "expected"), [(2, 2.131308810), (3, 6.323728689), (4, 17.256263057)])
def test_the_smooth_sensitivity_label_is_refuted_at_every_gap(records, expected):
    assert loss(planted.SmoothLabel(), records=records) == pytest.approx(expected, abs=1e-6)


def test_a_laplace_scale_of_eta_over_k_is_refuted():
    assert loss(planted.PrintedScale(n_trees=3), records=1) == pytest.approx(9.0)


def test_a_distance_whose_square_does_not_fit_an_integer_is_refuted():
    """In 64 bits the square of 2^32 is zero."""
    expected = float(Allowance.of(1.0, 1e-6).rho) * 2**64
    subject = Subject(planted.CountsInFineUnits(), TINY, Allowance.of(1.0, 1e-6))
    assert exact_audit(subject, 1).loss == pytest.approx(expected, rel=1e-6)
    assert loss_along_a_run(subject, ((0, 0, 0),), (), 0)[0] == pytest.approx(expected, rel=1e-6)
    noise = Terms().noise("counts", subject.allowance.whole)
    assert epsilon_at_delta([(noise, np.array([1 << 32]))], [], Fraction(1, 10**6), Fraction(1)) > 1e9


def test_features_taken_for_disjoint_data_are_refuted():
    assert loss(planted.FeaturesAsDisjoint(), records=2) == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("learner", [planted.PurityStop(), planted.SizeStop()])
def test_stops_that_look_at_the_data_are_refuted(learner):
    assert loss(learner, records=2) == math.inf


def test_thresholds_taken_from_data_are_refuted():
    assert loss(planted.ThresholdsFromData(), records=2) == math.inf


def test_the_sensitivity_of_a_noisy_n_is_refuted_and_its_loss_does_not_vanish_with_epsilon():
    for epsilon, expected in [(0.0125, 0.0603), (0.001, 0.0574), (0.0001, math.log(18 / 17))]:
        found = loss(planted.NoisyNGini(epsilon=epsilon), epsilon=epsilon, records=2)
        assert found == pytest.approx(expected, abs=2e-4)
        assert found > 4 * epsilon


def test_untouched_leaves_recomputed_from_a_key_are_refuted():
    assert loss(planted.UntouchedLeavesFromKey(), records=2) == math.inf


def test_too_large_a_subject_is_refused_rather_than_passed():
    big = Schema({str(i): Categorical(list(range(9))) for i in range(3)}, classes=[0, 1])
    with pytest.raises(AuditError, match="cells"):
        exact_audit(Subject(planted.Label(), big, Allowance.of(1)), 2)


def test_the_production_samplers_follow_the_enumerated_law():
    """Draw whole trees as production does, and compare with the probabilities of the exact audit."""
    subject = Subject(planted.GreedyTree(depth=1), TINY, Allowance.of(2.0))
    data = ((0, 0, 0), (0, 0, 0), (1, 0, 1), (1, 1, 1))
    law = {}
    for path in subject.paths(data):
        rows = [range(len(row)) for row in path.last[1]]
        for labels in itertools.product(*rows):
            chance = math.exp(path.log_probability) * math.prod(p[k] for p, k in zip(path.last[1], labels, strict=True))
            law[(path.seen[0][1], labels)] = chance
    assert sum(law.values()) == pytest.approx(1.0)

    n = 3000
    drawn_trees = collections.Counter(draw_tree(subject, data) for _ in range(n))
    assert set(drawn_trees) <= set(law)
    statistic = sum((drawn_trees[outcome] - n * p) ** 2 / (n * p) for outcome, p in law.items())
    assert scipy.stats.chi2.sf(statistic, len(law) - 1) > 1e-6


def draw_tree(subject, data):
    encoding = TINY.encoding(2)
    terms = Terms()
    records = np.array(data)
    table = MemoryTable(encoding, records[:, :-1].T.astype(np.uint8).copy(), records[:, -1].astype(np.int32))
    recording = Recording(drawn())
    plan = subject.learner.plan(encoding, terms, subject.allowance.whole, None)
    subject.learner.grow(table, Release(Ledger(terms, subject.allowance), recording), None, plan)
    return tuple(tuple(outcome.tolist()) for _, outcome in recording.transcript)
