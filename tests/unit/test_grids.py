"""Grids: where cuts are, and that the compiled counters agree with their plain meaning."""

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.grids import count_by_guess, count_by_search, count_cuts_below, linear_cuts, log_cuts

bounded = st.floats(-1e12, 1e12)


@given(bounded, bounded, st.integers(2, 300))
def test_linear_cuts_are_the_doubles_nearest_to_equal_widths(a: float, b: float, bins: int) -> None:
    low, high = sorted((a, b))
    if high - low < 1e-3 * max(1.0, abs(low), abs(high)):
        high = low + max(1.0, abs(low))
    exact = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / bins for i in range(1, bins)]
    assert linear_cuts(low, high, bins) == tuple(float(cut) for cut in exact)


@pytest.mark.parametrize("place", [linear_cuts, log_cuts])
@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 99999.0), (-5.0, 3.0), (1e-9, 1e9), (1.0, 1.0 + 2**-50), (-1e300, 1e300)]
)
def test_cuts_increase_strictly_within_the_bounds(place, low, high) -> None:
    cuts = place(low, high, 255)
    assert all(a < b for a, b in pairwise(cuts))
    assert all(low <= cut < high for cut in cuts)


def test_log_cuts_grow_geometrically_from_low() -> None:
    cuts = log_cuts(-3.0, 996.0, 3)
    assert cuts == (-3.0 + 10 - 1, -3.0 + 100 - 1)


def test_log_cuts_are_the_same_on_every_machine() -> None:
    assert [cut.hex() for cut in log_cuts(0.0, 99999.0, 4)] == [
        "0x1.0c86531b4ac69p+4",
        "0x1.3b3a4edfa9759p+8",
        "0x1.5f669cae07281p+12",
    ]


def test_a_range_of_neighbouring_doubles_has_one_cut() -> None:
    assert linear_cuts(1.0, float(np.nextafter(1.0, 2.0)), 32) == (1.0,)


cut_lists = st.lists(st.floats(-100, 100), min_size=1, max_size=40, unique=True).map(sorted)


@settings(deadline=None)
@given(cut_lists, st.lists(st.floats(width=64), max_size=40), st.booleans())
def test_the_cell_is_the_number_of_cuts_strictly_below(cuts, extra, even) -> None:
    if even:
        cuts = list(linear_cuts(cuts[0], cuts[0] + 7.0, 30))
    values = np.array([*cuts, *np.nextafter(cuts, inf), *np.nextafter(cuts, -inf), *extra, nan, inf, -inf])
    expected = [99 if x != x else bisect_left(cuts, x) for x in values.tolist()]
    for dtype in (np.uint8, np.uint16):
        out = np.empty(len(values), dtype=dtype)
        count_cuts_below(values, np.array(cuts), 99, out)
        assert out.tolist() == expected


@given(cut_lists, st.lists(st.floats(width=64), max_size=20))
def test_both_counters_are_exact_whatever_the_spacing(cuts, values) -> None:
    array, out = np.array([*values, *cuts, nan]), np.empty(len(values) + len(cuts) + 1, dtype=np.uint8)
    expected = [99 if x != x else bisect_left(cuts, x) for x in array.tolist()]
    count_by_search(array, np.array(cuts), 99, out)
    assert out.tolist() == expected
    count_by_guess(array, np.array(cuts), 0.37, 99, out)  # a poor guess costs time, never a wrong cell
    assert out.tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.int64, np.uint16, np.bool_])
@pytest.mark.parametrize("step", [1, 3, -1])
def test_dtypes_and_strides_do_not_matter(dtype, step) -> None:
    values = (np.arange(40_000) % 120).astype(dtype)[::step]
    cuts, out = linear_cuts(0.0, 100.0, 32), np.empty(len(values), dtype=np.uint8)
    count_cuts_below(values, np.array(cuts), 0, out)
    assert np.array_equal(out, np.searchsorted(cuts, values.astype(np.float64)))


def test_no_cuts_make_one_cell() -> None:
    out = np.empty(3, dtype=np.uint8)
    count_cuts_below(np.array([1.0, nan, -inf]), np.array([]), 5, out)
    assert out.tolist() == [0, 5, 0]
