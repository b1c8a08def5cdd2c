"""How frequent two classes are under pure epsilon: what most decisions hang on where signal is little.

It is asked by itself before class means (`privet.learners.boosting.class_means_base`), and before rounds whose place
class means take where one class turns out to be rare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privet.learners.boosting.cells import BaseTables, held_frequencies, in_fixed_point
from privet.learners.boosting.class_discriminant import NoisyShare
from privet.learners.boosting.class_shares import ClassCounts, log_shares, plan_classes, shares_of
from privet.learners.boosting.rank_counts import FINE
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, Table

RARE = 0.25  # a class that fewer of the records have
UNSURE = 2  # times as much noise in the number of records as in what tells classes apart: both classes are counted


def is_rare(frequencies: Floats | None) -> bool:
    """Whether a class is rare, by released frequencies.

    Then nearly all decisions are for the other one whatever is measured, and ranks are what can be gained.
    """
    return frequencies is not None and float(frequencies.min()) < RARE


def at_share(start: BaseTables, share: float, n_records: float) -> BaseTables:
    """Begin where all records have the log-odds of the second class's share."""
    shares = np.array([1 - share, share])
    frequencies = held_frequencies(shares)
    return replace(start, start=in_fixed_point(log_shares(shares)), n_records=n_records, frequencies=frequencies)


@dataclass(frozen=True)
class FrequenciesPlan:
    """How frequent the classes are, as planned.

    Attributes
    ----------
    base : FrequenciesBase
        What is planned.
    sizes : Event
        The noise of how many more records one class has than the other, or of how many each of them has.
    rows_deviation : float
        The deviation of the guess at the number of records; where it says too little, both classes are counted.
    is_counted : bool
        Whether they are.
    """

    base: FrequenciesBase
    sizes: Event
    rows_deviation: float = 0.0
    is_counted: bool = False

    @property
    def events(self) -> tuple[Event]:
        """One number, or two of which a record changes one."""
        return (self.sizes,)

    def share(self, base: BaseTables) -> NoisyShare:
        """Return what is known of the second class's share when this was released, and begins a model."""
        assert base.frequencies is not None
        even, variance = base.n_records / 2, self.variance
        left = math.sqrt(variance * even**2 / (even**2 + variance))  # of what is drawn towards equal shares
        return NoisyShare(float(base.frequencies[1]), left / base.n_records)

    @property
    def variance(self) -> float:
        """Of the noise of half of how many more records one class has."""
        return (self.sizes.deviation / FINE) ** 2 / (2 if self.is_counted else 4)

    def number_of(self, counted: float) -> float:
        """Return a number of records that is hardly too small, when so many were counted.

        That is the mean of guess and count by how sure either is, and the deviation of that. With too small a number
        shares and means are too far from their middle, and decide for one class; too large a one does less harm.
        """
        of_guess, of_count = self.rows_deviation**2, 2 * (self.sizes.deviation / FINE) ** 2
        both = (of_count * self.base.n_rows + of_guess * counted) / (of_guess + of_count)
        return max(both, 0.0) + math.sqrt(of_guess * of_count / (of_guess + of_count))


@dataclass(frozen=True)
class FrequenciesBase:
    """Plans and runs a common start at the shares of two classes.

    Parameters
    ----------
    n_rows : int
        A guess at the number of records.

    Notes
    -----
    *Privacy.* How many more records one class has than the other changes by one for each record, in units of `FINE`; a
    record that is replaced by one of the other class is two steps. Where the number of records was bought, and is known
    so badly that it would move the shares by more than this noise, both classes are counted instead: a record changes
    one count by one, for the same budget. What was bought before is all that this depends on.
    """

    n_rows: int

    def plan(
        self, encoding: Encoding, terms: Terms, share: Share | None, rows_deviation: float = 0.0
    ) -> FrequenciesPlan:
        """Plan noise on how many more records one class has than the other, or on how many each of them has."""
        more = terms.noise("base: classes", share, l1=FINE, l2_squared=FINE**2, numbers=1, signed=True)
        if share is None or rows_deviation <= UNSURE * more.deviation / FINE:
            return FrequenciesPlan(self, more, rows_deviation)
        return FrequenciesPlan(self, plan_classes(terms, share), rows_deviation, is_counted=True)

    def run(self, table: Table, release: Release, plan: FrequenciesPlan, start: BaseTables) -> BaseTables:
        """Release it, and begin with the classes' shares."""
        counts, n_records = table.aggregate(ClassCounts(2)), self.n_rows + plan.rows_deviation
        if plan.is_counted:
            sizes = release.noisy(counts, plan.sizes) / FINE
            n_records = plan.number_of(float(sizes.sum()))
            more = float(sizes[1] - sizes[0])
        else:
            (more,) = release.noisy(np.diff(counts), plan.sizes) / FINE
        halves = n_records / 2 + np.array([-more, more]) / 2
        return at_share(start, float(shares_of(halves, plan.variance, n_records)[1]), n_records)

    def __str__(self) -> str:
        return "the classes' frequencies"
