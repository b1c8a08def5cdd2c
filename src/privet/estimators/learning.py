"""What a learner is: it plans from public facts, then grows a model from a table through a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.mechanisms.release import Randomness, Release
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables import Table

PlanT = TypeVar("PlanT", bound=Plan)
Sharing = Literal["sequential", "disjoint"]  # all trees see all records, or each record is assigned to one tree


@dataclass(frozen=True)
class Hints:
    """Public facts that a user vouches for. They are assumptions: never compared with the data, never read off it.

    Attributes
    ----------
    n_rows : int, optional
        A guess at the number of records.
    shared_coins : bool
        Whether records may share their secret coins, since these go by a column of the table.
    rows_deviation : float
        The deviation of the noise in that number, where it was bought; nothing where somebody vouches for it.
    """

    n_rows: int | None = None
    shared_coins: bool = False
    rows_deviation: float = 0.0


@dataclass(frozen=True)
class Circumstances:
    """What a fit is planned under, beside schema and hints; none of it depends on a record.

    Attributes
    ----------
    noise : Randomness
        Where noise comes from, which may be a doubt.
    shared_coins : bool
        As in `Hints`.
    by_rho : bool
        Whether an account is charged that adds up rhos, so that noise is not to go by its exact delta.
    """

    noise: Randomness
    shared_coins: bool = False
    by_rho: bool = False


class Model(Protocol):
    """What was learned. It is made of released values only, so it is public."""

    @property
    def encoding(self) -> Encoding:
        """How a frame becomes codes."""
        ...

    def votes(self, codes: NDArray[np.unsignedinteger], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return one row for each record, a share of the vote for each class, adding up to one."""
        ...


class RegressionModel(Model, Protocol):
    """A model for regression."""

    def predictions(self, codes: NDArray[np.unsignedinteger], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return the prediction for each record, in the target's units."""
        ...


class Learner(Protocol[PlanT]):
    """One system, with its own kind of plan. Learners are frozen dataclasses: they have parameters and no state."""

    @property
    def bins(self) -> int:
        """Number of cells of numeric features whose schema does not set it."""
        ...

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PlanT:
        """Split the whole budget by public facts alone; `share` is None for a model without privacy."""
        ...

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PlanT) -> Model:
        """Grow the model: everything that depends on the data goes through `release`."""
        ...
