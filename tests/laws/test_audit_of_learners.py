"""The auditor on every learner of the library: not refuted, and tight enough that silent over-noising would show."""

from fractions import Fraction

import numpy as np
import pytest

import privet
from privet.audit import audit, canaries
from privet.audit.exact import exact_audit
from privet.audit.ledger_audit import _adds_up, ledger_audit
from privet.audit.neighbours import NEIGHBOUR_PAIRS
from privet.audit.projections import FeaturesUsed, LabelsOfLeaves, LeafLabel, RootFeature, RootIsLeaf, RootSplit
from privet.audit.whole import tiny_subject
from privet.errors import AuditError
from privet.estimators.base import PrivateClassifier
from privet.learners.random_decision_forest.forest import RandomDecisionForestClassifier
from privet.privacy.events import Cost
from privet.schema.encoding import Encoding
from tests.laws import planted
from tests.laws.planted import TINY
from tests.laws.registry import REGISTERED, every_learner

pytestmark = pytest.mark.law


@every_learner
def test_the_exact_loss_is_within_the_claim_and_above_its_floor(learner):
    small = tiny_subject(learner.make(), n_trees=learner.audited_trees, max_depth=learner.audited_depth)
    result = exact_audit(small, learner.audited_records)
    assert not result.refuted, f"{result.loss} > {result.claimed} at {result.witness}"
    assert result.loss >= learner.floor * result.claimed, (
        "less is spent than is charged: over-noised, or floor too high"
    )


def test_every_registered_learner_states_its_floor():
    assert all(0 < learner.floor <= 1 for learner in REGISTERED)


@every_learner
def test_the_ledger_audit_finds_nothing(learner):
    estimator = learner.make()
    findings = ledger_audit(estimator, canaries(estimator.schema)[:3])
    assert [finding.event for finding in findings if finding.refuted] == []


class Leaky(RandomDecisionForestClassifier):
    """Bug: the number of records stays with the model."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.n_rows_ = len(X)
        return self


def test_the_ledger_audit_finds_an_attribute_that_leaks():
    estimator = Leaky(schema=TINY, n_trees=2, max_depth=2)
    findings = ledger_audit(estimator, canaries(estimator.schema))
    assert any(finding.refuted and "replay" in finding.name for finding in findings)


class PlantedClassifier(PrivateClassifier):
    """A planted learner behind an estimator."""

    def __init__(
        self, learner=None, epsilon=1.0, delta=0.0, schema=None, n_rows_hint=None, random_state=0, n_jobs=None
    ):
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self):
        return self.learner


def test_a_ledger_spends_what_was_planned_in_the_measure_of_the_claim_and_no_more_in_the_other():
    planned = Cost(Fraction(1), Fraction(1, 8))
    assert _adds_up(Cost(Fraction(1), Fraction(1, 9)), planned, pure=True)
    assert not _adds_up(Cost(Fraction(1), Fraction(1, 7)), planned, pure=True)
    assert not _adds_up(Cost(Fraction(9, 10), Fraction(1, 8)), planned, pure=True)
    assert not _adds_up(Cost(Fraction(1), Fraction(1, 9)), planned, pure=False)
    assert _adds_up(Cost(None, Fraction(1, 8)), Cost(None, Fraction(1, 8)), pure=False)


def test_an_audit_refutes_a_planted_bug_and_names_a_witness():
    report = audit(PlantedClassifier(planted.FeaturesAsDisjoint(), schema=TINY), pairs=[])
    assert report.refuted
    assert report.upper == pytest.approx(2.0)
    assert "refuted" in str(report)
    assert report.to_dict()["refuted"] is True
    assert "against" in report.witness.event


def test_an_audit_of_a_sound_learner_states_what_it_found_and_claims_no_proof():
    estimator = RandomDecisionForestClassifier(schema=TINY, n_trees=2, max_depth=2, random_state=0)
    report = audit(estimator, n_jobs=1)
    assert not report.refuted
    assert report.upper == pytest.approx(1.0)
    assert "no proof" in str(report)
    assert report.trainings > 0


def test_an_audit_without_a_claim_is_an_error_not_a_pass():
    with pytest.raises(AuditError, match="schema"):
        audit(RandomDecisionForestClassifier())
    with pytest.raises(AuditError, match="budget"):
        audit(RandomDecisionForestClassifier(epsilon=None, schema=TINY))
    with pytest.raises(AuditError):
        audit(lambda X, y: None)
    with pytest.raises(AuditError, match="relation"):
        audit(lambda X, y: None, epsilon=1.0)


def test_an_unsupported_matrix_strategy_is_refuted_by_the_replay():
    counts = {}
    for name, data in {"D": ((0, 0, 0),), "D'": ((0, 0, 0), (0, 0, 0))}.items():
        counts[name] = grow_with_zero_noise(planted.UnsupportedStrategy(), data)
    assert not np.array_equal(counts["D"], counts["D'"]), "equal released values must give equal models"


def grow_with_zero_noise(learner, data):
    """Grow with the released sum forced to the same value."""
    from fractions import Fraction

    from privet.mechanisms.release import Release
    from privet.mechanisms.replay import Forced
    from privet.privacy.ledger import Ledger
    from privet.privacy.terms import Share, Terms
    from privet.tables import MemoryTable

    encoding = TINY.encoding(2)
    plan = learner.plan(encoding, Terms(), Share(epsilon=Fraction(1)), None)
    records = np.array(data)
    table = MemoryTable(encoding, records[:, :-1].T.astype(np.uint8).copy(), records[:, -1].astype(np.int32))
    release = Release(Ledger(Terms(), None), Forced([(plan.question, np.array([5]))]))
    return learner.grow(table, release, None, plan)


def test_every_named_pair_is_a_pair_of_neighbours_and_has_a_schema():
    pairs = [make() for make in NEIGHBOUR_PAIRS.values()]
    assert len({pair.name for pair in pairs}) == len(pairs) >= 12
    assert all(pair.fits(pair.relation) and pair.event for pair in pairs)


def test_trees_of_a_private_forest_can_be_looked_at():
    pair = NEIGHBOUR_PAIRS["features_as_disjoint"]()
    for estimator in (
        privet.PrivaTreeClassifier(schema=pair.schema, max_depth=2, leaves="labels", n_rows_hint="unknown"),
        RandomDecisionForestClassifier(schema=pair.schema, max_depth=2, n_trees=2),
    ):
        fitted = estimator.fit(*pair.D)
        assert RootIsLeaf().supports(fitted)
        assert RootIsLeaf()(fitted)[0] is False
        feature, _ = RootSplit()(fitted)
        assert feature == RootFeature()(fitted)
        assert {feature} <= FeaturesUsed()(fitted)
        labels = LabelsOfLeaves()(fitted)[0]
        assert len(labels) == 4
        assert labels[1] == LeafLabel(1)(fitted)


class Memorising:
    """Bug: a foreign classifier that answers with the rarest label it saw, without noise."""

    def fit(self, X, y):
        labels, counts = np.unique(y, return_counts=True)
        self.answer = labels[counts.argmin()] if len(labels) else 0
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


def train_memorising(X, y):
    return Memorising().fit(X, y)


def test_a_foreign_classifier_is_audited_against_the_claim_that_is_stated():
    report = audit(train_memorising, epsilon=1.0, relation="add_remove", n_jobs=1)
    assert report.refuted
    assert report.witness is not None


def test_an_encoder_that_is_not_deterministic_is_an_error_not_a_pass(monkeypatch):
    estimator = RandomDecisionForestClassifier(schema=TINY, n_trees=2, max_depth=2)
    rng, encode = np.random.default_rng(0), Encoding.encode

    def moody(self, frame, **keywords):
        codes = encode(self, frame, **keywords)
        return rng.integers(0, 2, codes.shape).astype(codes.dtype)

    monkeypatch.setattr(Encoding, "encode", moody)
    with pytest.raises(AuditError, match="deterministic"):
        audit(estimator, n_jobs=1)
