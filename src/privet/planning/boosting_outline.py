"""What boosting decides before it sees any data: what is measured, at what part of the budget; from public facts alone.

What counts is how many times its own noise a sum over all records is: ``n epsilon`` for pure epsilon, ``n^2 rho`` for
zCDP. The constants were found on data sets that docs/learners/boosting.md names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.encoding import Encoding
from privet.structure.additive_base import AdditiveBase
from privet.structure.histogram_base import HistogramBase
from privet.terms import Share, Terms

LEVELS = 4  # sixteen cells of a numeric feature
NOTHING, ALL = Fraction(0), Fraction(1)
SPLIT_PART = Fraction(3, 5)  # of rounds that begin with nothing, or have pure epsilon

# Pure epsilon, n epsilon
FEW_FEATURES, HISTOGRAMS_PURE = 7, (100, 400)  # two classes: between, histograms of so few rank records better
TREES_PURE = 2_000  # two classes: trees of depth two pay off above, stumps below; many classes: rounds at all
LARGE_PURE, LARGE_PURE_MANY_CLASSES = 20_000, 10_000  # more and deeper trees pay off above
EACH_FEATURE_PURE, FEWEST_FEATURES = 25, 3  # many classes: where there is less for each, fewer are measured

# zCDP, n^2 rho
MANY_FEATURES = 16  # two classes: above, stumps pay off sooner than a look at each feature
FEW_QUESTIONS = 600  # two classes: below, so few stumps can be paid for that pure epsilon is better for them
STUMPS = 4_000  # above, they pay off however few features there are
TWO_CLASSES, MANY_CLASSES = 16_000, 30_000  # a base of pairs and rounds pay off above
BASE_FALLS = 8_000, 40_000  # from nearly all to what remains the base's part
TINY_SIGNAL, LARGE_SIGNAL = 500, 1_000_000  # quantiles, then finer cells and deeper trees, pay off above
LARGE_BASE = Fraction(3, 20)


@dataclass(frozen=True)
class Outline:
    """What is decided from public facts alone.

    Attributes
    ----------
    bins_part, base_part : Fraction
        Of the budget; what is left is for the rounds. Without a base, its part is for a start that all records share.
    levels : int
        How many times the cells of a numeric feature are halved. Zero for cells that are public.
    base : AdditiveBase, HistogramBase or None
        The base.
    n_trees, depth : int
        The most rounds, and the levels of their trees; no rounds where there are no trees.
    split_part : Fraction
        Of each round's budget; the rest is for its leaves.
    """

    bins_part: Fraction
    base_part: Fraction
    levels: int
    base: AdditiveBase | HistogramBase | None
    n_trees: int = 0
    depth: int = 0
    split_part: Fraction = Fraction(1, 2)


def outline(encoding: Encoding, share: Share | None, n_rows: int | None, steps: int) -> Outline:
    """Return how to begin, from public facts: the kind of guarantee, the features, a guess at the number of records.

    Where the signal is small, many questions would only get noise for answers. Without a guess at the number of
    records a middling signal is assumed.
    """
    if share is not None and share.epsilon is not None:
        return _pure(encoding, None if n_rows is None else n_rows * float(share.epsilon) / steps, n_rows)
    if share is None or n_rows is None:
        base = AdditiveBase(8 if share is None else 4)
        return Outline(Fraction(1, 10), Fraction(3, 10), LEVELS, base if base.fits(encoding) else None, 60, 3)
    return _concentrated(encoding, _n_squared_rho(share, n_rows, steps), n_rows)


def is_better_pure(encoding: Encoding, terms: Terms, asked: Share, pure: Share, n_rows: int | None) -> bool:
    """Whether pure epsilon, which is a stronger guarantee than what is asked for, costs less noise as well.

    So it is where few things are measured: class histograms of few features, or a few stumps. One selection has the
    rate epsilon, or ``sqrt(8 rho)``, which is about half of it; only for many of them does the root make up for that.
    """
    if n_rows is None or not encoding.n_classes:
        return False
    if encoding.n_classes == 2 and _n_squared_rho(asked, n_rows, terms.steps) < FEW_QUESTIONS:
        return True
    of_asked, of_pure = (outline(encoding, share, n_rows, terms.steps) for share in (asked, pure))
    if of_asked.n_trees or of_pure.n_trees:
        return False
    if not (isinstance(of_asked.base, HistogramBase) and isinstance(of_pure.base, HistogramBase)):
        return False
    noise = of_pure.base.noise_for_each_feature(encoding, terms, pure)
    return noise <= of_asked.base.noise_for_each_feature(encoding, terms, asked)


def _n_squared_rho(share: Share, n_rows: int, steps: int) -> float:
    assert share.rho is not None
    return n_rows**2 * float(share.rho) / steps**2


def _rounds_alone(depth: int, n_trees: int = 16) -> Outline:
    """Return rounds that begin with nothing, so that all gradients are alike in the first."""
    return Outline(NOTHING, NOTHING, 0, None, n_trees, depth, SPLIT_PART)


def _base_alone(base: AdditiveBase | HistogramBase) -> Outline:
    return Outline(NOTHING, ALL, 0, base)


def _pure(encoding: Encoding, signal: float | None, n_rows: int | None) -> Outline:
    if not encoding.n_classes:  # a number
        return Outline(Fraction(1, 10), Fraction(1, 50), LEVELS, None, 16, 2)
    if signal is None or n_rows is None:
        return Outline(NOTHING, Fraction(1, 50), 0, None, 16, 2, SPLIT_PART)
    if encoding.n_classes == 2:
        least, most = HISTOGRAMS_PURE
        if encoding.n_features <= FEW_FEATURES and least <= signal < most:
            return _base_alone(HistogramBase(n_rows))
        if signal >= LARGE_PURE:
            return _rounds_alone(3, 60)
        return _rounds_alone(2 if signal >= TREES_PURE else 1)
    affordable = max(int(signal / EACH_FEATURE_PURE), FEWEST_FEATURES)
    base = HistogramBase(n_rows, affordable if affordable < encoding.n_features else None)
    if signal < TREES_PURE:
        return _base_alone(base)
    if signal >= LARGE_PURE_MANY_CLASSES:
        return Outline(NOTHING, Fraction(1, 5), 0, base, 60, 3, SPLIT_PART)
    return Outline(NOTHING, Fraction(1, 2), 0, base, 16, 2, SPLIT_PART)


def _concentrated(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    if encoding.n_classes == 2 and signal < TWO_CLASSES:
        stumps = signal >= (STUMPS if encoding.n_features <= MANY_FEATURES else 0)
        return _rounds_alone(1) if stumps else _base_alone(HistogramBase(n_rows))
    if encoding.n_classes > 2 and signal < MANY_CLASSES:
        return _base_alone(HistogramBase(n_rows))
    if signal < TINY_SIGNAL:
        return _base_alone(AdditiveBase(4, Fraction(3, 10), 0.5))
    large = signal > LARGE_SIGNAL
    base = AdditiveBase(8 if large and AdditiveBase(8).fits(encoding) else 4)
    if large and encoding.n_classes:
        fits = base.fits(encoding)
        return Outline(Fraction(1, 10), LARGE_BASE if fits else Fraction(1, 20), 6, base if fits else None, 30, 5)
    depth = 3 if large else 2
    if not base.fits(encoding):
        return Outline(Fraction(1, 10), Fraction(1, 20), LEVELS, None, 60, depth)
    first, last = BASE_FALLS
    weight = Fraction(round(100 * min(max(math.log(signal / first) / math.log(last / first), 0.0), 1.0)), 100)
    base = AdditiveBase(base.groups, Fraction(3, 10) + weight / 5, float(1 + weight) / 2)
    base_part = Fraction(9, 10) - weight * Fraction(3, 5)
    return Outline(Fraction(1, 10), base_part, LEVELS if weight else 2, base, 60 if weight else 0, depth)
