"""Errors of engines: what they say of values that they cannot convert quotes them, so it is not passed on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from privet import errors
from privet.errors import ParameterError, PrivetError, SchemaError, TableChangedError

PARTITION_CHANGED = (
    "a partition changed between two passes, or its records came in another order: give the table files, or a frame "
    "whose partitions are always the same, and name a column with another value in every record: id=..."
)
_OURS = {kind.__name__: kind for kind in (TableChangedError, SchemaError)}
_IN_TEXT = re.compile(rf"^{re.escape(errors.__name__)}\.({'|'.join(_OURS)}): (.*)$", re.MULTILINE)
_ABOUT_WORKERS = "distributed"  # a module whose errors speak of workers and connections, never of values


@contextmanager
def unquoted(what: str, engine: str, *, of_files: bool = False) -> Iterator[None]:
    """Let no error of an engine out of the block, since it may quote a record.

    Errors of privet's own are raised as they are. Spark hands these on as a text, which is read only where the table is
    one `of_files`: then nothing but privet has read the records, and what it says never quotes one.

    Raises
    ------
    ParameterError
        That the engine failed, without its words.
    """
    try:
        yield
    except (PrivetError, MemoryError):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] == _ABOUT_WORKERS:
            raise
        said = str(error)
        ours = _IN_TEXT.search(said) if of_files else None
        if ours is not None:
            raise _OURS[ours[1]](ours[2]) from None
        if PARTITION_CHANGED in said:
            raise TableChangedError(PARTITION_CHANGED) from None
        raise ParameterError(
            f"{what} failed while it was computed ({type(error).__name__}); what {engine} says may quote records, so "
            "it is not shown: compute it by itself"
        ) from None
