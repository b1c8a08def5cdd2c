"""How far a pass over files has come, with the time left: on standard error, and only if that is a terminal."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any, Self


class PassProgress(AbstractContextManager["PassProgress"]):
    """A bar that moves as records are read.

    It shows a share and a time, never a number of records, and only to whoever runs the fit at a terminal.

    Parameters
    ----------
    what : str
        What is being done.
    total : int or None
        How many records there are, if that is known.
    show : bool, optional
        Whether to show it; by default if standard error is a terminal.
    """

    def __init__(self, what: str, total: int | None, show: bool | None = None) -> None:
        self._what, self._total = what, total
        self._shown = sys.stderr.isatty() if show is None else show
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._shown:
            from rich import progress
            from rich.console import Console

            columns = (
                progress.SpinnerColumn(),
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.TaskProgressColumn(),
                progress.TimeRemainingColumn(),
            )
            self._bar = progress.Progress(*columns, console=Console(stderr=True, force_terminal=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._what, total=self._total)
        return self

    def advance(self, n_rows: int) -> None:
        """Note that so many records more have been read; may be called from any thread."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], n_rows)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
