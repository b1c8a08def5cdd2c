"""A regression by gradient descent, in columns that are turned so that no direction outweighs the others.

The products of columns are released first, for little, and columns are turned by them
(`privet.learners.boosting.turned_columns`). Then come some full passes, each of which releases one noisy sum of
gradients times turned columns; steps become shorter towards the end. A record's gradient counts for the less, the
further out the record is. In turned columns all directions are about as steep, so that few steps without momentum do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privet.errors import ParameterError
from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point, with_gradients
from privet.learners.boosting.class_shares import plan_classes
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.descent_base import CLASSES_PART, LEAST_RHO, at_class_shares, step_lengths
from privet.learners.boosting.gradients import ONE, Huber, Logistic, Softmax
from privet.learners.boosting.rank_counts import believed, refuse_pure
from privet.learners.boosting.regression_base import AdditiveBase, cell_values, count_of_products, penalty_of
from privet.learners.boosting.turned_columns import LENGTH, LIMIT_STATE, RecordLimits, Turn, TurnedSums
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms, times
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, Table

# Squared: where a usual record's gradient is cut off. Of a number in units of the width; no gradient of classes is
# longer than that.
NEAR, NEAR_TWO_CLASSES, NEAR_MANY_CLASSES = Fraction(81, 400), Fraction(1, 4), Fraction(1, 2)
LONGEST = 1.5  # of a step, where one would be all the way if the matrix and the curvature were right
# Of a usual record; of many classes it is one half where two of them are as likely, and steps must not overshoot there.
CURVATURE_TWO_CLASSES, CURVATURE_MANY_CLASSES = 0.2, 0.4
SHAKE = 0.4


@dataclass(frozen=True)
class WhitenedPlan:
    """The releases of a base in turned columns."""

    base: WhitenedBase
    classes: Event | None
    pairs: Event
    steps: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Counts of classes, where there are any; products of columns; then the sums of gradients, step by step."""
        return *(() if self.classes is None else (self.classes,)), self.pairs, *self.steps


@dataclass(frozen=True)
class WhitenedBase:
    """Plans and runs a regression by noisy gradient descent in turned columns, for numbers and classes, and zCDP.

    Parameters
    ----------
    n_rows : int
        A public guess at the number of records.
    steps : int
        How many times sums of gradients are released, at equal parts of what is left.
    pairs_part : Fraction
        Of the budget, for the products of columns.
    columns : AdditiveBase
        What the columns are, and how large a record's values in them can be where products are taken.
    shake : float
        How far noise may move a usual record's score, if no step pulled anything back; for numbers, in units of the
        width.

    Notes
    -----
    *Privacy.* The products of columns are those of `AdditiveBase`, with its proof, and counts of classes change by one
    in one place. The matrix M of whole numbers is made of released products. With v a record's whole-numbered values in
    all columns, not shortened, and a its gradient, whole numbers, the record adds ``M v a'`` in a step, where a' is a
    shortened so that ``|M v|^2 |a'|^2 <= F`` (`RecordLimits`, `TurnedSums`). So a record that is added or removed moves
    the sums by a squared L2 distance of at most F, whatever M, the scores and the width at which gradients are taken.
    One that replaces another moves them by the difference of two such vectors: at most four times that, which two
    records of the same features reach whose gradients are cut off on opposite sides. All columns of M may move. M,
    scores and the width of a step are made of values that were released before; how much noise there is, and F, are
    not. All costs add up.
    """

    n_rows: int
    steps: int
    pairs_part: Fraction
    columns: AdditiveBase = field(default_factory=AdditiveBase)
    shake: float = SHAKE

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> WhitenedPlan:
        """Plan noise on counts of classes and products of columns, and on the sums of each step."""
        refuse_pure(share)
        if not self.columns.fits(encoding):
            raise ParameterError("more columns than can be turned without overflow: plan another base for this schema")
        classes, left = None, Fraction(1)
        if encoding.n_classes:
            classes, left = plan_classes(terms, times(share, CLASSES_PART)), 1 - CLASSES_PART
        pairs = self.columns.plan_pairs(encoding, terms, times(share, self.pairs_part))
        moved, n_scores = self.columns.most_values(encoding), _n_scores(encoding.n_classes)
        name = "base: gradients" if encoding.n_classes else "base: residuals"
        first = terms.noise(
            f"{name}, step 1",
            times(share, (left - self.pairs_part) / self.steps),
            l2_squared=farthest(encoding.n_classes),
            signed=True,
            numbers=(self.columns.n_columns(encoding) + 1) * n_scores,
        )
        steps = (replace(first, name=f"{name}, step {number + 1}") for number in range(self.steps))
        return WhitenedPlan(self, classes, replace(pairs, numbers=moved * (moved + 1) // 2), tuple(steps))

    def run(
        self,
        table: Table,
        release: Release,
        plan: WhitenedPlan,
        grid: CellGrid,
        start: BaseTables,
        loss: Huber | Logistic | Softmax,
    ) -> BaseTables:
        """Release the products of columns, turn the columns by them, and step along noisy sums of gradients."""
        base, longest = start, LONGEST
        if plan.classes is not None:
            base = at_class_shares(table, release, plan.classes, self.n_rows, start)
            longest /= CURVATURE_TWO_CLASSES if loss.n_scores == 1 else CURVATURE_MANY_CLASSES
        design, gram = self.columns.products(table, release, plan.pairs, grid)
        n_records = believed(self.n_rows, count_of_products(gram), plan.pairs.deviation / CONSTANT**2)
        turn = Turn.of(gram, penalty_of(plan.pairs, len(gram)), n_records)
        limits = RecordLimits(design, turn.matrix, farthest(table.encoding.n_classes))
        table, sums_of = table.derive(LIMIT_STATE, limits), TurnedSums(design, turn.matrix, loss.n_scores)
        lengths, unit, of_cells = step_lengths(self.steps), turn.scale * WEIGHT * ONE, cell_values(design)
        shaken = math.sqrt(float((lengths**2).sum())) * plan.steps[0].deviation / unit
        rate = min(longest, self.shake / max(shaken * turn.usual, 1e-9)) * (
            loss.part if isinstance(loss, Huber) else 1.0
        )
        base, first = replace(base, n_records=n_records), base.start
        weights = np.zeros((len(gram), loss.n_scores))
        for event, length in zip(plan.steps, lengths, strict=True):
            sums = release.noisy(with_gradients(table, base, grid, loss).aggregate(sums_of), event)
            weights = weights - rate * length * (turn.back @ sums) / unit
            base = replace(
                base,
                start=first + in_fixed_point(weights[-1] * CONSTANT / WEIGHT),
                tables=in_fixed_point(of_cells @ weights),
            )
        of_noise: Floats = rate * shaken * np.sqrt(((of_cells @ turn.back) ** 2).sum(axis=1))
        return replace(base, noise=of_noise)

    def fits(self, encoding: Encoding, signal: float) -> bool:
        """Whether there are few enough columns, and ``n^2 rho`` is enough for noise that can be drawn; all public."""
        return self.columns.fits(encoding) and signal >= LEAST_RHO * self.n_rows**2

    def __str__(self) -> str:
        return f"{self.columns}, in turned columns, by {self.steps} steps of gradient descent"


def farthest(n_classes: int) -> int:
    """Return the largest squared length of a turned record times its gradient; zero classes are for numbers."""
    near = NEAR if not n_classes else NEAR_TWO_CLASSES if n_classes == 2 else NEAR_MANY_CLASSES
    return int(near * LENGTH**2 * ONE**2)


def _n_scores(n_classes: int) -> int:
    return n_classes if n_classes > 2 else 1
