"""The law of a leaf's label by its margin: the best that epsilon allows, with room to abstain.

The *margin* of a leaf is the count of its most frequent class, the *top*, less the next largest count. One record
changes it by at most one, and makes another class the top only by way of margin zero. So a law that depends on top and
margin alone is epsilon-private if and only if neighbouring margins are: with ``p(m)`` the probability of the top at
margin m,

    p(0) = d,    p(m + 1) = min( e^epsilon p(m),  1 - e^-epsilon (1 - p(m)) )

is the largest that epsilon allows. What is left, ``1 - p(m)``, goes to the other outcomes in the proportions of margin
zero: ``d`` to each other class, ``1 - K d`` to *abstaining*. The smaller d, the more often an empty leaf abstains,
and the longer the climb to a sure label. ``d = 1 / (1 + e^epsilon)`` is the smallest d from which the error falls by
e^-epsilon with the first record already; for two classes it gives permute-and-flip's error, and abstention besides.
With more classes than ``1 + e^epsilon`` there is no room for abstaining, d = 1/K.

Permute-and-flip looks at all counts and is the better one where classes are many and epsilon is small, so that a leaf
with a few records of two classes can at least rule out the others. The margin law is used where one record makes its
class likelier than all others together, ``K <= 2 e^epsilon``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.privacy.events import Cost, Event, Mechanism
from privet.privacy.terms import Terms
from privet.tables.protocol import IntArray

STEP_BITS = 32
# Scores are logarithms rounded to multiples of 2^-32, and their sum of exponentials is one up to as much. Two rows of
# the table are four half steps and a few float errors (below 2^-40) apart at the most: 2^-30 covers that twice over.
_SLACK = Fraction(1, 2**30)
_LEAST_EPSILON = Fraction(1, 2**16)  # below it the slack would be felt, and abstaining would be worth nothing
_MOST_EPSILON = 30.0  # more would be spent on nothing: errors are below e^-30 by then
_MOST_MARGINS = 1 << 20
_SURE = 50.0  # beyond an error of e^-50 a larger margin makes no difference


@dataclass(frozen=True, eq=False)
class MarginLaw:
    """A public table: for each margin the integer scores of the top, of every other class, and of abstaining.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    scores : int64 array of shape (n_margins, 3)
        Logarithms of probabilities in units of 2^-32: top, another class, abstain. Larger margins count as the last
        one.
    abstains : bool
        Whether abstaining is one of the outcomes; if not, the last column means nothing.
    """

    n_classes: int
    scores: IntArray
    abstains: bool

    @staticmethod
    def applies(epsilon: Fraction, n_classes: int) -> bool:
        """Tell whether one record makes its class likelier than all others together; a public fact."""
        return (
            n_classes >= 2
            and epsilon >= _LEAST_EPSILON
            and n_classes <= 2 * math.exp(min(float(epsilon), _MOST_EPSILON))
        )

    @staticmethod
    def of(epsilon: Fraction, n_classes: int) -> MarginLaw:
        """Tabulate the law that spends `epsilon` for a change of the margin by one."""
        rate = min(float(epsilon - _SLACK), _MOST_EPSILON)
        silent = 1.0 - n_classes / (1.0 + math.exp(rate))
        abstains = silent > 0
        log_start = -math.log1p(math.exp(rate)) if abstains else -math.log(n_classes)
        log_top, log_rest = _climb(rate, log_start)
        # 1 - d, of which each other class has d and abstaining the remainder
        log_others = math.log(-math.expm1(log_start))
        columns = [
            log_top,
            log_rest + (log_start - log_others),
            log_rest + (math.log(silent) - log_others if abstains else 0.0),
        ]
        return MarginLaw(n_classes, np.rint(np.stack(columns, axis=1) * 2.0**STEP_BITS).astype(np.int64), abstains)


def _climb(rate: float, log_start: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log p(m) and log(1 - p(m)) for m = 0, 1, ...: first p grows by e^rate, then 1 - p shrinks by e^-rate."""
    log_switch = -math.log1p(math.exp(-rate)) - rate  # below 1 / (1 + e^rate) growing is the tighter bound
    growing = max(0, math.ceil((log_switch - log_start) / rate - 1e-9))
    n_margins = min(growing + 1 + math.ceil(_SURE / rate), _MOST_MARGINS)
    margin = np.arange(n_margins, dtype=np.float64)
    log_top = log_start + rate * np.minimum(margin, growing)
    log_rest = _log_of_the_rest(log_top) - rate * np.maximum(margin - growing, 0)
    # each logarithm from the smaller of the two, so that neither loses its digits
    return np.where(margin <= growing, log_top, _log_of_the_rest(log_rest)), log_rest


def _log_of_the_rest(log_probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 - p) for log p below zero."""
    rest: NDArray[np.float64] = np.log(-np.expm1(log_probability))
    return rest


def margin_event(terms: Terms, name: str, epsilon: Fraction, n_classes: int, sees: str) -> tuple[Event, MarginLaw]:
    """Plan labels by the margin law: the event, and the table of scores that it draws from.

    *Privacy.* One unit makes ``terms.steps`` steps, each of which changes the margin of one leaf by at most one. The
    law is made for ``epsilon / steps`` a step. It is drawn by the exponential mechanism on logarithms of probabilities
    that add up to one, so that the probabilities themselves, not only their ratios within a row, are those of the
    table.
    """
    law = MarginLaw.of(epsilon / terms.steps, n_classes)
    used = law.scores[:, : 3 if law.abstains else 2]
    score_range = int(np.ptp(np.diff(used, axis=0), axis=1).max())
    event = Event(
        name,
        Mechanism.EXPONENTIAL,
        Fraction(1, 2**STEP_BITS),
        Fraction(score_range),
        Cost.pure(epsilon),
        sees,
    )
    return event, law


@compiled
def _fill(counts: IntArray, by_margin: IntArray, out: IntArray) -> None:
    n_rows, n_classes = counts.shape
    last = by_margin.shape[0] - 1
    for row in range(n_rows):
        top, first, second = 0, counts[row, 0], np.int64(0)
        for k in range(1, n_classes):
            count = counts[row, k]
            if count > first:
                top, first, second = k, count, first
            elif count > second:
                second = count
        scores = by_margin[min(max(first - second, 0), last)]
        for k in range(n_classes):
            out[row, k] = scores[1]
        out[row, top] = scores[0]
        if out.shape[1] > n_classes:
            out[row, n_classes] = scores[2]


def margin_scores(counts: IntArray, by_margin: IntArray, *, abstains: bool) -> IntArray:
    """Score the outcomes of each leaf: its most frequent class, every other class, and abstaining.

    Parameters
    ----------
    counts : int64 array of shape (n_leaves, n_classes)
        Class counts, none negative.
    by_margin : int64 array of shape (n_margins, 3)
        The scores of the top, of another class and of abstaining, by how much the largest count exceeds the next;
        larger margins count as the last one. At margin zero the first two must be equal, since then no class is the
        top.
    abstains : bool
        Whether there is a last candidate, abstaining.

    Returns
    -------
    int64 array of shape (n_leaves, n_classes) or (n_leaves, n_classes + 1)
    """
    n_leaves, n_classes = counts.shape
    scores = np.zeros((n_leaves, n_classes + abstains), np.int64)
    _fill(np.ascontiguousarray(counts), by_margin, scores)
    return scores
