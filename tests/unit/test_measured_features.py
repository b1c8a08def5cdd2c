"""Which features are measured: sizes within the limit, and features of these sizes, each at most once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privet.learners.boosting.measured_features import (
    FEWEST_FEATURES,
    MANY_TIMES,
    features_of_sizes,
    sizes_within,
    spread_sizes,
)

SIZES = st.lists(st.integers(1, 60) | st.integers(1, 900), min_size=1, max_size=30)


@given(SIZES, st.integers(2, 80), st.integers(0, 1_000))
def test_features_are_of_the_sizes_that_were_planned_and_within_the_limit(sizes, limit, seed):
    wanted = sizes_within(sizes, limit)
    found = features_of_sizes(wanted, sizes, np.random.default_rng(seed).permutation(len(sizes)))
    assert len(set(found)) == len(found) == len(wanted)
    assert tuple(sizes[feature] for feature in found) == wanted
    fewest = sorted(sizes)[:FEWEST_FEATURES]
    assert sum(wanted) <= max(limit, sum(fewest))
    assert max(wanted, default=0) <= MANY_TIMES * limit
    assert len(wanted) >= sum(size <= MANY_TIMES * limit for size in fewest)


@given(SIZES, st.integers(2, 80))
def test_so_many_of_them_as_there_is_room_for(sizes, limit):
    """As many small features as the limit bears were all as large as the largest of them."""
    wanted = sizes_within(sizes, limit)
    small = [size for size in sizes if size <= limit // 2]
    if len(small) >= FEWEST_FEATURES and sum(sizes) > limit:
        assert len(wanted) >= min(len(small), limit // max(small))


@given(SIZES)
def test_without_a_limit_all_are_measured_in_their_order(sizes):
    assert sizes_within(sizes, None) == sizes_within(sizes, sum(sizes)) == spread_sizes(sizes, 99) == tuple(sizes)
    order = np.arange(len(sizes))[::-1]
    assert features_of_sizes(tuple(sizes), sizes, order) == list(range(len(sizes)))
