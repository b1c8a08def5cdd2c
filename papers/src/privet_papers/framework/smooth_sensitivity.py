"""Smooth sensitivity in the exponential mechanism, as Fletcher and Islam (2017) and DPGDF (Xin et al. 2019) print it.

The most frequent class scores 1, all others 0, and the score is divided by the smooth sensitivity e^(-j epsilon), j
being the margin between the two largest counts. The scale depends on the data, and no finite epsilon holds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

FLAW = "smooth sensitivity in the exponential mechanism: the scale depends on the data, and no finite epsilon holds"
_STEPS = 1 << 32
_MOST_SCORE = float(
    1 << 60
)  # stands for all that is larger: a probability of e^-(2^28) cannot be distinguished from zero
RATE = Fraction(1, _STEPS)


def top_scores(counts: NDArray[np.int64], epsilon: float, *, smooth: bool = True) -> NDArray[np.int64]:
    """Return epsilon u / (2 S) in units of `RATE`, for the class counts of some leaves.

    Parameters
    ----------
    counts : int64 array of shape (n_leaves, n_classes)
        Exact and private.
    epsilon : float
        The budget.
    smooth : bool, default=True
        Whether S is the smooth sensitivity, or the global one, which is 1. u is 1 for the most frequent classes of
        a leaf and 0 for all others.
    """
    top = counts.max(axis=1)
    exponent = np.full(len(counts), epsilon / 2)
    if smooth:
        second = np.partition(counts, -2, axis=1)[:, -2] if counts.shape[1] > 1 else 0
        exponent *= np.exp(np.minimum((top - second) * epsilon, 600.0))
    scaled = np.rint(np.minimum(exponent * _STEPS, _MOST_SCORE)).astype(np.int64)
    return np.where(counts == top[:, np.newaxis], scaled[:, np.newaxis], 0)
