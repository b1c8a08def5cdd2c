"""What boosting begins with: a score that all records share, and what each cell of each feature adds to it.

The common score is that of class frequencies or of a regression target's mean, from noisy sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from privet.learners.boosting.cells import GRADIENT_STATE, NODE_STATE, AllAtRoot, BaseScores, CellGrid, GradientSums
from privet.learners.boosting.gradients import LARGEST_SCORE, ONE, SCORE_BITS, SCORE_STATE, Huber, Loss
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import ClassTarget, Encoding
from privet.tables.protocol import Floats, IntArray, Table

TargetKind = Literal["two", "many", "range"]  # two classes, more of them, or a regression target

LOG_ODDS_SLOPE = 2.5  # from a regression on -1 and 1 to log-odds
LOG_ODDS_LIMIT = 4.0  # of either sign
SMALLEST_FREQUENCY = 1e-3  # of a class, however little the noise has left of it
USUAL_MEAN = 0.25  # how far a target's mean is from the middle of its range, in units of the range
WHOLE_RANGE_ZOOM = 2  # seen from the middle no target is farther than half of its range, so no gradient is cut off


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
    frequencies : float64 array of shape (n_classes,), optional
        How often each class occurs, from what was released.
    """

    start: IntArray
    tables: IntArray
    low: int
    high: int
    noise: Floats
    n_records: float
    frequencies: Floats | None = None

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


def kind_of_target(encoding: Encoding) -> TargetKind:
    """Return whether the target is one of two classes, one of many, or a value in a range."""
    if not isinstance(encoding.target, ClassTarget):
        return "range"
    return "two" if encoding.n_classes == 2 else "many"


def _limits(target: TargetKind) -> tuple[int, int]:
    limit = int(LOG_ODDS_LIMIT * (1 << SCORE_BITS))
    return (0, 1 << SCORE_BITS) if target == "range" else (-limit, limit)


def plan_start(loss: Loss, terms: Terms, share: Share | None) -> Event:
    """Plan noise on the sums of all records' gradients and curvatures."""
    l1, l2_squared = loss.bound * loss.one, loss.bound * loss.one**2
    return terms.noise("sums of gradients", share, l1=l1, l2_squared=l2_squared, signed=True)


def common_start(table: Table, release: Release, planned: Event | None, grid: CellGrid, loss: Loss) -> BaseTables:
    """Return a base that gives all records one score: even odds, or what noisy sums suggest where they are planned."""
    even = without_base(table.encoding, grid, start_scores(None, loss), 1.0)
    if planned is None:
        return even
    # The mean of a regression target may be anywhere in its range, so nothing is cut off yet.
    whole = replace(loss, zoom=WHOLE_RANGE_ZOOM) if isinstance(loss, Huber) else loss
    at_root = with_gradients(table, even, grid, whole).derive(NODE_STATE, AllAtRoot())
    sums = release.noisy(at_root.aggregate(GradientSums(1, loss.n_scores)), planned)
    scores = start_scores(sums, whole, planned.deviation)
    base = without_base(table.encoding, grid, scores, count_of(sums, whole))
    return base if isinstance(loss, Huber) else replace(base, frequencies=_frequencies_at(scores))


def _frequencies_at(scores: Floats) -> Floats:
    """Return the class frequencies that a common start stands for."""
    weights = np.exp(np.array([0.0, scores[0]]) if scores.size == 1 else scores)
    return held_frequencies(weights)


def frequencies_of_sums(count: float, sums: Floats) -> Floats:
    """Return frequencies from the number of records and sums of the classes: -1 and 1 of two, or 1 of each of many."""
    return held_frequencies(np.array([count - sums[0], count + sums[0]]) / 2 if sums.size == 1 else sums)


def held_frequencies(sizes: Floats) -> Floats:
    """Return frequencies from noisy sizes of classes, none of them below `SMALLEST_FREQUENCY`."""
    positive = np.maximum(sizes, 0.0)  # where noise has left none, all classes are alike
    held = np.maximum(positive / (float(positive.sum()) or 1.0), SMALLEST_FREQUENCY)
    frequencies: Floats = held / held.sum()
    return frequencies


def count_of(sums: IntArray, loss: Loss) -> float:
    """Return about how many records there are, from the sums at the scores that `start_scores` gives for None."""
    k = loss.n_scores
    even = 0.5 if k == 1 else 1 / k
    curvature = float(sums[0, k:].mean()) / ONE
    if isinstance(loss, Huber):
        return max(2 * curvature, 1.0)  # every record has one half
    each = loss.curvature * max(even * (1 - even) * loss.at_even_scores, 1e-9)
    return max(curvature / each, 1.0)


def start_scores(sums: IntArray | None, loss: Loss, noise: float = 0.0) -> Floats:
    """Return the scores that all records start with, from the sums of gradients and curvatures at equal scores.

    The mean of a regression target is drawn towards the middle of its range, by how noisy it is.

    Parameters
    ----------
    sums : int64 array of shape (1, 2 n_scores), or None
        As released, for the scores that this function returns for None.
    loss : Loss
        Whose gradients were added up.
    noise : float
        The standard deviation of the noise in the sums.
    """
    k = loss.n_scores
    even = 0.5 if k == 1 else 1 / k
    if sums is None:
        return np.full(k, 0.5 if isinstance(loss, Huber) else 0.0)
    count = count_of(sums, loss)
    means = sums[0, :k] / ONE / count
    if isinstance(loss, Huber):
        weight = USUAL_MEAN**2 / (USUAL_MEAN**2 + (noise / ONE / count / loss.zoom) ** 2)
        return np.clip(0.5 - weight * means / loss.zoom, 0.0, 1.0)
    chances = np.clip(even - means / loss.at_even_scores, 0.02, 0.98)
    odds: Floats = np.log(chances / (1 - chances)) if k == 1 else np.log(chances) - np.log(chances).mean()
    return odds
