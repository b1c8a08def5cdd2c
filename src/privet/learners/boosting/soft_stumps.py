"""Splits made soft: what a tree says of a side is not the same all along it, but leans the way that the split steps.

A stump on a numeric feature says the same of all records on one side of its cut, and a tree of two splits has four
answers. So few of them rank records badly: all of one leaf are tied. Where a feature tells classes apart at one cut, it
mostly does so along the way, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point
from privet.learners.boosting.gradients import SCORE_BITS
from privet.learners.boosting.grown_trees import GrownTree
from privet.tables.protocol import Floats
from privet.trees.structure import Split, Threshold

SOFTNESS = 0.5


def softened(base: BaseTables, trees: Sequence[GrownTree], grid: CellGrid) -> BaseTables:
    """Return the base with a slope for each split of a numeric feature: both sides lean the way that the split steps.

    Trees are stumps, or have two levels whose splits are one choice, the lower one the same on both sides. A split's
    step is what its second side has more than its first, on average over the other split. From one end of a side to
    the other the slope rises by half of the step, but at the most by the least that the tree says of that side, or by
    half of that where there are two splits. So one tree alone decides as before for every record, and records are
    ranked by its features; missing values stay where they are.

    Notes
    -----
    *Privacy.* Post-processing of released splits and values on public cells.
    """
    slopes, variance = np.zeros(base.noise.size), base.noise**2
    for tree in trees:
        shape = (2,) * _n_levels(tree)
        values, noise = (np.array(of[:, 0], np.float64).reshape(shape) for of in (tree.values, tree.noise))
        values *= 2.0**-SCORE_BITS
        for level in range(len(shape)):
            sides, noise_of = (np.moveaxis(of, level, 0).reshape(2, -1) for of in (values, noise))
            _lean(slopes, variance, grid, tree.splits[level], sides, noise_of, SOFTNESS / len(shape))
    return replace(base, tables=base.tables + in_fixed_point(slopes)[:, np.newaxis], noise=np.sqrt(variance))


def _n_levels(tree: GrownTree) -> int:
    return (len(tree.splits) + 1).bit_length() - 1


def _lean(
    slopes: Floats, variance: Floats, grid: CellGrid, split: Split, sides: Floats, noise: Floats, most: float
) -> None:
    """Add the slopes of one split, which has these leaves on either side."""
    n_cells = int(grid.domains.n_cells[split.feature])
    # Categories have no order, and a cut behind the last cell only tells missing values from all others.
    if not isinstance(split, Threshold) or split.cut >= n_cells - 1:
        return
    begin, step = int(grid.cells.offsets[split.feature]), float(np.diff(sides.mean(axis=1))[0])
    for side, (first, last) in enumerate(((0, split.cut), (split.cut + 1, n_cells - 1))):
        along = np.linspace(-0.5, 0.5, last - first + 1) if last > first else np.zeros(1)
        places, least = slice(begin + first, begin + last + 1), float(np.abs(sides[side]).min())
        slopes[places] += np.sign(step) * min(2 * most * least, SOFTNESS * abs(step)) * along
        variance[places] += (2 * most * along * noise[side].max()) ** 2
