"""A ledger by stages: bins, base, rounds; splits, leaves. A fit may charge hundreds of events, people ask about a few.

Noise is given in records: how many of them could change the released value as much as the noise does. That is a number
that people can compare with the size of a group, and it does not hang on the units of whatever is measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.privacy.events import (
    Composition,
    Cost,
    Either,
    Event,
    Filter,
    Mechanism,
    Mixture,
    Parallel,
    has_alternatives,
)

if TYPE_CHECKING:
    from privet.privacy.ledger import Ledger

# What learners call their releases, and the stage that people know it by. Any other release is a stage of its own.
_STAGES = (
    (re.compile(r"quantiles of .*, level \d+|ranks: .*", re.DOTALL), "bins"),
    (re.compile(r"(median|quartiles|spread) of the target"), "target"),
    (re.compile(r"base: .*|sums of gradients", re.DOTALL), "base"),
    (re.compile(r"round \d+: .*|.*\brounds", re.DOTALL), "rounds"),
    (re.compile(r"splits of level \d+"), "splits"),
    (re.compile(r"centres of level \d+"), "centres"),
)


@dataclass(frozen=True)
class Stage:
    """Releases that serve one purpose.

    Attributes
    ----------
    name : str
        What they are, in a word or two.
    events : tuple of Event
        The releases; none for a filter or alternatives that are planned but not charged yet.
    cost : Cost
        What they cost together.
    """

    name: str
    events: tuple[Event, ...]
    cost: Cost

    @property
    def mechanisms(self) -> str:
        """The mechanisms of the releases, each once."""
        return ", ".join(dict.fromkeys(str(event.mechanism) for event in self.events)) or "as it adapts"

    @property
    def noise(self) -> str:
        """The size of the noise in records, from the smallest to the largest."""
        if not self.events:
            return "as it adapts"
        found = [noise_in_records(event) for event in self.events]
        low, high = _rounded(min(found)), _rounded(max(found))
        if high == "0":
            return "none"
        plural = "record" if high == "1" else "records"
        return f"{high} {plural}" if low == high else f"{low} to {high} {plural}"

    def paid(self, *, pure: bool) -> Fraction | None:
        """Return the cost in epsilon if the guarantee is `pure`, else in rho."""
        return self.cost.epsilon if pure else self.cost.rho


def noise_in_records(event: Event) -> float:
    """Return how many records could change a release as much as its noise does.

    For noise that is added, its standard deviation counts, in units of the most that one record can add to what is
    measured. For a selection it is the lead, in records, that makes a choice e times as likely.
    """
    sensitivity = float(event.sensitivity)
    match event.mechanism:
        case Mechanism.NOTHING | Mechanism.FEATURES_ONLY:
            return 0.0
        case Mechanism.LAPLACE | Mechanism.CUBE:
            return event.deviation / sensitivity if sensitivity else 0.0
        case Mechanism.GAUSSIAN:
            return event.deviation / math.sqrt(sensitivity) if sensitivity else 0.0
    strength = float(event.parameter) * sensitivity
    return 1 / strength if strength else math.inf


def stages(ledger: Ledger) -> list[Stage]:
    """Return a ledger's stages in the order in which they were first charged."""
    whole = ledger.composition
    found = dict.fromkeys(_names(whole))
    return [Stage(name, tuple(_events(whole, name)), _cost(whole, name)) for name in found]


def _stage(name: str) -> str:
    return next((stage for pattern, stage in _STAGES if pattern.fullmatch(name)), name)


def _names(part: Composition) -> Iterator[str]:
    if isinstance(part, Event) or (isinstance(part, Filter | Either) and not part.parts):
        yield _stage(part.name)
        return
    for child in part.parts:
        yield from _names(child)


def _events(part: Composition, name: str) -> Iterator[Event]:
    return (event for event in part.events() if _stage(event.name) == name)


def _cost(part: Composition, name: str) -> Cost:
    """Return what a stage costs, put together as the whole is; a filter of one stage costs its cap.

    Alternatives cost what the one that was taken costs; before that, their epsilon.
    """
    if name not in set(_names(part)):
        return Cost.nothing()
    if isinstance(part, Either) and not part.parts:
        return Cost(part.epsilon, part.cost.rho)
    if isinstance(part, Event) or (set(_names(part)) == {name} and not has_alternatives(part)):
        return part.cost
    total = Cost.nothing()
    for child in part.parts:
        cost = _cost(child, name)
        total = total | cost if isinstance(part, Parallel | Mixture) else total + cost
    return total


def _rounded(records: float) -> str:
    """Return a number of records with two digits, which is all that it is good for."""
    if not math.isfinite(records):
        return "any number of"
    return f"{float(f'{records:.2g}'):,.12g}"
