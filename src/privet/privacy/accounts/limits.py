"""What an account may spend: pure epsilon, zCDP, or (epsilon, delta), and which charges it still admits.

Charges are chosen adaptively: an analyst sees one model before training the next. So a limit is a *filter*: a bound on
the sum of costs along every run, fixed beforehand.

Notes
-----
*Privacy.* Pure epsilon and zCDP have filters; see `privet.privacy.events.Filter` for the proofs. An account of
(epsilon, delta) fixes a rho whose conversion at delta is at most epsilon, and admits a charge as long as the sum of
the pure epsilons is at most epsilon, *or* the sum of the rhos is at most that rho. Both together need no larger delta.
Let A be the outcomes whose run ends within the first bound, B the others; these end within the second. The likelihood
of an outcome in A changes by a factor of at most e^epsilon. As to B, compare with the process that stops before the sum
of the rhos would exceed its bound: it satisfies rho-zCDP, hence (epsilon, delta), and outcomes in B have the same
probabilities in both. So ``P(A or B) <= e^epsilon Q(A) + e^epsilon Q(B) + delta``.

Privacy-loss distributions have no such filter. They are valid for costs that were fixed in advance, so they are used
for *slots*: how many charges of which cost, or with which releases, there will be is declared when the account is
created, and a charge takes a slot that is at least as large. What is released in a slot may be chosen adaptively, since
each slot has dominating pairs that were fixed before (Zhu, Dong and Wang 2022, Theorem 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from privet.errors import BudgetError
from privet.parameters import exact
from privet.privacy import conversions
from privet.privacy.accounts.entries import decimal_down
from privet.privacy.accounts.losses import epsilon_of_slots
from privet.privacy.accounts.slots import Slot
from privet.privacy.events import Cost
from privet.privacy.statements import stated_down, stated_up

Measure = Literal["epsilon", "zcdp", "approximate", "slots"]

ACCOUNTANTS: dict[Measure, str] = {
    "epsilon": "the sum of the epsilons (a filter: charges may be chosen adaptively)",
    "zcdp": "the sum of the rhos (a zCDP filter: charges may be chosen adaptively)",
    "approximate": "the smaller of the sum of the epsilons and the conversion of the sum of the rhos at delta "
    "(two filters: charges may be chosen adaptively)",
    "slots": "privacy-loss distributions of all declared slots (their costs are fixed; what is done in them may adapt)",
}


@dataclass(frozen=True)
class Limit:
    """What may be spent, in one of four measures; the fields that the measure does not use are None, 0 or empty."""

    measure: Measure
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    slots: tuple[Slot, ...] = ()

    @staticmethod
    def of(
        epsilon: object = None,
        delta: object = 0.0,
        rho: object = None,
        slots: Sequence[Slot] = (),
        name: str = "account",
    ) -> Limit:
        """Read a user's numbers: ``epsilon``, ``epsilon`` and ``delta``, ``rho``, or those of all slots together.

        Examples
        --------
        >>> Limit.of(epsilon=3).measure, Limit.of(rho=0.5).measure, Limit.of(epsilon=3, delta=1e-6).measure
        ('epsilon', 'zcdp', 'approximate')
        """
        if (epsilon is None) == (rho is None):
            raise BudgetError(f"an {name} needs either epsilon (and delta) or rho; give one of them")
        if rho is not None:
            if slots or delta:
                raise BudgetError(f"an {name} of rho takes neither delta nor slots; leave them out")
            return Limit("zcdp", rho=_positive(rho, "rho"))
        e, d = _positive(epsilon, "epsilon"), exact(delta, "delta")
        if not 0 <= d < 1:
            raise BudgetError(f"delta must be in [0, 1), got {delta}; take one far below one in the number of people")
        if slots:
            return _of_slots(e, d, tuple(slots))
        if d == 0:
            return Limit("epsilon", epsilon=e)
        return Limit("approximate", e, d, decimal_down(conversions.epsilon_to_zcdp(e, d)))

    def admits(self, total: Cost) -> bool:
        """Whether a sum of costs is within the limit; slots are counted by the account instead."""
        within_epsilon = self.epsilon is not None and total.epsilon is not None and total.epsilon <= self.epsilon
        within_rho = self.rho is not None and total.rho is not None and total.rho <= self.rho
        return within_epsilon or within_rho

    def reading(self, total: Cost) -> Fraction | None:
        """Return what a sum of costs comes to in the unit of the limit, rounded up; None if there is no bound on it."""
        if self.measure == "zcdp":
            return total.rho
        if self.measure == "epsilon" or total.rho is None:
            return total.epsilon
        if not total.rho:
            return total.epsilon
        # The largest rho was derived from epsilon by rounding down, so it costs no more than that epsilon.
        converted = self.epsilon if total.rho == self.rho else conversions.zcdp_to_epsilon(total.rho, self.delta)
        return converted if total.epsilon is None or converted is None else min(converted, total.epsilon)

    @property
    def unit(self) -> str:
        """What `size` and `reading` count: "epsilon" or "rho"."""
        return "rho" if self.measure == "zcdp" else "epsilon"

    @property
    def size(self) -> Fraction:
        """All of it, in its unit."""
        size = self.rho if self.measure == "zcdp" else self.epsilon
        assert size is not None
        return size

    def covers(self, other: Limit) -> bool:
        """Whether this limit is at least as large as another one of the same measure and delta."""
        return (self.measure, self.delta) == (other.measure, other.delta) and self.size >= other.size

    def __str__(self) -> str:
        delta = f", delta {stated_up(self.delta)}" if self.delta else ""
        return f"{self.unit} {stated_down(self.size)}{delta}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, numbers as text."""
        return {
            "measure": self.measure,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "delta": str(self.delta),
            "rho": None if self.rho is None else str(self.rho),
            **({"slots": [slot.to_dict() for slot in self.slots]} if self.slots else {}),
        }

    @staticmethod
    def from_dict(data: Any) -> Limit:
        """Read what `to_dict` wrote."""
        if data["measure"] not in get_args(Measure):
            raise ValueError(f"unknown measure {data['measure']!r}")
        epsilon, rho = (None if data[key] is None else Fraction(data[key]) for key in ("epsilon", "rho"))
        slots = tuple(Slot.from_dict(slot) for slot in data.get("slots", ()))
        return Limit(data["measure"], epsilon, Fraction(data["delta"]), rho, slots)


def _positive(value: object, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise BudgetError(f"{name} must be positive, got {value}; a usual epsilon for all that is released is 1 to 10")
    return number


def _of_slots(epsilon: Fraction, delta: Fraction, slots: tuple[Slot, ...]) -> Limit:
    needed = epsilon_of_slots(slots, delta)
    if needed is None or needed > epsilon:
        raise BudgetError(
            f"these slots come to epsilon {stated_up(needed)} at delta {stated_up(delta)}, which is more than "
            f"{stated_down(epsilon)}; declare fewer or smaller ones, or a larger epsilon"
        )
    return Limit("slots", epsilon, delta, slots=slots)
