"""The exact laws are laws, obey their privacy claims, and conversions never understate."""

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import ParameterError
from privet.mechanisms.exact_integer import LIMIT
from privet.privacy import laws
from privet.privacy.conversions import epsilon_to_zcdp, zcdp_to_epsilon
from privet.privacy.terms import friendly_rate_down, friendly_scale_up, friendly_sigma_squared_up

NOISE = [
    laws.DiscreteLaplace(Fraction(1, 50)),
    laws.DiscreteLaplace(Fraction(1, 2)),
    laws.DiscreteLaplace(Fraction(7, 3)),
    laws.DiscreteLaplace(Fraction(400)),
    laws.DiscreteGaussian(Fraction(1, 100)),
    laws.DiscreteGaussian(Fraction(1, 3)),
    laws.DiscreteGaussian(Fraction(7, 3)),
    laws.DiscreteGaussian(Fraction(400**2)),
]
LARGE_NOISE = [laws.DiscreteLaplace(Fraction(10**7, 3)), laws.DiscreteGaussian(Fraction(10**13, 7))]


@pytest.mark.parametrize("law", NOISE, ids=str)
def test_noise_is_a_distribution_with_the_stated_cdf_and_variance(law):
    k = np.arange(-20_000, 20_001)
    mass = law.pmf(k)
    assert math.fsum(mass) == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(law.cdf(k), np.cumsum(mass), rtol=0, atol=1e-12)
    assert law.variance == pytest.approx(math.fsum(k**2 * mass), rel=1e-12)
    np.testing.assert_allclose(np.exp(law.log_pmf(k)), mass)


@pytest.mark.parametrize("law", NOISE + LARGE_NOISE, ids=str)
def test_quantiles_are_the_smallest_integers_that_reach(law):
    p = np.concatenate([np.arange(1, 100) / 100, [1e-12, 1 - 1e-12]])
    k = law.quantile(p)
    assert np.all(law.cdf(k) >= p)
    assert np.all(law.cdf(k - 1) < p)


@pytest.mark.parametrize("law", LARGE_NOISE, ids=str)
def test_large_noise_keeps_relative_precision_in_the_lower_tail(law):
    k = -np.round(np.linspace(0, 8, 33) * math.sqrt(law.variance)).astype(np.int64)
    window = k[:, None] - np.arange(1000)
    np.testing.assert_allclose(law.cdf(k) - law.cdf(k - 1000), law.pmf(window).sum(axis=1), rtol=1e-8)


def test_quantiles_of_zero_and_one_are_refused():
    with pytest.raises(ParameterError):
        laws.DiscreteLaplace(Fraction(1)).quantile([0.5, 1.0])


@pytest.mark.parametrize("law", [laws.DiscreteLaplace, laws.DiscreteGaussian])
def test_noise_without_spread_is_refused(law):
    with pytest.raises(ParameterError):
        law(Fraction(0))


def enumerate_permute_and_flip(scores, rate):
    """The definition, order by order."""
    accept = [math.exp(-float(rate) * (max(scores) - s)) for s in scores]
    chosen = np.zeros(len(scores))
    for order in permutations(range(len(scores))):
        reached = 1.0
        for i in order:
            chosen[i] += reached * accept[i]
            reached *= 1 - accept[i]
    return chosen / math.factorial(len(scores))


@pytest.mark.parametrize("scores", [[5], [3, 3], [0, 1, 5], [-4, -4, 0, 2, 2], [0, 1, 2, 3, 4, 5, 50]])
@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 7), Fraction(3)])
def test_permute_and_flip_is_its_enumeration(scores, rate):
    np.testing.assert_allclose(
        laws.permute_and_flip(scores, rate), enumerate_permute_and_flip(scores, rate), rtol=1e-12
    )


@pytest.mark.parametrize("n_candidates", [128, 129, 1000, 14_000])
@pytest.mark.parametrize("mechanism", [laws.permute_and_flip, laws.exponential_mechanism])
def test_selections_of_many_candidates_are_distributions(mechanism, n_candidates):
    scores = np.arange(n_candidates) // 3
    for rate in (Fraction(0), Fraction(1, 100), Fraction(2)):
        assert mechanism(scores, rate).sum() == pytest.approx(1, abs=1e-12)
    equal = mechanism(np.zeros(n_candidates, dtype=np.int64), Fraction(1))
    np.testing.assert_allclose(equal, 1 / n_candidates, rtol=1e-12)


@pytest.mark.parametrize("mechanism", [laws.permute_and_flip, laws.exponential_mechanism])
def test_selections_treat_rows_alike_and_use_only_differences(mechanism):
    scores = np.array([[0, 3, 1], [7, 7, 9]])
    both = mechanism(scores, Fraction(1, 2))
    np.testing.assert_array_equal(both[1], mechanism(scores[1], Fraction(1, 2)))
    np.testing.assert_allclose(mechanism(scores - 10**15, Fraction(1, 2)), both, rtol=1e-12)
    farthest = np.array([-(2**63), 2**63 - 1])
    np.testing.assert_array_equal(mechanism(farthest, Fraction(1)), [0, 1])


@pytest.mark.parametrize("mechanism", [laws.permute_and_flip, laws.exponential_mechanism])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_one_sided_scores_cost_epsilon_and_no_more_can_be_saved(mechanism, epsilon):
    worst = 0.0
    for counts in product(range(5), repeat=3):
        before = np.log(mechanism(counts, epsilon))
        for changes in product((0, 1), repeat=3):
            after = np.log(mechanism(np.add(counts, changes), epsilon))
            worst = max(worst, np.abs(after - before).max())
    assert worst <= float(epsilon) * (1 + 1e-9)
    assert worst > 0.5 * float(epsilon)  # a wasted factor of two would be seen


def zcdp_of_binary_selection(mechanism, epsilon):
    """Largest Renyi divergence per order between neighbouring pairs of counts."""
    worst = 0.0
    for gap, change in product(range(-6, 7), ((0, 1), (1, 0))):
        p = mechanism([gap, 0], epsilon)
        q = mechanism([gap + change[0], change[1]], epsilon)
        for order in (1.01, 1.5, 2, 4, 16, 64):
            for a, b in ((p, q), (q, p)):
                divergence = math.log(np.sum(a**order * b ** (1 - order))) / (order - 1)
                worst = max(worst, divergence / order)
    return worst


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_an_eighth_of_epsilon_squared_holds_for_the_exponential_mechanism_alone(epsilon):
    eighth = float(epsilon) ** 2 / 8
    assert zcdp_of_binary_selection(laws.exponential_mechanism, epsilon) <= eighth * (1 + 1e-6)
    assert zcdp_of_binary_selection(laws.permute_and_flip, epsilon) > 1.5 * eighth


@pytest.mark.parametrize("gap", [0, 1, 30])
def test_flip_probability_is_that_of_the_lower_of_two(gap):
    rate = Fraction(1, 9)
    assert laws.flip_probability(gap, rate) == pytest.approx(laws.permute_and_flip([gap, 0], rate)[1])


def test_selection_loss_bounds_the_expected_loss_and_is_attained():
    assert laws.selection_loss(1) == pytest.approx(0, abs=1e-12)
    assert laws.selection_loss(2) == pytest.approx(1 / (2 * math.e))
    rng = np.random.default_rng(3)
    for n_candidates in (2, 3, 10):
        bound = laws.selection_loss(n_candidates)
        for scores in rng.integers(0, 400, (50, n_candidates)):
            expected = np.sum(laws.permute_and_flip(scores, Fraction(1, 100)) * (scores.max() - scores)) / 100
            assert expected <= bound
        equal_gaps = [
            gap / 100 * (1 - laws.permute_and_flip([gap] + [0] * (n_candidates - 1), Fraction(1, 100))[0])
            for gap in range(1000)
        ]
        assert max(equal_gaps) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("scores", [[0.5, 1.0], [], 3])
def test_scores_are_integers(scores):
    with pytest.raises(ParameterError):
        laws.permute_and_flip(scores, Fraction(1))


@pytest.mark.parametrize(("epsilon", "rho"), [("0.1", 0.000321), ("1", 0.024356), ("4", 0.3111)])
def test_rho_is_the_published_one(epsilon, rho):
    assert float(epsilon_to_zcdp(Fraction(epsilon), Fraction("1e-6"))) == pytest.approx(rho, rel=2e-4)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "7.3", "100", "20000"])
@pytest.mark.parametrize("delta", ["1e-6", "0.3", "1e-12"])
def test_conversions_never_understate_and_lose_little(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    rho = epsilon_to_zcdp(epsilon, delta)
    back = zcdp_to_epsilon(rho, delta)
    assert back <= epsilon
    assert zcdp_to_epsilon(rho * (1 + Fraction(1, 2**20)), delta) > epsilon
    assert rho.denominator & (rho.denominator - 1) == 0
    # Independently: at some Renyi order the claimed epsilon comes with no more than delta.
    orders = 1 + np.logspace(-6, 8, 20_000)
    log_delta = (orders - 1) * (orders * float(rho) - float(back)) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    assert log_delta.min() <= math.log(delta) + 1e-3


def test_conversions_at_their_ends():
    million = Fraction("1e-6")
    assert zcdp_to_epsilon(Fraction(0), million) == 0
    for rho, delta in ((Fraction(1), Fraction(0)), (Fraction(-1), million), (Fraction(1), Fraction(1))):
        with pytest.raises(ParameterError):
            zcdp_to_epsilon(rho, delta)
    enormous = Fraction(10**8)
    assert enormous < zcdp_to_epsilon(enormous, million) < 1.001 * 10**8
    for epsilon, delta in ((Fraction(1), Fraction(0)), (Fraction(0), million), (Fraction(1), Fraction(1))):
        with pytest.raises(ParameterError):
            epsilon_to_zcdp(epsilon, delta)


positive = st.fractions(min_value=Fraction(1, 10**5), max_value=10**13)


@given(positive)
def test_friendly_parameters_are_near_on_the_private_side_and_fit(x):
    scale, variance, rate = (
        friendly_scale_up(x),
        friendly_sigma_squared_up(x),
        friendly_rate_down(1 / x),
    )
    assert x <= scale <= x * (1 + Fraction(1, 2**30))
    assert x <= variance <= x * (1 + Fraction(1, 2**28))
    assert (1 - Fraction(1, 2**30)) / x <= rate <= 1 / x
    assert scale.numerator <= LIMIT
    assert rate.denominator <= LIMIT
    assert math.isqrt(variance.numerator) ** 2 == variance.numerator
    assert friendly_scale_up(scale) == scale
    assert friendly_sigma_squared_up(variance) == variance
    assert friendly_rate_down(rate) == rate
    assert Fraction(float(scale)) == scale


def test_friendly_parameters_stop_where_noise_is_never_seen():
    assert friendly_scale_up(Fraction(1, 10**30)) == Fraction(1, 2**20)
    assert friendly_rate_down(Fraction(10**30)) == 2**20
    assert friendly_rate_down(Fraction(0)) == 0
    for refuse in (friendly_scale_up, friendly_sigma_squared_up, friendly_rate_down):
        with pytest.raises(ParameterError):
            refuse(Fraction(-1))
