"""`privet.budget`: the block that opens a budget, and what a fit asks of the budgets in force."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from privet.errors import BudgetError
from privet.parameters import exact
from privet.privacy.budgets import registry
from privet.privacy.budgets.store import Charge, Handle, Store, closed_error
from privet.privacy.events import readable, readable_down
from privet.privacy.ledger import Ledger
from privet.privacy.statements import stated_down, stated_up

# Processes that are started inside a `with privet.budget(...)` block inherit this variable, and with it the budget,
# even if they outlive their parent.
VARIABLE = "PRIVET_BUDGET"


class Budget:
    """An (epsilon, delta) that all fits inside a ``with`` block share; what they spend adds up.

    Attributes
    ----------
    spent, remaining : float
        Total epsilon of all fits so far, and what is left of it. `spent_delta` likewise.
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


@contextmanager
def budget(*, epsilon: float, delta: float = 0.0) -> Iterator[Budget]:
    """Give all fits inside the block one budget together.

    A fit that would exceed it raises `BudgetError` before anything is drawn, and so does a fit without a guarantee.
    Budgets may be nested: a fit is charged to all of them.

    Parameters
    ----------
    epsilon, delta : float
        What all fits may spend together.

    Notes
    -----
    *Privacy.* The budget counts every fit and every measurement (`privet.mechanisms.measurements`) that begins while
    the block is open, in any thread,

    - of this process and of all processes of the same user that descend from it on this machine, whenever they were
      started: subprocesses and workers of joblib and multiprocessing, including those of a pool that was started before
      the block. A process whose parent has ended no longer descends from it, and on Windows only children are found;
      such a process counts if it was started inside the block and keeps the environment;
    - of an estimator that was pickled or cloned inside the block, wherever it is fitted. Where the budget cannot be
      reached (on another machine, as another user, or after the block), the fit is refused.

    It does not count an estimator that is *built* in a process that does not descend from this one: by a worker of a
    Dask, Ray or Spark cluster that was started elsewhere, on another machine, or in a container. Build it here and
    send it.

    A fit that begins in the block but would be charged after its end is refused. So is a fit under a budget whose store
    was deleted. Workers that outlive the block are free once it is closed. A process that was started inside the block
    and outlives the process that opened it is refused, since it can no longer learn that the block was closed.

    Examples
    --------
    >>> import privet
    >>> with privet.budget(epsilon=3.0) as budget:
    ...     budget.remaining
    3.0
    """
    limit, limit_delta = exact(epsilon, "epsilon"), exact(delta, "delta")
    if limit <= 0 or not 0 <= limit_delta < 1:
        raise BudgetError(f"a budget needs epsilon > 0 and delta in [0, 1), got {epsilon} and {delta}")
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
        handles = dict.fromkeys([*_inherited(), *registry.own_handles()])
        if handles:
            os.environ[VARIABLE] = json.dumps([asdict(handle) for handle in handles])
        else:
            os.environ.pop(VARIABLE, None)


def in_force(carried: Sequence[Handle] = ()) -> tuple[Handle, ...]:
    """Return the budgets to which a fit that begins now must be charged.

    `carried` are those that an estimator brought along from the process in which it was pickled or cloned.
    """
    found = [*registry.own_handles(), *registry.handles_of_ancestors(), *_inherited(), *carried]
    return tuple(dict.fromkeys(found))


def _inherited() -> list[Handle]:
    """Return the budgets named in the environment that are not closed: a process may outlive the block."""
    text = os.environ.get(VARIABLE, "[]")
    try:
        handles = [Handle(**handle) for handle in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise BudgetError(
            f"the environment variable {VARIABLE} names budgets in force, but cannot be read; nothing was drawn. "
            "Leave it as privet.budget(...) sets it"
        ) from error
    return [handle for handle in handles if not registry.was_closed(handle)]


def charge(handles: Sequence[Handle], ledger: Ledger, what: str) -> None:
    """Charge a planned fit to every budget in force, or raise `BudgetError` and charge none.

    `handles` are those that were in force when the fit began; one that was closed since then refuses. Only guarantees
    of the same kind add up: replacing a record is two steps of adding or removing one, and a guarantee for records says
    nothing about units, nor one for households about visits.
    """
    if not handles:
        return
    if not ledger.proven or ledger.allowance is None:
        raise BudgetError(
            f"{what} has no guarantee ({'; '.join(ledger.why)}), so no budget can pay for it; "
            "fit it outside of the budget if that is meant"
        )
    cost = Charge(Fraction(repr(ledger.epsilon)), Fraction(repr(ledger.delta)), ledger.terms.protects, what)
    for handle in handles:
        if registry.was_closed(handle):
            raise closed_error(what)
    with ExitStack() as closing:
        # All processes lock stores in the same order, so that no two of them wait for each other.
        stores = [closing.enter_context(Store(handle)) for handle in sorted(handles, key=lambda handle: handle.store)]
        for store in stores:
            store.reserve(cost)
        for store in stores:
            store.commit()
