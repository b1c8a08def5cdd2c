"""Whether a forest's leaves fit in memory: known from public facts, and said before anything is charged."""

import os

from privet.errors import ParameterError

_WITHOUT_KNOWLEDGE = 8 << 30
_ARRAYS = 4  # the sum, one block's counts, the noise, and the leaves' shares


def check_leaves_fit(n_leaves: int, n_classes: int) -> None:
    """Refuse a forest whose leaf counts would take more than half of this machine's memory.

    Raises
    ------
    ParameterError
        With the memory that would be needed, and the remedy.
    """
    needed = _ARRAYS * 8 * n_classes * n_leaves
    allowed = memory_of_machine() // 2
    if needed > allowed:
        raise ParameterError(
            f"{n_leaves} leaves with {n_classes} classes need about {needed / 2**30:.1f} GB, but at most "
            f"{allowed / 2**30:.1f} GB may be used here: take fewer trees (n_trees) or less depth (max_depth)"
        )


def memory_of_machine() -> int:
    """Return the bytes of physical memory, or a modest guess where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _WITHOUT_KNOWLEDGE
