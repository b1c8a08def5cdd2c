"""Feature subsets for several ensembles: random ones, or a choice that brings every pair of features together."""

from __future__ import annotations

import math
from itertools import combinations

from privet.errors import ParameterError
from privet.learners.matrix_forest.domain_cells import FeatureSet
from privet.randomness.public import PublicRng

TRIES = 400  # subsets looked at for each place of a covering choice, where there are too many to look at all


def random_subsets(features: FeatureSet, number: int, size: int, rng: PublicRng) -> list[FeatureSet]:
    """Draw different subsets, uniformly."""
    _check(features, number, size)
    drawn: list[FeatureSet] = []
    while len(drawn) < number:
        subset = _draw(features, size, rng)
        if subset not in drawn:
            drawn.append(subset)
    return drawn


def covering_subsets(features: FeatureSet, number: int, size: int, rng: PublicRng) -> list[FeatureSet]:
    """Choose different subsets, each the one that adds most pairs of features not yet together; ties at random.

    Two features that interact are seen by the same trees only if some subset holds both, so covering pairs first takes
    away most of what a random choice leaves to luck.
    """
    _check(features, number, size)
    chosen: list[FeatureSet] = []
    seen: dict[tuple[int, int], int] = dict.fromkeys(combinations(features, 2), 0)
    for _ in range(number):
        if math.comb(len(features), size) <= TRIES:
            tried = [subset for subset in combinations(features, size) if subset not in chosen]
        else:
            tried = [subset for subset in {_draw(features, size, rng) for _ in range(TRIES)} if subset not in chosen]
        # A pair that was seen often counts for little.
        worth = [
            (sum(4.0 ** -seen[pair] for pair in combinations(subset, 2)), rng.random()) for subset in sorted(tried)
        ]
        best = sorted(tried)[worth.index(max(worth))]
        chosen.append(best)
        for pair in combinations(best, 2):
            seen[pair] += 1
    return chosen


def _draw(features: FeatureSet, size: int, rng: PublicRng) -> FeatureSet:
    return tuple(sorted(features[i] for i in rng.permutation(len(features))[:size].tolist()))


def _check(features: FeatureSet, number: int, size: int) -> None:
    if not 1 <= size <= len(features):
        raise ParameterError(f"subset_features must be from 1 to {len(features)}, the number of features, got {size}")
    if number > math.comb(len(features), size):
        raise ParameterError(
            f"n_ensembles={number}, but there are only {math.comb(len(features), size)} subsets of {size} of "
            f"{len(features)} features: use fewer ensembles, or another subset_features"
        )
