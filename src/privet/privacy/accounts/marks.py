"""High-water marks: how far each store had come when this user last wrote to it.

A store that was restored from an older copy has forgotten charges, and its own hashes fit. So number and hash of the
last entry are noted in the user's state folder, too. The mark can be deleted by its user: it finds accidents and sloppy
restores, and does not stop an owner who is determined to cheat.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.history import HistoryError
from privet.writing import replace_text


@dataclass(frozen=True)
class Mark:
    """The last entry that was seen."""

    seq: int
    hash: str


def read_mark(store: str) -> Mark | None:
    """Return the mark of a store; None if there is none. Read it *before* the history, which others may extend."""
    try:
        noted = json.loads(_path(store).read_text(encoding="utf-8"))
        return Mark(int(noted["seq"]), str(noted["hash"]))
    except (OSError, ValueError, TypeError, KeyError, RuntimeError):  # the last where a user has no home
        return None


def write_mark(store: str, last: Entry) -> None:
    """Note the last entry, unless a later one is noted; where nothing can be written, nothing is noted.

    Of two processes at the same time the earlier entry may win. The mark is then one entry too low, which is harmless.
    """
    mark = read_mark(store)
    if mark is not None and mark.seq > last.seq:
        return
    with suppress(OSError, RuntimeError):
        path = _path(store)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_text(path, json.dumps({"seq": last.seq, "hash": last.hash}) + "\n")


def forget_mark(store: str) -> None:
    """Delete the mark of a store whose restored copy was accepted."""
    with suppress(OSError, RuntimeError):
        _path(store).unlink(missing_ok=True)


def check_mark(mark: Mark | None, entries: Sequence[Entry]) -> None:
    """Raise `HistoryError` if a history does not contain the entry that is marked."""
    if mark is None:
        return
    if len(entries) < mark.seq:
        raise HistoryError(
            f"this budget has {len(entries)} entries, but had {mark.seq} when you last wrote to it: it is an older "
            "copy, and has forgotten charges; nothing was drawn. Restore the newest copy; if it is lost, its owner can "
            "go on with this one by `privet budget verify --accept-restored`, which is recorded"
        )
    if entries[mark.seq - 1].hash != mark.hash:
        raise HistoryError(
            f"entry {mark.seq} of this budget is not the one that you wrote: it is another copy, or its history was "
            "rewritten; nothing was drawn. Find out by whom before you go on (`privet budget verify`)"
        )


def _path(store: str) -> Path:
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_STATE_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    # The store's identifier comes from its history, so it is not trusted as a file name.
    return folder / "privet" / "budgets" / f"{''.join(c for c in store if c.isalnum())[:64]}.json"
