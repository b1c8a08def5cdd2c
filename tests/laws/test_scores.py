"""No split score moves by more than its stated range, and none but downwards, when a record is added."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.trees.scores import SCORES, score_of_counts

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
