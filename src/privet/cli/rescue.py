"""A model that was paid for is not lost where it cannot be written: it goes to the folder for temporary files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from privet.cli.console import note


@contextmanager
def rescuing(estimator: Any, wanted: Path) -> Iterator[None]:
    """Write a fitted model elsewhere if the block cannot write it; the error is raised nevertheless."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="privet-"))
            elsewhere = folder / f"{wanted.stem or 'model'}.json"
            try:
                estimator.save(elsewhere)
            except OSError:
                folder.rmdir()
                raise
            note(f"privet: the budget was spent, so the model was written to {elsewhere} instead; move it from there")
        raise
