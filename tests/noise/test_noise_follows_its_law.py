"""Each engine's noise is of the stated law: the right scale passes, 0.7 and 1.3 of it fail."""

from fractions import Fraction

import numpy as np
import pytest

from privet.errors import ParameterError
from privet.mechanisms import samplers
from privet.privacy.laws import DiscreteGaussian, DiscreteLaplace
from privet.privacy.terms import friendly_scale_up, friendly_sigma_squared_up
from privet.randomness.public import SeededSource

from .law_tests import SURE, SURE_OF_THE_SYSTEM, p_value_of_noise

SCALES = [Fraction(1, 2), Fraction(1), Fraction(10), friendly_scale_up(Fraction(1000, 3)), Fraction(10**6)]
MISTAKES = [Fraction(7, 10), Fraction(13, 10)]
ENGINES = ["bulk", "big", "few"]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """Make one engine serve every request; returns a source and how many draws are reasonable.

    What serves a few draws of the system's noise cannot be seeded: a test of it fails by chance once in a billion runs.
    """
    if request.param == "few":
        monkeypatch.setattr(samplers, "FEW", 10**9)
        return samplers.SystemSource(), 10_000
    if request.param == "big":
        monkeypatch.setattr(samplers, "LIMIT", 0)
        return SeededSource(11), 5_000
    return SeededSource(12), 200_000


def assert_only_at_one(draws, source, law):
    """Check that draws follow the law at its own scale, and not at 0.7 or 1.3 of it."""
    surely = isinstance(source, samplers.SystemSource)
    sure = SURE_OF_THE_SYSTEM if surely else SURE
    assert p_value_of_noise(draws, law(1), surely=surely) > sure
    for factor in MISTAKES:
        assert p_value_of_noise(draws, law(factor), surely=surely) < sure


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_laplace_noise_has_its_scale_and_no_other(engine, scale):
    source, size = engine
    draws = samplers.discrete_laplace(scale, size, source)
    assert draws.dtype == np.int64
    assert_only_at_one(draws, source, lambda factor: DiscreteLaplace(scale * factor))


@pytest.mark.parametrize("sigma", SCALES, ids=str)
def test_gaussian_noise_has_its_sigma_and_no_other(engine, sigma):
    source, size = engine
    draws = samplers.discrete_gaussian(sigma**2, size, source)
    assert draws.dtype == np.int64
    assert_only_at_one(draws, source, lambda factor: DiscreteGaussian((sigma * factor) ** 2))


@pytest.mark.parametrize("scale", [Fraction(10**6, 7), Fraction(22, 7), Fraction(10**30, 3 * 10**28 + 1)], ids=str)
def test_fractions_that_are_no_double_are_drawn_exactly(scale):
    draws = samplers.discrete_laplace(scale, 20_000, SeededSource(21))
    assert p_value_of_noise(draws, DiscreteLaplace(scale)) > SURE
    draws = samplers.discrete_gaussian(scale, 5_000, SeededSource(22))
    assert p_value_of_noise(draws, DiscreteGaussian(scale)) > SURE


def test_a_few_draws_of_the_system_compile_nothing_and_a_seed_always_has_the_same_stream(monkeypatch):
    def refuse(*_):
        raise AssertionError("bulk samplers serve this")

    monkeypatch.setattr(samplers, "_in_bulk", refuse)
    few, many, scores = samplers.FEW, samplers.FEW + 1, np.arange(samplers.FEW)
    for draw in (samplers.discrete_laplace, samplers.discrete_gaussian):
        assert draw(Fraction(9, 4), few, samplers.SystemSource()).shape == (few,)
        for size, source in ((many, samplers.SystemSource()), (few, SeededSource(1))):
            with pytest.raises(AssertionError, match="bulk"):
                draw(Fraction(9, 4), size, source)
    for select in (samplers.permute_and_flip, samplers.exponential_mechanism):
        assert select(scores[None], Fraction(1, 3), samplers.SystemSource()).shape == (1,)
        for table, source in ((np.stack([scores, scores]), samplers.SystemSource()), (scores[None], SeededSource(1))):
            with pytest.raises(AssertionError, match="bulk"):
                select(table, Fraction(1, 3), source)


def test_tiny_noise_is_zero(engine):
    source, _ = engine
    assert not samplers.discrete_laplace(Fraction(1, 50), 500, source).any()
    assert not samplers.discrete_gaussian(Fraction(1, 2500), 500, source).any()
    assert not samplers.discrete_laplace(friendly_scale_up(Fraction(1, 10**9)), 500, source).any()
    assert not samplers.discrete_gaussian(friendly_sigma_squared_up(Fraction(1, 10**18)), 500, source).any()


@pytest.mark.parametrize("scale", [Fraction(2**47), Fraction(2**47 + 1), Fraction(2**50), Fraction(2**47 - 1, 2**61)])
def test_parameters_at_the_limits_of_64_bits_do_not_overflow(scale):
    draws = samplers.discrete_laplace(scale, 4_000, SeededSource(31))
    assert p_value_of_noise(draws, DiscreteLaplace(scale)) > SURE
    draws = samplers.discrete_gaussian(scale**2, 4_000, SeededSource(32))
    assert p_value_of_noise(draws, DiscreteGaussian(scale**2)) > SURE


@pytest.mark.parametrize("draw", [samplers.discrete_laplace, samplers.discrete_gaussian])
def test_parameters_that_could_leave_int64_are_refused(draw):
    for parameter in (Fraction(0), Fraction(-1), Fraction(2**100 + 1)):
        with pytest.raises(ParameterError):
            draw(parameter, 1, SeededSource(0))


def test_draws_are_uncorrelated():
    draws = samplers.discrete_laplace(Fraction(10), 200_000, SeededSource(41))
    for lag in (1, 2, 7):
        correlation = np.corrcoef(draws[:-lag], draws[lag:])[0, 1]
        assert abs(correlation) < 5 / np.sqrt(draws.size)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_sizes_are_met(size):
    for source in (SeededSource(1), samplers.SystemSource()):
        assert samplers.discrete_laplace(Fraction(5), size, source).shape == (size,)
        assert samplers.discrete_gaussian(Fraction(25), size, source).shape == (size,)
