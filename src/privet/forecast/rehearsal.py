"""Rehearsals of a fit on made-up records: what the noise costs there, for several strengths of the signal.

The learner's own plan and growth are run, on records that belong to nobody. Nothing is charged: budgets are asked for
by `fit` only, which is not called, and the ledgers of these runs are thrown away.

What noise costs depends mostly on the *signal*, which is the number of records times epsilon: a count of so many
records is off by about 1/epsilon. So one row of rehearsals, over the signal, serves every epsilon and every number of
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from privet.estimators.learning import Circumstances
from privet.forecast.synthetic import MadeUpRecords, Strength, World
from privet.mechanisms.release import noise_source, open_release, seeded
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.progress import Counter
from privet.schema.encoding import RangeTarget
from privet.schema.schema import Schema
from privet.tables.reading import MemoryTable

# A weak signal; clusters (for regression, a strong signal); a strong signal of pairs of features.
STRENGTHS = (Strength(2.0, 0.1), Strength(6.0, 0.1, apart=6.0), Strength(12.0, 0.5))
SIGNALS = tuple(float(10**power) for power in (1.0, 1.75, 2.5, 3.25, 4.0, 4.75, 5.5))
MOST_ROWS = 3_000  # of a rehearsal: for more records epsilon is scaled, so that the signal is the same
TEST_ROWS = 3_000
SEED = 0  # the same public facts give the same forecast


@dataclass(frozen=True)
class Rehearsals:
    """What was measured on made-up records.

    Attributes
    ----------
    signals : tuple of float
        Numbers of records times epsilon, from small to large.
    losses : array of shape (n_strengths, n_signals)
        What the noise costs, in points of accuracy or of R2 below the twin without privacy.
    twins : tuple of float
        What the twin reaches for each strength, in points.
    """

    signals: tuple[float, ...]
    losses: NDArray[np.float64]
    twins: tuple[float, ...]

    def at(self, signals: ArrayLike) -> NDArray[np.float64]:
        """Return the mean loss over all strengths at signals, between those that were rehearsed.

        It never grows with the signal: where measured losses do, that is the luck of few fits.
        """
        return np.interp(np.log10(signals), np.log10(self.signals), falling(self.losses.mean(axis=0)))


def rehearse(
    estimator: Any,
    schema: Schema,
    n_rows: int,
    shares: Sequence[float] | None = None,
    signals: Sequence[float] = SIGNALS,
) -> Rehearsals:
    """Fit an estimator on made-up records at every signal and strength, and its twin without privacy.

    *Privacy.* Nothing here sees a record of a person: inputs are the schema, the estimator's parameters, a public guess
    at the number of rows and, if given, public shares of the classes. The noise is drawn from a seed, since nobody has
    to be protected, so the same question gets the same answer.
    """
    rows = min(n_rows, MOST_ROWS)
    count = Counter("rehearsing on made-up records", len(STRENGTHS) * (len(signals) + 1))
    losses, twins = np.empty((len(STRENGTHS), len(signals))), []
    for number, strength in enumerate(STRENGTHS):
        stage = _Stage(estimator, schema, rows, strength, shares)
        twin = stage.score(None)
        count.add()
        twins.append(twin)
        for place, signal in enumerate(signals):
            losses[number, place] = twin - stage.score(signal / rows)
            count.add()
    return Rehearsals(tuple(signals), losses, tuple(twins))


class _Stage:
    """One made-up law with records to learn from and records to measure on."""

    def __init__(
        self, estimator: Any, schema: Schema, n_rows: int, strength: Strength, shares: Sequence[float] | None
    ) -> None:
        self._estimator, self._schema, self._n_rows = estimator, schema, n_rows
        rng = public_rng(SEED)
        with seeded(SEED):
            encoding = self._planned(None).encoding
        self._world = World(encoding, strength, rng, shares)
        self._train, self._test = self._world.draw(n_rows, rng), self._world.draw(TEST_ROWS, rng)

    def score(self, epsilon: float | None) -> float:
        """Return the accuracy or R2 of one fit, in points."""
        with seeded(SEED):  # what a fit draws from here claims nothing, and protects nobody
            noise = noise_source()
            learner, encoding, plan, stated = self._planned(epsilon)
            table = MemoryTable(encoding, self._codes(self._train, encoding), self._train.target)
            ledger = Ledger(stated.terms, stated.allowance, (), stated.cost, fixed=stated.composition)
            model = learner.grow(table, open_release(ledger, noise), public_rng(SEED), plan)
        codes, truth = self._codes(self._test, encoding), self._test.target
        if isinstance(encoding.target, RangeTarget):
            predicted, target = model.predictions(codes), encoding.target.decode(truth)
            return 100 * float(1 - ((target - predicted) ** 2).mean() / target.var())
        return 100 * float((np.nan_to_num(model.votes(codes)).argmax(axis=1) == truth).mean())

    def _codes(self, records: MadeUpRecords, encoding: Any) -> NDArray[Any]:
        return self._world.codes(records, encoding)

    def _planned(self, epsilon: float | None) -> Any:
        """Return the plan for an epsilon, as `fit` makes it."""
        twin = clone(self._estimator).set_params(epsilon=epsilon, schema=self._schema, n_rows_hint=self._n_rows)
        return twin._plan(twin._learner_for, self._schema, self._n_rows, Circumstances(noise_source()))


def falling(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest values that never rise from one to the next: neighbours that do are averaged."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        blocks.append((float(value), 1))
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [((a * m + b * n) / (m + n), m + n)]
    return np.concatenate([np.full(n, mean) for mean, n in blocks])
