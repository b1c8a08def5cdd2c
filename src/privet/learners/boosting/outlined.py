"""What a fit of boosting is to measure, and for what part of the budget: what rules on public facts fill in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.learners.boosting.annealing import GridOfTwo
from privet.learners.boosting.choice_base import ChoiceBase
from privet.learners.boosting.class_means import ClassMeans
from privet.learners.boosting.class_means_base import ClassMeansBase
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.direction_base import DirectionBase
from privet.learners.boosting.frequencies_base import FrequenciesBase
from privet.learners.boosting.histogram_base import HistogramBase
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.regression_base import AdditiveBase
from privet.learners.boosting.stepwise_base import StepwiseBase
from privet.learners.boosting.whitened_base import WhitenedBase

NOTHING, ALL = Fraction(0), Fraction(1)
SPLIT_PART = Fraction(3, 5)  # of rounds on public cells
MANY_FEATURES = 16  # with more, no products of columns for two classes with a hint, nor for a number with pure epsilon

Base = (
    AdditiveBase
    | HistogramBase
    | StepwiseBase
    | DescentBase
    | DirectionBase
    | FrequenciesBase
    | ClassMeansBase
    | WhitenedBase
    | ChoiceBase
)

# Rounds after one of these begin with the margin of rounds alone: what noise has moved is left for them to mend.
LittleSignal = ClassMeansBase | DirectionBase | FrequenciesBase


@dataclass(frozen=True)
class Outline:
    """What is decided from public facts alone.

    Attributes
    ----------
    bins_part, base_part : Fraction
        Of the budget; what is left is for the rounds. Without a base, its part is for a start that all records share.
    levels : int
        How many times the cells of a numeric feature are halved. Zero for cells that are public.
    base : Base or None
        The base.
    n_trees, depth : int
        The most rounds, and the levels of their trees; no rounds where there are no trees.
    split_part : Fraction
        Of each round's budget; the rest is for its leaves.
    window_part : Fraction
        Of the budget, for where a regression target mostly lies.
    ranks : RankCounts or None
        What cells of numeric features come from, in place of halving them by selections.
    window_by_counts : bool
        Whether noisy counts say so, in place of private quartiles.
    shared_splits : bool
        Whether all nodes of a level are split alike.
    grid : GridOfTwo, optional
        What the first levels of trees are where their splits are no choice.
    if_rare : ClassMeans, optional
        What takes the place of all rounds where one of two classes turns out to be rare, by the base's frequencies.
    """

    bins_part: Fraction
    base_part: Fraction
    levels: int
    base: Base | None
    n_trees: int = 0
    depth: int = 0
    split_part: Fraction = Fraction(1, 2)
    window_part: Fraction = NOTHING
    ranks: RankCounts | None = None
    window_by_counts: bool = False
    shared_splits: bool = False
    grid: GridOfTwo | None = None
    if_rare: ClassMeans | None = None


def rounds_alone(depth: int, n_trees: int = 16) -> Outline:
    """Return rounds that begin with nothing, so that all gradients are alike in the first."""
    return Outline(NOTHING, NOTHING, 0, None, n_trees, depth, SPLIT_PART)


def base_alone(base: HistogramBase | ClassMeansBase) -> Outline:
    """Return a base that has all of the budget."""
    return Outline(NOTHING, ALL, 0, base)


def falling(most: Fraction, least: Fraction, times: float) -> Fraction:
    """Return a part of the budget: most up to a signal of once what asks for it, then less in proportion."""
    return max(least, min(most, (most * Fraction(1 / times)).limit_denominator(100)))
