"""What boosting decides before it sees any data: what is measured, at what part of the budget; from public facts alone.

What counts is how many times its own noise a sum over all records is: ``n epsilon`` for pure epsilon, ``n^2 rho`` for
zCDP. The constants were found on data sets that docs/learners/boosting.md names.

`privet.learners.boosting.annealing` then divides what the rounds may spend among them, by what was released.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet.learners.boosting.column_sizes import WEIGHT
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.gradients import Norm
from privet.learners.boosting.histogram_base import HistogramBase
from privet.learners.boosting.outlined import (
    ALL,
    MANY_FEATURES,
    NOTHING,
    SPLIT_PART,
    Outline,
    base_alone,
    falling,
    rounds_alone,
)
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.regression_base import MOST_COLUMNS, AdditiveBase
from privet.learners.boosting.two_classes_outline import of_two_classes
from privet.learners.boosting.whitened_base import WhitenedBase
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding

# Parts of the budget, and how finely numeric features are described.
QUANTILE_LEVELS, LARGE_QUANTILE_LEVELS = 4, 6  # 16 cells of a numeric feature by private quantiles, or 64
LARGE_PURE_QUANTILE_LEVELS = 5
BINS_PART, LARGE_PURE_BINS_PART = Fraction(1, 10), Fraction(1, 20)
BASE_PART, LARGE_SIGNAL_BASE_PART = Fraction(3, 10), Fraction(1, 10)
# Gradient descent where trees come after it: at least; at most for two classes of many features, and for many classes
# with little more signal than descent could use alone.
DESCENT_PART, MOST_DESCENT_PART_TWO_CLASSES, MOST_DESCENT_PART = Fraction(3, 20), Fraction(3, 10), Fraction(1, 2)
DESCENT_PART_BEFORE_STUMPS, TURNED_PART_BEFORE_STUMPS = Fraction(3, 5), Fraction(4, 5)
DESCENT_STEPS, DESCENT_STEPS_LONG, TURNED_STEPS = 30, 60, 36
PAIRS_PART = Fraction(1, 8)  # of what descent in turned columns has, for the products that turn them
TURNED_SHAKE, TURNED_SHAKE_BEFORE_TREES = 1.0, 0.6  # trees find what is left, and do not mend what noise has moved
START_PART = Fraction(1, 20)  # where there are too many columns for a regression

# Pure epsilon: from which n epsilon on something pays off.
PURE_SIGNAL_FOR_ROUNDS = 1_500  # many classes: any rounds
LARGE_PURE_SIGNAL, LARGE_PURE_SIGNAL_MANY_CLASSES = 20_000, 10_000  # more and deeper trees
PURE_SIGNAL_FOR_DEPTH_THREE, PURE_SIGNAL_FOR_DEPTH_FOUR = 50_000, 100_000
PURE_SIGNAL_FOR_EACH_FEATURE, FEWEST_FEATURES = 25, 3  # many classes: where there is less for each, fewer are measured

# zCDP: from which n^2 rho on something pays off.
SIGNAL_FOR_ZCDP = 800  # two classes: below, so few questions are asked that pure epsilon wins
SIGNAL_FOR_TREES_TWO_CLASSES = 16_000  # trees in place of stumps
# The strength of a signal (`strength_of`) between which gradient descent does best: many classes, alone; two classes
# of many features, alone and then before stumps.
STRENGTHS_MANY_CLASSES, STRENGTHS_TWO_CLASSES = (60, 30_000), (100, 30_000)
# Many features: below the first of these strengths descent is in lines, of records held within half of their size;
# below the second nothing comes after it.
STRENGTH_FOR_BENDS, STRENGTH_FOR_STUMPS, LINES_PART, HELD = 5_000, 1_000, Fraction(2, 5), Fraction(1, 2)
STRENGTHS_FEW_FEATURES = (300, 60_000)  # two classes of few features: descent alone; before trees beyond
# From which strength on descent gets less before trees, in proportion: many classes, two classes of few features and of
# many.
STRENGTH_FOR_LESS_MANY_CLASSES, STRENGTH_FOR_LESS_FEW_FEATURES = 60_000, 600_000
STRENGTH_FOR_LESS_MANY_FEATURES = 100_000
SIGNAL_FOR_TURNING = 1 / 2  # n^2 rho of what descent has, times the cube of the columns: from here on they are turned
LARGE_SIGNAL = 1_000_000  # deeper trees, each level of which shares one split, and finer cells
SIGNAL_FOR_DEPTH_FIVE, TIMES_FOR_A_LEVEL = 20_000_000, 40  # so many times the signal for each level more
FEWEST_ROUNDS, MOST_ROUNDS, MOST_LEVELS = 30, 200, 8  # for a large signal; rounds go by its fourth root
MOST_SUMS, MOST_CELLS = 1 << 23, 256  # of the nodes of one level, and of a feature: some 400 MB in all
SIGNAL_FOR_EACH_COLUMN = 5_000  # two classes with many features: a base by gradient descent


def outline(encoding: Encoding, share: Share | None, n_rows: int | None, steps: int) -> Outline:
    """Return how to begin, from public facts: the kind of guarantee, the features, a guess at the number of records.

    For classes; a regression target has rules of its own (`privet.learners.boosting.regression_outline`).
    Where the signal is small, many questions would only get noise for answers. Without a guess at the number of
    records a moderate signal is assumed.
    """
    if share is not None and share.epsilon is not None:
        return _pure(encoding, None if n_rows is None else signal_of(share, n_rows, steps), n_rows)
    if share is None or n_rows is None:
        return _binned(_regression(encoding, "l2"), BASE_PART, 60, 3)
    return _concentrated(encoding, signal_of(share, n_rows, steps), n_rows)


def is_better_pure(encoding: Encoding, terms: Terms, asked: Share, pure: Share, n_rows: int | None) -> bool:
    """Whether pure epsilon, which is a stronger guarantee than what is asked for, costs less noise as well.

    So it is where few things are measured: class means, class histograms of few features, or few stumps. One selection
    has the rate epsilon, or ``sqrt(8 rho)``, which is about half of it; only for many of them does the root make up for
    that.
    """
    if n_rows is None or not encoding.n_classes:
        return False
    if encoding.n_classes == 2:
        return signal_of(asked, n_rows, terms.steps) < SIGNAL_FOR_ZCDP
    of_asked, of_pure = (outline(encoding, share, n_rows, terms.steps) for share in (asked, pure))
    if of_asked.n_trees or of_pure.n_trees:
        return False
    if not (isinstance(of_asked.base, HistogramBase) and isinstance(of_pure.base, HistogramBase)):
        return False
    noise = of_pure.base.noise_for_each_feature(encoding, terms, pure)
    return noise <= of_asked.base.noise_for_each_feature(encoding, terms, asked)


def signal_of(share: Share, n_rows: int, steps: int) -> float:
    """Return ``n epsilon`` or ``n^2 rho``; a unit of several steps divides n."""
    if share.epsilon is not None:
        return n_rows * float(share.epsilon) / steps
    assert share.rho is not None
    return n_rows**2 * float(share.rho) / steps**2


def strength_of(encoding: Encoding, signal: float) -> float:
    """Return ``n^2 rho`` for each unit of a record's size and each two classes: what noise leaves of sums of gradients.

    A record's size in all columns is what their noise is paid for, and with many classes there are sums for each.
    """
    size = AdditiveBase().cap(encoding) / WEIGHT**2
    return signal / (size * encoding.n_classes / 2)


def _descent_alone(base: DescentBase | WhitenedBase) -> Outline:
    """Return no rounds: all noise is Gaussian and fixed in advance."""
    return Outline(BINS_PART, ALL, 0, base, ranks=RankCounts(base.n_rows))


def _binned(
    base: AdditiveBase | None, base_part: Fraction, n_trees: int, depth: int, levels: int = QUANTILE_LEVELS
) -> Outline:
    return Outline(BINS_PART, START_PART if base is None else base_part, levels, base, n_trees, depth)


def _regression(encoding: Encoding, norm: Norm) -> AdditiveBase | None:
    """Return a base of products of columns, unless there are too many of these."""
    base = AdditiveBase(norm)
    return base if base.fits(encoding) else None


def _after_descent(rounds: Outline, encoding: Encoding, signal: float, n_rows: int) -> Outline:
    """Return rounds that begin with a logistic regression by gradient descent, where each column has enough."""
    base = DescentBase(n_rows, DESCENT_STEPS)
    n_columns = base.columns.n_columns(encoding)
    if signal < SIGNAL_FOR_EACH_COLUMN * n_columns or n_columns > MOST_COLUMNS:
        return rounds
    part = descent_part(encoding, signal)
    turned = _turned(encoding, signal * float(part), n_rows, TURNED_SHAKE_BEFORE_TREES)
    return replace(rounds, base=turned or base, base_part=part)


def _turned(encoding: Encoding, signal: float, n_rows: int, shake: float = TURNED_SHAKE) -> WhitenedBase | None:
    """Return descent in turned columns, where there is enough signal for the products of so many of them.

    Turned columns are about equally long, so that the squared noise of a score grows with the square of their number,
    and so does that of the products; many columns that say nothing are borne better as they are.
    """
    base = WhitenedBase(n_rows, TURNED_STEPS, PAIRS_PART, shake=shake)
    enough = SIGNAL_FOR_TURNING * (base.columns.n_columns(encoding) + 1) ** 3
    return base if base.fits(encoding, signal) and signal >= enough else None


def descent_part(encoding: Encoding, signal: float) -> Fraction:
    """Return what gradient descent gets before trees of two classes and many features; much signal leaves it less."""
    times = strength_of(encoding, signal) / STRENGTH_FOR_LESS_MANY_FEATURES
    return falling(MOST_DESCENT_PART_TWO_CLASSES, DESCENT_PART, times)


def rounds_and_depth(encoding: Encoding, signal: float) -> tuple[int, int]:
    """Return the most rounds and the levels of their trees for a large signal under zCDP; levels share their splits.

    One choice for all nodes of a level sees all records, where a node of the lower levels has few. A tree of such
    splits says less than one whose nodes choose for themselves, and more and deeper trees make up for that, as long as
    the sums of all nodes fit into memory.
    """
    times, cells = signal / SIGNAL_FOR_DEPTH_FIVE, int(np.minimum(encoding.n_codes, MOST_CELLS).sum())
    n_trees = min(max(FEWEST_ROUNDS * times**0.25, FEWEST_ROUNDS), MOST_ROUNDS)
    levels = min(5 + math.floor(math.log(times, TIMES_FOR_A_LEVEL)), MOST_LEVELS)
    affordable = math.floor(math.log2(MOST_SUMS / (cells * max(encoding.n_classes, 1)))) + 1
    return int(n_trees), max(min(levels, affordable), 2)


def _for_large_signal(encoding: Encoding, base: AdditiveBase | None, signal: float) -> Outline:
    rounds = _binned(base, LARGE_SIGNAL_BASE_PART, *rounds_and_depth(encoding, signal), LARGE_QUANTILE_LEVELS)
    return replace(rounds, shared_splits=True)


def _on_public_cells(rounds: Outline) -> Outline:
    """Return the same rounds without cells by quantiles, and without a base."""
    return replace(rounds_alone(rounds.depth, rounds.n_trees), shared_splits=rounds.shared_splits)


def _for_large_pure_signal(
    encoding: Encoding, base: AdditiveBase | HistogramBase | None, base_part: Fraction, signal: float
) -> Outline:
    """Return rounds for a large signal under pure epsilon, whose levels share their splits."""
    depth = 2 + (signal >= PURE_SIGNAL_FOR_DEPTH_THREE) + (signal >= PURE_SIGNAL_FOR_DEPTH_FOUR)
    rounds = replace(rounds_alone(depth, 60), shared_splits=True)
    if base is not None:
        rounds = replace(rounds, base=base, base_part=base_part)
    if encoding.n_features > MANY_FEATURES:  # quantiles of so many would cost too much
        return rounds
    return replace(rounds, bins_part=LARGE_PURE_BINS_PART, levels=LARGE_PURE_QUANTILE_LEVELS)


def _pure(encoding: Encoding, signal: float | None, n_rows: int | None) -> Outline:
    if signal is None or n_rows is None:
        return Outline(NOTHING, Fraction(1, 50), 0, None, 16, 2, SPLIT_PART)
    if encoding.n_classes == 2:
        if signal < LARGE_PURE_SIGNAL:
            return of_two_classes(encoding, signal, n_rows)
        columns = encoding.n_features <= MANY_FEATURES and signal >= PURE_SIGNAL_FOR_DEPTH_THREE
        regression = _regression(encoding, "l1") if columns else None
        return _for_large_pure_signal(encoding, regression, LARGE_SIGNAL_BASE_PART, signal)
    affordable = max(int(signal / PURE_SIGNAL_FOR_EACH_FEATURE), FEWEST_FEATURES)
    base = HistogramBase(n_rows, affordable if affordable < encoding.n_features else None)
    if signal < PURE_SIGNAL_FOR_ROUNDS:
        return base_alone(base)
    if signal >= LARGE_PURE_SIGNAL:
        return _for_large_pure_signal(encoding, base, Fraction(1, 5), signal)
    if signal >= LARGE_PURE_SIGNAL_MANY_CLASSES:
        return Outline(NOTHING, Fraction(1, 5), 0, base, 60, 3, SPLIT_PART)
    return Outline(NOTHING, Fraction(1, 2), 0, base, 16, 2, SPLIT_PART)


def _concentrated(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    if encoding.n_classes > 2:
        return _many_classes(encoding, signal, n_rows)
    if encoding.n_features > MANY_FEATURES:
        return _two_classes_many_features(encoding, signal, n_rows)
    return _two_classes_few_features(encoding, signal, n_rows)


def _many_classes(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    strength, (few, enough) = strength_of(encoding, signal), STRENGTHS_MANY_CLASSES
    descent = DescentBase(n_rows, DESCENT_STEPS_LONG)
    descends = descent.fits(encoding, signal)
    if few <= strength < enough and descends:
        return _descent_alone(_turned(encoding, signal, n_rows) or descent)
    if strength < enough:
        return base_alone(HistogramBase(n_rows))
    rounds = _for_large_signal(encoding, None, signal) if signal > LARGE_SIGNAL else _binned(None, START_PART, 60, 2)
    part = falling(MOST_DESCENT_PART, DESCENT_PART, strength / STRENGTH_FOR_LESS_MANY_CLASSES)
    turned = _turned(encoding, signal * float(part), n_rows, TURNED_SHAKE_BEFORE_TREES)
    base = turned or DescentBase(n_rows, DESCENT_STEPS)
    return replace(rounds, base=base, base_part=part) if descends else rounds


def _two_classes_few_features(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    """Return stumps after a regression, then descent alone, then trees that find more than it, after descent."""
    strength, descent = strength_of(encoding, signal), DescentBase(n_rows, DESCENT_STEPS_LONG)
    few, enough = STRENGTHS_FEW_FEATURES
    if few <= strength < enough and descent.fits(encoding, signal):
        return _descent_alone(_turned(encoding, signal, n_rows) or descent)
    regression = _regression(encoding, "l2")
    if signal < SIGNAL_FOR_TREES_TWO_CLASSES:
        stumps = rounds_alone(1)
        return stumps if regression is None else replace(stumps, base=regression, base_part=Fraction(1, 2))
    rounds = _binned(regression, BASE_PART, 60, 2)
    if signal > LARGE_SIGNAL:
        rounds = _for_large_signal(encoding, regression, signal)
    part = falling(BASE_PART, LARGE_SIGNAL_BASE_PART, strength / STRENGTH_FOR_LESS_FEW_FEATURES)
    turned = _turned(encoding, signal * float(part), n_rows, TURNED_SHAKE_BEFORE_TREES)
    return rounds if turned is None else replace(rounds, base=turned, base_part=part)


def _two_classes_many_features(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    """Return descent, and stumps after it, which find what is in a single feature; stumps alone where it is lost."""
    strength, ranks = strength_of(encoding, signal), RankCounts(n_rows)
    few, enough = STRENGTHS_TWO_CLASSES
    if few <= strength < enough:
        turned = _turned(encoding, signal * float(TURNED_PART_BEFORE_STUMPS), n_rows)
        if turned is not None:
            return Outline(BINS_PART, TURNED_PART_BEFORE_STUMPS, 0, turned, 16, 1, ranks=ranks)
        descent, part = DescentBase(n_rows, DESCENT_STEPS_LONG), DESCENT_PART_BEFORE_STUMPS
        if strength < STRENGTH_FOR_BENDS:
            descent, part = replace(descent, columns=AdditiveBase(bends=False), held=HELD), LINES_PART
        if descent.fits(encoding, signal):
            alone = strength < STRENGTH_FOR_STUMPS
            return _descent_alone(descent) if alone else Outline(BINS_PART, part, 0, descent, 16, 1, ranks=ranks)
    if signal < SIGNAL_FOR_TREES_TWO_CLASSES:
        return rounds_alone(1)
    large = signal > LARGE_SIGNAL
    rounds = _on_public_cells(_for_large_signal(encoding, None, signal)) if large else rounds_alone(2, 30)
    return _after_descent(rounds, encoding, signal, n_rows)
