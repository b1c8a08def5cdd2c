"""Statistical tests of draws against an exact law, two-sided: too much noise fails as too little does."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

# A verdict on fixed seeds never changes.
SURE = 1e-6

# On the system's source a right sampler fails at most once in a billion runs: `surely` makes the p-value a bound that
# holds for any number of draws, where Pearson's is an approximation. What must be rejected escapes more rarely still.
SURE_OF_THE_SYSTEM = 1e-9


class Law(Protocol):
    def pmf(self, k: ArrayLike) -> NDArray[np.float64]: ...
    def cdf(self, k: ArrayLike) -> NDArray[np.float64]: ...
    def quantile(self, p: ArrayLike) -> NDArray[np.int64]: ...


def p_value_of_noise(draws: NDArray[np.int64], law: Law, n_bins: int = 40, *, surely: bool = False) -> float:
    """Pearson's chi-square over bins of about equal mass, and ever smaller ones in both tails, where faults hide."""
    tails = 0.5 ** np.arange(1, 12) / n_bins
    tops = np.unique(law.quantile(np.concatenate([tails, np.arange(1, n_bins) / n_bins, 1 - tails])))
    # A bin holds the integers in (edge before, edge]; each top is a bin of its own.
    edges = np.unique(np.concatenate([tops - 1, tops]))
    mass = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    return sure_p_value_of_counts(counts, mass) if surely else p_value_of_counts(counts, mass)


def p_value_of_choices(
    choices: NDArray[np.int64], probabilities: NDArray[np.float64], *, surely: bool = False
) -> float:
    """Pearson's chi-square of selections against their exact probabilities."""
    counts = np.bincount(choices, minlength=probabilities.size)
    return sure_p_value_of_counts(counts, probabilities) if surely else p_value_of_counts(counts, probabilities)


def p_value_of_counts(counts: NDArray[np.int64], mass: NDArray[np.float64]) -> float:
    """Pearson's chi-square; cells expected fewer than five times are pooled into one."""
    expected = mass * counts.sum()
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-9:  # nothing to pool, or events that do not happen
        if counts[-1] > 0:
            return 0.0
        counts, expected = counts[:-1], expected[:-1]
    if counts.size == 1:
        return 1.0
    statistic = np.sum((counts - expected) ** 2 / expected)
    return float(stats.chi2.sf(statistic, counts.size - 1))


def sure_p_value_of_counts(counts: NDArray[np.int64], mass: NDArray[np.float64]) -> float:
    """A union bound over exact binomial tests: of every cell, and of every cell together with all before it."""
    hits = np.concatenate([counts, np.cumsum(counts)])
    chances = np.clip(np.concatenate([mass, np.cumsum(mass)]), 0, 1)
    trials = counts.sum()
    tails = np.minimum(stats.binom.cdf(hits, trials, chances), stats.binom.sf(hits - 1, trials, chances))
    return float(min(1.0, 2 * tails.min() * tails.size))


def p_value_of_pairs(draws: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Whether any two columns depend on one another: the smallest p-value over all pairs, times their number.

    Parameters
    ----------
    draws : bool array of shape (trials, places)
        One bit of each draw.
    chances : array of shape (places,)
        The exact probability of each bit.
    """
    bits = draws.astype(np.int64)
    together, expected = bits.T @ bits, np.outer(chances, chances)
    pairs = np.triu_indices(bits.shape[1], k=1)
    below = stats.binom.cdf(together[pairs], len(bits), expected[pairs])
    above = stats.binom.sf(together[pairs] - 1, len(bits), expected[pairs])
    return float(min(1.0, 2 * len(pairs[0]) * np.minimum(below, above).min()))
