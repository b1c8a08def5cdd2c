"""The mean of some columns in each of two classes: what little pure signal can say of many features.

Where n epsilon is a few dozen, one choice of a split would have to spend all that there is, and says nothing of all
other features. Sums of columns say a little of each feature that is measured: where the means of the two classes lie
apart. Added up over columns that is a linear discriminant for features that are taken to be independent. It ranks
records better than a split or two do, and is right about as often.

Cube noise grows with the number of columns, so that only as many are measured as there is signal for
(`privet.learners.boosting.measured_features`). Where there is enough for each, the means of all records come first: a
steep line in the middle of the range is flat where all values are near one end, and lines are moved to where they are.
What is made of the sums is in `privet.learners.boosting.class_discriminant`. Sums of a class change only by its own
records, so that both classes have all of what is left of the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privet.errors import ParameterError
from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point
from privet.learners.boosting.class_discriminant import NoisyShare, ReleasedSums, discriminant
from privet.learners.boosting.frequencies_base import at_share
from privet.learners.boosting.grouped_noise import plan_by_class, plan_grouped, released_by_class
from privet.learners.boosting.measured_features import features_of_sizes, sizes_within
from privet.learners.boosting.rank_counts import FINE
from privet.learners.boosting.signed_columns import ClassSums, SignedColumns, column_groups, columns_of
from privet.mechanisms.release import Release
from privet.privacy.events import Event, Parallel
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Table

# Of a numeric feature's line, since values are mostly nearer to each other than their public range; more so around the
# means of all records.
STEEPNESS, STEEPNESS_AROUND_CENTRES = 2.0, 2.5
CENTRES_PART = Fraction(1, 4)  # of the budget, for these means where they come first
USUAL_DISTANCE = 0.4  # of a column's mean from where it would be if all values were as frequent
MOST_OF_A_FEATURE = 3.0  # of log-odds: a rare value that noise has made much of is not to decide alone
SLOPE = 3.0  # over the root of the number of features that are measured, since features are not independent


@dataclass(frozen=True)
class ClassMeansPlan:
    """The releases of class means.

    Attributes
    ----------
    means : ClassMeans
        What is planned.
    sizes : tuple of int
        How many columns the features have that are measured, one after the other.
    centres : Event or None
        The sums of all records, where these come first.
    sums : tuple of Event
        The sums of each class; none without columns.
    """

    means: ClassMeans
    sizes: tuple[int, ...]
    centres: Event | None
    sums: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event | Parallel, ...]:
        """The sums of all records, then of both classes, which see disjoint records."""
        of_all = () if self.centres is None else (self.centres,)
        return (*of_all, Parallel(self.sums)) if self.sums else ()


@dataclass(frozen=True)
class ClassMeans:
    """Plans and runs a linear discriminant from class means, for two classes and pure epsilon.

    Parameters
    ----------
    most_columns : int, optional
        How many columns the features have at most that are measured, a public random choice; default all.
    most_centred : int
        Where no more columns than that are measured, their means over all records come first.

    Notes
    -----
    *Privacy.* A record adds its values to the sums of its class and changes no other's. The columns of a feature are a
    group of numbers, all of which it moves by at most one together, up or down, in units of `FINE`: no group changes by
    more than `FINE` in L1. `plan_by_class` pays for that, and for records that are replaced and units of rows. Sums
    over all records, which say where lines are zero, are paid for in the same way; wherever that is, no value leaves
    its bounds. How many columns the features have that are measured is public, and which features they are is drawn
    from public randomness. All else is made of released values, public cells and a guess at the number of records.
    """

    most_columns: int | None = None
    most_centred: int = 0

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> ClassMeansPlan:
        """Plan noise on the sums."""
        name, sizes = "base: sums of columns", sizes_within(column_groups(encoding), self.most_columns)
        centred = 0 < sum(sizes) <= self.most_centred
        if share is None or not sizes:
            nothing = terms.noise(name, None)
            return ClassMeansPlan(self, sizes, nothing if centred else None, (nothing,) * 2 if sizes else ())
        if share.epsilon is None:
            raise ParameterError("class means have pure noise: plan them with a share of epsilon")
        left, centres = share.epsilon, None
        if centred:
            centres = plan_grouped(terms, f"{name}, all records", left * CENTRES_PART, sizes, norm=FINE)
            left *= 1 - CENTRES_PART
        return ClassMeansPlan(self, sizes, centres, plan_by_class(terms, name, left, sizes, 2, norm=FINE))

    def run(
        self,
        table: Table,
        release: Release,
        plan: ClassMeansPlan,
        grid: CellGrid,
        base: BaseTables,
        seen: NoisyShare,
        rng: PublicRng,
    ) -> BaseTables:
        """Release the sums, and add a score by how far the class means lie apart to a base that knows frequencies."""
        if not plan.sums:
            return base
        columns = self._columns(table, release, plan, grid, base.n_records, rng)
        sums = released_by_class(table.aggregate(ClassSums(columns)), release, plan.sums) / FINE
        deviations = np.array(plan.sums[0].deviations(columns.n_columns)) / FINE
        found = discriminant(ReleasedSums(sums, deviations, base.n_records, columns), seen)
        slope = SLOPE / math.sqrt(len(plan.sizes))
        scores = np.clip(slope * columns.score_of_cells(found.weights), -MOST_OF_A_FEATURE, MOST_OF_A_FEATURE)
        start = at_share(base, found.share, base.n_records)
        return replace(
            start,
            start=start.start - in_fixed_point(np.array([slope * found.centre])),
            tables=in_fixed_point(scores)[:, np.newaxis],
            noise=slope * columns.deviation_of_cells(found.spread),
        )

    def _columns(
        self, table: Table, release: Release, plan: ClassMeansPlan, grid: CellGrid, n_records: float, rng: PublicRng
    ) -> SignedColumns:
        """Return the columns of features of the planned sizes, which of them as public randomness has it."""
        of_features = columns_of(grid.domains)
        with_columns = [feature for feature, size in enumerate(of_features) if size]
        order = rng.permutation(len(with_columns))
        places = features_of_sizes(plan.sizes, [of_features[feature] for feature in with_columns], order)
        measured = [with_columns[place] for place in places]
        if plan.centres is None:
            return SignedColumns.of(grid, STEEPNESS, measured)
        columns = SignedColumns.of(grid, measured=measured)
        sums = release.noisy(table.aggregate(ClassSums(columns)).sum(axis=0), plan.centres) / FINE
        deviations = np.asarray(plan.centres.deviations(columns.n_columns)) / (FINE * n_records)
        believed = USUAL_DISTANCE**2 / (USUAL_DISTANCE**2 + deviations**2)
        means = columns.middle + believed * (np.clip(sums / n_records, -1, 1) - columns.middle)
        return SignedColumns.of(grid, STEEPNESS_AROUND_CENTRES, measured, means)

    def __str__(self) -> str:
        of = "all features" if self.most_columns is None else f"features of at most {self.most_columns} columns"
        return f"class means of {of}: a line of a numeric one, a column for each category but one"
