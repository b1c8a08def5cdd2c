"""One round's tree, by the choices that were planned for it; trees as released, and the model that is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.additive import Additive
from privet.learners.boosting.annealing import Round, Rounds
from privet.learners.boosting.cells import BaseTables, CellGrid
from privet.learners.boosting.gradient_growth import GradientGrowth
from privet.learners.boosting.grid_choice import Grid, GroupedFeature, PairGrids, group_scores, grouped_features
from privet.learners.boosting.pair_choice import PairCandidates
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray, Table
from privet.trees.complete_trees import CompleteTrees
from privet.trees.structure import FeatureCodes, Split, Splits, split_table


@dataclass(frozen=True, eq=False)
class GrownTree:
    """One round's tree, as released.

    Attributes
    ----------
    splits : list of Split
        Of cells, level by level from the root.
    values : int64 array of shape (n_leaves, n_scores)
        What each leaf adds, in fixed point.
    noise : float64 array of the same shape
        The standard deviation that noise gives to that.
    """

    splits: list[Split]
    values: IntArray
    noise: NDArray[np.float64]


def grow_tree(
    table: Table, release: Release, rng: PublicRng, grid: CellGrid, rounds: Rounds, planned: Round, n_scores: int
) -> tuple[GradientGrowth, NDArray[np.bool_] | None]:
    """Return a tree that all choices of a round were made for, and which of its leaves there are cells for.

    Records have cells and gradients. The second is None where every leaf may have records.
    """
    growth = GradientGrowth(
        table, grid.candidates(rng), grid.cells.offsets, n_scores, shared_splits=rounds.shared_splits
    )
    possible = None
    if rounds.grid is not None:
        of_grid = _split_by_grid(growth, release, rng, grid, planned.grid, rounds.grid.levels // 2)
        possible = np.repeat(of_grid, 1 << len(planned.splits))
    if planned.pair is not None:
        pairs = PairCandidates.of(grid, rng, n_scores)
        (chosen,) = release.choose(pairs.scores(table), planned.pair).tolist()
        growth.split_twice(*pairs.splits(chosen))
    for event in planned.splits:
        growth.split(release.choose(growth.scores(), event))
    return growth, possible


def _split_by_grid(
    growth: GradientGrowth, release: Release, rng: PublicRng, grid: CellGrid, planned: tuple[Event, ...], levels: int
) -> NDArray[np.bool_]:
    """Choose two features, together or one after the other, and split the root by their grid."""
    if len(planned) == 1:
        pairs = PairGrids.of(grid, levels, growth.n_scores, rng)
        (chosen,) = release.choose(pairs.scores(growth.table), planned[0]).tolist()
        both = pairs.grid(chosen)
        growth.split_alike(both.levels)
        return both.possible
    possible, known = np.ones(1, np.bool_), list[GroupedFeature]()
    for event in planned:
        features = grouped_features(grid, levels, rng, known)
        (chosen,) = release.choose(group_scores(features, growth.cell_sums(), grid.cells.offsets), event).tolist()
        one = Grid.of(features[chosen])
        growth.split_alike(one.levels)
        possible = (possible[:, np.newaxis] & one.possible).ravel()
        known.append(features[chosen])
    return possible


def assemble(encoding: Encoding, grid: CellGrid, base: BaseTables, trees: Sequence[GrownTree]) -> Additive:
    """Put the model together: values of cells become values of codes."""
    offsets, none = grid.cells.offsets, np.zeros((0, base.start.size))
    cell = np.concatenate([begin + cells for begin, cells in zip(offsets, grid.cells.cell, strict=False)])
    splits = [[grid.in_codes(split) for split in tree.splits] for tree in trees]
    return Additive(
        encoding,
        base.start,
        base.tables[cell],
        base.low,
        base.high,
        write_down(grid.fine, splits) if trees else None,
        np.concatenate([tree.values for tree in trees]) if trees else none.astype(np.int64),
        np.concatenate([tree.noise for tree in trees]) if trees else none,
        base.noise[cell],
        base.frequencies,
    )


def write_down(domains: FeatureCodes, trees: Sequence[Sequence[Split]]) -> CompleteTrees:
    """Make complete trees of the splits of each, level by level from the root."""
    table, shape = split_table(domains, [split for tree in trees for split in tree]), (len(trees), len(trees[0]))
    return CompleteTrees(
        domains,
        Splits(
            table.feature.reshape(shape),
            table.cut.reshape(shape),
            table.missing_first.reshape(shape),
            table.set_index.reshape(shape),
            table.sets,
        ),
    )
