"""How boosting spends its budget, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.gradients import ONE, Huber, Loss
from privet.privacy.events import Cost, Event
from privet.privacy.terms import Share, Terms

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]

USUAL_MEAN = 0.25  # how far a number's mean is from the middle of its range, in units of the range
SEES = "the records of each node; nodes of one level are disjoint"


@dataclass(frozen=True)
class Rounds:
    """What is known of the rounds before any of them.

    Attributes
    ----------
    share : Share or None
        What all rounds together may spend; None without privacy.
    n_trees : int
        The most rounds that the share is divided into at first. Without privacy, the number of rounds.
    depth : int
        Levels of splits of each tree.
    patience : float
        Where the leaves' sums are less than so many times their noise, the next rounds get twice as much.
    split_part : Fraction
        Of each round's budget; the rest is for the leaves.
    n_rows : int, optional
        A public guess at the number of records.
    records_per_deviation : int
        The noise of a leaf's sum is, to begin with, no more than one record in so many.
    margin : float
        How much of the leaves' sums is taken for noise; see `privet.learners.boosting.leaf_values`.
    """

    share: Share | None
    n_trees: int
    depth: int
    patience: float
    split_part: Fraction
    n_rows: int | None = None
    records_per_deviation: int = 20
    margin: float = 1.0

    def at_first(self, loss: Loss, terms: Terms, n_rows: float) -> int:
        """Return the number of rounds to plan for: so few that a round's leaves are not mostly noise.

        A sum's noise has deviation ``sqrt(b / (2 rho))`` or ``sqrt(2) b / epsilon`` for a round's leaves, with b the
        bound of the loss; it is to be at most ``n / records_per_deviation``.
        """
        if self.share is None:
            return self.n_trees
        part, bound, n = 1 - self.split_part, float(loss.bound), n_rows / (self.records_per_deviation * terms.steps)
        if self.share.epsilon is not None:
            most = n * float(self.share.epsilon * part) / (math.sqrt(2) * bound)
        else:
            assert self.share.rho is not None
            most = n**2 * 2 * float(self.share.rho * part) / bound
        return max(1, min(self.n_trees, int(most)))

    @property
    def cap(self) -> Cost:
        """The most that all rounds together can cost."""
        if self.share is None:
            return Cost.unbounded()
        if self.share.epsilon is not None:
            return Cost.pure(self.share.epsilon)
        return Cost(None, self.share.rho)

    def __str__(self) -> str:
        if self.share is None:
            return f"{self.n_trees} trees of depth {self.depth}"
        return f"at most {self.n_trees} trees of depth {self.depth}; fewer and surer ones where the noise asks for it"


@dataclass(frozen=True)
class Round:
    """The events of one round: one selection for each level, then the leaves."""

    splits: tuple[Event, ...]
    leaves: Event


class Annealing:
    """Rounds whose budgets adapt to released values, under a total that was fixed before.

    *Privacy.* The budget of a round depends on released values and public constants only, and rounds end before the
    total would be passed. The ledger's filter checks the latter once more.
    """

    def __init__(self, rounds: Rounds, loss: Loss, terms: Terms, n_rows: float) -> None:
        self._rounds, self._loss, self._terms = rounds, loss, terms
        self._left = Fraction(min(rounds.n_trees, 1))  # of the rounds' share
        self._next = Fraction(1, rounds.at_first(loss, terms, n_rows))
        self._number = 0

    def __iter__(self) -> Iterator[Round]:
        while self._left > 0:
            # a last round that could pay for next to nothing is joined with the one before it
            part = self._next if self._left >= self._next * Fraction(3, 2) else self._left
            self._left -= part
            self._number += 1
            yield self._events(part)

    def note(self, strength: float) -> None:
        """Take note of how strong the leaves of the last round were: their sums' squares over the noise's."""
        if strength < self._rounds.patience and self._rounds.share is not None:
            self._next *= 2

    def _events(self, part: Fraction) -> Round:
        rounds, loss, name = self._rounds, self._loss, f"round {self._number}: "
        share = None if rounds.share is None else rounds.share * part
        of_level, of_leaves = rounds.split_part / max(rounds.depth, 1), 1 - rounds.split_part
        for_splits, for_leaves = (None if share is None else share * part for part in (of_level, of_leaves))
        splits = tuple(
            self._terms.choice(
                f"{name}splits of level {level + 1}", for_splits, score_range=loss.score_range * ONE, sees=SEES
            )
            for level in range(rounds.depth)
        )
        leaves = self._terms.noise(
            f"{name}sums in the leaves",
            for_leaves,
            l1=loss.bound * ONE,
            l2_squared=loss.bound * ONE**2,
            signed=True,
            sees=SEES,
        )
        return Round(splits, leaves)


def count_of(sums: IntArray, loss: Loss) -> float:
    """Return about how many records there are, from the sums at the scores that `start_scores` gives for None."""
    k = loss.n_scores
    even = 0.5 if k == 1 else 1 / k
    curvature = float(sums[0, k:].mean()) / ONE
    if isinstance(loss, Huber):
        return max(2 * curvature, 1.0)  # every record has one half
    each = loss.curvature * max(even * (1 - even) * loss.at_even_scores, 1e-9)
    return max(curvature / each, 1.0)


def start_scores(sums: IntArray | None, loss: Loss, noise: float = 0.0) -> Floats:
    """Return the scores that all records start with, from the sums of gradients and curvatures at equal scores.

    The mean of a number is drawn towards the middle of its range, by how noisy it is.

    Parameters
    ----------
    sums : int64 array of shape (1, 2 n_scores), or None
        As released, for the scores that this function returns for None.
    loss : Loss
        Whose gradients were added up.
    noise : float
        The standard deviation of the noise in the sums.
    """
    k = loss.n_scores
    even = 0.5 if k == 1 else 1 / k
    if sums is None:
        return np.full(k, 0.5 if isinstance(loss, Huber) else 0.0)
    count = count_of(sums, loss)
    means = sums[0, :k] / ONE / count
    if isinstance(loss, Huber):
        weight = USUAL_MEAN**2 / (USUAL_MEAN**2 + (noise / ONE / count / loss.zoom) ** 2)
        return np.clip(0.5 - weight * means / loss.zoom, 0.0, 1.0)
    chances = np.clip(even - means / loss.at_even_scores, 0.02, 0.98)
    odds: Floats = np.log(chances / (1 - chances)) if k == 1 else np.log(chances) - np.log(chances).mean()
    return odds
