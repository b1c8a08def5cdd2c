"""Lower bounds on epsilon from counts: Clopper-Pearson intervals, and the choice of the event to test.

The bound holds at its level only if the event was chosen on other trainings than those that are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, floor, log, log1p

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privet.errors import AuditError
from privet.privacy.laws import clopper_pearson_lower, clopper_pearson_upper


@dataclass(frozen=True)
class AuditEvent:
    """A set of outcomes, or everything but a set of outcomes (then outcomes never seen before belong to it).

    Parameters
    ----------
    outcomes : frozenset of str
        Outcomes as written by ``outcome_key``.
    complement : bool
        Whether the event is "none of these".
    """

    outcomes: frozenset[str]
    complement: bool = False

    def hits(self, counts: Mapping[str, int]) -> int:
        """How often the event happened among counted outcomes."""
        inside = sum(counts.get(outcome, 0) for outcome in self.outcomes)
        return sum(counts.values()) - inside if self.complement else inside

    def __str__(self) -> str:
        shown = sorted(self.outcomes)
        if len(shown) > 4 or sum(map(len, shown)) > 100:
            return f"{'none' if self.complement else 'one'} of {len(shown)} outcomes"
        return f"outcome {'not ' if self.complement else ''}in {{{', '.join(shown)}}}"


def log_ratio_bounds(
    hits: ArrayLike, trials: int, other_hits: ArrayLike, other_trials: int, delta: float, level: float
) -> NDArray[np.float64]:
    """ln((lower(hits) - delta) / upper(other_hits)), the error ``level`` shared by the two ends; may be negative."""
    numerator = clopper_pearson_lower(hits, trials, level / 2) - delta
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(numerator, 0.0))
    return np.asarray(logs - np.log(clopper_pearson_upper(other_hits, other_trials, level / 2)))


def epsilon_lower_bound(
    hits: int, trials: int, other_hits: int, other_trials: int, *, delta: float = 0.0, level: float
) -> float:
    """Lower bound on epsilon from one event that was fixed before these trainings.

    Parameters
    ----------
    hits, trials : int
        How often the event happened, of how many trainings, on the data set where it is more likely.
    other_hits, other_trials : int
        The same on the neighbour.
    delta : float
        The delta of the claim.
    level : float
        The probability with which the bound may be wrong.

    Returns
    -------
    float
        A number that is at most the true epsilon (at this delta), except with probability ``level``.
    """
    return max(0.0, float(log_ratio_bounds(hits, trials, other_hits, other_trials, delta, level)))


def choose_event(likely: Mapping[str, int], unlikely: Mapping[str, int], *, delta: float, level: float) -> AuditEvent:
    """Choose the event whose lower bound would be the best, had it been fixed before.

    Outcomes join the event in the order of their smoothed likelihood ratio. Those seen at most once count as one
    outcome, together with all that were never seen: by the time the event is tested they will have been replaced by
    others of their kind.

    Parameters
    ----------
    likely, unlikely : mapping of str to int
        Outcome counts on the two data sets, from trainings that are used for nothing else.
    delta, level : float
        As for the bound to come.

    Returns
    -------
    AuditEvent
    """
    trials, other_trials = sum(likely.values()), sum(unlikely.values())
    total = Counter(likely) + Counter(unlikely)
    common = sorted(outcome for outcome, count in total.items() if count > 1)
    k = np.array([likely.get(outcome, 0) for outcome in common], dtype=np.int64)
    other_k = np.array([unlikely.get(outcome, 0) for outcome in common], dtype=np.int64)
    k = np.append(k, trials - k.sum())  # the last entry stands for the rare outcomes
    other_k = np.append(other_k, other_trials - other_k.sum())

    ratio = ((k + 0.5) / (trials + 1)) / ((other_k + 0.5) / (other_trials + 1))
    order = np.argsort(-ratio, kind="stable")
    bounds = log_ratio_bounds(np.cumsum(k[order]), trials, np.cumsum(other_k[order]), other_trials, delta, level)
    chosen = set(order[: int(np.argmax(bounds)) + 1].tolist())
    rare_is_in = len(common) in chosen
    return AuditEvent(
        frozenset(outcome for i, outcome in enumerate(common) if (i in chosen) != rare_is_in),
        complement=rare_is_in,
    )


def trials_needed(epsilon: float, delta: float, level: float) -> int:
    """The least number of trainings a side with which even a perfect distinguisher could refute (epsilon, delta).

    A perfect distinguisher hits n times of n, and 0 of n on the neighbour: its bound is ln((q - delta) / (1 - q))
    with q = (level / 2)^(1/n), which exceeds epsilon from the returned n on.
    """
    # q must exceed (e^epsilon + delta) / (1 + e^epsilon) = 1 - (1 - delta) / (1 + e^epsilon)
    shortfall = (1 - delta) * (exp(-epsilon) / (1 + exp(-epsilon)))
    if shortfall <= 0:
        raise AuditError(f"no number of trainings can refute a claim of epsilon={epsilon}, delta={delta}")
    return floor(log(level / 2) / log1p(-shortfall)) + 1
