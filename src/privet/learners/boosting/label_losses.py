"""Gradients where only labels are private: what features and released values decide is public, the rest is noised.

With the features, and with all that was released, the model's probabilities p of every record are known. So are the
curvatures ``p (1 - p)``; of a gradient ``p - y`` only y is private. Nothing needs to be cut off: of two classes a
changed label moves the gradient by exactly one, wherever p is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from privet.learners.boosting.gradient_growth import NODE_STATE
from privet.learners.boosting.gradients import (
    GRADIENT_BITS,
    ONE,
    SCORE_BITS,
    SCORE_STATE,
    TABLE_LIMIT,
    TABLE_SHIFT,
    Gradients,
    Huber,
    Loss,
    Norm,
    softmax_weights,
)
from privet.tables.protocol import Block, IntArray


@lru_cache(maxsize=1)
def _chances_of_second() -> IntArray:
    """Return the probability of the second of two classes for each cell of scores, in steps of 1 / ONE."""
    half = TABLE_LIMIT << (SCORE_BITS - TABLE_SHIFT)
    middles = (np.arange(2 * half) - half + 0.5) * 2.0 ** (TABLE_SHIFT - SCORE_BITS)
    return np.array([int(ONE / (1 + math.exp(-score))) for score in middles.tolist()], np.int64)


def chances(score: IntArray) -> IntArray:
    """Return the classes' probabilities in whole numbers: that of the second of two, or those of all of many.

    Each record by itself, from its scores alone; those of many add up to at most `ONE`.
    """
    if score.shape[1] == 1:
        table = _chances_of_second()
        cell = np.clip((score >> TABLE_SHIFT) + table.size // 2, 0, table.size - 1)
        return np.asarray(table[cell])
    # Unsigned: the true difference is below 2^64, a signed one may turn negative.
    below = score.max(axis=1, keepdims=True).astype(np.uint64) - score.astype(np.uint64)
    weights = softmax_weights()
    weight = weights[np.minimum(below >> np.uint64(TABLE_SHIFT), np.uint64(weights.size - 1))]
    return np.asarray((weight << GRADIENT_BITS) // weight.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class ClassLabels:
    """The logistic or multinomial loss, its gradient as it is.

    Notes
    -----
    *Privacy.* The probabilities p are public. With y the indicator of a record's class, a changed label moves ``p - y``
    by one for two classes (one score), and for more of them by one in each of two scores: L1 norm 2, squared L2 norm 2.
    A record whose label is not known has no gradient, and its curvature: a label that gets lost moves the gradient by
    ``|p - y|``, which is less. `privet.privacy.terms.Terms` counts a changed label as two steps, so half of that is
    stated: L1 norm 1/2 or 1, squared L2 norm 1/4 or 1/2. Sums over scores of ``|left| + |right|`` move by at most the
    L1 norm either way: range 2 or 4 for a changed label.
    """

    norm: Norm
    n_scores: int
    curvature: ClassVar[float] = 1.0

    @property
    def bound(self) -> Fraction:
        """On the squared L2 norm, or on the L1 norm, in units: half of what a changed label moves."""
        if self.norm == "l1":
            return Fraction(1, 2) if self.n_scores == 1 else Fraction(1)
        return Fraction(1, 4) if self.n_scores == 1 else Fraction(1, 2)

    @property
    def distance(self) -> Fraction:
        """What a changed label moves, in squared L2 norm and units."""
        return Fraction(1) if self.n_scores == 1 else Fraction(2)

    @property
    def score_range(self) -> int:
        """Half of the range of splits' scores for a changed label, in units."""
        return 1 if self.n_scores == 1 else 2

    def __call__(self, block: Block) -> Gradients:
        """Return the gradients of each record, int32 of shape (n, n_scores)."""
        gradient, target = chances(_scores(block)), block.target
        if self.n_scores == 1:
            gradient[:, 0] -= ONE * (target == 1)
        else:
            gradient -= ONE * (target[:, np.newaxis] == np.arange(self.n_scores))
        gradient[target < 0] = 0
        return gradient.astype(np.int32)

    def curvatures(self, block: Block) -> IntArray:
        """Return the curvatures of each record, int64 of shape (n, n_scores)."""
        p = chances(_scores(block))
        return np.asarray((p * (ONE - p)) >> GRADIENT_BITS)


@dataclass(frozen=True)
class TargetLabels:
    """The squared loss of a bounded regression target, its gradient cut off at a public part of the range.

    Notes
    -----
    *Privacy.* The gradient is within ``[-1, 1]``, so a changed label moves it by at most 2, and half of that is stated;
    splits' scores move by at most 2 either way, range 4. The curvature is a constant, so its sums are numbers of
    records.
    """

    huber: Huber
    n_scores: ClassVar[int] = 1
    bound: ClassVar[Fraction] = Fraction(1)
    distance: ClassVar[Fraction] = Fraction(4)
    score_range: ClassVar[int] = 2

    @property
    def curvature(self) -> float:
        """How many times the curvature of the scaled loss is stated."""
        return self.huber.part

    def __call__(self, block: Block) -> Gradients:
        """Return the gradients of each record, int32 of shape (n, 1)."""
        gradient = self.huber(block)[:, :1]
        gradient[block.target < 0] = 0
        return gradient

    def curvatures(self, block: Block) -> IntArray:
        """Return the curvatures of each record, int64 of shape (n, 1)."""
        return np.full((block.target.size, 1), ONE, np.int64)


LabelLoss = ClassLabels | TargetLabels


def for_labels(loss: Loss) -> LabelLoss:
    """Return the same loss for private labels of public features."""
    return TargetLabels(loss) if isinstance(loss, Huber) else ClassLabels(loss.norm, loss.n_scores)


@dataclass(frozen=True)
class CurvatureSums:
    """Add up curvatures by node, from scores and nodes, which features and released values decide."""

    loss: LabelLoss
    n_nodes: int

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_nodes, n_scores)."""
        sums = np.zeros((self.n_nodes, self.loss.n_scores), np.int64)
        np.add.at(sums, np.asarray(block.state[NODE_STATE], dtype=np.int64), self.loss.curvatures(block))
        return sums


def _scores(block: Block) -> IntArray:
    scores: IntArray = np.ascontiguousarray(block.state[SCORE_STATE], dtype=np.int64)
    return scores
