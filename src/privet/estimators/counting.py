"""Learning how many records there are first, where nobody gave a hint.

Learners take their depth, their number of trees and the split of their budget from the number of records. Where that
is private, a small part of the budget buys a noisy number; where the relation makes it public, it is free. Under a
delta they also take from it whether they keep pure epsilon, which is cheaper where little is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Hints, Learner, Model
from privet.mechanisms.release import Release
from privet.privacy.events import Composition, Cost, Either, Event, Filter, Sequential, has_mixture
from privet.privacy.plan import Plan
from privet.privacy.terms import Allowance, Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables import Table
from privet.tables.protocol import Block, IntArray

COUNT_NAME = "number of records"
AGAIN_NAME = "number of records, a second time"
LEARNING_NAME = "a model that is planned with that number"
# The count's part of the budget: what buys noise of so many records, within bounds. On the tuning sets a twentieth did
# better than a fiftieth at epsilon 0.1, the same at 0.5, and worse at 1.
ENOUGH_NOISE = 50
LEAST_EPSILON = Fraction(1, 10**6)  # of the whole budget; with less, a count would say nothing of any table
MOST_PART, LEAST_PART = Fraction(1, 20), Fraction(1, 100)
# Rules need an order of magnitude. A first number that is so many times its own noise has that, and the rest of the
# count's part is left to the learner.
CLEAR = 8
MOST_DIGITS = 16  # of numbers of records that are looked at before one is known
DIGITS = 2  # of the number that learners plan with: their rules need its order of magnitude

MakeLearner = Callable[[int | None], Learner[Any]]  # from a number of records, or from none, to the learner
# From the guarantee that is asked for, which has a delta, to the one to keep: that one, or the pure one.
Stronger = Callable[[Allowance, Encoding, Terms, Hints], Allowance]


@runtime_checkable
class UsesRows(Protocol):
    """A learner that says whether it plans with the number of records. Nothing is bought for learners without this."""

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether the plan for this budget depends on the number of records."""
        ...


def buys_count(learner: Learner[Any], encoding: Encoding, share: Share | None) -> bool:
    """Whether a count comes first where nobody gave a hint: the learner plans with it, and the budget pays for it."""
    if share is None or not isinstance(learner, UsesRows):
        return False
    affordable = (share.epsilon or 0) >= LEAST_EPSILON or (share.rho or 0) >= LEAST_EPSILON**2
    return affordable and learner.uses_rows(encoding, share)


def count_part(terms: Terms, share: Share) -> Fraction:
    """Return the most of a budget that a count gets; for a table that is clearly large, a hundredth will do.

    It is what noise of scale 50 records costs (in zero-concentrated privacy: Gaussian noise of the same deviation), but
    no more than a twentieth and no less than a hundredth.

    Examples
    --------
    >>> [str(count_part(Terms(), Share(epsilon=Fraction(e, 10)))) for e in (1, 4, 10, 40)]
    ['1/20', '1/20', '1/50', '1/100']
    """
    if share.epsilon is not None:
        needed = Fraction(terms.steps, ENOUGH_NOISE) / share.epsilon
    else:
        assert share.rho is not None
        needed = Fraction(terms.steps**2, 4 * ENOUGH_NOISE**2) / share.rho
    return max(LEAST_PART, min(MOST_PART, needed))


@dataclass(frozen=True)
class RecordCount:
    """Kernel: how many records there are."""

    def __call__(self, block: Block) -> NDArray[np.generic]:
        """Count the records of a block that have a label."""
        return np.array([np.count_nonzero(block.target >= 0)], dtype=np.int64)


@dataclass(frozen=True)
class CountedPlan(Plan):
    """The count, and the total of whatever comes after it.

    Attributes
    ----------
    count : Event or None
        A first look at the number of records; None where it is public.
    again : Event or None
        A second one, for tables so small that the first says little; None where no more is to be spent on it.
    learning : Filter or Either
        What the second look and the learner may spend, fixed in advance; how they do depends on the count.
    share, rest : Share
        What is left for the learner, without and with a second look.
    terms : Terms
        Neighbours and unit.
    shared_coins : bool
        As in `Hints`.
    examples : callable
        Yields what the learner would plan for numbers of records of every order of magnitude.
    """

    count: Event | None
    again: Event | None
    learning: Filter | Either
    share: Share
    rest: Share
    terms: Terms
    shared_coins: bool
    examples: Callable[[], Iterator[Composition]]

    @property
    def whole(self) -> Sequential:
        """The count, then the total of the rest."""
        return Sequential((self.learning,) if self.count is None else (self.count, self.learning))

    @property
    def possible(self) -> Iterator[Composition]:
        """All that may be charged, as far as that is known before the number is known."""
        return self.examples()

    def __getstate__(self) -> dict[str, Any]:
        """Take the examples along as they are, and not the estimator that makes them."""
        return {**self.__dict__, "examples": _Listed(tuple(self.examples()))}


@dataclass(frozen=True)
class _Listed:
    """Examples that were listed when a plan was pickled."""

    compositions: tuple[Composition, ...]

    def __call__(self) -> Iterator[Composition]:
        return iter(self.compositions)


@dataclass(frozen=True)
class CountedFirst:
    """A learner that finds out how many records there are, and then lets another learner take that for its hint.

    Parameters
    ----------
    make : callable
        From a number of records to the learner. All of them must have the same `bins`.
    bins : int
        Number of cells of numeric features whose schema does not set it.
    stronger : callable
        Whether the learner keeps pure epsilon where a delta is asked for.
    tell : callable, optional
        Called with the number that the other learner plans with: it was released, or is public.

    Notes
    -----
    *Privacy.* *Adding or removing*: a record changes the number of records that take part by one, and a unit by at
    most its maximum. `Terms` makes noise of that; it gets a stated part of the budget. Whether there is a second look,
    and what the other learner does with the remaining part, depends on released numbers alone. *Of a pure budget, or of
    a part of rho*, a filter (`privet.privacy.events.Filter`) holds their total, so all of it adds up. *Of a whole
    epsilon and delta* the looks are pure, Laplace noise of epsilon_0 together, and the other learner keeps
    (epsilon - epsilon_0, delta) in the way that the number makes the best one: by pure epsilon, by zCDP, or by the
    exact delta of its Gaussian releases. `privet.privacy.events.Either` has the proof that the whole keeps
    (epsilon, delta). It costs more rho than zCDP alone would; under an account that adds up rhos a part of rho is what
    is planned with.

    *Replacing or relabelling a single record*: both tables have the same number of rows, if rows without a known label,
    which do not take part, are counted too. So this number is the same for all neighbours, and using it costs nothing:
    given its value, the fit is the other learner's, planned with a constant. The number of rows that *have* a known
    label is not public, as a record may be replaced by one that has none. Nor is a number of rows public where a whole
    unit is replaced, which may have more rows or fewer; there a noisy number is bought, for the two steps that `Terms`
    counts, though one table has at most ``max_rows`` records more than the other.
    """

    make: MakeLearner
    bins: int
    stronger: Stronger
    tell: Callable[[int | None], None] | None = None

    def is_always_pure(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> bool:
        """Whether no number would decide for a delta, so that the stronger guarantee can be claimed from the start."""
        if asked.rho is None or hints.shared_coins:
            return False
        numbers = (Hints(10**digits) for digits in reversed(range(MOST_DIGITS)))  # most need a delta for many records
        return all(self.stronger(asked, encoding, terms, known).rho is None for known in numbers)

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> CountedPlan:
        """Set aside the parts for one look and for two."""
        assert share is not None  # a model without privacy buys nothing
        public = terms.neighbours != "add_remove" and terms.unit_column is None
        looks = share if share.guarantee is None else Share(epsilon=share.guarantee[0])
        first, both = (Fraction(0), Fraction(0)) if public else (LEAST_PART, count_part(terms, looks))
        count = None if public else terms.noise(COUNT_NAME, looks * first)
        again = terms.noise(AGAIN_NAME, looks * (both - first)) if both > first else None
        left, rest = _left_of(share, first), _left_of(share, both)

        def examples() -> Iterator[Composition]:
            for digits in range(MOST_DIGITS):
                number = 10**digits
                clear = again is None or count is None or number >= CLEAR * count.deviation
                looks_taken = (count,) if clear else (count, again)
                known = Hints(number, hints.shared_coins, _deviation_of(looks_taken))
                planned = self._decided(encoding, terms, left if clear else rest, known).plan.whole
                yield planned if clear or again is None else Sequential((again, planned))

        # What cannot be drawn even for the smallest table is refused before the count is paid for.
        self._decided(encoding, terms, rest, Hints(1, hints.shared_coins, _deviation_of((count, again))))
        learning: Filter | Either = Filter(LEARNING_NAME, Cost(left.epsilon, left.rho))
        if left.guarantee is not None:
            learning = Either(LEARNING_NAME, *left.guarantee)
        return CountedPlan(count, again, learning, left, rest, terms, hints.shared_coins, examples)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: CountedPlan) -> Model:
        """Count, count again if need be, choose, learn."""
        seen, share = None, plan.share
        if plan.count is not None:
            count = table.aggregate(RecordCount())  # exact and private
            seen = _Seen.of(release.noisy(count, plan.count), plan.count)
        with release.filter(plan.learning) if isinstance(plan.learning, Filter) else release.either(plan.learning):
            if seen is not None and plan.again is not None and seen.number < CLEAR * seen.deviation:
                seen, share = seen.joined(_Seen.of(release.noisy(count, plan.again), plan.again)), plan.rest
            n_rows, deviation = (_n_read(table), 0.0) if seen is None else (seen.n_rows, seen.deviation)
            if self.tell is not None:
                self.tell(n_rows)
            known = Hints(n_rows, plan.shared_coins, deviation)
            decided = self._decided(table.encoding, plan.terms, share, known)
            with decided.within(release):
                return decided.learner.grow(table, release, rng, decided.plan)

    def _decided(self, encoding: Encoding, terms: Terms, share: Share, hints: Hints) -> _Decided:
        """Choose learner, guarantee and plan for a number of records; all of them depend on public facts alone."""
        learner = self.make(hints.n_rows)
        if share.guarantee is None:
            return _Decided(learner, learner.plan(encoding, terms, share, hints), None)
        asked = Allowance.of(*share.guarantee)
        pure = self.stronger(asked, encoding, terms, hints).rho is None
        plan = learner.plan(encoding, terms, asked.pure.whole if pure else asked.whole, hints)
        if pure and hints.shared_coins and has_mixture(plan.whole):  # its epsilon is proven for coins of their own
            pure, plan = False, learner.plan(encoding, terms, asked.whole, hints)
        if pure:
            return _Decided(learner, plan, Filter(LEARNING_NAME, Cost(asked.epsilon, None)))
        spent = plan.whole.cost.rho
        assert asked.rho is not None
        if spent is not None and spent > asked.rho:  # by the exact delta of all that is planned, which a filter is not
            return _Decided(learner, plan, plan.whole)
        return _Decided(learner, plan, Filter(LEARNING_NAME, Cost(None, asked.rho)))


def _left_of(share: Share, part: Fraction) -> Share:
    """Return what is left when a part was spent: of a whole guarantee, a part of its epsilon."""
    if share.guarantee is None:
        return share * (1 - part)
    epsilon, delta = share.guarantee
    return Allowance.of(epsilon * (1 - part), delta).whole


@dataclass(frozen=True)
class _Decided:
    """A learner and its plan; and what holds it, where nothing around it does: a total, or all that it will charge."""

    learner: Learner[Any]
    plan: Plan
    held: Composition | None

    def within(self, release: Release) -> AbstractContextManager[None]:
        """Open the scope that the learner charges in."""
        if self.held is None:
            return nullcontext()
        return release.filter(self.held) if isinstance(self.held, Filter) else release.fixed(self.held)


@dataclass(frozen=True)
class _Seen:
    """A noisy number of records, and the deviation of its noise."""

    number: float
    deviation: float

    @staticmethod
    def of(released: IntArray, event: Event) -> _Seen:
        """Take what was released for what it is."""
        return _Seen(float(released[0]), event.deviation)

    def joined(self, other: _Seen) -> _Seen:
        """Return the mean of two, each weighted by how sure it is."""
        own, its = self.deviation**-2, other.deviation**-2
        return _Seen((own * self.number + its * other.number) / (own + its), (own + its) ** -0.5)

    @property
    def n_rows(self) -> int:
        """What to plan with. A number below the noise says no more than that there are hardly more than that."""
        return about(max(self.number, self.deviation))


def _deviation_of(looks: tuple[Event | None, ...]) -> float:
    """Return the deviation of the mean of all looks, each weighted by how sure it is; zero without any look."""
    weights = [look.deviation**-2 for look in looks if look is not None]
    deviation: float = math.fsum(weights) ** -0.5 if weights else 0.0
    return deviation


def _n_read(table: Table) -> int | None:
    """Return how many rows were read, where that is public; of a table that cannot say, nothing is known."""
    n_read: int | None = getattr(table, "n_read", None)
    return None if n_read is None else about(n_read)


def about(number: float) -> int:
    """Round a number of records to two digits, and to at least one record.

    Examples
    --------
    >>> about(12_345.6), about(-3), about(7)
    (12000, 1, 7)
    """
    if number < 1:
        return 1
    step: int = 10 ** max(0, math.floor(math.log10(number)) + 1 - DIGITS)
    return max(1, round(number / step) * step)
