"""`privet.budget`: the block that opens a budget, and closes it whatever happens inside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import overload

from privet.errors import BudgetError
from privet.parameters import exact
from privet.privacy.accounts import Address, Book, parse_address
from privet.privacy.accounts.history import Account
from privet.privacy.budgets import registry
from privet.privacy.budgets.store import Handle, Store
from privet.privacy.events import readable, readable_down
from privet.privacy.statements import stated_down, stated_up


class Budget:
    """An (epsilon, delta) that all fits inside a ``with`` block share; what they spend adds up.

    Attributes
    ----------
    spent, remaining : float
        Total epsilon of all fits so far, and what is left of it. `spent_delta` likewise.

    See Also
    --------
    LastingBudget : The same for an account that lasts.
    """

    def __init__(self, handle: Handle, epsilon: Fraction) -> None:
        self._handle = handle
        self._epsilon = epsilon
        self._final: tuple[Fraction, Fraction] | None = None
        self._closed = False

    @property
    def spent(self) -> float:
        """Epsilon spent so far, by all processes."""
        return readable(self._totals()[0])

    @property
    def spent_delta(self) -> float:
        """Delta spent so far, by all processes."""
        return readable(self._totals()[1])

    @property
    def remaining(self) -> float:
        """Epsilon that is left."""
        return readable_down(self._epsilon - self._totals()[0])

    def _totals(self) -> tuple[Fraction, Fraction]:
        if self._final is not None:
            return self._final
        with Store(self._handle) as store:
            return store.totals()

    def __repr__(self) -> str:
        spent, limit = self._totals()[0], self._epsilon
        return f"Budget(epsilon={stated_down(limit)}, spent={stated_up(spent)}, remaining={stated_down(limit - spent)})"


class LastingBudget:
    """An account that lasts, as a ``with`` block has opened it.

    Attributes
    ----------
    spent, remaining : float
        What was spent of the whole account, by everybody and ever, and what is left of it: in epsilon, or in rho for an
        account of zCDP. Of an account of slots all that was declared counts as spent.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._closed = False

    @property
    def spent(self) -> float:
        """What was spent so far, rounded up."""
        return readable(self._account().reading)

    @property
    def remaining(self) -> float:
        """What is left, rounded down."""
        return readable_down(self._account().remaining)

    def _account(self) -> Account:
        with Book(_address(self._handle)) as book:
            return book.history().account(self._handle.dataset)

    def __repr__(self) -> str:
        account = self._account()
        unit, spent, left = account.limit.unit, stated_up(account.reading), stated_down(account.remaining)
        return f"LastingBudget({account.name!r}, {account.limit}, spent={unit} {spent}, remaining={unit} {left})"


@overload
def budget(*, epsilon: float, delta: float = 0.0) -> AbstractContextManager[Budget]: ...
@overload
def budget(
    account: str, *, dataset: str | None = None, purpose: str | None = None
) -> AbstractContextManager[LastingBudget]: ...
def budget(
    account: str | None = None,
    *,
    dataset: str | None = None,
    purpose: str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> AbstractContextManager[Budget] | AbstractContextManager[LastingBudget]:
    """Give all fits inside the block one budget together, or charge them to an account that lasts.

    A fit that would exceed it raises `BudgetError` before anything is drawn, and so does a fit without a guarantee.
    Budgets may be nested: a fit is charged to all of them. A block whose epsilon is more than what is left of a block
    around it is refused when it is opened.

    Parameters
    ----------
    account : str, optional
        The file or URL of a store of accounts, made with ``privet budget create``: ``"sqlite:///hospital.db"``,
        ``"postgresql://server/database"``.
    dataset : str, optional
        Which account of the store; not needed if it has only one.
    purpose : str, optional
        What the fits are for; it is recorded, and needed where the account has limits for each purpose.
    epsilon, delta : float
        In place of an account: what all fits inside the block may spend together.

    Notes
    -----
    *Privacy.* The budget counts every fit and every measurement (`privet.mechanisms.measurements`) that begins while
    the block is open, in any thread,

    - of this process and of all processes of the same user that descend from it on this machine, whenever they were
      started: subprocesses and workers of joblib and multiprocessing, including those of a pool that was started before
      the block. A process whose parent has ended no longer descends from it, and on Windows only children are found;
      such a process counts if it was started inside the block and keeps the environment;
    - of an estimator that was pickled or copied inside the block, and of its clones, wherever they are fitted. Where
      the budget cannot be reached (on another machine, as another user, or after the block), the fit is refused. An
      account in PostgreSQL can be reached from other machines. A clone of any other estimator is a new one.

    It does not count an estimator that is *built* in a process that does not descend from this one: by a worker of a
    Dask, Ray or Spark cluster that was started elsewhere, on another machine, or in a container. Build it here and
    send it, or name the account in the schema file or in that process's environment (``PRIVET_BUDGET``).

    A fit that begins in the block but would be charged after its end is refused. So is a fit under a budget whose store
    was deleted. Workers that outlive the block are free once it is closed. A process that was started inside the block
    and outlives the process that opened it is refused, since it can no longer learn that the block was closed; it is
    charged where the budget is an account that lasts.

    Examples
    --------
    >>> import privet
    >>> with privet.budget(epsilon=3.0) as budget:
    ...     budget.remaining
    3.0
    """
    if account is None:
        if dataset is not None or purpose is not None:
            raise BudgetError("dataset and purpose belong to an account; pass its file or URL, too")
        if epsilon is None:
            raise BudgetError("a budget needs epsilon=..., or the file or URL of an account")
        return _block(epsilon, delta)
    if epsilon is not None or delta:
        raise BudgetError(
            "an account has its own limit; to spend only a part of it, nest the blocks: "
            "with privet.budget(account), privet.budget(epsilon=...)"
        )
    return _lasting_block(parse_address(account, dataset, purpose))


@contextmanager
def _block(epsilon: float, delta: float) -> Iterator[Budget]:
    limit, limit_delta = exact(epsilon, "epsilon"), exact(delta, "delta")
    if limit <= 0 or not 0 <= limit_delta < 1:
        raise BudgetError(f"a budget needs epsilon > 0 and delta in [0, 1), got {epsilon} and {delta}")
    _refuse_beyond_parents(limit)
    registry.sweep()
    handle, owner = registry.registration().new_handle(), os.getpid()
    opened = Budget(handle, limit)
    # Closed twice: an interrupt may cut the first attempt short, and the second one then does the rest.
    try:
        try:
            Store.create(handle, limit, limit_delta)
            registry.registration().announce(handle)
            _tell_children()
            yield opened
        finally:
            _close(opened, owner)
    finally:
        _close(opened, owner)


@contextmanager
def _lasting_block(address: Address) -> Iterator[LastingBudget]:
    with Book(address) as book:  # an account that cannot be charged is refused here, and not hours later
        account = book.history().account(address.dataset)
        if account.closed:
            raise BudgetError(f"the account of {account.name!r} is closed; its owner can create another")
    registry.sweep()
    handle, owner = registry.registration().handle_of_account(replace(address, dataset=account.name)), os.getpid()
    opened = LastingBudget(handle)
    try:
        try:
            registry.registration().announce(handle)
            _tell_children()
            yield opened
        finally:
            _withdraw(opened, owner)
    finally:
        _withdraw(opened, owner)


def _refuse_beyond_parents(limit: Fraction) -> None:
    """Refuse a nested budget that could not be spent, since less is left of a budget around it."""
    for handle in registry.in_force():
        if handle.lasting:
            with Book(_address(handle)) as book:
                account = book.history().account(handle.dataset)
            if account.limit.measure not in ("epsilon", "approximate"):
                continue
            left, whose = account.remaining, f"the account of {account.name!r}"
            if account.limit.measure == "approximate" and limit <= account.limit.size:
                continue  # epsilons of fits with delta add up to less than their sum there
        else:
            with Store(handle) as store:
                left, whose = store.remaining(), "the budget around it"
        if limit > left:
            raise BudgetError(
                f"a nested budget of epsilon {stated_up(limit)} would exceed {whose}, of which {stated_down(left)} is "
                "left; nothing was opened. Ask for less"
            )


def _address(handle: Handle) -> Address:
    return Address(handle.store, handle.dataset, handle.purpose)


def _withdraw(opened: LastingBudget, owner: int) -> None:
    if not opened._closed and os.getpid() == owner:
        registry.registration().withdraw(opened._handle)
        _tell_children()
        opened._closed = True


def _close(opened: Budget, owner: int) -> None:
    """Settle the account, then announce that the budget is closed, then delete the store; skip what is done."""
    if opened._closed or os.getpid() != owner:  # a forked child leaves the block, too, but the parent owns the budget
        return
    handle = opened._handle
    try:
        # A store that is gone or was never made cannot be settled; asking for the total then raises the error.
        with suppress(BudgetError):
            if opened._final is None:
                with Store(handle) as store:
                    opened._final = store.settle()
    finally:
        registry.registration().withdraw(handle)
        _tell_children()
        Store.remove(Path(handle.store))
    opened._closed = True


def _tell_children() -> None:
    """Write the budgets in force into the environment, including those of other threads."""
    with registry.registration().lock:
        handles = dict.fromkeys([*registry.inherited(), *registry.own_handles()])
        if handles:
            os.environ[registry.VARIABLE] = json.dumps([asdict(handle) for handle in handles])
        else:
            os.environ.pop(registry.VARIABLE, None)
