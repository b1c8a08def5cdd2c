"""The depth of random trees by Theorem 2 of Fletcher and Islam (2017).

A path should test about half of the features. A discrete feature is tested at most once on a path, so r of them ask for
r/2 levels. A continuous feature may be tested again: after d uniformly random tests of s features, s ((s - 1)/s)^d of
them are expected to be untested still (balls and bins), and the path is deep enough once that is less than s/2.
"""

import math
from typing import Literal

from privet.parameters import check_choice, check_whole

DepthRule = Literal["table", "printed"]

_MOST_FEATURES = 100_000


def fletcher_depth(n_continuous: int, n_discrete: int, rule: DepthRule = "table") -> int:
    """Return the depth of a random tree over these numbers of continuous and discrete features.

    Parameters
    ----------
    n_continuous, n_discrete : int
        How many features there are of each kind.
    rule : {"table", "printed"}, default="table"
        The paper contradicts itself: its Table 4 is one deeper than its formula (16) wherever there are continuous
        features. *table* is what its experiments used, *printed* is the formula.

    Returns
    -------
    int
        At least 1. Half of an odd number of discrete features is rounded down, so that no more than half are tested.

    Notes
    -----
    *Privacy.* A function of the schema alone.

    Examples
    --------
    The paper's WallSensor, Adult and Mushroom, and Adult by the formula:

    >>> fletcher_depth(4, 0), fletcher_depth(6, 8), fletcher_depth(0, 22)
    (4, 9, 11)
    >>> fletcher_depth(6, 8, rule="printed")
    8
    """
    s = check_whole("n_continuous", n_continuous, 0, _MOST_FEATURES)
    r = check_whole("n_discrete", n_discrete, 0, _MOST_FEATURES)
    check_choice("rule", rule, ("table", "printed"))
    levels = 0
    if s > 0:
        levels = _tests_until_half(s) + (1 if rule == "table" else 0)
    return max(1, levels + r // 2)


def _tests_until_half(n_features: int) -> int:
    """Return the smallest d with s ((s - 1)/s)^d < s/2, (15) and (16); exact, from a guess that is never too large."""
    tests = max(1, math.floor(n_features * math.log(2)) - 1)
    while 2 * (n_features - 1) ** tests >= n_features**tests:
        tests += 1
    return tests
