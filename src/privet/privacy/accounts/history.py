"""What a history adds up to: its accounts, their limits, and their charges. The rules of spending are here, once.

A store keeps nothing but its history. Every reader replays it from the start, by the same rules by which new entries
are admitted. So an entry that breaks a rule is refused before it is written, and found if it was written by other
means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from privet.errors import BudgetError
from privet.privacy.accounts.entries import START, Entry
from privet.privacy.accounts.limits import Limit
from privet.privacy.accounts.slots import Releases, releases_from_data
from privet.privacy.events import Cost
from privet.privacy.statements import stated_down, stated_up

Status = Literal["reserved", "committed", "released"]


class HistoryError(BudgetError):
    """A history is damaged, was altered, or breaks the rules of spending."""


@dataclass
class Allotment:
    """What one analyst or one purpose may spend of an account, and has spent; no limit if there is none."""

    limit: Limit | None = None
    spent: Cost = field(default_factory=Cost.nothing)


@dataclass
class Account:
    """One account as it stands.

    Attributes
    ----------
    parent : str, optional
        The account of which this one is a part, since both are about some of the same people.
    apart_from : tuple of str
        Accounts of which its owner states that they are about other people.
    period : str
        The period of a data set that grows, in words.
    used : list of int
        How many of each kind of slot are taken.
    """

    name: str
    limit: Limit
    parent: str | None = None
    apart_from: tuple[str, ...] = ()
    period: str = ""
    owner: str = ""
    created: str = ""
    closed: bool = False
    protects: str | None = None
    spent: Cost = field(default_factory=Cost.nothing)
    used: list[int] = field(default_factory=list)
    parts: dict[tuple[str, str], Allotment] = field(default_factory=dict)

    @property
    def reading(self) -> Fraction | None:
        """What was spent, in the limit's unit and rounded up. An account of slots has spent all that was declared."""
        return self.limit.reading(self.spent) if self.limit.measure != "slots" else self.limit.epsilon

    @property
    def remaining(self) -> Fraction:
        """What is left, in the limit's unit; nothing is left of an account of slots but its slots."""
        reading = self.reading
        return Fraction(0) if reading is None else max(Fraction(0), self.limit.size - reading)

    @property
    def slots_left(self) -> int:
        """How many slots are free."""
        return sum(slot.count for slot in self.limit.slots) - sum(self.used)

    def slot_for(self, cost: Cost, releases: Releases) -> int | None:
        """Return the place of the smallest free slot that is large enough for a charge."""
        slots = self.limit.slots
        able = [
            (slot.order, place) for place, slot in enumerate(slots) if self.fits(place, cost) and slot.covers(releases)
        ]
        return min(able)[1] if able else None

    def fits(self, place: int, cost: Cost) -> bool:
        """Whether a slot of this kind is free, and large enough for what a charge costs."""
        if not 0 <= place < len(self.limit.slots):
            return False
        slot = self.limit.slots[place]
        return self.used[place] < slot.count and slot.affords(cost)


@dataclass
class RecordedCharge:
    """One charge, and how far it came."""

    id: str
    seq: int
    who: str
    at: str
    accounts: tuple[str, ...]
    cost: Cost
    what: str
    purpose: str
    details: dict[str, Any]
    slots: dict[str, int]
    status: Status = "reserved"
    why: str = ""
    model: str = ""


class History:
    """All accounts and charges of a store, after its entries so far."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.store = ""
        self.last: Entry | None = None
        self.accounts: dict[str, Account] = {}
        self.charges: dict[str, RecordedCharge] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Take one more entry; raise and change nothing if it does not follow, was altered, or breaks a rule."""
        seq, before = (0, START) if self.last is None else (self.last.seq, self.last.hash)
        if entry.seq != seq + 1:
            raise HistoryError(f"entry {seq + 1} is missing: entry {entry.seq} comes after entry {seq}")
        if entry.before != before or not entry.is_intact:
            raise HistoryError(f"entry {entry.seq} was altered, or put in another place: its hash does not fit")
        rules: dict[str, Callable[[Entry, Any], None]] = {
            "store": self._store,
            "create": self._create,
            "raise": self._raise,
            "limit": self._limit,
            "close": self._close,
            "accept": self._accept,
            "reserve": self._reserve,
            "commit": self._commit,
            "release": self._release,
            "model": self._model,
        }
        if entry.kind not in rules:
            raise HistoryError(f"entry {entry.seq} is of an unknown kind, {entry.kind!r:.40}; upgrade privet")
        try:
            rules[entry.kind](entry, entry.details())
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            if isinstance(error, BudgetError):
                raise
            raise HistoryError(f"entry {entry.seq} ({entry.kind}) cannot be read: {type(error).__name__}") from error
        self.last = entry

    def account(self, name: str | None) -> Account:
        """Return the account of a data set; without a name, the only one."""
        if name is None:
            if len(self.accounts) == 1:
                return next(iter(self.accounts.values()))
            if not self.accounts:
                raise BudgetError("this store has no accounts yet; create one with `privet budget create`")
            raise BudgetError(f"which data set is meant? This store has accounts for {self._names()}; pass dataset=...")
        if name not in self.accounts:
            raise BudgetError(
                f"there is no account for the data set {name!r}; there {'are' if self.accounts else 'is'} "
                f"{self._names() or 'none'}. Create it with `privet budget create`"
            )
        return self.accounts[name]

    def with_ancestors(self, names: Sequence[str | None]) -> tuple[str, ...]:
        """Return the accounts and all of which they are parts, each once."""
        found: dict[str, None] = {}
        for name in names:
            account: Account | None = self.account(name)
            while account is not None:
                found[account.name] = None
                account = None if account.parent is None else self.account(account.parent)
        return tuple(found)

    def charges_to(self, account: str) -> Iterator[RecordedCharge]:
        """Yield the charges to an account, in order."""
        return (charge for charge in self.charges.values() if account in charge.accounts)

    def misplaced(self) -> list[str]:
        """Say which charges have other releases than their slots were declared for.

        privet never writes such a charge. Somebody who writes one by other means could as well state other releases, so
        that it is no reason for others not to go on: its slot counts as taken.
        """
        return [
            f"entry {charge.seq} takes a slot of {name!r} that was declared for other releases"
            for charge in self.charges.values()
            for name, place in charge.slots.items()
            if not self.accounts[name].limit.slots[place].covers(_releases(charge.details))
        ]

    def _names(self) -> str:
        return ", ".join(repr(name) for name in self.accounts)

    # --- The rules, one for each kind of entry -------------------------------------------------------------------

    def _store(self, entry: Entry, details: Any) -> None:
        if entry.seq != 1:
            raise HistoryError(f"entry {entry.seq} begins a second store in the middle of the first")
        self.store = str(details["id"])

    def _create(self, entry: Entry, details: Any) -> None:
        if not self.store:
            raise HistoryError("the history does not begin with its store")
        if entry.account in self.accounts:
            raise BudgetError(f"there is an account for {entry.account!r} already; raise it, or take another name")
        parent, apart_from = details.get("parent"), tuple(details.get("apart_from", ()))
        for name in (*([] if parent is None else [parent]), *apart_from):
            self.account(name)
        limit = Limit.from_dict(details["limit"])
        account = Account(entry.account, limit, parent, apart_from, details.get("period", ""), entry.who, entry.at)
        account.used = [0] * len(limit.slots)
        self.accounts[entry.account] = account

    def _raise(self, entry: Entry, details: Any) -> None:
        account, limit = self._open(entry.account), Limit.from_dict(details["limit"])
        if account.limit.measure == "slots":
            raise BudgetError("an account of slots cannot be raised, as slots are fixed in advance; create another")
        if not limit.covers(account.limit) or limit == account.limit:
            raise BudgetError(
                f"{account.name!r} has a limit of {account.limit}; it can be raised, in the same measure and at the "
                f"same delta, but not set to {limit}. To end it, close it"
            )
        account.limit = limit

    def _limit(self, entry: Entry, details: Any) -> None:
        account, limit = self._open(entry.account), Limit.from_dict(details["limit"])
        if details["of"] not in ("analyst", "purpose"):
            raise ValueError(details["of"])
        if (limit.measure, limit.delta) != (account.limit.measure, account.limit.delta) or limit.slots:
            raise BudgetError(
                f"a limit within {account.name!r} must be in its own measure and at its own delta ({account.limit}), "
                f"got {limit}" + ("; an account of slots has none" if account.limit.slots else "")
            )
        account.parts.setdefault((details["of"], str(details["name"])), Allotment()).limit = limit

    def _close(self, entry: Entry, details: Any) -> None:
        self._open(entry.account).closed = True

    def _accept(self, entry: Entry, details: Any) -> None:
        """A restored copy was accepted; the entry says so, and changes nothing."""

    def _reserve(self, entry: Entry, details: Any) -> None:
        epsilon, rho = (None if details[key] is None else Fraction(details[key]) for key in ("epsilon", "rho"))
        cost, what, protects = Cost(epsilon, rho), str(details["what"]), str(details["protects"])
        purpose, names = str(details.get("purpose", "")), tuple(map(str, details["accounts"]))
        if not isinstance(details["charge"], str) or not isinstance(details.get("details", {}), dict):
            raise TypeError("details")
        if details["charge"] in self.charges or not names or names != self.with_ancestors(names):
            raise HistoryError(f"entry {entry.seq} is not a charge to accounts and to all that they are parts of")
        if (epsilon is None and rho is None) or min(x for x in (epsilon, rho) if x is not None) < 0:
            raise HistoryError(f"entry {entry.seq} is a charge without a cost")
        slots = {name: int(place) for name, place in details.get("slots", {}).items()}
        if not {name for name in names if self.account(name).limit.slots} >= set(slots):
            raise HistoryError(f"entry {entry.seq} takes slots of an account that has none")
        for name in names:
            account = self._open(name)
            self._refuse_other_guarantees(account, what, protects)
            if account.limit.slots:
                self._refuse_without_slot(account, cost, what, slots.get(name))
            else:
                self._refuse_overspending(account, cost, what, entry.who, purpose)
        for name in names:
            account = self.accounts[name]
            account.protects = protects
            self._book(account, cost, entry.who, purpose)
            if name in slots:
                account.used[slots[name]] += 1
        charge = RecordedCharge(
            details["charge"], entry.seq, entry.who, entry.at, names, cost, what, purpose, details, slots
        )
        self.charges[charge.id] = charge

    def _commit(self, entry: Entry, details: Any) -> None:
        charge = self._charge(details)
        if charge.status != "reserved":
            raise BudgetError(f"the charge {charge.id} of {charge.what} was {charge.status} already; nothing was drawn")
        charge.status = "committed"

    def _release(self, entry: Entry, details: Any) -> None:
        charge = self._charge(details)
        if charge.status == "committed":
            raise BudgetError(
                f"the charge {charge.id} was committed, so {charge.what} may have drawn noise: it stays spent. Only a "
                "run that ended before that can be released"
            )
        if charge.status == "released":
            raise BudgetError(f"the charge {charge.id} was released already")
        charge.status, charge.why = "released", str(details["why"])
        for name in charge.accounts:
            account = self.accounts[name]
            if name in charge.slots:
                account.used[charge.slots[name]] -= 1
            self._recount(account)

    def _model(self, entry: Entry, details: Any) -> None:
        self._charge(details).model = str(details["digest"])

    # --- What the rules share ------------------------------------------------------------------------------------

    def _open(self, name: str) -> Account:
        account = self.account(name)
        if account.closed:
            raise BudgetError(f"the account of {name!r} is closed; nothing was drawn. Its owner can create another")
        return account

    def _charge(self, details: Any) -> RecordedCharge:
        if details["charge"] not in self.charges:
            raise BudgetError(
                f"there is no charge {details['charge']!r:.40}; `privet budget show --charges` lists them"
            )
        return self.charges[details["charge"]]

    def _refuse_other_guarantees(self, account: Account, what: str, protects: str) -> None:
        if account.protects not in (None, protects):
            raise BudgetError(
                f"{what} protects {protects}, but the account of {account.name!r} was begun for {account.protects}, "
                "and their epsilons do not add up; nothing was drawn. Declare the same neighbours and unit in all "
                "schemas, or create an account for each"
            )

    def _refuse_without_slot(self, account: Account, cost: Cost, what: str, slot: int | None) -> None:
        if slot is None or not account.fits(slot, cost):
            raise BudgetError(
                f"{what} costs {_in_words(cost)}, but no slot of {account.name!r} that is large enough is free "
                f"({account.slots_left} of {', '.join(map(str, account.limit.slots))} are); nothing was drawn. Ask for "
                "less; a slot that was declared by a plan takes the releases of that plan only"
            )

    def _refuse_overspending(self, account: Account, cost: Cost, what: str, who: str, purpose: str) -> None:
        limit = account.limit
        self._refuse_beyond(limit, account.spent, cost, what, f"the account of {account.name!r}")
        for kind, name in (("analyst", who), ("purpose", purpose)):
            part = account.parts.get((kind, name))
            if part is not None and part.limit is not None:
                whose = f"what {name!r} may spend of {account.name!r}"
                self._refuse_beyond(part.limit, part.spent, cost, what, whose)
            elif kind == "purpose" and any(of == "purpose" and own.limit for (of, _), own in account.parts.items()):
                known = ", ".join(repr(own) for of, own in account.parts if of == "purpose" and own)
                raise BudgetError(
                    f"{account.name!r} has limits for each purpose, and none for {name or 'a charge without one'!r}; "
                    f"nothing was drawn. Say what it is for with purpose=..., one of {known}"
                )

    def _refuse_beyond(self, limit: Limit, spent: Cost, cost: Cost, what: str, whose: str) -> None:
        total = spent + cost
        if limit.admits(total):
            return
        if limit.measure == "epsilon" and cost.epsilon is None:
            raise BudgetError(
                f"{what} has no pure epsilon, and {whose} is of pure epsilon; nothing was drawn. Fit with delta=0, or "
                "create an account of (epsilon, delta) or of rho"
            )
        reading, after = limit.reading(spent), limit.reading(total)
        left = Fraction(0) if reading is None else limit.size - reading
        own = cost.rho if limit.measure == "zcdp" else None
        costs = f"rho {stated_up(own)}" if own is not None else _in_words(cost)
        raise BudgetError(
            f"{what} costs {costs}, which would bring {whose} to {limit.unit} {stated_up(after)} of {limit}; "
            f"{limit.unit} {stated_down(left)} remains; nothing was drawn. Ask for less, or its owner raises it with "
            "`privet budget raise`"
        )

    def _book(self, account: Account, cost: Cost, who: str, purpose: str) -> None:
        account.spent = account.spent + cost
        for key in (("analyst", who), ("purpose", purpose)):
            part = account.parts.setdefault(key, Allotment())
            part.spent = part.spent + cost

    def _recount(self, account: Account) -> None:
        """Add up all charges again: a sum that met a charge without a pure epsilon has none, until that is released."""
        account.spent = Cost.nothing()
        for part in account.parts.values():
            part.spent = Cost.nothing()
        for charge in self.charges_to(account.name):
            if charge.status != "released":
                self._book(account, charge.cost, charge.who, charge.purpose)


def _releases(details: dict[str, Any]) -> Releases:
    """Return the releases that a charge states; none where it states none that can be read."""
    try:
        return releases_from_data(details["releases"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return ()


def _in_words(cost: Cost) -> str:
    if cost.epsilon is None:
        return f"rho {stated_up(cost.rho)}"
    return f"epsilon {stated_up(cost.epsilon)}" + ("" if cost.rho is None else f" (rho {stated_up(cost.rho)})")
