"""Whoever waits for the first compilation is notified, once, if it takes over a second."""

import logging
import sys
import threading
from time import perf_counter
from typing import Any

from numba.core import event

SILENT_SECONDS = 1.0
TEXT = "compiling, once: the first fit on this machine takes some seconds longer (`privet warmup` does it beforehand)"
WITHOUT_CACHE = (
    "compiling, in this process only: no folder can be written to, so machine code cannot be kept; "
    "let NUMBA_CACHE_DIR name one that can"
)

_log = logging.getLogger(__name__)


class Waiting(event.Listener):
    """Adds up how long functions have been compiled, and says so when it becomes long.

    The message goes to the log, at level INFO, and to standard error if that is a terminal.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._told = False
        self._began: dict[int, tuple[int, float]] = {}  # by thread: how many compilations are within one another

    def on_start(self, event: Any) -> None:
        """Note when the outermost of nested compilations begins."""
        thread = threading.get_ident()
        depth, began = self._began.get(thread, (0, perf_counter()))
        self._began[thread] = (depth + 1, began)
        if self.seconds + perf_counter() - began > SILENT_SECONDS:
            self._tell()

    def on_end(self, event: Any) -> None:
        """Add the outermost compilation when it ends."""
        thread = threading.get_ident()
        depth, began = self._began.pop(thread, (1, perf_counter()))
        if depth > 1:
            self._began[thread] = (depth - 1, began)
        else:
            self.seconds += perf_counter() - began
        if self.seconds > SILENT_SECONDS:
            self._tell()

    def _tell(self) -> None:
        if self._told:
            return
        self._told = True
        from privet.compiling.kernel_cache import kernel_folder

        text = WITHOUT_CACHE if kernel_folder("privet") is None else TEXT
        _log.info(text)
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"privet: {text}\n")


def tell_of_long_waits() -> None:
    """Listen to numba from now on."""
    event.register("numba:compile", Waiting())
