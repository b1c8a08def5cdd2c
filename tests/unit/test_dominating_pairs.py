"""Laws of dominating pairs: no release that they stand for loses more, and little is given away."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import RandomDecisionForestClassifier
from privet.privacy import laws
from privet.privacy.accounts.losses import _by_losses, _dots
from privet.privacy.accounts.pairs import Pair, _sums_of_squares, has_table
from privet.privacy.accounts.slots import Slot, covered, releases_of
from privet.privacy.events import Cost, Event, Filter, Mechanism, Mixture, Parallel, Sequential
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.privacy.text import ledger_from_dict
from tests.unit.test_budgets import SCHEMA

DELTA = Fraction(1, 10**6)
HALF = Fraction(1, 2)


def losses_of(law, shift, reach):
    """Return losses and probabilities of one number moved by `shift`, under the moved law."""
    k = np.arange(-reach, reach + shift + 1)
    moved, own = law.log_pmf(k - shift), law.log_pmf(k)
    return moved - own, np.exp(moved)


def product(parts):
    """Return losses and probabilities of independent numbers together."""
    losses, probabilities = np.zeros(1), np.ones(1)
    for own, chances in parts:
        losses = np.add.outer(losses, own).ravel()
        probabilities = np.multiply.outer(probabilities, chances).ravel()
    return losses, probabilities


def divergence(losses, probabilities, x):
    """The hockey-stick divergence at each x, from its definition."""
    return np.array([math.fsum(probabilities * np.maximum(0.0, -np.expm1(at - losses))) for at in x])


def partitions(total, most):
    if total == 0:
        yield ()
    for part in range(min(total, most), 0, -1):
        for others in partitions(total - part, part):
            yield (part, *others)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(20)])
@pytest.mark.parametrize("moved", [1, 2, 3, 5])
def test_one_number_moved_by_all_is_the_worst_that_laplace_noise_can_meet(scale, moved):
    law, reach = laws.DiscreteLaplace(scale), math.ceil(20 * scale) + moved
    x = np.linspace(0, 1.1 * moved / float(scale), 40)
    curve = Pair("laplace", scale, moved).curve(x)
    for split in partitions(moved, moved):
        # Beyond the numbers between which it moves the loss does not change, so these stand for all.
        each = []
        for shift in split:
            losses, chances = losses_of(law, shift, reach)
            values = np.round(losses * float(scale)).astype(int)
            each.append([np.unique(values) / float(scale), np.bincount((values + shift) // 2, chances)])
        found = divergence(*product(each), x)
        assert (found <= curve + 1e-12).all(), split
        if split == (moved,):
            assert found == pytest.approx(curve, abs=1e-8)


@pytest.mark.parametrize(("variance", "moved"), [("0.7", 1), ("0.7", 4), ("5", 1), ("5", 3), ("2.3", 5), ("30", 9)])
def test_gaussian_noise_loses_no_more_than_the_worst_integers(variance, moved):
    s = Fraction(variance)
    law, reach = laws.DiscreteGaussian(s), math.ceil(9 * math.sqrt(s))
    x = np.linspace(0, 3 * math.sqrt(moved / s), 25)
    curve = Pair("gaussian", s, moved).curve(x)
    largest = np.zeros_like(x)
    for times in _sums_of_squares(moved, math.isqrt(moved)):
        shifts = [v for v, often in enumerate(times, start=1) for _ in range(often)]
        total, probabilities = np.zeros(1), np.ones(1)
        for shift in shifts:  # the loss is an affine function of the sum of shift times noise, which is a whole number
            noise = law.pmf(np.arange(-reach, reach + 1))
            spread = np.zeros(2 * reach * shift + 1)
            spread[::shift] = noise
            probabilities = np.convolve(probabilities, spread)
        total = np.arange(len(probabilities)) - len(probabilities) // 2
        found = divergence((2 * total + moved) / (2 * float(s)), probabilities, x)
        assert (found <= curve + 1e-13).all(), shifts
        largest = np.maximum(largest, found)
    assert largest == pytest.approx(curve, abs=1e-11 * math.exp(x[-1]))


def test_sums_of_squares_are_all_there():
    for total in range(1, 30):
        roots = range(1, math.isqrt(total) + 1)
        expected = (
            {
                tuple(s.count(r) for r in roots)
                for n in range(1, total + 1)
                for s in itertools.combinations_with_replacement(roots, n)
                if sum(v * v for v in s) == total
            }
            if total < 13
            else None
        )
        found = list(_sums_of_squares(total, math.isqrt(total)))
        assert len(found) == len(set(found))
        assert all(sum(n * (v + 1) ** 2 for v, n in enumerate(times)) == total for times in found)
        assert expected is None or set(found) == expected


def test_the_continuous_gaussian_does_not_dominate_the_discrete_one_and_is_not_used():
    """At this scale the continuous law has delta 1e-5 at epsilon 1, and the discrete one 1.035e-5."""
    pair = Pair("gaussian", Fraction("3.7306") ** 2)
    assert pair.curve(np.array([1.0]))[0] == pytest.approx(1.035e-5, rel=1e-3)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_a_choice_by_the_exponential_mechanism_loses_no_more_than_its_range_allows(epsilon):
    rate, rng = Fraction(epsilon) / 8, np.random.default_rng(0)
    x = np.linspace(0, float(Fraction(epsilon)), 60)
    curve = Pair("range", Fraction(epsilon)).curve(x)
    largest = np.zeros_like(x)
    for n_candidates in (2, 2, 2, 3, 6):
        for _ in range(300):
            scores = rng.integers(-60, 60, size=n_candidates)
            change = rng.integers(0, 9, size=n_candidates)
            change[:2] = 0, 8
            p, q = (laws.exponential_mechanism(s, rate) for s in (scores + change, scores))
            for a, b in ((p, q), (q, p)):
                found = np.maximum(0.0, a[:, None] - np.exp(x) * b[:, None]).sum(axis=0)
                assert (found <= curve + 1e-12).all()
                largest = np.maximum(largest, found)
    assert (largest >= 0.97 * curve - 2e-3).all(), "two candidates reach the bound"


PAIRS = [
    *(Pair("laplace", Fraction(scale), moved) for scale in (1, 2, 7) for moved in (1, 2, 4)),
    *(Pair("gaussian", Fraction(variance), moved) for variance in (3, 20) for moved in (1, 2, 4)),
    *(Pair("range", Fraction(epsilon)) for epsilon in ("0.25", "0.5", "2")),
    *(Pair("zcdp", Fraction(rho)) for rho in ("0.01", "0.2", "3")),
]


def test_what_covers_another_has_the_higher_curve_and_cost():
    covering = [(a, b) for a in PAIRS for b in PAIRS if a.covers(b)]
    assert {(a.kind, b.kind) for a, b in covering} >= {("laplace", "range"), ("zcdp", "laplace"), ("zcdp", "gaussian")}
    x = np.linspace(0, 6, 200)
    for a, b in covering:
        if a.kind == "zcdp":  # of which a curve is only a bound; costs are what it goes by
            assert b.rho <= a.rho
        else:
            assert (b.curve(x) <= a.curve(x) + 1e-11).all(), (a, b)
    assert all(pair.covers(pair) for pair in PAIRS)
    assert not Pair("gaussian", Fraction(3)).covers(Pair("gaussian", Fraction(20))), "not proven, though likely"


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_dots_of_a_curve_are_convex_and_nothing_between_them_is_above_their_chords(pair):
    step = pair.width / 700
    rounded, deltas = _dots(pair, step)
    slopes = np.diff(deltas) / np.diff(np.exp(rounded * step))
    assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[1:])).all()
    x = np.linspace(0, min(pair.reach, 8), 3001)
    if pair.kind != "zcdp":
        room = 1e-12 * (1 + 2 * np.exp(x))  # a curve of Gaussian noise is rounded up by as much
        assert (np.interp(np.exp(x), np.exp(rounded * step), deltas) >= pair.curve(x) - room).all()


def least_epsilon(losses, probabilities, low=0.0, high=100.0):
    for _ in range(60):
        middle = (low + high) / 2
        found = divergence(losses, probabilities, [middle])[0]
        low, high = (middle, high) if found > DELTA else (low, middle)
    return high


def composed(losses, probabilities, times):
    """Return what so many releases lose together, where losses are multiples of one number from `losses[0]` on."""
    whole = np.ones(1)
    for _ in range(times):
        whole = np.convolve(whole, probabilities)
    return times * losses[0] + (losses[1] - losses[0]) * np.arange(len(whole)), whole


@pytest.mark.parametrize(("scale", "moved", "times"), [(4, 1, 60), (5, 3, 20), (10, 10, 8), (40, 8, 40)])
def test_many_laplace_releases_cost_what_their_exact_law_says_and_never_less(scale, moved, times):
    a, m = math.exp(-1 / scale), np.arange(moved + 1)
    chances = (1 - a) / (1 + a) * a ** (moved - m)
    chances[0], chances[-1] = a**moved / (1 + a), 1 / (1 + a)
    exact = least_epsilon(*composed((2 * m - moved) / scale, chances, times))
    found = float(_by_losses((Slot(times, planned=((Pair("laplace", Fraction(scale), moved), 1),)),), DELTA))
    assert exact <= found <= exact * 1.003


@pytest.mark.parametrize(("variance", "times"), [(20, 1), (20, 12), (400, 50)])
def test_many_gaussian_releases_cost_what_their_exact_law_says_and_less_than_zcdp(variance, times):
    law, reach = laws.DiscreteGaussian(Fraction(variance)), math.ceil(9 * math.sqrt(variance))
    k = np.arange(-reach, reach + 1)
    exact = least_epsilon(*composed((2 * k + 1) / (2 * variance), law.pmf(k), times))
    slot = Slot(times, rho=Fraction(1, 2 * variance), planned=((Pair("gaussian", Fraction(variance)), 1),))
    found = float(_by_losses((slot,), DELTA))
    assert exact <= found <= exact * 1.003
    assert found < 0.96 * float(_by_losses((Slot(times, rho=slot.rho),), DELTA))


def test_numbers_that_move_by_one_have_the_rho_of_each():
    """Renyi divergences of many counts together, from their definition, at orders near one and far from it."""
    event = Terms().laplace("counts", Fraction(2), l1=8, largest=1)
    assert event.cost == Cost(Fraction(2), Fraction(2, 8))
    a = math.exp(-1 / float(event.parameter))
    for order in (1.01, 2.0, 8.0, 64.0):
        up, down = order / float(event.parameter), -order / float(event.parameter)
        one = math.log((math.exp(up) * a + math.exp(down)) / (1 + a)) / (order - 1)
        assert 8 * one <= order * float(event.cost.rho)
    replaced = Terms("replace", 3, "id").laplace("counts", Fraction(2), l1=8, largest=1)
    assert replaced.cost == Cost(Fraction(2), Fraction(2, 16)), "three in each of sixteen, where 48 move in all"
    assert Terms().laplace("count", Fraction(2), largest=1) == Terms().laplace("count", Fraction(2))


def ledger(*parts, terms=None, delta=0):
    return Ledger.stating(terms or Terms(), Allowance.of(100, delta), Sequential(parts))


def test_each_kind_of_event_has_its_pair():
    terms = Terms()
    counts = terms.laplace("counts", Fraction(1), l1=4)
    cells = terms.laplace("cells", Fraction(1), l1=4, largest=1)
    flip = terms.permute_and_flip("flip", HALF)
    choice = terms.exponential("choice", Fraction(1, 8))
    margin = Event("margin", Mechanism.EXPONENTIAL, Fraction(1), Fraction(1), Cost.pure(HALF))
    labels = Event(
        "labels of 9 trees", Mechanism.PERMUTE_AND_FLIP, HALF, Fraction(1), Cost(Fraction(9), Fraction(9, 2))
    )
    assert releases_of(ledger(counts)) == ((Pair("laplace", counts.parameter, 4), 1),)
    assert releases_of(ledger(cells)) == ((Pair("laplace", cells.parameter), 4),)
    assert releases_of(ledger(flip, flip, margin)) == ((Pair.pure(HALF), 3),)
    assert releases_of(ledger(choice)) == ((Pair("range", choice.cost.epsilon), 1),)
    assert releases_of(ledger(labels)) == ((Pair("zcdp", Fraction(9, 2)), 1),)
    lot = Event("a lot", Mechanism.PERMUTE_AND_FLIP, Fraction(0), Fraction(0), Cost.nothing())
    assert releases_of(ledger(lot, flip, Sequential(()))) == ((Pair.pure(HALF), 1),), "what looks at no record is free"
    noise = terms.gaussian("noise", Fraction(1, 50), l2_squared=2)
    many = terms.gaussian("many", Fraction(1, 50), l2_squared=65)
    assert releases_of(ledger(noise, delta=0.1)) == ((Pair("gaussian", noise.parameter, 2), 1),)
    assert releases_of(ledger(many, delta=0.1)) == ((Pair("zcdp", Fraction(1, 50)), 1),), "too many ways to move 65"
    wide = Terms().gaussian("wide", Fraction(1, 10**12))
    assert not has_table(wide.parameter, 1)
    assert releases_of(ledger(wide, delta=0.1)) == ((Pair("zcdp", Fraction(1, 10**12)), 1),)


def test_compositions_count_by_their_largest_part_or_by_their_cost():
    terms = Terms()
    small, large = (terms.laplace("counts", epsilon) for epsilon in (HALF, Fraction(1)))
    of_large = (Pair("laplace", large.parameter), 1)
    assert releases_of(ledger(Parallel((small, large)))) == (of_large,)
    two = Parallel((Sequential((small, small)), terms.exponential("choice", Fraction(1, 8))))
    assert releases_of(ledger(two)) == ((Pair("zcdp", Fraction(1, 4)), 1),), "neither covers the other"
    replaced = Terms("replace")
    halves = Parallel(tuple(replaced.laplace("counts", epsilon) for epsilon in (HALF, Fraction(1))))
    assert releases_of(ledger(halves, terms=replaced)) == ((Pair.pure(Fraction(1)), 1),), "it may leave one for another"
    coins = Mixture((HALF, HALF), (small, large))
    assert releases_of(ledger(coins)) == ((Pair.pure(coins.cost.epsilon), 1),)
    rounds = Filter("rounds", Cost(Fraction(1), HALF))
    assert releases_of(ledger(rounds)) == ((Pair.pure(Fraction(1)), 1),)
    of_many = [terms.laplace("counts", Fraction(1, n)) for n in range(1, 250)]
    total = Sequential(tuple(of_many)).cost
    assert releases_of(ledger(*of_many)) == ((Pair("zcdp", total.rho), 1),), "too many kinds: by what they cost"


def test_a_charge_is_covered_only_if_each_release_has_one_of_its_own():
    one, two = Pair("laplace", Fraction(10)), Pair("laplace", Fraction(5))
    assert covered(((one, 2),), ((one, 2),))
    assert covered(((one, 1), (two, 1)), ((two, 2),))
    assert covered(((one, 1),), ((one, 2), (two, 1)))
    assert not covered(((one, 3),), ((one, 2),))
    assert not covered(((two, 1),), ((one, 9),))
    assert not covered(((one, 1), (two, 2)), ((one, 2), (two, 1)))
    assert not covered((), ((one, 1),)), "of a charge that states no releases nothing is known"


def test_a_ledger_keeps_how_far_a_single_number_moves():
    plan = RandomDecisionForestClassifier(1.0, schema=SCHEMA, n_trees=5, n_rows_hint=1000).plan()
    assert plan.events[0].largest == 1
    assert ledger_from_dict(plan.to_dict()).events == plan.events
    old = plan.to_dict()
    del old["spent"]["sequential"][0]["largest"]
    assert ledger_from_dict(old).events[0].largest is None
