"""`audit` looks at all that stands before a learner: flaws planted there are refuted, the library as it is is not."""

import math

import numpy as np
import pytest
from benchmarks.plants import PLANTS, PLANTS_FOR_THE_SEARCH

import privet_papers as published
from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.audit import audit, whole
from privet.audit.search import search
from privet.audit.way_in.coins_audit import FALSE_ALARM, is_unlikely
from privet.audit.way_in.draws_audit import draws_audit
from privet.audit.way_in.watching import arrive
from privet.audit.way_in.whole_way import QUICK, way_in_audit
from privet.audit.whole import tiny_subject
from privet.errors import AuditError
from tests.laws.registry import NUMBERS, SCHEMA, every_learner

pytestmark = pytest.mark.law


def refuted(findings):
    return [finding.name for finding in findings if finding.refuted]


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_flaw_is_refuted_by_a_quick_audit(plant):
    with plant.planted():
        found = refuted(audit(plant.estimator(), pairs=[], n_jobs=1).findings)
    assert any(name.startswith(plant.found_by) for name in found)


def test_at_least_twelve_flaws_are_planted():
    assert len({plant.name for plant in PLANTS}) >= 12


@pytest.mark.parametrize(
    "plant",
    {repr((plant.settings, plant.neighbours)): plant for plant in PLANTS}.values(),
    ids=lambda plant: plant.name,
)
def test_what_finds_a_planted_flaw_finds_nothing_without_it(plant):
    found = refuted(audit(plant.estimator(), pairs=[], n_jobs=1).findings)
    assert found == []


@pytest.mark.parametrize(
    "schema",
    [
        Schema({"x": Categorical([0, 1])}, classes=[0, 1]),
        Schema({"unit": Categorical([False, True]), "y": Numeric(-1, 1, bins=300)}, classes=["a", "b", "c"]),
        Schema(SCHEMA.features, SCHEMA.target, neighbours="replace", unit=Unit("person", 2)),
        Schema(SCHEMA.features, SCHEMA.target, neighbours="label"),
    ],
    ids=["one bit", "a feature called unit", "units that are replaced", "labels"],
)
def test_the_way_in_is_not_refuted_on_schemas_of_many_kinds(schema):
    notes = []
    estimator = RandomDecisionForestClassifier(schema=schema, n_trees=2, max_depth=2)
    assert refuted(way_in_audit(estimator, QUICK, notes)) == []
    assert "units, encoding, blocks and budgets" in notes[0]


@every_learner
def test_the_search_finds_nothing_in_a_learner_of_the_house(learner):
    subject = tiny_subject(learner.make())
    try:
        found = search(subject, 40)
    except AuditError:
        with pytest.raises(AuditError, match="coins"):
            search(subject, 1)
    else:
        assert not found.refuted, f"{found.loss} > {found.claimed} at {found.witness}"
        assert found.data_sets == 40


@pytest.mark.parametrize("plant", PLANTS_FOR_THE_SEARCH, ids=lambda plant: plant.name)
def test_the_search_finds_what_all_fixed_pairs_miss(plant, monkeypatch):
    every_fixed_pair = whole.Effort(whole.EFFORTS["thorough"].shapes, 1, 0, 1_000, steps=whole.EFFORTS["quick"].steps)
    monkeypatch.setitem(whole.EFFORTS, "quick", every_fixed_pair)
    with plant.planted():
        findings = audit(plant.estimator(), n_jobs=1).findings
    assert any(finding.kind == "exact" for finding in findings)
    assert any(finding.kind == "ledger" for finding in findings)
    assert refuted(finding for finding in findings if finding.kind in ("exact", "ledger")) == []
    assert any(name.startswith("search") for name in refuted(findings))


@pytest.mark.slow
# The search is the same in every run: its choices come from a public seed, and its losses are exact.
@pytest.mark.parametrize("name", sorted(published._HOME))
def test_every_algorithm_as_printed_is_refuted_by_the_search(name):
    subject = tiny_subject(getattr(published, name)(epsilon=1.0, schema=SCHEMA))
    assert search(subject, whole.EFFORTS["quick"].steps[0]).refuted


def test_a_search_follows_its_seed():
    subject = tiny_subject(published.DPGDFClassifier(epsilon=1.0, schema=SCHEMA))
    first, second = (search(subject, 30, seed=4) for _ in range(2))
    assert first == second
    assert math.isfinite(first.loss)


def test_what_arrives_at_a_learner_is_what_the_frame_holds():
    schema = Schema({"x": Categorical(["a", "b"])}, classes=[0, 1])
    estimator = RandomDecisionForestClassifier(schema=schema, n_trees=2, max_depth=1)
    arrived = arrive(estimator, np.array([["b"], ["a"], ["b"]], dtype=object), np.array([1, 0, 7]))
    assert arrived.records.tolist() == [[1, 1], [0, 0]]
    assert arrived.places.tolist() == arrived.derived.tolist() == [0, 1]
    assert not hasattr(estimator, "model_")


def test_a_regressor_goes_the_same_way_in():
    from privet import BoostingRegressor

    assert refuted(way_in_audit(BoostingRegressor(schema=NUMBERS, n_trees=2), QUICK, [])) == []


def test_a_tail_is_called_unlikely_at_its_level_and_not_before():
    assert is_unlikely(0, 100, 0.5, FALSE_ALARM)
    assert is_unlikely(100, 100, 0.5, FALSE_ALARM)
    assert not is_unlikely(25, 100, 0.5, FALSE_ALARM)  # 3e-7
    assert not is_unlikely(100, 100, 1.0, FALSE_ALARM)


def test_draws_by_small_requests_are_looked_at_too():
    (finding,) = draws_audit(150, small=True)
    assert not finding.refuted
    assert "pairs" in finding.event
