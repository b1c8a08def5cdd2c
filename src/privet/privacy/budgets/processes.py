"""The current process and its ancestors, each distinguished from a later process with the same number."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process, identified by its number and its start time: numbers are reused, but not the two together.

    `started` is empty where the system does not report it.
    """

    pid: int
    started: str

    @cached_property
    def name(self) -> str:
        """A file name that reveals neither the number nor the time."""
        return hashlib.blake2b(f"{machine()} {self.pid} {self.started}".encode(), digest_size=16).hexdigest()


def this_process() -> Process:
    """Return the current process."""
    return next(_upwards(os.getpid()), Process(os.getpid(), ""))


def ancestors() -> tuple[Process, ...]:
    """Return the parent of this process, its parent and so on; on Windows only the parent."""
    return _ancestors(os.getpid(), os.getppid())


@lru_cache(maxsize=1)
def _ancestors(pid: int, parent: int) -> tuple[Process, ...]:
    # Cached as long as the parent is the same. If an ancestor further up has ended since, so have all its budgets.
    return tuple(_upwards(parent))


def _upwards(pid: int) -> Iterator[Process]:
    while pid > 0:
        found = _look_up(pid)
        if found is None:
            return
        started, parent = found
        yield Process(pid, started)
        pid = parent


def is_running(process: Process) -> bool:
    """Whether the process is still running; assumed if it cannot be distinguished from a later one."""
    found = _look_up(process.pid)
    return not process.started or (found is not None and found[0] == process.started)


@cache
def machine() -> str:
    """Return an identifier of this boot of this machine, or nothing if the system has none."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def namespace() -> str:
    """Return an identifier of this container's process numbers, or nothing if the system has none."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""


def _look_up(pid: int) -> tuple[str, int] | None:
    """Return a process's start time and the number of its parent; None if there is no such process in sight."""
    if _has_proc():
        return _from_proc(pid)
    return _from_ps(pid) if os.name == "posix" else _from_python(pid)


@cache
def _has_proc() -> bool:
    return Path("/proc/self/stat").exists()


def _from_proc(pid: int) -> tuple[str, int] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The second field is a name in parentheses, which may itself contain blanks and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return fields[19].decode(), int(fields[1])


def _from_ps(pid: int) -> tuple[str, int] | None:
    try:
        asked = ["ps", "-o", "ppid=,lstart=", "-p", str(pid)]
        answer = subprocess.run(
            asked, env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, capture_output=True, text=True, timeout=30
        ).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return _from_python(pid)
    return (" ".join(answer[1:]), int(answer[0])) if answer else None


def _from_python(pid: int) -> tuple[str, int] | None:
    return "", os.getppid() if pid == os.getpid() else 0
