"""How an honest tree is planned: its budget, divided between two parts of the records, and its depth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.errors import ParameterError
from privet.parameters import exact
from privet.privacy.conversions import mixture_rest
from privet.privacy.terms import Share

COIN_BITS = 16  # coins have a probability that is a multiple of 2^-16
LABEL_PART = Fraction(3, 5)
RECORDS_WITHOUT_HINT = 1000
MOST_LEVELS = 12


@dataclass(frozen=True)
class HonestBudget:
    """What one honest tree spends.

    Attributes
    ----------
    weights : tuple of Fraction
        How probable it is that a record is a structure point, and that it is an estimation point.
    structure, labels : Share
        What each of the two parts may spend.
    """

    weights: tuple[Fraction, Fraction]
    structure: Share
    labels: Share


def check_partition_rate(value: object) -> Fraction:
    """Return how many structure points there are for each estimation point, or raise `ParameterError`."""
    rate = exact(value, "partition_rate")
    if not Fraction(1, 1000) <= rate <= 1000:
        raise ParameterError(f"partition_rate must be from 0.001 to 1000, got {value}: pass e.g. 1.0")
    return rate


def coin_weights(partition_rate: Fraction) -> tuple[Fraction, Fraction]:
    """Return the coin that makes this many structure points for each estimation point, to the nearest 2^-16.

    Examples
    --------
    >>> coin_weights(Fraction(3))
    (Fraction(3, 4), Fraction(1, 4))
    """
    ones = round(partition_rate / (1 + partition_rate) * 2**COIN_BITS)
    structure = Fraction(min(max(ones, 1), 2**COIN_BITS - 1), 2**COIN_BITS)
    return structure, 1 - structure


def honest_budget(
    share: Share, partition_rate: Fraction = Fraction(1), label_part: Fraction = LABEL_PART
) -> HonestBudget:
    """Divide what a tree may spend between its structure points and its estimation points.

    Parameters
    ----------
    share : Share
        What the tree may spend: epsilon, or rho.
    partition_rate : Fraction
        Structure points for each estimation point.
    label_part : Fraction
        The labels' epsilon, over the tree's: above 0, at most 1. A label needs less than a split, which is chosen
        among many candidates. Parts of 0.3 and 1 do about as well (benchmarks/multinomial_rules.py).

    Notes
    -----
    *Privacy.* With a coin of weight r for structure a tree costs ``ln(r e^alpha + (1 - r) e^beta)``. Labels get
    beta = `label_part` times the tree's epsilon, and the structure gets all that is left: the largest alpha, rounded
    down. With equal halves and a small epsilon alpha + beta is twice the tree's epsilon, so nothing that the labels
    save is lost. Under zCDP a mixture costs the larger of the two, so each part gets all of rho.

    Examples
    --------
    >>> budget = honest_budget(Share(epsilon=Fraction(1)), label_part=Fraction(1, 2))
    >>> round(float(budget.structure.epsilon), 3), float(budget.labels.epsilon)
    (1.332, 0.5)
    """
    weights = coin_weights(partition_rate)
    if share.epsilon is None:
        return HonestBudget(weights, share, share)
    labels = share.epsilon * label_part
    return HonestBudget(weights, Share(epsilon=mixture_rest(share.epsilon, weights[1], labels)), Share(epsilon=labels))


def honest_depth(share: Share | None, n_rows: int | None, steps: int = 1) -> int:
    """Return how deep a tree grows that may spend `share` on this many records: ``(log2(n epsilon) - 1) / 2`` levels.

    Parameters
    ----------
    share : Share or None
        What the tree may spend; rho counts as an epsilon of sqrt(8 rho). The twin without privacy is as deep as a tree
        that may spend an epsilon of 1.
    n_rows : int or None
        A public guess at the number of the tree's records; without one, a thousand.
    steps : int
        How many records one unit of privacy amounts to.

    Notes
    -----
    A node at depth h has about n / 2^h records, and its choice is off by about h / epsilon of them: deeper levels only
    add noise. The rule grows with n, as consistency needs, and slowly enough that leaves grow too. For 700 to 19,000
    records and epsilon up to 1 a fixed depth of 3 does as well, one of 7 does not (benchmarks/multinomial_rules.py);
    more records or a larger budget need more levels.

    Examples
    --------
    >>> [honest_depth(Share(epsilon=Fraction(1)), n) for n in (100, 1_000, 10_000, 100_000)]
    [3, 4, 6, 8]
    """
    n = RECORDS_WITHOUT_HINT if n_rows is None else n_rows
    if share is None:
        epsilon = 1.0
    else:
        epsilon = float(share.epsilon) if share.epsilon is not None else math.sqrt(8 * (share.rho or 0))
    levels = (math.log2(max(n * epsilon / steps, 1)) - 1) / 2
    return max(1, min(MOST_LEVELS, round(levels)))
