"""From a budget to noise: what is allowed, what one unit of privacy can change, and the events that follow.

Learners state the sensitivity of adding or removing one *record*, always. This file alone turns that into the
declared relation and unit, so that no learner can forget a factor of two.

Scales, variances and rates that follow from a budget are arbitrary fractions. The `friendly_` functions move them, only
ever towards more privacy, to nearby values. With these the exact samplers need no more than 64-bit integers, and every
scale is exactly a double.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.errors import ParameterError
from privet.parameters import check_can_be_drawn, exact
from privet.privacy import exact_delta, exact_gaussian
from privet.privacy.conversions import epsilon_to_zcdp
from privet.privacy.events import Cost, Event, Mechanism

if TYPE_CHECKING:
    from privet.schema.schema import Schema

FEATURES = "features of all records, and no label"
MOST_DELTA = Fraction(1, 10**5)  # without a warning, where the number of records is not known
RECORDS_PER_DELTA = 10  # where it is known, delta should be at most one in this many times the number of records
_FRIENDLY_BITS = 32
# Noise of this scale is zero except with probability exp(-2^20), so a smaller scale would gain nothing. The bound also
# limits denominators.
_SMALLEST_SCALE = Fraction(1, 2**20)


@dataclass(frozen=True)
class Share:
    """A part of an allowance: pure ``epsilon``, or ``rho`` of zero-concentrated privacy; exactly one of them is set.

    ``guarantee`` is the epsilon and delta that were asked for, where the share is all of the allowance, so that they
    bind nothing but what it pays for (`Terms.sharpened`). A part of a share has none.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    guarantee: tuple[Fraction, Fraction] | None = None

    def __mul__(self, part: Fraction | int) -> Share:
        if self.epsilon is not None:
            return Share(epsilon=self.epsilon * part)
        return Share(rho=None if self.rho is None else self.rho * part)

    __rmul__ = __mul__


def times(share: Share | None, part: Fraction) -> Share | None:
    """Return a part of a share; None, no privacy, stays that."""
    return None if share is None else share * part


@dataclass(frozen=True)
class Allowance:
    """The guarantee that was asked for: pure epsilon if ``delta`` is zero, else everything is counted in zCDP."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None

    @staticmethod
    def of(epsilon: object, delta: object = 0) -> Allowance:
        """Check and parse a user's epsilon and delta.

        Examples
        --------
        >>> Allowance.of(0.1).epsilon
        Fraction(1, 10)
        """
        e, d = exact(epsilon, "epsilon"), exact(delta, "delta")
        if e <= 0:
            raise ParameterError(f"epsilon must be positive, got {epsilon}: a usual value is 1.0")
        if not 0 <= d < 1:
            raise ParameterError(
                f"delta must be in [0, 1), got {delta}: use 0 for pure epsilon, or far less than one over the records"
            )
        rho = epsilon_to_zcdp(e, d) if d else None
        if rho == 0:
            raise ParameterError(f"epsilon={epsilon} is too small for delta={delta}: give a larger epsilon or no delta")
        return Allowance(e, d, rho)

    @property
    def pure(self) -> Allowance:
        """The stronger guarantee of the same epsilon and no delta."""
        return Allowance(self.epsilon, Fraction(0), None)

    @property
    def whole(self) -> Share:
        """All of it, in the measure in which parts add up."""
        if self.rho is None:
            return Share(epsilon=self.epsilon)
        return Share(rho=self.rho, guarantee=(self.epsilon, self.delta))


def most_delta(n_rows: int | None) -> Fraction:
    """Return the largest delta that is far below one in the number of records, or a fixed one if that is unknown."""
    return MOST_DELTA if n_rows is None else Fraction(1, RECORDS_PER_DELTA * int(n_rows))


@dataclass(frozen=True)
class Terms:
    """What one unit of privacy may change, and the events that follow from it.

    Parameters
    ----------
    neighbours : {"add_remove", "replace", "label"}
        One *step* adds or removes a record. ``replace`` and ``label`` are two steps.
    max_rows : int
        The most records of one unit that take part.
    unit_column : str, optional
        The column that names the units; None if no unit was declared, so that each record is protected.

    Notes
    -----
    *Privacy.* A unit of r records makes r steps under add/remove, and 2 r under replace or label. Pure epsilon grows
    with the number of steps, and so does the range of a selection's scores; rho of the exponential mechanism grows with
    its square. Where features are public, learners state half of what a changed label can change, since it counts as
    two steps. Gaussian noise on a vector of L2 sensitivity D: r rows move it by at most r D; a replaced row by at
    most sqrt(2) D if all entries are counts (two non-negative vectors), else by 2 D, unless a learner has proven less.

    A unit of which only one row takes part is not the same as a record: a further record of a person who is already in
    the data may displace the one that took part, which is two steps. So a guarantee states whether a unit was declared.
    """

    neighbours: str = "add_remove"
    max_rows: int = 1
    unit_column: str | None = None

    @staticmethod
    def of(schema: Schema) -> Terms:
        """Return the terms that a schema declares."""
        if schema.unit is None:
            return Terms(schema.neighbours)
        return Terms(schema.neighbours, schema.unit.max_rows, schema.unit.column)

    @property
    def noun(self) -> str:
        """What is protected, in one word: "record" or "unit"."""
        return "record" if self.unit_column is None else "unit"

    @property
    def protected(self) -> str:
        """What is protected, in words that follow "one" or "a".

        Examples
        --------
        >>> Terms().protected
        'record'
        >>> Terms(max_rows=5, unit_column="id").protected
        "unit (the rows that share a value of column 'id', at most 5 of which take part)"
        """
        if self.unit_column is None:
            return "record"
        part = f"at most {self.max_rows} of which {'takes' if self.max_rows == 1 else 'take'} part"
        return f"unit (the rows that share a value of column {self.unit_column!r}, {part})"

    @property
    def protects(self) -> str:
        """Who is protected, and under which relation. Guarantees add up only where this text is the same.

        It does not say how many rows of a unit take part: a guarantee is for all rows of a unit, however many there
        are.

        Examples
        --------
        >>> Terms("replace").protects
        "single records under 'replace'"
        >>> Terms(max_rows=5, unit_column="id").protects
        "units by column 'id' under 'add_remove'"
        """
        who = "single records" if self.unit_column is None else f"units by column {self.unit_column!r}"
        return f"{who} under {self.neighbours!r}"

    @property
    def features_are_public(self) -> bool:
        """Whether all neighbours have the same features, so that what looks at nothing else costs nothing.

        So it is under ``label``, unless units are declared: which rows of a unit take part is decided by a hash of
        their whole content, labels included, so that the features of the rows that do take part are not public.

        Examples
        --------
        >>> Terms("label").features_are_public, Terms("replace").features_are_public
        (True, False)
        """
        return self.neighbours == "label" and self.unit_column is None

    def free(self, name: str) -> Event:
        """Plan to release what is computed from features alone, exactly: `privet.mechanisms.release.Release.features`.

        Raises
        ------
        ParameterError
            Unless features are public.
        """
        if not self.features_are_public:
            raise ParameterError(
                f"{name!r} shows features as they are, which is free under neighbours='label' without units alone; "
                f"here the guarantee is for {self.protects}, so plan noise for it"
            )
        return Event(name, Mechanism.FEATURES_ONLY, Fraction(0), Fraction(0), Cost.nothing(), FEATURES)

    @property
    def steps(self) -> int:
        """How many records are added or removed when one unit changes."""
        return self.max_rows * (1 if self.neighbours == "add_remove" else 2)

    def noise(
        self,
        name: str,
        share: Share | None,
        *,
        l1: Fraction | int = 1,
        l2_squared: Fraction | int = 1,
        signed: bool = False,
        sees: str = "all records",
        largest: Fraction | int | None = None,
        replaced: Fraction | int | None = None,
        numbers: int | None = None,
    ) -> Event:
        """Plan additive noise: Laplace for a pure share, Gaussian for a share of rho, none for ``None``.

        `largest` bounds what a record adds to any single number, where all numbers are counts, which no record lowers.
        It is stated where it is less than what a record changes all of them by together. `replaced` bounds the squared
        L2 distance of what two records add, where that is less than follows from what each of them adds. `numbers`
        bounds how many numbers a record changes at all, for `sharper`.
        """
        if share is None:
            return _without_privacy(name, sees)
        if share.epsilon is not None:
            return self.laplace(name, share.epsilon, l1=l1, sees=sees, largest=largest)
        assert share.rho is not None
        event = self.gaussian(name, share.rho, l2_squared=l2_squared, signed=signed, sees=sees, replaced=replaced)
        event = replace(event, numbers=numbers)
        return event if largest is None or largest**2 >= l2_squared else replace(event, largest=Fraction(largest))

    def choice(
        self, name: str, share: Share | None, *, score_range: Fraction | int = 1, sees: str = "all records"
    ) -> Event:
        """Plan a selection: permute-and-flip for a pure share, the exponential mechanism for a share of rho.

        Permute-and-flip is the better of the two at equal epsilon, but it is not bounded-range: its zCDP cost is up
        to four times that of the exponential mechanism.
        """
        if share is None:
            return _without_privacy(name, sees)
        if share.epsilon is not None:
            return self.permute_and_flip(name, share.epsilon, score_range=score_range, sees=sees)
        assert share.rho is not None
        return self.exponential(name, share.rho, score_range=score_range, sees=sees)

    def laplace(
        self,
        name: str,
        epsilon: Fraction,
        *,
        l1: Fraction | int = 1,
        sees: str = "all records",
        largest: Fraction | int | None = None,
    ) -> Event:
        """Plan discrete Laplace noise of scale ``l1 * steps / epsilon``, rounded up.

        *Privacy.* A number that moves by v costs ``v / scale``, hence half the square of that in zCDP. If none moves by
        more than c, and all together by k, the squares add up to at most c k: rho is at most ``c k / (2 scale^2)``,
        which is ``epsilon^2 / 2`` times ``c / k``. All rows of a unit may add to the same number, so c grows with their
        number; but a replaced row does not add more to it than `largest`, or take away more, so not with its two steps.
        """
        _check_positive(name, epsilon)
        scale = friendly_scale_up(Fraction(l1) * self.steps / epsilon)
        check_can_be_drawn(name, scale)
        event = Event(name, Mechanism.LAPLACE, scale, Fraction(l1), Cost.pure(epsilon), sees)
        if largest is None or largest >= l1:
            return event
        single = Fraction(largest) * self.max_rows / (Fraction(l1) * self.steps)
        return replace(event, cost=Cost(epsilon, epsilon**2 / 2 * single), largest=Fraction(largest))

    def cube(
        self,
        name: str,
        epsilon: Fraction,
        *,
        groups: Sequence[int],
        norm: Fraction | int = 1,
        sees: str = "all records",
    ) -> Event:
        """Plan discrete cube noise of scale ``norm * steps / epsilon``, rounded up (`privet.privacy.cube_law`).

        `groups` are the sizes of the consecutive groups into which the numbers are divided. One record changes the
        numbers of no group by more than `norm`, all of them together.

        *Privacy.* The likelihood of an outcome falls with its distance from what is measured, in the largest L1 norm of
        a group. A step moves that by at most `norm`, so that all steps change its logarithm by ``epsilon`` at most.
        """
        _check_positive(name, epsilon)
        scale = friendly_scale_up(Fraction(norm) * self.steps / epsilon)
        check_can_be_drawn(name, scale, sum(groups))
        return Event(name, Mechanism.CUBE, scale, Fraction(norm), Cost.pure(epsilon), sees, groups=tuple(groups))

    def gaussian(
        self,
        name: str,
        rho: Fraction,
        *,
        l2_squared: Fraction | int = 1,
        signed: bool = False,
        sees: str = "all records",
        replaced: Fraction | int | None = None,
    ) -> Event:
        """Plan discrete Gaussian noise with ``rho = sensitivity^2 / (2 sigma^2)``, sigma rounded up.

        *Privacy.* Rows of a unit that are replaced move numbers by at most the root of `replaced` each, and those that
        come or go without another by no more than that either: `replaced` is never taken to be below `l2_squared`.
        """
        _check_positive(name, rho)
        moved = Fraction(l2_squared)
        if self.neighbours != "add_remove":
            by_size = moved * (4 if signed else 2)
            moved = by_size if replaced is None else max(moved, min(by_size, Fraction(replaced)))
        sigma_squared = friendly_sigma_squared_up(moved * self.max_rows**2 / (2 * rho))
        check_can_be_drawn(name, Fraction(math.isqrt(math.ceil(sigma_squared))))
        return Event(name, Mechanism.GAUSSIAN, sigma_squared, Fraction(l2_squared), Cost(None, rho), sees)

    def sharpened(self, event: Event, whole: Share | None, beside: Sequence[Event] = ()) -> Event:
        """Return Gaussian noise as small as its exact delta allows, where a plan has just it and perhaps a choice.

        Parameters
        ----------
        event : Event
            The noise, as a share of rho pays for it. Any other event is returned as it is.
        whole : Share or None
            What pays for all of the plan.
        beside : sequence of Event
            Everything else that the plan charges. A ledger refuses a plan that charges more than was said here.

        Notes
        -----
        *Privacy.* `privet.privacy.exact_delta` has the proof. What is charged in rho is what the smaller noise costs
        there, so that it adds up with other fits; the total is above what zCDP would allow for the guarantee.
        """
        moved = exact_delta.moved_by_one(event, self.max_rows)
        choice = exact_delta.choice_among(beside)
        if whole is None or whole.guarantee is None or moved is None or choice is None:
            return event
        variance = exact_delta.sharpest(event.parameter, moved, whole.guarantee, choice, friendly_sigma_squared_up)
        if variance == event.parameter:
            return event
        return replace(event, parameter=variance, cost=Cost(None, Fraction(moved) / (2 * variance)))

    def sharper(self, whole: Share | None, planned: Callable[[Share | None], Sequence[Event]]) -> Share | None:
        """Return the larger share that a plan of Gaussian releases alone may divide, as their exact delta allows it.

        Parameters
        ----------
        whole : Share or None
            What pays for all of the plan.
        planned : callable
            From a share to everything that the plan charges. A ledger refuses a plan that charges more than that.

        Notes
        -----
        *Privacy.* `privet.privacy.exact_gaussian` has the proof. Where it does not hold for what is planned, the share
        stays what it is.
        """
        if whole is None or whole.guarantee is None or whole.rho is None:
            return whole
        epsilon, delta = whole.guarantee
        sharp = Share(rho=exact_gaussian.sharpest_rho(whole.rho, epsilon, delta))
        return sharp if exact_gaussian.of_events(planned(sharp), self.steps, epsilon) <= float(delta) else whole

    def permute_and_flip(
        self, name: str, epsilon: Fraction, *, score_range: Fraction | int = 1, sees: str = "all records"
    ) -> Event:
        """Plan a permute-and-flip selection with rate ``epsilon / (score_range * steps)``, rounded down."""
        _check_positive(name, epsilon)
        rate = friendly_rate_down(epsilon / (Fraction(score_range) * self.steps))
        return Event(name, Mechanism.PERMUTE_AND_FLIP, rate, Fraction(score_range), Cost.pure(epsilon), sees)

    def exponential(
        self, name: str, rho: Fraction, *, score_range: Fraction | int = 1, sees: str = "all records"
    ) -> Event:
        """Plan an exponential-mechanism selection of ``epsilon^2 / 8 = rho``; both measures are charged."""
        _check_positive(name, rho)
        rate = friendly_rate_down(_root_down(8 * rho) / (Fraction(score_range) * self.steps))
        epsilon = rate * Fraction(score_range) * self.steps
        return Event(name, Mechanism.EXPONENTIAL, rate, Fraction(score_range), Cost(epsilon, rho), sees)


def unproven(name: str, mechanism: Mechanism, parameter: Fraction, flaw: str, sees: str = "all records") -> Event:
    """Make an event for an algorithm printed with a broken proof: it draws as printed, and proves nothing."""
    return Event(name, mechanism, parameter, Fraction(0), Cost.unbounded(), sees, flaw)


def _without_privacy(name: str, sees: str) -> Event:
    return Event(name, Mechanism.NOTHING, Fraction(0), Fraction(0), Cost.unbounded(), sees)


def _check_positive(name: str, budget: Fraction) -> None:
    if budget <= 0:
        raise ParameterError(f"{name}: its share of the budget is zero; give it a positive share")


def _root_down(x: Fraction, bits: int = 64) -> Fraction:
    """Return a dyadic number just below the square root of `x`."""
    return Fraction(math.isqrt((x.numerator << (2 * bits)) // x.denominator), 1 << bits)


def friendly_scale_up(scale: Fraction) -> Fraction:
    """Round a discrete Laplace's scale up to a dyadic fraction of at most 33 significant bits.

    The relative error is at most 2^-31; scales below 2^-20 become 2^-20. A larger scale is never less private.
    """
    if scale <= 0:
        raise ParameterError(f"a scale must be positive; got {scale}")
    scale = max(scale, _SMALLEST_SCALE)
    shift = _FRIENDLY_BITS - scale.numerator.bit_length() + scale.denominator.bit_length()
    step = Fraction(2) ** -shift
    return math.ceil(scale / step) * step


def friendly_sigma_squared_up(sigma_squared: Fraction) -> Fraction:
    """Round a discrete Gaussian's sigma squared up to the square of a friendly scale.

    The relative error is at most 2^-29. A sampler that knows sigma itself as a fraction works with small integers.
    """
    if sigma_squared <= 0:
        raise ParameterError(f"a variance must be positive; got {sigma_squared}")
    # The root in integers, rounded up, with about 40 bits whatever the size of sigma_squared.
    magnitude = sigma_squared.numerator.bit_length() - sigma_squared.denominator.bit_length()
    resolution = 2 ** max(0, 40 - magnitude // 2)
    root = math.isqrt(math.ceil(sigma_squared * resolution**2) - 1) + 1
    return friendly_scale_up(Fraction(root, resolution)) ** 2


def friendly_rate_down(rate: Fraction) -> Fraction:
    """Round a selection's rate down to the reciprocal of a friendly scale; 0 stays 0, and 2^20 is the largest.

    Up to there the relative error is at most 2^-31. A lower rate is never less private.
    """
    if rate < 0:
        raise ParameterError(f"a selection's rate must not be negative; got {rate}")
    return Fraction(0) if rate == 0 else 1 / friendly_scale_up(1 / rate)
