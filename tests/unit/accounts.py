"""What the tests of accounts share: stores of both kinds, and a fit that takes no time."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction

from privet.errors import BudgetError
from privet.privacy.accounts import Bill, Book, Limit, parse_address
from privet.privacy.events import Cost

RECORDS = "single records under 'add_remove'"


def bill(epsilon=1, rho=None, what="a fit", protects=RECORDS):
    """Return the bill of something that costs this much."""
    cost = Cost.pure(Fraction(str(epsilon))) if rho is None else Cost(None, Fraction(str(rho)))
    return Bill(cost, protects, what, {"library": "a test"})


@contextmanager
def opened(url, dataset=None):
    with Book(parse_address(url, dataset)) as book:
        yield book


def make(url, dataset="patients", limit=None, **options):
    """Make an account; return the address of its store."""
    with Book.create(parse_address(url)) as book:
        book.open_account(dataset, Limit.of(epsilon=3) if limit is None else limit, **options)
    return url


def spend(url, epsilon=1, dataset=None, purpose=None, **what):
    """Charge in both steps; return whether that was allowed."""
    try:
        with opened(url) as book:
            book.commit(book.reserve([dataset], bill(epsilon, **what), purpose))
    except BudgetError:
        return False
    return True


def account(url, dataset=None):
    with opened(url) as book:
        return book.history().account(dataset)
