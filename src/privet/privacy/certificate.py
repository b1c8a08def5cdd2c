"""The certificate of a model: a small record of what is guaranteed, to whom, and on what basis."""

from __future__ import annotations

from math import isfinite
from typing import Any

from privet.privacy.ledger import SEEDED, STAND_IN, Ledger
from privet.privacy.text import guarantee_in_words
from privet.schema.schema import Schema


def certificate(ledger: Ledger, schema: Schema, library: str) -> dict[str, Any]:
    """Return the certificate that follows from a ledger and a schema alone.

    Parameters
    ----------
    ledger : Ledger
        What was spent.
    schema : Schema
        What was public.
    library : str
        The version of privet that trained the model.
    """
    return {
        "guarantee": guarantee_in_words(ledger),
        "proven": ledger.proven,
        "why_not": list(ledger.why),
        "epsilon": ledger.epsilon if isfinite(ledger.epsilon) else None,
        "delta": ledger.delta if ledger.proven else None,
        "neighbours": schema.neighbours,
        "unit": None if schema.unit is None else {"column": schema.unit.column, "max_rows": schema.unit.max_rows},
        "schema_digest": schema.digest(),
        "library": f"privet {library}",
        "noise": noise_status(ledger),
    }


def noise_status(ledger: Ledger) -> str:
    """Say where the noise came from."""
    if ledger.allowance is None:
        return "none"
    if SEEDED in ledger.why:
        return "seeded"
    return "forced" if STAND_IN in ledger.why else "secure source of the operating system"
