"""How a tree for a regression target divides its budget, and the plan that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from privet.learners.privatree.plan import rate
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms, times
from privet.trees.scores import RESIDUAL

Criterion = Literal["capped", "mix", "squares", "deviations"]

# Parts of the budget; found on columns of magic and pol, two of the arena's tuning sets.
WINDOW_PART = Fraction(1, 20)
LEAF_PART, MOST_LEAF_PART = Fraction(1, 5), Fraction(1, 2)  # the least, and the most where there are few records
LEAF_NEED = 60  # records of a leaf times its epsilon: its mean is then off by some three hundredths of its reach
CENTRE_PART, MOST_CENTRE_PART = Fraction(3, 100), Fraction(1, 5)  # for each level, and for all of them
LEVEL_GROWTH = Fraction(3, 2)  # what a level gets over the one above it, whose nodes have more records

# Of a level's signal (`signal_of`). Below the first a level only adds noise; at the second the score is the sum of
# squares.
LEAST_SIGNAL, SQUARES_FROM = 12, 500
KNEE_WITHOUT_HINT = Fraction(1, 10)

# The cap of a record's squared error, in variances of its node, over the node's signal. The noise of a selection is
# then about this part of the node's sum of squared errors, whatever its number of records and its spread are.
CAP_OF_SIGNAL = 0.06
LEAST_WINDOW_SIGNAL = 100  # records times epsilon of the window's counts


@dataclass(frozen=True)
class RegressionBudget:
    """Parts of the whole: what finds the target's window, and of each tree's the levels, their centres, the leaves.

    Levels from `first_centre` on release centres: the window's counts tell the root's where the number of records is
    known to be enough for them.
    """

    window: Fraction
    quantiles: Fraction
    levels: tuple[Fraction, ...]
    centre: Fraction
    leaves: Fraction
    first_centre: int = 0

    @property
    def depth(self) -> int:
        """Number of levels of splits."""
        return len(self.levels)

    def left_after(self, level: int) -> Fraction:
        """Return what a path has left after the choice of a level."""
        below = self.levels[level + 1 :]
        return self.leaves + sum(below, Fraction(0)) + self.centre * len(below)


def regression_budget(
    max_depth: int,
    n_candidates: int,
    share: Share | None,
    terms: Terms,
    n_rows: int | None,
    *,
    passes: int = 1,
    quantiles: bool = False,
) -> RegressionBudget:
    """Divide a budget; the tree's parts are of what each of `passes` trees gets of what the window leaves.

    Parameters
    ----------
    max_depth : int
        The most levels. Where the number of records is known, levels that the budget cannot pay for are left out.
    n_candidates : int
        Number of splits to choose among.
    share : Share or None
        The whole budget; None without privacy.
    terms : Terms
        Neighbours and unit.
    n_rows : int, optional
        A public guess at the number of records of each tree.
    passes : int
        How many times all records are used.
    quantiles : bool
        Whether private quantiles get as much as an average level.

    Examples
    --------
    >>> divided = regression_budget(3, 1000, Share(epsilon=Fraction(1)), Terms(), 20_000)
    >>> [str(part) for part in (divided.window, *divided.levels, divided.centre, divided.leaves)]
    ['1/20', '74/475', '111/475', '333/950', '3/100', '1/5']
    """
    window = WINDOW_PART if _pays_for_window(share, terms, n_rows) else Fraction(0)
    of_tree = None if share is None else share * ((1 - window) / passes)
    if n_candidates == 0:
        return RegressionBudget(window, Fraction(0), (), Fraction(0), Fraction(1))

    def divided(depth: int) -> RegressionBudget:
        told = int(window > 0 and n_rows is not None)
        return _levels(depth, window, _leaf_part(of_tree, terms, n_rows, depth), quantiles, told)

    depth = max_depth
    while depth > 1:
        last = divided(depth).levels[-1]
        signal = signal_of(times(of_tree, last), terms, n_rows, depth - 1, n_candidates)
        if signal is None or signal >= LEAST_SIGNAL:
            break
        depth -= 1
    return divided(depth)


def signal_of(share: Share | None, terms: Terms, n_rows: int | None, level: int, n_candidates: int) -> float | None:
    """Return how well the selection of a level can tell splits from the noise.

    The records of an average node, times the rate of the selection, over the logarithm of the number of candidates:
    infinite without privacy, None if the number of records is not known.

    Parameters
    ----------
    share : Share or None
        What pays for the level's selection; None without privacy.
    terms, n_rows, n_candidates
        As for `regression_budget`.
    level : int
        The number of levels above it.
    """
    if share is None:
        return math.inf
    if n_rows is None:
        return None
    of_node = n_rows / float(terms.steps * 2**level)
    return of_node * rate(share) / math.log(max(2, n_candidates))


def knee_of(criterion: Criterion, signal: float | None) -> int:
    """Return the knee of a level's score: the more signal there is, the nearer to the sum of squares."""
    if criterion not in ("mix", "capped"):
        return 1 if criterion == "deviations" else RESIDUAL
    if signal is None:
        return int(KNEE_WITHOUT_HINT * RESIDUAL)
    return max(1, round(min(1.0, signal / SQUARES_FROM) * RESIDUAL))


def cap_of(criterion: Criterion, share: Share | None, terms: Terms, n_candidates: int) -> float | None:
    """Return what each record of a node adds to its cap, in variances: the more signal, the nearer to squared errors.

    None for scores of residuals. Without privacy, the sum of squared residuals is what "capped" stands for.
    """
    of_one = signal_of(share, terms, 1, 0, n_candidates)
    return None if criterion != "capped" or of_one is None or of_one == math.inf else CAP_OF_SIGNAL * of_one


def sums_event(terms: Terms, name: str, share: Share | None, sees: str) -> Event:
    """Plan the release of how far the records of nodes are below their centre, near to it, and above it.

    Notes
    -----
    *Privacy.* A residual r lies from -b to b, where b is `RESIDUAL`. A record adds ``max(-r, 0)`` to one sum,
    ``b - |r|`` to the second and ``max(r, 0)`` to the third. None is below zero, and together they are b whatever r is:
    that is the L1 norm, and the L2 norm is no more. What two records add differs by at most ``2 b`` in L1. Since no
    part is negative, the square of their distance in L2 is at most the sum of their squares, ``2 b^2``, twice that of
    one record.

    All three together are b times the number of records, the third less the first is the sum of residuals, and the
    first and the third together are the sum of their sizes, which says how far the records are spread. The second part
    costs nothing: the sum of residuals would be no more exact without it.
    """
    return terms.noise(name, share, l1=RESIDUAL, l2_squared=RESIDUAL**2, sees=sees)


def _leaf_part(share: Share | None, terms: Terms, n_rows: int | None, depth: int) -> Fraction:
    """Return what leaves of about this many records need for a mean that is worth releasing."""
    if share is None or n_rows is None:
        return LEAF_PART
    needed = Fraction(LEAF_NEED * 2**depth * terms.steps, max(1, n_rows)) / Fraction(rate(share))
    part = needed if share.epsilon is not None else needed**2
    return max(LEAF_PART, min(MOST_LEAF_PART, part.limit_denominator(1000)))


def _levels(depth: int, window: Fraction, leaves: Fraction, quantiles: bool, first_centre: int) -> RegressionBudget:
    centre = min(CENTRE_PART, MOST_CENTRE_PART / depth)
    left = 1 - leaves - centre * (depth - first_centre)
    of_quantiles = left / (depth + 1) if quantiles else Fraction(0)
    weights = [LEVEL_GROWTH**level for level in range(depth)]
    levels = tuple((left - of_quantiles) * weight / sum(weights) for weight in weights)
    return RegressionBudget(window, of_quantiles, levels, centre, leaves, first_centre)


def _pays_for_window(share: Share | None, terms: Terms, n_rows: int | None) -> bool:
    if share is None:
        return False
    return n_rows is None or n_rows * rate(share * WINDOW_PART) >= LEAST_WINDOW_SIGNAL * terms.steps
