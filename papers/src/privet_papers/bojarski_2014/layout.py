"""What tables of Bojarski et al. (2014) share: the choice of k and h as the paper made it, and binomial intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from privet_papers.framework.entry import Outcome


def best_on_validation(outcomes: Iterable[Outcome], method: str, vote: str) -> tuple[int, int, list[float]]:
    """Return k and h of the smallest validation error, averaged over runs, and the runs' test errors there."""
    validation: dict[tuple[int, int], list[float]] = {}
    test: dict[tuple[int, int], list[float]] = {}
    for outcome in outcomes:
        for found_method, found_vote, h, k, on_validation, on_test in outcome.result["rows"]:
            if (found_method, found_vote) == (method, vote):
                validation.setdefault((k, h), []).append(on_validation)
                test.setdefault((k, h), []).append(on_test)
    k, h = min(validation, key=lambda shape: (float(np.mean(validation[shape])), shape))
    return k, h, test[k, h]


def binomial_half_width(error: float, n_tested: float) -> float:
    """Return the half width of the symmetrical binomial 95% interval that the paper prints.

    Examples
    --------
    >>> round(100 * binomial_half_width(0.0365, 1372), 2)  # Table 1, rpart on banknote; ten tests of a tenth each
    0.99
    """
    return 1.96 * math.sqrt(error * (1 - error) / n_tested)
