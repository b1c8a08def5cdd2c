"""Stumps made soft: what a stump says of a side is not the same all along it, but leans the way that the stump steps.

A stump on a numeric feature says the same of all records on one side of its cut. So few answers rank records badly:
all of one side are tied. Where a feature tells classes apart at one cut, it mostly does so along the way, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point
from privet.learners.boosting.gradients import SCORE_BITS
from privet.learners.boosting.grown_trees import GrownTree
from privet.trees.structure import Threshold

SOFTNESS = 0.5


def softened(base: BaseTables, stumps: Sequence[GrownTree], grid: CellGrid) -> BaseTables:
    """Return the base with a slope for each stump on a numeric feature: both sides lean the way that the stump steps.

    From one end of a side to the other the slope rises by half of the step, but at the most by the size of what the
    stump says of that side. So one stump alone decides as before for every record, and records are ranked by the
    feature; missing values stay where they are.

    Notes
    -----
    *Privacy.* Post-processing of released splits and values on public cells.
    """
    slopes, variance = np.zeros(base.noise.size), base.noise**2
    for stump in stumps:
        (split,) = stump.splits
        n_cells = int(grid.domains.n_cells[split.feature])
        # Categories have no order, and a cut behind the last cell only tells missing values from all others.
        if not isinstance(split, Threshold) or split.cut >= n_cells - 1:
            continue
        begin = int(grid.cells.offsets[split.feature])
        values = stump.values[:, 0] * 2.0**-SCORE_BITS
        step = values[1] - values[0]
        for side, (first, last) in enumerate(((0, split.cut), (split.cut + 1, n_cells - 1))):
            along = np.linspace(-0.5, 0.5, last - first + 1) if last > first else np.zeros(1)
            places = slice(begin + first, begin + last + 1)
            slopes[places] += np.sign(step) * SOFTNESS * min(2 * abs(values[side]), abs(step)) * along
            variance[places] += (2 * SOFTNESS * along * stump.noise[side, 0]) ** 2
    return replace(base, tables=base.tables + in_fixed_point(slopes)[:, np.newaxis], noise=np.sqrt(variance))
