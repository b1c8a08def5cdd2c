"""Theorems 5.6 to 5.9 of Bojarski et al. (2014): random decision trees with Laplace noise of scale k / eta.

Symbols as in `privet_papers.bojarski_2014.theorems`; ``eta`` is the privacy budget. Each function has two versions, for
the paper states more than it proves:

- *printed*: the statement as it stands in the paper.
- *derived*: what its proof gives, in the plainest form. With probability 1 - 2 k exp(-lambda n eta / k), lambda =
  delta / (24 K 2^h), the 2 k draws of noise in a point's leaves all are at most n_a delta / 24 in leaves of
  n_a >= n / (K 2^h) points; then no such leaf's share moves by more than delta / 23, whatever the trees, so that no
  further term is needed. The paper prints k for 2 k, which is stronger than what follows, and a needless exp(-k / 2).
  To generalise, shares of test and of training points may differ by delta / 2 (`leaves_differ`), so that the trees may
  deviate by (1/2 - 1/23) delta and no longer by delta / 2: exp(-2 k ((1/2 - 1/23) delta)^2) for exp(-k delta^2 / 2).

Both suppose that a share is the quotient of noisy counts, those below zero taken as zero. The paper's rule, a random
share wherever a count is negative, is not covered by its proof: (5) ignores that branch, which every second pure leaf
takes.

The proofs are written out for averaging. For majority voting the paper says that they are alike; they are not: goodness
counts a leaf that is right by one vote, and noise turns it as often as not. Nothing here proves that version.

The bounds are of theoretical interest: on every data set of the paper they say nothing (see `k_opt`).
"""

from __future__ import annotations

import math

from privet.parameters import check_choice, check_whole
from privet_papers.bojarski_2014.theorems import (
    ErrorBound,
    Version,
    Voting,
    check_between,
    check_error,
    check_positive,
    leaves_differ,
)

# Theorems 5.7 and 5.9 are 5.6 and 5.8 with these constants.
_K, _DELTA, _C = 40, 0.1, 0.05

_BESIDE_LEAVES = 1 - 1 / 2 - 1 / 23  # the part of delta that differing leaves and noise leave to the trees


def theorem_5_6(
    n: int,
    h: int,
    k: int,
    eta: float,
    epsilon: float,
    delta: float,
    K: float,
    *,
    voting: Voting = "threshold",
    generalisation: bool = False,
    version: Version = "derived",
) -> ErrorBound:
    """Bound the error of k noisy trees by that of the average tree.

    Parameters
    ----------
    n, h, k : int
        Number of points, height, number of trees.
    eta : float
        The privacy budget.
    epsilon : float
        The average error of a random tree on the data: all that is assumed.
    delta, K : float
        Free constants, delta between 0 and 1/2.
    voting : {"threshold", "majority"}
        The second is stated but not proved; see the module's notes.
    generalisation : bool
        The error on as many new points of the same distribution.
    version : {"derived", "printed"}
        *printed*: error 1 - mu with mu >= 1 - wrong(epsilon) / (1/2 - delta - 1/K) (2/K to generalise), probability
        1 - n (exp(-k delta^2 / 2) + exp(-k / 2) + k exp(-lambda n eta / k)). It takes it that a point with weight of
        at least 1/2 + delta + 1/K keeps 1/2 + delta when small leaves are left out, which holds on average only.
        *derived*: error wrong(epsilon + 1/K) / (1/2 - delta), the proof's own count, and
        1 - n (exp(-k delta^2 / 2) + 2 k exp(-lambda n eta / k)); to generalise see the module's notes.
        Here wrong(x) is x for majority voting and 2 x - 2 x^2 for threshold averaging.
    """
    check_choice("voting", voting, ("threshold", "majority"))
    delta, K = check_between("delta", delta, 0, 0.5), check_positive("K", K)
    slack = (2 if generalisation else 1) / K
    wrong_at = check_error(epsilon) + (slack if version == "derived" else 0.0)
    wrong = wrong_at if voting == "majority" else 2 * wrong_at - 2 * wrong_at**2
    room = 0.5 - delta - (0.0 if version == "derived" else slack)
    probability = 1 - n * _misclassified(n, h, k, eta, delta, K, version, generalisation)
    if generalisation:
        probability -= leaves_differ(n, h, k, delta, K)
    return ErrorBound(wrong / room if room > 0 else math.inf, probability, k)


def theorem_5_7(n: int, h: int, eta: float, epsilon: float, *, version: Version = "derived") -> ErrorBound:
    """Bound the empirical error of threshold averaging with `k_opt` trees; delta = 1/10, K = 40.

    Parameters
    ----------
    version : {"derived", "printed"}
        *printed*: 1/8 + 9/2 epsilon - 5 epsilon^2. *derived*: (2 x - 2 x^2) / (2/5) with x = epsilon + 1/40, that is
        .121875 + 4.75 epsilon - 5 epsilon^2. The printed one is the stronger for epsilon > .0125 and does not follow.
        The probability is 1 - n (exp(-k/200) + 2 k exp(-gamma sqrt(n) eta / k) + exp(-n/2)), printed and derived alike:
        noise is held below sqrt(n) delta / (24 K 2^h) there, smaller than needed. `theorem_5_6` has n for sqrt(n).

    Examples
    --------
    >>> [round(theorem_5_7(10**24, 5, 1.0, 0.05, version=version).error, 6) for version in ("printed", "derived")]
    [0.3375, 0.346875]
    """
    check_choice("version", version, ("derived", "printed"))
    x = check_error(epsilon)
    error = 0.125 + 4.5 * x - 5 * x**2 if version == "printed" else 0.121875 + 4.75 * x - 5 * x**2
    k = k_opt(n, h, eta)
    return ErrorBound(error, 1 - n * (_f(k, n, h, eta) + math.exp(-n / 2)), k)


def theorem_5_8(
    n: int,
    h: int,
    k: int,
    eta: float,
    epsilon: float,
    delta: float,
    c: float,
    K: float,
    *,
    generalisation: bool = False,
    version: Version = "derived",
) -> ErrorBound:
    """Bound the error of probabilistic averaging: 2 x - 2 x^2 + delta + c with x = epsilon + 1/K (2/K to generalise).

    Assumes only that the average tree errs on a share ``epsilon`` of the points. The coins at prediction give the
    factor 1 - exp(-2 n c^2); the versions differ in the other factor, as in `theorem_5_6`.
    """
    delta, c, K = check_between("delta", delta, 0, 1), check_positive("c", c), check_positive("K", K)
    x = check_error(epsilon) + (2 if generalisation else 1) / K
    wrong = _misclassified(n, h, k, eta, delta, K, version, generalisation)
    probability = (1 - n * wrong) * (1 - math.exp(-2 * n * c**2))
    if generalisation:
        probability -= leaves_differ(n, h, k, delta, K)
    return ErrorBound(2 * x - 2 * x**2 + delta + c, probability, k)


def theorem_5_9(n: int, h: int, eta: float, epsilon: float, *, version: Version = "derived") -> ErrorBound:
    """Bound the empirical error of probabilistic averaging with `k_opt` trees by 1/5 + 19/10 epsilon - 2 epsilon^2.

    The constants follow from delta = 1/10, K = 40, c = 1/20 (the exact one is .19875 for 1/5).

    Parameters
    ----------
    version : {"derived", "printed"}
        *derived*: probability (1 - n f) (1 - exp(-n/200)). *printed*: 1 - n f (1 - exp(-n/200)), a bracket too far
        left.
    """
    check_choice("version", version, ("derived", "printed"))
    x = check_error(epsilon)
    k = k_opt(n, h, eta)
    failing = n * (_f(k, n, h, eta) + math.exp(-n / 2))
    coins = 1 - math.exp(-2 * n * _C**2)
    probability = (1 - failing) * coins if version == "derived" else 1 - failing * coins
    return ErrorBound(0.2 + 1.9 * x - 2 * x**2, probability, k)


def k_opt(n: int, h: int, eta: float) -> int:
    """Return the number of trees that minimises f(k) = exp(-k/200) + 2 k exp(-gamma sqrt(n) eta / k).

    gamma = 1 / (9600 2^h). The paper says that this number is logarithmic in n. It is 1 on every data set of the
    paper, where n f(k) is in the thousands and the bound says nothing; the bound first says something beyond n = 10^23
    (h = 5, eta = 1), and from there on it grows like n^(1/4). For numbers of trees that are of use see
    `privet.learners.random_decision_forest.shape`.

    Examples
    --------
    >>> [k_opt(n, 5, 1.0) for n in (30_000, 10**20, 10**24, 10**28)]
    [1, 1810, 24450, 253844]
    """
    a = _gamma(h) * math.sqrt(check_whole("n", n, 1, 10**40)) * check_positive("eta", eta)

    def falling(k: float) -> bool:
        # Both terms of f are convex, the second since its slope 2 exp(-x) (1 + x), x = a / k, falls in x: so f has
        # one minimum, where its slope changes sign. In logarithms, for both terms may be below the smallest double.
        return -math.log(200) - k / 200 > math.log(2) - a / k + math.log1p(a / k)

    low, high = 0, 1
    while falling(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if falling(middle) else (low, middle)
    return high if low == 0 or _log_f(high, a) < _log_f(low, a) else low


def _misclassified(
    n: int, h: int, k: int, eta: float, delta: float, K: float, version: Version, generalisation: bool
) -> float:
    """Bound the probability that one point which is clearly on the right side comes out wrong."""
    check_choice("version", version, ("derived", "printed"))
    n, h, k = check_whole("n", n, 1, 10**40), check_whole("h", h, 1, 1000), check_whole("k", k, 1, 10**12)
    noise = math.exp(-delta / (24 * K * 2.0**h) * n * check_positive("eta", eta) / k)
    margin = delta * (_BESIDE_LEAVES if generalisation and version == "derived" else 1 / 2)
    trees = math.exp(-2 * k * margin**2)
    return trees + 2 * k * noise if version == "derived" else trees + math.exp(-k / 2) + k * noise


def _gamma(h: int) -> float:
    return _DELTA / (24 * _K * 2.0 ** check_whole("h", h, 1, 1000))


def _f(k: int, n: int, h: int, eta: float) -> float:
    return math.exp(-k * _DELTA**2 / 2) + 2 * k * math.exp(-_gamma(h) * math.sqrt(n) * eta / k)


def _log_f(k: int, a: float) -> float:
    """Return log f(k), which may be far below the smallest double."""
    first, second = -k / 200, math.log(2 * k) - a / k
    return max(first, second) + math.log1p(math.exp(-abs(first - second)))
