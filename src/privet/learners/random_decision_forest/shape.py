"""How many random trees, and how deep: a rule from public facts alone, for forests with noisy counts in the leaves.

The rule has one idea and two constants. With n records and a budget of epsilon, x = n epsilon is the size of the data
set in units of noise: n records, over noise of scale 1 / epsilon for one tree.

- *Depth*: 2^h = x / 4. The average leaf then holds four times as many records as the scale of one tree's noise. Emptier
  leaves do no harm: a leaf that is lost in the noise takes the shares of the subtree around it.
- *Number of trees*: k = sqrt(x) / 4. Each further tree adds another random view of the data but increases the noise of
  all others; the average of k trees has the noise of one tree times sqrt(k).

docs/learners/random_decision_forest.md says how the constants were chosen, and measures what the rule gives up against
the best shape for each data set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.privacy.terms import Share

RECORDS_WITHOUT_HINT = 1000
MOST_TREES = 64
MOST_LEVELS = 12


@dataclass(frozen=True)
class ForestShape:
    """A number of complete binary trees, and their height."""

    n_trees: int
    max_depth: int


def forest_shape(share: Share | None, n_rows: int | None, steps: int = 1) -> ForestShape:
    """Return the shape that the rule gives.

    Parameters
    ----------
    share : Share or None
        The whole budget; None for a forest without privacy, which gets the largest shape.
    n_rows : int or None
        A public guess at the number of records; a thousand is assumed without one.
    steps : int
        How many records one unit of privacy amounts to: 1 for adding or removing a record, 2 for replacing one.

    Notes
    -----
    *Privacy.* A function of public facts. Gaussian noise of k trees has the spread of Laplace noise at a budget of
    2 sqrt(rho k); put into the rule for k, that gives k = (n sqrt(rho) / 8)^(2/3).

    Examples
    --------
    >>> from fractions import Fraction
    >>> forest_shape(Share(epsilon=Fraction(1)), 30_000)
    ForestShape(n_trees=43, max_depth=12)
    >>> forest_shape(Share(epsilon=Fraction(1, 10)), 1_000)
    ForestShape(n_trees=2, max_depth=5)
    >>> forest_shape(Share(epsilon=Fraction(1)), None)
    ForestShape(n_trees=8, max_depth=8)
    """
    n = RECORDS_WITHOUT_HINT if n_rows is None else n_rows
    if share is None:
        return ForestShape(MOST_TREES, MOST_LEVELS)
    if share.epsilon is not None:
        amount = n * float(share.epsilon) / steps
        n_trees = _within(math.sqrt(amount) / 4, MOST_TREES)
    else:
        assert share.rho is not None
        root = math.sqrt(share.rho) / steps
        n_trees = _within((n * root / 8) ** (2 / 3), MOST_TREES)
        amount = n * 2 * root * math.sqrt(n_trees)
    return ForestShape(n_trees, _within(math.log2(max(amount, 1) / 4), MOST_LEVELS))


def _within(x: float, most: int) -> int:
    return max(1, min(most, round(x)))
