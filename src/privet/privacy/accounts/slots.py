"""Slots: charges that are declared in advance, by their cost or by all of their releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.errors import BudgetError, PrivetError
from privet.privacy.accounts.entries import decimal_up
from privet.privacy.accounts.pairs import Pair, has_table
from privet.privacy.events import Composition, Cost, Event, Mechanism, Parallel, Sequential, exceeds, has_alternatives
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Terms, friendly_sigma_squared_up

MOST_SLOTS = 100_000
MOST_KINDS = 200  # of different releases of one charge; one that has more counts by its cost

Counted = tuple[Pair, int]  # equal releases, and how many of them
Releases = tuple[Counted, ...]

_NEARLY = Fraction(1, 10**6)  # by how much rounded rates and scales may differ from what was asked for


@dataclass(frozen=True)
class Slot:
    """So many charges, each of at most this pure epsilon, or this rho, or with the planned releases.

    Attributes
    ----------
    count : int
        How many.
    epsilon, rho : Fraction, optional
        What each may cost: one of the two, or what a plan costs, in both measures where it has both.
    planned : tuple of (Pair, int)
        The releases of a plan, for a slot that was declared by one.
    what : str
        The learner of the plan.

    Examples
    --------
    >>> print(Slot.parse("50 x 0.1"), "and", Slot.parse("10 x rho 0.001"))
    50 x 0.1 and 10 x rho 0.001
    """

    count: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    planned: Releases = ()
    what: str = ""

    @staticmethod
    def parse(text: str) -> Slot:
        """Read ``COUNT x EPSILON``, ``COUNT x rho RHO``, or ``COUNT x FILE.json`` with a plan or a model in it."""
        count, times, size = text.replace("×", "x").partition("x")
        size = size.strip()
        try:
            number = int(count) if times else 0
            if number >= 1 and size.lower().endswith(".json"):
                return Slot.of(number, *_read_plan(Path(size)))
            own = Fraction(size.replace("rho", "").strip())
            slot = Slot(number, rho=own) if "rho" in size else Slot(number, epsilon=own)
        except (ValueError, ZeroDivisionError) as error:
            if isinstance(error, PrivetError):
                raise
            slot = Slot(0, epsilon=Fraction(0))
        if slot.size <= 0 or not 1 <= slot.count <= MOST_SLOTS:
            raise BudgetError(
                f"a slot is COUNT x EPSILON, COUNT x rho RHO or COUNT x PLAN.json, got {text!r:.60}; e.g. '50 x 0.1'"
            )
        return slot

    @staticmethod
    def of(count: int, plan: Ledger, what: str = "a fit") -> Slot:
        """Declare so many fits with the releases of a plan: ``estimator.plan()``."""
        if not 1 <= count <= MOST_SLOTS:
            raise BudgetError(f"the number of slots must be from 1 to {MOST_SLOTS:,}, got {count}")
        if not plan.proven:
            raise BudgetError(f"{what} has no guarantee ({'; '.join(plan.why)}), so no slot can be declared for it")
        if has_alternatives(plan.composition):  # a fit under an account goes by rho, and has no more of it than this
            assert plan.allowance is not None
            assert plan.allowance.rho is not None
            return Slot(count, rho=decimal_up(plan.allowance.rho))
        plan = _by_rho(plan)
        releases = releases_of(plan)
        if not releases:
            raise BudgetError(f"{what} plans no release, so it needs no slot")
        epsilon, rho = charged(plan.cost, what)
        return Slot(count, epsilon, rho, releases, what)

    @property
    def releases(self) -> Releases:
        """What one charge releases, at the most."""
        if self.planned:
            return self.planned
        return ((Pair.pure(self.size) if self.rho is None else Pair("zcdp", self.size), 1),)

    @property
    def cost(self) -> Cost:
        """What one charge costs, at the most."""
        return (
            Cost.pure(self.epsilon) if self.epsilon is not None and self.rho is None else Cost(self.epsilon, self.rho)
        )

    @property
    def size(self) -> Fraction:
        """Its epsilon, or its rho where it has none."""
        size = self.rho if self.epsilon is None else self.epsilon
        assert size is not None
        return size

    def affords(self, cost: Cost) -> bool:
        """Whether a charge costs no more than was declared."""
        return not exceeds(cost, Cost(self.epsilon, self.rho))

    def covers(self, releases: Releases) -> bool:
        """Whether a charge has no other releases than were declared, provably; true if none were."""
        return not self.planned or covered(releases, self.planned)

    @property
    def order(self) -> tuple[int, Fraction]:
        """The order in which slots are tried: those of releases, of epsilon, of rho; small ones first."""
        return (0 if self.planned else 1 if self.rho is None else 2, self.size)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, numbers as text."""
        planned: dict[str, Any] = {}
        if self.planned:
            planned = {"what": self.what, "releases": releases_to_data(self.planned)}
        return {
            "count": self.count,
            **({} if self.epsilon is None else {"epsilon": str(self.epsilon)}),
            **({} if self.rho is None else {"rho": str(self.rho)}),
            **planned,
        }

    @staticmethod
    def from_dict(data: Any) -> Slot:
        """Read what `to_dict` wrote."""
        epsilon, rho = (Fraction(data[unit]) if unit in data else None for unit in ("epsilon", "rho"))
        slot = Slot(int(data["count"]), epsilon, rho)
        if "releases" in data:
            slot = replace(slot, planned=releases_from_data(data["releases"]), what=str(data["what"]))
        if slot.count < 1 or slot.size <= 0 or (rho is not None and epsilon is not None and not slot.planned):
            raise ValueError(f"not a slot: {data!r:.60}")
        return slot

    def __str__(self) -> str:
        if self.planned:
            return f"{self.count} x {self.what}"
        return f"{self.count} x {'' if self.rho is None else 'rho '}{float(self.size):g}"


def _read_plan(path: Path) -> tuple[Ledger, str]:
    """Read what ``privet plan --json`` printed, or the ledger of a model file."""
    from privet.privacy.text import ledger_from_dict

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        ledger = data["plan"] if "plan" in data else data["privacy"]
        what = str(data.get("learner", path.name))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BudgetError(
            f"{path}: no plan can be read from it ({type(error).__name__}); write one with `privet plan ... --json`"
        ) from error
    return ledger_from_dict(ledger), what


def _by_rho(plan: Ledger) -> Ledger:
    """Return the plan that a fit has under an account: noise that went by its exact delta goes by rho there."""
    if not plan.beyond_rho:
        return plan
    assert plan.allowance is not None
    assert plan.allowance.rho is not None
    allowed = plan.allowance.rho
    noise = _rho_of(e for e in plan.events if e.mechanism is Mechanism.GAUSSIAN)
    part = (allowed - (_rho_of(plan.events) - noise)) / noise
    events = [_with_less(e, part) if e.mechanism is Mechanism.GAUSSIAN else e for e in plan.events]
    return Ledger.stating(plan.terms, plan.allowance, Sequential(tuple(events)))


def _rho_of(events: Iterable[Event]) -> Fraction:
    return sum((event.cost.rho or Fraction(0) for event in events), Fraction(0))


def _with_less(event: Event, part: Fraction) -> Event:
    assert event.cost.rho is not None
    return replace(
        event, parameter=friendly_sigma_squared_up(event.parameter / part), cost=Cost(None, event.cost.rho * part)
    )


def charged(cost: Cost, what: str) -> tuple[Fraction | None, Fraction]:
    """Return what is charged for a cost: epsilon, if there is one, and rho, both rounded up to what a history holds."""
    rho = cost.rho if cost.rho is not None or cost.epsilon is None else cost.epsilon * cost.epsilon / 2
    if rho is None:
        raise BudgetError(f"{what} has neither an epsilon nor a rho that could be charged; nothing was drawn")
    return None if cost.epsilon is None else decimal_up(cost.epsilon), decimal_up(rho)


# --- Releases of a charge ------------------------------------------------------------------------------------------


def releases_of(ledger: Ledger) -> Releases:
    """Return the pairs of all releases that a ledger plans, equal ones together, in a fixed order."""
    found = _counted(_pairs(ledger.composition, ledger.terms))
    return found if len(found) <= MOST_KINDS else ((_of_cost(ledger.cost), 1),)


def _counted(pairs: Iterable[Counted]) -> Releases:
    counts: dict[Pair, int] = {}
    for pair, times in pairs:
        counts[pair] = counts.get(pair, 0) + times
    return tuple(sorted(counts.items()))


def _pairs(part: Composition, terms: Terms) -> Iterator[Counted]:
    if 0 in (part.cost.epsilon, part.cost.rho):  # it looks at no record
        return
    if isinstance(part, Event):
        yield _of_event(part, terms)
    elif isinstance(part, Sequential):
        for child in part.parts:
            yield from _pairs(child, terms)
    elif isinstance(part, Parallel) and terms.steps == 1 and (largest := _largest(part, terms)) is not None:
        yield from largest
    else:  # secret coins, filters, and parts that a replaced record may change between: by their cost
        yield _of_cost(part.cost), 1


def _largest(part: Parallel, terms: Terms) -> Releases | None:
    """Return the releases of a part that covers all others: of the parts a single record is in one."""
    each = [_counted(_pairs(child, terms)) for child in part.parts]
    return next((own for own in each if all(covered(other, own) for other in each)), None)


def _of_event(event: Event, terms: Terms) -> Counted:
    """Return the pairs of one event, all of which are equal.

    How far it moves is taken from what is charged for it, which is proven to be no less: epsilon is at least the L1
    norm over the scale, rho at least half the squared L2 norm over the variance parameter; both norms are of integers.
    Where no integer moves by more than one, each that moves is a release of its own, and there are as many as the norm
    says.
    """
    epsilon, rho, single = event.cost.epsilon, event.cost.rho, event.largest
    by_one = single is not None and single * terms.max_rows <= 1
    if event.mechanism is Mechanism.LAPLACE and epsilon is not None and event.parameter > 0:
        moved = max(1, int(epsilon * event.parameter))
        if by_one:
            return Pair("laplace", event.parameter), moved
        if single is None:
            return Pair("laplace", event.parameter, moved), 1
    if event.mechanism is Mechanism.GAUSSIAN and rho is not None and event.parameter > 0:
        moved = max(1, int(2 * rho * event.parameter))
        if by_one and has_table(event.parameter, 1):
            return Pair("gaussian", event.parameter), moved
        if has_table(event.parameter, moved):
            return Pair("gaussian", event.parameter, moved), 1
    # Only what is charged an eighth of epsilon squared is a plain exponential mechanism; the margin law is not.
    if event.mechanism is Mechanism.EXPONENTIAL and epsilon and rho and abs(8 * rho / epsilon**2 - 1) < _NEARLY:
        return Pair("range", epsilon), 1
    return _of_cost(event.cost), 1


def _of_cost(cost: Cost) -> Pair:
    """Return the pair of something of which only the cost is known."""
    if cost.rho is not None and (cost.epsilon is None or 2 * cost.rho < cost.epsilon**2):
        return Pair("zcdp", cost.rho)
    if cost.epsilon is None:
        raise BudgetError("a charge without a cost has no place in a slot")
    return Pair.pure(cost.epsilon)


def covered(own: Releases, declared: Releases) -> bool:
    """Whether every release has one of its own among those declared that is proven to dominate it."""
    left = dict(declared)
    # The largest first, each to the nearest that covers it: an equal one if there is one.
    for pair, times in sorted(own, key=lambda counted: -counted[0].rho):
        for other in sorted(left, key=lambda other: (other != pair, other.kind != pair.kind, other.rho)):
            if times and left[other] and other.covers(pair):
                taken = min(times, left[other])
                left[other] -= taken
                times -= taken
        if times:
            return False
    return bool(own)


def releases_to_data(releases: Releases) -> list[dict[str, Any]]:
    """Return plain data."""
    return [{**pair.to_dict(), "times": times} for pair, times in releases]


def releases_from_data(data: Sequence[Any]) -> Releases:
    """Read what `releases_to_data` wrote."""
    found = tuple((Pair.from_dict(each), int(each["times"])) for each in data)
    if not found or min(times for _, times in found) < 1:
        raise ValueError("no releases")
    return found
