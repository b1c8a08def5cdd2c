"""Theorems 5.1 to 5.5 of Bojarski, Choromanska, Choromanski and LeCun (2014): random decision trees without privacy.

The paper's symbols: ``n`` records, ``k`` random trees of height ``h``; ``epsilon`` is the *average error of one random
tree* on the data (not a privacy budget), ``e = 1 - epsilon`` its accuracy; ``delta``, ``K``, ``C`` and ``c`` are free
constants of the bounds; ``log`` is natural. Labels are binary. A bound holds with a probability over the draw of the
trees (and of the test set); where that probability is not positive, it says nothing.

*Privacy.* The average error of a tree is a fact of the private data. A bound that is to be published or planned with
needs a public guess in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from privet.errors import ParameterError
from privet.parameters import check_choice, check_whole

Voting = Literal["majority", "threshold"]
Version = Literal["derived", "printed"]


@dataclass(frozen=True)
class ErrorBound:
    """The share of misclassified points is at most ``error``, with at least this ``probability``, for ``k`` trees."""

    error: float
    probability: float
    k: int

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: no positive probability, or an error that always guessing one label attains."""
        return self.probability <= 0 or self.error >= 0.5


def theorem_5_1(epsilon: float) -> float:
    """Return what the average goodness of a point is at least: 1 - epsilon.

    The goodness sigma(d) of a point is the share of all trees in which most points of its leaf have its label. Assumes
    only that the average tree errs on a share ``epsilon`` of the points. It is an equality.
    """
    return 1 - check_error(epsilon)


def theorem_5_2(epsilon: float) -> float:
    """Return what the average weight of a point is at least: e^2 + (1 - e)^2.

    The weight w_d of a point is the average over all trees of the share of its leaf's points that have its label.
    Assumes only that the average tree errs on a share ``epsilon`` of the points (by Jensen's inequality).
    """
    e = 1 - check_error(epsilon)
    return e**2 + (1 - e) ** 2


def trees_needed(n: int, delta: float, C: float = 1.0, *, generalisation: bool = False) -> int:
    """Return k = (1 + C) log(n) / (2 delta^2), rounded up; with ``delta / 2`` for the generalisation error.

    So many trees make every point with goodness (or weight) of at least 1/2 + delta come out right, all of them
    together with probability 1 - n^-C, by Hoeffding's inequality and a union bound.

    Examples
    --------
    >>> trees_needed(32_561, delta=0.1), trees_needed(32_561, delta=0.4)
    (1040, 65)
    """
    return _trees(n, check_between("delta", delta, 0, 0.5), C, generalisation)


def leaves_differ(n: int, h: int, k: int, delta: float, K: float) -> float:
    """Return 2^(h + 3) k exp(-2 n phi^2), phi = delta / (2 (4 + delta) 2^h K): what generalisation costs.

    The probability is at most this that counts of a leaf, for ``n`` training and as many test points of one
    distribution, differ so much that the shares in a leaf of at least n / (2^h K) points differ by delta / 2.
    """
    phi = delta / (2 * (4 + delta) * 2.0**h * K)
    return float(2.0 ** (h + 3) * k * math.exp(-2 * n * phi**2))


def theorem_5_3(
    n: int, delta: float, mu: float, C: float = 1.0, *, h: int | None = None, K: float | None = None
) -> ErrorBound:
    """Bound the error by 1 - mu, where ``mu`` is the share of points that are clearly on the right side.

    Parameters
    ----------
    n : int
        Number of points.
    delta : float
        Between 0 and 1/2.
    mu : float
        Share of the points with goodness (majority voting) or weight (threshold averaging) of at least 1/2 + delta; for
        the generalisation error at least 1/2 + delta + 1/K. Nothing else is assumed.
    C : float
        The bound fails with probability n^-C.
    h, K : optional
        Both for the generalisation error; neither for the empirical error.

    Notes
    -----
    For the generalisation error the proof takes it that a point with weight of at least 1/2 + delta + 1/K keeps
    1/2 + delta when leaves with few points are left out. That is true on average over points, not of every point.
    """
    mu = check_between("mu", mu, 0, 1, closed=True)
    k = trees_needed(n, delta, C, generalisation=h is not None)
    return ErrorBound(1 - mu, _with_leaves(1 - float(n) ** -C, n, h, k, delta, K), k)


def theorem_5_4(
    n: int,
    epsilon: float,
    delta: float,
    C: float = 1.0,
    *,
    voting: Voting = "majority",
    h: int | None = None,
    K: float | None = None,
) -> ErrorBound:
    """Bound the error by that of the average tree: x / (1/2 - delta), x = epsilon or 2 epsilon - 2 epsilon^2.

    The first for majority voting, the second for threshold averaging; with ``h`` and ``K`` the generalisation error,
    where epsilon + 1/K stands for epsilon. Assumes only that the average tree errs on a share ``epsilon`` of the
    points.

    Examples
    --------
    >>> theorem_5_4(10_000, epsilon=0.05, delta=0.25)
    ErrorBound(error=0.2, probability=0.9999, k=148)
    """
    check_choice("voting", voting, ("majority", "threshold"))
    epsilon = check_error(epsilon) + (0.0 if h is None else 1 / check_positive("K", K))
    k = trees_needed(n, delta, C, generalisation=h is not None)
    wrong = epsilon if voting == "majority" else 2 * epsilon - 2 * epsilon**2
    return ErrorBound(wrong / (0.5 - delta), _with_leaves(1 - float(n) ** -C, n, h, k, delta, K), k)


def theorem_5_5(
    n: int,
    epsilon: float,
    delta: float,
    c: float,
    C: float = 1.0,
    *,
    h: int | None = None,
    K: float | None = None,
    version: Version = "derived",
) -> ErrorBound:
    """Bound the error of probabilistic averaging by 2 epsilon - 2 epsilon^2 + delta + c.

    With ``h`` and ``K`` the generalisation error, where epsilon + 1/K stands for epsilon. Assumes only that the average
    tree errs on a share ``epsilon`` of the points; ``delta`` and ``c`` are between 0 and 1.

    Parameters
    ----------
    version : {"derived", "printed"}
        The proof needs, and *derived* has, a factor 1 - exp(-2 n c^2) for the coins at prediction. The paper prints 1
        - exp(-2 n epsilon^2), a slip: its bound would not depend on ``c``. The statement leaves out the number of
        trees; the proof's is used, that of `trees_needed`: to generalise, one half of ``delta`` goes to the leaves,
        whose shares of test and of training points differ by so much, and the trees have to do with the other half.

    Examples
    --------
    >>> theorem_5_5(10**6, 0.1, delta=0.1, c=0.05).k, theorem_5_5(10**6, 0.1, delta=0.1, c=0.05, h=3, K=40).k
    (1382, 5527)
    """
    check_choice("version", version, ("derived", "printed"))
    tree_error, delta, c = check_error(epsilon), check_between("delta", delta, 0, 1), check_between("c", c, 0, 1)
    epsilon = tree_error + (0.0 if h is None else 1 / check_positive("K", K))
    k = _trees(n, delta, C, generalisation=h is not None)
    coins = 1 - math.exp(-2 * n * (c if version == "derived" else tree_error) ** 2)
    probability = _with_leaves((1 - float(n) ** -C) * coins, n, h, k, delta, K)
    return ErrorBound(2 * epsilon - 2 * epsilon**2 + delta + c, probability, k)


def _trees(n: int, delta: float, C: float, generalisation: bool) -> int:
    margin = delta / 2 if generalisation else delta  # the other half is what shares in leaves may differ by
    return max(1, math.ceil((1 + check_positive("C", C)) * math.log(check_whole("n", n, 1, 10**40)) / (2 * margin**2)))


def _with_leaves(probability: float, n: int, h: int | None, k: int, delta: float, K: float | None) -> float:
    """Subtract what generalisation costs, if it is asked for."""
    if (h is None) != (K is None):
        raise ParameterError("the generalisation error needs both h and K, the empirical error neither")
    if h is None or K is None:
        return probability
    return probability - leaves_differ(n, check_whole("h", h, 1, 1000), k, delta, check_positive("K", K))


def check_error(epsilon: float) -> float:
    """Return the average error of a tree: above 0, and 1/2 at the most, since a leaf's majority is right in it."""
    if not 0 < epsilon <= 0.5:
        raise ParameterError(f"epsilon, the average error of a tree, must be in (0, 1/2], got {epsilon}")
    return float(epsilon)


def check_between(name: str, value: float, low: float, high: float, *, closed: bool = False) -> float:
    """Return a number between two others, ends excluded unless `closed`."""
    if not (low < value < high or (closed and value in (low, high))):
        raise ParameterError(f"{name} must be between {low} and {high}, got {value}")
    return float(value)


def check_positive(name: str, value: float | None) -> float:
    """Return a positive number."""
    if value is None or not value > 0:
        raise ParameterError(f"{name} must be positive, got {value}")
    return float(value)
