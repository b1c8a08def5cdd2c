"""The fits of a search: learners with their own encodings, planned from parts of one budget."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.estimators.counting import buys_count
from privet.estimators.learning import Hints, Learner, Model
from privet.estimators.objectives import DEFAULT_OBJECTIVE, Objective, class_weights
from privet.mechanisms.release import Release, noise_source, open_release, seeded
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.plan import Plan
from privet.privacy.terms import Allowance, Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import ClassTarget, Encoding
from privet.tables.protocol import Floats, Table
from privet.tables.reading import MemoryTable
from privet.tables.recoded import Recoded
from privet.tuning.scoring import Judged

STATE = "training or held out"


@dataclass(frozen=True, eq=False)
class Fit:
    """One learner, as it learns in a search and as it learns once it has won.

    Attributes
    ----------
    searched, final : Learner
        The same settings; rules that look at the number of records and at epsilon may differ.
    encoding : Encoding
        The learner's own, of the search's schema.
    """

    searched: Learner[Any]
    final: Learner[Any]
    encoding: Encoding

    def plan(self, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Plan the fit that is judged."""
        planned: Plan = self.searched.plan(self.encoding, terms, share, hints)
        return planned

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> Model:
        """Learn from a table in the search's encoding."""
        return self.searched.grow(Recoded.of(table, self.encoding), release, rng, plan)

    def of_nobody(self, terms: Terms, allowance: Allowance | None, hints: Hints) -> Model:
        """Learn from no records at all, with noise that protects nobody: a model of the kind that a fit will give."""
        plan = self.final.plan(self.encoding, terms, None if allowance is None else allowance.whole, hints)
        empty = np.zeros((self.encoding.n_features, 0), dtype=self.encoding.dtype)
        table = MemoryTable(self.encoding, empty, np.zeros(0, dtype=np.int32))
        with seeded(0):
            release = open_release(Ledger(terms, allowance, (), plan.whole.cost, fixed=plan.whole), noise_source())
            return self.final.grow(table, release, public_rng(0), plan)

    def grow_finally(
        self, table: Table, release: Release, rng: PublicRng, terms: Terms, share: Share | None, hints: Hints
    ) -> Model:
        """Plan and learn once more, from all records."""
        plan = self.final.plan(self.encoding, terms, share, hints)
        return self.final.grow(Recoded.of(table, self.encoding), release, rng, plan)


@dataclass(frozen=True, eq=False)
class Field:
    """All candidates: which fit each predicts with, and for which objective.

    Attributes
    ----------
    fits : tuple of Fit
        What is trained.
    candidates : tuple of (int, Objective)
        For each candidate its fit and its objective.
    bins : int
        The cells of the finest encoding, in which records are read; each fit sees them in its own.
    """

    fits: tuple[Fit, ...]
    candidates: tuple[tuple[int, Objective], ...]
    bins: int = field(kw_only=True)

    def uses_rows(self, share: Share) -> bool:
        """Whether one of them plans with the number of records."""
        return any(buys_count(fit.searched, fit.encoding, share) for fit in self.fits)

    def check_objectives(self, terms: Terms, allowance: Allowance | None, hints: Hints) -> None:
        """Raise `ParameterError` if a candidate's model could not serve its objective: before anything is charged.

        *Privacy.* No record is looked at. Which values a model has depends on its learner alone.
        """
        models: dict[int, Model] = {}
        for fit, objective in self.candidates:
            if isinstance(objective, Mapping) or objective == DEFAULT_OBJECTIVE:
                continue  # every model serves these
            encoding = self.fits[fit].encoding
            assert isinstance(encoding.target, ClassTarget)
            if fit not in models:  # in a fresh context, so that no stand-in for the search's own outcomes is asked
                models[fit] = Context().run(self.fits[fit].of_nobody, terms, allowance, hints)
            class_weights(objective, models[fit], encoding.target.classes)

    def judged(self, candidate: int, model: Model, table: Encoding) -> Judged:
        """Return a candidate as it predicts."""
        target = model.encoding.target
        weights = None
        if isinstance(target, ClassTarget):
            weights = class_weights(self.candidates[candidate][1], model, target.classes)
        return Judged.of(model, weights, table)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search gives back: the winner's model, and which candidate it is."""

    model: Model
    winner: int

    @property
    def encoding(self) -> Encoding:
        """How a frame becomes codes."""
        return self.model.encoding

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return the model's votes."""
        return self.model.votes(codes, n_jobs)


def part_of(hints: Hints, part: Fraction) -> Hints:
    """Return the hints for a part of the records."""
    n_rows = None if hints.n_rows is None else max(1, int(hints.n_rows * part))
    return replace(hints, n_rows=n_rows, rows_deviation=hints.rows_deviation * float(part))
