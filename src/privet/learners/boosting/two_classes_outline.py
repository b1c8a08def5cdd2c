"""The outline for two classes under pure epsilon, below a large signal: class means, small trees, or both.

A choice of a split has all that it needs from one feature and says nothing of others; class means say a little of each.
So class means are the better one where there is little signal or one class is rare, and trees where one feature of many
decides. ``benchmarks/class_means.py`` has what the constants were chosen on.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from privet.learners.boosting.class_means import ClassMeans
from privet.learners.boosting.class_means_base import ClassMeansBase
from privet.learners.boosting.direction_base import DirectionBase
from privet.learners.boosting.frequencies_base import FrequenciesBase
from privet.learners.boosting.outlined import MANY_FEATURES, Outline, base_alone, falling, rounds_alone
from privet.learners.boosting.signed_columns import column_groups
from privet.schema.encoding import Encoding

FEW_COLUMNS = 12  # with more, pure noise on all of them hides the one that decides

# Of n epsilon. Class means are alone below the first of these, with few columns below the second.
SIGNAL_FOR_ROUNDS, SIGNAL_FOR_ROUNDS_FEW_COLUMNS = 20, 100
SIGNAL_FOR_TREES, SIGNAL_FOR_TREES_MANY_FEATURES = 50, 2_000  # of two levels, in place of stumps
SIGNALS_FOR_A_LOOK = (100, 400)  # many features: class means in place of rounds where a class is rare
SIGNALS_FOR_A_STEP, SIGNAL_FOR_EACH_COLUMN = (100, 2_000), 1  # few features: one step before trees
SIGNALS_FOR_MEANS = (200, 2_000)  # few columns: class means in place of the step
SIGNAL_FOR_EACH_MEAN, FEWEST_COLUMNS = 3, 4  # where there is less for each column, fewer are measured
SIGNAL_FOR_EACH_CENTRE = 15  # class means alone: with more for each column the means of all records come first

# Parts of the budget, which fall from the first to the second as there is more signal than once what follows.
MEANS_PARTS, SIGNAL_FOR_LESS_MEANS = (Fraction(2, 5), Fraction(1, 5)), 400  # before trees
FREQUENCIES_PARTS, SIGNAL_FOR_LESS_FREQUENCIES = (Fraction(1, 2), Fraction(1, 4)), 16  # of what class means have
LOOK_PARTS, SIGNAL_FOR_LESS_LOOK = (Fraction(1, 10), Fraction(1, 20)), 100  # at how frequent the classes are
STEP_PART = Fraction(1, 5)


def of_two_classes(encoding: Encoding, signal: float, n_rows: int) -> Outline:
    """Return what to measure for so much signal."""
    groups = column_groups(encoding)
    n_columns, few_features = sum(groups), len(groups) <= MANY_FEATURES
    few_columns = n_columns <= FEW_COLUMNS
    if signal < (SIGNAL_FOR_ROUNDS_FEW_COLUMNS if few_columns else SIGNAL_FOR_ROUNDS):
        return means_alone(signal, n_rows)
    rounds = small_trees(signal, few_features)
    if few_columns and _within(signal, SIGNALS_FOR_MEANS):
        return after_means(rounds, signal, n_rows)
    if not few_features:
        return unless_rare(rounds, signal, n_rows) if _within(signal, SIGNALS_FOR_A_LOOK) else rounds
    enough = _within(signal, SIGNALS_FOR_A_STEP) and signal >= SIGNAL_FOR_EACH_COLUMN * n_columns
    return after_a_step(rounds, n_rows) if enough else rounds


def small_trees(signal: float, few_features: bool) -> Outline:
    """Return stumps, or trees of two levels where there is enough signal."""
    return rounds_alone(1 if signal < (SIGNAL_FOR_TREES if few_features else SIGNAL_FOR_TREES_MANY_FEATURES) else 2)


def means_alone(signal: float, n_rows: int) -> Outline:
    """Return no rounds."""
    return base_alone(_frequencies_and_means(signal, n_rows, int(signal / SIGNAL_FOR_EACH_CENTRE)))


def after_a_step(rounds: Outline, n_rows: int) -> Outline:
    """Return the same rounds, which begin with one step of a logistic regression."""
    return replace(rounds, base=DirectionBase(n_rows), base_part=STEP_PART)


def after_means(rounds: Outline, signal: float, n_rows: int) -> Outline:
    """Return the same rounds, which begin with what class means say."""
    part = falling(*MEANS_PARTS, signal / SIGNAL_FOR_LESS_MEANS)
    return replace(rounds, base=_frequencies_and_means(signal * float(part), n_rows), base_part=part)


def unless_rare(rounds: Outline, signal: float, n_rows: int) -> Outline:
    """Return the same rounds, unless a look at how frequent the classes are puts class means in their place."""
    part = falling(*LOOK_PARTS, signal / SIGNAL_FOR_LESS_LOOK)
    means = ClassMeans(_most_columns(signal * float(1 - part)))
    return replace(rounds, base=FrequenciesBase(n_rows), base_part=part, if_rare=means)


def _within(signal: float, ends: tuple[int, int]) -> bool:
    return ends[0] <= signal < ends[1]


def _frequencies_and_means(signal: float, n_rows: int, most_centred: int = 0) -> ClassMeansBase:
    part = falling(*FREQUENCIES_PARTS, signal / SIGNAL_FOR_LESS_FREQUENCIES)
    return ClassMeansBase(n_rows, ClassMeans(_most_columns(signal), most_centred), part)


def _most_columns(signal: float) -> int:
    """Return of how many columns there is signal enough for the means."""
    return max(int(signal / SIGNAL_FOR_EACH_MEAN), FEWEST_COLUMNS)
