"""Cube noise is as private as it claims: its exact law, and exact audits of a learner that uses it."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest

from privet import Schema
from privet.audit.at_delta import epsilon_at_delta
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.audit.replay_loss import loss_along_a_run
from privet.audit.way_in import prices_audit
from privet.audit.way_in.draws_audit import draws_audit
from privet.errors import AuditError, ParameterError
from privet.learners.privatree import PrivaTreeClassifier
from privet.mechanisms import samplers
from privet.privacy.cube_law import DiscreteCube, largest_group_norm
from privet.privacy.terms import Allowance, Terms
from privet.randomness.public import SeededSource
from tests.laws import planted
from tests.laws.planted import TINY, OneQuestion, Planted

pytestmark = pytest.mark.law

EIGHTH = Fraction(1, 8)
CASES = [
    (Fraction(1, 2), (1, 1, 1)),
    (Fraction(1, 2), (1, 2)),
    (Fraction(3, 2), (1, 2)),
    (Fraction(3, 2), (3,)),
    (Fraction(3), (1, 1)),
    (Fraction(3), (2,)),
]


def box(reach, n):
    return np.stack([axis.ravel() for axis in np.meshgrid(*[np.arange(-reach, reach + 1)] * n)], axis=1)


@pytest.mark.parametrize(("scale", "groups"), CASES, ids=str)
def test_cube_noise_is_a_distribution_with_the_stated_marginal_and_deviation(scale, groups):
    law, n = DiscreteCube(scale, groups), sum(groups)
    reach = math.ceil(60 * scale)
    points = box(reach, n)
    mass = np.exp(law.log_pmf(points))
    assert math.fsum(mass) == pytest.approx(1, abs=1e-12)
    if groups[0] == 1:
        k = np.arange(-reach, reach + 1)
        np.testing.assert_allclose(np.bincount(points[:, 0] + reach, mass), law.pmf_of_one(k), rtol=0, atol=1e-12)
    else:
        with pytest.raises(ParameterError, match="single number"):
            law.pmf_of_one(0)
    event = replace(Terms().cube("sums", Fraction(1), groups=groups), parameter=scale)
    exact = np.sqrt((mass[:, None] * points**2).sum(axis=0))
    # The formula is that of the continuous law, as it is for Laplace noise.
    np.testing.assert_allclose(event.deviations(), exact, rtol=0.05 / float(scale) ** 2)


@pytest.mark.parametrize(("scale", "groups"), CASES, ids=str)
def test_moved_numbers_lose_their_distance_over_the_scale_and_no_more(scale, groups):
    law, n = DiscreteCube(scale, groups), sum(groups)
    points = box(6, n)
    for moved in product((-2, 0, 1), repeat=n):
        ratios = law.log_pmf(points) - law.log_pmf(points - np.array(moved))
        assert np.abs(ratios).max() == pytest.approx(largest_group_norm(moved, groups) / float(scale), abs=1e-12)


@dataclass(frozen=True)
class CubeSums(Planted):
    """Sound: for each feature the sum of its signs, and for all records how many have each class: groups 1, 1, 2.

    A record changes each of the first two by one, and one of the last two: by one in every group.
    """

    part: Fraction = Fraction(1)  # of the noise that the claim needs
    groups: tuple[int, ...] = (1, 1, 2)

    def plan(self, encoding, terms, share, hints):
        event = terms.cube("sums", share.epsilon, groups=self.groups)
        return OneQuestion(replace(event, parameter=event.parameter * self.part))

    def measured(self, counts):
        a, b = counts.sum(axis=(1, 2)), counts.sum(axis=(0, 2))
        return np.array([a[1] - a[0], b[1] - b[0], *counts.sum(axis=(0, 1))])

    def grow(self, table, release, rng, plan):
        return release.noisy(self.measured(self.counts(table)), plan.question)


@dataclass(frozen=True)
class CubeThenLabel(CubeSums):
    """Sound: half of the budget for the sums; the label is chosen with the other half."""

    def plan(self, encoding, terms, share, hints):
        half = share * Fraction(1, 2)
        return planted.TreeQuestions(
            (terms.cube("sums", half.epsilon, groups=self.groups),), terms.choice("label", half)
        )

    def grow(self, table, release, rng, plan):
        counts = self.counts(table)
        release.noisy(self.measured(counts), plan.levels[0])
        return release.choose(counts.sum(axis=(0, 1))[None, :], plan.leaves)


def audited(learner, neighbours="add_remove", epsilon=1, delta=0):
    schema = Schema(TINY.features, TINY.target, neighbours=neighbours)
    return exact_audit(Subject(learner, schema, Allowance.of(epsilon, delta)), 2)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_neighbours_reach_the_claim_and_do_not_exceed_it(neighbours):
    for learner in (CubeSums(), CubeThenLabel()):
        result = audited(learner, neighbours)
        assert result.loss == pytest.approx(1.0, abs=1e-8)
        assert not result.refuted


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_half_of_the_noise_is_refuted(neighbours):
    result = audited(CubeSums(part=Fraction(1, 2)), neighbours)
    assert result.refuted
    assert result.loss == pytest.approx(2.0, abs=1e-8)


def test_a_group_in_which_a_record_changes_two_numbers_is_refuted():
    assert audited(CubeSums(groups=(2, 2))).loss == pytest.approx(2.0, abs=1e-8)


def test_a_run_that_is_followed_loses_the_difference_of_two_distances():
    schema = Schema(TINY.features, TINY.target)
    data, neighbour = ((0, 0, 0),), ((0, 0, 0), (1, 1, 1))
    for learner, expected in ((CubeSums(), 1.0), (CubeSums(part=Fraction(1, 2)), 2.0)):
        subject = Subject(learner, schema, Allowance.of(1))
        assert loss_along_a_run(subject, data, neighbour, 0)[0] == pytest.approx(expected, abs=1e-8)
    subject = Subject(CubeThenLabel(), schema, Allowance.of(1))
    losses = [loss_along_a_run(subject, data, neighbour, seed)[0] for seed in range(20)]
    assert max(losses) == pytest.approx(1.0, abs=1e-8)
    assert min(losses) < 0.99, "numbers that are far off lose less"


def test_a_look_under_cube_noise_counts_by_its_norm():
    event = Terms().cube("look", EIGHTH, groups=(1, 2))
    moved = np.array([2, 1, -1])
    assert epsilon_at_delta([(event, moved)], [], Fraction(1, 10**6), Fraction(1)) == pytest.approx(0.25)


@dataclass(frozen=True)
class CubeUnderCoins(CubeSums):
    """Records are dealt out by secret coins before they are summed."""

    def grow(self, table, release, rng, plan):
        divided = release.coins(table, 2)
        counts = divided.aggregate(planted.PartTable(2, table.encoding.n_classes))
        return release.noisy(counts.ravel(), plan.question)


def test_cube_noise_under_secret_coins_is_not_taken_for_laplace_noise():
    with pytest.raises(AuditError, match="cube noise under secret coins"):
        audited(CubeUnderCoins())


def repeated(noise):
    """Return a sampler that gives every vector of noise twice."""
    calls = count()
    return lambda scale, groups, source: noise(scale, groups, SeededSource(next(calls) // 2))


def halved(noise):
    return lambda scale, groups, source: noise(scale / 2, groups, source)


@pytest.mark.parametrize("fault", [repeated, halved])
def test_the_audit_of_draws_finds_cube_noise_that_repeats_itself_or_is_too_small(monkeypatch, fault):
    monkeypatch.setattr(samplers, "discrete_cube", fault(samplers.discrete_cube))
    (finding,) = draws_audit(200, small=False)
    assert finding.refuted
    assert "cube noise" in finding.event


@pytest.mark.parametrize("part", [Fraction(1), Fraction(999, 1000)], ids=str)
def test_the_audit_of_prices_finds_a_scale_that_is_a_thousandth_too_small(monkeypatch, part):
    right = Terms.cube

    def planned(self, *args, **options):
        event = right(self, *args, **options)
        return replace(event, parameter=event.parameter * part)

    monkeypatch.setattr(Terms, "cube", planned)
    (finding,) = prices_audit.prices_audit(PrivaTreeClassifier(epsilon=1.0, schema=TINY))
    assert finding.refuted == (part < 1)
