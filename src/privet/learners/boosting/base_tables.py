"""What an additive base says: a score that all records share, and what each cell of each feature adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.gradient_growth import CellGrid
from privet.learners.boosting.gradients import LARGEST_SCORE, SCORE_BITS
from privet.learners.boosting.moments import Targets
from privet.schema.encoding import ClassTarget, Encoding

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]

SLOPE = 2.5  # from a regression on -1 and 1 to log-odds
LIMIT = 4.0  # on log-odds


@dataclass(frozen=True, eq=False)
class BaseTables:
    """What the base says, in fixed point.

    Attributes
    ----------
    start : int64 array of shape (n_scores,)
        What all records have in common.
    tables : int64 array of shape (total number of cells, n_scores)
        What each cell adds.
    low, high : int
        The sum is held within these.
    noise : float64 array of shape (total number of cells,)
        The standard deviation that the noise of the target's sums gives to each cell's entry.
    n_records : float
        About how many records there are, from what was released or from a public guess; too low where records are
        shortened.
    """

    start: IntArray
    tables: IntArray
    low: int
    high: int
    noise: Floats
    n_records: float


def without_base(encoding: Encoding, grid: CellGrid, start: Floats, n_records: float) -> BaseTables:
    """Return a base that says the same for all records."""
    low, high = _limits(kind_of_target(encoding))
    tables = np.zeros((int(grid.cells.offsets[-1]), start.size), np.int64)
    return BaseTables(in_fixed_point(start), tables, low, high, np.zeros(len(tables)), n_records)


def in_fixed_point(values: Floats) -> IntArray:
    """Return scores as whole numbers of 2^-SCORE_BITS, held within `LARGEST_SCORE` however large the noise was."""
    return np.clip(np.rint(values * (1 << SCORE_BITS)), -LARGEST_SCORE, LARGEST_SCORE).astype(np.int64)


def kind_of_target(encoding: Encoding) -> Targets:
    """Return whether the target is one of two classes, one of many, or a number."""
    if not isinstance(encoding.target, ClassTarget):
        return "range"
    return "two" if encoding.n_classes == 2 else "many"


def _limits(target: Targets) -> tuple[int, int]:
    limit = int(LIMIT * (1 << SCORE_BITS))
    return (0, 1 << SCORE_BITS) if target == "range" else (-limit, limit)
