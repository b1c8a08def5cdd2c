"""Evaluating a regressor: a few sums over records, each released with its own noise, and the figures made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.estimators.learning import Hints, NumberModel
from privet.evaluation.counting import N_GROUP_SUMS, N_SUMS, NumberSums, centre
from privet.evaluation.intervals import REACH, Interval, Ratio, difference_of_independent
from privet.evaluation.results import NumberGroup
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, RangeTarget
from privet.tables.protocol import Floats, IntArray, Table

# How the budget is divided among number of records, sum and squares of targets, squared and absolute errors; and how
# much groups get, where there are any, for the same number, errors and absolute errors.
RECORDS, TARGETS, SQUARED_TARGETS, SQUARED_ERRORS, ABSOLUTE_ERRORS = 2, 2, 3, 8, 5
GROUP_RECORDS, GROUP_ERRORS, GROUP_ABSOLUTE_ERRORS = 5, 8, 7
ONE_MORE = 1.0  # record, whose error is as large as can be, added where a sampling error is guessed


@dataclass(frozen=True)
class NumberPlan(InSequence):
    """The events of an evaluation: one for each sum; none for groups where there are no groups."""

    sums: tuple[Event, ...]
    groups: tuple[Event, ...]


@dataclass(frozen=True, eq=False)
class NumberTallies:
    """The released sums, over all records and over those of each group, in levels of the target."""

    sums: IntArray
    groups: IntArray
    plan: NumberPlan


@dataclass(frozen=True, eq=False)
class NumberEvaluator:
    """Adds up a regressor's errors. It has the form of a learner, so that the audits of learners can look at it.

    Parameters
    ----------
    model : NumberModel
        The public model.
    group_feature : int, optional
        The place of the categorical column whose groups are compared, among the table's columns.

    Notes
    -----
    *Privacy.* In levels from 0 to L - 1, a record adds 1, at most L / 2 either way, at most (L / 2) squared, at most
    (L - 1) squared and at most L - 1 to the five sums, and 1, at most L - 1 either way and at most L - 1 to those of
    its group. Each sum is an event of its own; they are charged in sequence.
    """

    model: NumberModel
    group_feature: int | None = None
    bins: int = 32  # of schemas that do not set them; audits read it

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> NumberPlan:
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

        return NumberPlan(tuple(part(*each) for each in sums), tuple(part(*each) for each in groups))

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: NumberPlan) -> NumberTallies:
        """Add up once, then release."""
        encoding = table.encoding
        n_groups = 0 if self.group_feature is None else int(encoding.n_codes[self.group_feature])
        kernel = NumberSums(self.model, _range_of(encoding), n_groups, self.group_feature)
        sums, groups = np.split(table.aggregate(kernel), [N_SUMS])
        groups = groups.reshape(n_groups, N_GROUP_SUMS)
        released = [release.noisy(sums[[place]], event)[0] for place, event in enumerate(plan.sums)]
        of_groups = [release.noisy(groups[:, place], event) for place, event in enumerate(plan.groups)]
        return NumberTallies(
            np.array(released, dtype=np.int64),
            np.stack(of_groups, axis=1) if of_groups else np.zeros((0, N_GROUP_SUMS), dtype=np.int64),
            plan,
        )


class NumberFigures:
    """All figures of a regressor, in the target's units.

    Sampling errors need fourth powers, which were not measured. Errors are at most the range, so with the range as the
    unit a fourth power is no larger than the square, and a square no larger than the absolute value; these take their
    place. Intervals are somewhat too wide where errors are small, never too narrow.
    """

    def __init__(self, tallies: NumberTallies, target: RangeTarget, crowding: float = 1.0) -> None:
        top = target.levels - 1
        units = np.array([1.0, top, top**2, top**2, top])
        self.n, self.sum, self.squares, self.errors, self.absolute = tallies.sums / units
        self.noise: Floats = np.array([event.deviation for event in tallies.plan.sums]) ** 2 / units**2
        group_units = np.array([1.0, top, top])
        self._groups = tallies.groups / group_units
        self._group_noise = np.array([event.deviation for event in tallies.plan.groups]) ** 2
        self._group_noise = self._group_noise / group_units[: len(self._group_noise)] ** 2
        self.target, self.crowding = target, crowding
        self._middle = centre(target) / top

    def records(self) -> Interval:
        """The number of records that took part: an interval for the noise alone."""
        reach = REACH * math.sqrt(self.noise[0])
        return Interval(max(self.n, 0.0), max(self.n - reach, 0.0), max(self.n, 0.0) + reach)

    def mean(self) -> Interval:
        """The mean of the target."""
        ratio = self._over_records(self.sum, self.noise[1], self._sampled(self.squares, 0.25))
        low, high = -self._middle, 1 - self._middle
        share = ratio.interval(low, high)
        return Interval(share.value - low, share.low - low, share.high - low).map(self.target.low, self.target.high)

    def deviation(self) -> Interval:
        """The standard deviation of the target."""
        spread, noise, sampling = self._spread()
        share = self._over_records(spread, noise, sampling).interval(0.0, 0.25)
        return self._root(share)

    def rmse(self) -> Interval:
        """The root of the mean squared error."""
        ratio = self._over_records(self.errors, self.noise[3], self._sampled(self.errors, 1.0))
        return self._root(ratio.interval())

    def mae(self) -> Interval:
        """The mean absolute error."""
        ratio = self._over_records(self.absolute, self.noise[4], self._sampled(self.errors, 1.0))
        return self._scaled(ratio.interval())

    def r_squared(self) -> Interval:
        """One minus the squared errors over the target's squared distances from its mean; -1 stands for anything less.

        A record that adds to the one sum adds to the other as well, which can only make their difference more certain;
        no use is made of that.
        """
        spread, noise, sampling = self._spread()
        ratio = Ratio(
            self.errors,
            spread,
            float(self.noise[3]) + self._sampled(self.errors, 1.0),
            0.0,
            noise + sampling,
        )
        lost = ratio.interval(0.0, 2.0)
        return Interval(1 - lost.value, 1 - lost.high, 1 - lost.low)

    def groups(self, names: tuple[str, ...]) -> tuple[NumberGroup, ...]:
        """The figures of each group, and how far they are from those of all other groups together."""
        found = []
        everyone = self._groups.sum(axis=0)
        for place, name in enumerate(names):
            here, others = self._groups[place], everyone - self._groups[place]
            n_others = len(names) - 1
            share = Ratio(
                here[0],
                everyone[0],
                self._group_noise[0] + self._sampled(here[0], 1.0),
                self._group_noise[0] + self._sampled(here[0], 1.0),
                self._group_noise[0] * len(names) + self._sampled(everyone[0], 1.0),
            ).interval()
            rates, of_others = self._rates(here, 1), self._rates(others, n_others)
            gaps = {rate: difference_of_independent(rates[rate], of_others[rate]) for rate in rates}
            found.append(NumberGroup(name, share, rates, gaps))
        return tuple(found)

    def _rates(self, sums: Floats, n_groups: int) -> dict[str, Interval]:
        n, error, absolute = (float(each) for each in sums)
        noises = self._group_noise * n_groups
        sampling = self._sampled(absolute, 1.0)
        signed = Ratio(error, n, float(noises[1]) + sampling, 0.0, float(noises[0])).interval(-1.0, 1.0)
        size = Ratio(absolute, n, float(noises[2]) + sampling, 0.0, float(noises[0])).interval()
        return {"mean error": self._scaled(signed), "mean absolute error": self._scaled(size)}

    def _spread(self) -> tuple[float, float, float]:
        """Return the sum of squared distances from the mean, the variance of its noise, and that of its sampling."""
        mean = min(max(self.sum / self.n, -0.5), 0.5) if self.n > 0 else 0.0
        spread = self.squares - mean * self.sum
        noise = float(self.noise[2] + 4 * mean**2 * self.noise[1] + mean**4 * self.noise[0])
        if self.n > 0:  # the square of the sum's noise, over the number of records
            noise += 2 * float(self.noise[1] / self.n) ** 2
        return spread, noise, self._sampled(spread, 1.0)

    def _sampled(self, total: float, most: float) -> float:
        """Return a bound of the sampling variance of a sum whose squares add up to no more than `total`."""
        return self.crowding * (max(total, 0.0) + ONE_MORE * most)

    def _over_records(self, total: float, noise: float, sampling: float) -> Ratio:
        return Ratio(total, self.n, float(noise) + sampling, 0.0, float(self.noise[0]))

    def _root(self, share: Interval) -> Interval:
        return self._scaled(Interval(*(math.sqrt(max(end, 0.0)) for end in (share.value, share.low, share.high))))

    def _scaled(self, share: Interval) -> Interval:
        return share.map(0.0, self.target.high - self.target.low)


def _range_of(encoding: Encoding) -> RangeTarget:
    assert isinstance(encoding.target, RangeTarget)
    return encoding.target
