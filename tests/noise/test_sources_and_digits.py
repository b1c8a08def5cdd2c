"""Sources repeat or do not, as they should; the compiled coins are exact; running dry changes nothing."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.mechanisms import exact_integer, samplers
from privet.mechanisms.exact_integer import DRY, LARGEST_POWER, UNDECIDED, powers_of_e
from privet.parameters import public_rng
from privet.randomness.public import SeededSource, derive_seed

from .law_tests import SURE, p_value_of_counts

EVERY_DIGIT = np.arange(2**16, dtype=np.uint16)


# The coins have no way in from Python: compiled callers stand in for the samplers.
@compiled
def coin(p, q, digits, cursor):
    return exact_integer.coin(p, q, digits, cursor)


@compiled
def below(n, digits, cursor):
    return exact_integer.below(n, digits, cursor)


@compiled
def coin_exp(p, q, power, divisor, digits, cursor):
    return exact_integer.coin_exp(p, q, power, divisor, digits, cursor)


@compiled
def coin_power(power, digits, cursor):
    return exact_integer.coin_power(power, digits, cursor)


@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 1), (1, 2), (1, 3), (5, 7), (2**46, 2**47 - 1), (1, 2**47)])
def test_a_coin_is_right_for_every_first_digit_and_undecided_for_one(p, q):
    tosses = [coin(p, q, EVERY_DIGIT[i : i + 1], np.zeros(1, np.int64)) for i in range(2**16)]
    heads = 2**16 * p // q
    assert tosses.count(1) == heads
    assert tosses.count(DRY) == (0 if p == q else 1)
    assert tosses.count(0) == 2**16 - tosses.count(1) - tosses.count(DRY)


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**16])
def test_uniform_integers_are_equally_likely_over_every_first_digit(n):
    values = [below(n, EVERY_DIGIT[i : i + 1], np.zeros(1, np.int64)) for i in range(2**16)]
    counts = np.bincount([v for v in values if v != DRY], minlength=n)
    assert counts.size == n
    assert np.ptp(counts) == 0


@pytest.mark.parametrize(("p", "q", "power", "divisor"), [(0, 1, 0, 1), (0, 1, 0, 2), (2, 3, 1, 1), (2, 3, 2, 2)])
def test_exponential_coins_have_their_bias(p, q, power, divisor):
    digits = SeededSource(91).words(100_000).view(np.uint16)
    cursor = np.zeros(1, np.int64)
    heads = sum(coin_exp(p, q, power, divisor, digits, cursor) for _ in range(20_000))
    bias = np.exp(-((p / q) ** power) / divisor)
    assert p_value_of_counts(np.array([20_000 - heads, heads]), np.array([1 - bias, bias])) > SURE


@pytest.mark.parametrize(
    "draw",
    [
        lambda source: samplers.discrete_laplace(Fraction(1000, 3), 2_000, source),
        lambda source: samplers.discrete_gaussian(Fraction(100), 2_000, source),
        lambda source: samplers.permute_and_flip(np.arange(4000).reshape(-1, 4), Fraction(1, 5), source),
        lambda source: samplers.exponential_mechanism(np.arange(4000).reshape(-1, 4), Fraction(1, 5), source),
    ],
)
def test_draws_do_not_depend_on_how_often_the_words_run_out(draw, monkeypatch):
    at_once = draw(SeededSource(7))
    monkeypatch.setattr(samplers, "_MOST_WORDS_AT_ONCE", 1)
    np.testing.assert_array_equal(draw(SeededSource(7)), at_once)


@pytest.mark.parametrize("n_digits", [1, 4, 40])
def test_powers_of_e_have_their_digits(n_digits):
    with localcontext() as context:
        context.prec = 5 * n_digits + 30
        for k, row in enumerate(powers_of_e(n_digits).tolist()[1:], start=1):
            digits = sum(digit << 16 * place for place, digit in enumerate(reversed(row)))
            assert digits == int(Decimal(-k).exp() * 2 ** (16 * n_digits))


def test_a_power_of_e_is_undecided_for_one_first_digit_only():
    for power in powers_of_e(1)[1:]:
        tosses = [coin_power(power, EVERY_DIGIT[i : i + 1], np.zeros(1, np.int64)) for i in range(2**16)]
        assert tosses.count(1) == power[0]
        assert tosses.count(UNDECIDED) == 1
        assert tosses.count(0) == 2**16 - 1 - int(power[0])
    assert powers_of_e(1)[LARGEST_POWER, 0] > 0


@pytest.mark.parametrize("draw", [samplers.permute_and_flip, samplers.exponential_mechanism])
def test_selections_do_not_depend_on_how_many_digits_of_a_power_are_looked_up(draw, monkeypatch):
    scores = np.tile(np.arange(0, 120, 3), (20_000, 1))
    at_once = draw(scores, Fraction(1, 2), SeededSource(17))
    computed = []
    monkeypatch.setattr(samplers, "_FIRST_POWER_DIGITS", 1)
    monkeypatch.setattr(samplers, "powers_of_e", lambda n: computed.append(n) or powers_of_e(n))
    np.testing.assert_array_equal(draw(scores, Fraction(1, 2), SeededSource(17)), at_once)
    assert 2 in computed  # one digit was not enough now and then


def test_a_seeded_source_repeats_and_another_seed_differs():
    source = SeededSource(5)
    words = np.concatenate([source.words(3), source.words(0), source.words(4)])
    np.testing.assert_array_equal(words, SeededSource(5).words(7))
    assert words.dtype == np.uint64
    assert not np.any(words == SeededSource(6).words(7))


def test_the_system_source_never_repeats_and_keeps_nothing():
    source = samplers.SystemSource()
    assert np.unique(np.concatenate([source.words(1000), source.words(1000)])).size == 2000
    assert vars(source) == {}


def test_keys_have_16_bytes_and_are_fresh():
    source = samplers.SystemSource()
    assert len(samplers.key(source)) == 16
    assert samplers.key(source) != samplers.key(source)
    assert samplers.key(SeededSource(1)) == samplers.key(SeededSource(1))


def test_public_rng_accepts_what_scikit_learn_does():
    generator = np.random.default_rng(1)
    assert public_rng(generator) is generator
    assert derive_seed(public_rng(3)) == derive_seed(public_rng(np.int64(3)))
    assert derive_seed(public_rng(None)) != derive_seed(public_rng(None))
    state = np.random.RandomState(2)
    first, second = derive_seed(public_rng(state)), derive_seed(public_rng(state))
    assert first != second
    assert first == derive_seed(public_rng(np.random.RandomState(2)))
    assert 0 <= first < 2**63


@pytest.mark.parametrize("bad", [-1, 1.5, "seed", True])
def test_public_rng_refuses_what_is_no_seed(bad):
    with pytest.raises(ParameterError):
        public_rng(bad)
