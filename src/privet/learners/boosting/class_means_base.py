"""How frequent two classes are, and the mean of every column in each: all that next to no pure signal can say.

Where n epsilon is a dozen, no choice finds a feature, and the first question is which class is the larger. So half of
the budget is for that. The other half says where the means of the two classes lie apart; added up over all columns that
is a linear discriminant for features that are taken to be independent, which ranks records a little. Sums of a class
change only by its own records, so that both classes have all of this half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privet.errors import ParameterError
from privet.learners.boosting.cells import BaseTables, CellGrid, held_frequencies, in_fixed_point
from privet.learners.boosting.class_shares import log_shares, shares_of
from privet.learners.boosting.grouped_noise import plan_by_class, released_by_class
from privet.learners.boosting.rank_counts import FINE
from privet.learners.boosting.signed_columns import ClassSums, SignedColumns, column_groups
from privet.mechanisms.release import Release
from privet.privacy.events import Event, Parallel
from privet.privacy.terms import Share, Terms, times
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, IntArray, Table

STEEPNESS = 2.0  # of a numeric feature's line, since values are mostly nearer to each other than their public range
SLOPE = 3.0  # over the root of the features' number, since features are not independent
LEAST_SURE = 0.05  # the part of the slope that is taken however much of it seems to be noise
CLASSES_PART = Fraction(1, 2)  # of the budget, for how frequent the classes are


@dataclass(frozen=True)
class ClassMeansPlan:
    """The releases of a base of class means.

    Attributes
    ----------
    base : ClassMeansBase
        What is planned.
    classes : Event
        How many more records one class has than the other.
    sums : tuple of Event
        The sums of each class; none without columns.
    """

    base: ClassMeansBase
    classes: Event
    sums: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event | Parallel, ...]:
        """The classes' frequencies, then the sums of both classes, which see disjoint records."""
        return self.classes, *((Parallel(self.sums),) if self.sums else ())


@dataclass(frozen=True)
class ClassMeansBase:
    """Plans and runs a linear discriminant from class means, for two classes and pure epsilon.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records.

    Notes
    -----
    *Privacy.* How many more records one class has than the other changes by one for each record; a record that is
    replaced by one of the other class is two steps. A record adds its values to the sums of its class and changes no
    other's. The columns of a feature are a group of numbers, of which it moves one by at most one, up or down, in units
    of `FINE`: no group changes by more than `FINE` in L1. `plan_by_class` pays for that, and for records that are
    replaced and units of rows. The costs of both add up. All else is made of released values, public cells and a public
    guess.
    """

    n_rows: int

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> ClassMeansPlan:
        """Plan noise on the classes' frequencies and on the sums."""
        name, groups = "base: sums of columns", column_groups(encoding)
        if share is not None and share.epsilon is None:
            raise ParameterError("class means have pure noise: plan them with a share of epsilon")
        of_classes = times(share, CLASSES_PART if groups else Fraction(1))
        classes = terms.noise("base: classes", of_classes, l1=FINE, l2_squared=FINE**2, numbers=1, signed=True)
        if share is None or not groups:
            return ClassMeansPlan(self, classes, (terms.noise(name, None),) * 2 if groups else ())
        assert share.epsilon is not None
        left = share.epsilon * (1 - CLASSES_PART)
        return ClassMeansPlan(self, classes, plan_by_class(terms, name, left, groups, 2, norm=FINE))

    def run(
        self, table: Table, release: Release, plan: ClassMeansPlan, grid: CellGrid, start: BaseTables
    ) -> BaseTables:
        """Release both, and score columns by how far the class means lie apart."""
        columns = SignedColumns.of(grid, STEEPNESS)
        by_class = table.aggregate(ClassSums(columns))
        shares = self._shares(by_class[:, -1], release, plan.classes)
        base = replace(
            start,
            start=start.start + in_fixed_point(log_shares(shares)),
            n_records=float(self.n_rows),
            frequencies=held_frequencies(shares),
        )
        if not plan.sums:
            return base
        sums = released_by_class(np.ascontiguousarray(by_class[:, :-1]), release, plan.sums) / FINE
        deviations = np.array(plan.sums[0].deviations(columns.n_columns)) / FINE
        weights, centre, spread = self._discriminant(sums, deviations, shares, columns)
        value, slope = columns.value / FINE, SLOPE / math.sqrt(len(grid.domains.n_codes))
        return replace(
            base,
            start=base.start - in_fixed_point(np.array([slope * centre])),
            tables=in_fixed_point(slope * value * weights[columns.column])[:, np.newaxis],
            noise=slope * np.abs(value) * spread[columns.column],
        )

    def _shares(self, counts: IntArray, release: Release, planned: Event) -> Floats:
        """Release how many more records the second class has than the first, and return the classes' shares."""
        (more,) = release.noisy(np.diff(counts), planned) / (2 * FINE)
        sizes = self.n_rows / 2 + np.array([-more, more])
        return shares_of(sizes, (planned.deviation / (2 * FINE)) ** 2, self.n_rows)

    def _discriminant(
        self, sums: Floats, deviations: Floats, shares: Floats, columns: SignedColumns
    ) -> tuple[Floats, float, Floats]:
        """Return the columns' weights, what they give to a usual record, and the deviation that noise gives to each.

        Weights are how far the classes' means lie apart, over the variance of a column and of that difference's noise:
        where noise is all there is, little is left. The mean of a column is drawn to what a column without any
        signal has in the same way. Noise of a mean is in the difference as well, more of the rarer class's: what that
        adds to the product of both is taken away.
        """
        sizes, variance = self.n_rows * shares, deviations**2
        apart, mean = sums[1] / sizes[1] - sums[0] / sizes[0], sums.sum(axis=0) / self.n_rows
        noise, noise_of_mean = variance * (1 / sizes**2).sum(), 2 * variance / self.n_rows**2
        shrunk, believed = 1 / (columns.usual + noise), columns.usual / (columns.usual + noise_of_mean)
        sure = max(LEAST_SURE, 1 - math.fsum(noise / columns.usual) / max(math.fsum(apart**2 / columns.usual), 1e-18))
        centre = believed * mean + (1 - believed) * columns.middle
        in_both = believed * variance * (1 / sizes[1] - 1 / sizes[0]) / self.n_rows
        of_usual = math.fsum(shrunk * (apart * centre - in_both))
        # a feature without a column points behind the last one, where there is nothing
        weights, spread = (np.append(sure * shrunk * of, 0.0) for of in (apart, np.sqrt(noise)))
        return weights, sure * of_usual, spread

    def __str__(self) -> str:
        return "class means of a line of each numeric feature, and of all categories"
