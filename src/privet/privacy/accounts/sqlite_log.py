"""A history in one file, by SQLite, which is part of Python.

Every entry is on the disk before `writing` ends (``synchronous = EXTRA``). Triggers refuse to alter or delete entries;
whoever may write the file can remove the triggers, too, so the hashes are what finds that.
"""

from __future__ import annotations

import getpass
import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from privet.errors import BudgetError
from privet.privacy.accounts.addresses import Address
from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.logs import MOST_SECONDS_TO_WAIT, VERSION

APPLICATION = 0x70727662  # "prvb": says in the file's header whose it is
_COLUMNS = "seq, kind, account, who, at, content, before, hash"

# Each script leads to the next version. A new store runs all of them.
_MIGRATIONS = (
    """
    CREATE TABLE history (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, account TEXT NOT NULL, who TEXT NOT NULL,
        at TEXT NOT NULL, content TEXT NOT NULL, before TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
    CREATE TRIGGER history_is_never_altered BEFORE UPDATE ON history
        BEGIN SELECT RAISE(ABORT, 'the history of a budget is append-only'); END;
    CREATE TRIGGER history_is_never_deleted BEFORE DELETE ON history
        BEGIN SELECT RAISE(ABORT, 'the history of a budget is append-only'); END;
    """,
    """
    CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
    INSERT INTO head SELECT 1, coalesce(max(seq), 0), coalesce((SELECT hash FROM history ORDER BY seq DESC LIMIT 1), '')
        FROM history;
    """,
    "",  # the tables are as before; limits may have slots that were declared by their releases
    "",  # a server has rules of its own from here on; a file has none
)
assert len(_MIGRATIONS) == VERSION


class SqliteLog:
    """The log in a file; see `privet.privacy.accounts.logs.Log`."""

    def __init__(self, address: Address) -> None:
        path = address.path
        assert path is not None
        if not path.exists():
            raise BudgetError(
                f"there is no budget at {path}, and none is made by spending; nothing was drawn. Check the path, or "
                "make one with `privet budget create`. A file cannot be reached from another machine: an estimator "
                "that was sent there needs an account in PostgreSQL"
            )
        # mode=rw: a file that was lost must not be created again, empty.
        uri = f"{path.as_uri()}?mode=rw"
        self._database = sqlite3.connect(uri, uri=True, timeout=MOST_SECONDS_TO_WAIT, isolation_level=None)
        try:
            self._database.execute("PRAGMA synchronous = EXTRA")
            self._migrate(path)
        except BaseException:
            self._database.close()
            raise

    @staticmethod
    def create(address: Address) -> None:
        """Make the file, if there is none. Only its owner may read it until they let others."""
        path = address.path
        assert path is not None
        if path.exists():
            return
        if not path.parent.is_dir():
            raise BudgetError(f"the folder of {path} does not exist; make it, or give another path")
        # Made under another name first: a file that is interrupted halfway must not pass for a store.
        beside = path.with_name(f".{path.name}.{os.getpid()}.new")
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            database = sqlite3.connect(beside, isolation_level=None)
            try:
                database.execute("PRAGMA synchronous = EXTRA")
                database.execute(f"PRAGMA application_id = {APPLICATION}")
                _run(database, 0)
            finally:
                database.close()
            os.link(beside, path)  # fails if somebody else has just made one
        except FileExistsError:
            pass
        finally:
            with suppress(OSError):
                beside.unlink()

    def _migrate(self, path: Path) -> None:
        (application,) = self._database.execute("PRAGMA application_id").fetchone()
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION or version < 1:
            raise BudgetError(
                f"{path} is not a budget of privet, or it was cut off: its header is missing; nothing was drawn. "
                "Restore it from a copy, and never take it for an empty one"
            )
        if version > VERSION:
            raise BudgetError(
                f"{path} is of version {version}, and this privet knows versions up to {VERSION}; nothing was drawn. "
                "Upgrade privet"
            )
        (state,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(str(state))
        if version < VERSION:
            _run(self._database, version)

    def writing(self) -> AbstractContextManager[None]:
        """Hold the file's lock; commit at the end, or roll back."""
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[None]:
        """Hold a lock that others can share."""
        return self._transaction("BEGIN")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._database.execute(begin)
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    def read(self, most: int | None = None) -> list[Entry]:
        """Return all entries in order, or the first few."""
        query = f"SELECT {_COLUMNS} FROM history ORDER BY seq LIMIT ?"
        return [Entry(*row) for row in self._database.execute(query, (-1 if most is None else most,))]

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last entry."""
        row = self._database.execute("SELECT seq, hash FROM head").fetchone()
        if row is None:
            raise sqlite3.DatabaseError("the note of the last entry is missing")
        return row[0], row[1]

    def append(self, entry: Entry) -> None:
        """Write an entry, and note it as the last one."""
        row = (entry.seq, entry.kind, entry.account, entry.who, entry.at, entry.content, entry.before, entry.hash)
        self._database.execute(f"INSERT INTO history ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._database.execute("UPDATE head SET seq = ?, hash = ?", (entry.seq, entry.hash))

    def who(self) -> str:
        """Return the user of the operating system."""
        if os.name == "posix":  # not the environment's LOGNAME, which anybody can set
            import pwd

            with suppress(KeyError):
                return pwd.getpwuid(os.geteuid()).pw_name
            return f"uid {os.geteuid()}"
        return getpass.getuser()

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _run(database: sqlite3.Connection, version: int) -> None:
    """Bring a store from a version to the newest one, all or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()  # another process may have been quicker
        for script in _MIGRATIONS[version:]:
            for statement in _statements(script):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """Split a script; `executescript` would commit what was done so far."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement) and statement.strip():
            yield statement
            statement = ""
