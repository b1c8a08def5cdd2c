"""One step of a logistic regression under pure epsilon: the direction in which all features tell two classes apart.

At even odds the gradient of every record is one half, up or down by its class. One release has the sums of gradients
times columns, and a step is taken along it: as long as so many records allow, no longer than its noise allows, and
shorter where much of what was released is likely to be noise. Stumps go on from there.

Where there is little signal this ranks records by what all features say, which one or two stumps cannot. What is seen
from even odds is not free of how frequent the classes are: where one of them is rare, a feature most of whose values
are at one end of its range gets a weight for that alone, which stumps then make up for. All columns
are as large as each other, since cube noise is paid for the largest: a numeric feature has a line from -1 to 1 by its
rank among its cells, and a missing value a column of its own; a feature of two codes has one column of -1 and 1, one
of more has a column for each of them; and all records have a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.learners.boosting.cells import BaseTables, CellGrid, held_frequencies, in_fixed_point
from privet.learners.boosting.class_shares import shares_of
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.grouped_noise import plan_grouped
from privet.learners.boosting.rank_counts import FINE
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, Floats, IntArray, Table
from privet.trees.structure import FeatureCodes

STABLE, POWER = 4.0, 0.75  # how long the step is: the first over the records' number times their size to this power
SHAKE = 0.5  # how far its noise may move a usual record's score
LEAST_SURE = 0.1  # the part of the step that is taken however much of it seems to be noise
USUAL_MISSING = 0.05  # how many values of a feature are taken to be missing, where some can be


@dataclass(frozen=True, eq=False)
class SignedColumns:
    """The columns: every cell of a feature has a value in one of them.

    Attributes
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    column, value : int64 arrays of shape (total number of cells,)
        The cell's column, and its value there, from -`FINE` to `FINE`.
    usual : float64 array of shape (n_columns,)
        The square of a usual record's value in each column, in units of one; the last column is the constant.
    """

    offsets: IntArray
    column: IntArray
    value: IntArray
    usual: Floats

    @classmethod
    def of(cls, grid: CellGrid) -> SignedColumns:
        """Lay out the columns of all features, one after the other, then the constant."""
        column, value, usual = list[int](), list[int](), list[float]()
        for feature, n_columns in enumerate(_columns_of(grid.domains)):
            n_codes, present = int(grid.domains.n_codes[feature]), int(grid.domains.n_cells[feature])
            places, first = range(n_columns), len(usual)
            if grid.domains.ordered[feature]:
                line = np.rint(FINE * np.linspace(-1, 1, present)).astype(np.int64) * (present > 1)
                missing = n_codes - present
                column += [first] * present + [first + n_columns - 1] * missing
                value += [*line.tolist(), *[FINE] * missing]
                usual += [float((line**2).mean()) / FINE**2] * (n_columns - missing) + [USUAL_MISSING] * missing
            elif n_columns > 1:
                column += [first + k for k in places]
                value += [FINE for _ in places]
                usual += [1 / n_columns for _ in places]
            else:
                column += [first] * n_codes
                value += [-FINE, FINE] if n_codes == 2 else [0]
                usual += [1.0 for _ in places]
        of_cells = np.array([column, value], dtype=np.int64)
        return cls(grid.cells.offsets, of_cells[0], of_cells[1], np.array([*usual, 1.0]))


def _columns_of(domains: FeatureCodes) -> list[int]:
    """Return how many columns each feature has; none where all records have the same code."""
    found = list[int]()
    for ordered, n_codes, n_cells in zip(domains.ordered, domains.n_codes, domains.n_cells, strict=True):
        if ordered:
            found.append(int(n_cells > 1) + int(n_codes - n_cells))
        else:
            found.append(int(n_codes) if n_codes > 2 else int(n_codes) - 1)
    return found


@compiled
def _add_signs(
    cells: NDArray[Any],
    target: NDArray[np.int32],
    offsets: IntArray,
    column: IntArray,
    value: IntArray,
    sums: IntArray,
) -> None:
    for row in range(cells.shape[0]):
        sign = 1 if target[row] == 1 else -1
        for feature in range(cells.shape[1]):
            cell = offsets[feature] + np.int64(cells[row, feature])
            sums[column[cell]] += sign * value[cell]
        sums[-1] += sign * FINE


@dataclass(frozen=True, eq=False)
class SignedSums:
    """Add up the values in all columns: as they are for records of the second class, negated for all others.

    Notes
    -----
    *Privacy.* A record has one value of each feature, and the constant; see `DirectionBase`.
    """

    columns: SignedColumns

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_columns,)."""
        of, sums = self.columns, np.zeros(self.columns.usual.size, np.int64)
        _add_signs(block.state[CELL_STATE], block.target, of.offsets, of.column, of.value, sums)
        return sums


@dataclass(frozen=True)
class DirectionPlan:
    """The one release of a base that is a step in one direction."""

    base: DirectionBase
    sums: Event

    @property
    def events(self) -> tuple[Event, ...]:
        """The one release."""
        return (self.sums,)


@dataclass(frozen=True)
class DirectionBase:
    """Plans and runs one step along the gradients of all columns, for two classes and pure epsilon.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records.

    Notes
    -----
    *Privacy.* The columns of each feature are a group of numbers, and so is the constant. A record has a single cell of
    a feature, hence a value other than zero in at most one of its columns: of at most one, up or down, in units of
    `FINE`. It adds that to the sums or, by its class, takes it away: no group changes by more than `FINE` in L1.
    `plan_grouped` pays for that, and `Terms` for the declared relation: a record that is replaced by one of the other
    class moves a line by twice that, and no group by more; all rows of a unit may move the same group. Cells are
    public or made of values that were released before. The step is made of released values and a public guess.
    """

    n_rows: int

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> DirectionPlan:
        """Plan noise on the sums."""
        name = "base: sums of columns by class"
        if share is None:
            return DirectionPlan(self, terms.noise(name, None))
        if share.epsilon is None:
            raise ParameterError("a step in one direction has pure noise: plan it with a share of epsilon")
        return DirectionPlan(self, plan_grouped(terms, name, share.epsilon, column_groups(encoding), norm=FINE))

    def run(self, table: Table, release: Release, plan: DirectionPlan, grid: CellGrid, start: BaseTables) -> BaseTables:
        """Release the sums, and take the step that they suggest, from even odds."""
        columns = SignedColumns.of(grid)
        released = release.noisy(table.aggregate(SignedSums(columns)), plan.sums)
        # a gradient is one half at even odds
        sums, deviations = (np.asarray(of) / (2 * FINE) for of in (released, plan.sums.deviations(released.size)))
        length = self._length(sums, deviations, columns.usual)
        shares = shares_of(self.n_rows / 2 + np.array([-1, 1]) * sums[-1], deviations[-1] ** 2, self.n_rows)
        value = columns.value / FINE
        return replace(
            start,
            start=start.start + in_fixed_point(length * sums[-1:]),
            tables=in_fixed_point(length * value * sums[columns.column])[:, np.newaxis],
            noise=length * np.abs(value) * deviations[columns.column],
            n_records=float(self.n_rows),
            frequencies=held_frequencies(shares),
        )

    def _length(self, sums: Floats, deviations: Floats, usual: Floats) -> float:
        """Return how long the step is, over the gradients' sums.

        A usual record's score moves by ``sqrt(sum of usual squares times squared sums)`` for each unit of it, of which
        noise has the same of squared deviations.
        """
        seen, noise = (math.fsum(usual * of**2) for of in (sums, deviations))
        stable: float = STABLE / (self.n_rows * math.fsum(usual) ** POWER)
        sure = max(LEAST_SURE, 1 - noise / max(seen, 1e-18))
        return sure * min(stable, SHAKE / max(math.sqrt(noise), 1e-9))

    def __str__(self) -> str:
        return "one step of a logistic regression on a line of each numeric feature, and on all categories"


def column_groups(encoding: Encoding) -> tuple[int, ...]:
    """Return the sizes of the groups of columns: one group for each feature that has any, one for the constant."""
    return *(size for size in _columns_of(FeatureCodes.of(encoding)) if size), 1
