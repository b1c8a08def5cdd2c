"""The bounds of Bai et al.'s proof of consistency: true of the laws they speak of, attained, and where they are not."""

import numpy as np
import pytest
from scipy.stats import binom

from privet.errors import ParameterError
from privet_papers.bai_2021.lemma_cells import Boxes, few_points, lemmas_in_trees
from privet_papers.bai_2021.theorems import lemma_3, lemma_4, levels_to_halve, size_bound, too_few_points
from privet_papers.framework.data import DataFolder

NOWHERE = DataFolder(None)
RATES = (0.0, 0.5, 3.0, 10.0)


def drawn_by(decreases, rate):
    """The law of Algorithm 1: softmax of half the rate times the decreases, brought to the range from 0 to 1."""
    low, high = min(decreases), max(decreases)
    scaled = (np.array(decreases) - low) / (high - low if high > low else 1)
    weights = np.exp(rate / 2 * scaled)
    return weights / weights.sum()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("n_features", [2, 5])
def test_no_feature_is_chosen_more_seldom_than_lemma_3_says_and_the_derived_bound_is_attained(rate, n_features):
    least, most = lemma_3(n_features, rate)
    rng = np.random.default_rng(0)
    for decreases in [*rng.random((200, n_features)), *(rng.random((200, n_features)) < 0.5)]:
        law = drawn_by(decreases.astype(float), rate)
        assert least - 1e-12 <= law.min()
        assert law.max() <= most + 1e-12
    assert drawn_by([0.0] + [1.0] * (n_features - 1), rate)[0] == pytest.approx(least)
    assert drawn_by([1.0] + [0.0] * (n_features - 1), rate)[0] == pytest.approx(most)
    printed = lemma_3(n_features, rate, version="printed")
    assert printed[0] <= least
    assert printed[1] >= most


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("n_parts", [3, 4, 10])
def test_inner_values_are_chosen_as_often_as_lemma_4_says_and_the_derived_bound_is_attained(rate, n_parts):
    places = (np.arange(50 * n_parts) + 0.5) / (50 * n_parts)
    inner = (places > 1 / n_parts) & (places < 1 - 1 / n_parts)
    rng = np.random.default_rng(1)
    least = lemma_4(n_parts, rate)
    for _ in range(100):
        assert drawn_by(rng.random(len(places)) ** 3, rate)[inner].sum() >= least - 1e-12
    worst = drawn_by(np.where(inner, 0.0, 1.0), rate)[inner].sum()
    assert worst == pytest.approx(least)
    assert lemma_4(n_parts, rate, version="printed") <= least


def test_lemma_4_needs_candidates_that_lie_evenly():
    places = np.sort(np.random.default_rng(2).beta(0.05, 0.05, 2000))  # a positive density, most of it near the ends
    inner = (places > 0.25) & (places < 0.75)
    law = drawn_by(np.zeros(len(places)), 0.0)
    assert law[inner].sum() < lemma_4(4, 0.0, version="printed"), "even at rate zero"
    assert law[inner].sum() >= lemma_4(4, 0.0, inner_share=float(inner.mean())) - 1e-12


@pytest.mark.parametrize(("n", "p", "k"), [(400, 0.9, 150), (400, 0.5, 80), (4000, 0.05, 60), (10, 0.99, 3)])
def test_few_points_are_as_rare_as_c_6_says(n, p, k):
    assert binom.cdf(k - 1, n // 2, p) <= too_few_points(n, p, k)
    assert binom.cdf(k - 1, n, p / 2) <= too_few_points(n, p, k, halves="coins")


def test_c_6_as_printed_fails_if_coins_make_the_halves():
    assert too_few_points(10, 0.99, 3) < 0.02 < 0.05 < binom.cdf(2, 10, 0.495)
    assert too_few_points(10, 1.0, 3) == 0.0, "all records are in the node, and five of them are estimation points"


def test_a_node_that_expects_fewer_points_has_no_bound():
    assert too_few_points(100, 0.1, 5) == 1.0


def test_cells_shrink_at_least_as_c_3_says_and_chances_are_at_least_those_of_the_lemmas():
    settings = {"n_features": 3, "n_parts": 4, "levels": [2, 5], "seed": 1, "n_rows": 4000, "n_trees": 10, "rate": 1.0}
    found = lemmas_in_trees(settings, NOWHERE)
    assert found["least chosen feature"] >= lemma_3(3, 1.0)[0]
    assert found["inner values"] >= lemma_4(4, 1.0)
    for level, side in found["largest mean side"].items():
        assert side <= size_bound(int(level), 3, 1.0, 1.0) <= size_bound(int(level), 3, 1.0, 1.0, version="printed")
    assert found["largest mean side"]["5"] < found["largest mean side"]["2"] < 1


def test_cells_of_one_level_fill_the_cube():
    boxes = Boxes(np.array([0, 1, 1]), np.array([[0.0, 0], [0, 0], [0.3, 0]]), np.array([[1.0, 1], [0.3, 1], [1, 1]]))
    assert boxes.volume.tolist() == pytest.approx([1.0, 0.3, 0.7])


def test_the_printed_bound_asks_for_more_levels_than_any_tree_has():
    assert levels_to_halve(10, 10.0, 10.0, version="printed") > 1e14
    assert levels_to_halve(2, 0.0, 0.0) == pytest.approx(np.log(2) / -np.log1p(-1 / 16), abs=1)


def test_few_points_are_exact():
    found = few_points({"n": 10, "p": 0.5, "k": 1}, NOWHERE)
    assert found == {"exact": pytest.approx(0.5**5), "coins": pytest.approx(0.75**10)}


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: lemma_3(3, float("inf")), "rate"),
        (lambda: lemma_4(2, 1.0), "n_parts"),
        (lambda: lemma_4(4, 1.0, inner_share=0.0), "inner_share"),
        (lambda: too_few_points(10, 1.5, 2), "probability"),
    ],
)
def test_what_makes_no_sense_is_refused(call, wrong):
    with pytest.raises(ParameterError, match=wrong):
        call()
