"""A search for neighbours and answers with a large loss, where fixed pairs are too few and all pairs too many.

Hill climbing over small data sets: start from some copies of a few records, change them a little, and keep changes that
increase the loss. Each step grows two models and gives an exact loss, so a single step above the claim refutes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from privet.audit.enumeration import CodeDataSet, CodeRecord, Subject
from privet.audit.exact import ExactResult, Witness, cells_of, claim_of
from privet.audit.replay_loss import loss_along_a_run
from privet.parameters import public_rng
from privet.randomness.public import PublicRng

COPIES_OF_A_RECORD = (0, 1, 2, 3, 5, 8, 13, 21, 34)
MOST_RECORDS = 100
MOST_STEPS_WITHOUT_GAIN = 8  # before a new start
N_SWEPT = 24  # the search begins with 0, 1, 2, ... copies of one record, fewer than this many


@dataclass(frozen=True)
class State:
    """A pair: the records that both data sets share, the unit's records on either side, the seed of the answers."""

    common: CodeDataSet
    before: CodeDataSet
    after: CodeDataSet
    seed: int

    @property
    def pair(self) -> tuple[CodeDataSet, CodeDataSet]:
        """The two data sets. A run follows the answers of the first."""
        return (*self.common, *self.before), (*self.common, *self.after)


def search(subject: Subject, steps: int, seed: int = 0) -> ExactResult:
    """Search for the pair and the answers with the largest loss.

    Parameters
    ----------
    subject : Subject
        The learner on a schema with few cells, and its claim; a unit of several rows is added or removed as a whole.
    steps : int
        How many pairs to look at; each takes two growths.
    seed : int
        The search is the same for the same seed.

    Raises
    ------
    AuditError
        If the learner divides its records by secret coins, or the schema has too many cells.
    """
    climb = _Climb(subject, public_rng(seed))
    for _ in range(steps):
        climb.step()
        if climb.best_loss == math.inf:
            break
    witness = None if climb.best is None else Witness(*climb.best.pair, climb.where)
    return ExactResult(climb.best_loss, *claim_of(subject), witness, climb.looked_at)


class _Climb:
    """One search under way."""

    def __init__(self, subject: Subject, rng: PublicRng) -> None:
        self._subject, self._rng = subject, rng
        self._cells = cells_of(subject)
        self._rows = 1 if subject.schema.unit is None else subject.schema.unit.max_rows
        self._here: State | None = None
        self._loss, self._waited = 0.0, 0
        self.best: State | None = None
        self.best_loss, self.where, self.looked_at = 0.0, "", 0

    def step(self) -> None:
        """Look at one pair, and move there if its loss is at least that of the last one."""
        fresh = self._here is None or self._waited >= MOST_STEPS_WITHOUT_GAIN or self.looked_at <= N_SWEPT
        state = self._start() if fresh or self._here is None else self._near(self._here)
        loss, where = loss_along_a_run(self._subject, *state.pair, state.seed)
        self.looked_at += 1
        gained = fresh or loss > self._loss
        if fresh or loss >= self._loss:
            self._here, self._loss = state, loss
        self._waited = 0 if gained else self._waited + 1
        if loss > self.best_loss:
            self.best, self.best_loss, self.where = state, loss, where

    def _start(self) -> State:
        if self.looked_at < N_SWEPT:  # one more copy of one record each time, so that no threshold of a count is missed
            cell = self._cell()
            return self._with_unit(State((cell,) * self.looked_at, (), (), self._seed()), cell)
        kinds = int(self._rng.integers(1, 4))
        common = tuple(
            record
            for _ in range(kinds)
            for record in [self._cell()] * int(self._rng.choice(COPIES_OF_A_RECORD[: 10 - kinds]))
        )
        return self._with_unit(State(common, (), (), self._seed()))

    def _near(self, state: State) -> State:
        move = int(self._rng.integers(5))
        common = list(state.common)
        if move == 0 and common:
            common.pop(int(self._rng.integers(len(common))))
        elif move == 1:
            common += [self._cell()] * int(self._rng.choice((1, 1, 2, 4)))
        elif move == 2:
            common += [*state.after, *state.before]
        elif move == 3:
            return self._with_unit(state)
        else:
            return replace(state, seed=self._seed())
        return replace(state, common=tuple(common[-MOST_RECORDS:]))

    def _with_unit(self, state: State, row: CodeRecord | None = None) -> State:
        """Give the unit new rows, or copies of this one; they are added, removed, replaced or relabelled."""
        alike = row is not None or self._rng.random() < 0.7  # equal rows move one count as far as a unit can
        first = self._cell() if row is None else row
        after = [first] * self._rows if alike else [self._cell() for _ in range(self._rows)]
        relation = self._subject.schema.neighbours
        if relation == "add_remove":
            rows = tuple(after)
            return (
                replace(state, before=(), after=rows)
                if self._rng.random() < 0.5
                else replace(state, before=rows, after=())
            )
        other = self._cell() if alike else None
        before = tuple(self._other(row, other, relation) for row in after)
        return replace(state, before=before, after=tuple(after))

    def _other(self, row: CodeRecord, other: CodeRecord | None, relation: str) -> CodeRecord:
        candidate = self._cell() if other is None else other
        return candidate if relation == "replace" else (*row[:-1], candidate[-1])

    def _cell(self) -> CodeRecord:
        return self._cells[int(self._rng.integers(len(self._cells)))]

    def _seed(self) -> int:
        return int(self._rng.integers(2**31))
