"""What an additive base consists of: a score that all records share, and what each cell of each feature adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.learners.boosting.bins import CellGrid
from privet.learners.boosting.gradient_histogram import GRADIENT_STATE, BaseScores
from privet.learners.boosting.gradients import LARGEST_SCORE, SCORE_BITS, SCORE_STATE, Loss
from privet.learners.boosting.moments import Targets
from privet.schema.encoding import ClassTarget, Encoding
from privet.tables.protocol import Floats, IntArray, Table

LOG_ODDS_SLOPE = 2.5  # from a regression on -1 and 1 to log-odds
LOG_ODDS_LIMIT = 4.0  # on log-odds


@dataclass(frozen=True, eq=False)
class BaseTables:
    """The scores that a base gives, in fixed point.

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

    def scores(self, grid: CellGrid) -> BaseScores:
        """Return the kernel that gives each record its score."""
        return BaseScores(self.start, self.tables, grid.cells.offsets, self.low, self.high)


def without_base(encoding: Encoding, grid: CellGrid, start: Floats, n_records: float) -> BaseTables:
    """Return a base that gives all records the same score."""
    low, high = _limits(kind_of_target(encoding))
    tables = np.zeros((int(grid.cells.offsets[-1]), start.size), np.int64)
    return BaseTables(in_fixed_point(start), tables, low, high, np.zeros(len(tables)), n_records)


def with_gradients(table: Table, base: BaseTables, grid: CellGrid, loss: Loss) -> Table:
    """Give each record the gradients of the loss at the score that the base gives to it."""
    return table.derive(SCORE_STATE, base.scores(grid)).derive(GRADIENT_STATE, loss)


def in_fixed_point(values: Floats) -> IntArray:
    """Return scores as whole numbers of 2^-SCORE_BITS, held within `LARGEST_SCORE` however large the noise was."""
    return np.clip(np.rint(values * (1 << SCORE_BITS)), -LARGEST_SCORE, LARGEST_SCORE).astype(np.int64)


def kind_of_target(encoding: Encoding) -> Targets:
    """Return whether the target is one of two classes, one of many, or a value in a range."""
    if not isinstance(encoding.target, ClassTarget):
        return "range"
    return "two" if encoding.n_classes == 2 else "many"


def _limits(target: Targets) -> tuple[int, int]:
    limit = int(LOG_ODDS_LIMIT * (1 << SCORE_BITS))
    return (0, 1 << SCORE_BITS) if target == "range" else (-limit, limit)
