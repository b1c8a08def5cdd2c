"""Trees as they were released, and the model that is put together of a base and them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.additive import Additive
from privet.learners.boosting.cells import BaseTables, CellGrid
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray
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
