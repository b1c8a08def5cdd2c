"""All runs of a learner on one tiny data set: forced outcomes, each with its exact probability.

The audited code is the production code: `grow` asks its questions of a `privet.mechanisms.release.Release` whose
outcomes are forced, and `privet.privacy.laws` has the law of every answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import AuditError
from privet.estimators.learning import Hints, Learner
from privet.mechanisms.joint_exponential import scores_of_cuts
from privet.mechanisms.release import Coins, Outcomes, Release
from privet.parameters import public_rng
from privet.privacy import laws
from privet.privacy.events import Composition, Either, Event, Mechanism, Sequential, has_alternatives
from privet.privacy.ledger import Ledger
from privet.privacy.plan import Plan
from privet.privacy.terms import Allowance, Terms
from privet.schema.encoding import Encoding, RangeTarget
from privet.tables import Block, MemoryTable

if TYPE_CHECKING:
    from privet.schema.schema import Schema
    from privet.tables.protocol import IntArray

CodeRecord = tuple[int, ...]  # codes of the features, then the class
CodeDataSet = tuple[CodeRecord, ...]
Winners = tuple[int, ...]  # one winner for each row of a selection
Seen = tuple[tuple[str, Winners], ...]  # the forced outcomes that are released

MAX_PATHS = 20_000  # outcomes times coins for one data set
FEW_LEVELS = 4  # of a regression target, so that what is chosen among them can be enumerated


@dataclass(frozen=True)
class NoisyValues:
    """Additive noise on integers: what was measured, by which event."""

    event: Event
    values: IntArray


@dataclass(frozen=True)
class Path:
    """One run of `grow`: the outcomes that were forced, how probable they are, and what was left open at its end.

    Attributes
    ----------
    seen : tuple
        The forced outcomes that are released, each with its question's name; then all that is released as it is.
    log_probability : float
        Of the forced outcomes, secret coins included.
    laws : tuple of arrays
        The law of every visible selection that was asked for, forced or not.
    last : tuple or None
        Name and law of the last selection, if it was left open.
    noises : tuple of NoisyValues
        What additive noise was asked for.
    pure : bool
        Whether all that was charged has a pure epsilon.
    """

    seen: Seen
    log_probability: float
    laws: tuple[NDArray[np.float64], ...]
    last: tuple[str, NDArray[np.float64]] | None
    noises: tuple[NoisyValues, ...]
    pure: bool


@dataclass(frozen=True)
class ForcedParts(Coins):
    """Secret coins with a forced outcome."""

    parts: tuple[int, ...] = ()

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return the forced part of each record."""
        return np.array(self.parts, dtype=np.int32)[block.rows.astype(np.int64)]


class Enumerating:
    """Outcomes for one run: forced as far as they go, the first candidate of every row afterwards."""

    def __init__(self, forced: Sequence[Winners], n_records: int, answer: int = 0) -> None:
        self._forced = list(forced)
        self._n_records = n_records
        self._answer_to_noise = answer
        self.pure = False  # known at the end of the run
        self.questions: list[tuple[str, NDArray[np.float64], bool]] = []
        self.noises: list[NoisyValues] = []
        self.free: list[tuple[str, Winners]] = []

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Keep what was measured; the learner goes on with zeros, or with another number for all of them."""
        self.noises.append(NoisyValues(event, values.copy()))
        return np.full_like(values, self._answer_to_noise)

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Compute the law of each row's winner; force the outcome."""
        law = laws.permute_and_flip if event.mechanism is Mechanism.PERMUTE_AND_FLIP else laws.exponential_mechanism
        if event.mechanism is Mechanism.NOTHING:
            raise AuditError("a model without privacy (epsilon=None) has no law to audit; set epsilon")
        probabilities = np.array([law(row, event.parameter) for row in scores]).reshape(scores.shape)
        return np.array(self._answer(event.name, probabilities, hidden=False), dtype=np.int64)

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Compute the law of all sorted tuples of cuts; force the outcome."""
        if event.mechanism is Mechanism.NOTHING:
            raise AuditError("a model without privacy (epsilon=None) has no law to audit; set epsilon")
        tuples = list(combinations_with_replacement(range(below.size - 1), n_cuts))
        law = laws.exponential_mechanism(scores_of_cuts(below, tuples), event.parameter)
        (chosen,) = self._answer(event.name, law.reshape(1, -1), hidden=False)
        return np.array(tuples[chosen], dtype=np.int64)

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Keep what is released as it is: with probability one, so that any difference refutes."""
        self.free.append((event.name, tuple(values.ravel().tolist())))
        return values.copy()

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Force a part for each record."""
        probabilities = np.tile(np.array([float(w) for w in weights]), (self._n_records, 1))
        return ForcedParts(b"", weights, self._answer("coins", probabilities, hidden=True))

    def _answer(self, name: str, probabilities: NDArray[np.float64], *, hidden: bool) -> Winners:
        self.questions.append((name, probabilities, hidden))
        place = len(self.questions) - 1
        return self._forced[place] if place < len(self._forced) else (0,) * len(probabilities)


@dataclass(frozen=True)
class Subject:
    """What is audited: a learner on a tiny schema, with its claim.

    Attributes
    ----------
    learner, schema, allowance, seed, hints
        What is grown, on what, and what it may spend.
    levels : int or None
        Levels of a regression target; None for all that the schema has, which is sharper where nothing is chosen among
        them.
    answer : int
        What a learner goes on with in place of every noisy number. A large one leads to what is done for many records.
    """

    learner: Learner[Any]
    schema: Schema
    allowance: Allowance
    seed: int = 0
    hints: Hints = field(default_factory=Hints)
    levels: int | None = FEW_LEVELS
    answer: int = 0

    def paths(self, data: CodeDataSet) -> list[Path]:
        """Return all runs of `grow` on a data set, one for each combination of forced outcomes and coins."""
        found: list[Path] = []
        pending: list[tuple[Winners, ...]] = [()]
        while pending:
            forced = pending.pop()
            run = self._run(data, forced)
            free = run.questions[len(forced) :]
            if len(free) > 1 or (free and free[0][2]):
                pending.extend((*forced, outcome) for outcome in _outcomes(free[0][1]))
            else:
                found.append(_path(run, forced))
            if len(found) + len(pending) > MAX_PATHS:
                raise AuditError(
                    f"more than {MAX_PATHS} outcomes for one data set: audit fewer trees, less depth or fewer records"
                )
        return found

    def _run(self, data: CodeDataSet, forced: tuple[Winners, ...]) -> Enumerating:
        outcomes = Enumerating(forced, len(data), self.answer)
        outcomes.pure = self.run(data, outcomes)
        return outcomes

    def run(self, data: CodeDataSet, outcomes: Outcomes) -> bool:
        """Grow once on a data set; all answers come from `outcomes`. Say whether all charges have a pure epsilon."""
        encoding, terms, plan = self._public
        records = np.array(data, dtype=np.int64).reshape(len(data), encoding.n_features + 1)
        table = MemoryTable(
            encoding,
            np.ascontiguousarray(records[:, :-1].T.astype(encoding.dtype)),
            records[:, -1].astype(np.int32),
            unlabelled=terms.features_are_public,
        )
        ledger = Ledger(terms, self.allowance, fixed=plan.whole)
        self.learner.grow(table, Release(ledger, outcomes), public_rng(self.seed), plan)
        return _is_pure(ledger.composition)

    @cached_property
    def encoding(self) -> Encoding:
        """The schema's, with so many levels of a regression target as are asked for."""
        encoding = self.schema.encoding(self.learner.bins)
        if isinstance(encoding.target, RangeTarget) and self.levels is not None:
            return replace(encoding, target=replace(encoding.target, levels=self.levels))
        return encoding

    @property
    def decides(self) -> bool:
        """Whether the plan decides along the way between pure epsilon and a delta: what is claimed is both of them."""
        return has_alternatives(self._public[2].whole)

    @property
    def claimed_rho(self) -> Fraction | None:
        """What is claimed in zCDP: what is allowed, or what a plan costs that keeps the guarantee by its exact delta.

        The ledger of every run refuses a plan that costs more than is allowed and does not. None where nothing is
        claimed in zCDP.
        """
        if self.decides:
            return None
        allowed, planned = self.allowance.rho, self._public[2].whole.cost.rho
        return allowed if allowed is None or planned is None else max(allowed, planned)

    @cached_property
    def _public(self) -> tuple[Encoding, Terms, Plan]:
        encoding, terms = self.encoding, Terms.of(self.schema)
        return encoding, terms, self.learner.plan(encoding, terms, self.allowance.whole, self.hints)


def _path(run: Enumerating, forced: tuple[Winners, ...]) -> Path:
    log_probability, seen = 0.0, []
    for (name, probabilities, hidden), outcome in zip(run.questions, forced, strict=False):
        log_probability += sum(math.log(probabilities[row, winner]) for row, winner in enumerate(outcome))
        if not hidden:
            seen.append((name, outcome))
    last = run.questions[len(forced)][:2] if len(run.questions) > len(forced) else None
    visible = tuple(law for _, law, hidden in run.questions if not hidden)
    return Path((*seen, *run.free), log_probability, visible, last, tuple(run.noises), run.pure)


def _is_pure(part: Composition) -> bool:
    """Whether all that was charged has a pure epsilon; of alternatives, the one that was taken."""
    if isinstance(part, Sequential | Either):
        return all(map(_is_pure, part.parts))
    return part.cost.epsilon is not None


def _outcomes(probabilities: NDArray[np.float64]) -> Iterator[Winners]:
    """Yield every possible outcome of independent rows."""
    return product(*(np.flatnonzero(row > 0).tolist() for row in probabilities))
