"""Where histories are kept: one protocol, a file or a database behind it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from privet.privacy.accounts.addresses import POSTGRES, Address
from privet.privacy.accounts.entries import Entry

VERSION = 4  # of the tables; a store of an older version is migrated, one of a newer version is refused
MOST_SECONDS_TO_WAIT = 300  # of a charge, for the charges of others: SQLite serves whoever asks first, not in turn


class Log(Protocol):
    """A history that can only grow. Errors are those of the database; `privet.privacy.accounts.book` words them."""

    def writing(self) -> AbstractContextManager[None]:
        """Lock out all others, then read and append inside the block; all of it is durable at its end, or none."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """See one state of the store in the whole block, whatever others write meanwhile."""
        ...

    def read(self, most: int | None = None) -> list[Entry]:
        """Return all entries in order, or the first few."""
        ...

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last entry as they were noted apart from the history; (0, "") at the start."""
        ...

    def append(self, entry: Entry) -> None:
        """Write an entry; only inside `writing`."""
        ...

    def who(self) -> str:
        """Return the user who writes, as the store knows them."""
        ...

    def close(self) -> None:
        """Give back the connection."""
        ...


def open_log(address: Address) -> Log:
    """Open the store at an address; never create one. It is migrated if it is of an older version."""
    if address.store.startswith(POSTGRES):
        from privet.privacy.accounts.postgres_log import PostgresLog

        return PostgresLog(address)
    from privet.privacy.accounts.sqlite_log import SqliteLog

    return SqliteLog(address)


def create_log(address: Address) -> Log:
    """Make the tables of a new store, or open the store if there is one."""
    if address.store.startswith(POSTGRES):
        from privet.privacy.accounts.postgres_log import PostgresLog

        PostgresLog.create(address)
    else:
        from privet.privacy.accounts.sqlite_log import SqliteLog

        SqliteLog.create(address)
    return open_log(address)
