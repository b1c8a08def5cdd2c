"""What boosting begins with: codes put together into cells, what each cell adds to a score, and what all records share.

`CellGrid` puts codes into cells at private quantiles or at public cuts. `BaseTables` has an entry for each cell, and a
common score: that of class frequencies or of a regression target's mean, from noisy sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.gradient_growth import (
    CELL_STATE,
    GRADIENT_STATE,
    NODE_STATE,
    AllAtRoot,
    GradientSums,
)
from privet.learners.boosting.gradients import LARGEST_SCORE, ONE, SCORE_BITS, SCORE_STATE, Huber, Loss
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import ClassTarget, Encoding
from privet.tables.protocol import Block, Floats, IntArray, Kernel, Table
from privet.trees.candidates import Candidates, Walk, orders, thresholds
from privet.trees.structure import FeatureCodes, Split, Threshold

TargetKind = Literal["two", "many", "range"]  # two classes, more of them, or a regression target

LOG_ODDS_SLOPE = 2.5  # from a regression on -1 and 1 to log-odds
LOG_ODDS_LIMIT = 4.0  # of either sign
SMALLEST_FREQUENCY = 1e-3  # of a class, however little the noise has left of it
USUAL_MEAN = 0.5  # how far a target's mean is from where its gradients are taken, in units of where they are cut off
MIDDLE = 0.5  # of a target's range
PUBLIC_CELLS = 240  # of equal width
CATEGORY_ORDERS = 8  # random orders of a feature's categories, new for each tree


@dataclass(frozen=True, eq=False)
class Cells:
    """Send the codes of each feature to cells.

    Parameters
    ----------
    cell : tuple of int arrays
        For each feature the cell of each code; public, or made of released values.
    """

    cell: tuple[IntArray, ...]

    @cached_property
    def n_cells(self) -> IntArray:
        """Number of cells of each feature."""
        return np.array([int(cells.max()) + 1 for cells in self.cell], dtype=np.int64)

    @cached_property
    def offsets(self) -> IntArray:
        """Where each feature's cells begin when all are numbered through; the last entry is their number."""
        return np.concatenate([[0], np.cumsum(self.n_cells)]).astype(np.int64)

    def __call__(self, block: Block) -> NDArray[Any]:
        """Return each record's cells, shape (n, n_features)."""
        dtype = np.uint8 if self.n_cells.max() <= 256 else np.uint16
        out = np.zeros((block.target.size, len(self.cell)), dtype)
        for feature, cells in enumerate(self.cell):
            # a code beyond the last is no code of this feature; it is held within bounds
            out[:, feature] = cells.astype(dtype)[np.minimum(block.codes[feature], cells.size - 1)]
        return out


@dataclass(frozen=True, eq=False)
class CellGrid:
    """How the codes of all features are put together into cells.

    Attributes
    ----------
    fine : FeatureCodes
        The codes.
    domains : FeatureCodes
        The cells, taken for codes.
    cells : Cells
        The cell of each code.
    """

    fine: FeatureCodes
    domains: FeatureCodes
    cells: Cells

    @classmethod
    def of(cls, encoding: Encoding, cuts: dict[int, list[int]]) -> Self:
        """Put codes between two cuts into one cell; categories, and missing values, keep cells of their own."""
        fine = FeatureCodes.of(encoding)
        cell_of_code, n_cells, missing = [], fine.n_cells.copy(), fine.missing.copy()
        for feature in range(fine.n_features):
            codes = np.arange(int(fine.n_codes[feature]))
            if fine.ordered[feature]:
                inner = cuts.get(feature, list(range(int(fine.n_cells[feature]) - 1)))
                cells = np.searchsorted(np.array(inner, dtype=np.int64), codes, side="left")
                n_cells[feature] = len(inner) + 1
                if fine.missing[feature] >= 0:
                    missing[feature] = len(inner) + 1
                    cells[fine.missing[feature]] = len(inner) + 1
                codes = cells
            cell_of_code.append(codes.astype(np.int64))
        n_codes = np.array([int(cells.max()) + 1 for cells in cell_of_code], dtype=np.int64)
        return cls(fine, FeatureCodes(fine.ordered, n_codes, n_cells, missing), Cells(tuple(cell_of_code)))

    @staticmethod
    def even_cuts(encoding: Encoding, n_cells: int) -> dict[int, list[int]]:
        """Return cuts of every ordered feature into cells of equal width on its grid; public."""
        domains, cuts = FeatureCodes.of(encoding), dict[int, list[int]]()
        for feature in np.flatnonzero(domains.ordered).tolist():
            n_codes = int(domains.n_cells[feature])
            cuts[feature] = sorted({n_codes * k // n_cells - 1 for k in range(1, n_cells)} - {-1})
        return cuts

    @staticmethod
    def public_cuts(encoding: Encoding) -> dict[int, list[int]]:
        """Return cuts of every ordered feature that are public and yet see long tails.

        Into 240 cells of equal width, and at a 64th of the grid, a 128th and so on from either end. On a grid of up to
        4,096 codes a cell fits into a byte.
        """
        domains, cuts = FeatureCodes.of(encoding), dict[int, list[int]]()
        for feature in np.flatnonzero(domains.ordered).tolist():
            n_codes = int(domains.n_cells[feature])
            tails = [n_codes >> k for k in range(6, 63) if n_codes >> k]
            even = {n_codes * k // PUBLIC_CELLS for k in range(1, PUBLIC_CELLS)}
            ends = even | set(tails) | {n_codes - tail for tail in tails}
            cuts[feature] = sorted(end - 1 for end in ends if 0 < end < n_codes)
        return cuts

    def candidates(self, rng: PublicRng) -> Candidates:
        """List the splits of one tree: every cut; each category against the rest, and prefixes of a few random orders.

        The orders are public, and new for each tree.
        """
        walks: list[Walk] = []
        for feature in self.domains.splittable.tolist():
            n_cells = int(self.domains.n_cells[feature])
            if self.domains.ordered[feature]:
                walks.extend(thresholds(self.domains, feature, range(n_cells - 1)))
            else:
                walks.extend(orders(feature, n_cells, rng, CATEGORY_ORDERS))
        return Candidates(self.domains, tuple(walks), ())

    def in_codes(self, split: Split) -> Split:
        """Return a split of cells as a split of codes."""
        if not isinstance(split, Threshold):
            return split
        present = self.cells.cell[split.feature][: self.fine.n_cells[split.feature]]
        last = int(np.searchsorted(present, split.cut, side="right")) - 1
        return Threshold(split.feature, last, split.missing_first)


@compiled
def _look_up_base(
    cells: NDArray[Any], offsets: IntArray, tables: IntArray, start: IntArray, low: int, high: int, out: IntArray
) -> None:
    n_scores = start.size
    for row in range(cells.shape[0]):
        of_row = out[row]
        if n_scores == 1:  # in a register, which is quicker
            total = start[0]
            for feature in range(cells.shape[1]):
                total += tables[offsets[feature] + np.int64(cells[row, feature]), 0]
            of_row[0] = min(max(total, low), high)
            continue
        for k in range(n_scores):
            of_row[k] = start[k]
        for feature in range(cells.shape[1]):
            of_cell = tables[offsets[feature] + np.int64(cells[row, feature])]
            for k in range(n_scores):
                of_row[k] += of_cell[k]
        for k in range(n_scores):
            of_row[k] = min(max(of_row[k], low), high)


@dataclass(frozen=True, eq=False)
class BaseScores:
    """The scores that an additive base gives to each record.

    Parameters
    ----------
    start : int64 array of shape (n_scores,)
        What all records have in common.
    tables : int64 array of shape (total number of cells, n_scores)
        What each cell adds.
    offsets : int64 array
        Where each feature's cells begin.
    low, high : int
        Scores are held within these.
    """

    start: IntArray
    tables: IntArray
    offsets: IntArray
    low: int
    high: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 scores of shape (n, n_scores)."""
        out = np.zeros((block.target.size, self.start.size), np.int64)
        # held so that the sum over all features cannot overflow
        tables, start = (np.clip(of, -LARGEST_SCORE, LARGEST_SCORE) for of in (self.tables, self.start))
        _look_up_base(block.state[CELL_STATE], self.offsets, tables, start, self.low, self.high, out)
        return out


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


def with_gradients(table: Table, base: BaseTables, grid: CellGrid, loss: Kernel) -> Table:
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
    l1, l2_squared, replaced = loss.bound * loss.one, loss.bound * loss.one**2, loss.distance * loss.one**2
    return terms.noise("sums of gradients", share, l1=l1, l2_squared=l2_squared, signed=True, replaced=replaced)


def common_start(
    table: Table, release: Release, planned: Event | None, grid: CellGrid, loss: Loss, centre: float = MIDDLE
) -> BaseTables:
    """Return a base that gives all records one score: even odds, or what noisy sums suggest where they are planned.

    The score of a regression target is its `centre`, or its mean as it is seen from there.
    """
    even = without_base(table.encoding, grid, start_scores(None, loss, centre=centre), 1.0)
    if planned is None:
        return even
    at_root = with_gradients(table, even, grid, loss).derive(NODE_STATE, AllAtRoot())
    sums = release.noisy(at_root.aggregate(GradientSums(1, loss.n_scores)), planned)
    scores = start_scores(sums, loss, planned.deviation, centre)
    base = without_base(table.encoding, grid, scores, count_of(sums, loss))
    return base if isinstance(loss, Huber) else replace(base, frequencies=_frequencies_at(scores))


def frequencies_of_leaves(sums: IntArray, loss: Loss) -> Floats:
    """Return class frequencies from the released sums of a first tree, of records that had even scores before it."""
    return _frequencies_at(start_scores(sums.sum(axis=0, keepdims=True), loss))


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
        return max(curvature / float(loss.count), 1.0)
    each = loss.curvature * max(even * (1 - even) * loss.at_even_scores, 1e-9)
    return max(curvature / each, 1.0)


def start_scores(sums: IntArray | None, loss: Loss, noise: float = 0.0, centre: float = MIDDLE) -> Floats:
    """Return the scores that all records start with, from the sums of gradients and curvatures at equal scores.

    The mean of a regression target is drawn towards the centre, by how noisy it is.

    Parameters
    ----------
    sums : int64 array of shape (1, 2 n_scores), or None
        As released, for the scores that this function returns for None.
    loss : Loss
        Whose gradients were added up.
    noise : float
        The standard deviation of the noise in the sums.
    centre : float
        Where a regression target's gradients were taken, in units of its range.
    """
    k = loss.n_scores
    even = 0.5 if k == 1 else 1 / k
    if sums is None:
        return np.full(k, centre if isinstance(loss, Huber) else 0.0)
    count = count_of(sums, loss)
    means = sums[0, :k] / ONE / count
    if isinstance(loss, Huber):
        weight = USUAL_MEAN**2 / (USUAL_MEAN**2 + (noise / ONE / count) ** 2)
        return np.clip(centre - weight * means * loss.part, 0.0, 1.0)
    chances = np.clip(even - means / loss.at_even_scores, 0.02, 0.98)
    odds: Floats = np.log(chances / (1 - chances)) if k == 1 else np.log(chances) - np.log(chances).mean()
    return odds
