"""A linear regression in several steps: products of columns once, sums with what is left of the target each time.

The matrix of products need not be good. A step with a poor one, or with a large penalty, leaves something, and the next
step sees what is left: its sums are taken anew, from the records, at the scores so far. So most of the budget can go to
sums, of which a record's residual is a factor, and residuals become small: after the first step they are cut off at
half the width, and the noise of all later steps is half as large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privet.learners.boosting.cells import BaseTables, CellGrid, in_fixed_point, with_gradients
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.gradients import ONE, Huber
from privet.learners.boosting.regression_base import (
    AdditiveBase,
    TargetMoments,
    cell_values,
    count_of_products,
    penalty_of,
)
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, Table


@dataclass(frozen=True)
class StepwisePlan:
    """The releases of a base in several steps."""

    base: StepwiseBase
    pairs: Event
    sums: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Products of columns, then those with the target, step by step."""
        return self.pairs, *self.sums


@dataclass(frozen=True)
class StepwiseBase:
    """Plans and runs a regression in several steps.

    Parameters
    ----------
    columns : AdditiveBase
        What the columns are, and how large a record's values in them can be.
    steps : int
        How many times sums with the target are released.
    pairs_part : Fraction
        Of the budget, for the products of columns; steps have equal parts of what is left.

    Notes
    -----
    *Privacy.* Each release is one of `AdditiveBase`, whose bounds hold for any scores and any width at which gradients
    are taken: a record's residual is at most one, in units of the width, and its values have a size of at most c. So a
    record changes the products of columns as stated there, and the sums of each step by c at most, or, for squares, c.
    Scores of a step are made of released values; the costs of all releases add up.
    """

    columns: AdditiveBase
    steps: int
    pairs_part: Fraction

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, levels: int = 0) -> StepwisePlan:
        """Plan noise on the products of columns, and on the sums of each step."""
        of_step = (1 - self.pairs_part) / self.steps
        for_pairs, for_step = (None if share is None else share * part for part in (self.pairs_part, of_step))
        sums = (
            self.columns.plan_sums(encoding, terms, for_step, f", step {number + 1}") for number in range(self.steps)
        )
        return StepwisePlan(self, self.columns.plan_pairs(encoding, terms, for_pairs, levels), tuple(sums))

    def run(
        self, table: Table, release: Release, plan: StepwisePlan, grid: CellGrid, start: BaseTables, loss: Huber
    ) -> BaseTables:
        """Release the products of columns, then step towards the target; residuals count up to half the width."""
        design, gram = self.columns.products(table, release, plan.pairs, grid)
        ridge, of_cells = _Ridge(gram, penalty_of(plan.pairs, len(gram))), cell_values(design)
        base, weights = replace(start, n_records=max(count_of_products(gram), 1.0)), np.zeros(len(gram))
        for event, part in zip(plan.sums, (loss, *[narrowed(loss)] * (self.steps - 1)), strict=True):
            here = with_gradients(table, base, grid, part)
            sums = release.noisy(here.aggregate(TargetMoments(design, "range")), event)[:, 0]
            weights = weights + ridge.solved(sums * part.part / (WEIGHT * ONE), event.deviation * part.part)
            base = replace(
                base,
                start=start.start + in_fixed_point(weights[-1:] * CONSTANT / WEIGHT),
                tables=in_fixed_point((of_cells @ weights)[:, np.newaxis]),
            )
        return replace(base, noise=ridge.noise_of(of_cells) / (WEIGHT * ONE))

    def fits(self, encoding: Encoding) -> bool:
        """Whether there are few enough columns for a base; known from the schema alone."""
        return self.columns.fits(encoding)

    def __str__(self) -> str:
        return f"{self.columns}, in {self.steps} steps"


def narrowed(loss: Huber) -> Huber:
    """Return the loss for scores that are near: residuals are cut off at half the width."""
    return replace(loss, width=loss.width // 2)


class _Ridge:
    """Solves for weights with a penalty, step by step, and keeps account of what the noise of each step has left.

    A step goes ``1 / (g + penalty)`` of the sums in the direction of each eigenvector, g being its eigenvalue, which
    noise can make negative and is held above zero. The next step sees what is left, ``penalty / (g + penalty)`` of all
    that was wrong before, and of the noise before as well.
    """

    def __init__(self, gram: Floats, penalty: float) -> None:
        eigenvalues, self._vectors = np.linalg.eigh(gram)
        self._step: Floats = 1 / (np.maximum(eigenvalues, 0.0) + penalty)
        self._left: Floats = penalty * self._step
        self._variance = np.zeros(len(gram))

    def solved(self, sums: Floats, deviation: float) -> Floats:
        """Return what a step adds to the weights, for sums whose noise has this deviation."""
        self._variance = self._left**2 * self._variance + (self._step * deviation) ** 2
        step: Floats = self._vectors @ (self._step * (self._vectors.T @ sums))
        return step

    def noise_of(self, of_cells: Floats) -> Floats:
        """Return the standard deviation that the noise of all steps gives to each cell's value."""
        noise: Floats = np.sqrt((of_cells @ self._vectors) ** 2 @ self._variance)
        return noise
