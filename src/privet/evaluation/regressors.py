"""Evaluating a regressor: a few sums over records, each released with its own noise, and the figures made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from privet.estimators.learning import Hints, RegressionModel
from privet.evaluation.counting import N_GROUP_SUMS, N_SUMS, RegressorSums, centre
from privet.evaluation.intervals import Interval, Ratio, difference_of_independent
from privet.evaluation.results import NumberGroup
from privet.mechanisms.release import Release
from privet.privacy.events import Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, RangeTarget
from privet.tables.protocol import Floats, IntArray, Table

# How the budget is divided among number of records, sum and squares of targets, squared and absolute errors; and how
# much groups get, where there are any, for the same number, errors and absolute errors.
RECORDS, TARGETS, SQUARED_TARGETS, SQUARED_ERRORS, ABSOLUTE_ERRORS = 2, 2, 3, 8, 5
GROUP_RECORDS, GROUP_ERRORS, GROUP_ABSOLUTE_ERRORS = 5, 8, 7
CONFIDENT = 0.97
REACH_OF_ONE_DRAW = -math.log(1 - CONFIDENT) / math.sqrt(2)  # in deviations, of a single Laplace draw
REACH_OF_NORMAL = NormalDist().inv_cdf((1 + CONFIDENT) / 2)


@dataclass(frozen=True)
class RegressorPlan(InSequence):
    """The events of an evaluation: one for each sum; none for groups where there are no groups."""

    sums: tuple[Event, ...]
    groups: tuple[Event, ...]


@dataclass(frozen=True, eq=False)
class RegressorTallies:
    """The released sums, over all records and over those of each group, in levels of the target."""

    sums: IntArray
    groups: IntArray
    plan: RegressorPlan


@dataclass(frozen=True, eq=False)
class RegressorEvaluator:
    """Adds up a regressor's errors. It has the form of a learner, so that the audits of learners can look at it.

    Parameters
    ----------
    model : RegressionModel
        The public model.
    group_feature : int, optional
        The place of the categorical column whose groups are compared, among the table's columns.

    Notes
    -----
    *Privacy.* In levels from 0 to L - 1, a record adds 1, at most L / 2 either way, at most (L / 2) squared, at most
    (L - 1) squared and at most L - 1 to the five sums, and 1, at most L - 1 either way and at most L - 1 to those of
    its group. Each sum is an event of its own; they are charged in sequence.
    """

    model: RegressionModel
    group_feature: int | None = None
    bins: int = 32  # of schemas that do not set them; audits read it

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> RegressorPlan:
        """Divide the budget; nothing but the number of levels matters."""
        target = _range_of(encoding)
        top, half = target.levels - 1, target.levels // 2
        sums = [
            ("number of records", RECORDS, 1, False),
            ("sum of the target", TARGETS, half, True),
            ("sum of the target's squares", SQUARED_TARGETS, half**2, False),
            ("sum of squared errors", SQUARED_ERRORS, top**2, False),
            ("sum of absolute errors", ABSOLUTE_ERRORS, top, False),
        ]
        groups = [
            ("number of records in each group", GROUP_RECORDS, 1, False),
            ("sum of errors in each group", GROUP_ERRORS, top, True),
            ("sum of absolute errors in each group", GROUP_ABSOLUTE_ERRORS, top, False),
        ] * (self.group_feature is not None)
        whole = sum(weight for _, weight, _, _ in [*sums, *groups])

        def part(name: str, weight: int, most: int, signed: bool) -> Event:
            given = None if share is None else share * Fraction(weight, whole)
            return terms.noise(name, given, l1=most, l2_squared=most**2, signed=signed)

        return RegressorPlan(tuple(part(*each) for each in sums), tuple(part(*each) for each in groups))

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: RegressorPlan) -> RegressorTallies:
        """Add up once, then release."""
        encoding = table.encoding
        n_groups = 0 if self.group_feature is None else int(encoding.n_codes[self.group_feature])
        kernel = RegressorSums(self.model, _range_of(encoding), n_groups, self.group_feature)
        sums, groups = np.split(table.aggregate(kernel), [N_SUMS])
        groups = groups.reshape(n_groups, N_GROUP_SUMS)
        released = [release.noisy(sums[[place]], event)[0] for place, event in enumerate(plan.sums)]
        of_groups = [release.noisy(groups[:, place], event) for place, event in enumerate(plan.groups)]
        return RegressorTallies(
            np.array(released, dtype=np.int64),
            np.stack(of_groups, axis=1) if of_groups else np.zeros((0, N_GROUP_SUMS), dtype=np.int64),
            plan,
        )


class RegressorFigures:
    """All figures of a regressor, in the target's units.

    Sampling errors need fourth powers of errors, which were not measured. With the range as the unit an error is at
    most one, so its fourth power is no larger than its square, and its square no larger than its absolute value. Of all
    laws within [0, 1] that have the mean r, none has a larger variance than r (1 - r), that of errors which are nothing
    or as large as can be. So intervals hold however heavy the tails are, and are too wide where errors are small.

    Most figures are made of a single noisy sum. Where its noise is all that matters and has Laplace's law, an interval
    of ln(1/p) / sqrt(2) deviations misses with the probability p, no more and no less. It reaches as far as 97% need,
    which leaves two points for what the bounds above are evaluated at: noisy means in place of true ones.
    """

    def __init__(self, tallies: RegressorTallies, target: RangeTarget, crowding: float = 1.0) -> None:
        top = target.levels - 1
        units = np.array([1.0, top, top**2, top**2, top])
        self.n, self.sum, self.squares, self.errors, self.absolute = (float(each) for each in tallies.sums / units)
        self.noise: Floats = np.array([event.deviation for event in tallies.plan.sums]) ** 2 / units**2
        group_units = np.array([1.0, top, top])
        self._groups = tallies.groups / group_units
        self._group_noise = np.array([event.deviation for event in tallies.plan.groups]) ** 2
        self._group_noise = self._group_noise / group_units[: len(self._group_noise)] ** 2
        self.target, self.crowding = target, crowding
        self._middle = centre(target) / top
        exponential = any(event.mechanism is Mechanism.LAPLACE for event in tallies.plan.sums)
        self._reach = REACH_OF_ONE_DRAW if exponential else REACH_OF_NORMAL

    def records(self) -> Interval:
        """The number of records that took part: an interval for the noise alone."""
        reach = self._reach * math.sqrt(self.noise[0])
        return Interval(max(self.n, 0.0), max(self.n - reach, 0.0), max(self.n, 0.0) + reach)

    def mean(self) -> Interval:
        """The mean of the target."""
        square = self._mean_of(self.squares, self.noise[2], most=0.25)
        ratio = self._spreading(self.sum, self.noise[1], square.high)
        low, high = -self._middle, 1 - self._middle
        share = ratio.interval(low, high, self._reach)
        return Interval(share.value - low, share.low - low, share.high - low).map(self.target.low, self.target.high)

    def deviation(self) -> Interval:
        """The standard deviation of the target."""
        return self._root(self._variance())

    def rmse(self) -> Interval:
        """The root of the mean squared error."""
        return self._root(self._mean_of(self.errors, self.noise[3]))

    def mae(self) -> Interval:
        """The mean absolute error: its variance is bounded in two ways, of which the better one counts."""
        by_itself = self._mean_of(self.absolute, self.noise[4])
        square = self._mean_of(self.errors, self.noise[3])
        by_squares = self._spreading(self.absolute, self.noise[4], square.high).interval(reach=self._reach)
        return self._scaled(min(by_itself, by_squares, key=lambda interval: interval.width))

    def r_squared(self) -> Interval:
        """One minus the squared errors over the target's squared distances from its mean; -1 stands for anything less.

        With q the true ratio and S the target's variance, a record's squared error minus q times its squared distance
        has mean zero and a variance of at most q S + q^2 S. A record that adds to the one sum adds to the other as
        well, which can only make their difference more certain; no use is made of that.
        """
        spread, noise = self._spread()
        noise_above = float(self.noise[3])
        sampling = self.crowding * max(self.n, 0.0) * self._variance().high
        guessed = self.crowding * max(self.errors, 0.0), self.crowding * max(spread, 0.0)
        lost = self._wider(
            Ratio(self.errors, spread, noise_above, -sampling / 2, noise + sampling),
            Ratio(self.errors, spread, noise_above + guessed[0], 0.0, noise + guessed[1]),
            highest=2.0,
        )
        return Interval(1 - lost.value, 1 - lost.high, 1 - lost.low)

    def groups(self, names: tuple[str, ...]) -> tuple[NumberGroup, ...]:
        """The figures of each group, and how far they are from those of all other groups together."""
        found = []
        everyone = self._groups.sum(axis=0)
        for place, name in enumerate(names):
            here, others = self._groups[place], everyone - self._groups[place]
            noise, sampled = float(self._group_noise[0]), self.crowding * max(float(everyone[0]), 0.0)
            share = Ratio(
                float(here[0]), float(everyone[0]), noise, noise - sampled / 2, noise * len(names) - sampled
            ).interval(reach=self._reach)
            rates, of_others = self._rates(here, 1), self._rates(others, len(names) - 1)
            gaps = {rate: difference_of_independent(rates[rate], of_others[rate]) for rate in rates}
            found.append(NumberGroup(name, share, rates, gaps))
        return tuple(found)

    def _rates(self, sums: Floats, n_groups: int) -> dict[str, Interval]:
        records, errors, absolute = (
            (float(total), float(noise) * n_groups) for total, noise in zip(sums, self._group_noise, strict=True)
        )
        size = self._mean_of(*absolute, records=records)
        signed = self._spreading(*errors, size.high, records).interval(-1.0, 1.0, self._reach)
        return {"mean error": self._scaled(signed), "mean absolute error": self._scaled(size)}

    def _variance(self) -> Interval:
        """The target's variance, in squares of the range."""
        return self._mean_of(*self._spread(), highest=0.25)

    def _spread(self) -> tuple[float, float]:
        """Return the sum of squared distances from the mean, and the variance of its noise."""
        mean = min(max(self.sum / self.n, -0.5), 0.5) if self.n > 0 else 0.0
        spread = self.squares - mean * self.sum
        noise = float(self.noise[2] + 4 * mean**2 * self.noise[1] + mean**4 * self.noise[0])
        if self.n > 0:  # the square of the sum's noise, over the number of records
            noise += 2 * float(self.noise[1] / self.n) ** 2
        return spread, noise

    def _mean_of(
        self,
        total: float,
        noise: float,
        records: tuple[float, float] | None = None,
        most: float = 1.0,
        highest: float | None = None,
    ) -> Interval:
        """Return the interval of the mean of what lies between 0 and `most`, and whose mean is at most `highest`.

        Where the mean is r, a sum over n records has a sampling variance of at most n r (most - r). The interval has
        all r that the sum is not too far from, with that variance (Wilson 1927; its upper end holds where hardly any
        record adds anything), and reaches at least as far as with the variance at the estimate (its lower end holds
        there).
        """
        n, noise_of_n = (self.n, float(self.noise[0])) if records is None else records
        sampled = self.crowding * max(n, 0.0)
        return self._wider(
            Ratio(total, n, float(noise), -sampled * most / 2, noise_of_n - sampled),
            Ratio(total, n, float(noise) + self.crowding * most * max(total, 0.0), 0.0, noise_of_n),
            highest=most if highest is None else highest,
        )

    def _wider(self, *ratios: Ratio, highest: float) -> Interval:
        """Return the interval that contains those of all ratios, which differ in their variances alone."""
        found = [ratio.interval(0.0, highest, self._reach) for ratio in ratios]
        return Interval(found[0].value, min(each.low for each in found), max(each.high for each in found))

    def _spreading(
        self, total: float, noise: float, square: float, records: tuple[float, float] | None = None
    ) -> Ratio:
        """Return the mean of what has mean squares of at most `square`; a mean r leaves a variance of square - r^2."""
        n, noise_of_n = (self.n, float(self.noise[0])) if records is None else records
        sampled = self.crowding * max(n, 0.0)
        return Ratio(total, n, float(noise) + sampled * square, 0.0, noise_of_n - sampled)

    def _root(self, share: Interval) -> Interval:
        return self._scaled(Interval(*(math.sqrt(max(end, 0.0)) for end in (share.value, share.low, share.high))))

    def _scaled(self, share: Interval) -> Interval:
        return share.map(0.0, self.target.high - self.target.low)


def _range_of(encoding: Encoding) -> RangeTarget:
    assert isinstance(encoding.target, RangeTarget)
    return encoding.target
