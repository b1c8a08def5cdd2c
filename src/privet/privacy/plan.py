"""What every plan has: how its events compose, and further facts for the reader of the ledger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from privet.errors import ParameterError
from privet.privacy.events import Composition, Event, Sequential
from privet.privacy.terms import Share, Terms


class Plan(ABC):
    """How a learner will spend, decided before it sees data.

    Each learner has its own kind of plan: a frozen dataclass with its events as fields. Growth charges these very
    objects, and opens its scopes (`Release.mixture`, `filter`, `parallel`, `branch`) with the very compositions that
    were planned.
    """

    @property
    @abstractmethod
    def whole(self) -> Composition:
        """All events and how they compose."""

    @property
    def facts(self) -> Mapping[str, object]:
        """What else was decided from public knowledge, such as a depth. Shown below the ledger of a plan."""
        return {}


class InSequence(Plan):
    """A plan whose events may all look at every record, so that their costs add up.

    A subclass is a frozen dataclass. Fields that hold events, or tuples of events, are charged in order; all other
    fields are facts.
    """

    @property
    def whole(self) -> Sequential:
        """All events of all fields, one after the other."""
        return Sequential(tuple(event for value in self._fields().values() for event in _events(value)))

    @property
    def facts(self) -> Mapping[str, object]:
        """The fields that hold no events."""
        return {name.replace("_", " "): value for name, value in self._fields().items() if not _is_spent(value)}

    def _fields(self) -> dict[str, object]:  # of the dataclass that a subclass is
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def _events(value: object) -> Iterator[Event]:
    if isinstance(value, Event):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _events(part)


def _is_spent(value: object) -> bool:
    return isinstance(value, Event | tuple)


@dataclass(frozen=True)
class PlanWithoutNoise(Plan):
    """The plan of a forest that has no private form: one event without noise, the whole forest."""

    n_trees: int
    forest: Event

    @staticmethod
    def of(n_trees: int, terms: Terms, share: Share | None) -> PlanWithoutNoise:
        """Plan the forest; refuse any budget, since this forest cannot keep one."""
        if share is not None:
            raise ParameterError("this forest has no private form: set epsilon=None")
        return PlanWithoutNoise(n_trees, terms.choice("the forest", None, sees="all records, without noise"))

    @property
    def whole(self) -> Sequential:
        """The one event."""
        return Sequential((self.forest,))

    @property
    def facts(self) -> dict[str, object]:
        """The number of trees."""
        return {"trees": self.n_trees}
