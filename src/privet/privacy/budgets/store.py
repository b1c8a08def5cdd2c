"""The account of one budget: a small SQLite file that every process of the same user on the machine can reach.

A charge is reserved in all stores before it is committed in any, so that a fit is charged to all of its budgets or to
none. Reserving locks out every other process, and so does settling: a fit that begins while a block closes is either
part of the final sum or refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

from privet.errors import BudgetError
from privet.privacy.statements import stated_down, stated_up

MOST_SECONDS_TO_WAIT = 60  # of a charge, for the charges of other processes


@dataclass(frozen=True)
class Handle:
    """What a process must know to charge a budget. Handles travel through pickle and JSON.

    Attributes
    ----------
    store : str
        The file with its sums; for an account that lasts, the address of its store, without a password.
    registration : str
        The file in which the process that opened it lists its open budgets; see `privet.privacy.budgets.registry`.
        Empty for an account that the environment or a schema names, since no block ever closes it.
    serial : int
        Its number among the budgets of that process.
    lasting : bool
        Whether it is an account that lasts; see `privet.privacy.accounts`.
    dataset, purpose : str, optional
        Which account of the store is meant, and what for.
    """

    store: str
    registration: str
    serial: int
    lasting: bool = False
    dataset: str | None = None
    purpose: str | None = None


@dataclass(frozen=True)
class Charge:
    """What a fit costs, whom it protects, and what it is."""

    epsilon: Fraction
    delta: Fraction
    protects: str
    what: str


class Store:
    """The open account of one budget. Use it in a `with` statement, which closes it. All errors are `BudgetError`.

    A charge that is reserved but not committed is taken back when the store is closed or the process ends.
    """

    def __init__(self, handle: Handle) -> None:
        with _errors_of_the_store():
            # mode=rw: a store that was lost must not be created again, empty.
            address = f"{Path(handle.store).as_uri()}?mode=rw"
            self._database = sqlite3.connect(address, uri=True, timeout=MOST_SECONDS_TO_WAIT, isolation_level=None)
            # A store need not survive a crash of the machine, so no charge waits for the disk. Processes are isolated
            # from one another all the same.
            self._database.execute("PRAGMA synchronous = OFF")

    @staticmethod
    def create(handle: Handle, epsilon: Fraction, delta: Fraction) -> None:
        """Make the store of a new budget."""
        path = Path(handle.store)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        with Store(handle) as store, _errors_of_the_store():
            run = store._database.execute
            run("BEGIN IMMEDIATE")
            run("CREATE TABLE terms (epsilon TEXT, delta TEXT, settled INTEGER)")
            run("CREATE TABLE charges (epsilon TEXT, delta TEXT, protects TEXT, what TEXT)")
            run("INSERT INTO terms VALUES (?, ?, 0)", (str(epsilon), str(delta)))
            run("COMMIT")

    @staticmethod
    def remove(path: Path) -> None:
        """Delete a store and the files that SQLite may have left beside it; no error if there are none."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        with suppress(OSError):  # other budgets of the process may be in the folder
            path.parent.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._database.close()

    def reserve(self, charge: Charge) -> None:
        """Reserve the charge, or raise. No other process can charge until this is committed or closed."""
        with _errors_of_the_store():
            self._database.execute("BEGIN IMMEDIATE")
            epsilon, delta, settled = self._database.execute("SELECT epsilon, delta, settled FROM terms").fetchone()
            if settled:
                raise closed_error(charge.what)
            self._refuse_other_guarantees(charge)
            self._refuse_overspending(charge, Fraction(epsilon), Fraction(delta))
            row = (str(charge.epsilon), str(charge.delta), charge.protects, charge.what)
            self._database.execute("INSERT INTO charges VALUES (?, ?, ?, ?)", row)

    def commit(self) -> None:
        """Make the reserved charge final."""
        with _errors_of_the_store():
            self._database.execute("COMMIT")

    def totals(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta spent so far."""
        with _errors_of_the_store():
            rows = self._database.execute("SELECT epsilon, delta FROM charges").fetchall()
        return sum((Fraction(e) for e, _ in rows), Fraction(0)), sum((Fraction(d) for _, d in rows), Fraction(0))

    def remaining(self) -> Fraction:
        """Return the epsilon that is left; nothing is left of a settled budget."""
        with _errors_of_the_store():
            epsilon, settled = self._database.execute("SELECT epsilon, settled FROM terms").fetchone()
        return Fraction(0) if settled else Fraction(epsilon) - self.totals()[0]

    def settle(self) -> tuple[Fraction, Fraction]:
        """Refuse all charges from now on, and return what was spent."""
        with _errors_of_the_store():
            self._database.execute("BEGIN IMMEDIATE")
            totals = self.totals()
            self._database.execute("UPDATE terms SET settled = 1")
            self._database.execute("COMMIT")
        return totals

    def _refuse_other_guarantees(self, charge: Charge) -> None:
        query = "SELECT protects FROM charges WHERE protects != ?"
        before = self._database.execute(query, (charge.protects,)).fetchone()
        if before is not None:
            raise BudgetError(
                f"{charge.what} protects {charge.protects}, but this budget was begun for {before[0]}, and their "
                "epsilons do not add up; nothing was drawn. Declare the same neighbours and unit in all schemas, or "
                "open a budget for each"
            )

    def _refuse_overspending(self, charge: Charge, limit: Fraction, limit_delta: Fraction) -> None:
        spent, spent_delta = self.totals()
        if spent + charge.epsilon > limit or spent_delta + charge.delta > limit_delta:
            raise BudgetError(
                f"{charge.what} costs epsilon {stated_up(charge.epsilon)}, delta {stated_up(charge.delta)}, but of the "
                f"budget's {stated_down(limit)} and {stated_down(limit_delta)} only {stated_down(limit - spent)} and "
                f"{stated_down(limit_delta - spent_delta)} remain; nothing was drawn. Raise the budget or lower epsilon"
            )


def closed_error(what: str) -> BudgetError:
    """Return the error for a charge that comes after its block was closed."""
    return BudgetError(
        f"the budget that {what} was started, pickled or copied under is closed; nothing was drawn. Fit inside a "
        "privet.budget(...) block that is open, or make a new estimator"
    )


@contextmanager
def _errors_of_the_store() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise BudgetError(
            f"a budget is in force, but its store cannot be used here ({error}); nothing was drawn. It was deleted, or "
            "belongs to another machine or user: fit where the privet.budget(...) block was opened, or, if that block "
            "is over, make a new estimator, in a new process"
        ) from error
