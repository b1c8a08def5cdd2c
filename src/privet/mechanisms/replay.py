"""Outcomes that are recorded, and played back whatever the data are.

Growing on a neighbouring data set with the outcomes of another must give the very same model: then the model is a
function of the released values alone. The tests and the auditor hold every learner to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privet.errors import PrivetError
from privet.mechanisms.release import Coins, Outcomes
from privet.privacy.events import Event
from privet.tables.protocol import IntArray


class Recording:
    """Another strategy whose outcomes are kept, to be forced on another data set later."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self.transcript: list[tuple[object, IntArray | Coins]] = []

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Pass on, and keep the outcome."""
        return self._keep(event, self._outcomes.noisy(values, event))

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Pass on, and keep the outcome."""
        return self._keep(event, self._outcomes.choose(scores, event))

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Pass on, and keep the outcome."""
        return self._keep(event, self._outcomes.cuts(below, n_cuts, event))

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Pass on, and keep the outcome."""
        return self._keep(event, self._outcomes.features(values, event))

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Pass on, and keep the coins."""
        coins = self._outcomes.coins(weights)
        self.transcript.append((weights, coins))
        return coins

    def _keep(self, event: Event, outcome: IntArray) -> IntArray:
        self.transcript.append((event, outcome.copy()))
        return outcome


class ReplayError(PrivetError):
    """A replay asked for something other than was recorded: its questions depended on more than the answers."""


class Forced:
    """A transcript played back, whatever the data are."""

    def __init__(self, transcript: Sequence[tuple[object, IntArray | Coins]]) -> None:
        self._rest = list(transcript)

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Return the recorded outcome."""
        return self._next(event, values.shape)

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Return the recorded winners."""
        return self._next(event, scores.shape[:1])

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Return the recorded cuts."""
        return self._next(event, (n_cuts,))

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Return the recorded values, which must be those of every neighbour."""
        recorded = self._next(event, values.shape)
        if not np.array_equal(recorded, values):
            raise ReplayError(f"{event.name!r} is free because it looks at features only, but a neighbour has another")
        return recorded

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Return the recorded coins."""
        question, coins = self._pop()
        if question != weights or not isinstance(coins, Coins):
            raise ReplayError("the replay divided records where the recording did not, or with other weights")
        return coins

    def finish(self) -> None:
        """Check that everything recorded was asked for."""
        if self._rest:
            raise ReplayError(f"the replay left {len(self._rest)} recorded outcomes unused")

    def _next(self, event: Event, shape: tuple[int, ...]) -> IntArray:
        question, outcome = self._pop()
        if question != event or not isinstance(outcome, np.ndarray) or outcome.shape != shape:
            raise ReplayError(f"the replay reached {event.name!r} where the recording had something else")
        return outcome.copy()

    def _pop(self) -> tuple[object, IntArray | Coins]:
        if not self._rest:
            raise ReplayError("the replay asked for more outcomes than were recorded")
        return self._rest.pop(0)
