"""What a learner is: it plans from public facts, then grows a model from a table through a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.mechanisms.release import Release
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables import Table

PlanT = TypeVar("PlanT", bound=Plan)
Sharing = Literal["sequential", "disjoint"]  # all trees see all records, or each record is dealt to one tree


@dataclass(frozen=True)
class Hints:
    """Public facts that a user vouches for. They are assumptions: never checked against the data, never read off it."""

    n_rows: int | None = None


class Model(Protocol):
    """What was learned; public by the time that it exists."""

    @property
    def encoding(self) -> Encoding:
        """How a frame becomes codes."""
        ...

    def votes(self, codes: NDArray[np.unsignedinteger], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return one row for each record, a share of the vote for each class, adding up to one."""
        ...


class NumberModel(Model, Protocol):
    """A model of a number within a range."""

    def numbers(self, codes: NDArray[np.unsignedinteger], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return the predicted number of each record, in the target's units."""
        ...


class Learner(Protocol[PlanT]):
    """One system, with the kind of plan that is its own. Learners are frozen dataclasses: parameters in, no state."""

    @property
    def bins(self) -> int:
        """How fine a grid it wants for numeric features whose schema leaves that open."""
        ...

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PlanT:
        """Decide the whole split of the budget from public facts; `share` is None for a model without privacy."""
        ...

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PlanT) -> Model:
        """Grow the model: everything that depends on the data goes through `release`."""
        ...
