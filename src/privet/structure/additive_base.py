"""An additive model in one shot: a ridge regression on a noisy Gram matrix of one-hot codes.

Every numeric feature is cut into a few groups of cells, every category is a group. How often each pair of groups occurs
together, and the sums of the target over each group, are all that a linear regression needs; both are released once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.encoding import ClassTarget, Encoding
from privet.events import Event, Mechanism
from privet.kernels.gradients import SCORE_BITS, Huber, Loss
from privet.kernels.gram import PairCounts, Targets, TargetSums, largest_change
from privet.release import Release
from privet.structure.gradient_growth import CellGrid
from privet.tables.protocol import Table
from privet.terms import Share, Terms

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_GROUPS = 400  # beyond this the noise of so many pairs drowns the signal, and the matrix takes long to solve
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
        About how many records there are, from what was released.
    """

    start: IntArray
    tables: IntArray
    low: int
    high: int
    noise: Floats
    n_records: float


@dataclass(frozen=True)
class AdditiveBase:
    """Plans and runs the two releases of the base.

    Parameters
    ----------
    groups : int
        Into how many groups a numeric feature's cells are put.
    pairs_part : Fraction
        What the pairs get of the base's budget; the rest is for the target's sums.
    penalty : float
        The ridge penalty, in units of the size that the noise's own eigenvalues have.

    Notes
    -----
    *Privacy.* With d features a record is in d groups and in the one that holds every record: it adds one to
    ``(d + 1)(d + 2) / 2`` pairs (the upper triangle), and changes d + 1 sums of the target by at most one (two classes:
    one column of -1 and 1; more classes: the column of its own; a range: its gradient at the common start).
    Everything is in whole numbers, then solving is post-processing.
    """

    groups: int = 4
    pairs_part: Fraction = Fraction(1, 2)
    penalty: float = 1.0

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> dict[str, Event]:
        """Plan noise on the pairs and on the target's sums."""
        d, target = encoding.n_features, _kind(encoding)
        largest = largest_change(target)
        parts = (None, None) if share is None else (share * self.pairs_part, share * (1 - self.pairs_part))
        n_pairs = (d + 1) * (d + 2) // 2
        sums = terms.noise(
            "base: sums of the target",
            parts[1],
            l1=(d + 1) * largest,
            l2_squared=(d + 1) * largest**2,
            signed=target != "many",
        )
        return {"pairs": terms.noise("base: pairs of groups", parts[0], l1=n_pairs, l2_squared=n_pairs), "sums": sums}

    def run(
        self, table: Table, release: Release, events: Mapping[str, Event], grid: CellGrid, start: BaseTables, loss: Loss
    ) -> BaseTables:
        """Release pairs and sums, and solve; for a range, for what is added to `start`, where gradients were taken."""
        encoding, target = table.encoding, _kind(table.encoding)
        group, feature_of = groups_of(grid, self.groups)
        n_groups, (rows, columns) = feature_of.size, _pairs(feature_of)
        offsets = grid.cells.offsets
        pairs = table.aggregate(PairCounts(offsets, group, n_groups))[rows, columns]
        gram = np.zeros((n_groups + 1, n_groups + 1))
        gram[rows, columns] = gram[columns, rows] = release.noisy(pairs, events["pairs"])
        n_columns = encoding.n_classes if target == "many" else 1
        sums = release.noisy(table.aggregate(TargetSums(offsets, group, n_groups, target, n_columns)), events["sums"])
        penalty = max(self.penalty * deviation(events["pairs"]) * math.sqrt(n_groups + 1), 1.0)
        weights, spread = _ridge(gram, sums / largest_change(target), penalty)
        noise = spread * deviation(events["sums"]) / largest_change(target)
        n_records = max(float(gram[-1, -1]), 1.0)
        if isinstance(loss, Huber):
            fixed = in_fixed_point(weights / loss.zoom)
            noise = noise[group] / loss.zoom
            return replace(start, start=start.start + fixed[-1], tables=fixed[group], noise=noise, n_records=n_records)
        common = SLOPE * (weights[-1] - (weights[-1].mean() if target == "many" else 0.0))
        tables = in_fixed_point(SLOPE * weights[group])
        noise = SLOPE * noise[group]
        return replace(start, start=in_fixed_point(common), tables=tables, noise=noise, n_records=n_records)

    def fits(self, encoding: Encoding) -> bool:
        """Whether there are few enough groups for a base; known from the schema alone."""
        groups = [
            min(self.groups, column.n_values) + (column.missing_code is not None) if column.ordered else column.n_codes
            for column in encoding.columns
        ]
        return sum(groups) <= MOST_GROUPS

    def __str__(self) -> str:
        return f"a regression on {self.groups} groups of each numeric feature and all categories"


def without_base(encoding: Encoding, grid: CellGrid, start: Floats, n_records: float) -> BaseTables:
    """Return a base that says the same for all records."""
    low, high = _limits(_kind(encoding))
    tables = np.zeros((int(grid.cells.offsets[-1]), start.size), np.int64)
    return BaseTables(in_fixed_point(start), tables, low, high, np.zeros(len(tables)), n_records)


def deviation(event: Event) -> float:
    """Return the standard deviation of an event's noise."""
    match event.mechanism:
        case Mechanism.GAUSSIAN:
            return math.sqrt(event.parameter)
        case Mechanism.LAPLACE:
            return math.sqrt(2) * float(event.parameter)
    return 0.0


def in_fixed_point(values: Floats) -> IntArray:
    """Return scores as whole numbers of 2^-SCORE_BITS."""
    return np.rint(values * (1 << SCORE_BITS)).astype(np.int64)


def _kind(encoding: Encoding) -> Targets:
    if not isinstance(encoding.target, ClassTarget):
        return "range"
    return "two" if encoding.n_classes == 2 else "many"


def _limits(target: Targets) -> tuple[int, int]:
    return (
        (0, 1 << SCORE_BITS) if target == "range" else (-int(LIMIT * (1 << SCORE_BITS)), int(LIMIT * (1 << SCORE_BITS)))
    )


def groups_of(grid: CellGrid, most: int) -> tuple[IntArray, IntArray]:
    """Return the group of each cell, and the feature of each group; at most so many groups of a numeric feature."""
    group, feature_of = list[IntArray](), list[int]()
    for feature, n_cells in enumerate(grid.domains.n_codes.tolist()):
        cells = np.arange(n_cells)
        if grid.domains.ordered[feature]:
            present = int(grid.domains.n_cells[feature])
            n_groups = min(most, present)
            cells = np.where(cells < present, cells * n_groups // present, n_groups)  # the missing cell is the last
        group.append(len(feature_of) + cells)
        feature_of += [feature] * (int(cells.max()) + 1)
    return np.concatenate(group), np.array(feature_of, dtype=np.int64)


def _pairs(feature_of: IntArray) -> tuple[IntArray, IntArray]:
    """Return the pairs of groups that can occur together, the last group being the one that holds every record."""
    of = np.append(feature_of, -1)
    rows, columns = np.triu_indices(of.size)
    together = (rows == columns) | (of[rows] != of[columns])
    return rows[together], columns[together]


def _ridge(gram: Floats, sums: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Solve with eigenvalues, which noise can make negative, held above zero, and a penalty as large as the noise's.

    Returns
    -------
    weights, spread
        The solution, and the standard deviation of each row of it where the sums' noise has a deviation of one.
    """
    eigenvalues, vectors = np.linalg.eigh(gram)
    inverse = vectors / (np.maximum(eigenvalues, 0.0) + penalty)
    return inverse @ (vectors.T @ sums), np.sqrt((inverse**2).sum(axis=1))
