"""Entries of a history: plain data, each with the hash of the one before it."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

DIGITS = 40  # behind the decimal point, of numbers in a history
START = ""  # what stands in the first entry in place of a hash


@dataclass(frozen=True)
class Entry:
    """One line of a history, as it is written and read.

    Attributes
    ----------
    seq : int
        Its number, from 1.
    kind : str
        What happened: see `privet.privacy.accounts.history`.
    account : str
        The account that it is about; empty for the store itself.
    who : str
        The user: of the operating system for a file, of the session for a database.
    at : str
        When, in UTC. Nothing is decided by it.
    content : str
        All else, as JSON with sorted keys.
    before, hash : str
        The hash of the entry before this one, and its own.
    """

    seq: int
    kind: str
    account: str
    who: str
    at: str
    content: str
    before: str
    hash: str

    @staticmethod
    def following(last: Entry | None, kind: str, account: str, who: str, content: dict[str, Any]) -> Entry:
        """Return the entry that comes after `last`."""
        seq, before, at = (1, START, utc_now()) if last is None else (last.seq + 1, last.hash, max(utc_now(), last.at))
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return Entry(seq, kind, account, who, at, text, before, entry_hash(seq, kind, account, who, at, text, before))

    @property
    def is_intact(self) -> bool:
        """Whether the entry has the hash of its content."""
        return self.hash == entry_hash(self.seq, self.kind, self.account, self.who, self.at, self.content, self.before)

    def details(self) -> Any:
        """Return the content as data."""
        return json.loads(self.content)


def entry_hash(seq: int, kind: str, account: str, who: str, at: str, content: str, before: str) -> str:
    """Return the SHA-256 of an entry; a database's own trigger computes the same."""
    # Only the content may hold line feeds within JSON strings, where they are escaped: so no two entries coincide.
    text = "\n".join([str(seq), kind, account, who, at, content, before])
    return hashlib.sha256(text.encode()).hexdigest()


def utc_now() -> str:
    """Return the time in UTC, to the second; such texts sort by time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def decimal_up(x: Fraction) -> Fraction:
    """Round up to a decimal of 40 places, so that sums stay short and readable."""
    return Fraction(math.ceil(x * 10**DIGITS), 10**DIGITS)


def decimal_down(x: Fraction) -> Fraction:
    """Round down to a decimal of 40 places."""
    return Fraction(math.floor(x * 10**DIGITS), 10**DIGITS)
