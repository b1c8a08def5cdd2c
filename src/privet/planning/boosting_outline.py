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
from privet.terms import Share

LEVELS = 4  # sixteen cells of a numeric feature
TWO_CLASSES_PURE, MANY_CLASSES_PURE = 500, 2000  # of n epsilon; rounds pay off above,
FEW_FEATURES_PURE = 50, 1000  # for two classes and features with so much each from there on only
SIGNED_SUMS = 20  # of n epsilon over the number of features; below, two classes have one signed sum for both counts
TWO_CLASSES_PER_FEATURE, MANY_CLASSES_PER_FEATURE = 6, 25  # of n epsilon; where there is less, fewer are measured
FEWEST_FEATURES = 3
MANY_FEATURES = 16  # two classes: above, a choice among all features pays off sooner than a look at each of them,
STUMPS_PURE, STUMPS_CONCENTRATED = 40, 80  # from so much of n epsilon, or n^2 rho, on
TWO_CLASSES, MANY_CLASSES = 16_000, 30_000  # of n^2 rho; rounds pay off above
BASE_FALLS = 8_000, 40_000  # of n^2 rho: from nearly all to what remains the base's part
TINY_SIGNAL, LARGE_SIGNAL = 500, 1_000_000  # of n^2 rho; quantiles, then finer cells and deeper trees, pay off above
LARGE_BASE = Fraction(3, 20)
NOTHING, ALL = Fraction(0), Fraction(1)
PURE_SPLIT_PART = Fraction(13, 20)


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


# Each round asks one question of all features, and all that is spent on it is spent on one sum of all records.
STUMPS = Outline(NOTHING, NOTHING, 0, None, 16, 1, PURE_SPLIT_PART)


def outline(encoding: Encoding, share: Share | None, n_rows: int | None, steps: int) -> Outline:
    """Return how to begin, from public facts: the kind of guarantee, the features, a guess at the number of records.

    Where the signal is small rounds would only add noise, so that all is spent on the base. Without a guess at the
    number of records a middling signal is assumed.
    """
    if share is not None and share.epsilon is not None:
        return _pure(encoding, None if n_rows is None else n_rows * float(share.epsilon) / steps, n_rows)
    if share is None or n_rows is None:
        base = AdditiveBase(8 if share is None else 4)
        return Outline(Fraction(1, 10), Fraction(3, 10), LEVELS, base if base.fits(encoding) else None, 60, 3)
    assert share.rho is not None
    return _concentrated(encoding, n_rows**2 * float(share.rho) / steps**2, n_rows)


def _pure(encoding: Encoding, signal: float | None, n_rows: int | None) -> Outline:
    if not encoding.n_classes:  # a number
        return Outline(Fraction(1, 10), Fraction(1, 50), LEVELS, None, 16, 2)
    if signal is None or n_rows is None:
        return Outline(NOTHING, Fraction(1, 50), 0, None, 16, 2, PURE_SPLIT_PART)
    base = HistogramBase(n_rows, _fewer(encoding.n_features, signal, encoding.n_classes))
    if encoding.n_classes == 2:
        if STUMPS_PURE <= signal < TWO_CLASSES_PURE and encoding.n_features > MANY_FEATURES:
            return STUMPS
        each, least = FEW_FEATURES_PURE
        if signal >= (least if signal >= each * encoding.n_features else TWO_CLASSES_PURE):
            return Outline(NOTHING, NOTHING, 0, None, 16, 2, PURE_SPLIT_PART)
        if base.n_features is None and signal < SIGNED_SUMS * encoding.n_features:
            return Outline(NOTHING, ALL, 0, AdditiveBase(4, NOTHING, 1.0, n_rows))
        return Outline(NOTHING, ALL, 0, base)
    if signal < MANY_CLASSES_PURE:
        return Outline(NOTHING, ALL, 0, base)
    return Outline(NOTHING, Fraction(1, 2), 0, base, 16, 2, PURE_SPLIT_PART)


def _fewer(n_features: int, signal: float, n_classes: int) -> int | None:
    """Return how many features pure noise allows for; None for all."""
    each = TWO_CLASSES_PER_FEATURE if n_classes == 2 else MANY_CLASSES_PER_FEATURE
    affordable = max(int(signal / each), FEWEST_FEATURES)
    return affordable if affordable < n_features else None


def _concentrated(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    if encoding.n_classes == 2 and STUMPS_CONCENTRATED <= signal < TWO_CLASSES and encoding.n_features > MANY_FEATURES:
        return STUMPS
    if encoding.n_classes and signal < (TWO_CLASSES if encoding.n_classes == 2 else MANY_CLASSES):
        return Outline(NOTHING, ALL, 0, HistogramBase(n_rows))
    if signal < TINY_SIGNAL:
        return Outline(NOTHING, ALL, 0, AdditiveBase(4, Fraction(3, 10), 0.5))
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
