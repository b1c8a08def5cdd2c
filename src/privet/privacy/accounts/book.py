"""A store of accounts, opened: what owners and analysts do with it. All errors are `BudgetError`.

Every operation locks the store, replays its history, admits one more entry by the rules, and writes it durably, in one
transaction. So whatever runs at the same time, no sum of charges goes beyond its limit.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self

from privet.errors import BudgetError
from privet.privacy.accounts.addresses import Address
from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.history import History, HistoryError
from privet.privacy.accounts.limits import Limit
from privet.privacy.accounts.logs import Log, create_log, open_log
from privet.privacy.accounts.marks import Mark, check_mark, forget_mark, read_mark, write_mark
from privet.privacy.accounts.slots import Releases, charged, releases_of, releases_to_data
from privet.privacy.events import Composition, Cost, Either, Event, Filter, Mixture
from privet.privacy.ledger import Ledger

MOST_CHARACTERS = 200  # of a name
MOST_GROUPS = 200  # of equal events that a charge lists


@dataclass(frozen=True)
class Bill:
    """What is to be charged: its cost, whom it protects, what it is, and what else is recorded of it."""

    cost: Cost
    protects: str
    what: str
    details: dict[str, Any]
    releases: Releases = ()

    @staticmethod
    def of(ledger: Ledger, what: str, about: dict[str, str] | None = None) -> Bill:
        """Return the bill of a planned fit."""
        cost = Cost(*charged(ledger.cost, what))
        asked = ledger.allowance
        details: dict[str, Any] = {
            "relation": ledger.terms.neighbours,
            "unit": ledger.terms.unit_column,
            "max_rows": ledger.terms.max_rows,
            "asked": None if asked is None else {"epsilon": str(asked.epsilon), "delta": str(asked.delta)},
            "events": _grouped(ledger),
            "library": f"privet {version('privet')}",
            **(about or {}),
        }
        return Bill(cost, ledger.terms.protects, what, details, releases_of(ledger))


_FACTS = ("mechanism", "parameter", "sensitivity", "largest", "epsilon", "rho", "sees")


def _grouped(ledger: Ledger) -> list[dict[str, Any]]:
    """List the planned events, equal ones once with their number: a forest may have thousands of them."""
    counts: dict[tuple[str | None, ...], int] = {}
    for data in _listed(ledger.composition):
        key = tuple(_text(data.get(name)) for name in _FACTS)
        counts[key] = counts.get(key, 0) + 1
    groups: list[dict[str, Any]] = [
        {name: value for name, value in zip(_FACTS, key, strict=True) if name != "largest" or value is not None}
        | {"times": count}
        for key, count in list(counts.items())[:MOST_GROUPS]
    ]
    if len(counts) > MOST_GROUPS:
        groups.append({"further_kinds": len(counts) - MOST_GROUPS})
    return groups


def _listed(part: Composition) -> Iterator[dict[str, Any]]:
    """Yield what is planned: events, and what filters and secret coins make of the events below them."""
    if isinstance(part, Event):
        yield part.to_dict()
        return
    if isinstance(part, Filter | Mixture | Either):
        cost = {"epsilon": part.cost.epsilon, "rho": part.cost.rho}
        if isinstance(part, Filter | Either):
            yield {"mechanism": "filter" if isinstance(part, Filter) else "either", "sees": part.name, **cost}
        else:
            yield {"mechanism": "mixture", "parameter": " ".join(map(str, part.weights)), **cost}
    for child in part.parts:
        yield from _listed(child)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class Book:
    """An open store. Use it in a `with` statement, which closes it."""

    def __init__(self, address: Address, log: Log | None = None) -> None:
        self.address = address
        with self._errors():
            self._log = open_log(address) if log is None else log

    @staticmethod
    def create(address: Address) -> Book:
        """Open a store, or make it where there is none."""
        with _errors_of(address):
            log = create_log(address)
        book = Book(address, log)
        try:
            with book._errors(), log.writing():
                empty = not log.read() and log.head() == (0, "")
                if empty:
                    first = Entry.following(None, "store", "", log.who(), {"id": secrets.token_hex(16)})
                    log.append(first)
        except BaseException:
            book.close()
            raise
        return book

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give back the connection."""
        self._log.close()

    def who(self) -> str:
        """Return the user as the store knows them."""
        with self._errors():
            return self._log.who()

    # --- Reading -------------------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """Return the history as it is written, unchecked."""
        with self._errors(), self._log.reading():
            return self._log.read()

    def history(self) -> History:
        """Return what the history adds up to, having checked all of it."""
        with self._errors():
            mark = self._mark(self._first())
            with self._log.reading():
                return History(self._checked_entries(mark))

    def problems(self) -> list[str]:
        """Return everything that is wrong with the history; an empty list if it is sound."""
        with self._errors():
            mark = self._mark(self._first())
            with self._log.reading():
                entries, head = self._log.read(), self._log.head()
        found: list[str] = []
        checks: tuple[Callable[[], object], ...] = (
            lambda: found.extend(History(entries).misplaced()),
            lambda: _check_head(head, entries),
            lambda: check_mark(mark, entries),
        )
        for check in checks:
            try:
                check()
            except BudgetError as error:
                found.append(str(error))
        return found

    # --- What an owner does --------------------------------------------------------------------------------------

    def open_account(
        self,
        name: str,
        limit: Limit,
        *,
        parent: str | None = None,
        apart_from: Sequence[str] = (),
        period: str = "",
    ) -> None:
        """Create an account."""
        _check_name(name, "a data set")
        content = {"limit": limit.to_dict(), "parent": parent, "apart_from": list(apart_from), "period": period}
        self._write(lambda history: ("create", name, content))

    def raise_limit(self, name: str | None, limit: Limit, why: str = "") -> None:
        """Raise the limit of an account; it cannot be lowered below what people were promised."""
        content = {"limit": limit.to_dict(), "why": why}
        self._write(lambda history: ("raise", history.account(name).name, content))

    def limit_part(self, name: str | None, of: str, part: str, limit: Limit) -> None:
        """Limit what one analyst or one purpose may spend of an account."""
        _check_name(part, f"an {of}" if of == "analyst" else f"a {of}")
        content = {"of": of, "name": part, "limit": limit.to_dict()}
        self._write(lambda history: ("limit", history.account(name).name, content))

    def close_account(self, name: str | None, why: str = "") -> None:
        """Refuse all charges to an account from now on."""
        self._write(lambda history: ("close", history.account(name).name, {"why": why}))

    def accept_restored(self, why: str) -> None:
        """Go on with a copy that was restored, and record that; the history itself must be sound."""
        entries = self.entries()
        with self._errors():
            mark, store = self._mark(entries), History(entries).store
        forget_mark(store)
        missed = "" if mark is None else f"{mark.seq} entries were marked, {len(entries)} are here; "
        try:
            self._write(lambda history: ("accept", "", {"why": missed + why}))
        except BaseException:
            if mark is not None and entries:
                write_mark(store, Entry(mark.seq, "", "", "", "", "", "", mark.hash))
            raise

    # --- What an analyst does ------------------------------------------------------------------------------------

    def reserve(self, names: Sequence[str | None], bill: Bill, purpose: str | None = None) -> str:
        """Charge accounts, and those that they are parts of, before anything is drawn; return the charge's name.

        From here on the charge is spent, whatever becomes of the process.
        """
        charge = secrets.token_hex(8)
        if purpose is not None:
            _check_name(purpose, "a purpose")

        def entry(history: History) -> tuple[str, str, dict[str, Any]]:
            accounts = history.with_ancestors(names)
            slots, by_releases = {}, False
            for account in map(history.account, accounts):
                by_releases = by_releases or any(slot.planned for slot in account.limit.slots)
                place = account.slot_for(bill.cost, bill.releases) if account.limit.slots else None
                if place is not None:
                    slots[account.name] = place
            return (
                "reserve",
                accounts[0],
                {
                    "charge": charge,
                    "accounts": list(accounts),
                    "epsilon": None if bill.cost.epsilon is None else str(bill.cost.epsilon),
                    "rho": str(bill.cost.rho),
                    "protects": bill.protects,
                    "what": bill.what,
                    "purpose": purpose or "",
                    "slots": slots,
                    **({"releases": releases_to_data(bill.releases)} if by_releases and bill.releases else {}),
                    "details": bill.details,
                },
            )

        self._write(entry)
        return charge

    def commit(self, charge: str) -> None:
        """Record that noise may be drawn from now on. Before this nothing was, and after it nothing is released."""
        self._write(lambda history: ("commit", _account_of(history, charge), {"charge": charge}))

    def release(self, charge: str, why: str) -> None:
        """Take back a charge of a run that ended before anything was drawn; the history keeps both."""
        self._write(lambda history: ("release", _account_of(history, charge), {"charge": charge, "why": why}))

    def record_model(self, charge: str, digest: str) -> None:
        """Record which model a charge has paid for."""
        self._write(lambda history: ("model", _account_of(history, charge), {"charge": charge, "digest": digest}))

    # -------------------------------------------------------------------------------------------------------------

    def _write(self, make: Callable[[History], tuple[str, str, dict[str, Any]]]) -> None:
        """Append one entry, made from the history as it stands under the lock."""
        with self._errors():
            with self._log.writing():
                entries = self._checked_entries(self._mark(self._first()))
                history = _continued(self.address.store, entries)
                kind, account, content = make(history)
                entry = Entry.following(history.last, kind, account, self._log.who(), content)
                history.add(entry)
                self._log.append(entry)
            _replayed[self.address.store] = ([*entries, entry], history)
            write_mark(history.store, entry)

    def _checked_entries(self, mark: Mark | None) -> list[Entry]:
        """Return all entries, having checked that none is missing at the end; the others are checked by replaying."""
        entries = self._log.read()
        if not entries:
            raise HistoryError("the history is empty, so it was deleted or cut off; nothing was drawn. Restore it")
        _check_head(self._log.head(), entries)
        check_mark(mark, entries)
        return entries

    def _first(self) -> list[Entry]:
        """Return the entry that names the store.

        The mark is read before the history: entries that others write in between are then no cause for alarm.
        """
        return self._log.read(1)

    def _mark(self, entries: Sequence[Entry]) -> Mark | None:
        try:
            return read_mark(History(entries[:1]).store) if entries else None
        except BudgetError:  # the whole history is about to be checked, and says more
            return None

    def _errors(self) -> Any:
        return _errors_of(self.address)


# What this process has replayed of each store. A history takes some 40 microseconds an entry to replay, and a tenth of
# that to compare with one that was replayed before: entry by entry, so that no change goes unnoticed.
_replayed: dict[str, tuple[list[Entry], History]] = {}


def _continued(store: str, entries: list[Entry]) -> History:
    """Replay a history, going on from where this process left off if it begins with the very same entries."""
    known, history = _replayed.pop(store, ([], History()))  # taken out, since it is about to change
    if entries[: len(known)] != known:
        known, history = [], History()
    for entry in entries[len(known) :]:
        history.add(entry)
    return history


def _check_head(head: tuple[int, str], entries: Sequence[Entry]) -> None:
    if not entries or head != (entries[-1].seq, entries[-1].hash):
        raise HistoryError(
            f"the history ends with entry {entries[-1].seq if entries else 0}, but entry {head[0]} was written last: "
            "entries are missing at its end; nothing was drawn. Restore the newest copy"
        )


def _account_of(history: History, charge: str) -> str:
    return history.charges[charge].accounts[0] if charge in history.charges else ""


def _check_name(name: str, what: str) -> None:
    if (
        not re.fullmatch(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?", name)
        or re.search(r"[\ud800-\udfff]", name)  # not a text: what a command line makes of bytes that are none
        or len(name) > MOST_CHARACTERS
    ):
        raise BudgetError(f"{what} needs a name of up to {MOST_CHARACTERS} printable characters, got {name!r:.60}")


@contextmanager
def _errors_of(address: Address) -> Iterator[None]:
    """Turn all errors of a database into one that says what is known: nothing was drawn."""
    try:
        yield
    except HistoryError as error:
        raise HistoryError(f"{address.store}: {error}") from None
    except BudgetError:
        raise
    except Exception as error:
        if not _is_of_database(error):
            raise
        problem = " ".join(str(error).split()) or type(error).__name__
        raise BudgetError(
            f"the budget at {address.store} cannot be used ({problem}); nothing was drawn. If a charge was being "
            "written, it may count as spent: `privet budget show` says. Repair the store or the connection, try again"
        ) from error


def _is_of_database(error: Exception) -> bool:
    import sqlite3

    if isinstance(error, sqlite3.Error | OSError):
        return True
    return any(kind.__module__.startswith("psycopg") for kind in type(error).__mro__)
