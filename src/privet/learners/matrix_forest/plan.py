"""The plan of a matrix forest: one measurement or several, each with the events that its groups are charged as."""

from __future__ import annotations

from dataclasses import dataclass

from privet.learners.matrix_forest.designs import StrategyDesign
from privet.learners.matrix_forest.tuning import EnsembleShape
from privet.privacy.events import Sequential
from privet.privacy.plan import Plan


@dataclass(frozen=True, eq=False)
class MatrixForestPlan(Plan):
    """What is measured, and how noisy the votes will be.

    Attributes
    ----------
    shape : EnsembleShape
        The forest's shape.
    design : StrategyDesign
        The strategy; its ``chosen.measurements`` have the events.
    """

    shape: EnsembleShape
    design: StrategyDesign

    @property
    def whole(self) -> Sequential:
        """All groups of all measurements; their costs add up."""
        measurements = self.design.chosen.measurements
        return Sequential(tuple(event for measurement in measurements for event in measurement.events))

    @property
    def facts(self) -> dict[str, object]:
        """The shape, and the expected noise of every strategy that was looked at."""
        shape = self.shape
        said = f"n_ensembles={shape.n_ensembles}, subset_features={shape.subset_features}, depth={shape.depth}"
        return {"shape": f"Shape({said})", "design": self.design}
