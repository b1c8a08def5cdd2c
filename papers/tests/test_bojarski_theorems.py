"""The bounds of Bojarski et al., against what can be computed otherwise."""

import math
from decimal import Decimal, getcontext
from itertools import product

import numpy as np
import pytest

from privet.errors import ParameterError
from privet_papers.bojarski_2014.private_theorems import k_opt, theorem_5_6, theorem_5_7, theorem_5_8, theorem_5_9
from privet_papers.bojarski_2014.theorems import (
    theorem_5_1,
    theorem_5_2,
    theorem_5_3,
    theorem_5_4,
    theorem_5_5,
    trees_needed,
)


def every_tree_of_height_two():
    """All trees of height two over three binary attributes, and a data set; for each tree the leaf of each point."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (40, 3))
    y = (X[:, 0] ^ (rng.random(40) < 0.2)).astype(int)
    leaves = []
    for root, left, right in product(range(3), repeat=3):
        second = np.where(X[:, root] == 0, X[:, left], X[:, right])
        leaves.append(2 * X[:, root] + second)
    return np.array(leaves), y


def test_average_goodness_and_weight_are_what_theorems_5_1_and_5_2_say():
    leaves, y = every_tree_of_height_two()
    goodness, weight, accuracy = [], [], []
    for tree in leaves:
        share = np.array([np.mean(y[tree == leaf] == label) for leaf, label in zip(tree, y, strict=True)])
        # A leaf's label is 1 where there are as many of both, so exactly half of a tied leaf is right.
        right = (share > 0.5) | ((share == 0.5) & (y == 1))
        goodness.append(right.mean())
        weight.append(share.mean())
        accuracy.append(right.mean())
    epsilon = 1 - np.mean(accuracy)
    assert np.mean(goodness) == pytest.approx(theorem_5_1(epsilon))
    assert np.mean(weight) >= theorem_5_2(epsilon)


def test_the_number_of_trees_makes_hoeffdings_union_bound_hold():
    for n, delta, C in product((100, 10**6), (0.05, 0.3), (0.5, 2.0)):
        k = trees_needed(n, delta, C)
        assert n * math.exp(-2 * k * delta**2) <= n**-C < n * math.exp(-2 * (k - 1) * delta**2)


def test_without_privacy_the_error_is_about_twice_that_of_a_tree():
    assert theorem_5_4(10**6, 0.1, 0.01).error == pytest.approx(0.1 / 0.49)
    assert theorem_5_4(10**6, 0.1, 0.01, voting="threshold").error == pytest.approx(0.18 / 0.49)
    assert theorem_5_3(10**6, 0.01, mu=0.9).error == pytest.approx(0.1)


def test_generalisation_costs_trees_error_and_probability():
    empirical, general = theorem_5_4(10**9, 0.1, 0.2), theorem_5_4(10**9, 0.1, 0.2, h=3, K=40)
    assert general.k == pytest.approx(4 * empirical.k, abs=4)
    assert general.error > empirical.error
    assert general.probability < empirical.probability
    with pytest.raises(ParameterError, match="both h and K"):
        theorem_5_4(10**9, 0.1, 0.2, K=40)


def test_probabilistic_averaging_needs_a_term_for_its_coins_that_the_paper_misprints():
    derived, printed = (theorem_5_5(500, 0.4, 0.1, 0.01, version=version) for version in ("derived", "printed"))
    assert derived.probability == pytest.approx((1 - 1 / 500) * (1 - math.exp(-2 * 500 * 0.01**2)))
    assert printed.probability > 0.99 > derived.probability


def test_probabilistic_averaging_generalises_with_as_many_trees_as_half_of_delta_asks_for():
    # Shares of test and of training points in a leaf may differ by delta / 2, so the trees have the other half.
    n, delta, C = 10**6, 0.1, 1.0
    empirical = theorem_5_5(n, 0.1, delta, 0.05, C)
    assert empirical.k == trees_needed(n, delta, C) == 1382
    for version in ("derived", "printed"):
        general = theorem_5_5(n, 0.1, delta, 0.05, C, h=3, K=40, version=version)
        assert general.k == trees_needed(n, delta, C, generalisation=True) == 5527
        assert n * math.exp(-2 * general.k * (delta / 2) ** 2) <= n**-C
    with pytest.raises(ParameterError, match="C must be positive"):
        theorem_5_5(n, 0.1, delta, 0.05, C=0)


@pytest.mark.parametrize(("theorem", "more"), [(theorem_5_6, {}), (theorem_5_8, {"c": 0.05})])
def test_noisy_trees_generalise_within_delta_only_if_trees_noise_and_leaves_do_together(theorem, more):
    arguments = {"n": 10**12, "h": 2, "k": 3000, "eta": 1.0, "epsilon": 0.02, "delta": 0.2, "K": 40.0, **more}
    trees = (1 - theorem(**arguments, generalisation=True).probability) / 10**12  # noise and leaves are far below it
    margin = math.sqrt(-math.log(trees) / (2 * 3000))
    assert margin == pytest.approx(0.2 * (1 - 1 / 2 - 1 / 23), rel=1e-6)


def test_derived_bounds_follow_from_the_noise_and_printed_ones_claim_more():
    arguments = {"n": 10**9, "h": 2, "k": 2000, "eta": 1.0, "epsilon": 0.02, "delta": 0.2, "K": 40.0}
    derived, printed = (theorem_5_6(**arguments, version=version) for version in ("derived", "printed"))
    tail = math.exp(-0.2 / (24 * 40 * 4) * 10**9 / 2000)  # P(|Laplace(k/eta)| > lambda n), 2 k of them at one point
    assert derived.probability == pytest.approx(1 - 10**9 * (math.exp(-40) + 2 * 2000 * tail))
    assert printed.error < derived.error
    coins = theorem_5_8(**{**arguments, "c": 0.05})
    assert coins.probability == pytest.approx(derived.probability)


def test_noise_within_the_bound_moves_no_share_by_more_than_the_proof_allows():
    delta = 0.4
    rng = np.random.default_rng(0)
    for n_a in (60, 1000):
        r = rng.integers(0, n_a + 1, 2000)
        noise = rng.uniform(-1, 1, (2, 2000)) * n_a * delta / 24
        positive, negative = np.maximum(r + noise[0], 0), np.maximum(n_a - r + noise[1], 0)
        assert np.abs(positive / (positive + negative) - r / n_a).max() <= delta / 23


@pytest.mark.parametrize(("epsilon", "derived", "printed"), [(0.0125, 0.180469, 0.180469), (0.1, 0.546875, 0.525)])
def test_the_constant_of_theorem_5_7_does_not_follow_beyond_a_small_error(epsilon, derived, printed):
    assert theorem_5_7(1000, 5, 1.0, epsilon).error == pytest.approx(derived, abs=1e-6)
    assert theorem_5_7(1000, 5, 1.0, epsilon, version="printed").error == pytest.approx(printed, abs=1e-6)
    x = epsilon + 1 / 40
    assert theorem_5_7(1000, 5, 1.0, epsilon).error == pytest.approx((2 * x - 2 * x**2) / 0.4)


def test_the_constants_of_theorem_5_9_follow_from_theorem_5_8():
    for epsilon in (0.01, 0.2, 0.5):
        general = theorem_5_8(10**6, 5, 10, 1.0, epsilon, delta=0.1, c=0.05, K=40).error
        assert 0 <= theorem_5_9(10**6, 5, 1.0, epsilon).error - general <= 0.00125 + 1e-12
    derived, printed = (theorem_5_9(300, 5, 1.0, 0.1, version=version) for version in ("derived", "printed"))
    assert printed.probability == pytest.approx(
        1 - (1 - derived.probability / (1 - math.exp(-1.5))) * (1 - math.exp(-1.5))
    )


@pytest.mark.parametrize("n", [10**20, 10**28, 10**32])
def test_k_opt_minimises_f_where_doubles_are_too_small(n):
    getcontext().prec = 50
    a = Decimal(n).sqrt() / (9600 * 32)

    def f(k):
        return (-Decimal(k) / 200).exp() + 2 * k * (-a / k).exp()

    k = k_opt(n, 5, 1.0)
    assert f(k - 1) > f(k) < f(k + 1)


def test_the_theorems_own_number_of_trees_is_of_no_use_on_the_papers_data():
    for n, h in ((1235, 11), (673, 13), (7312, 13), (29_305, 11), (522_911, 13)):
        bound = theorem_5_7(n, h, 1000 / n, 0.01)
        assert (bound.k, bound.vacuous) == (1, True)
    assert theorem_5_7(10**22, 5, 1.0, 0.01).vacuous
    assert not theorem_5_7(10**24, 5, 1.0, 0.01).vacuous
    assert k_opt(10**28, 5, 1.0) / k_opt(10**24, 5, 1.0) == pytest.approx(10, rel=0.05)  # n^(1/4), not log n


@pytest.mark.parametrize(
    "call",
    [
        lambda: theorem_5_1(0.6),
        lambda: theorem_5_2(0.0),
        lambda: trees_needed(0, 0.1),
        lambda: trees_needed(10, 0.5),
        lambda: theorem_5_3(10, 0.1, mu=1.5),
        lambda: theorem_5_6(10, 2, 3, 0.0, 0.1, 0.1, 40),
        lambda: theorem_5_7(10, 2, 1.0, 0.1, version="wished"),
    ],
)
def test_what_the_theorems_do_not_cover_is_refused(call):
    with pytest.raises(ParameterError):
        call()
