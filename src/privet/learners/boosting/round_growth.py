"""One round's tree: the choices that were planned for it, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.annealing import Round, Rounds
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradient_growth import GradientGrowth
from privet.learners.boosting.grid_choice import Grid, GroupedFeature, PairGrids, group_scores, grouped_features
from privet.learners.boosting.pair_choice import PairCandidates
from privet.mechanisms.release import Release
from privet.randomness.public import PublicRng
from privet.tables import Table


def grow_tree(
    table: Table, release: Release, rng: PublicRng, grid: CellGrid, rounds: Rounds, planned: Round, n_scores: int
) -> tuple[GradientGrowth, NDArray[np.bool_] | None]:
    """Return a tree that all choices of a round were made for, and which of its leaves there are cells for.

    Records have cells and gradients. The second is None where every leaf may have records.
    """
    growth, possible = (
        GradientGrowth(table, grid.candidates(rng), grid.cells.offsets, n_scores, shared_splits=rounds.shared_splits),
        None,
    )
    if planned.grid:
        grids = _grids_of_choices(growth, table, release, rng, grid, rounds, planned, n_scores)
        possible = np.repeat(grids, 1 << len(planned.splits))
    if planned.pair is not None:
        pairs = PairCandidates.of(grid, rng, n_scores)
        (chosen,) = release.choose(pairs.scores(table), planned.pair).tolist()
        growth.split_twice(*pairs.splits(chosen))
    for event in planned.splits:
        growth.split(release.choose(growth.scores(), event))
    return growth, possible


def _grids_of_choices(
    growth: GradientGrowth,
    table: Table,
    release: Release,
    rng: PublicRng,
    grid: CellGrid,
    rounds: Rounds,
    planned: Round,
    n_scores: int,
) -> NDArray[np.bool_]:
    """Choose two features, together or one after the other, and split the root by their grid."""
    assert rounds.grid is not None
    of_each = rounds.grid.levels // 2
    if len(planned.grid) == 1:
        pairs = PairGrids(grouped_features(grid, of_each, rng), n_scores)
        (chosen,) = release.choose(pairs.scores(table), planned.grid[0]).tolist()
        both = pairs.grid(chosen)
        growth.split_alike(both.levels)
        return both.possible
    possible, known = np.ones(1, np.bool_), list[GroupedFeature]()
    for event in planned.grid:
        features = grouped_features(grid, of_each, rng, known)
        (chosen,) = release.choose(group_scores(features, growth.cell_sums(), grid.cells.offsets), event).tolist()
        one = Grid.of(features[chosen])
        growth.split_alike(one.levels)
        possible = (possible[:, np.newaxis] & one.possible).ravel()
        known.append(features[chosen])
    return possible
