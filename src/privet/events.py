"""What is charged: costs, events, and how they compose. Everything here is frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction


class Mechanism(StrEnum):
    """The ways in which anything leaves the private side."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "discrete Gaussian"
    PERMUTE_AND_FLIP = "permute-and-flip"
    EXPONENTIAL = "exponential mechanism"
    NOTHING = "no noise"


@dataclass(frozen=True)
class Cost:
    """What something costs under two measures at once; ``None`` means that there is no bound.

    Every mechanism of the house has a zCDP cost ``rho``; all but Gaussian noise also have a pure cost ``epsilon``.
    Keeping both lets one algebra serve both kinds of guarantee: costs add up in sequence, and where mechanisms see
    disjoint records the largest counts.
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
        """The cost of a mechanism of which only pure epsilon is known: (epsilon^2 / 2)-zCDP follows."""
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
        The exact number that the sampler uses: the scale of Laplace noise, the variance parameter of Gaussian noise,
        or the rate that multiplies the scores of a selection.
    sensitivity : Fraction
        How much one added or removed *record* can change what is measured: in L1 for Laplace noise, in squared L2 for
        Gaussian noise, the range of the scores' changes for a selection.
    cost : Cost
        What is charged, under the declared neighbours and unit. The mechanism never spends more than this.
    sees : str
        Which records the mechanism looks at.
    flaw : str, optional
        Why the event proves nothing, for algorithms printed with a proof that does not hold.
    """

    name: str
    mechanism: Mechanism
    parameter: Fraction
    sensitivity: Fraction
    cost: Cost
    sees: str = "all records"
    flaw: str | None = None

    def events(self) -> Iterator[Event]:
        """Yield the event itself: a composition of one."""
        yield self

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
        }


@dataclass(frozen=True)
class Sequential:
    """Parts that may all look at the same record: their costs add up."""

    parts: tuple[Composition, ...]

    @property
    def cost(self) -> Cost:
        """The sum of the parts' costs."""
        total = Cost.nothing()
        for part in self.parts:
            total = total + part.cost
        return total

    def events(self) -> Iterator[Event]:
        """Yield all events below, in order."""
        for part in self.parts:
            yield from part.events()


@dataclass(frozen=True)
class Parallel:
    """Parts that look at disjoint records, split by secret coins or by released choices: the largest counts.

    Under ``replace`` a record can leave one part and enter another. That is two add/remove steps, one in each part;
    `privet.terms.Terms` already charges two steps to every event, so the largest still bounds the sum of the two.
    """

    parts: tuple[Composition, ...]

    @property
    def cost(self) -> Cost:
        """The largest of the parts' costs, for each measure."""
        total = Cost.nothing()
        for part in self.parts:
            total = total | part.cost
        return total

    def events(self) -> Iterator[Event]:
        """Yield all events below, in order."""
        for part in self.parts:
            yield from part.events()


Composition = Event | Sequential | Parallel


@dataclass(frozen=True)
class Plan:
    """How a learner will spend, decided before it sees data.

    ``events`` gives each planned event the name of its role in the algorithm (``plan["leaves"]``), ``whole`` says how
    they compose, and ``facts`` holds what else was decided from public knowledge (a depth, a number of trees).
    """

    events: Mapping[str, Event]
    whole: Composition
    facts: Mapping[str, object] = field(default_factory=dict)

    def __getitem__(self, role: str) -> Event:
        return self.events[role]

    @staticmethod
    def in_sequence(facts: Mapping[str, object] | None = None, /, **events: Event) -> Plan:
        """Plan a few events that all may look at every record."""
        return Plan(dict(events), Sequential(tuple(events.values())), dict(facts or {}))


def readable(x: Fraction | None) -> float:
    """Return the float whose printed form is at least `x`, so that a claim is never understated."""
    if x is None:
        return math.inf
    value = float(x)
    return value if Fraction(repr(value)) >= x else math.nextafter(value, math.inf)
