"""No split score moves by more than its stated range, and none but downwards, when a record is added."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.trees.scores import RESIDUAL, SCORES, deviations, score_of_counts, score_of_residuals

pytestmark = pytest.mark.law


def plain(name, counts):
    n = sum(counts)
    if n == 0:
        return Fraction(0)
    errors, gini = n - max(counts), n - Fraction(sum(c * c for c in counts), n)
    return -{"errors": Fraction(errors), "gini": gini, "mix": Fraction(errors, 2) + gini / 4}[name]


def compiled(name, counts):
    return int(score_of_counts(SCORES[name].kind, np.array(counts, dtype=np.int64)))


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("classes", "most"), [(2, 30), (3, 10), (4, 5)])
def test_an_added_record_lowers_a_score_by_at_most_its_range_for_all_small_counts(name, classes, most):
    for counts in product(range(most + 1), repeat=classes):
        before = compiled(name, counts)
        for k in range(classes):
            grown = list(counts)
            grown[k] += 1
            change = compiled(name, grown) - before
            assert -SCORES[name].range <= change <= 0, (counts, k)


large = st.lists(st.integers(0, 10**9), min_size=2, max_size=3)


@pytest.mark.parametrize("name", SCORES)
@given(counts=large, k=st.integers(0, 1))
def test_an_added_record_lowers_a_score_by_at_most_its_range_for_large_counts(name, counts, k):
    grown = list(counts)
    grown[k] += 1
    assert -SCORES[name].range <= compiled(name, grown) - compiled(name, counts) <= 0


@pytest.mark.parametrize("name", SCORES)
@given(counts=large)
def test_a_score_is_its_formula_rounded_down_to_the_grid(name, counts):
    assert compiled(name, counts) == (plain(name, counts) * SCORES[name].steps).__floor__()


@pytest.mark.parametrize(("name", "share"), [("errors", 1.0), ("gini", 0.99), ("mix", 0.99)])
def test_the_range_is_tight(name, share):
    moved = compiled(name, (1000, 0)) - compiled(name, (1000, 1))
    assert moved >= share * SCORES[name].range


UNIT = 6  # a small grid, on which all small cases can be tried


def by_formula(n, total, knee):
    if n == 0:
        return Fraction(0)
    mean = Fraction(abs(total), n)
    return n * (mean**2 / knee if mean <= knee else 2 * mean - knee)


@pytest.mark.parametrize("knee", [1, 2, 3, 5, 6])
def test_an_added_residual_moves_every_score_of_deviations_within_one_interval(knee):
    for residual in range(-UNIT, UNIT + 1):
        changes = [
            score_of_residuals(knee, n + 1, total + residual) - score_of_residuals(knee, n, total)
            for n in range(8)
            for total in range(-UNIT * n, UNIT * n + 1)
        ]
        assert max(changes) - min(changes) <= 4 * UNIT
        assert min(changes) >= -2 * abs(residual) - knee


sums = st.integers(0, 2**31 - 2).flatmap(lambda n: st.tuples(st.just(n), st.integers(-n * RESIDUAL, n * RESIDUAL)))


@given(sums=sums, knee=st.integers(1, RESIDUAL))
def test_a_score_of_deviations_is_its_formula_rounded_down(sums, knee):
    assert score_of_residuals(knee, *sums) == by_formula(*sums, knee).__floor__()


@given(first=sums, second=sums, knee=st.integers(1, RESIDUAL), residual=st.integers(-RESIDUAL, RESIDUAL))
def test_an_added_residual_moves_any_two_scores_apart_by_at_most_the_range(first, second, knee, residual):
    def change(n, total):
        return score_of_residuals(knee, n + 1, total + residual) - score_of_residuals(knee, n, total)

    assert abs(change(*first) - change(*second)) <= deviations(knee).range


@pytest.mark.parametrize("knee", [1, RESIDUAL // 10, RESIDUAL])
def test_the_range_of_deviations_is_tight(knee):
    def change(mean):
        n = 10**6
        return score_of_residuals(knee, n + 1, mean * n + RESIDUAL) - score_of_residuals(knee, n, mean * n)

    assert change(RESIDUAL) - change(-RESIDUAL) >= 0.99 * deviations(knee).range


def test_with_the_knee_at_the_end_splits_rank_as_by_squared_errors():
    rng = np.random.default_rng(0)
    residuals = rng.integers(-RESIDUAL, RESIDUAL, 40)

    def squares(part):
        return ((part - part.mean()) ** 2).sum()

    scores = [
        sum(score_of_residuals(RESIDUAL, part.size, int(part.sum())) for part in np.split(residuals, [cut]))
        for cut in range(1, 40)
    ]
    errors = [sum(map(squares, np.split(residuals, [cut]))) for cut in range(1, 40)]
    assert np.argsort(scores).tolist() == np.argsort([-error for error in errors]).tolist()
