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
from privet.learners.boosting.class_shares import ClassCounts, log_shares, shares_of
from privet.learners.boosting.rank_counts import FINE
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, Table

RARE = 0.25  # a class that fewer of the records have


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
    """How many more records one class has than the other, as planned.

    Attributes
    ----------
    base : FrequenciesBase
        What is planned.
    more : Event
        Its noise.
    n_records : float
        A number of records that is hardly too small.
    """

    base: FrequenciesBase
    more: Event
    n_records: float

    @property
    def events(self) -> tuple[Event]:
        """One number."""
        return (self.more,)

    def share(self, base: BaseTables) -> NoisyShare:
        """Return what is known of the second class's share when this was released, and begins a model."""
        assert base.frequencies is not None
        even, variance = self.n_records / 2, self.variance
        left = math.sqrt(variance * even**2 / (even**2 + variance))  # of what is drawn towards equal shares
        return NoisyShare(float(base.frequencies[1]), left / self.n_records)

    @property
    def variance(self) -> float:
        """Of the noise of a class's size."""
        return (self.more.deviation / (2 * FINE)) ** 2


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
    record that is replaced by one of the other class is two steps. The number of records that this is divided by is a
    public guess, or was bought before.
    """

    n_rows: int

    def plan(
        self, encoding: Encoding, terms: Terms, share: Share | None, rows_deviation: float = 0.0
    ) -> FrequenciesPlan:
        """Plan noise on how many more records one class has than the other.

        Of a number that was bought, take one deviation more. With too small a number shares and means are too far from
        their middle, so that one class is predicted throughout; too large a one does little harm.
        """
        more = terms.noise("base: classes", share, l1=FINE, l2_squared=FINE**2, numbers=1, signed=True)
        return FrequenciesPlan(self, more, self.n_rows + rows_deviation)

    def run(self, table: Table, release: Release, plan: FrequenciesPlan, start: BaseTables) -> BaseTables:
        """Release it, and begin with the classes' shares."""
        counts = table.aggregate(ClassCounts(2))
        (more,) = release.noisy(np.diff(counts), plan.more) / (2 * FINE)
        sizes = plan.n_records / 2 + np.array([-more, more])
        share = float(shares_of(sizes, plan.variance, plan.n_records)[1])
        return at_share(start, share, plan.n_records)

    def __str__(self) -> str:
        return "the classes' frequencies"
