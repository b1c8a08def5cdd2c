"""The tests of noise are tested: samplers with the usual faults must be rejected."""

from fractions import Fraction

import numpy as np
import pytest

from privet.privacy.laws import DiscreteGaussian, DiscreteLaplace, exponential_mechanism, permute_and_flip

from .law_tests import SURE, p_value_of_choices, p_value_of_noise

SCALE = 10
SIZE = 200_000


def geometric_difference(rng):
    success = -np.expm1(-1 / SCALE)
    return rng.geometric(success, SIZE) - rng.geometric(success, SIZE)


def zero_counted_twice(rng):
    return rng.choice([-1, 1], SIZE) * (rng.geometric(-np.expm1(-1 / SCALE), SIZE) - 1)


def one_sided(rng):
    return np.abs(geometric_difference(rng))


def shifted(rng):
    return geometric_difference(rng) + 1


def truncated(rng):
    return np.clip(geometric_difference(rng), -4 * SCALE, 4 * SCALE)


def floored_continuous(rng):
    return np.floor(rng.laplace(0, SCALE, SIZE)).astype(np.int64)


def gaussian_of_equal_variance(rng):
    return np.rint(rng.normal(0, np.sqrt(2) * SCALE, SIZE)).astype(np.int64)


def now_and_then_no_noise(rng):
    return np.where(rng.random(SIZE) < 0.01, 0, geometric_difference(rng))


def test_a_right_sampler_is_accepted():
    assert p_value_of_noise(geometric_difference(np.random.default_rng(1)), DiscreteLaplace(Fraction(SCALE))) > SURE


@pytest.mark.parametrize(
    "wrong",
    [
        zero_counted_twice,
        one_sided,
        shifted,
        truncated,
        floored_continuous,
        gaussian_of_equal_variance,
        now_and_then_no_noise,
    ],
)
def test_a_wrong_laplace_sampler_is_rejected(wrong):
    assert p_value_of_noise(wrong(np.random.default_rng(2)), DiscreteLaplace(Fraction(SCALE))) < SURE


def test_a_gaussian_of_four_percent_too_little_sigma_is_rejected():
    draws = np.rint(np.random.default_rng(3).normal(0, 0.96 * SCALE, SIZE)).astype(np.int64)
    assert p_value_of_noise(draws, DiscreteGaussian(Fraction(SCALE**2))) < SURE


def test_one_selection_mechanism_is_not_taken_for_the_other():
    scores, rate = np.array([0, 1, 2, 3]), Fraction(1, 2)
    rng = np.random.default_rng(4)
    choices = rng.choice(4, SIZE, p=exponential_mechanism(scores, rate))
    assert p_value_of_choices(choices, exponential_mechanism(scores, rate)) > SURE
    assert p_value_of_choices(choices, permute_and_flip(scores, rate)) < SURE


def test_a_choice_that_cannot_happen_is_rejected():
    assert p_value_of_choices(np.array([0] * 1000 + [1]), np.array([1.0, 0.0])) < SURE
