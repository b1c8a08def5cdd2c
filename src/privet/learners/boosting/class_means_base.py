"""How frequent two classes are, then class means: a base for little pure signal, often all there is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.learners.boosting.cells import BaseTables, CellGrid
from privet.learners.boosting.class_means import ClassMeans, ClassMeansPlan
from privet.learners.boosting.frequencies_base import FrequenciesBase, FrequenciesPlan
from privet.mechanisms.release import Release
from privet.privacy.events import Event, Parallel
from privet.privacy.terms import Share, Terms, times
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Table


@dataclass(frozen=True)
class ClassMeansBasePlan:
    """The releases of both.

    Attributes
    ----------
    base : ClassMeansBase
        What is planned.
    frequencies : FrequenciesPlan
        How frequent the classes are.
    means : ClassMeansPlan
        The sums of each class.
    """

    base: ClassMeansBase
    frequencies: FrequenciesPlan
    means: ClassMeansPlan

    @property
    def events(self) -> tuple[Event | Parallel, ...]:
        """One after the other."""
        return *self.frequencies.events, *self.means.events


@dataclass(frozen=True)
class ClassMeansBase:
    """Plans and runs frequencies and class means, for two classes and pure epsilon.

    Parameters
    ----------
    n_rows : int
        A guess at the number of records.
    means : ClassMeans
        What comes after the frequencies.
    frequencies_part : Fraction
        Of the budget.

    Notes
    -----
    *Privacy.* The costs of both add up.
    """

    n_rows: int
    means: ClassMeans
    frequencies_part: Fraction

    def plan(
        self, encoding: Encoding, terms: Terms, share: Share | None, rows_deviation: float = 0.0
    ) -> ClassMeansBasePlan:
        """Divide a budget over both; without columns the frequencies have all of it."""
        means = self.means.plan(encoding, terms, times(share, 1 - self.frequencies_part))
        of_frequencies = times(share, self.frequencies_part if means.sizes else Fraction(1))
        frequencies = FrequenciesBase(self.n_rows).plan(encoding, terms, of_frequencies, rows_deviation)
        return ClassMeansBasePlan(self, frequencies, means)

    def run(
        self,
        table: Table,
        release: Release,
        plan: ClassMeansBasePlan,
        grid: CellGrid,
        start: BaseTables,
        rng: PublicRng,
    ) -> BaseTables:
        """Release both."""
        base = plan.frequencies.base.run(table, release, plan.frequencies, start)
        return self.means.run(table, release, plan.means, grid, base, plan.frequencies.share(base), rng)

    def __str__(self) -> str:
        return str(self.means)
