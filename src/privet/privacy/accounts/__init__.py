"""Accounts: budgets that last. One history for each store, in a file or in a database, that can only grow."""

from privet.privacy.accounts.addresses import Address, parse_address
from privet.privacy.accounts.book import Bill, Book
from privet.privacy.accounts.limits import Limit

__all__ = ["Address", "Bill", "Book", "Limit", "parse_address"]
