"""The best of a random number of trials, for a price that does not grow with how many there were.

A *trial* looks at the records, gives a result and a score, and is epsilon_1-private, both together. It is repeated a
random number of times, and only the result with the best score comes out. Nobody learns how many trials there were, nor
what the others gave.

References
----------
Liu, J., and Talwar, K. (2019). Private selection from private candidates. STOC.
Papernot, N., and Steinke, T. (2022). Hyperparameter tuning with Renyi differential privacy. ICLR.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeVar

import numpy as np

from privet.mechanisms.release import Release
from privet.privacy.events import Cost, Event, Filter, Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance
from privet.progress import silence

T = TypeVar("T")
StoppingLaw = Literal["geometric", "logarithmic"]

PRICES: dict[StoppingLaw, int] = {"geometric": 3, "logarithmic": 2}  # of all trials, in prices of one


@dataclass(frozen=True)
class RandomStopping:
    """How many trials there may be, and what all of them cost.

    Parameters
    ----------
    law : {"geometric", "logarithmic"}
        With ``g = 1 / tickets``, there are k = 1, 2, ... trials with a probability proportional to ``(1 - g)^k``, or to
        ``(1 - g)^k / k``.
    tickets : int
        At least two.
    trial : Fraction
        The epsilon of one trial.

    Notes
    -----
    *Privacy.* All trials together cost 3 epsilon_1 (geometric) or 2 epsilon_1 (logarithmic). Results are countably
    many. Order them by score; between equal scores the first trial wins, which, as trials are independent and alike, is
    the same as giving each of them a fresh random number that decides. So the order may be taken to be total. For a
    result y write q(y), q(<y) and q(>y) for the probabilities that a single trial gives y, something before it, or
    something after it. With f(x) the mean of x^k, the best of all trials is y with probability ::

        f(q(<y) + q(y)) - f(q(<y)) = q(y) * mean over u in [0, 1] of f'(q(<y) + u q(y)).

    For both laws ``f'(x) = C (1 - (1 - g) x)^-m``, with m = 2 for the geometric law, whose f is
    ``g x / (1 - (1 - g) x)``, and m = 1 for the logarithmic one, whose f is ``log(1 - (1 - g) x) / log(g)``. Now
    ``1 - (1 - g) x = g + (1 - g) (1 - x)``, and for x = q(<y) + u q(y) the last factor is
    ``1 - x = q(>y) + (1 - u) q(y)``, a sum of probabilities of a trial with weights that are not negative. A neighbour
    changes each of them by a factor within e^(+-epsilon_1). So it changes ``1 - (1 - g) x`` by a factor within that,
    for every u, and f' by one within e^(+-m epsilon_1). With the factor q(y) in front that is e^(+-(m + 1) epsilon_1).

    The number of trials has no bound; to cut it off would take another proof. How long a search takes does tell how
    many trials there were: hiding that is out of scope, as everywhere in this library.

    Only pure epsilon: for Gaussian noise the bounds are of Renyi's divergences, order by order, and none of them is
    zero-concentrated privacy, in which everything else is counted here.
    """

    law: StoppingLaw
    tickets: int
    trial: Fraction

    @property
    def filter(self) -> Filter:
        """What is charged: the price of all trials, whatever their number. They are not listed."""
        return Filter("the best of a random number of trials", Cost.pure(PRICES[self.law] * self.trial))

    @property
    def mean(self) -> float:
        """How many trials there are on average.

        Examples
        --------
        >>> RandomStopping("geometric", 9, Fraction(1)).mean
        9.0
        >>> round(RandomStopping("logarithmic", 9, Fraction(1)).mean, 2)
        3.64
        """
        return float(self.tickets) if self.law == "geometric" else (self.tickets - 1) / math.log(self.tickets)


def best_of_trials(
    release: Release, planned: RandomStopping, n_candidates: int, trial: Callable[[Release, int], tuple[int, T]]
) -> T:
    """Run trials of random candidates, a random number of times, and return the result with the best score.

    *Privacy.* As `RandomStopping` has it. The caller proves that a trial, given its candidate and nothing but what it
    is handed, is private as planned, score and result together, and that trials share no randomness that is secret.
    What a trial spends is held by a ledger of its own, which nobody sees: it would tell the number of trials.

    Parameters
    ----------
    release : Release
        What is charged, once for all trials.
    planned : RandomStopping
        The law and the price.
    n_candidates : int
        From how many candidates each trial takes one, all equally likely.
    trial : callable
        From a release, which allows for one trial, and a candidate to a score and a result.
    """
    with release.filter(planned.filter):
        best: tuple[int, T] | None = None
        allowance, outcomes = Allowance.of(planned.trial), release._outcomes
        aside = Release(Ledger(release.ledger.terms, None), outcomes)
        for _ in range(_number_of_trials(aside, planned)):
            ledger = Ledger(release.ledger.terms, allowance)
            with silence():
                found = trial(Release(ledger, outcomes), _one_of(n_candidates, aside))
            for reason in ledger.why:  # nobody sees that ledger, but what it could not prove is not proven here either
                release.ledger.doubt(reason)
            if best is None or found[0] > best[0]:
                best = found
        assert best is not None
        return best[1]


def _number_of_trials(release: Release, planned: RandomStopping) -> int:
    """Draw the number: exactly, by drawing lots."""
    while True:
        number = 1
        while _one_of(planned.tickets, release):
            number += 1
        if planned.law == "geometric" or not _one_of(number, release):
            return number


def _one_of(number: int, release: Release) -> int:
    """Draw a secret number below this one, all equally likely: a selection among equals, which looks at no record."""
    event = Event("a lot", Mechanism.PERMUTE_AND_FLIP, Fraction(0), Fraction(0), Cost.nothing(), "no record")
    return int(release.choose(np.zeros((1, number), dtype=np.int64), event)[0])
