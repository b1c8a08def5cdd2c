"""The law of all quantiles of one feature in a single draw: jointexp of Gillenwater, Joseph and Kulesza (2021).

The exponential mechanism over all sorted tuples of cuts of a public grid. A tuple's score is minus the sum, over the
intervals between its cuts, of how far the interval's records are from an equal share of all records. This file has the
scores, how far one record moves them, and the best tuple, for models without privacy and for the auditor. Drawing from
the law is the task of `joint_sampling.py`, behind the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from privet.tables.protocol import IntArray


def cut_range(n_cuts: int) -> int:
    """Return the range of `scores_of_cuts`: the largest difference between the changes that one record makes to them.

    With k intervals a score is minus the sum of ``|k n_j - n|``. One more record raises one ``k n_j - n`` by k - 1 and
    lowers all others by 1, so the sum changes by at most 2 (k - 1) in either direction. Two tuples can change in
    opposite directions at once, so the range is 4 (k - 1).
    """
    return 4 * n_cuts


def scores_of_cuts(below: IntArray, cuts: Iterable[Sequence[int]]) -> IntArray:
    """Return the score of each tuple of cuts: minus the sum over intervals of ``|k * records - all records|``.

    Parameters
    ----------
    below : int64 array
        The number of records at or below each cell of the grid.
    cuts : iterable of sequences of int
        Sorted cells; an interval ends with each of them.
    """
    n_records = int(below[-1])
    scores = []
    for several in cuts:
        edges = [0, *(int(below[cut]) for cut in several), n_records]
        share = [(len(several) + 1) * (high - low) for low, high in pairwise(edges)]
        scores.append(-sum(abs(part - n_records) for part in share))
    return np.array(scores, dtype=np.int64)


def best_cuts(below: IntArray, n_cuts: int) -> list[int]:
    """Return a tuple of cuts with the highest score, for models without privacy."""
    steps = -_costs(below, n_cuts)
    value = -_costs_to_end(below, n_cuts)
    choices: list[IntArray] = []
    for _ in range(n_cuts - 1):
        through = np.where(_ordered(steps), steps + value, np.iinfo(np.int64).min // 2)
        choices.append(through.argmax(axis=1))
        value = through.max(axis=1)
    cuts = [int((value - _costs_from_start(below, n_cuts)).argmax())]
    for choice in reversed(choices):
        cuts.append(int(choice[cuts[-1]]))
    return cuts


def _costs(below: IntArray, n_cuts: int) -> IntArray:
    inside = below[np.newaxis, :-1] - below[:-1, np.newaxis]
    costs: IntArray = np.abs((n_cuts + 1) * inside - below[-1])
    return costs


def _costs_from_start(below: IntArray, n_cuts: int) -> IntArray:
    costs: IntArray = np.abs((n_cuts + 1) * below[:-1] - below[-1])
    return costs


def _costs_to_end(below: IntArray, n_cuts: int) -> IntArray:
    costs: IntArray = np.abs((n_cuts + 1) * (below[-1] - below[:-1]) - below[-1])
    return costs


def _ordered(square: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether the second cut is not below the first."""
    return np.triu(np.ones(square.shape, np.bool_))
