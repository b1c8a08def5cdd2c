"""When a count is too unlikely to be chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# What is right is called wrong at most this often, in each check that counts draws.
FALSE_ALARM = 1e-9


def is_unlikely(count: int, trials: int, probability: float, level: float) -> bool:
    """Whether a count of independent hits lies in a tail that has at most the probability `level`, on both sides."""
    return bool(unlikely(np.array([count]), trials, np.array([probability]), level)[0])


def unlikely(counts: ArrayLike, trials: int, probabilities: ArrayLike, level: float) -> NDArray[np.bool_]:
    """Mark counts in the tails of their binomial laws; each side has half of `level`."""
    from scipy.stats import binom

    counts, probabilities = np.asarray(counts), np.asarray(probabilities)
    below = binom.cdf(counts, trials, probabilities)
    above = binom.sf(counts - 1, trials, probabilities)
    return np.asarray(np.minimum(below, above) < level / 2)
