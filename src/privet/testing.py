"""For tests only: noise from a seed. A model fitted under it claims nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from privet.mechanisms.release import seeded

__all__ = ["seeded_noise"]


@contextmanager
def seeded_noise(seed: int) -> Iterator[None]:
    """Make the noise of all fits inside the block repeatable.

    Whoever knows the seed can subtract the noise, so the ledger of such a fit has no guarantee and says why.

    The seed applies to the thread (or asynchronous task) that opened the block. Fits in other threads and in worker
    processes, such as those of a cross-validation with ``n_jobs=2``, use the operating system's entropy as usual, and
    their ledgers make their usual claims.

    Examples
    --------
    >>> from privet.testing import seeded_noise
    >>> with seeded_noise(7):
    ...     pass
    """
    with seeded(seed):
        yield
