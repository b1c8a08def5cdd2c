"""Buying the number of records first, where nobody gave a hint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Hints, Learner, Model
from privet.mechanisms.release import Release
from privet.privacy.events import Cost, Event, Filter, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Table

COUNT_PART = Fraction(1, 20)  # of the budget


@dataclass(frozen=True)
class RecordCount:
    """Kernel: how many records there are."""

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Count the records of a block that have a label."""
        return np.array([np.count_nonzero(block.target >= 0)], dtype=np.int64)


@dataclass(frozen=True)
class CountedPlan(Plan):
    """The count, and the total of whatever is learned after it.

    Attributes
    ----------
    count : Event
        The number of records.
    learning : Filter
        What the learner may spend, fixed in advance; how it spends that depends on the count.
    share : Share
        The same total, as the learner is given it.
    terms : Terms
        Neighbours and unit.
    """

    count: Event
    learning: Filter
    share: Share
    terms: Terms

    @property
    def whole(self) -> Sequential:
        """The count, then the learner's total."""
        return Sequential((self.count, self.learning))


@dataclass(frozen=True)
class CountedFirst:
    """A learner that measures how many records there are, and then lets another learner take that for its hint.

    Parameters
    ----------
    choose : callable
        From a number of records to the learner. All of them must have the same `bins`.
    bins : int
        Number of cells of numeric features whose schema does not set it.

    Notes
    -----
    *Privacy.* The number of records changes by one if a record is added or removed. It gets a twentieth of the budget.
    What the other learner does with the remaining part depends on the released number alone, and a filter
    (`privet.privacy.events.Filter`) holds its total, so the two add up.
    """

    choose: Callable[[int], Learner[Any]]
    bins: int

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> CountedPlan:
        """Set aside the part for the count."""
        assert share is not None  # a model without privacy buys nothing
        left = share * (1 - COUNT_PART)
        cap = Cost(left.epsilon, left.rho)
        return CountedPlan(
            terms.noise("number of records", share * COUNT_PART),
            Filter("a model that is planned with that number", cap),
            left,
            terms,
        )

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: CountedPlan) -> Model:
        """Count, choose, learn."""
        count = release.noisy(table.aggregate(RecordCount()), plan.count)
        n_rows = max(1, int(count[0]))
        learner = self.choose(n_rows)
        with release.filter(plan.learning):
            planned = learner.plan(table.encoding, plan.terms, plan.share, Hints(n_rows))
            return learner.grow(table, release, rng, planned)
