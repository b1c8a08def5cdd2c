"""All quantiles in one draw: the law is the exponential mechanism's over all sorted tuples, whichever digits decide."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from privet.mechanisms.joint_exponential import best_cuts, cut_range, scores_of_cuts
from privet.mechanisms.joint_sampling import _decide_exactly, _Doubles, draw_cuts
from privet.privacy import laws
from privet.randomness.public import SeededSource

CELLS = [2, 0, 3, 1, 1]
BELOW = np.cumsum(CELLS)
RATE = Fraction(1, 7)
TUPLES = list(combinations_with_replacement(range(4), 2))


def frequencies(draws, **settings):
    words = SeededSource(5).words
    found = [tuple(draw_cuts(BELOW, 2, RATE, words, **settings)) for _ in range(draws)]
    return np.array([found.count(several) for several in TUPLES])


@pytest.mark.parametrize(("draws", "settings"), [(20_000, {}), (1500, {"most_slack": 0.0})], ids=["doubles", "digits"])
def test_tuples_are_drawn_with_the_probabilities_of_the_exponential_mechanism(draws, settings):
    law = laws.exponential_mechanism(scores_of_cuts(BELOW, TUPLES), RATE)
    counted = frequencies(draws, **settings)
    assert chisquare(counted, draws * law).pvalue > 1e-3
    wrong = laws.exponential_mechanism(scores_of_cuts(BELOW, TUPLES), RATE * Fraction(13, 10))
    if draws > 10_000:
        assert chisquare(counted, draws * wrong).pvalue < 1e-3  # the test would see a wrong rate


@pytest.mark.parametrize(("place", "before"), [(0, None), (1, 0), (1, 2)])
def test_doubles_decide_as_digits_do_and_leave_close_calls_open(place, before):
    doubles = _Doubles(BELOW, 2, RATE)
    words = SeededSource(1).words
    decided = 0
    for word in words(300).tolist():
        found = doubles.decide(place, before, word)
        exact = _decide_exactly(BELOW, 2, RATE, place, before, word, words)
        assert found in (None, exact)
        decided += found is not None
    assert decided > 290
    doubles.slack = 1.0
    assert doubles.decide(1, 0, 2**63) is None


@pytest.mark.parametrize(("word", "further", "expected"), [(2**63, 2**64 - 1, 1), (2**63 - 1, 0, 0)])
def test_a_uniform_number_next_to_a_border_is_decided_by_the_digits(word, further, expected):
    below = np.array([1, 1, 2])  # two cuts of equal weight: the border is one half
    assert _Doubles(below, 1, Fraction(1)).decide(0, None, word) is None
    assert _decide_exactly(below, 1, Fraction(1), 0, None, word, lambda n: np.full(n, further, np.uint64)) == expected


def test_digits_decide_at_once_where_the_smallest_weights_have_millions_of_them():
    below = np.cumsum(np.full(64, 20_000))
    cut = _decide_exactly(below, 3, Fraction(5), 0, None, 2**63, SeededSource(2).words)
    assert abs(cut - 16) <= 1


@given(st.lists(st.integers(0, 6), min_size=2, max_size=6), st.integers(1, 3), st.data())
def test_one_record_moves_all_scores_within_the_range(cells, n_cuts, data):
    more = list(cells)
    more[data.draw(st.integers(0, len(cells) - 1))] += 1
    tuples = list(combinations_with_replacement(range(len(cells) - 1), n_cuts))
    change = scores_of_cuts(np.cumsum(more), tuples) - scores_of_cuts(np.cumsum(cells), tuples)
    assert change.max() - change.min() <= cut_range(n_cuts)


def test_the_range_is_attained():
    # the new record fills an empty interval of one tuple and a crowded one of the other
    cells, tuples = [0, 40, 40, 0], [(0,), (2,)]
    more = [1, 40, 40, 0]
    change = scores_of_cuts(np.cumsum(more), tuples) - scores_of_cuts(np.cumsum(cells), tuples)
    assert change.max() - change.min() == cut_range(1)


def test_without_privacy_the_best_tuple_is_found():
    rng = np.random.default_rng(0)
    for _ in range(20):
        below = np.cumsum(rng.integers(0, 9, 7))
        tuples = list(combinations_with_replacement(range(6), 3))
        scores = scores_of_cuts(below, tuples)
        assert scores_of_cuts(below, [best_cuts(below, 3)])[0] == scores.max()
