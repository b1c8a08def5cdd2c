"""Where trees begin with a grid of two features, from public facts alone.

`privet.learners.boosting.outline` says how rounds begin, this where their trees are grids. What it takes is signal: a
grid has many leaves. Numeric features have to be cut into cells of equal shares before, which costs budget; categories
are cells as they are. Where many features have so many of these that they would be put together at random, choices
among splits do better. The constants were found on data sets that docs/learners/boosting.md names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privet.learners.boosting.annealing import GridOfTwo
from privet.learners.boosting.outline import (
    LARGE_PURE_BINS_PART,
    LARGE_PURE_QUANTILE_LEVELS,
    LARGE_PURE_SIGNAL,
    MOST_SUMS,
    QUANTILE_LEVELS,
    signal_of,
)
from privet.learners.boosting.outlined import MANY_FEATURES, NOTHING, LittleSignal, Outline
from privet.privacy.terms import Share
from privet.schema.encoding import Encoding
from privet.trees.structure import FeatureCodes

SMALL_GRID, LARGE_GRID = 4, 6  # levels: 4 by 4 groups, or 8 by 8
MOST_PUT_TOGETHER = Fraction(1, 4)  # of the features: more categories than a grid has groups
LEVELS_BELOW = 2  # a grid, where there is signal for them
CHOICE_PART, CHOICE_PART_WITH_LEVELS = Fraction(1, 5), Fraction(1, 3)  # of a round

# Pure epsilon: from which n epsilon on grids pay off.
PURE_SIGNAL_OF_CATEGORIES, PURE_SIGNAL_OF_NUMBERS = 1_000, 8_000  # two classes, few features
PURE_SIGNAL_FOR_LEVELS_BELOW = 200_000  # and for many features at all
PURE_BINS_PART = Fraction(1, 10)  # of numeric features, below `LARGE_PURE_SIGNAL`

ROUNDS, LARGE_ROUNDS = 20, 40


@dataclass(frozen=True)
class _Facts:
    """What decides about grids, beside the signal; of the features that can be split."""

    n_features: int
    two_classes: bool
    has_numbers: bool
    n_sums: int  # of gradients, for one node
    most_categories: int
    put_together: Fraction

    @property
    def few_features(self) -> bool:
        return self.n_features <= MANY_FEATURES

    @property
    def few_categories(self) -> bool:
        return not self.has_numbers and self.most_categories <= 1 << SMALL_GRID // 2

    @classmethod
    def of(cls, encoding: Encoding) -> _Facts:
        domains = FeatureCodes.of(encoding)
        numeric, n_codes = domains.ordered[domains.splittable], domains.n_codes[domains.splittable]
        n_categories = np.where(numeric, 0, n_codes)
        return cls(
            n_features=n_codes.size,
            two_classes=encoding.n_classes == 2,
            has_numbers=bool(numeric.any()),
            n_sums=int(np.where(numeric, 1 << LARGE_PURE_QUANTILE_LEVELS, n_codes).sum()) * encoding.n_classes,
            most_categories=int(n_categories.max(initial=0)),
            put_together=Fraction(int((n_categories > 1 << LARGE_GRID // 2).sum()), max(n_codes.size, 1)),
        )


def with_grids(first: Outline, encoding: Encoding, share: Share, n_rows: int | None, steps: int) -> Outline:
    """Return rounds of trees that are grids where that pays off, for pure epsilon, and the same beginning otherwise."""
    facts = _Facts.of(encoding)
    if n_rows is None or not first.n_trees or facts.n_features < 2 or facts.put_together > MOST_PUT_TOGETHER:
        return first
    signal = signal_of(share, n_rows, steps)
    apart = not (facts.few_features and facts.two_classes)
    levels, least = LARGE_GRID, PURE_SIGNAL_OF_NUMBERS if facts.has_numbers else PURE_SIGNAL_OF_CATEGORIES
    if apart:
        least = LARGE_PURE_SIGNAL if facts.few_features else PURE_SIGNAL_FOR_LEVELS_BELOW
        if facts.few_categories:
            apart, levels, least = False, SMALL_GRID, LARGE_PURE_SIGNAL
    elif signal < PURE_SIGNAL_OF_NUMBERS:
        levels = SMALL_GRID
    if signal < least:
        return first
    if isinstance(first.base, LittleSignal):
        first = replace(first, base=None, base_part=NOTHING)
    below = LEVELS_BELOW if signal >= PURE_SIGNAL_FOR_LEVELS_BELOW and levels == LARGE_GRID else 0
    if facts.n_sums << (levels + below) > MOST_SUMS:
        below = 0
    rounds = replace(
        first,
        grid=GridOfTwo(levels, apart),
        depth=levels + below,
        n_trees=LARGE_ROUNDS if signal >= LARGE_PURE_SIGNAL else ROUNDS,
        split_part=CHOICE_PART_WITH_LEVELS if below else CHOICE_PART,
        shared_splits=True,
    )
    if not facts.has_numbers:
        return replace(rounds, bins_part=NOTHING, levels=0)
    if signal < LARGE_PURE_SIGNAL:
        return replace(rounds, bins_part=PURE_BINS_PART, levels=QUANTILE_LEVELS)
    return replace(rounds, bins_part=LARGE_PURE_BINS_PART, levels=LARGE_PURE_QUANTILE_LEVELS)
