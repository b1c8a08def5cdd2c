"""Exact laws of the mechanisms, what each costs, and exact intervals for probabilities.

Nothing here draws anything. These are the distributions that `samplers.py` draws from, for planning, for noise-aware
estimates, for the audit, and for the tests of the samplers. Parameters are fractions; probabilities are doubles,
computed in log space.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privet.errors import ParameterError

Floats = NDArray[np.float64]

# ----------------------------------------------------------------------------------------------- additive noise

# Up to this standard deviation a discrete Gaussian is tabulated; above it, Euler-Maclaurin is exact in doubles.
_TABULATED_SIGMA = 1000
# Beyond 39 standard deviations a Gaussian's mass underflows a double; beyond 745 scales a Laplace's does.
_GAUSSIAN_REACH = 40
_LAPLACE_REACH = 750


class _SymmetricLaw(ABC):
    """A law on the integers that is symmetric about zero, like all noise of the library."""

    @property
    @abstractmethod
    def _reach(self) -> int:
        """How far from zero the mass underflows a double."""

    @abstractmethod
    def _lower_tail(self, negative: Floats) -> Floats:
        """Mass at or below each of some negative integers."""

    @abstractmethod
    def log_pmf(self, k: ArrayLike) -> Floats:
        """Logarithm of the mass at `k`."""

    def pmf(self, k: ArrayLike) -> Floats:
        """Mass at `k`."""
        return np.exp(self.log_pmf(k))

    def cdf(self, k: ArrayLike) -> Floats:
        """Mass at or below `k`."""
        k = np.asarray(k, dtype=np.float64)
        # For k >= 0, the mass above k equals the mass at or below -k - 1.
        tail = self._lower_tail(np.where(k < 0, k, -k - 1))
        return np.asarray(np.where(k < 0, tail, 1 - tail))

    def quantile(self, p: ArrayLike) -> NDArray[np.int64]:
        """Smallest integer whose cdf is at least `p`, 0 < p < 1; all entries of `p` are bisected at once."""
        p = np.asarray(p, dtype=np.float64)
        if not np.all((p > 0) & (p < 1)):
            raise ParameterError("quantiles are defined for probabilities strictly between 0 and 1")
        low = np.full(p.shape, -self._reach - 1, dtype=np.int64)
        high = np.full(p.shape, self._reach + 1, dtype=np.int64)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            enough = self.cdf(middle) >= p
            high = np.where(enough, middle, high)
            low = np.where(enough, low, middle)
        return np.asarray(high)


@dataclass(frozen=True)
class DiscreteLaplace(_SymmetricLaw):
    """The law on the integers with mass proportional to exp(-|k| / scale).

    Parameters
    ----------
    scale : Fraction
        Positive.

    Notes
    -----
    *Privacy*: integer answers of L1 sensitivity s plus independent draws are (s / scale)-DP, since
    |k - a| - |k - b| <= |a - b| bounds the log-ratio of masses coordinate by coordinate.

    Examples
    --------
    >>> law = DiscreteLaplace(Fraction(2))
    >>> round(float(law.pmf(0)), 4), round(law.variance, 4), int(law.quantile(0.5))
    (0.2449, 7.8354, 0)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ParameterError(f"the scale of a discrete Laplace law must be positive; got {self.scale}")

    @property
    def _reach(self) -> int:
        return math.ceil(_LAPLACE_REACH * self.scale)

    @property
    def variance(self) -> float:
        """2a / (1 - a)^2 with a = exp(-1 / scale)."""
        decay = 1 / float(self.scale)
        return 2 * math.exp(-decay) / math.expm1(-decay) ** 2

    def log_pmf(self, k: ArrayLike) -> Floats:
        """Logarithm of the mass at `k`."""
        decay = 1 / float(self.scale)
        at_zero = math.log(math.tanh(decay / 2))
        return np.asarray(at_zero - np.abs(np.asarray(k, dtype=np.float64)) * decay)

    def _lower_tail(self, negative: Floats) -> Floats:
        decay = 1 / float(self.scale)  # a geometric series of this decay, at every negative integer
        return np.asarray(np.exp(decay * negative) / (1 + math.exp(-decay)))


@dataclass(frozen=True)
class DiscreteGaussian(_SymmetricLaw):
    """The law on the integers with mass proportional to exp(-k^2 / (2 sigma_squared)).

    Parameters
    ----------
    sigma_squared : Fraction
        Positive. It is the variance up to a factor 1 - O(sigma^2 exp(-2 pi^2 sigma^2)), and never below it.

    Notes
    -----
    *Privacy*: integer answers of L2 sensitivity s plus independent draws are s^2 / (2 sigma_squared)-zCDP (Canonne,
    Kamath and Steinke, 2020, Theorem 14). Analytic scales of the continuous Gaussian do not carry over.

    Examples
    --------
    >>> law = DiscreteGaussian(Fraction(4))
    >>> round(float(law.pmf(0)), 4), round(law.variance, 4), int(law.quantile(0.975))
    (0.1995, 4.0, 4)
    """

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        if self.sigma_squared <= 0:
            raise ParameterError(f"the variance of a discrete Gaussian law must be positive; got {self.sigma_squared}")

    @property
    def _sigma(self) -> float:
        return math.sqrt(self.sigma_squared)

    @property
    def _reach(self) -> int:
        return math.ceil(_GAUSSIAN_REACH * self._sigma) + 1

    @cached_property
    def _log_total(self) -> float:
        if self._sigma > _TABULATED_SIGMA:
            # Poisson summation: the sum over the integers is the integral but for a factor 1 + 2 exp(-2 pi^2 sigma^2).
            return 0.5 * math.log(2 * math.pi * float(self.sigma_squared))
        k = np.arange(-self._reach, self._reach + 1)
        return math.log(math.fsum(np.exp(-(k**2) / (2 * float(self.sigma_squared)))))

    @cached_property
    def _lower_table(self) -> Floats:
        """Cdf at -reach, ..., -1, each entry summed from its own tail."""
        return np.cumsum(self.pmf(np.arange(-self._reach, 0)))

    @cached_property
    def variance(self) -> float:
        """The variance; a little below `sigma_squared` when that is small."""
        if self._sigma > _TABULATED_SIGMA:
            return float(self.sigma_squared)
        k = np.arange(1, self._reach + 1)
        return 2 * math.fsum(k**2 * self.pmf(k))

    def log_pmf(self, k: ArrayLike) -> Floats:
        """Logarithm of the mass at `k`."""
        k = np.asarray(k, dtype=np.float64)
        return np.asarray(-(k**2) / (2 * float(self.sigma_squared)) - self._log_total)

    def _lower_tail(self, negative: Floats) -> Floats:
        return self._smooth_tail(negative) if self._sigma > _TABULATED_SIGMA else self._tabulated_tail(negative)

    def _tabulated_tail(self, negative: Floats) -> Floats:
        place = np.clip(negative + self._reach, -1, self._reach - 1).astype(np.int64)
        return np.asarray(np.where(place < 0, 0.0, self._lower_table[place]))

    def _smooth_tail(self, negative: Floats) -> Floats:
        """The midpoint form of Euler-Maclaurin with two corrections; the next is of order sigma^-6."""
        from scipy.special import ndtr

        x = (negative + 0.5) / self._sigma
        density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        first = -x * density / float(self.sigma_squared)
        third = (3 * x - x**3) * density / float(self.sigma_squared) ** 2
        return np.asarray(ndtr(x) - first / 24 + 7 * third / 5760)


# ---------------------------------------------------------------------------------------------------- selection

# Up to this many candidates one Gauss-Legendre rule integrates the polynomial of permute-and-flip exactly.
_POLYNOMIAL_CANDIDATES = 128
_PANEL_NODES = 32


def permute_and_flip(scores: ArrayLike, rate: Fraction) -> Floats:
    """Probabilities with which permute-and-flip selects each candidate.

    Candidates are visited in a uniformly random order; candidate i is taken with probability
    q_i = exp(-rate (max - score_i)), and the first one taken wins. With arrival times uniform on [0, 1] this is
    P(i) = q_i times the integral over t in [0, 1] of the product over j != i of (1 - q_j t).

    Parameters
    ----------
    scores : integer array of shape (..., n_candidates)
    rate : Fraction
        At least 0; multiplies the scores as they are.

    Returns
    -------
    float array of the same shape

    Notes
    -----
    *Privacy*: if, between neighbours, the changes of the scores of one fixed candidate set span at most R, then
    permute-and-flip at rate epsilon / R is epsilon-DP. Proof: it reports the largest score_i + Z_i, with Z_i
    independent exponentials of mean R / epsilon. Given the others' values, i wins with probability
    min(1, exp(-epsilon x / R)), x = max over j != i of (score_j + Z_j) - score_i, and x moves by at most R. One-sided
    scores that change by at most 1 have R = 1, not 2. It is *not* (epsilon^2 / 8)-zCDP; for zCDP use
    `exponential_mechanism`.

    Examples
    --------
    >>> permute_and_flip([3, 3], Fraction(1)).tolist()
    [0.5, 0.5]
    """
    acceptance = np.exp(_exponents(scores, rate))
    rows = acceptance.reshape(-1, acceptance.shape[-1])
    return np.stack([_first_taken(row) for row in rows]).reshape(acceptance.shape)


def _first_taken(acceptance: Floats) -> Floats:
    """P(i) of permute-and-flip from the acceptance probabilities of one row."""
    n = acceptance.size
    if n <= _POLYNOMIAL_CANDIDATES:
        times, weights = _gauss_legendre(n // 2 + 1)
    else:
        # The integrand falls about like exp(-t * sum of q): panels of that length until it is below 1e-17.
        length = 4 / acceptance.sum()
        edges = np.unique(np.minimum(np.append(length * np.arange(11), 1.0), 1.0))
        nodes, node_weights = _gauss_legendre(_PANEL_NODES)
        widths = np.diff(edges)
        times = (edges[:-1, None] + widths[:, None] * nodes).ravel()
        weights = (widths[:, None] * node_weights).ravel()
    log_reject = np.log1p(-acceptance * times[:, None])  # nodes are strictly inside (0, 1), so this is finite
    none_taken = log_reject.sum(axis=1, keepdims=True)
    return np.asarray(acceptance * (weights @ np.exp(none_taken - log_reject)))


@lru_cache
def _gauss_legendre(n_nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def exponential_mechanism(scores: ArrayLike, rate: Fraction) -> Floats:
    """Probabilities with which the exponential mechanism selects each candidate: proportional to exp(rate * score).

    Parameters
    ----------
    scores : integer array of shape (..., n_candidates)
    rate : Fraction
        At least 0; multiplies the scores as they are.

    Returns
    -------
    float array of the same shape

    Notes
    -----
    *Privacy*: if, between neighbours, the changes of the scores span at most R, then at rate epsilon / R all
    log-ratios of probabilities lie in one interval of length epsilon that contains 0 (log p'_i - log p_i is
    rate * change_i minus a constant). Hence it is epsilon-DP, epsilon-bounded-range and (epsilon^2 / 8)-zCDP.

    Examples
    --------
    >>> exponential_mechanism([0, 0, 0, 0], Fraction(2)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    weights = np.exp(_exponents(scores, rate))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _exponents(scores: ArrayLike, rate: Fraction) -> Floats:
    """-rate * (max - score), with the difference taken in integers."""
    if rate < 0:
        raise ParameterError(f"a selection's rate must not be negative; got {rate}")
    integers = np.asarray(scores)
    if integers.dtype.kind not in "iu" or integers.ndim == 0 or integers.size == 0:
        raise ParameterError("scores are an array of integers with at least one candidate")
    # Unsigned differences cannot overflow: the true one is below 2^64 and arithmetic is modulo 2^64.
    words = integers.astype(np.int64).view(np.uint64)
    top = integers.max(axis=-1, keepdims=True).astype(np.int64).view(np.uint64)
    return np.asarray(-float(rate) * (top - words).astype(np.float64))


def flip_probability(gap: int, rate: Fraction) -> float:
    """Probability that permute-and-flip picks the lower of two candidates whose scores are `gap` apart."""
    return 0.5 * math.exp(-float(rate * abs(gap)))


@lru_cache
def selection_loss(n_candidates: int) -> float:
    """Bound on rate * E[max - chosen score] for permute-and-flip, over all scores of `n_candidates` candidates.

    The worst case has all but the best candidate at one gap; with p = exp(-rate gap) the loss is
    ln(1/p) (1 - (1 - (1-p)^K) / (K p)), maximised over p. For two candidates this is 1 / (2e) = 0.184.
    """
    if n_candidates < 1:
        raise ParameterError(f"a selection needs at least one candidate; got {n_candidates}")

    def loss(gap: Floats) -> Floats:
        p = np.exp(-gap)
        return np.asarray(gap * (1 + np.expm1(n_candidates * np.log1p(-p)) / (n_candidates * p)))

    centre, width = 0.5 * math.log(n_candidates) + 2.0, 0.5 * math.log(n_candidates) + 2.0
    for _ in range(8):  # a grid refined around its best point; the loss is unimodal in the gap
        gaps = np.linspace(max(centre - width, 1e-9), centre + width, 101)
        centre, width = float(gaps[np.argmax(loss(gaps))]), width / 20
    return float(loss(np.array(centre)))


# --------------------------------------------------------------------------------------------------- intervals


def clopper_pearson_lower(hits: ArrayLike, trials: int, level: float) -> NDArray[np.float64]:
    """Lower end of the exact one-sided interval for a probability; wrong with probability at most `level`."""
    from scipy.special import betaincinv

    k = np.asarray(hits, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        bound = betaincinv(np.maximum(k, 1), trials - k + 1, level)
    return np.where(k == 0, 0.0, bound)


def clopper_pearson_upper(hits: ArrayLike, trials: int, level: float) -> NDArray[np.float64]:
    """Upper end of the exact one-sided interval for a probability; wrong with probability at most `level`."""
    from scipy.special import betainccinv

    k = np.asarray(hits, dtype=np.float64)
    bound = betainccinv(k + 1, np.maximum(trials - k, 1), level)
    return np.where(k == trials, 1.0, bound)
