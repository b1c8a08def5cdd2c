"""What is charged: costs, events, and how they compose. Everything here is frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from privet.errors import BudgetError, ParameterError
from privet.privacy.conversions import epsilon_to_zcdp, mixture_epsilon


class Mechanism(StrEnum):
    """The ways in which anything leaves the private side."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "discrete Gaussian"
    CUBE = "discrete cube noise"
    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential mechanism"
    NOTHING = "no noise"
    FEATURES_ONLY = "free: looks at features only"


@dataclass(frozen=True)
class Cost:
    """What something costs under two measures at once; ``None`` means that there is no bound.

    Every mechanism of the library has a zCDP cost ``rho``; all but Gaussian noise also have a pure cost ``epsilon``.
    With both, one algebra serves both kinds of guarantee: costs add up in sequence, and the largest counts where
    mechanisms see disjoint records.
    """

    epsilon: Fraction | None
    rho: Fraction | None

    def __add__(self, other: Cost) -> Cost:
        return Cost(_plus(self.epsilon, other.epsilon), _plus(self.rho, other.rho))

    def __or__(self, other: Cost) -> Cost:
        return Cost(_larger(self.epsilon, other.epsilon), _larger(self.rho, other.rho))

    @staticmethod
    def nothing() -> Cost:
        """The cost of what does not look at the data."""
        return Cost(Fraction(0), Fraction(0))

    @staticmethod
    def unbounded() -> Cost:
        """The cost of what has no proof."""
        return Cost(None, None)

    @staticmethod
    def pure(epsilon: Fraction) -> Cost:
        """The cost of a mechanism of which only a pure epsilon is known; (epsilon^2 / 2)-zCDP follows from it."""
        return Cost(epsilon, epsilon * epsilon / 2)


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


@dataclass(frozen=True)
class Event:
    """One use of one mechanism, as planned and as charged.

    Attributes
    ----------
    name : str
        What is released, in words.
    mechanism : Mechanism
        How.
    parameter : Fraction
        The exact number that the sampler uses: the scale of Laplace and cube noise, the variance parameter of Gaussian
        noise, or the rate that multiplies the scores of a selection.
    sensitivity : Fraction
        How much one added or removed *record* can change what is measured: in L1 for Laplace noise, in squared L2 for
        Gaussian noise, in the largest L1 norm of a group for cube noise, the range of the scores' changes for a
        selection.
    cost : Cost
        What is charged, under the declared neighbours and unit. The mechanism never spends more than this.
    sees : str
        Which records the mechanism looks at.
    flaw : str, optional
        Why the event proves nothing, for algorithms printed with a proof that does not hold.
    largest : Fraction, optional
        How much one added or removed record can change any *single* number of what is measured, where that is proven
        to be less than all of it: one for counts in many histograms. Noise of many small changes composes better.
    numbers : int, optional
        How many of the numbers that are measured one added or removed record can change at all, where a learner says so
        (`privet.privacy.exact_gaussian`).
    groups : tuple of int, optional
        For cube noise, and no other: the sizes of the consecutive groups into which the numbers are divided
        (`privet.privacy.cube_law`).
    """

    name: str
    mechanism: Mechanism
    parameter: Fraction
    sensitivity: Fraction
    cost: Cost
    sees: str = "all records"
    flaw: str | None = None
    largest: Fraction | None = None
    numbers: int | None = None
    groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if (self.mechanism is Mechanism.CUBE) != bool(self.groups) or min(self.groups or (1,)) < 1:
            raise ParameterError(
                f"{self.name}: cube noise, and no other mechanism, needs groups of at least one number"
            )

    def events(self) -> Iterator[Event]:
        """Yield the event itself: a composition of one."""
        yield self

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, that of the law without a grid; 0 where none is added.

        On whole numbers it is a few percent less at scales of about one, and much less below that. For code that weighs
        released values by their noise: the parameter is a scale for Laplace noise and a variance for Gaussian noise,
        and this is the only place where that matters. Of cube noise it is that of the noisiest number, which is one in
        a smallest group.
        """
        match self.mechanism:
            case Mechanism.LAPLACE:
                return math.sqrt(2) * float(self.parameter)
            case Mechanism.GAUSSIAN:
                return math.sqrt(self.parameter)
            case Mechanism.CUBE:
                assert self.groups is not None
                return self._deviation_in(min(self.groups))
        return 0.0

    def deviations(self, n_numbers: int = 1) -> tuple[float, ...]:
        """Return the standard deviation for each of so many numbers; cube noise has its own number of them.

        Under cube noise a number in a group of m has the variance of a point of a ball of that dimension, on a radius
        that is the sum of one exponential variable more than there are numbers.
        """
        if self.groups is None:
            return (self.deviation,) * n_numbers
        return tuple(self._deviation_in(m) for m in self.groups for _ in range(m))

    def _deviation_in(self, size: int) -> float:
        """Return the standard deviation of a number in a group of this size, of cube noise."""
        n_numbers = sum(self.groups or ())
        radius = float(self.parameter) * math.sqrt((n_numbers + 1) * (n_numbers + 2))
        return radius * math.sqrt(2 / ((size + 1) * (size + 2)))

    def to_dict(self) -> dict[str, object]:
        """Return plain data, fractions as text."""
        return {
            "name": self.name,
            "mechanism": str(self.mechanism),
            "parameter": str(self.parameter),
            "sensitivity": str(self.sensitivity),
            "epsilon": None if self.cost.epsilon is None else str(self.cost.epsilon),
            "rho": None if self.cost.rho is None else str(self.cost.rho),
            "sees": self.sees,
            "flaw": self.flaw,
            **({} if self.largest is None else {"largest": str(self.largest)}),
            **({} if self.numbers is None else {"numbers": self.numbers}),
            **({} if self.groups is None else {"groups": list(self.groups)}),
        }


class _OfParts:
    """What is common to all compositions of several parts."""

    parts: tuple[Composition, ...]

    def events(self) -> Iterator[Event]:
        """Yield all events below, in order."""
        for part in self.parts:
            yield from part.events()


@dataclass(frozen=True)
class Sequential(_OfParts):
    """Parts that may all look at the same record: their costs add up."""

    parts: tuple[Composition, ...]

    @property
    def cost(self) -> Cost:
        """The sum of the parts' costs."""
        total = Cost.nothing()
        for part in self.parts:
            total = total + part.cost
        return total


@dataclass(frozen=True)
class Parallel(_OfParts):
    """Parts that look at disjoint records, split by secret coins or by released choices: the largest counts.

    Under ``replace`` a record can leave one part and enter another. That is two add/remove steps, one in each part;
    `privet.privacy.terms.Terms` already charges two steps to every event, so the largest still bounds the sum of the
    two.
    """

    parts: tuple[Composition, ...]

    @property
    def cost(self) -> Cost:
        """The largest of the parts' costs, for each measure."""
        total = Cost.nothing()
        for part in self.parts:
            total = total | part.cost
        return total


@dataclass(frozen=True)
class Mixture(_OfParts):
    """Parts of which each record is in exactly one, by a secret coin that is fresh for this mixture.

    A release opens a mixture and tosses its coins in one call (`privet.mechanisms.release.Release.mixture`). An
    assignment that is fixed, public, or shared with other mixtures is *not* a mixture: charge it as `Parallel`.

    Parameters
    ----------
    weights : tuple of Fraction
        The coin's exact probabilities: positive multiples of 2^-64, which is what coins can do, that add up to one.
    parts : tuple of compositions
        What the records of each part are used for; later parts may depend on what earlier ones released.

    Notes
    -----
    *Privacy.* Fix the coins of all other records. A new record is in part i with probability w_i. Compared with its
    absence, which involves no coin, it then changes the likelihood of any output by a factor within e^(+-epsilon_i).
    So the mixture's factor is at most ``sum of w_i e^epsilon_i``, and at least ``sum of w_i e^-epsilon_i``, which is at
    least one over the former. Hence epsilon is ``ln(sum of w_i e^epsilon_i)``, never more than the largest epsilon_i.
    If epsilon_i is the cost of s steps, they are s such changes, each with its own coin, and
    ``s ln(sum of w_i e^(epsilon_i / s))`` is smaller still. Under zCDP a mixture is no farther from another than the
    farthest of its parts (divergences are quasi-convex): the largest rho.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> parts = [Event("", Mechanism.LAPLACE, 1 / e, Fraction(1), Cost.pure(e)) for e in (half, Fraction(2))]
    >>> round(readable(Mixture((half, half), tuple(parts)).cost.epsilon), 3), Parallel(tuple(parts)).cost.epsilon
    (1.508, Fraction(2, 1))
    """

    weights: tuple[Fraction, ...]
    parts: tuple[Composition, ...]

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.weights) or min(self.weights, default=0) <= 0 or sum(self.weights) != 1:
            raise ParameterError("a mixture needs a positive weight for each of its parts, adding up to one")
        if any(2**64 % weight.denominator for weight in self.weights):
            raise ParameterError("a mixture's weights must be multiples of 2^-64, so that coins have them exactly")

    @cached_property
    def cost(self) -> Cost:
        """The logarithm of the mean of e^epsilon, rounded up, and the largest rho."""
        costs = [part.cost for part in self.parts]
        largest = Cost.nothing()
        for cost in costs:
            largest = largest | cost
        epsilons = tuple(cost.epsilon for cost in costs if cost.epsilon is not None)
        epsilon = mixture_epsilon(self.weights, epsilons) if len(epsilons) == len(costs) else None
        return Cost(epsilon, largest.rho)


@dataclass(frozen=True)
class Filter(_OfParts):
    """Parts whose budgets are decided along the way, from released values, under a total that was fixed before.

    Parameters
    ----------
    name : str
        What the parts are, in words.
    cap : Cost
        The total, and the cost of the filter, however much of it was charged. A measure without a bound here is not
        guaranteed.
    parts : tuple of compositions
        What was actually charged. It is a function of released values, so it may be shown. A plan has none.

    Notes
    -----
    *Privacy.* Ordinary composition theorems need budgets that are fixed in advance, and do not cover budgets that
    depend on earlier outcomes. With a cap on their sum along *every* run, two of them still hold. *Pure*: the
    likelihood of a run is a product. Given the outcomes before it, factor t changes by at most ``e^(+-epsilon_t)``,
    where epsilon_t is a function of those outcomes. Along each run the epsilon_t add up to at most the cap, so the
    product changes by at most ``e^(+-cap)``.
    *zCDP*: for each order a > 1, given the outcomes o_<t, the mean of ``(P_t / Q_t)^a`` under Q_t is at most
    ``exp(a (a - 1) rho_t)``. So the product of ``(P_t / Q_t)^a exp(-a (a - 1) rho_t)`` has a mean of at most one, by
    conditioning step by step from the last; and as the rho_t of every run add up to at most the cap, the mean of
    ``(P / Q)^a`` is at most ``exp(a (a - 1) cap)``: cap-zCDP (Feldman and Zrnic 2021; Whitehouse et al. 2023). The cap
    does not depend on a, which is why zCDP has such a filter and advanced composition has not. Numerical accountants
    (PLD, exact Gaussian privacy) need a fixed sequence; none is used here.
    """

    name: str
    cap: Cost
    parts: tuple[Composition, ...] = ()

    def __post_init__(self) -> None:
        spent = Sequential(self.parts).cost
        if exceeds(spent, self.cap):
            raise BudgetError(f"{self.name}: its parts cost more than its cap; nothing may be drawn beyond it")

    @property
    def cost(self) -> Cost:
        """The cap; where it is of epsilon alone, it is one of rho as well: epsilon-DP is (epsilon^2 / 2)-zCDP."""
        if self.cap.epsilon is not None and self.cap.rho is None:
            return Cost.pure(self.cap.epsilon)
        return self.cap


@dataclass(frozen=True)
class Either(_OfParts):
    """One of several mechanisms, decided from released values, each of which keeps one and the same guarantee.

    Parameters
    ----------
    name : str
        What the parts are, in words.
    epsilon, delta : Fraction
        What every alternative keeps, each in its own way: by pure epsilon, by zCDP, or by the exact delta of its noise
        (`privet.privacy.keeping`).
    parts : tuple of compositions
        What was actually charged. It is a function of released values, so it may be shown. A plan has none.

    Notes
    -----
    *Privacy.* Let z be all that was released before, with laws p and q under two neighbours, of a mechanism that is
    epsilon_0-DP; and let M_z, the mechanism that z decides on, be (epsilon, delta)-DP for every z. For a set S of
    outcomes, with S_z those that begin with z,
    ``P(S) = sum of p(z) P_z(S_z) <= sum of p(z) min(1, e^epsilon Q_z(S_z) + delta)``. That is at most
    ``sum of e^epsilon_0 q(z) e^epsilon Q_z(S_z) + delta sum of p(z) = e^(epsilon_0 + epsilon) Q(S) + delta``. It does
    not matter why M_z keeps its guarantee, nor that another z decides on a mechanism that has another reason to:
    deltas of different z do not add up, since each counts as often as its z is released. So this is (epsilon, delta)-DP
    given z, and in sequence with others epsilons and deltas are added (basic composition, which is adaptive).

    *What is released inside before the decision* must be pure, and its epsilon is taken from what is left for the
    alternative: then the same argument holds once more, with that release in place of z.

    *zCDP.* Given z, an alternative of pure epsilon is (epsilon^2 / 2)-zCDP. One that is counted in zCDP has the largest
    rho that is worth (epsilon, delta), and one by its exact delta is not allowed more than four times that. Divergences
    of mechanisms that depend on z are those of the worst z, as for a filter: the larger of the two is a true rho. It is
    above what zCDP itself would allow for the guarantee, so accounts that add up rhos are charged for another plan.

    Examples
    --------
    >>> either = Either("a model", Fraction(1), Fraction(1, 10**6))
    >>> either.cost.epsilon, either.cost.rho
    (None, Fraction(1, 2))
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    parts: tuple[Composition, ...] = ()

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 < self.delta < 1:
            raise ParameterError(
                f"{self.name}: alternatives need a positive epsilon and delta, got {self.epsilon} and {self.delta}"
            )

    @property
    def cost(self) -> Cost:
        """No pure epsilon, and the rho of the alternative that has most; whichever was taken."""
        return Cost(None, max(self.epsilon**2 / 2, 4 * epsilon_to_zcdp(self.epsilon, self.delta)))


Composition = Event | Sequential | Parallel | Mixture | Filter | Either


def has_mixture(part: Composition) -> bool:
    """Whether a composition relies on a secret coin for each record."""
    if isinstance(part, Event):
        return False
    return isinstance(part, Mixture) or any(map(has_mixture, part.parts))


def alternatives(part: Composition) -> Iterator[Either]:
    """Yield every part among whose alternatives released values decide."""
    if isinstance(part, Either):
        yield part
    if not isinstance(part, Event):
        for child in part.parts:
            yield from alternatives(child)


def has_alternatives(part: Composition) -> bool:
    """Whether released values decide what kind of guarantee a part of a composition keeps."""
    return any(True for _ in alternatives(part))


def exceeds(spent: Cost, cap: Cost) -> bool:
    """Whether a cost is above a cap in a measure in which the cap has a bound."""
    measures = (spent.epsilon, cap.epsilon), (spent.rho, cap.rho)
    return any(most is not None and (value is None or value > most) for value, most in measures)


def readable(x: Fraction | None) -> float:
    """Return the float whose printed form is at least `x`, so that a claim is never understated."""
    if x is None:
        return math.inf
    value = float(x)
    return value if Fraction(repr(value)) >= x else math.nextafter(value, math.inf)


def readable_down(x: Fraction) -> float:
    """Return the float whose printed form is at most `x`, so that what remains is never overstated."""
    return 0.0 - readable(-x)
