"""Write files whole or not at all: a new file is written beside the old one, and then replaces it in one step.

A full disk, a signal or an error halfway leaves the old file as it was. A path that exists but is not a regular file (a
pipe, a terminal, anything in /dev) is written to directly.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST_SUFFIX = 16  # in characters; a longer one is not a suffix
_NO_ROOM_BESIDE = (errno.EACCES, errno.EPERM, errno.EROFS)
ROOM = 1 << 20  # bytes that must be free before the work on a file's content begins


def replace_text(path: str | PathLike[str], text: str) -> None:
    """Write text as UTF-8, line feeds as they are, in place of what was there."""
    replace_bytes(path, text.encode("utf-8"))


def replace_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write bytes in place of what was there."""
    with replacing(path) as beside:
        beside.write_bytes(content)


def replace_figure(path: str | PathLike[str], figure: Figure, **options: Any) -> None:
    """Write a matplotlib figure as ``figure.savefig(path, **options)`` does: the format by the name, or added to it."""
    path = Path(path)
    kind = options.pop("format", None) or path.suffix[1:]
    if not kind:
        kind = figure.canvas.get_default_filetype()
        path = path.with_name(f"{path.name.rstrip('.')}.{kind}")
    drawn = BytesIO()
    figure.savefig(drawn, format=kind, **options)
    replace_bytes(path, drawn.getvalue())


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to; the file written there replaces `path` in one step when the block ends.

    The yielded path has the suffix of `path` and is in the same folder, so that replacing is a single operation of the
    file system. The content is on the disk before it replaces anything. If the block or the replacement fails for any
    reason, including an interrupt, nothing is left beside the old file. Only a process that is killed outright leaves
    its unfinished ``.privet-...`` behind.

    A new file has the permissions that `open` would give it. A replaced file keeps its owner (where that is allowed),
    group and permissions, and links to it stay valid. A file without write permission is refused. Where a file may be
    written to but no file may be created beside it, it is written in place, as `open` would do.
    """
    wanted = Path(path)
    if _is_special(wanted):
        yield wanted
        return
    target = Path(os.path.realpath(wanted))  # a link stays, and the file that it leads to is replaced
    old = target.stat() if target.exists() else None
    if old is not None and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(wanted))
    suffix = target.suffix if len(target.suffix) <= _LONGEST_SUFFIX else ""
    beside = target.with_name(f".privet-{secrets.token_hex(8)}{suffix}")
    try:
        try:
            # Until the old file's permissions are copied, nobody else may read the new one.
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if old is None else 0o600))
        except OSError as error:
            if old is None or error.errno not in _NO_ROOM_BESIDE:
                raise type(error)(error.errno, error.strerror, str(wanted)) from None
            beside = target
        yield beside
        if beside is not target:
            _finish(beside, target, old)
    except BaseException:
        if beside is not target:
            with suppress(OSError):
                beside.unlink()
        raise


def check_room(path: str | PathLike[str]) -> None:
    """Raise now the error that writing to `path` would raise later, as far as that can be known: permissions, room."""
    wanted = Path(path)
    if _is_special(wanted):
        return
    with suppress(_Enough), replacing(wanted) as beside:
        if beside != Path(os.path.realpath(wanted)) and hasattr(os, "posix_fallocate"):
            descriptor = os.open(beside, os.O_WRONLY)
            try:
                os.posix_fallocate(descriptor, 0, ROOM)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # a file system that cannot reserve room
                    raise OSError(error.errno, error.strerror, str(wanted)) from None
            finally:
                os.close(descriptor)
        raise _Enough


class _Enough(Exception):  # noqa: N818  # not an error
    """Leaves a block without replacing anything."""


def _is_special(path: Path) -> bool:
    """Whether a path cannot be replaced: it is there, and is not a regular file or belongs to the operating system."""
    try:
        mode = path.stat().st_mode
    except OSError:  # absent or inaccessible, also in /dev and /proc: creating the file raises the right error
        return False
    return not stat.S_ISREG(mode) or any(path.absolute().is_relative_to(place) for place in ("/dev", "/proc"))


def _finish(beside: Path, target: Path, old: os.stat_result | None) -> None:
    """Flush the new file to the disk, give it the old one's owner and permissions, and replace the old one."""
    descriptor = os.open(beside, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if old is not None:
        _take_over(beside, old)
    try:
        beside.replace(target)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a file that is itself a mount point cannot be replaced
            raise
        shutil.copyfile(beside, target)
        beside.unlink()
    with suppress(OSError):  # some systems cannot open folders; the file is complete either way
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _take_over(beside: Path, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode)
    new = beside.stat()
    if hasattr(os, "chown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.chown(beside, -1, old.st_gid)
        with suppress(OSError):
            os.chown(beside, old.st_uid, -1)
        if beside.stat().st_gid != old.st_gid:
            mode &= ~stat.S_IRWXG  # these permissions were meant for another group
    beside.chmod(mode)
