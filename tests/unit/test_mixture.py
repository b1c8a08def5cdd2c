"""A mixture over fresh secret coins costs what its formula says, rounded up; a fixed assignment is not one."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.audit.ledger_audit import _coins_cover, _mixtures
from privet.errors import BudgetError, ModelFileError, ParameterError
from privet.mechanisms.release import Release, drawn
from privet.mechanisms.replay import Recording
from privet.models.forest import Forest, LeafLabels
from privet.privacy.conversions import mixture_epsilon, mixture_rest
from privet.privacy.events import Cost, Event, Mechanism, Mixture, Parallel
from privet.privacy.ledger import Ledger
from privet.privacy.plan import Plan
from privet.privacy.terms import Allowance, Terms, unproven
from privet.privacy.text import ledger_from_dict
from privet.tables import MemoryTable, PartOf
from privet.trees.greedy import AtRoot, SiblingHistogram
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.kernels.histogram import NodeHistogram
from privet.trees.random_trees import RandomTrees
from tests.laws.planted import TINY

HALF = (Fraction(1, 2), Fraction(1, 2))
ONE = Fraction(1)
budgets = st.fractions(min_value=0, max_value=20, max_denominator=10**6)
weights = st.integers(1, 2**16 - 1).map(lambda k: Fraction(k, 2**16))


def choice(epsilon, name="choice"):
    return Terms().permute_and_flip(name, Fraction(epsilon))


def exp_bounds(x, digits=60):
    """Return e^x from below and above, by Taylor's series in exact fractions."""
    halvings = max(0, math.ceil(x).bit_length() + 4)
    y, term, total, k = x / 2**halvings, Fraction(1), Fraction(1), 1
    scale = 10 ** (2 * digits)
    while term > Fraction(1, scale):
        term = term * y / k
        total += term
        k += 1
    low, high = total, total + 2 * term
    for _ in range(halvings):
        low, high = low * low, high * high
        low, high = Fraction(math.floor(low * scale), scale), Fraction(math.ceil(high * scale), scale)
    return low, high


@given(weights, budgets, budgets)
def test_the_formula_is_never_understated_and_hardly_overstated(weight, a, b):
    epsilon = mixture_epsilon((weight, 1 - weight), (a, b))
    low, high = (weight * x + (1 - weight) * y for x, y in zip(exp_bounds(a), exp_bounds(b), strict=True))
    assert exp_bounds(epsilon)[1] >= low, "understated"
    assert exp_bounds(epsilon)[0] <= high * (1 + Fraction(1, 10**40)), "overstated beyond rounding"
    assert epsilon <= max(a, b)


@given(weights, budgets.filter(lambda x: x > 0), st.fractions(min_value=0, max_value=1, max_denominator=1000))
def test_the_rest_of_a_mixture_fills_it_and_never_overfills_it(weight, epsilon, part):
    spent = part * epsilon
    rest = mixture_rest(epsilon, weight, spent)
    filled = mixture_epsilon((weight, 1 - weight), (spent, rest))
    assert epsilon - Fraction(1, 10**40) < filled <= epsilon


def test_there_may_be_no_room_for_the_rest():
    assert mixture_rest(Fraction(1, 10), Fraction(1, 2), Fraction(3)) < 0
    with pytest.raises(ParameterError, match="weight"):
        mixture_rest(ONE, ONE, ONE)


def test_a_mixture_costs_the_mean_of_e_to_the_epsilon_and_the_largest_rho():
    a, b = choice("0.5"), choice(2)
    mixture = Mixture(HALF, (a, b))
    assert float(mixture.cost.epsilon) == pytest.approx(math.log((math.exp(0.5) + math.exp(2)) / 2), rel=1e-15)
    assert mixture.cost.rho == b.cost.rho
    assert Parallel((a, b)).cost.epsilon == 2
    assert Mixture(HALF, (a, a)).cost.epsilon == a.cost.epsilon, "equal parts: no rounding"
    assert list(mixture.events()) == [a, b]


def test_a_part_without_a_bound_makes_the_mixture_unbounded():
    gaussian = Terms().gaussian("sums", Fraction(1, 10))
    assert Mixture(HALF, (choice(1), gaussian)).cost == Cost(None, Fraction(1, 2))
    flawed = unproven("labels", Mechanism.PERMUTE_AND_FLIP, ONE, "no proof")
    assert Mixture(HALF, (choice(1), flawed)).cost == Cost.unbounded()


@pytest.mark.parametrize(
    "wrong",
    [
        (Fraction(1, 2), Fraction(1, 4)),
        (Fraction(3, 2), Fraction(-1, 2)),
        (ONE,),
        (Fraction(1, 3), Fraction(2, 3)),  # coins cannot have these exactly
    ],
)
def test_weights_that_coins_cannot_have_are_refused(wrong):
    with pytest.raises(ParameterError, match="mixture"):
        Mixture(wrong, (choice(1), choice(1)))


def test_the_ledger_charges_a_mixture_part_by_part():
    ledger = Ledger(Terms(), Allowance.of(1))
    with ledger.mixture(HALF):
        with ledger.branch():
            ledger.charge(choice("0.25"))
            ledger.charge(choice("0.25"))
        # the other part has seen nothing yet
        assert float(ledger.cost.epsilon) == pytest.approx(math.log((math.exp(0.5) + 1) / 2))
        ledger.charge(choice(mixture_rest(ONE, HALF[0], HALF[0])))
    assert ledger.epsilon == 1.0
    with pytest.raises(BudgetError):
        ledger.charge(choice(Fraction(1, 10**30)))


def test_overspending_inside_a_mixture_is_refused():
    ledger = Ledger(Terms(), Allowance.of(1))
    with ledger.mixture(HALF):
        ledger.charge(choice(1))
        with pytest.raises(BudgetError):
            ledger.charge(choice("1.001"))
        ledger.charge(choice(1))
    assert ledger.epsilon == 1.0


def test_more_parts_than_weights_are_an_error_not_a_discount():
    ledger = Ledger(Terms(), Allowance.of(3))
    with ledger.mixture(HALF):
        ledger.charge(choice(1))
        ledger.charge(choice(1))
        with pytest.raises(ParameterError, match="weight for each"):
            ledger.charge(choice(1))
    assert ledger.epsilon == 1.0


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_mixture_in_a_file_states_the_same_guarantee_when_read_back(delta):
    allowance = Allowance.of(1, delta)
    ledger = Ledger(Terms("replace"), allowance)
    with ledger.mixture(HALF):
        with ledger.branch():
            ledger.charge(ledger.terms.choice("split", allowance.whole * Fraction(1, 3)))
        ledger.charge(ledger.terms.choice("label", allowance.whole))
    again = ledger_from_dict(json.loads(json.dumps(ledger.to_dict())))
    assert again.to_dict() == ledger.to_dict()
    assert (again.epsilon, again.delta, again.cost) == (ledger.epsilon, ledger.delta, ledger.cost)
    damaged = json.loads(json.dumps(ledger.to_dict()).replace('"1/2", "1/2"', '"1/2", "1/4"'))
    with pytest.raises(ModelFileError, match="ledger"):
        ledger_from_dict(damaged)


def test_a_release_tosses_fresh_coins_for_every_mixture_and_deals_every_record_once():
    n = 1000
    table = MemoryTable(TINY.encoding(), np.zeros((2, n), np.uint8), np.zeros(n, np.int32))
    recording = Recording(drawn())
    release = Release(Ledger(Terms(), Allowance.of(2)), recording)
    trees = RandomTrees.draw(table.encoding, 0, 1, 0)
    seen = []
    for _ in range(2):
        with release.mixture(table, Mixture(HALF, (choice(1), choice(1)))) as parts:
            seen.append([int(part.aggregate(LeafClassCounts(trees, 2)).sum()) for part in parts])
            for part in parts:
                assert isinstance(part.derive("node", AtRoot()), PartOf)
                release.choose(np.zeros((1, 2), np.int64), choice(1))
    assert [sum(sizes) for sizes in seen] == [n, n]
    assert seen[0] != seen[1]
    assert min(map(min, seen)) > 300
    assert _coins_cover(_mixtures(release.ledger.composition), recording)
    recording.transcript.pop(0)  # one set of coins for two mixtures is not enough
    assert not _coins_cover(_mixtures(release.ledger.composition), recording)


@pytest.mark.parametrize("part", [0, 1])
def test_every_kernel_that_counts_sees_the_records_of_its_part_and_no_others(part):
    rng, features = np.random.default_rng(0), {"x": Numeric(0, 1), "c": Categorical(["a", "b", "c"])}
    encoding = Schema(features, classes=[0, 1]).encoding()
    codes = np.stack([rng.integers(0, size, 5000) for size in encoding.n_codes]).astype(np.uint8)
    target, coins = rng.integers(0, 2, 5000).astype(np.int32), rng.integers(0, 2, 5000).astype(np.int32)
    table = MemoryTable(encoding, codes, target).derive("node", AtRoot()).derive("part", Given(coins))
    alone = MemoryTable(encoding, np.ascontiguousarray(codes[:, coins == part]), target[coins == part])
    alone, n_codes = alone.derive("node", AtRoot()), tuple(encoding.n_codes.tolist())
    trees = RandomTrees.draw(encoding, 0, 2, 3)
    for kernel in (
        LeafClassCounts(trees, 2),
        LeafClassCounts(trees, 2, "node"),
        NodeHistogram("node", 1, 2, n_codes),
        SiblingHistogram("node", np.zeros(1, np.int32), 2, n_codes),
    ):
        np.testing.assert_array_equal(PartOf(table, "part", part).aggregate(kernel), alone.aggregate(kernel))


@dataclass(frozen=True)
class Given:
    """State that is known beforehand."""

    values: np.ndarray

    def __call__(self, block):
        return self.values[block.rows.astype(np.int64)]


@dataclass(frozen=True)
class StumpPlan(Plan):
    """A split on one half of the records, a label on the other."""

    split: Event
    label: Event

    @property
    def whole(self):
        return Mixture(HALF, (self.split, self.label))


@dataclass(frozen=True)
class Honest:
    """A stump: its feature chosen on one half of the records, its leaves labelled on the other."""

    secret: bool
    bins: int = 2

    def plan(self, encoding, terms, share, hints):
        rest = mixture_rest(share.epsilon, HALF[0], share.epsilon / 2)
        return StumpPlan(terms.choice("split", share * HALF[0]), terms.permute_and_flip("label", rest))

    def grow(self, table, release, rng, plan):
        trees = RandomTrees.draw(table.encoding, 0, 1, 0)
        if self.secret:
            with release.mixture(table, plan.whole) as (structure, estimation):
                self._ask(release, plan, trees, structure, estimation)
        else:  # bug: who is where is fixed, but charged as if it were a secret
            dealt = table.derive("half", ByFirstFeature())
            with release.ledger.mixture(HALF):
                self._ask(release, plan, trees, PartOf(dealt, "half", 0), PartOf(dealt, "half", 1))
        return Forest(table.encoding, trees, LeafLabels(np.zeros(1, np.uint16)))

    def _ask(self, release, plan, trees, structure, estimation):
        release.choose(structure.aggregate(LeafClassCounts(trees, 2)), plan.split)
        release.choose(estimation.aggregate(LeafClassCounts(trees, 2)), plan.label)


@dataclass(frozen=True)
class ByFirstFeature:
    """A fixed assignment."""

    def __call__(self, block):
        return block.codes[0].astype(np.int32)


def test_secret_coins_earn_the_discount_and_a_fixed_assignment_does_not():
    secret = exact_audit(Subject(Honest(secret=True), TINY, Allowance.of(1)), 2)
    assert not secret.refuted
    assert secret.loss > 0.4
    fixed = exact_audit(Subject(Honest(secret=False), TINY, Allowance.of(1)), 2)
    assert fixed.refuted
    assert fixed.loss == pytest.approx(float(mixture_rest(ONE, HALF[0], HALF[0])), abs=1e-6)
