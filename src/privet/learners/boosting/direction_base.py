"""One step of a logistic regression under pure epsilon: the direction in which all features tell two classes apart.

At even odds the gradient of every record is one half, up or down by its class. One release has the sums of gradients
times columns, and a step is taken along it: as long as so many records allow, no longer than its noise allows, and
shorter where much of what was released is likely to be noise. Trees go on from there.

Where there is little signal this ranks records by what all features say, which one or two trees cannot. What is seen
from even odds is not free of how frequent the classes are: where one of them is rare, a feature most of whose values
are at one end of its range gets a weight for that alone, which trees then make up for. Columns are those of
`privet.learners.boosting.signed_columns`, and a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privet.errors import ParameterError
from privet.learners.boosting.cells import BaseTables, CellGrid, held_frequencies, in_fixed_point
from privet.learners.boosting.class_shares import ClassCounts, shares_of
from privet.learners.boosting.grouped_noise import plan_grouped
from privet.learners.boosting.rank_counts import FINE
from privet.learners.boosting.signed_columns import ClassSums, SignedColumns, column_groups
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, Table

STABLE, POWER = 4.0, 0.75  # how long the step is: the first over the records' number times their size to this power
SHAKE = 0.5  # how far its noise may move a usual record's score
LEAST_SURE = 0.1  # the part of the step that is taken however much of it seems to be noise


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
    a feature, whose values in the feature's columns are at most one together, up or down, in units of `FINE`. It adds
    them to the sums or, by its class, takes them away: no group changes by more than `FINE` in L1.
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
        groups = (*column_groups(encoding), 1)
        return DirectionPlan(self, plan_grouped(terms, name, share.epsilon, groups, norm=FINE))

    def run(self, table: Table, release: Release, plan: DirectionPlan, grid: CellGrid, start: BaseTables) -> BaseTables:
        """Release the sums, and take the step that they suggest, from even odds."""
        columns = SignedColumns.of(grid)
        by_class, counts = table.aggregate(ClassSums(columns)), table.aggregate(ClassCounts(2))
        released = release.noisy(np.append(np.diff(by_class, axis=0)[0], np.diff(counts)), plan.sums)
        # a gradient is one half at even odds
        sums, deviations = (np.asarray(of) / (2 * FINE) for of in (released, plan.sums.deviations(released.size)))
        length = self._length(sums, deviations, np.append(columns.usual, 1.0))
        shares = shares_of(self.n_rows / 2 + np.array([-1, 1]) * sums[-1], deviations[-1] ** 2, self.n_rows)
        return replace(
            start,
            start=start.start + in_fixed_point(length * sums[-1:]),
            tables=in_fixed_point(length * columns.score_of_cells(sums[:-1]))[:, np.newaxis],
            noise=length * columns.deviation_of_cells(deviations[:-1]),
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
