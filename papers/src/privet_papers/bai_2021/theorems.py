"""Lemmas 3 and 4 of Bai et al. (2021), and (C.3) and (C.6) of the proof of Theorem 1: why the forest is consistent.

The paper's symbols: ``D`` features, ``B1`` and ``B2`` the rates of the two draws of a split, ``N`` equal parts of a
feature's range, ``m`` a level of a tree, ``k`` the fewest estimation points of a leaf. Features are on [0, 1].

Each bound is there in two versions. *printed*: as in the paper's appendix, whose proofs put e^B where Algorithm 1 draws
with weights e^(B / 2): true, and weaker than need be. *derived*: from the weights of Algorithm 1, without rounding on
the way. What the statements suppose without saying so:

- Lemma 3: the feature can be split. One that does not vary in a node is left out, and has no chance.
- Lemma 4: candidates lie evenly in the node, as those of uniform features do. In general the share of the candidates
  that lie in the inner parts takes the place of (N - 2) / N (`inner_share`), and a density that differs from node to
  node without bounds has no P2 for all of them.
- (C.6): exactly half of the records are estimation points, so that those in a node of measure p are Binomial(n / 2, p).
  If a coin decides for each record, they are Binomial(n, p / 2), whose variance is larger, and the printed bound fails
  (``halves="coins"`` has the right one).
"""

from __future__ import annotations

import math
from typing import Literal

from privet.errors import ParameterError
from privet.parameters import check_choice, check_whole

Version = Literal["derived", "printed"]
Halves = Literal["exact", "coins"]


def lemma_3(n_features: int, feature_rate: float, *, version: Version = "derived") -> tuple[float, float]:
    """Return P1, the least probability with which any feature is chosen at a node, and the largest.

    Both are attained: by decreases of impurity (0, 1, ..., 1) and (1, 0, ..., 0).

    Examples
    --------
    >>> [round(lemma_3(10, 10.0, version=version)[0], 7) for version in ("printed", "derived")]
    [5e-06, 0.0007481]
    """
    others = check_whole("n_features", n_features, 1, 1 << 20) - 1
    weight = _weight(feature_rate, version)
    return 1 / (1 + others * weight), weight / (weight + others)


def lemma_4(
    n_parts: int, value_rate: float, *, inner_share: float | None = None, version: Version = "derived"
) -> float:
    """Return P2, the least probability that a split value is in neither the first nor the last of N equal parts.

    Parameters
    ----------
    n_parts : int
        N, at least three.
    value_rate : float
        B2.
    inner_share : float, optional
        The share of candidates that lie in the inner parts; (N - 2) / N where they lie evenly.
    version : {"derived", "printed"}
        *printed*: q e^(-2 B2), q the inner share. *derived*: q / (q + (1 - q) e^(B2 / 2)), attained by decreases of
        impurity that are 0 inside and 1 outside.

    Examples
    --------
    >>> [round(lemma_4(4, 1.0, version=version), 3) for version in ("printed", "derived")]
    [0.068, 0.378]
    """
    parts = check_whole("n_parts", n_parts, 3, 1 << 20)
    q = (parts - 2) / parts if inner_share is None else float(inner_share)
    if not 0 < q <= 1:
        raise ParameterError(f"inner_share must be above 0 and at most 1, got {inner_share}")
    weight = _weight(value_rate, version)
    return q / weight**2 if version == "printed" else q / (q + (1 - q) * weight)


def size_bound(
    level: int,
    n_features: int,
    feature_rate: float,
    value_rate: float,
    *,
    n_parts: int = 4,
    version: Version = "derived",
) -> float:
    """Return (C.3): (1 - P1 P2 / N)^m, which the expected side of X's cell at level m is at most, for every feature.

    Four parts give nearly the smallest bound.

    Examples
    --------
    >>> [round(size_bound(20, 3, 1.0, 1.0, version=version), 3) for version in ("printed", "derived")]
    [0.949, 0.641]
    """
    shrunk = lemma_3(n_features, feature_rate, version=version)[0] * lemma_4(n_parts, value_rate, version=version)
    return math.exp(check_whole("level", level, 0, 1 << 62) * math.log1p(-shrunk / n_parts))


def levels_to_halve(
    n_features: int, feature_rate: float, value_rate: float, *, n_parts: int = 4, version: Version = "derived"
) -> int:
    """Return how many levels (C.3) asks for until a cell's expected side is at most one half.

    Examples
    --------
    >>> [f"{levels_to_halve(10, 10.0, 10.0, version=version):.0e}" for version in ("printed", "derived")]
    ['5e+14', '6e+05']
    """
    shrunk = lemma_3(n_features, feature_rate, version=version)[0] * lemma_4(n_parts, value_rate, version=version)
    return math.ceil(math.log(2) / -math.log1p(-shrunk / n_parts))


def too_few_points(n: int, p: float, k: int, *, halves: Halves = "exact") -> float:
    """Return (C.6): Chebyshev's bound on the probability that a node of measure p has fewer than k estimation points.

    Parameters
    ----------
    n : int
        Number of records, half of which are estimation points.
    p : float
        The measure of the node.
    k : int
        The fewest estimation points; where n p / 2 is not above it the bound is one.
    halves : {"exact", "coins"}
        Whether exactly half of the records are estimation points, or a coin decides for each record. Printed is
        n p (1 - p) / (2 (k - n p / 2)^2), which is right for exact halves alone.

    Examples
    --------
    >>> [round(too_few_points(400, 0.9, 150, halves=halves), 4) for halves in ("exact", "coins")]
    [0.02, 0.11]
    """
    check_choice("halves", halves, ("exact", "coins"))
    mean = check_whole("n", n, 1, 1 << 60) * p / 2
    if not 0 <= p <= 1:
        raise ParameterError(f"p must be a probability, got {p}")
    if mean <= k:
        return 1.0
    variance = mean * (1 - (p if halves == "exact" else p / 2))
    return min(1.0, variance / (k - mean) ** 2)


def _weight(rate: float, version: Version) -> float:
    """Return the largest weight of a candidate over the smallest one."""
    check_choice("version", version, ("derived", "printed"))
    if not 0 <= rate < 1000:
        raise ParameterError(f"a rate must be at least 0 and below 1000, got {rate}: the lemmas need it bounded")
    return math.exp(rate if version == "printed" else rate / 2)
