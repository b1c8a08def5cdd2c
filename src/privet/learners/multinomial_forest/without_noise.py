"""Plans of forests that have no private form."""

from __future__ import annotations

from privet.errors import ParameterError
from privet.privacy.events import Plan
from privet.privacy.terms import Share, Terms


def plan_without_noise(n_trees: int, terms: Terms, share: Share | None) -> Plan:
    """Plan one event without noise, the whole forest; refuse a budget, which could not be kept."""
    if share is not None:
        raise ParameterError("this forest has no private form: set epsilon=None")
    event = terms.choice("the forest", None, sees="all records, without noise")
    return Plan.in_sequence({"trees": n_trees}, forest=event)
