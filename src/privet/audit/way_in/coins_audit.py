"""Secret coins are fresh at each use, independent of one another and of the order of records; parts are disjoint."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privet.audit.report import Finding
from privet.audit.way_in.watching import finding, gathered
from privet.mechanisms.release import Coins, Release, drawn, open_release
from privet.mechanisms.replay import Recording
from privet.privacy.events import Mixture, Sequential
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.domains import Categorical
from privet.schema.schema import Schema
from privet.tables import Block, MemoryTable, Table
from privet.tables.protocol import IntArray

FALSE_ALARM = 1e-9  # the largest probability of a false alarm, in each check that counts draws
ROWS = 4_096
LAGS = range(1, 9)  # distances between records whose coins are compared
HALVES = (Fraction(1, 2), Fraction(1, 2))
UNEVEN = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
FLAW = "uses of secret coins share them, or coins are not random"


def is_unlikely(count: int, trials: int, probability: float, level: float) -> bool:
    """Whether a count of independent hits lies in the tails of its law, which together have probability `level`."""
    return bool(unlikely(np.array([count]), trials, np.array([probability]), level)[0])


def unlikely(counts: ArrayLike, trials: int, probabilities: ArrayLike, level: float) -> NDArray[np.bool_]:
    """Mark counts in the tails of their binomial laws; each side has half of `level`."""
    from scipy.stats import binom

    counts, probabilities = np.asarray(counts), np.asarray(probabilities)
    below = binom.cdf(counts, trials, probabilities)
    above = binom.sf(counts - 1, trials, probabilities)
    return np.asarray(np.minimum(below, above) < level / 2)


def fresh_release(outcomes: Any = None) -> Release:
    """Open a release as a fit does, with an allowance that no check of the audit uses up."""
    ledger = Ledger(Terms(), Allowance.of(10**6, 0.5))
    return open_release(ledger) if outcomes is None else Release(ledger, outcomes)


def coins_audit(releases: int) -> list[Finding]:
    """Toss coins several times in each of a few releases, and compare all uses with one another.

    Parameters
    ----------
    releases : int
        How many releases toss coins, each as for one fit.
    """
    table = _records()
    uses: list[IntArray] = []
    overlap = ""
    for _ in range(releases):
        release = fresh_release()
        uses.append(_parts(release.coins(table, HALVES)))
        uses.append(_parts(release.coins(table, 2)))
        for _ in range(2):
            parts, problem = _mixture(release, table, HALVES)
            uses.append(parts)
            overlap = overlap or problem or _mixture(release, table, UNEVEN)[1]
    fine = f"{len(uses)} uses, false alarms at most {FALSE_ALARM:g}"
    return [
        finding("coins: fresh keys", FLAW, _keys(releases), fine),
        finding("coins: independent", FLAW, _dependence(uses), fine),
        finding("coins: parts", "a record is in two parts of a mixture, or in none", overlap),
    ]


def _records() -> Table:
    encoding = Schema({"x": Categorical((0, 1))}, Categorical((0, 1))).encoding()
    bits = np.arange(ROWS) % 2
    return MemoryTable(encoding, bits.astype(encoding.dtype)[np.newaxis], bits.astype(np.int32))


def _parts(divided: Table) -> IntArray:
    """Read the part of each record off a table whose records have been divided."""
    found: list[IntArray] = []

    def look(block: Block) -> IntArray:
        (state,) = block.state.values()
        found.append(np.asarray(state, dtype=np.int64))
        return np.zeros(1, dtype=np.int64)

    divided.aggregate(look)
    return np.concatenate(found)


def _mixture_of(weights: tuple[Fraction, ...]) -> Mixture:
    """Return a mixture of parts in which nothing is spent."""
    return Mixture(weights, (Sequential(()),) * len(weights))


def _mixture(release: Release, table: Table, weights: tuple[Fraction, ...]) -> tuple[IntArray, str]:
    """Return the part in which each record has its label, and a problem if that is not exactly one part."""
    with release.mixture(table, _mixture_of(weights)) as views:
        seen = np.stack([gathered(view).records[:, -1] >= 0 for view in views])
    if not (seen.sum(axis=0) == 1).all():
        return seen.argmax(axis=0), f"of {ROWS:,} records {int((seen.sum(axis=0) != 1).sum()):,} are not in one part"
    return seen.argmax(axis=0), ""


def _keys(releases: int) -> str:
    """No two uses have the same key, within a fit or between fits."""
    table, keys = _records(), []
    for _ in range(releases):
        recording = Recording(drawn())
        release = fresh_release(recording)
        for _ in range(3):
            release.coins(table, HALVES)
            with release.mixture(table, _mixture_of(HALVES)):
                pass
        keys += [coins.key for _, coins in recording.transcript if isinstance(coins, Coins)]
    return "" if len(set(keys)) == len(keys) else f"{len(keys)} uses of coins have {len(set(keys))} keys"


def _dependence(uses: list[IntArray]) -> str:
    """Coins agree half of the time: between uses, between nearby records, and with a fixed half."""
    questions = list(_agreements(uses))
    for what, agreed, trials in questions:
        if is_unlikely(agreed, trials, 0.5, FALSE_ALARM / len(questions)):
            return f"{what} agree in {agreed:,} of {trials:,} cases, where half are expected"
    return ""


def _agreements(uses: list[IntArray]) -> Iterator[tuple[str, int, int]]:
    for a, b in combinations(uses, 2):
        yield "two uses of coins", int((a == b).sum()), ROWS
    for parts in uses:
        yield "coins and a fixed half", int((parts == 0).sum()), ROWS
        for lag in LAGS:
            yield f"records {lag} apart", int((parts[lag:] == parts[:-lag]).sum()), ROWS - lag
