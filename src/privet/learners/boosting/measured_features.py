"""Which features are measured, where not all are: a public choice of how many columns they have, and then of which.

Pure noise grows with the number of columns that are measured, and the signal of all of them hardly with its root. So
where there is little signal, few features say more than all do, whichever they are. A plan fixes the sizes of those
that are measured, spread over the sizes of all; a fit draws features of these sizes from public randomness.
"""

from __future__ import annotations

from collections.abc import Sequence

from privet.tables.protocol import IntArray

FEWEST_FEATURES = 2  # whatever the limit, unless they have many times as many columns
MANY_TIMES = 10


def spread_sizes(sizes: Sequence[int], n_measured: int) -> tuple[int, ...]:
    """Return the sizes of so many of the features, spread evenly by size; of all, in their order.

    Examples
    --------
    >>> spread_sizes([1, 9, 1, 4], 2)
    (1, 9)
    """
    n = len(sizes)
    if n_measured >= n:
        return tuple(sizes)
    return tuple(sorted(sizes)[(2 * k + 1) * n // (2 * n_measured)] for k in range(n_measured))


def sizes_within(sizes: Sequence[int], most_columns: int | None) -> tuple[int, ...]:
    """Return the sizes of as many features as have no more columns together, of all where there is no limit.

    Features of more than half of what is allowed are left out, unless there are no others: one of them would cost as
    much as all that might be measured in its place. One of many times as many columns is never measured: noise would be
    all there is.

    Examples
    --------
    >>> sizes_within([1, 40, 1, 2, 1, 3], 6)
    (1, 1, 3)
    >>> sizes_within([30, 40, 50], 6)
    (30, 40)
    >>> sizes_within([30, 4_000], 6)
    (30,)
    >>> sizes_within([3, 1], None)
    (3, 1)
    """
    if most_columns is None or sum(sizes) <= most_columns:
        return tuple(sizes)
    small = [size for size in sizes if size <= most_columns // 2]
    if len(small) < FEWEST_FEATURES:
        return tuple(size for size in sorted(sizes)[:FEWEST_FEATURES] if size <= MANY_TIMES * most_columns)
    small.sort()
    for n_measured in range(min(len(small), most_columns), FEWEST_FEATURES, -1):  # each has a column at least
        found = spread_sizes(small, n_measured)
        if sum(found) <= most_columns:
            return found
    return spread_sizes(small, FEWEST_FEATURES)


def features_of_sizes(wanted: Sequence[int], sizes: Sequence[int], order: IntArray) -> list[int]:
    """Return a feature of each size that is wanted, each once: the first that is left in a public order.

    Examples
    --------
    >>> import numpy as np
    >>> features_of_sizes((1, 3), (3, 1, 1, 3), np.array([2, 3, 0, 1]))
    [2, 3]
    """
    if tuple(wanted) == tuple(sizes):
        return list(range(len(sizes)))
    left, found = order.tolist(), list[int]()
    for size in wanted:
        found.append(next(feature for feature in left if sizes[feature] == size))
        left.remove(found[-1])
    return found
