"""The time that a compiler takes is kept apart from that of what it compiled."""

from time import perf_counter

from numba import njit

from tests.compiling_time import stopwatch


def test_compilations_are_timed_once_though_kernels_compile_kernels():
    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) + inner(2 * x)

    begun = perf_counter()
    with stopwatch() as first:
        assert outer(3) == 11
    assert 0 < first.seconds <= perf_counter() - begun
    with stopwatch() as second:
        assert outer(4) == 14
    assert second.seconds == 0
