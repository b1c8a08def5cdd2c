"""Where a regression target mostly lies: private quartiles, and what is made of them."""

import math
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.learners.boosting.gradients import ONE
from privet.learners.boosting.rank_counts import FINE
from privet.learners.boosting.target_window import (
    FEW_CELLS,
    NARROWEST,
    WIDEST,
    CountedWindowPlan,
    TargetCounts,
    WindowPlan,
)
from privet.mechanisms.release import Release, drawn, open_release
from privet.privacy import laws
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.encoding import RangeTarget
from privet.tables import MemoryTable

SCHEMA = Schema({"x": Numeric(0, 1, bins=2)}, target=Numeric(0, 1))
ENCODING = SCHEMA.encoding(2)


def tabled(shares):
    levels = np.rint(65_535 * np.asarray(shares)).astype(np.int32)
    return MemoryTable(ENCODING, np.zeros((1, levels.size), np.uint8), levels)


def window(shares, epsilon=None, delta=0.0):
    allowance = None if epsilon is None else Allowance.of(epsilon, delta)
    plan = WindowPlan.of(ENCODING.target, Terms(), None if allowance is None else allowance.whole)
    ledger = Ledger(Terms(), allowance)
    release = open_release(ledger) if allowance is None else Release(ledger, drawn())
    return plan.run(tabled(shares), release), plan, ledger


def test_without_noise_it_is_halfway_between_the_quartiles_and_twice_their_distance_wide():
    found, _, _ = window(np.linspace(0.3, 0.38, 4001))
    assert found.centre == pytest.approx(0.34, abs=1e-3)
    assert found.width / ONE == pytest.approx(2 * 0.04, abs=2e-3)


def test_it_is_never_wider_than_a_quarter_of_the_range_nor_of_no_width():
    assert window(np.linspace(0, 1, 2000))[0].width == WIDEST
    assert NARROWEST <= window(np.full(2000, 0.3))[0].width <= WIDEST
    assert NARROWEST <= window([])[0].width <= WIDEST


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_with_noise_it_is_near_and_what_was_planned_is_what_was_charged(delta):
    shares = np.clip(np.random.default_rng(0).normal(0.3, 0.05, 20_000), 0, 1)
    found, plan, ledger = window(shares, 1.0, delta)
    assert found.centre == pytest.approx(0.3, abs=0.02)
    assert 0.08 < found.width / ONE < 0.2
    assert tuple(ledger.events) == plan.questions
    assert len(plan.questions) == 2


@pytest.mark.parametrize(("levels", "n_questions"), [(2, 1), (3, 2), (4, 2), (65_536, 2), (2**31, 2)])
def test_no_more_is_asked_than_there_is_to_cut(levels, n_questions):
    target = RangeTarget(0.0, 1.0, levels)
    plan = WindowPlan.of(target, Terms(), Allowance.of(1.0).whole)
    assert len(plan.questions) == n_questions
    assert sum(event.cost.epsilon for event in plan.questions) == 1


def test_targets_are_counted_in_cells_of_equal_width_whatever_their_levels():
    counts = tabled([0.0, 0.2, 0.26, 0.74, 0.76, 1.0, 1.0]).aggregate(TargetCounts(65_536, 4))
    assert counts.tolist() == [2, 1, 1, 3]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_one_more_record_changes_no_chance_of_a_window_by_more_than_is_paid_for(delta):
    """The exact law of all cuts, on every table of up to three targets among four levels."""
    target = RangeTarget(0.0, 1.0, 4)
    plan = WindowPlan.of(target, Terms(), Allowance.of(2.0, delta).whole)
    law = laws.exponential_mechanism if delta else laws.permute_and_flip

    def chances(levels):
        """Of every sequence of answers, each row of a question answered by itself."""
        found = {}

        class Forced:
            def __init__(self, answers):
                self.answers, self.chance = list(answers), 1.0

            def choose(self, scores, event):
                answer = self.answers.pop(0)[: len(scores)]
                for row, chosen in zip(scores, answer, strict=True):
                    self.chance *= law(row, event.parameter)[chosen]
                return np.array(answer)

        table = MemoryTable(replace(ENCODING, target=target), np.zeros((1, len(levels)), np.uint8), np.array(levels))
        for first, second, third in product(range(3), repeat=3):
            forced = Forced([(first,), (second, third)])
            plan.run(table, forced)
            found[first, second, third] = forced.chance
        return found

    worst = 0.0
    for n in range(3):
        for levels in combinations_with_replacement(range(4), n):
            before = chances(np.array(levels, dtype=np.int32))
            for level in range(4):
                after = chances(np.array([*levels, level], dtype=np.int32))
                for answer, chance in before.items():
                    if chance > 0:
                        worst = max(worst, abs(math.log(after[answer] / chance)))
    claimed = sum(float(event.cost.epsilon) for event in plan.questions)
    assert 0.4 * claimed < worst <= claimed * (1 + 1e-9)


def counted(shares, epsilon=None, delta=0.0):
    allowance = None if epsilon is None else Allowance.of(epsilon, delta)
    plan = CountedWindowPlan.of(Terms(), None if allowance is None else allowance.whole)
    ledger = Ledger(Terms(), allowance)
    release = open_release(ledger) if allowance is None else Release(ledger, drawn())
    return plan.run(tabled(shares), release), plan, ledger


def test_by_counts_it_has_the_quartiles_of_few_cells():
    found, _, _ = counted(np.linspace(0, 1, 4001))
    assert found.centre == pytest.approx(0.5, abs=0.01)
    assert found.width == pytest.approx(ONE, rel=0.02)
    narrow, _, _ = counted(np.full(500, 0.3))
    assert narrow.centre == pytest.approx(0.3, abs=1 / 16)
    assert NARROWEST <= narrow.width <= ONE // 16


def test_by_counts_nothing_but_noise_is_the_whole_range():
    found, _, _ = counted([])
    assert (found.centre, found.width) == (0.5, ONE)


def test_by_counts_little_signal_is_enough_and_one_count_is_charged():
    shares = np.clip(np.random.default_rng(0).normal(0.3, 0.07, 3_000), 0, 1)
    near = 0
    for _ in range(20):
        found, plan, ledger = counted(shares, 0.015)
        near += abs(found.centre - 0.3) < 0.06 and 0.1 < found.width / ONE < 0.4
    assert near >= 15
    assert tuple(ledger.events) == plan.questions == (plan.counts,)
    assert plan.counts.sensitivity == 1


def test_by_counts_a_record_changes_one_count_by_one():
    before = tabled([0.1, 0.5]).aggregate(TargetCounts(65_536, FEW_CELLS))
    for share in np.linspace(0, 1, 33):
        after = tabled([0.1, 0.5, share]).aggregate(TargetCounts(65_536, FEW_CELLS))
        assert sorted((after - before).tolist()) == [0] * (FEW_CELLS - 1) + [1]


def test_by_counts_with_gaussian_noise_a_record_moves_one_number_by_a_fine_unit():
    allowance, seen = Allowance.of(1.0, 1e-6), []

    class Watching(Release):
        def noisy(self, values, event):
            seen.append(values)
            return super().noisy(values, event)

    plan = CountedWindowPlan.of(Terms(), allowance.whole)
    for shares in ([0.1, 0.6], [0.1, 0.6, 0.9]):
        plan.run(tabled(shares), Watching(Ledger(Terms(), allowance), drawn()))
    assert plan.counts.sensitivity == ((seen[1] - seen[0]) ** 2).sum() == FINE**2
    assert plan.counts.numbers == (seen[1] != seen[0]).sum() == 1
    found, _, _ = counted(np.linspace(0.2, 0.4, 5000), 1.0, 1e-6)
    assert found.centre == pytest.approx(0.3, abs=0.02)
