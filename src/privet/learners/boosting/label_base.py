"""An additive base where only labels are private: a regression on principal components of which only labels are noised.

How records spread over pairs of cells, and the products of components, are functions of the features and cost nothing;
only the components' products with the target are noised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.cells import (
    LOG_ODDS_SLOPE,
    BaseTables,
    CellGrid,
    TargetKind,
    held_frequencies,
    in_fixed_point,
    kind_of_target,
)
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, Norm
from privet.learners.boosting.label_components import CAPS, Components, components_of, price_of
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.features import FeatureView
from privet.tables.protocol import Block, Floats, IntArray

TARGET_WEIGHT = 64  # what stands for one in a target of classes
MOST_CELLS = 1_200  # beyond this the components take long to find
MOST_CELLS_OF_NUMBERS = 960  # of all numeric features together,
FEWEST_CELLS, FINEST_CELLS = 4, 32  # of one of them
LARGEST_SLOPE = 5.0  # from a regression on a class of many to its score
SCALES = np.geomspace(0.03, 10.0, 13)  # of effects' variances, among which the released sums choose
_FINE = 10  # bits of the factor that shortens a record


@compiled
def _count_pairs(cells: NDArray[Any], offsets: IntArray, pairs: IntArray) -> None:
    last = pairs.shape[0] - 1
    for row in range(cells.shape[0]):
        for first in range(cells.shape[1]):
            of_first = pairs[offsets[first] + np.int64(cells[row, first])]
            of_first[last] += 1
            for second in range(first, cells.shape[1]):
                of_first[offsets[second] + np.int64(cells[row, second])] += 1
    pairs[last, last] += cells.shape[0]


@dataclass(frozen=True, eq=False)
class CellPairs:
    """Count the records in both of two cells, and in the last column those in one; each pair once."""

    offsets: IntArray

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts, a row and a column for each cell and one more."""
        pairs = np.zeros((int(self.offsets[-1]) + 1,) * 2, np.int64)
        _count_pairs(block.state[CELL_STATE], self.offsets, pairs)
        return pairs


def _values(block: Block, of: Components) -> tuple[IntArray, IntArray]:
    """Return each record's numbers, and the factor that they were shortened by, in units of 2^-10.

    With s the size of a record that is too large, the factor is ``f = floor(2^10 cap / s)``, for squares
    ``floor(sqrt(2^20 cap / s))``. Times f / 2^10, rounded towards zero, its numbers have a size of at most
    ``s f / 2^10``, or ``s f^2 / 2^20``, which is at most the cap. The root is of a whole number below 2^20, so it is
    exact when rounded down.
    """
    cells = np.asarray(block.state[CELL_STATE])
    values = np.repeat(of.table[-1:], cells.shape[0], axis=0)
    for feature in range(cells.shape[1]):
        values += of.table[int(of.offsets[feature]) + cells[:, feature].astype(np.int64)]
    size = (values**2 if of.norm == "l2" else np.abs(values)).sum(axis=1)
    large = np.maximum(size, of.cap)
    if of.norm == "l2":
        factor = np.sqrt(((of.cap << (2 * _FINE)) // large).astype(np.float64)).astype(np.int64)
    else:
        factor = (of.cap << _FINE) // large
    return np.sign(values) * ((np.abs(values) * factor[:, np.newaxis]) >> _FINE), factor


def _in_pieces(block: Block, rows: int = 1 << 14) -> list[Block]:
    """Divide a block, so that the numbers of all its records are never held at once."""
    n = block.target.size
    return [
        Block(
            block.codes[:, start : start + rows],
            block.target[start : start + rows],
            block.rows[start : start + rows],
            {name: values[start : start + rows] for name, values in block.state.items()},
        )
        for start in range(0, max(n, 1), rows)
    ]


@dataclass(frozen=True, eq=False)
class ComponentPairs:
    """Add up the products of every two components."""

    components: Components

    def __call__(self, block: Block) -> IntArray:
        """Return an int64 matrix of shape (n_components, n_components)."""
        total = np.zeros((self.components.n,) * 2, np.int64)
        for piece in _in_pieces(block):
            values, _ = _values(piece, self.components)
            # Whole numbers below 2^53 in every partial sum, so that doubles add them up exactly, in any order.
            total += (values.T.astype(np.float64) @ values.astype(np.float64)).astype(np.int64)
        return total


@dataclass(frozen=True, eq=False)
class ComponentTargets:
    """Add up the products of every component with the target.

    Parameters
    ----------
    components : Components
        Of public features.
    target : {"two", "many", "range"}
        *two*: plus TARGET_WEIGHT for the second class, minus for the first. *many*: TARGET_WEIGHT for the own class, in
        its column. *range*: how far a regression target is above the score, as the loss's gradient has it.
    n_targets : int
        Number of classes for *many*, else one.

    Notes
    -----
    *Privacy.* A record's numbers v are public, and their size is at most the cap. A label that is added or removed, the
    record staying what it is, changes the sums by v times the target: by at most the cap times the largest target, or,
    for squares, the cap times its square. Where a label changes from one of many classes to another, the two changes
    are in different columns, and their squares add up. A record without a known label adds nothing.
    """

    components: Components
    target: TargetKind
    n_targets: int = 1

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_components, n_targets)."""
        sums = np.zeros((self.components.n, self.n_targets), np.int64)
        for piece in _in_pieces(block):
            values, factor = _values(piece, self.components)
            targets = self._targets(piece)
            shortened = np.sign(targets) * ((np.abs(targets) * factor[:, np.newaxis]) >> _FINE)
            sums += values.T @ shortened
        return sums

    def _targets(self, block: Block) -> IntArray:
        if self.target == "range":
            return -np.asarray(block.state[GRADIENT_STATE], dtype=np.int64)
        own = block.target.astype(np.int64)[:, np.newaxis]
        if self.target == "two":
            return np.asarray(TARGET_WEIGHT * (own >= 0) * np.where(own == 1, 1, -1), dtype=np.int64)
        return np.asarray(TARGET_WEIGHT * (own == np.arange(self.n_targets)), dtype=np.int64)


@dataclass(frozen=True)
class LabelBasePlan:
    """The releases of the base: two that are free, and the components' products with the target."""

    base: LabelBase
    cells: Event
    components: Event
    sums: Event

    @property
    def events(self) -> tuple[Event, ...]:
        """In order."""
        return self.cells, self.components, self.sums


@dataclass(frozen=True)
class LabelBase:
    """Plans and runs the base.

    Parameters
    ----------
    norm : {"l1", "l2"}
        What a record's size is: l1 for pure epsilon, l2 for zCDP.

    Notes
    -----
    *Privacy.* The components, and their number, follow from features (`privet.learners.boosting.label_components`)
    and from the scale of the noise. A record's size in all of them together is held within a fixed cap, so one event is
    right for their sums with the target, whatever their number (`ComponentTargets`). Solving is post-processing.
    """

    norm: Norm

    @staticmethod
    def fits(encoding: Encoding) -> bool:
        """Whether there are few enough cells; known from the schema alone."""
        others = sum(column.n_codes for column in encoding.columns if not column.ordered)
        return others + sum(cells_of_each(encoding) + 1 for column in encoding.columns if column.ordered) <= MOST_CELLS

    def plan(self, encoding: Encoding, terms: Terms, share: Share) -> LabelBasePlan:
        """Spend everything on the sums with the target."""
        target, cap = kind_of_target(encoding), CAPS[self.norm]
        largest = one_in_target(target)
        return LabelBasePlan(
            self,
            terms.free("base: records in pairs of cells"),
            terms.free("base: products of components"),
            terms.noise(
                "base: products with the target",
                share,
                l1=cap * largest,
                l2_squared=cap * largest**2,
                signed=target != "many",
            ),
        )

    def run(
        self,
        view: FeatureView,
        release: Release,
        plan: LabelBasePlan,
        grid: CellGrid,
        start: BaseTables,
        part: float = 1.0,
    ) -> BaseTables:
        """Release what is free, then the sums, and solve; for a regression target, for what is added to `start`."""
        target, n_classes = kind_of_target(view.encoding), view.encoding.n_classes
        counted = release.features(view, CellPairs(grid.cells.offsets), plan.cells)
        pairs = np.triu(counted) + np.triu(counted, 1).T
        largest = one_in_target(target)
        components = components_of(grid, pairs, self.norm, price_of(plan.sums, largest, self.norm))
        products = release.features(view, ComponentPairs(components), plan.components) / components.unit**2
        kernel = ComponentTargets(components, target, n_classes if target == "many" else 1)
        unit = components.unit * largest
        sums = release.noisy(view.table.aggregate(kernel), plan.sums) / unit
        solved = _solving(products, sums, plan.sums.deviation / unit, components.variance)
        of_cells = components.table / components.unit
        effects, spread = of_cells @ (solved @ sums), np.sqrt(((of_cells @ solved) ** 2).sum(axis=1))
        if target == "many":
            effects = effects - effects.mean(axis=1, keepdims=True)
        slope = {"two": LOG_ODDS_SLOPE, "many": min(LOG_ODDS_SLOPE * n_classes / 2, LARGEST_SLOPE), "range": part}
        scale, n_records = slope[target], max(float(pairs[-1, -1]), 1.0)
        means = pairs[-1] @ effects / n_records
        return replace(
            start,
            start=in_fixed_point(scale * effects[-1]) + (start.start if target == "range" else 0),
            tables=in_fixed_point(scale * effects[:-1]),
            noise=scale * spread[:-1] * plan.sums.deviation / unit,
            n_records=n_records,
            frequencies=None if target == "range" else _frequencies(means),
        )

    def __str__(self) -> str:
        return "a regression on principal components of the features, of which only the labels are noised"


def one_in_target(target: TargetKind) -> int:
    """Return what stands for one in a target; gradients are at most one, in their steps."""
    return ONE if target == "range" else TARGET_WEIGHT


def cells_of_each(encoding: Encoding) -> int:
    """Return into how many cells each numeric feature is cut."""
    ordered = sum(column.ordered for column in encoding.columns)
    return max(FEWEST_CELLS, min(FINEST_CELLS, MOST_CELLS_OF_NUMBERS // max(ordered, 1)))


def _frequencies(means: Floats) -> Floats:
    """Return class frequencies from the mean of -1 and 1 of two classes, or from centred means of each of many."""
    return held_frequencies(np.array([1 - means[0], 1 + means[0]]) / 2 if means.size == 1 else means + 1 / means.size)


def _solving(products: Floats, sums: Floats, noise: float, variance: Floats) -> Floats:
    """Return the matrix that makes the best linear guess at coefficients of the sums.

    Coefficients c are taken to vary by t times `variance`, and to be independent. With g the products of the
    components and r the variance of the target's rest, sums ``g c`` then have the covariance
    ``t g V g + r g + noise^2``, and ``t V g`` times its inverse, times the sums, is the best guess. The t is that of a
    few under which the released sums are the most likely.
    """
    n, rest = len(products), 1.0 / max(sums.shape[1], 1)
    best, found = -np.inf, np.zeros_like(products)
    for scale in SCALES:
        prior = scale * variance
        covariance = (products * prior) @ products + rest * products + (noise**2 + 1e-6) * np.eye(n)
        factor = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(factor, sums)
        likelihood = -0.5 * float((whitened**2).sum()) - sums.shape[1] * float(np.log(np.diag(factor)).sum())
        if likelihood > best:
            inverse = np.linalg.solve(factor.T, np.linalg.solve(factor, np.eye(n)))
            best, found = likelihood, (prior[:, np.newaxis] * products) @ inverse
    return found
