"""Choosing depth and feature subsets for free: from public facts, or from counts that were released anyway."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privet.learners.matrix_forest.designs import StrategyDesign
from privet.learners.matrix_forest.domain_cells import DomainCells
from privet.learners.matrix_forest.votes import ForestVotes
from privet.privacy.events import Event, Mechanism
from privet.randomness.public import PublicRng
from privet.tables.protocol import Floats

NUMBERS_OF_ENSEMBLES = (1, 2, 3, 4, 6, 8, 12, 16)
MOST_IN_SUBSET = 6
ENOUGH_SIGNAL = 5.0  # records in a leaf, in standard deviations of a vote's noise; set on Car, Iris and Balance


def signal_to_noise(design: StrategyDesign, n_rows: int) -> float:
    """Return the mean number of records in a leaf, if they were spread evenly, over the noise of a vote."""
    ensembles = design.setting.ensembles
    mass = np.mean([ForestVotes(e.cells, e.depth).mean_leaf_mass(n_rows) for e in ensembles])
    return float(mass) / design.chosen.noise if design.chosen.noise > 0 else np.inf


@dataclass(frozen=True)
class EnsembleShape:
    """A forest's shape: feature subsets, features in each, features on a path."""

    n_ensembles: int
    subset_features: int
    depth: int


def shapes(
    n_features: int, max_depth: int, n_ensembles: int | None, subset_features: int | None
) -> list[EnsembleShape]:
    """Return the shapes that are worth a look; what is given stays as it is."""
    small = range(1, min(n_features, MOST_IN_SUBSET + 1))
    sizes = [subset_features or n_features] if n_ensembles else [*small, n_features]
    return [
        EnsembleShape(number, size, depth)
        for size in sizes
        for number in ([n_ensembles] if n_ensembles else NUMBERS_OF_ENSEMBLES)
        if number <= math.comb(n_features, size)
        for depth in range(1, min(max_depth, size) + 1)
    ]


def shape_from_public_facts(
    designs: Callable[[EnsembleShape], StrategyDesign | None], tried: Sequence[EnsembleShape], n_rows: int
) -> EnsembleShape:
    """Return the deepest shape whose votes stand out of the noise, else the one where they stand out most.

    Among shapes of equal depth the one that looks at most features wins, then the one with the clearest votes. It knows
    nothing of which features matter, nor of where the records are; that is what makes it free.

    Parameters
    ----------
    designs : callable
        Gives the design of a shape, or None where there is none.
    tried : sequence of EnsembleShape
        The shapes to look at.
    n_rows : int
        A public guess at the number of records.
    """
    ratios: dict[EnsembleShape, float] = {}
    seen: dict[EnsembleShape, int] = {}
    for shape in tried:
        design = designs(shape)
        if design is not None:
            ratios[shape] = signal_to_noise(design, n_rows)
            seen[shape] = len({feature for ensemble in design.setting.ensembles for feature in ensemble.features})
    enough = [shape for shape, ratio in ratios.items() if ratio >= ENOUGH_SIGNAL]
    if not enough:
        return max(ratios, key=lambda shape: ratios[shape])
    return max(enough, key=lambda shape: (shape.depth, seen[shape], ratios[shape]))


def depth_from_counts(cells: DomainCells, counts: Floats, event: Event, depths: Sequence[int], rng: PublicRng) -> int:
    """Return the depth whose votes classify the released counts best, each cell left out of its own vote.

    A cell's own noise is both in its count and in its vote, which would favour deep trees; so its own count is taken
    out of the vote, and fresh noise of the same law is put in its place.

    *Privacy.* Post-processing: it looks at released counts alone, and its fresh noise is public.
    """
    scores = {}
    for depth in depths:
        votes = ForestVotes(cells, depth).answer(counts) - counts  # the kernel of one cell with itself is one
        winners = (votes + _fresh(event, counts.shape, rng)).argmax(axis=1)
        scores[depth] = float(counts[np.arange(len(counts)), winners].sum())
    return max(scores, key=lambda depth: scores[depth])


def _fresh(event: Event, shape: tuple[int, ...], rng: PublicRng) -> Floats:
    if event.mechanism is Mechanism.LAPLACE:
        return rng.laplace(scale=float(event.parameter), size=shape)
    if event.mechanism is Mechanism.GAUSSIAN:
        return rng.normal(scale=float(event.parameter) ** 0.5, size=shape)
    return np.zeros(shape)
