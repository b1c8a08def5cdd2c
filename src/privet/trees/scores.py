"""Split scores, each with a proved bound on what one record can do to it.

A split's score is the sum of its children's scores, and a record is in one child of every candidate at once. Each
score here is an impurity, counted in records, with a minus sign: it is never raised by adding a record. So all
candidates move in the same direction, and the range over candidates is no larger than what one child can lose. That
range, not the number of features, is what a selection pays for (`privet.privacy.laws`, the range lemma).

Scores are integers on a grid. Rounding down to a grid of step s keeps a change that lies in [-R, 0] within [-R, 0] if s
divides R, and only the child with the new record changes, so rounding each child costs nothing.

For a regression target there are `LOSSES`, of the same kind as these, and `deviations`, a score of residuals, which
moves both ways and has a proved range as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np

from privet.compiling import compiled, inlined
from privet.tables.protocol import IntArray


class ScoreKind(IntEnum):
    """Which impurity; compiled code takes it as a number."""

    ERRORS = 0
    GINI = 1
    MIX = 2
    DEVIATIONS = 3
    LOSSES = 4


@dataclass(frozen=True)
class Score:
    """A split score with its range for adding or removing one record, both in steps of the grid.

    Attributes
    ----------
    kind : ScoreKind
        ``ERRORS``: minus the records that are not of their child's most frequent class; an added record changes it by
        -1 or 0. ``GINI``: minus n times the Gini impurity; by more than -2 and at most 0. ``MIX``: half the errors plus
        a quarter of the Gini count, with a minus sign; within [-1, 0]. The mix sees gains that change no majority, as
        Gini does, and has the small range of the errors. ``DEVIATIONS``: see `deviations`. ``LOSSES``: see `LOSSES`.
    steps : int
        Grid steps for one unit of the score.
    range : int
        The range, in grid steps.
    knee : int
        Of deviations, in steps of the residuals' grid.
    """

    kind: ScoreKind
    steps: int
    range: int
    knee: int = 0


SCORES = {
    "errors": Score(ScoreKind.ERRORS, 1, 1),
    "gini": Score(ScoreKind.GINI, 1 << 20, 2 << 20),
    "mix": Score(ScoreKind.MIX, 1 << 20, 1 << 20),
}


RESIDUAL = 1 << 16  # the largest residual, on the grid of residuals


def deviations(knee: int) -> Score:
    """Return the score of residuals of a regression target that turns from squares to absolute values at a knee.

    A node's records have residuals g: targets less a released centre, held within -b and b, on a grid on which b is
    `RESIDUAL`. A child with n records whose residuals add up to G, so that their mean is r = G / n, scores ``n H(r)``
    with ``H(r) = r^2 / k`` up to the knee k and ``2 |r| - k`` beyond, rounded down.

    With the knee at b this is the sum of squared errors, but for a constant: candidates rank as for CART. With the knee
    at zero it is ``2 (|G left| + |G right|)``: it grows with the difference of the children's means, and not with the
    square of that, so it is far stronger against the noise where means differ by a small part of b; but it prefers even
    splits more than CART does. The range is the same for all knees.

    Parameters
    ----------
    knee : int
        From 1 to `RESIDUAL`.

    Notes
    -----
    *Privacy.* ``h(G, n) = n H(G / n)`` is convex and positively homogeneous, as the perspective of a convex function.
    So a record with residual g raises it by at most ``h(g, 1) = H(g)``. By convexity it changes it by no less than the
    slope there, ``2 s g - k s^2`` for some s from -1 to 1, which is at least ``-2 |g| - k``. A record is in one child
    of every candidate, and g is the same for all of them, so all scores move within this one interval, and so does the
    node's own score where not to split is a candidate. Its length is ``4 |g|`` where ``|g| >= k``, and else
    ``2 |g| + k + g^2 / k``, which is below ``4 k``: at most ``4 RESIDUAL``.

    Rounding down keeps a change within an interval whose ends are whole numbers. They are where ``|g| >= k``. For
    smaller residuals the upper end is rounded up, which leaves a length of at most ``2 (k - 1) + k + (k - 1)``.
    """
    return Score(ScoreKind.DEVIATIONS, 1, 4 * RESIDUAL, knee)


LARGEST_LOSS = 1 << 16

LOSSES = Score(ScoreKind.LOSSES, 1, LARGEST_LOSS)
"""Minus the least loss that one value for all records of a child can have, among public values; both children added up.

A record has a loss for each value: a whole number from 0 to `LARGEST_LOSS`, by a public table
(`privet.trees.capped_losses`).

*Privacy.* An added record is in one child of every candidate, and raises the losses of that child's values by 0 to
`LARGEST_LOSS` each. So it raises the least of them by something within the same bounds, and lowers every candidate's
score by it: the range is `LARGEST_LOSS`, whatever the tables, the values and the candidates are.
"""

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
def score_of_counts(kind: int, counts: IntArray) -> int:
    """Return the score of one child with these class counts."""
    total = largest = squares = 0
    for count in counts:
        total += count
        squares += count * count
        largest = max(largest, count)
    return child_score(kind, total, largest, squares)


@inlined
def score_of_residuals(knee: int, n: int, total: int) -> int:
    """Return a child's score from its number of records and the sum of their residuals; see `deviations`.

    With ``|G| = a n + b``, G^2 / n is ``a^2 n + 2 a b + b^2 / n``: within 64 bits for up to 2^31 records.
    """
    if n == 0:
        return 0
    size = abs(total)
    if size > knee * n:
        return 2 * size - knee * n
    whole = size // n
    rest = size - whole * n
    return (whole * whole * n + 2 * whole * rest + rest * rest // n) // knee
