"""Ranks by noisy counts: what a record moves, where cells lie with much data and with little, and what is planned."""

from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.learners.boosting.rank_counts import FINE, RankCounts, believed
from privet.mechanisms.release import Release, drawn
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable
from privet.testing import seeded_noise

FEATURES = {"x": Numeric(0, 1, bins=100, missing=True), "c": Categorical(list("ab")), "z": Numeric(0, 1, bins=7)}
ENCODING = Schema(FEATURES, classes=[0, 1]).encoding(16)


def tabled(x, z):
    codes = np.stack([x, np.zeros_like(x), z]).astype(np.uint8)
    return MemoryTable(ENCODING, codes, np.zeros(len(x), np.int32))


class Watching(Release):
    """Keeps what would be noised, and releases what another run has released, so that both ask the same questions."""

    def __init__(self, allowance, released=None):
        super().__init__(Ledger(Terms(), allowance), drawn())
        self.seen, self.released = [], []
        self._before = None if released is None else iter(released)

    def noisy(self, values, event):
        self.seen.append(values)
        drawn_now = super().noisy(values, event)
        self.released.append(drawn_now if self._before is None else next(self._before))
        return self.released[-1]


def run(counts, table, allowance, released=None):
    release = Watching(allowance, released)
    return counts.run(table, release, counts.plan(ENCODING, Terms(), allowance.whole)), release


def test_a_record_moves_one_number_of_each_feature_by_one_at_every_level():
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 101, 60), rng.integers(0, 7, 60)
    counts, allowance = RankCounts(60), Allowance.of(8.0, 1e-6)
    _, before = run(counts, tabled(x, z), allowance)
    for place in range(60):
        _, after = run(counts, tabled(np.delete(x, place), np.delete(z, place)), allowance, before.released)
        for level, (one, other) in enumerate(zip(before.seen, after.seen, strict=True)):
            moved = np.abs(one - other)
            assert set(moved.tolist()) <= {0, FINE}
            assert (moved > 0).sum() <= 2
            assert level > 0 or (moved > 0).sum() == 2 - (x[place] == 100), "a missing value has no rank"


def test_levels_have_equal_parts_and_say_what_a_record_moves():
    share = Allowance.of(1.0, 1e-6).whole
    plan = RankCounts(60).plan(ENCODING, Terms(), share)
    assert len(plan.events) == 7, "100 codes are halved seven times"
    assert len({event.cost for event in plan.events}) == 1
    assert Fraction(999, 1000) * share.rho < sum(event.cost.rho for event in plan.events) <= share.rho
    for event in plan.events:
        assert event.sensitivity == 2 * FINE**2
        assert event.numbers == 2
        assert event.parameter >= event.sensitivity / (2 * event.cost.rho)


def test_much_data_is_cut_into_equal_shares():
    rng = np.random.default_rng(1)
    x = np.minimum(rng.geometric(0.1, 40_000) - 1, 99)
    cuts, _ = run(RankCounts(40_000, n_cells=8), tabled(x, x % 7), Allowance.of(4.0, 1e-6))
    shares = np.diff(np.searchsorted(np.sort(x), [-1, *cuts[0], 99], side="right")) / len(x)
    assert len(shares) == 8
    assert abs(shares - 1 / 8).max() < 0.06, "a code of x has up to a tenth of the records"
    assert cuts[2] == [0, 1, 2, 3, 4, 5], "no more cells than codes"


@pytest.mark.parametrize("n", [0, 30])
def test_noise_beyond_all_measure_leaves_cells_of_about_equal_width(n):
    x = np.zeros(n, np.int64)
    for _ in range(20):
        cuts, _ = run(RankCounts(30, n_cells=4), tabled(x, x), Allowance.of(1e-3, 1e-9))
        np.testing.assert_allclose(cuts[0], [24, 49, 74], atol=3)


def test_categories_have_no_ranks():
    encoding = Schema({"c": Categorical(list("ab"))}, classes=[0, 1]).encoding(4)
    assert RankCounts(60).plan(encoding, Terms(), Allowance.of(1.0, 1e-6).whole).events == ()


def test_records_are_counted_beside_the_first_halves_where_that_is_asked_for():
    rng = np.random.default_rng(2)
    x, z = rng.integers(0, 101, 60), rng.integers(0, 7, 60)
    counts, allowance = RankCounts(60, levels=3, counts_records=True), Allowance.of(8.0, 1e-6)
    plan = counts.plan(ENCODING, Terms(), allowance.whole)
    assert [event.numbers for event in plan.events] == [3, 2, 2]
    assert [event.sensitivity for event in plan.events] == [3 * FINE**2, 2 * FINE**2, 2 * FINE**2]
    _, before = run(counts, tabled(x, z), allowance)
    assert before.seen[0].tolist()[-1] == 60 * FINE
    for place in range(60):
        _, after = run(counts, tabled(np.delete(x, place), np.delete(z, place)), allowance, before.released)
        for event, one, other in zip(plan.events, before.seen, after.seen, strict=True):
            assert ((one - other) ** 2).sum() <= event.sensitivity
            assert (one != other).sum() <= event.numbers


@pytest.mark.parametrize("guess", [400, 4_000, 400_000])
def test_counted_records_make_up_for_a_guess_that_is_far_off(guess):
    x = np.minimum(np.random.default_rng(3).geometric(0.1, 4_000) - 1, 99)
    with seeded_noise(0):
        cuts, _ = run(RankCounts(guess, 8, counts_records=True), tabled(x, x % 7), Allowance.of(4.0, 1e-6))
    shares = np.diff(np.searchsorted(np.sort(x), [-1, *cuts[0], 99], side="right")) / len(x)
    assert len(shares) == 8
    assert abs(shares - 1 / 8).max() < 0.06


def test_a_guess_is_believed_unless_the_count_says_otherwise():
    assert believed(100, 90.0, 10.0) == 100
    assert believed(100, 300.0, 10.0) == 280
    assert believed(100, 20.0, 10.0) == 40
    assert believed(100, -500.0, 10.0) == 1
