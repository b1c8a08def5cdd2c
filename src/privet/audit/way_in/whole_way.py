"""All checks of the way in, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from privet.audit.report import Finding
from privet.audit.way_in.blocks_audit import blocks_audit
from privet.audit.way_in.budget_audit import budget_audit
from privet.audit.way_in.coins_audit import coins_audit
from privet.audit.way_in.draws_audit import draws_audit
from privet.audit.way_in.encoding_audit import encoding_audit
from privet.audit.way_in.prices_audit import prices_audit
from privet.audit.way_in.units_audit import units_audit
from privet.audit.way_in.watching import without_unit
from privet.estimators.base import PrivateEstimator

LOOKED_AT = (
    "Looked at on the way in, through fit: units, encoding, blocks and budgets; at the door: coins and draws; "
    "in the plan: what the whole allowance buys."
)


@dataclass(frozen=True)
class WayInEffort:
    """How much work a level means."""

    changes: int  # records changed in made-up frames
    threads: tuple[int, ...]  # numbers of threads, and of blocks
    coins: int  # releases that toss coins
    draws: int  # releases that draw
    small: bool  # whether they are asked for a few draws at a time as well


QUICK = WayInEffort(8, (2,), 2, 240, small=False)
THOROUGH = WayInEffort(100, (2, 3), 6, 1_500, small=True)


def way_in_audit(estimator: PrivateEstimator, effort: WayInEffort, notes: list[str]) -> list[Finding]:
    """Check everything between a frame and a learner, and everything that the learner draws from.

    Parameters
    ----------
    estimator : PrivateEstimator
        With a schema.
    effort : WayInEffort
        How much work to do.
    notes : list of str
        What could not be looked at is added here.
    """
    plain = without_unit(estimator)
    notes.append(LOOKED_AT)
    return [
        *prices_audit(estimator),
        *units_audit(estimator, notes),
        *encoding_audit(plain, effort.changes),
        *blocks_audit(plain, effort.threads),
        *coins_audit(effort.coins),
        *draws_audit(effort.draws, small=effort.small),
        *budget_audit(plain),
    ]
