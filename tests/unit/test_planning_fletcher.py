"""The depth of random trees: the paper's table, its formula, and how they differ."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import ParameterError
from privet.learners.disjoint_forest.depth import fletcher_depth

# data set, continuous and discrete features, depth: Table 4
TABLE_4 = [
    ("SynthA", 5, 0, 5),
    ("SynthB", 10, 0, 8),
    ("SynthC", 15, 0, 12),
    ("SynthG", 20, 0, 15),
    ("WallSensor", 4, 0, 4),
    ("PenWritten", 16, 0, 12),
    ("GammaTele", 10, 0, 8),
    ("Adult", 6, 8, 9),
    ("Mushroom", 0, 22, 11),
    ("Claves", 0, 16, 8),
    ("Nursery", 0, 8, 4),
]


@pytest.mark.parametrize(("name", "continuous", "discrete", "depth"), TABLE_4)
def test_the_default_gives_table_4(name, continuous, discrete, depth):
    assert fletcher_depth(continuous, discrete) == depth


@pytest.mark.parametrize(("continuous", "depth"), [(4, 3), (5, 4), (6, 4), (10, 7), (15, 11), (16, 11), (20, 14)])
def test_the_printed_formula_is_one_less_deep(continuous, depth):
    assert fletcher_depth(continuous, 0, rule="printed") == depth
    assert fletcher_depth(continuous, 0) == depth + 1


@given(st.integers(1, 2000))
def test_the_formula_is_the_first_depth_at_which_less_than_half_is_expected_untested(s):
    depth = fletcher_depth(s, 0, rule="printed")
    untested = Fraction((s - 1) ** depth, s**depth)
    assert untested < Fraction(1, 2)
    assert depth == 1 or Fraction((s - 1) ** (depth - 1), s ** (depth - 1)) >= Fraction(1, 2)


def test_half_of_an_odd_number_of_discrete_features_is_rounded_down_but_never_to_nothing():
    assert [fletcher_depth(0, r) for r in (0, 1, 2, 3, 9)] == [1, 1, 1, 1, 4]


def test_what_is_not_a_number_of_features_is_refused():
    with pytest.raises(ParameterError, match="n_continuous"):
        fletcher_depth(-1, 0)
    with pytest.raises(ParameterError, match="rule"):
        fletcher_depth(1, 0, rule="both")
