"""A history in a PostgreSQL database, for a team: the server knows who writes, and its grants say what they may write.

The scripts in ``postgres/`` make the tables, the roles ``privet_owner`` and ``privet_analyst`` with the least rights,
and triggers that refuse to alter history. Each script leads to the next version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from importlib.util import find_spec
from typing import Any

from privet.errors import BudgetError
from privet.privacy.accounts.addresses import Address
from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.logs import MOST_SECONDS_TO_WAIT, VERSION

_SCRIPTS = ("1_history.sql", "2_head.sql", "3_releases.sql", "4_rules.sql")
_LOCK = 0x70727662  # of PostgreSQL's advisory locks; all charges of a database wait for it
_COLUMNS = "seq, kind, account, who, at, content, before, hash"
assert len(_SCRIPTS) == VERSION


def setup_script(version: int = 0) -> str:
    """Return the SQL that leads from a version to the newest one; from nothing by default."""
    folder = resources.files("privet.privacy.accounts") / "postgres"
    texts = [(folder / name).read_text(encoding="utf-8") for name in _SCRIPTS[version:]]
    return "\n".join([*texts, f"UPDATE privet_budget.about SET version = {VERSION};", ""])


class PostgresLog:
    """The log in a database; see `privet.privacy.accounts.logs.Log`."""

    def __init__(self, address: Address) -> None:
        self._connection = _connect(address)
        try:
            version = _version(self._connection)
            if version is None:
                raise BudgetError(
                    f"there is no budget at {address.store}, or you may not read it; nothing was drawn. Make one with "
                    "`privet budget create`, or ask its owner to grant you privet_analyst"
                )
            if version > VERSION:
                raise BudgetError(
                    f"the budget at {address.store} is of version {version}, and this privet knows versions up to "
                    f"{VERSION}; nothing was drawn. Upgrade privet"
                )
            if version < VERSION:
                _migrate_if_allowed(self._connection, address, version)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def create(address: Address) -> None:
        """Make tables, roles and grants, if there are none; needs the right to create them."""
        connection = _connect(address)
        try:
            if _version(connection) is None:
                _migrate(connection)
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait for all other writers; commit at the end, or roll back."""
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from one snapshot."""
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    def read(self, most: int | None = None) -> list[Entry]:
        """Return all entries in order, or the first few."""
        query = f"SELECT {_COLUMNS} FROM privet_budget.history ORDER BY seq LIMIT %s"
        return [Entry(*row) for row in self._connection.execute(query, [most]).fetchall()]

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last entry."""
        row = self._connection.execute("SELECT seq, hash FROM privet_budget.head").fetchone()
        if row is None:
            raise BudgetError("the note of the last entry is missing; nothing was drawn. Restore the store from a copy")
        return row[0], row[1]

    def append(self, entry: Entry) -> None:
        """Write an entry; the server's trigger notes it as the last one."""
        row = (entry.seq, entry.kind, entry.account, entry.who, entry.at, entry.content, entry.before, entry.hash)
        marks = ", ".join(["%s"] * len(row))
        self._connection.execute(f"INSERT INTO privet_budget.history ({_COLUMNS}) VALUES ({marks})", row)

    def who(self) -> str:
        """Return the user of the session."""
        row = self._connection.execute("SELECT session_user::text").fetchone()
        return str(row[0])

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):  # it may be lost already
            self._connection.close()


def _connect(address: Address) -> Any:
    if find_spec("psycopg") is None:
        raise BudgetError("a budget in PostgreSQL needs psycopg; pip install 'privet[postgres]'")
    import psycopg

    # Autocommit, so that every transaction is one that `writing` has opened.
    connection = psycopg.connect(address.store, autocommit=True, connect_timeout=10, application_name="privet")
    connection.execute(f"SET lock_timeout = '{MOST_SECONDS_TO_WAIT}s'")
    # What a server has reported as committed must survive its crash, whatever the database's default is.
    connection.execute("SET synchronous_commit = on")
    return connection


def _version(connection: Any) -> int | None:
    """Return the version of the tables; None if there are none or they may not be seen."""
    (exists,) = connection.execute("SELECT to_regnamespace('privet_budget') IS NOT NULL").fetchone()
    if not exists:
        return None
    allowed = connection.execute("SELECT has_schema_privilege('privet_budget', 'USAGE')").fetchone()
    if not allowed[0]:
        return None
    (version,) = connection.execute("SELECT version FROM privet_budget.about").fetchone()
    return int(version)


def _migrate_if_allowed(connection: Any, address: Address, version: int) -> None:
    import psycopg

    try:
        _migrate(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise BudgetError(
            f"the budget at {address.store} is of version {version}, and you may not bring it to version {VERSION}; "
            "nothing was drawn. Its owner does that by any command, such as `privet budget show`, with this privet"
        ) from error


def _migrate(connection: Any) -> None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        version = _version(connection) or 0  # another process may have been quicker
        if version < VERSION:
            connection.execute(setup_script(version))
        if version == 0:
            connection.execute("GRANT privet_owner TO CURRENT_USER")
