"""Split scores, each with a proved bound on what one record can do to it.

A split's score is the sum of its children's scores, and a record is in one child of every candidate at once. Each
score here is an impurity, counted in records, with a minus sign: it is never raised by adding a record. So all
candidates move in the same direction, and the range over candidates is no larger than what one child can lose. That
range, not the number of features, is what a selection pays for (`privet.privacy.laws`, the range lemma).

Scores are integers on a grid. Rounding down to a grid of step s keeps a change that lies in [-R, 0] within [-R, 0] if s
divides R, and only the child with the new record changes, so rounding each child costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined


class ScoreKind(IntEnum):
    """Which impurity; compiled code takes it as a number."""

    ERRORS = 0
    GINI = 1
    MIX = 2


@dataclass(frozen=True)
class Score:
    """A split score with its range for adding or removing one record, both in steps of the grid.

    Attributes
    ----------
    kind : ScoreKind
        ``ERRORS``: minus the records that are not of their child's most frequent class; an added record changes it by
        -1 or 0. ``GINI``: minus n times the Gini impurity; by more than -2 and at most 0. ``MIX``: half the errors plus
        a quarter of the Gini count, with a minus sign; within [-1, 0]. The mix sees gains that change no majority, as
        Gini does, and has the small range of the errors.
    steps : int
        Grid steps for one unit of the score.
    range : int
        The range, in grid steps.
    """

    kind: ScoreKind
    steps: int
    range: int


SCORES = {
    "errors": Score(ScoreKind.ERRORS, 1, 1),
    "gini": Score(ScoreKind.GINI, 1 << 20, 2 << 20),
    "mix": Score(ScoreKind.MIX, 1 << 20, 1 << 20),
}


_LARGEST_HEAD_START = 2.0**58  # far from where sums of scores would overflow, and below what stands for "never"


def head_start(n_candidates: int, rate: float | Fraction) -> float:
    """Return by how much a score must be higher for one candidate to weigh as much as `n_candidates` lower ones.

    ``ln(n) / rate``, a public constant. At rates so small that it would not fit an integer it is held where it does;
    there every candidate is as good as any other.
    """
    rate = float(rate)
    return min(math.log(max(1, n_candidates)) / rate, _LARGEST_HEAD_START) if rate > 0 else 0.0


@inlined
def child_score(kind: int, total: int, largest: int, squares: int) -> int:
    """Return a child's score from its number of records, its largest class and its sum of squared class counts.

    Gini: with s = sum of c^2, floor(2^20 (s/n - n)). Mix: floor(2^20 (s/n - n - 2 errors) / 4). Dividing s by n with a
    remainder first keeps everything within 64 bits for up to 3 * 10^9 records.
    """
    if total == 0:
        return 0
    if kind == 0:
        return largest - total
    # Counts are not negative; unsigned numbers need no second look at signs, which are most of a division's cost here.
    bits, n = np.uint64(20 if kind == 1 else 18), np.uint64(total)
    whole = np.uint64(squares) // n
    rest = ((np.uint64(squares) - whole * n) << bits) // n
    errors = 0 if kind == 1 else 2 * (total - largest)
    return ((np.int64(whole) - total - errors) << np.int64(bits)) + np.int64(rest)  # type: ignore[return-value]


@compiled
def score_of_counts(kind: int, counts: NDArray[np.int64]) -> int:
    """Return the score of one child with these class counts."""
    total = largest = squares = 0
    for count in counts:
        total += count
        squares += count * count
        largest = max(largest, count)
    return child_score(kind, total, largest, squares)
