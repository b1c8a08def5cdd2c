"""What every plan has: how its events compose, and what a reader of the ledger is shown besides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from privet.privacy.events import Composition


class Plan(ABC):
    """How a learner will spend, decided before it sees data.

    Each learner has a plan of its own, a frozen dataclass with its events as fields: growth charges these very objects,
    and opens its scopes (`Release.mixture`, `Release.filter`) with the very compositions that were planned.
    """

    @property
    @abstractmethod
    def whole(self) -> Composition:
        """All events and how they compose."""

    @property
    def facts(self) -> Mapping[str, object]:
        """What else was decided from public knowledge, such as a depth: shown below the ledger of a plan."""
        return {}
