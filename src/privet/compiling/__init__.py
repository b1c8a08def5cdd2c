"""`compiled`: numba's `njit` with the library's settings, and a cache that is never stale.

`nogil` lets plain threads run kernels side by side (numba's own parallel layers abort on concurrent calls and do not
survive a fork). Machine code is kept between processes, see `kernel_cache`; whoever waits for the first compilation is
notified, see `waiting`.

Compiling takes a tenth of a second a function, whatever its size, and more for what of NumPy it uses. So a first fit is
quick if it compiles few functions: what a fit does not need is in a function of its own, memory is passed in, loops are
written out, and numbers that are passed on are `np.int64`, since numba compiles another version for each plain number.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

from privet.compiling.kernel_cache import KernelCache, cached_in, kernel_digest, kernel_folder
from privet.compiling.waiting import tell_of_long_waits

__all__ = ["compiled", "inlined", "inner", "kernel_digest", "kernel_folder", "merged"]

P = ParamSpec("P")
T = TypeVar("T")

# Nothing here is called back from C, and no divisor is zero: no code for either has to be compiled.
_SETTINGS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
_njit: Any = numba.njit  # its declared types do not know all of the settings

tell_of_long_waits()


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function of arrays and numbers to machine code, without the interpreter's lock."""
    dispatcher = _njit(**_SETTINGS)(function)
    folder = kernel_folder(function.__module__.partition(".")[0])
    if folder is not None:
        with cached_in(folder):
            dispatcher._cache = KernelCache(function)  # what enable_caching() does, with a cache that mends itself
    return cast(Callable[P, T], dispatcher)


def inner(function: Callable[P, T]) -> Callable[P, T]:
    """Like `compiled`, for functions that only other compiled functions call: half the time to compile.

    There is no way into it from Python, and it is stored as a part of its callers.
    """
    return cast(Callable[P, T], _njit(**_SETTINGS, no_cpython_wrapper=True)(function))


def merged(function: Callable[P, T]) -> Callable[P, T]:
    """Like `inner`, and always merged into its callers: for small functions in innermost loops."""
    return cast(Callable[P, T], _njit(**_SETTINGS, no_cpython_wrapper=True, forceinline=True)(function))


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Like `inner`, for a few lines: numba treats them as if they were written in each of their callers."""
    return cast(Callable[P, T], _njit(**_SETTINGS, inline="always")(function))
