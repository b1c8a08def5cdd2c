"""The noise of a plan in people, which can be compared with the size of a group."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.stages import noise_in_records, stages

ADDED = frozenset({Mechanism.LAPLACE, Mechanism.GAUSSIAN, Mechanism.CUBE})


@dataclass(frozen=True)
class Noise:
    """How large the noise is that matters most to predictions.

    Attributes
    ----------
    what : str
        What it is added to, or what it decides.
    people : float
        Its size: a standard deviation where noise is added; the lead that makes a choice e times as likely where one is
        drawn. Records, where a person may have several.
    whom : str
        "people", or "records" where a person may have several.
    """

    what: str
    people: float
    whom: str

    @property
    def in_words(self) -> str:
        """A sentence."""
        return f"{self.what} by about {in_two_digits(self.people)} {self.whom}"


def noise_of(plan: Ledger) -> Noise:
    """Return the noise of the last planned stage that adds noise to counts; else of the last one that chooses.

    Later stages, such as the rounds of boosting, may adapt to what was released, so a plan has no number for them.
    """
    whom = "people" if plan.terms.max_rows == 1 else "records"
    found = [stage for stage in stages(plan) if stage.events]
    if not found:  # rounds alone: no number is known but that of all they have together
        assert plan.allowance is not None
        people = noise_in_records(plan.terms.noise("all of it", plan.allowance.whole))
        return Noise("one count that all of the budget went to would be off", people, whom)
    added = [stage for stage in found if stage.events[0].mechanism in ADDED]
    stage = (added or found)[-1]
    people = max(noise_in_records(event) for event in stage.events)
    if not added:
        return Noise("a leaf's label is certain only where it leads", people, whom)
    return Noise("a first curve's counts are off" if stage.name == "base" else "a leaf's count is off", people, whom)


def in_two_digits(number: float) -> str:
    """Return a number with two digits, which is all that it is good for."""
    return f"{float(f'{number:.2g}'):,.12g}" if math.isfinite(number) else "any number of"
