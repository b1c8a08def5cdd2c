"""What boosting decides for a regression target before it sees any data, from public facts alone.

As in `privet.learners.boosting.outline`, what counts is ``n epsilon`` for pure epsilon and ``n^2 rho`` for zCDP. The
constants were found on data sets that docs/learners/boosting.md names.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from privet.learners.boosting.choice_base import ChoiceBase
from privet.learners.boosting.gradients import Norm
from privet.learners.boosting.outline import (
    BINS_PART,
    LARGE_SIGNAL,
    LARGE_SIGNAL_BASE_PART,
    QUANTILE_LEVELS,
    START_PART,
    rounds_and_depth,
    signal_of,
)
from privet.learners.boosting.outlined import ALL, MANY_FEATURES, NOTHING, Outline
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.regression_base import AdditiveBase
from privet.learners.boosting.stepwise_base import StepwiseBase
from privet.learners.boosting.whitened_base import WhitenedBase
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding
from privet.trees.structure import FeatureCodes

WINDOW_PART, SMALL_SIGNAL_WINDOW_PART = Fraction(1, 20), Fraction(3, 20)
DESCENT_STEPS, PAIRS_PART = 24, Fraction(1, 8)  # gradient descent in turned columns, and what turns them
RANKS_PART, RANK_CELLS, RANK_LEVELS = Fraction(3, 20), 32, 8
LARGE_RANK_CELLS, LARGE_RANK_LEVELS = 64, 10  # before the deeper trees of a large signal

# zCDP: from which n^2 rho on something pays off.
SIGNAL_FOR_LINES, SIGNAL_FOR_BENDS = 1 / 8, 1 / 3  # in turned columns, times the cube of their number
SIGNAL_FOR_QUANTILES = 3_000  # after products of columns: cells by private quantiles; below they are public
SIGNAL_FOR_TREES = 100_000  # trees of depth two in place of stumps, or of no trees
TREES_BASE_PART = Fraction(3, 10)

# Pure epsilon: from which n epsilon on something pays off.
PURE_SIGNAL_FOR_PRODUCTS = 2_000  # products of columns, and stumps with leaves, in place of a base of choices
PURE_SIGNAL_FOR_CURVE, MOST_CURVES = 300, 2  # the root of the signal over this is the number of curves
PURE_SIGNAL_FOR_STEP, MOST_STEPS = 25, 8  # and this the number of steps of a base of choices
WINDOW_SIGNAL = 45  # n epsilon of the counts that say where the target lies
LEAST_WINDOW_PART, MOST_WINDOW_PART = Fraction(1, 20), Fraction(1, 5)
PURE_SIGNAL_FOR_QUANTILES = 5_000  # cells by private quantiles, and trees of depth two in place of stumps


def outline_for_regression(encoding: Encoding, share: Share | None, n_rows: int | None, steps: int) -> Outline:
    """Return how to begin, from public facts: the kind of guarantee, the features, a guess at the number of records.

    Without a guess at the number of records, or without privacy, a moderate signal is assumed.
    """
    signal = None if share is None or n_rows is None else signal_of(share, n_rows, steps)
    if share is not None and share.epsilon is not None:
        return _pure(encoding, signal)
    if signal is None or n_rows is None:
        return _after_products(encoding, Fraction(3, 10), bends=True, n_trees=30, depth=2)
    base = _whitened(encoding, signal, n_rows)
    if base is not None:
        return _turned(encoding, base, signal)
    if signal < SIGNAL_FOR_QUANTILES:
        lines = _stepwise(encoding, "l2", 4, Fraction(1, 8), bends=False)
        base_part = START_PART if lines is None else Fraction(2, 5)
        return Outline(NOTHING, base_part, 0, lines, 4, 1, window_part=SMALL_SIGNAL_WINDOW_PART)
    if signal < SIGNAL_FOR_TREES:
        return _after_products(encoding, Fraction(3, 5), bends=False, n_trees=6, depth=1)
    rounds = _after_products(encoding, _part_before_trees(signal), bends=True, n_trees=30, depth=2)
    return _grown(encoding, rounds, signal)


def _whitened(encoding: Encoding, signal: float, n_rows: int) -> WhitenedBase | None:
    """Return a base by gradient descent in turned columns: lines and bends, or lines, or none where these are too many.

    Turned columns are about equally long. So noise moves a score by a variance that goes with the square of their
    number; and the more there are, the more of them say nothing, which stumps pass over.
    """
    for_base = signal * (float(_part_before_trees(signal)) if signal >= SIGNAL_FOR_TREES else 1.0)
    for bends, least in ((True, SIGNAL_FOR_BENDS), (False, SIGNAL_FOR_LINES)):
        base = WhitenedBase(n_rows, DESCENT_STEPS, PAIRS_PART, AdditiveBase("l2", bends))
        if base.fits(encoding, for_base) and for_base >= least * (base.columns.n_columns(encoding) + 1) ** 3:
            return base
    return None


def _turned(encoding: Encoding, base: WhitenedBase, signal: float) -> Outline:
    """Return gradient descent in turned columns, alone or before trees.

    Without trees all noise is Gaussian and fixed in advance, so that its exact delta counts. With them that is lost,
    and the window can be chosen: quartiles are sharper than counts.
    """
    cells, levels = (LARGE_RANK_CELLS, LARGE_RANK_LEVELS) if signal >= LARGE_SIGNAL else (RANK_CELLS, RANK_LEVELS)
    ranks = RankCounts(base.n_rows, cells, levels, counts_records=True)
    if signal >= SIGNAL_FOR_TREES:
        part = _part_before_trees(signal)
        rounds = Outline(BINS_PART, part, 0, base, 30, 2, window_part=WINDOW_PART, ranks=ranks)
        return _grown(encoding, rounds, signal)
    window_part = SMALL_SIGNAL_WINDOW_PART if signal < SIGNAL_FOR_QUANTILES else WINDOW_PART
    return Outline(RANKS_PART, ALL, 0, base, window_part=window_part, ranks=ranks, window_by_counts=True)


def _part_before_trees(signal: float) -> Fraction:
    return LARGE_SIGNAL_BASE_PART if signal >= LARGE_SIGNAL else TREES_BASE_PART


def _grown(encoding: Encoding, rounds: Outline, signal: float) -> Outline:
    """Return the same rounds; more of deeper trees, whose levels share their splits, where the signal is large."""
    if signal < LARGE_SIGNAL:
        return rounds
    n_trees, depth = rounds_and_depth(encoding, signal)
    return replace(rounds, n_trees=n_trees, depth=depth, shared_splits=True)


def _pure(encoding: Encoding, signal: float | None) -> Outline:
    splittable = FeatureCodes.of(encoding).splittable.size > 0  # without a feature that can be split, nothing to choose
    if signal is not None and signal < PURE_SIGNAL_FOR_PRODUCTS and splittable:
        return _choices(signal)
    base = None if encoding.n_features > MANY_FEATURES else _stepwise(encoding, "l1", 3, Fraction(3, 10), bends=False)
    if signal is None or signal < PURE_SIGNAL_FOR_QUANTILES:
        base_part = START_PART if base is None else Fraction(1, 2)
        return Outline(NOTHING, base_part, 0, base, 16, 1, window_part=WINDOW_PART)
    base_part = START_PART if base is None else Fraction(3, 10)
    return Outline(BINS_PART, base_part, QUANTILE_LEVELS, base, 16, 2, window_part=WINDOW_PART)


def _choices(signal: float) -> Outline:
    """Return a base of choices alone: the more signal there is, the more steps and curves."""
    n_steps = max(2, min(MOST_STEPS, round(math.sqrt(signal / PURE_SIGNAL_FOR_STEP))))
    n_curves = min(MOST_CURVES, int(math.sqrt(signal / PURE_SIGNAL_FOR_CURVE)))
    part = Fraction(WINDOW_SIGNAL / max(signal, 1.0)).limit_denominator(100)
    window_part = max(LEAST_WINDOW_PART, min(MOST_WINDOW_PART, part))
    base = ChoiceBase(n_steps, n_curves)
    return Outline(NOTHING, 1 - window_part, 0, base, window_part=window_part, window_by_counts=True)


def _after_products(encoding: Encoding, base_part: Fraction, *, bends: bool, n_trees: int, depth: int) -> Outline:
    """Return rounds on cells by quantiles that begin with products of columns."""
    base = _stepwise(encoding, "l2", 4 if depth > 1 else 8, Fraction(1, 10), bends=bends)
    part = START_PART if base is None else base_part
    return Outline(BINS_PART, part, QUANTILE_LEVELS, base, n_trees, depth, window_part=WINDOW_PART)


def _stepwise(encoding: Encoding, norm: Norm, steps: int, pairs_part: Fraction, *, bends: bool) -> StepwiseBase | None:
    """Return a base of products of columns, unless there are too many of these."""
    base = StepwiseBase(AdditiveBase(norm, bends), steps, pairs_part)
    return base if base.fits(encoding) else None
