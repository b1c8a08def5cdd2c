"""`compiled`: numba's `njit` with the settings of the house.

`nogil` lets plain threads run kernels side by side (numba's own parallel layers abort on concurrent calls and do not
survive a fork). `cache` saves the compile time between processes; where no cache folder is writable numba raises when
the decorator runs, so there we compile in memory instead.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function of arrays and numbers to machine code, without the interpreter's lock."""
    try:
        return cast(Callable[P, T], numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:
        return cast(Callable[P, T], numba.njit(nogil=True)(function))


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Like `compiled`, for small helpers that only other compiled functions call."""
    return cast(Callable[P, T], numba.njit(nogil=True, inline="always")(function))
