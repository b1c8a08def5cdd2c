"""Accounts as people and programs read them: plain data, and tables of text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.history import Account, History, RecordedCharge
from privet.privacy.accounts.limits import ACCOUNTANTS
from privet.privacy.events import readable, readable_down
from privet.privacy.statements import stated_down, stated_up

BAR = 40  # characters of the picture of what is left
CHARGE_COLUMNS = (
    *("charge", "at", "who", "what", "purpose", "accounts", "epsilon", "rho", "status", "why"),
    *("protects", "schema", "model", "library"),
)


def account_as_data(account: Account, history: History) -> dict[str, Any]:
    """Return one account as plain data; what is spent is rounded up, what is left is rounded down."""
    limit, charges = account.limit, list(history.charges_to(account.name))
    return {
        "dataset": account.name,
        "measure": limit.measure,
        "accountant": ACCOUNTANTS[limit.measure],
        "unit": limit.unit,
        "limit": readable_down(limit.size),
        "delta": readable(limit.delta),
        "spent": readable(account.reading),
        "left": readable_down(account.remaining),
        **(
            {"slots": [slot.to_dict() for slot in limit.slots], "slots_left": account.slots_left} if limit.slots else {}
        ),
        "status": "closed" if account.closed else "open",
        "protects": account.protects,
        "part_of": account.parent,
        "apart_from": list(account.apart_from),
        "period": account.period,
        "owner": account.owner,
        "created": account.created,
        "charges": len([charge for charge in charges if charge.status != "released"]),
        "reserved_only": [charge.id for charge in charges if charge.status == "reserved"],
        "parts": [
            {
                "of": of,
                "name": name,
                "limit": None if part.limit is None else readable_down(part.limit.size),
                "spent": readable(limit.reading(part.spent)) if limit.measure != "slots" else None,
            }
            for (of, name), part in account.parts.items()
            if name
        ],
    }


def charge_as_data(charge: RecordedCharge) -> dict[str, Any]:
    """Return one charge as plain data, with exact numbers as text."""
    details = charge.details.get("details", {})
    return {
        "charge": charge.id,
        "at": charge.at,
        "who": charge.who,
        "what": charge.what,
        "purpose": charge.purpose,
        "accounts": list(charge.accounts),
        "epsilon": None if charge.cost.epsilon is None else str(charge.cost.epsilon),
        "rho": None if charge.cost.rho is None else str(charge.cost.rho),
        "status": charge.status,
        "why": charge.why,
        "protects": charge.details["protects"],
        "schema": details.get("schema", ""),
        "model": charge.model,
        "library": details.get("library", ""),
        "events": details.get("events", []),
    }


def export_as_data(history: History, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return everything, the entries with their hashes included, so that others can check them."""
    return {
        "format": "privet-budget",
        "version": 1,
        "store": history.store,
        "accounts": [account_as_data(account, history) for account in history.accounts.values()],
        "charges": [charge_as_data(charge) for charge in history.charges.values()],
        "entries": [asdict(entry) for entry in entries],
    }


def export_as_csv(history: History) -> str:
    """Return the charges as CSV."""
    written = io.StringIO()
    rows = csv.DictWriter(written, CHARGE_COLUMNS, extrasaction="ignore", lineterminator="\n")
    rows.writeheader()
    for charge in history.charges.values():
        data = charge_as_data(charge)
        data["accounts"] = " ".join(data["accounts"])
        cells = {name: "" if value is None else value for name, value in data.items()}
        # A spreadsheet takes a cell that begins like this for a formula, and runs it.
        safe = {k: f"'{v}" if isinstance(v, str) and v[:1] in ("=", "+", "-", "@") else v for k, v in cells.items()}
        rows.writerow(safe)
    return written.getvalue()


def picture_in_text(account: Account) -> str:
    """Return a bar of what is spent and what is left, as text.

    Examples
    --------
    >>> from privet.privacy.accounts import Limit
    >>> picture_in_text(Account("patients", Limit.of(epsilon=3)))
    'patients  [........................................]  epsilon 3 of 3 left'
    """
    limit = account.limit
    if limit.slots:
        total = sum(slot.count for slot in limit.slots)
        used, text = sum(account.used) / total, f"{account.slots_left} of {total} slots left"
    else:
        used = float(1 - account.remaining / limit.size)
        text = f"{limit.unit} {stated_down(account.remaining)} of {stated_down(limit.size)} left"
    filled = min(BAR, -(-round(used * BAR * 1000) // 1000))
    return f"{account.name}  [{'#' * filled}{'.' * (BAR - filled)}]  {text}" + (" (closed)" if account.closed else "")


def account_rows(history: History) -> list[tuple[str, ...]]:
    """Return one row for each account: see `ACCOUNT_HEADER`."""
    return [
        (
            account.name,
            str(account.limit),
            f"{account.limit.unit} {stated_up(account.reading)}",
            f"{account.slots_left} slots" if account.limit.slots else stated_down(account.remaining),
            str(len([charge for charge in history.charges_to(account.name) if charge.status != "released"])),
            account.parent or "",
            "closed" if account.closed else "open",
        )
        for account in history.accounts.values()
    ]


ACCOUNT_HEADER = ("data set", "limit", "spent", "left", "charges", "part of", "status")
PART_HEADER = ("data set", "limit for", "name", "limit", "spent")
CHARGE_HEADER = ("charge", "when", "who", "what", "purpose", "epsilon", "rho", "status")


def part_rows(history: History) -> list[tuple[str, ...]]:
    """Return one row for each analyst and purpose: see `PART_HEADER`."""
    return [
        (
            account.name,
            of,
            name,
            "none" if part.limit is None else str(part.limit),
            f"{account.limit.unit} {stated_up(account.limit.reading(part.spent))}",
        )
        for account in history.accounts.values()
        if not account.limit.slots
        for (of, name), part in account.parts.items()
        if name
    ]


def charge_rows(history: History) -> list[tuple[str, ...]]:
    """Return one row for each charge: see `CHARGE_HEADER`."""
    return [
        (
            charge.id,
            charge.at,
            charge.who,
            charge.what,
            charge.purpose,
            "-" if charge.cost.epsilon is None else stated_up(charge.cost.epsilon),
            "-" if charge.cost.rho is None else stated_up(charge.cost.rho),
            charge.status,
        )
        for charge in history.charges.values()
    ]
