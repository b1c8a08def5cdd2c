"""From released counts to a classifier's figures, each with its interval. Post-processing: nothing here is private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from privet.evaluation.cells import SMALLEST_SHARE, Merged
from privet.evaluation.classes import ClassTallies
from privet.evaluation.intervals import (
    MANY,
    REACH,
    Interval,
    Ratio,
    difference_of_independent,
    mean_of_dependent,
    mean_of_independent,
    shared_reach,
    sum_of_independent,
)
from privet.evaluation.results import CalibrationPoint, ClassGroup
from privet.tables.protocol import Floats, IntArray

# Added to counts where a sampling error is guessed from them: no record seen is not "none can be". With 3, every
# share of a class holds at 96% and more without noise, however rare the class or the mistake; with 1 at 88%.
A_FEW_MORE = 3.0


@dataclass(frozen=True, eq=False)
class CellEstimate:
    """The best estimate of one class's counts in the fine cells, from the noisy fine and coarser counts.

    Attributes
    ----------
    counts : float array of shape (n_cells,)
        Unbiased; may be negative.
    noise : float array of shape (n_cells, n_cells)
        The covariance of the noise that is left in them.
    sampling : float array of shape (n_cells,)
        The variance of their sampling errors.

    Notes
    -----
    Sampling errors are taken as independent from cell to cell, with the count as their variance. All figures are ratios
    whose numerator minus truth times denominator has mean zero; for these that gives the same variance as a fixed
    number of records does.
    """

    counts: Floats
    noise: Floats
    sampling: Floats

    @cached_property
    def errors(self) -> Floats:
        """The covariance of all errors together."""
        return self.noise + np.diag(self.sampling)

    def sums(self, parts: Floats) -> CellEstimate:
        """Add up cells; the rows of `parts` say which, and no cell is in two rows."""
        return CellEstimate(parts @ self.counts, parts @ self.noise @ parts.T, parts @ self.sampling)

    @staticmethod
    def of_counts(counts: IntArray, variance: float, crowding: float) -> CellEstimate:
        """Take counts with independent noise of this variance as they are."""
        flat = counts.ravel().astype(np.float64)
        return CellEstimate(flat, np.diag(np.full(len(flat), variance)), (np.maximum(flat, 0) + A_FEW_MORE) * crowding)

    @staticmethod
    def joined(estimates: Sequence[CellEstimate]) -> CellEstimate:
        """Put independent estimates of different records one after the other."""
        return CellEstimate(
            np.concatenate([estimate.counts for estimate in estimates]),
            block_diag(*(estimate.noise for estimate in estimates)),
            np.concatenate([estimate.sampling for estimate in estimates]),
        )

    @staticmethod
    def combine(
        fine: IntArray, coarse: IntArray, starts: IntArray, variances: tuple[float, float], crowding: float
    ) -> CellEstimate:
        """Combine by least squares: a coarser count is the sum of its fine ones, each with its own noise.

        `crowding` multiplies the sampling variance where units have several rows.
        """
        of_fine, of_coarse = variances
        n = len(fine)
        counts, noise, sampling = fine.astype(np.float64), np.zeros((n, n)), np.zeros(n)
        for place, (start, stop) in enumerate(zip(starts, [*starts[1:], n], strict=True)):
            size, inside = stop - start, slice(start, stop)
            total = float(counts[inside].sum())
            weight = size * of_fine / (size * of_fine + of_coarse) if of_coarse else 1.0
            better = total + weight * (float(coarse[place]) - total)
            positive = np.maximum(counts[inside], 0.0)
            counts[inside] += (better - total) / size
            noise[inside, inside] = (of_coarse * weight / size - of_fine) / size
            shares = positive / positive.sum() if positive.any() else np.full(size, 1 / size)
            sampling[inside] = (max(better, 0.0) + A_FEW_MORE) * shares
        noise[np.diag_indices(n)] += of_fine
        return CellEstimate(counts, noise, sampling * crowding)


@dataclass(frozen=True, eq=False)
class ScoreFigures:
    """What the shares of one class say: `other` and `own` are the records of other classes and of the class."""

    cells: Merged
    other: CellEstimate
    own: CellEstimate

    @cached_property
    def both(self) -> CellEstimate:
        """Counts of `other`, then of `own`."""
        return CellEstimate.joined([self.other, self.own])

    def ratio(self, above: Floats, below: Floats) -> Ratio:
        """Return a ratio of weighted sums over `both`."""
        return Ratio.of(self.both.counts, self.both.errors, above, below)

    @cached_property
    def auc(self) -> Interval:
        """The probability that a record of the class has a larger share than one of another class; ties count half.

        Records of the same cell are tied only if the cell is a single share. Of other cells the lower end of the
        interval takes all pairs as wrong, and the upper end all as right. So the ends are apart by the share of such
        pairs, and need not reach as far beyond (`shared_reach`); that share is noisy itself, so it is taken one
        deviation lower.
        """
        unknown = np.where(self.cells.points, 0.0, 1.0)
        below = np.tri(self.cells.n_cells, k=-1) + np.diag((1.0 - unknown) / 2)  # own cells in rows, others in columns
        low, middle, high = (self._area(below + np.diag(unknown * guess)) for guess in (0.0, 0.5, 1.0))
        reach = MANY if unknown.any() else REACH  # without such pairs nothing else leaves room
        if unknown.any() and middle.below > 0:
            apart = self._area(np.diag(unknown)).interval(reach=1.0).low
            reach *= shared_reach(apart, max(low.deviation, high.deviation))
        return Interval(middle.interval().value, low.interval(reach=reach).low, high.interval(reach=reach).high)

    def _area(self, beats: Floats) -> Ratio:
        """Return weighted pairs over all pairs: both are products of two independent unbiased estimates.

        For independent x and y with errors X and Y, the product x'Wy has the variance x'WYW'x + y'W'XWy + tr(WYW'X).
        At noisy x and y each of the first two terms is too large by about the last one, which is therefore subtracted
        instead of added. Sampling is counted in full.
        """
        x, y = self.own, self.other
        below, above = beats @ y.counts, x.counts @ beats
        n_own, n_other = float(x.counts.sum()), float(y.counts.sum())
        over_own, over_other = x.errors @ below, y.errors @ above
        noise_own, noise_other = x.noise @ beats, beats @ y.errors
        return Ratio(
            float(below @ x.counts),
            n_own * n_other,
            float(below @ over_own + above @ over_other - (noise_own * noise_other).sum()),
            float(over_own.sum() * n_other + over_other.sum() * n_own - noise_own.sum(0) @ y.errors.sum(1)),
            float(x.errors.sum() * n_other**2 + y.errors.sum() * n_own**2 - x.noise.sum() * y.errors.sum()),
        )

    def loss(self, worse: float, others_count: bool) -> Ratio:
        """Return the sum of losses over the number of records, with shares between the better and worse cell ends."""
        lows, highs, zeros = self.cells.lows, self.cells.highs, np.zeros(self.cells.n_cells)
        own = _loss(highs) + worse * (_loss(lows) - _loss(highs))
        other = _loss(1 - lows) + worse * (_loss(1 - highs) - _loss(1 - lows))
        everyone = np.concatenate([zeros + others_count, zeros + 1])
        return self.ratio(np.concatenate([other, own]) * everyone, everyone)

    def calibration(self) -> tuple[CalibrationPoint, ...]:
        """For each coarser cell, the predicted share, and how many records really are of the class."""
        n, points = self.cells.n_cells, []
        lows, highs = self.cells.lows, self.cells.highs
        for start, stop in zip(self.cells.coarse, [*self.cells.coarse[1:], n], strict=True):
            here = np.zeros(n)
            here[start:stop] = 1.0
            empty = np.zeros(n)
            everyone = np.concatenate([here, here])
            found = self.ratio(np.concatenate([empty, here]), everyone)
            middles = here * (lows + highs) / 2
            mean = self.ratio(np.concatenate([middles, middles]), everyone).interval().value
            low, high = float(lows[start]), float(highs[stop - 1])
            share = self.ratio(everyone, np.ones(2 * n)).interval()
            points.append(CalibrationPoint(low, high, min(max(mean, low), high), found.interval(), share))
        return tuple(points)


class ClassFigures:
    """All figures of a classifier.

    Parameters
    ----------
    tallies : ClassTallies
        What was released.
    crowding : float
        The most rows of a unit: rows of the same unit may be alike, and then say no more than one.
    """

    def __init__(self, tallies: ClassTallies, crowding: float = 1.0) -> None:
        self.n_classes = tallies.layout.n_classes
        plan = tallies.plan
        variances = plan.fine.deviation**2, plan.coarse.deviation**2
        self.scores = [
            ScoreFigures(
                cells,
                *(CellEstimate.combine(fine[i], coarse[i], cells.coarse, variances, crowding) for i in (0, 1)),
            )
            for cells, fine, coarse in zip(tallies.merged, tallies.fine, tallies.coarse, strict=True)
        ]
        if tallies.outcomes is None:
            self.outcomes = self._outcomes_of_cells()
        else:
            self.outcomes = CellEstimate.of_counts(tallies.outcomes, plan.outcomes[0].deviation ** 2, crowding)
        self._groups = [
            CellEstimate.of_counts(group, plan.groups[0].deviation ** 2, crowding)
            for group in (() if tallies.groups is None else tallies.groups)
        ]

    def _outcomes_of_cells(self) -> CellEstimate:
        """Add up the cells to both sides of the decision: predicted as the first and as the second class."""
        (score,) = self.scores
        n = score.cells.n_cells
        sides = np.zeros((4, 2 * n))
        for truth in (0, 1):
            border = truth * n + score.cells.first_above
            sides[2 * truth, truth * n : border] = 1
            sides[2 * truth + 1, border : (truth + 1) * n] = 1
        return score.both.sums(sides)

    def records(self) -> Interval:
        """The number of records that took part: an interval for the noise alone."""
        total = max(float(self.outcomes.counts.sum()), 0.0)
        reach = REACH * float(np.sqrt(self.outcomes.noise.sum()))
        return Interval(total, max(total - reach, 0.0), total + reach)

    def accuracy(self) -> Interval:
        """The share of records that are predicted right."""
        return self._rate(self.outcomes, np.eye(self.n_classes), np.ones((self.n_classes, self.n_classes)))

    def recalls(self) -> tuple[Interval, ...]:
        """For each class, the share of its records that are predicted right."""
        found = []
        for label in range(self.n_classes):
            of_class, right = np.zeros((2, self.n_classes, self.n_classes))
            of_class[label] = 1
            right[label, label] = 1
            found.append(self._rate(self.outcomes, right, of_class))
        return tuple(found)

    def balanced_accuracy(self) -> Interval:
        """The mean of the recalls: their records are different ones, so that their errors are independent."""
        return mean_of_independent(self.recalls())

    def confusion(self) -> tuple[tuple[Interval, ...], ...]:
        """The share of all records that are of one class (row) and predicted as another (column)."""
        everyone = np.ones((self.n_classes, self.n_classes))
        rows = []
        for truth in range(self.n_classes):
            row = []
            for guess in range(self.n_classes):
                here = np.zeros_like(everyone)
                here[truth, guess] = 1
                row.append(self._rate(self.outcomes, here, everyone))
            rows.append(tuple(row))
        return tuple(rows)

    def auc(self) -> Interval:
        """The area under the curve; with more than two classes the mean of each class against the rest."""
        return mean_of_dependent([score.auc for score in self.scores])

    def log_loss(self) -> Interval:
        """The mean of minus the logarithm of the share of the true class, shares below 1/1000 taken as that.

        Only the cell of a share is known. The lower end of the interval takes every share at the better end of its
        cell, the upper end at the worse one.
        """
        worst = -float(np.log(SMALLEST_SHARE))
        # Of two classes the one score has all records. Of more, a record counts in the score of its own class.
        others_count = len(self.scores) == 1
        low, middle, high = (
            sum_of_independent([score.loss(worse, others_count) for score in self.scores]).interval(0.0, worst)
            for worse in (0.0, 0.5, 1.0)
        )
        return Interval(middle.value, low.low, high.high)

    def calibration(self) -> tuple[tuple[CalibrationPoint, ...], ...]:
        """The calibration of each score."""
        return tuple(score.calibration() for score in self.scores)

    def groups(self, names: tuple[str, ...]) -> tuple[ClassGroup, ...]:
        """The figures of each group, and how far they are from those of all other groups together."""
        if not names:
            return ()
        n, k = len(self._groups), self.n_classes**2
        everyone = CellEstimate.joined(self._groups)
        found = []
        for place, name in enumerate(names):
            inside = np.repeat(np.arange(n) == place, k).astype(np.float64)
            share = Ratio.of(everyone.counts, everyone.errors, inside, np.ones(n * k)).interval()
            others = np.tile(np.eye(k), n) * (1 - inside)
            rates, of_others = self._rates(self._groups[place]), self._rates(everyone.sums(others))
            gaps = {rate: difference_of_independent(rates[rate], of_others[rate]) for rate in rates}
            found.append(ClassGroup(name, share, rates, gaps))
        return tuple(found)

    def _rates(self, estimate: CellEstimate) -> dict[str, Interval]:
        k = self.n_classes
        rates = {"accuracy": self._rate(estimate, np.eye(k), np.ones((k, k)))}
        if k == 2:
            positive = np.array([[0.0, 1.0], [0.0, 1.0]])
            rates["predicted positive"] = self._rate(estimate, positive, np.ones((2, 2)))
            for name, truth in (("true positive rate", 1), ("false positive rate", 0)):
                of_class = np.zeros((2, 2))
                of_class[truth] = 1
                rates[name] = self._rate(estimate, positive * of_class, of_class)
        return rates

    @staticmethod
    def _rate(estimate: CellEstimate, above: Floats, below: Floats) -> Interval:
        return Ratio.of(estimate.counts, estimate.errors, above.ravel(), below.ravel()).interval()


def _loss(shares: Floats) -> Floats:
    losses: Floats = -np.log(np.clip(shares, SMALLEST_SHARE, 1.0))
    return losses
