"""A discriminant from noisy sums: what it says without noise, and what it makes of a share that noise has moved."""

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.class_discriminant import LEAST_SHARE, NoisyShare, ReleasedSums, discriminant
from privet.learners.boosting.signed_columns import SignedColumns


def columns_of(n_columns):
    encoding = Schema({f"x{k}": Numeric(0, 1) for k in range(n_columns)}, classes=[0, 1]).encoding(4096)
    return SignedColumns.of(CellGrid.of(encoding, CellGrid.public_cuts(encoding)), 2.0)


def released(rng, n_rows, share, means, apart, deviation):
    """Return sums of columns of these means, whose classes lie so far apart, with noise."""
    means, apart = np.asarray(means, dtype=float), np.asarray(apart, dtype=float)
    exact = n_rows * np.array([(1 - share) * (means - share * apart), share * (means + (1 - share) * apart)])
    noise = deviation * rng.normal(size=exact.shape)
    return ReleasedSums(exact + noise, np.full(means.size, deviation), n_rows, columns_of(means.size))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_without_noise_weights_are_how_far_means_lie_apart_over_the_variance(share):
    means, apart = [0.3, -0.2, 0.0], [0.5, 0.0, -0.8]
    sums = released(np.random.default_rng(0), 1_000, share, means, apart, 1e-3)
    found = discriminant(sums, NoisyShare(share, 1e-6))
    np.testing.assert_allclose(found.weights, np.array(apart) / sums.columns.usual, atol=0.01)
    assert found.share == pytest.approx(share, abs=1e-3)
    assert found.centre == pytest.approx(found.weights @ np.array(means), abs=0.01)
    assert found.spread.max() < 0.01


@pytest.mark.parametrize("means", [0.0, -0.6])
@pytest.mark.parametrize(("n_rows", "n_columns", "deviation", "seen"), [
    (1_000, 33, 300.0, NoisyShare(0.1, 0.05)),
    (1_000, 12, 150.0, NoisyShare(0.1, 0.05)),
    (300, 12, 60.0, NoisyShare(0.2, 0.08)),
    (1_000, 4, 300.0, NoisyShare(0.9, 0.1)),
])  # fmt: skip
def test_sums_that_say_next_to_nothing_leave_the_share_where_it_was(n_rows, n_columns, deviation, seen, means):
    rng, nothing = np.random.default_rng(1), np.zeros(n_columns)
    draws = [
        discriminant(released(rng, n_rows, seen.share, nothing + means, nothing, deviation), seen).share
        for _ in range(60)
    ]
    assert np.mean(draws) == pytest.approx(seen.share, abs=0.025)


def test_sums_of_columns_whose_values_are_mostly_at_one_end_say_what_the_share_is():
    rng, nothing = np.random.default_rng(2), np.zeros(20)
    for true, seen in ((0.1, 0.25), (0.4, 0.25), (0.9, 0.8)):
        sums = released(rng, 1_000, true, nothing - 0.8, nothing, 60.0)
        found = discriminant(sums, NoisyShare(seen, 0.1))
        assert abs(found.share - true) < 0.4 * abs(seen - true)


def test_with_a_wrong_share_alone_no_column_seems_to_tell_the_classes_apart():
    """With the share that was seen taken for true all of them would."""
    sums = released(np.random.default_rng(3), 1_000, 0.05, np.full(20, -0.8), np.zeros(20), 20.0)
    averaged, taken_for_true = (discriminant(sums, NoisyShare(0.2, deviation)) for deviation in (0.1, 1e-6))
    assert np.abs(averaged.weights).mean() < 0.2 * np.abs(taken_for_true.weights).mean()


def test_noise_alone_leaves_a_share_within_bounds_and_all_finite():
    rng = np.random.default_rng(4)
    for deviation in (1e2, 1e6, 1e12):
        found = discriminant(released(rng, 10, 0.5, np.zeros(5), np.zeros(5), deviation), NoisyShare(0.98, 0.5))
        assert LEAST_SHARE <= found.share <= 1 - LEAST_SHARE
        assert np.isfinite([found.centre, *found.weights, *found.spread]).all()
        assert np.abs(found.weights).max() < 1
