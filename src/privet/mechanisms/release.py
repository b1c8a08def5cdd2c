"""The only door out of the private side: charge the ledger, then draw, in one call.

A `Release` takes exact integers computed from private records, charges the ledger for an `Event` that was planned
before the data was seen, and gives back what may be published. Where the outcomes come from is a strategy:

- `Drawn`: the mechanisms' samplers on a source of randomness; production.
- `Noiseless`: the exact values, for ``epsilon=None``.
- `privet.mechanisms.replay` records outcomes, and plays them back.

The exact auditor has one more, which computes the law of each outcome instead of drawing it.

`Release.records` returns records as they are, and only where nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError, PrivetError
from privet.mechanisms import raw_records, samplers
from privet.mechanisms.joint_exponential import best_cuts
from privet.privacy.events import Composition, Either, Event, Filter, Mechanism, Mixture, Parallel, Sequential
from privet.privacy.ledger import SEEDED, STAND_IN, Ledger
from privet.randomness.hashing import siphash_parts
from privet.randomness.public import SeededSource
from privet.tables.features import FeatureView
from privet.tables.part import PartOf
from privet.tables.protocol import Block, IntArray, Kernel, Table


class Outcomes(Protocol):
    """Where the outcomes of mechanisms come from."""

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Return `values` with the event's noise."""
        ...

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Return the index of one candidate for each row of `scores`."""
        ...

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Return sorted cuts of a grid that has this many records at or below each cell."""
        ...

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Return `values`, which were computed from features that are public."""
        ...

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Return secret coins: a part for each record, with these probabilities."""
        ...


@dataclass(frozen=True)
class Coins:
    """One part for each record, by a hash of its row under a fresh secret key.

    *Privacy.* With a fresh, secret key the parts are independent of each other and of the data (SipHash-2-4 is taken to
    be a pseudo-random function). They are the same in every pass and every retry of one fit. The key is never stored
    with a model. The probabilities are the weights rounded to multiples of 2^-64, the same for every record.
    """

    key: bytes
    weights: tuple[Fraction, ...]

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return the part of each record of a block."""
        cumulative, edges = Fraction(0), []
        for weight in self.weights[:-1]:
            cumulative += weight
            edges.append(int(cumulative * 2**64))
        return siphash_parts(self.key, block.rows, np.array(edges, dtype=np.uint64))

    def __repr__(self) -> str:
        return f"Coins(<secret key>, {len(self.weights)} parts)"


class Release:
    """Charge, then draw.

    Parameters
    ----------
    ledger : Ledger
        What is charged. It raises an error, before anything is drawn, if it would be overspent.
    outcomes : Outcomes
        Where the outcomes come from.
    """

    def __init__(self, ledger: Ledger, outcomes: Outcomes) -> None:
        self.ledger = ledger
        self._outcomes = outcomes

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Release integers with additive discrete noise.

        *Privacy.* The caller proves that one record changes `values` by at most the event's sensitivity. Cube noise is
        for as many numbers as its groups have, in their order.
        """
        if event.groups is not None and np.size(values) != sum(event.groups):
            raise PrivetError(f"{event.name!r} was planned for {sum(event.groups)} numbers, not for {np.size(values)}")
        self.ledger.charge(event)
        return self._outcomes.noisy(np.ascontiguousarray(values, dtype=np.int64), event)

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Release one winner for each row of `scores` (rows, candidates); higher scores are better.

        *Privacy.* The caller proves that rows look at disjoint records, so that one charge covers them all, and that
        one record changes the scores of its row by amounts within an interval as long as the event's sensitivity.
        """
        self.ledger.charge(event)
        return self._outcomes.choose(np.ascontiguousarray(scores, dtype=np.int64), event)

    def choose_in_parts(self, parts: Iterable[IntArray], event: Event) -> Iterator[IntArray]:
        """Do the same for rows that come in parts, so that the scores of all of them are never held at once.

        The charge is made now, the draws of a part when it is asked for.

        *Privacy.* That of `choose`: the rows of all parts together look at disjoint records, and each is drawn by
        itself. How rows are divided into parts is public.
        """
        self.ledger.charge(event)
        return (self._outcomes.choose(np.ascontiguousarray(part, dtype=np.int64), event) for part in parts)

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Release sorted cuts that divide a feature's records evenly, all in one draw (`joint_exponential.py`).

        *Privacy.* The exponential mechanism over all sorted tuples of cuts; the event's range is that of
        `joint_exponential.cut_range`. `below` is the number of records at or below each cell of a public grid.
        """
        self.ledger.charge(event)
        return self._outcomes.cuts(np.ascontiguousarray(below, dtype=np.int64), n_cuts, event)

    def features(self, view: FeatureView, kernel: Kernel, event: Event) -> IntArray:
        """Release a sum over records that looks at their features alone, as it is.

        *Privacy.* Where only labels are private, all neighbours have the same records but for a label. The kernel runs
        on a view whose blocks have no labels and no state that was derived from them
        (`privet.tables.features.FeatureView`), so that it cannot tell neighbours apart: given all that was released
        before, its sum is a constant, and costs nothing.

        Raises
        ------
        ParameterError
            Under any other relation, or for units, or for an event that is not `Terms.free`; nothing leaves.
        """
        if not self.ledger.terms.features_are_public or event.mechanism is not Mechanism.FEATURES_ONLY:
            raise ParameterError(
                f"{event.name!r} would show features as they are, which is free under neighbours='label' without units "
                "alone: plan it with Terms.free there, and with noise elsewhere"
            )
        self.ledger.charge(event)
        return self._outcomes.features(view.aggregate(kernel), event)

    def records(self, table: Table, event: Event) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
        """Take the records out as they are: codes of shape (n_features, n_rows), and classes.

        *Privacy.* None. Therefore it is refused unless the ledger claims nothing in any case: for a model without
        privacy and an event without noise, or for an event that itself states why it proves nothing. Records are not
        an outcome of a mechanism. They are never recorded or forced, so any learner that looks at them fails the
        replay.

        Raises
        ------
        ParameterError
            If the fit has a budget to keep; nothing is charged, and no record leaves the table.
        """
        without_privacy = self.ledger.allowance is None and event.mechanism is Mechanism.NOTHING
        if not without_privacy and event.flaw is None:
            raise ParameterError(
                f"{event.name!r} takes out exact records and has no privacy: use it with epsilon=None only"
            )
        self.ledger.charge(event)
        return raw_records.take_out(table)

    def coins(self, table: Table, weights: Sequence[Fraction] | int, name: str = "part") -> Table:
        """Divide the records into parts by secret coins; `weights` may be a number of equal parts.

        Nothing is released, so nothing is charged. Mechanisms that see different parts may be charged in parallel.
        """
        if isinstance(weights, int):
            weights = [Fraction(1, weights)] * weights
        return table.derive(name, self._outcomes.coins(tuple(weights)))

    @contextmanager
    def mixture(self, table: Table, planned: Mixture, name: str = "part of a mixture") -> Iterator[tuple[Table, ...]]:
        """Divide the records by fresh secret coins, with the planned weights; charges inside compose as a mixture.

        Yields one view of the table for each part. The first event or branch charged inside must look at the first
        part, the second at the second, and so on; see `privet.privacy.events.Mixture`.

        *Privacy.* The coins are tossed here and nowhere else, so no two mixtures share them, and they are forgotten
        with the views. The caller uses each view for its own charges only.
        """
        divided = table.derive(name, self._outcomes.coins(planned.weights))
        with self.ledger.mixture(planned.weights):
            yield tuple(PartOf(divided, name, part) for part in range(len(planned.weights)))

    def filter(self, planned: Filter) -> AbstractContextManager[None]:
        """Charges inside may depend on released values; together they never exceed the planned cap."""
        return self.ledger.filter(planned.name, planned.cap)

    def fixed(self, planned: Composition) -> AbstractContextManager[None]:
        """Charges inside are those of a plan that is fixed, in its order; their exact delta may count."""
        return self.ledger.fixed(planned)

    def either(self, planned: Either) -> AbstractContextManager[None]:
        """Charges inside are one of several alternatives, decided by pure noise, that all keep what was planned."""
        return self.ledger.either(planned.name, planned.epsilon, planned.delta)

    def parallel(self, planned: Parallel) -> AbstractContextManager[None]:
        """Charges and branches inside see disjoint records: the largest counts, and stays within what was planned."""
        return self.ledger.parallel(planned.cost)

    def branch(self, planned: Sequential) -> AbstractContextManager[None]:
        """Charges inside look at the same part of a mixture or a parallel scope; their sum stays as planned."""
        return self.ledger.branch(planned.cost)


class Drawn:
    """Outcomes drawn by the exact samplers: production."""

    def __init__(self, source: samplers.Source) -> None:
        self._source = source

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Add discrete Laplace, cube or Gaussian noise."""
        if event.mechanism is Mechanism.LAPLACE:
            noise = samplers.discrete_laplace(event.parameter, values.size, self._source)
        elif event.groups is not None:
            noise = samplers.discrete_cube(event.parameter, event.groups, self._source)
        else:
            _expect(event, Mechanism.GAUSSIAN)
            noise = samplers.discrete_gaussian(event.parameter, values.size, self._source)
        return values + noise.reshape(values.shape)

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Draw by permute-and-flip or by the exponential mechanism."""
        if event.mechanism is Mechanism.PERMUTE_AND_FLIP:
            return samplers.permute_and_flip(scores, event.parameter, self._source)
        _expect(event, Mechanism.EXPONENTIAL)
        return samplers.exponential_mechanism(scores, event.parameter, self._source)

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Draw by the exponential mechanism over all sorted tuples."""
        _expect(event, Mechanism.EXPONENTIAL)
        return samplers.joint_cuts(below, n_cuts, event.parameter, self._source)

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Return the values."""
        return values

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Draw a fresh key."""
        return Coins(samplers.key(self._source), weights)


class Noiseless:
    """The exact values and the first of the best candidates, for models without privacy; coins stay random."""

    def __init__(self, source: samplers.Source) -> None:
        self._source = source

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Return the values."""
        _expect(event, Mechanism.NOTHING)
        return values

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Return the best candidate, the first among equals."""
        _expect(event, Mechanism.NOTHING)
        winners: IntArray = scores.argmax(axis=1).astype(np.int64)
        return winners

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Return the best cuts."""
        _expect(event, Mechanism.NOTHING)
        return np.array(best_cuts(below, n_cuts), dtype=np.int64)

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Return the values."""
        return values

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Draw a fresh key."""
        return Coins(samplers.key(self._source), weights)


def _expect(event: Event, mechanism: Mechanism) -> None:
    if event.mechanism is not mechanism:
        raise PrivetError(f"{event.name!r} was planned as {event.mechanism}, which cannot be drawn here")


# These belong to the context, not to the process: a test in one thread must not affect the claims of another.
_seed: ContextVar[int | None] = ContextVar("seed of the noise", default=None)
_stand_in: ContextVar[Outcomes | None] = ContextVar("stand-in for outcomes", default=None)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw noise from a seed inside the block; see `privet.testing.seeded_noise`."""
    before = _seed.set(seed)
    try:
        yield
    finally:
        _seed.reset(before)


@contextmanager
def outcomes_from(stand_in: Outcomes) -> Iterator[None]:
    """Let all fits inside the block take their outcomes from `stand_in`; their ledgers claim nothing."""
    before = _stand_in.set(stand_in)
    try:
        yield
    finally:
        _stand_in.reset(before)


class Randomness(NamedTuple):
    """Where the randomness of one fit comes from, and any reasons why that randomness proves nothing.

    A fit asks for both at once, so that its ledger describes the noise that it really has.
    """

    source: samplers.Source
    doubts: tuple[str, ...]
    stand_in: Outcomes | None


def noise_source() -> Randomness:
    """Return the noise for a fit that begins now: the operating system's entropy, unless a test replaced it."""
    seed, stand_in = _seed.get(), _stand_in.get()
    doubts = {SEEDED: seed is not None, STAND_IN: stand_in is not None}
    source = _source() if seed is None else SeededSource(seed)
    return Randomness(source, tuple(doubt for doubt, holds in doubts.items() if holds), stand_in)


def open_release(ledger: Ledger, noise: Randomness | None = None) -> Release:
    """Return the release of one fit on its noise, and note the noise's doubts in the ledger."""
    noise = noise_source() if noise is None else noise
    for doubt in noise.doubts:
        ledger.doubt(doubt)
    if noise.stand_in is not None:
        return Release(ledger, noise.stand_in)
    return Release(ledger, Noiseless(noise.source) if ledger.allowance is None else Drawn(noise.source))


def drawn() -> Drawn:
    """Return outcomes drawn by the samplers, on the operating system's entropy or on the seed of a test."""
    return Drawn(noise_source().source)


def secret_key() -> bytes:
    """Draw a fresh key for bounding the rows of a unit."""
    return samplers.key(noise_source().source)


def _source() -> samplers.Source:
    """Return the secret source of randomness. The library's own tests replace it by a repeatable stream."""
    return samplers.SystemSource()
