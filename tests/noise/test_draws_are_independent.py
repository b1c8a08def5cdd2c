"""Any two draws are independent: of one call, of two calls, of equal rows; and dependent ones are rejected."""

from fractions import Fraction

import numpy as np
import pytest

from privet.mechanisms import samplers
from privet.privacy import laws
from privet.randomness.public import SeededSource

from .law_tests import p_value_of_choices, p_value_of_noise, p_value_of_pairs

# A right sampler fails once in 10^9 runs where the source is the system's; with a seed the verdict never changes.
SURE = 1e-9
TRIALS = 2_000
PLACES = 8
SCALE = Fraction(5)
LAW = laws.DiscreteLaplace(SCALE)
ROWS = np.array([[0, 1], [0, 1], [3, 3], [0, 1], [3, 3], [2, 3]], dtype=np.int64)
RATE = Fraction(1, 2)


@pytest.fixture(params=["bulk", "big", "few"])
def engine(request, monkeypatch):
    """Make one engine serve every request; returns a source and how many trials are reasonable."""
    if request.param == "few":
        monkeypatch.setattr(samplers, "FEW", 10**9)
        return samplers.SystemSource(), 400
    if request.param == "big":
        monkeypatch.setattr(samplers, "LIMIT", 0)
        return SeededSource(91), 400
    return SeededSource(92), TRIALS


def signs(noise):
    return noise > 0


def chance_of_a_sign(law, places):
    return np.full(places, 1 - float(law.cdf(0)))


@pytest.mark.parametrize(
    ("draw", "parameter", "law"),
    [
        (samplers.discrete_laplace, SCALE, LAW),
        (samplers.discrete_gaussian, SCALE**2, laws.DiscreteGaussian(SCALE**2)),
    ],
    ids=["Laplace", "Gaussian"],
)
def test_noise_of_one_call_and_of_the_next_is_independent(engine, draw, parameter, law):
    source, trials = engine
    drawn = np.array([np.concatenate([draw(parameter, PLACES // 2, source) for _ in range(2)]) for _ in range(trials)])
    assert p_value_of_pairs(signs(drawn), chance_of_a_sign(law, PLACES)) > SURE


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (samplers.permute_and_flip, laws.permute_and_flip),
        (samplers.exponential_mechanism, laws.exponential_mechanism),
    ],
)
def test_rows_of_a_selection_are_independent_even_if_they_are_equal(engine, draw, law):
    source, trials = engine
    winners = np.array([draw(ROWS, RATE, source) for _ in range(trials)])
    chances = np.array([law(row, RATE)[1] for row in ROWS])
    assert p_value_of_pairs(winners == 1, chances) > SURE


def test_single_selections_are_independent_of_those_before(engine):
    source, trials = engine
    winners = np.array(
        [[samplers.permute_and_flip(ROWS[:1], RATE, source)[0] for _ in range(3)] for _ in range(trials)]
    )
    assert p_value_of_pairs(winners == 1, np.full(3, laws.permute_and_flip(ROWS[0], RATE)[1])) > SURE


def test_cuts_are_independent_of_those_before():
    below, source = np.array([1, 2, 4, 4, 7, 8], dtype=np.int64), SeededSource(93)
    first = np.array([[samplers.joint_cuts(below, 1, RATE, source)[0] for _ in range(3)] for _ in range(600)])
    from privet.mechanisms.joint_exponential import scores_of_cuts

    law = laws.exponential_mechanism(scores_of_cuts(below, [(cut,) for cut in range(5)]), RATE)
    assert p_value_of_pairs(first > 2, np.full(3, law[3:].sum())) > SURE


def antithetic(noise):
    noise[:, PLACES // 2 :] = -noise[:, : PLACES // 2]
    return noise


def repeated(noise):
    noise[:, -1] = noise[:, 0]
    return noise


def often_repeated(noise):
    noise[::2, -1] = noise[::2, 0]
    return noise


@pytest.mark.parametrize("wrong", [antithetic, repeated, often_repeated])
def test_noise_with_the_right_law_whose_draws_depend_on_one_another_is_rejected(wrong):
    source = SeededSource(94)
    noise = wrong(samplers.discrete_laplace(SCALE, TRIALS * PLACES, source).reshape(TRIALS, PLACES))
    for place in range(PLACES):
        assert p_value_of_noise(noise[:, place], LAW) > SURE
    assert p_value_of_pairs(signs(noise), chance_of_a_sign(LAW, PLACES)) < SURE


def test_equal_rows_that_share_a_draw_are_rejected():
    source = SeededSource(95)
    rows, back = np.unique(ROWS, axis=0, return_inverse=True)
    winners = np.array([samplers.permute_and_flip(rows, RATE, source)[back.ravel()] for _ in range(TRIALS)])
    chances = np.array([laws.permute_and_flip(row, RATE)[1] for row in ROWS])
    for place, row in enumerate(ROWS):
        assert p_value_of_choices(winners[:, place], laws.permute_and_flip(row, RATE)) > SURE
    assert p_value_of_pairs(winners == 1, chances) < SURE
