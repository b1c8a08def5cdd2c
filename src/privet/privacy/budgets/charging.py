"""Charging a planned fit to every budget in force: to the sums of open blocks, and to accounts that last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fractions import Fraction

from privet.errors import BudgetError
from privet.privacy.accounts import Address, Bill, Book
from privet.privacy.budgets import registry
from privet.privacy.budgets.store import Charge, Handle, Store, closed_error
from privet.privacy.ledger import Ledger

_REFUSED_ELSEWHERE = "another budget in force refused the same charge, so nothing was drawn"


@dataclass(frozen=True)
class Receipt:
    """The charges to accounts that last, by which a model that was paid for can be recorded later."""

    charges: tuple[tuple[Address, str], ...] = ()


def charge(handles: Sequence[Handle], ledger: Ledger, what: str, about: Mapping[str, str] | None = None) -> Receipt:
    """Charge a planned fit to every budget in force, or raise `BudgetError` and charge none.

    Call it before anything is drawn, with the handles that `in_force` gave when the work began; one that was closed
    since then refuses. Only guarantees of the same kind add up: replacing a record is two steps of adding or removing
    one, and a guarantee for records says nothing about units, nor one for households about visits.

    Parameters
    ----------
    handles : sequence of Handle
        The budgets to charge.
    ledger : Ledger
        What the work will cost: a ledger that states a plan.
    what : str
        What it is, in a few words, such as the learner's name.
    about : mapping, optional
        Further public facts for the histories of accounts, such as ``{"schema": schema.digest()}``.

    Notes
    -----
    *Privacy.* Accounts that last are charged in two steps, each durable before the next. A *reservation* is spent from
    then on, whatever happens. It is *committed* before this function returns, and only then may noise be drawn. So of a
    run that ended in between nothing was drawn, which is why it may be released, explicitly and on record.
    """
    if not handles:
        return Receipt()
    if not ledger.proven or ledger.allowance is None:
        raise BudgetError(
            f"{what} has no guarantee ({'; '.join(ledger.why)}), so no budget can pay for it; "
            "fit it outside of the budget if that is meant"
        )
    cost = Charge(Fraction(repr(ledger.epsilon)), Fraction(repr(ledger.delta)), ledger.terms.protects, what)
    for handle in handles:
        if registry.was_closed(handle):
            raise closed_error(what)
    temporary = sorted((handle for handle in handles if not handle.lasting), key=lambda handle: handle.store)
    with ExitStack() as closing:
        # All processes lock stores in the same order, so that no two of them wait for each other. Stores of accounts
        # are locked for one entry at a time, inside.
        stores = [closing.enter_context(Store(handle)) for handle in temporary]
        for store in stores:
            store.reserve(cost)
        reserved = _reserve([handle for handle in handles if handle.lasting], ledger, what, dict(about or {}))
        for store in stores:
            store.commit()
        for address, name in reserved:
            with Book(address) as book:
                book.commit(name)
    return Receipt(reserved)


def record_model(receipt: Receipt, digest: str) -> None:
    """Write into the accounts which model a charge has paid for; where one cannot be reached, it goes without.

    Nothing depends on it: what was charged is charged.
    """
    for address, name in receipt.charges:
        with suppress(BudgetError), Book(address) as book:
            book.record_model(name, digest)


def _reserve(
    handles: Sequence[Handle], ledger: Ledger, what: str, about: dict[str, str]
) -> tuple[tuple[Address, str], ...]:
    """Reserve a charge in every store; several accounts of one store are charged by one entry, each once."""
    by_store: dict[str, list[Handle]] = {}
    for handle in handles:
        by_store.setdefault(handle.store, []).append(handle)
    reserved: list[tuple[Address, str]] = []
    try:
        for store, same in by_store.items():
            # The innermost block comes first, and says what it is for.
            purpose = next((handle.purpose for handle in same if handle.purpose), None)
            address = Address(store, same[0].dataset, purpose)
            # An account without a name is the only one; where one is named, too, that is the one.
            names: list[str | None] = [*dict.fromkeys(handle.dataset for handle in same if handle.dataset)] or [None]
            with Book(address) as book:
                name = book.reserve(names, Bill.of(ledger, what, about), purpose)
            reserved.append((address, name))
    except BaseException:
        for address, name in reserved:
            # Where even that fails the charge stays spent; the first error is the one to report.
            with suppress(BudgetError), Book(address) as book:
                book.release(name, _REFUSED_ELSEWHERE)
        raise
    return tuple(reserved)
