"""A real PostgreSQL server for tests: made in a temporary folder, reached by a socket there, thrown away afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

USER = "postgres"  # the server refuses to run as root, so there it runs as Debian's user for it


def _program(name: str) -> str | None:
    found = shutil.which(name)
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return found or (str(places[-1]) if places else None)


class Server:
    """A running server."""

    def __init__(self, folder: Path, durable: bool) -> None:
        self.folder, self.durable = folder, durable

    def url(self, user: str = USER) -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}"

    def emptied(self) -> str:
        """Return the address of a store that is not made yet."""
        self.sql("DROP SCHEMA IF EXISTS privet_budget CASCADE")
        return self.url()

    def role(self, name: str, of: str = "") -> None:
        """Let a role log in, which is in the role `of`. Roles outlive a store, so another test may have made it."""
        if not self.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'"):
            self.sql(f"CREATE ROLE {name} LOGIN")
        if of:
            self.sql(f"GRANT {of} TO {name}")

    def run(self, program: str, *arguments: str) -> None:
        path = _program(program)
        assert path is not None
        command = [path, *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", USER, "--", *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout

    def sql(self, text: str, user: str = USER) -> list[tuple]:
        import psycopg

        with psycopg.connect(self.url(user), autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "-D", str(self.folder / "data"), "-m", "immediate", "-w")

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c max_connections=120"
        options += "" if self.durable else " -c fsync=off"  # no test cuts the power
        log = str(self.folder / "log")
        self.run("pg_ctl", "start", "-D", str(self.folder / "data"), "-l", log, "-o", options, "-w")


@contextmanager
def server(durable: bool = False) -> Iterator[Server]:
    """Start a server, or skip the test where PostgreSQL is not installed."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'privet[postgres]'")
    if _program("initdb") is None or (os.geteuid() == 0 and shutil.which("runuser") is None):
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="privet-pg-", dir="/tmp"))  # a socket's path must be short
    running = Server(folder, durable)
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        folder.chmod(0o755)
        running.run("initdb", "-D", str(folder / "data"), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        running.start()
        yield running
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            running.stop()
        shutil.rmtree(folder, ignore_errors=True)
