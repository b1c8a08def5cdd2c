"""Grids: where cuts are, and that the compiled counters agree with their plain meaning."""

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.schema.fine_grids import rounded
from privet.schema.grid_kernels import count_by_rounding, count_by_search, count_cells_of_rows, count_cuts_below
from privet.schema.grids import laid_out, linear_cuts, log_cuts, prepared

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


def one_by_one(place, low: float, high: float, bins: int) -> list[float]:
    """The cuts by their formulas, one after the other: fractions, or fifty digits."""
    start, context = Decimal(low), Context(prec=50)
    if place is linear_cuts:
        cuts = [float(Fraction(low) + (Fraction(high) - Fraction(low)) * i / bins) for i in range(1, bins)]
    else:
        growth = context.ln(context.add(context.subtract(Decimal(high), start), 1))
        powers = [context.exp(context.divide(context.multiply(growth, i), bins)) for i in range(1, bins)]
        cuts = [float(context.add(start, context.subtract(power, 1))) for power in powers]
    return sorted({cut for cut in cuts if low <= cut < high})


@pytest.mark.parametrize("place", [linear_cuts, log_cuts])
@pytest.mark.parametrize(
    ("low", "high", "bins"),
    [
        (0.0, 1.0, 1000),
        (0.1, 0.3, 1023),
        (-5.5, 5.5, 1024),
        (0.0, 2.0**10 - 1, 1000),  # many powers are whole
        (2.0**-52, 2.0**10 - 1 + 2.0**-52, 2000),  # some cuts lie halfway between two doubles
        (1.0, 1.0 + 3000 * 2.0**-52, 4096),  # more cells than doubles
        (-1e12, 3e-7, 4097),
        (1e-190, 1e-185, 1001),
        (-1e300, 1e300, 1500),  # beyond what pairs of doubles can do
        (123.456, 98765.4321, 10_007),
    ],
)
def test_cuts_of_fine_grids_are_those_of_exact_arithmetic(place, low: float, high: float, bins: int) -> None:
    assert place(low, high, bins) == tuple(one_by_one(place, low, high, bins))


def test_what_may_round_either_way_is_computed_exactly() -> None:
    """Numbers next to the middle of two doubles; their pairs cannot tell on which side they are."""
    middle = 1.0 + 2.0**-53
    pair = np.array([1.0, 1.0, 1.0]), np.array([2.0**-53, 2.0**-54, -(2.0**-54)])
    asked: list[int] = []
    cuts = rounded(pair, np.full(3, 2.0**-92), lambda place: asked.append(place) or middle + 2.0**-52)
    assert asked == [1, 3]  # below one, doubles are twice as close
    assert cuts.tolist()[1] == 1.0


def test_a_range_of_neighbouring_doubles_has_one_cut() -> None:
    assert linear_cuts(1.0, float(np.nextafter(1.0, 2.0)), 32) == (1.0,)


cut_lists = st.lists(st.floats(-100, 100), min_size=1, max_size=40, unique=True).map(sorted)
ODD = [nan, inf, -inf, 0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310, 1.7e308, -1.7e308]


@st.composite
def grids(draw: st.DrawFn) -> tuple[float, ...]:
    """Cuts of all kinds: equal widths of any size and place, geometric, any at all, and almost equal widths."""
    kind = draw(st.sampled_from(["linear", "log", "any", "bent"]))
    if kind == "any":
        return tuple(draw(cut_lists))
    low = draw(st.one_of(st.floats(-100, 100), st.sampled_from([0.0, -1e300, 1e-300, 2.0**52, -5e-324])))
    high = low + draw(st.floats(1e-3, 100)) * max(abs(low), draw(st.sampled_from([1.0, 1e-300, 1e200])))
    if not low < high < inf:
        high = float(np.nextafter(low, inf))
    place = log_cuts if kind == "log" else linear_cuts
    cuts = np.array(place(low, high, draw(st.integers(2, 255))))
    if kind == "bent":  # some of these grids no longer find their cuts by arithmetic
        cuts = np.unique(cuts + (high - low) * draw(st.floats(0, 0.1)) * np.sin(np.arange(len(cuts))))
    return tuple(cuts.tolist()) or (low,)


def around(cuts: Sequence[float]) -> list[float]:
    """Every cut, the doubles next to it on both sides, and odd numbers."""
    return [*cuts, *np.nextafter(cuts, inf).tolist(), *np.nextafter(cuts, -inf).tolist(), *ODD]


def plain_cells(values: Sequence[float], cuts: Sequence[float], nan_code: int) -> list[int]:
    """What counting means."""
    return [nan_code if x != x else bisect_left(cuts, x) for x in values]


@settings(deadline=None)
@given(grids(), st.lists(st.floats(width=64), max_size=40))
def test_the_cell_is_the_number_of_cuts_strictly_below(cuts, extra) -> None:
    values = [*around(cuts), *extra]
    for dtype in (np.uint8, np.uint16):
        out = np.empty(len(values), dtype=dtype)
        count_cuts_below(np.array(values), prepared(cuts), 99, out)
        assert out.tolist() == plain_cells(values, cuts, 99)


@settings(deadline=None, max_examples=40)
@given(st.lists(grids(), min_size=2, max_size=4), st.integers(1, 600), st.integers(0, 10**6))
def test_arrays_stored_by_rows_have_the_same_cells(of_columns, n_rows, seed) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(around(cuts), n_rows) for cuts in of_columns])
    out = np.full(X.T.shape, 250, dtype=np.uint16)
    left_alone = int(rng.integers(len(of_columns)))
    cuts = {column: grid for column, grid in enumerate(of_columns) if column != left_alone}
    grids_of_rows = laid_out({column: prepared(grid) for column, grid in cuts.items()}, [99] * len(cuts))
    count_cells_of_rows(X, *grids_of_rows, out)
    for column, cells in enumerate(out.tolist()):
        expected = plain_cells(X[:, column].tolist(), cuts[column], 99) if column in cuts else [250] * n_rows
        assert cells == expected


@given(cut_lists, st.lists(st.floats(width=64), max_size=20))
def test_searching_is_exact_whatever_the_spacing(cuts, values) -> None:
    array, out = np.array([*values, *cuts, nan]), np.empty(len(values) + len(cuts) + 1, dtype=np.uint8)
    count_by_search(array, np.array(cuts), 99, out)
    assert out.tolist() == plain_cells(array.tolist(), cuts, 99)


@pytest.mark.parametrize(("low", "high"), [(-4.0, 4.0), (0.0, 99999.0), (1e9, 1e9 + 1), (-1e300, 1e300), (0.1, 0.7)])
@pytest.mark.parametrize("bins", [2, 32, 255, 5000])
def test_equal_widths_are_found_by_arithmetic(low, high, bins) -> None:
    assert prepared(linear_cuts(low, high, bins)).cuts_per_unit > 0


def test_arithmetic_is_not_trusted_where_a_cut_is_not_its_own_nearest() -> None:
    # The cut 2.1 is not where a third one of equal width would be: rounding alone puts 2.2 into the wrong cell.
    cuts = (0.0, 1.0, 2.0, 2.1, 4.0)
    assert prepared(cuts).cuts_per_unit == 0
    out = np.empty(1, dtype=np.uint8)
    count_by_rounding(np.array([2.2]), np.array(cuts), 1.0, 99, out)
    assert out[0] != bisect_left(cuts, 2.2)
    count_cuts_below(np.array([2.2]), prepared(cuts), 99, out)
    assert out[0] == bisect_left(cuts, 2.2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.int64, np.uint16, np.bool_])
@pytest.mark.parametrize("step", [1, 3, -1])
def test_dtypes_and_strides_do_not_matter(dtype, step) -> None:
    values = (np.arange(40_000) % 120).astype(dtype)[::step]
    cuts, out = linear_cuts(0.0, 100.0, 32), np.empty(len(values), dtype=np.uint8)
    count_cuts_below(values, prepared(cuts), 0, out)
    assert np.array_equal(out, np.searchsorted(cuts, values.astype(np.float64)))


def test_no_cuts_make_one_cell() -> None:
    out = np.empty(3, dtype=np.uint8)
    count_cuts_below(np.array([1.0, nan, -inf]), prepared(()), 5, out)
    assert out.tolist() == [0, 5, 0]
