"""Gradients of losses, one record at a time, as integers whose joint norm is bounded by construction.

A record's scores are in fixed point: `SCORE_BITS` binary digits behind the point, sums of fixed-point leaf values. So
they depend on that record and on released values alone, whatever else is in the table; the same cannot be said of
floating-point matrix products. From scores to gradients it goes by integer arithmetic and public tables. What is
returned is ``a``, a gradient, and ``b``, a multiple of the loss's curvature, in steps of ``2^-GRADIENT_BITS``.

Gradients of classes are cut off at half of what they could be: all records that the model gets wrong count alike. This
halves every sensitivity. For two classes it is the gradient of another convex loss, linear on the wrong side, and the
score that makes it least is on the same side of zero as that of the logistic loss: the same class is predicted.

Rounding to nearest could push a vector out of the ball that its sensitivity is stated for, so everything is rounded
towards zero, and the curvature, which is only there because there is room for it, is cut down to the room that is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.tables.protocol import Block, IntArray
from privet.trees.kernels.blocks import Whole

Gradients = NDArray[np.int32]
Norm = Literal["l1", "l2"]

SCORE_BITS = 16
GRADIENT_BITS = 16
ONE = 1 << GRADIENT_BITS
SCORE_STATE = "score"
LARGEST_SCORE = 1 << 40  # of any entry of a table or leaf, so that no sum leaves the exact part of a double

TABLE_LIMIT = 8  # beyond this a score is as sure as it gets
TABLE_SHIFT = 9  # one entry of a table for 2^9 steps of a score: 1/128
_WEIGHT_BITS = 30


@lru_cache(maxsize=4)
def logistic_table(norm: Norm) -> Gradients:
    """Return (a, b) for each class of two and each cell of scores: int32 of shape (2, cells, 2).

    With ``p = 1 / (1 + exp(-score))`` the gradient is ``p - y``, cut off at 1/2 either way, and the curvature
    ``h = p (1 - p)``, which is at most 1/4. So ``(a, h)`` has L1 norm at most 3/4, and squared L2 norm at most 5/16.
    Both are enforced below whatever the constants.
    """
    bound = Logistic(norm).bound
    half = TABLE_LIMIT << (SCORE_BITS - TABLE_SHIFT)
    table = np.zeros((2, 2 * half, 2), np.int32)
    for cell in range(2 * half):
        p = 1 / (1 + math.exp(-(cell - half + 0.5) * 2.0 ** (TABLE_SHIFT - SCORE_BITS)))
        for label, a in ((0, min(int(p * ONE), ONE // 2)), (1, -min(int((1 - p) * ONE), ONE // 2))):
            room = math.isqrt(int(bound * ONE * ONE) - a * a) if norm == "l2" else int(bound * ONE) - abs(a)
            table[label, cell] = a, min(int(p * (1 - p) * ONE), room)
    return table


@compiled
def _look_up(score: IntArray, target: NDArray[np.int32], table: Gradients, out: Gradients) -> None:
    last = table.shape[1] - 1
    middle = table.shape[1] // 2
    for row in range(target.size):
        cell = min(max((score[row, 0] >> TABLE_SHIFT) + middle, 0), last)
        label = 1 if target[row] == 1 else 0
        out[row, 0] = table[label, cell, 0]
        out[row, 1] = table[label, cell, 1]


@dataclass(frozen=True)
class Logistic:
    """The logistic loss of two classes, its gradient cut off at 1/2; one score, that of the second class.

    Attributes
    ----------
    norm : {"l2", "l1"}
        The norm that is bounded: L2 for Gaussian noise, L1 for Laplace noise.
    bound : Fraction
        On the squared L2 norm, or on the L1 norm, of ``(a, b)`` in units.
    distance : Fraction
        On the squared L2 distance of two records' ``(a, b)``, in units.
    score_range : int
        Of ``|sum of a on the left| + |sum of a on the right|``, which a record moves by at most 1/2 either way.
    curvature : float
        ``b`` is this many times the curvature.
    at_even_scores : float
        What gradients are multiplied with where all classes have the same score, for the cut.

    Notes
    -----
    *Privacy.* Adding or removing a record adds or removes one vector ``(a, b)``, with ``a^2 + b^2 <= 5/16 4^q`` or
    ``|a| + |b| <= 3/4 2^q``, q = `GRADIENT_BITS`. Replacing one moves the sums of one leaf by a difference of two such
    vectors. Both gradients are within 1/2 of zero, and no curvature is negative or above 1/4: squared L2 norm at most
    ``1 + 1/16``, and not four times 5/16. Where the two records are in different leaves it is 10/16 at most.

    Where a share q < 1/2 of the records with one score is of the second class, the sum of their gradients is zero for
    ``p = q / (2 (1 - q))``: on the same side of 1/2, and further out. Rounds stop well before that, so that scores are
    taken for log-odds as they are; docs/learners/boosting.md has the measurements.
    """

    norm: Norm
    n_scores: ClassVar[int] = 1
    one: ClassVar[int] = ONE
    score_range: ClassVar[int] = 1
    curvature: ClassVar[float] = 1.0
    at_even_scores: ClassVar[float] = 1.0
    distance: ClassVar[Fraction] = Fraction(17, 16)

    @property
    def bound(self) -> Fraction:
        """On the squared L2 norm, or on the L1 norm, in units."""
        return Fraction(5, 16) if self.norm == "l2" else Fraction(3, 4)

    def __call__(self, block: Block) -> Gradients:
        """Return (a, b) of each record, int32 of shape (n, 2)."""
        out = np.zeros((block.target.size, 2), np.int32)
        _look_up(_scores(block), block.target, logistic_table(self.norm), out)
        return out


@lru_cache(maxsize=1)
def softmax_weights() -> IntArray:
    """Return 2^30 exp(-d), for a difference of scores d in steps of 1/128."""
    steps = np.arange(2 * TABLE_LIMIT << (SCORE_BITS - TABLE_SHIFT))
    weights = np.exp(-steps * 2.0 ** (TABLE_SHIFT - SCORE_BITS)) * (1 << _WEIGHT_BITS)
    return np.asarray(np.floor(weights), dtype=np.int64)


@inlined
def whole_root(x: Whole) -> Whole:
    """Return the whole part of the square root; 0 for what is negative."""
    root = np.int64(math.sqrt(float(x))) if x > 0 else np.int64(0)
    while root * root > x and root > 0:
        root -= 1
    return root


@compiled
def _softmax(
    score: IntArray,
    target: NDArray[np.int32],
    weights: IntArray,
    squared: bool,
    bound: int,
    out: Gradients,
) -> None:
    n_classes = score.shape[1]
    last = np.uint64(weights.size - 1)
    weight = np.zeros(n_classes, np.int64)
    for row in range(target.size):
        largest = score[row, 0]
        for k in range(1, n_classes):
            largest = max(largest, score[row, k])
        total = np.int64(0)
        for k in range(n_classes):
            # unsigned: the true difference is below 2^64; a signed one may turn negative, an index before the table
            below = np.uint64(largest) - np.uint64(score[row, k])
            weight[k] = weights[min(below >> np.uint64(TABLE_SHIFT), last)]
            total += weight[k]
        room = np.int64(bound)
        missed = np.int64(ONE)  # the probability of all classes but the record's
        for k in range(n_classes):
            # the largest weight is not zero; the p add up to at most one
            weight[k] = (weight[k] << GRADIENT_BITS) // total
            if target[row] == k:
                missed = ONE - weight[k]
        limit = max(2 * missed, np.int64(ONE))  # what is missed by more than 1/2 counts as 1/2
        for k in range(n_classes):
            a = -(missed * ONE // limit) if target[row] == k else weight[k] * ONE // limit
            out[row, k] = a
            room -= a * a if squared else abs(a)
        for k in range(n_classes):
            p = weight[k]
            b = ((p * (ONE - p)) >> GRADIENT_BITS) * ONE // limit
            if squared:
                if b * b > room:
                    b = whole_root(room)
                room -= b * b
            else:
                b = min(b >> 1, max(room, 0))
                room -= b
            out[row, n_classes + k] = b


@dataclass(frozen=True)
class Softmax:
    """The multinomial loss of more than two classes, its gradients scaled down to L1 norm 1; one score for each.

    Attributes
    ----------
    n_scores : int
        Number of classes.
    norm : {"l2", "l1"}
        The norm that is bounded.

    Notes
    -----
    *Privacy.* With p the classes' probabilities, whose integers add up to at most one, and y the record's class,
    ``sum of |p - y| <= 2 m`` and ``sum of (p - y)^2 <= 2 m^2`` for ``m = 1 - p_y``. Where m is more than 1/2 all is
    divided by 2 m: L1 norm at most 1, squared L2 norm at most 1/2. The curvatures, divided alike, get 1/8 more (squared
    L2), or 1/4 (L1, at half weight), and are cut down to that. Sums over classes of ``|left| + |right|`` move by at
    most one either way: range 2. All is rounded towards zero.

    *Replacing* a record with another in the same leaf moves the sums by a squared distance of at most 17/8, and not by
    four times 5/8. A record of class y has one negative gradient, ``-g`` in place y with g up to 1/2, and others that
    add up to at most g; its curvature is at most 1/4 in every place (``p (1 - p)`` over ``max(2 m, 1)``, where p is at
    most m in every place but y), and no more than its gradient outside of y. All this holds of the integers, too, which
    are rounded down, and what is cut down only falls. *Two records of one class*: gradients are at most 1/2 apart in
    place y, and elsewhere two non-negative vectors of squared norm at most 1/4 each; curvatures are two non-negative
    vectors of squared norm at most ``1/16 + 1/4`` each: together no more than 11/8. *Of two classes y and z*: let the
    first have gradient x in place z, the second x' in place y. There gradients are at most ``1/2 + x`` and ``1/2 + x'``
    apart, curvatures at most 1/4. In all other places the gradients of the first add up to at most ``1/2 - x``, those
    of the second to at most ``1/2 - x'``, and the curvatures are no larger. With
    ``f(x) = (1/2 + x)^2 + 2 (1/2 - x)^2`` that is at most ``f(x) + f(x') + 2/16``; f is convex, 3/4 at 0 and 1 at 1/2:
    at most ``2 + 1/8``. In different leaves it is 10/8 at most.
    """

    n_scores: int
    norm: Norm
    one: ClassVar[int] = ONE
    distance: ClassVar[Fraction] = Fraction(17, 8)
    score_range: ClassVar[int] = 2

    @property
    def bound(self) -> Fraction:
        """On the squared L2 norm, or on the L1 norm, in units."""
        return Fraction(5, 8) if self.norm == "l2" else Fraction(5, 4)

    @property
    def curvature(self) -> float:
        """How many times the curvature ``b`` is."""
        return 1.0 if self.norm == "l2" else 0.5

    @property
    def at_even_scores(self) -> float:
        """What gradients are multiplied with where all classes have the same score: one over ``2 m``."""
        return self.n_scores / max(2 * (self.n_scores - 1), 1)

    def __call__(self, block: Block) -> Gradients:
        """Return (a, b) of each record, int32 of shape (n, 2 n_scores), the gradients first."""
        out = np.zeros((block.target.size, 2 * self.n_scores), np.int32)
        squared = self.norm == "l2"
        bound = int(self.bound * (ONE * ONE if squared else ONE))
        _softmax(_scores(block), block.target, softmax_weights(), squared, bound, out)
        return out


@compiled
def _residuals(
    score: IntArray, target: NDArray[np.int32], last_level: int, width: int, count: int, out: Gradients
) -> None:
    for row in range(target.size):
        # both are in units of the target's range, which is at most 2^SCORE_BITS levels wide
        level = np.int64(min(max(target[row], 0), last_level))
        # further out than twice the range a score is cut off whatever the target; held there, nothing overflows
        near = min(max(score[row, 0], -2 * ONE), 2 * ONE)
        residual = (near - (level << SCORE_BITS) // last_level) * ONE // width
        out[row, 0] = min(max(residual, -ONE), ONE)
        out[row, 1] = count


@dataclass(frozen=True)
class Huber:
    """The squared loss of a bounded regression target, its gradient cut off at a part of the range.

    Attributes
    ----------
    levels : int
        Levels of the target.
    width : int
        The gradient is cut off this far from the target, in steps of ``2^-SCORE_BITS`` of the range, and scaled so that
        this is one: what is cut off is rare where the score is near, and the noise is so many times smaller. Public, or
        made of released values.

    Notes
    -----
    *Privacy.* ``|a| <= 1`` by the cut, whatever the width, and ``b`` is the constant ``1/4``: squared L2 norm at most
    17/16, L1 norm 5/4. A record that replaces another one in the same leaf has the same ``b``: squared distance at most
    4; in another leaf, 17/8.
    """

    norm: Norm
    levels: int
    width: int = ONE
    n_scores: ClassVar[int] = 1
    one: ClassVar[int] = ONE
    distance: ClassVar[Fraction] = Fraction(4)
    score_range: ClassVar[int] = 2
    at_even_scores: ClassVar[float] = 1.0
    count: ClassVar[Fraction] = Fraction(1, 4)  # what every record has for its curvature

    @property
    def bound(self) -> Fraction:
        """On the squared L2 norm, or on the L1 norm, in units."""
        return 1 + self.count**2 if self.norm == "l2" else 1 + self.count

    @property
    def part(self) -> float:
        """The width as a part of the range."""
        return self.width / ONE

    @property
    def curvature(self) -> float:
        """How many times the curvature of the scaled loss ``b`` is."""
        return float(self.count) * self.part

    def __call__(self, block: Block) -> Gradients:
        """Return (a, b) of each record, int32 of shape (n, 2)."""
        out = np.zeros((block.target.size, 2), np.int32)
        _residuals(_scores(block), block.target, self.levels - 1, self.width, int(self.count * ONE), out)
        return out


Loss = Logistic | Softmax | Huber


class Bounded(Protocol):
    """What a loss must say of itself for its rounds to be paid for; all in units, for one record more or less."""

    @property
    def bound(self) -> Fraction:
        """On the squared L2 norm, or on the L1 norm, of what is added up in the leaves."""
        ...

    @property
    def distance(self) -> Fraction:
        """On the squared L2 distance of what two records add, of which one replaces the other."""
        ...

    @property
    def score_range(self) -> int:
        """The range of splits' scores."""
        ...


def _scores(block: Block) -> IntArray:
    scores: IntArray = np.ascontiguousarray(block.state[SCORE_STATE], dtype=np.int64)
    return scores
