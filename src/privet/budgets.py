"""A budget above single fits, which clone, cross-validation, worker processes and pickling cannot lose.

An accountant handed to a constructor is copied by `sklearn.base.clone`, and what the copies spend is forgotten. So a
budget is not a parameter. It stands on a process-wide stack; behind it is a small SQLite file, which every process that
was started under it can reach: estimators take its path along when they are pickled or cloned.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from threading import Lock

from privet.errors import BudgetError
from privet.events import readable, readable_down
from privet.ledger import Ledger
from privet.parameters import exact
from privet.statements import stated_down, stated_up

# Processes that are started inside a `with privet.budget(...)` block inherit this variable, and so the budget.
VARIABLE = "PRIVET_BUDGET"

_stack: list[Path] = []
_lock = Lock()


class Budget:
    """An (epsilon, delta) that all fits inside a ``with`` block share; what they spend adds up.

    Attributes
    ----------
    spent, remaining : float
        Total epsilon of all fits so far, and what is left of it. `spent_delta` likewise.
    """

    def __init__(self, path: Path, epsilon: Fraction, delta: Fraction) -> None:
        self._path = path
        self._epsilon, self._delta = epsilon, delta
        self._final: tuple[Fraction, Fraction] | None = None

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
        return self._final if self._final is not None else _totals(self._path)

    def _close(self) -> None:
        self._final = self._totals()

    def __repr__(self) -> str:
        spent, limit = self._totals()[0], self._epsilon
        return f"Budget(epsilon={stated_down(limit)}, spent={stated_up(spent)}, remaining={stated_down(limit - spent)})"


@contextmanager
def budget(*, epsilon: float, delta: float = 0.0) -> Iterator[Budget]:
    """Give all fits inside the block one budget together.

    A fit that would go beyond it raises `BudgetError` before anything is drawn; so does a fit without a guarantee.
    Budgets may be nested: a fit is charged to all of them.

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
    folder = Path(tempfile.mkdtemp(prefix="privet-budget-"))
    path = folder / "budget.sqlite"
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("CREATE TABLE terms (epsilon TEXT, delta TEXT)")
        store.execute("CREATE TABLE charges (epsilon TEXT, delta TEXT, protects TEXT, what TEXT)")
        store.execute("INSERT INTO terms VALUES (?, ?)", (str(limit), str(limit_delta)))
    handle = Budget(path, limit, limit_delta)
    with _lock:
        _stack.append(path)
        _tell_children()
    try:
        yield handle
    finally:
        with _lock:
            _stack.remove(path)
            _tell_children(without=path)
        handle._close()
        shutil.rmtree(folder, ignore_errors=True)


def _tell_children(without: Path | None = None) -> None:
    """Name the budgets in force in the environment; those of other threads stay, whichever is closed first."""
    paths = [str(path) for path in in_force() if path != without]
    if paths:
        os.environ[VARIABLE] = os.pathsep.join(paths)
    else:
        os.environ.pop(VARIABLE, None)


def in_force(carried: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the budgets that a fit in this process must be charged to.

    `carried` are those that an estimator brought along from the process in which it was pickled or cloned.
    """
    # A worker process may outlive the block that it was started in; the budget is gone then, and so is its file.
    inherited = [path for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p and (path := Path(p)).exists()]
    return tuple(dict.fromkeys([*inherited, *_stack, *carried]))


def charge(paths: Sequence[Path], ledger: Ledger, what: str) -> None:
    """Charge a planned fit to every budget in force, or raise `BudgetError` and charge none.

    Only guarantees of one kind add up: a record that is replaced is two steps of adding or removing one, a guarantee
    for records says nothing of units, and one for households nothing of visits.
    """
    if not paths:
        return
    if not ledger.proven or ledger.allowance is None:
        raise BudgetError(
            f"{what} has no guarantee ({'; '.join(ledger.why)}), so no budget can pay for it; "
            "fit it outside of the budget if that is meant"
        )
    epsilon, delta = Fraction(repr(ledger.epsilon)), Fraction(repr(ledger.delta))
    protects = ledger.terms.protects
    stores = [_connect(path) for path in paths]
    try:
        for store in stores:
            store.execute("BEGIN IMMEDIATE")  # locks out every other process until the commit
            _refuse_other_guarantees(store, protects, what)
            _refuse_overspending(store, epsilon, delta, what)
            store.execute("INSERT INTO charges VALUES (?, ?, ?, ?)", (str(epsilon), str(delta), protects, what))
        for store in stores:
            store.commit()
    finally:
        for store in stores:
            store.close()  # a transaction that was not committed is rolled back


def _refuse_other_guarantees(store: sqlite3.Connection, protects: str, what: str) -> None:
    before = store.execute("SELECT protects FROM charges WHERE protects != ?", (protects,)).fetchone()
    if before is not None:
        raise BudgetError(
            f"{what} protects {protects}, but this budget was begun for {before[0]}, and their epsilons do not add up; "
            "nothing was drawn. Declare the same neighbours and unit in all schemas, or open a budget for each"
        )


def _refuse_overspending(store: sqlite3.Connection, epsilon: Fraction, delta: Fraction, what: str) -> None:
    limit, limit_delta = (Fraction(text) for text in store.execute("SELECT epsilon, delta FROM terms").fetchone())
    spent, spent_delta = _sums(store)
    if spent + epsilon > limit or spent_delta + delta > limit_delta:
        raise BudgetError(
            f"{what} costs epsilon {stated_up(epsilon)}, delta {stated_up(delta)}, but of the budget's "
            f"{stated_down(limit)} and {stated_down(limit_delta)} only {stated_down(limit - spent)} and "
            f"{stated_down(limit_delta - spent_delta)} remain; nothing was drawn. Raise the budget or lower epsilon"
        )


def _totals(path: Path) -> tuple[Fraction, Fraction]:
    with closing(_connect(path)) as store:
        return _sums(store)


def _sums(store: sqlite3.Connection) -> tuple[Fraction, Fraction]:
    rows = store.execute("SELECT epsilon, delta FROM charges").fetchall()
    return sum((Fraction(e) for e, _ in rows), Fraction(0)), sum((Fraction(d) for _, d in rows), Fraction(0))


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise BudgetError(
            "the budget under which this estimator was copied is closed; fit inside a privet.budget(...) block that is "
            "open, or make a new estimator"
        )
    return sqlite3.connect(path, timeout=60, isolation_level=None)
