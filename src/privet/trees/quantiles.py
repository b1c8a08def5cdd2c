"""Private quantiles: where to cut ordered features so that the records spread evenly over the cells.

*Recursive*: a feature's cells on a fine public grid are halved again and again; each time a cut is chosen privately
that leaves about as many records on one side as on the other. *Joint*: all cuts of a feature in one draw (jointexp of
Gillenwater, Joseph and Kulesza, 2021).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from privet.mechanisms.joint_exponential import cut_range
from privet.mechanisms.release import Release
from privet.privacy.events import Cost, Event
from privet.privacy.terms import Share, Terms
from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, IntArray, Table
from privet.trees.structure import FeatureCodes

_OUTSIDE = -(1 << 40)  # a score that no cut within the interval can have, and that no record changes


class OfFeature(NamedTuple):
    """One planned question about a feature's quantiles: of one level, or of all cuts at once."""

    feature: int
    event: Event


@dataclass(frozen=True)
class CodeCounts:
    """Count records by feature and code, features one after the other.

    *Privacy.* Adding or removing a record changes one count by one for each feature.
    """

    n_codes: tuple[int, ...]

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts, as many as there are codes of all features together."""
        counts = [
            np.bincount(np.minimum(codes, n - 1), minlength=n)
            for codes, n in zip(block.codes, self.n_codes, strict=True)
        ]
        return np.concatenate(counts).astype(np.int64)


def counts_by_cell(table: Table) -> list[IntArray]:
    """Return the number of records in every cell of each feature, missing values left out; exact, not private."""
    domains = FeatureCodes.of(table.encoding)
    by_code = table.aggregate(CodeCounts(tuple(domains.n_codes.tolist())))
    starts = np.cumsum(domains.n_codes) - domains.n_codes
    return [by_code[start : start + cells] for start, cells in zip(starts, domains.n_cells, strict=True)]


@dataclass(frozen=True)
class QuantileSearch:
    """Recursive quantiles of every ordered feature: ``2^levels`` cells of about equally many records.

    Parameters
    ----------
    levels : int, default=5
        How many times cells are halved.

    Notes
    -----
    *Privacy.* A cut's score is minus the number of records on its fuller side: an added record changes it by -1 or 0,
    so the range is 1. Intervals of one feature and level see disjoint records. Levels and features do not, so their
    costs add up: each of them gets an equal part of the share.
    """

    levels: int = 5

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> tuple[OfFeature, ...]:
        """Plan one selection for each feature and level."""
        questions = list(self._questions(FeatureCodes.of(encoding)))
        part = None if share is None else share * Fraction(1, max(1, len(questions)))
        return tuple(
            OfFeature(
                feature,
                terms.choice(
                    f"quantiles of {encoding.columns[feature].name}, level {level + 1}",
                    part,
                    sees="the records between two cuts; intervals of one feature and level are disjoint",
                ),
            )
            for feature, level in questions
        )

    def run(self, table: Table, release: Release, planned: Sequence[OfFeature]) -> dict[int, list[int]]:
        """Release the cuts of each ordered feature, as codes in increasing order."""
        domains, cells_of = FeatureCodes.of(table.encoding), counts_by_cell(table)
        # an interval's cells come after one edge, up to the next
        edges = {of.feature: [-1, int(domains.n_cells[of.feature]) - 1] for of in planned}
        for feature, event in planned:
            cells = cells_of[feature]
            wide = [(low, high) for low, high in pairwise(edges[feature]) if high - low > 1]
            scores = np.stack([evenness(cells, low, high) for low, high in wide])
            chosen = release.choose(scores, event)
            edges[feature] = sorted({*edges[feature], *chosen.tolist()})
        return {feature: found[1:-1] for feature, found in edges.items()}

    def _questions(self, domains: FeatureCodes) -> Iterator[tuple[int, int]]:
        """Yield features and levels; no more levels than there surely is an interval left of more than one cell."""
        for feature in domains.splittable.tolist():
            if domains.ordered[feature]:
                most = (int(domains.n_cells[feature]) - 1).bit_length()
                yield from ((feature, level) for level in range(min(self.levels, most)))


@dataclass(frozen=True)
class JointQuantiles:
    """Quantiles of every ordered feature, all of a feature's cuts in one draw.

    Parameters
    ----------
    n_cuts : int, default=15
        How many for each feature; cuts that coincide become one.

    Notes
    -----
    *Privacy.* The exponential mechanism over all sorted tuples of cuts. The score compares each interval's records with
    an equal share of *all* records, whose number is private as well: it moves in both directions, and its range is four
    times the number of cuts in units of records times intervals, 4 (1 - 1/k) records for k intervals
    (`joint_exponential.cut_range`). Features see the same records, so their costs add up: each gets an equal part.
    """

    n_cuts: int = 15

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None) -> tuple[OfFeature, ...]:
        """Plan one draw for each ordered feature."""
        features = self._features(FeatureCodes.of(encoding))
        part = None if share is None else share * Fraction(1, max(1, len(features)))
        return tuple(
            OfFeature(feature, self._event(terms, f"quantiles of {encoding.columns[feature].name}", part))
            for feature in features
        )

    def run(self, table: Table, release: Release, planned: Sequence[OfFeature]) -> dict[int, list[int]]:
        """Release the cuts of each ordered feature, as codes in increasing order."""
        cells_of, cuts = counts_by_cell(table), {}
        for feature, event in planned:
            drawn = release.cuts(np.cumsum(cells_of[feature]), self.n_cuts, event)
            cuts[feature] = sorted(set(drawn.tolist()))
        return cuts

    def _event(self, terms: Terms, name: str, share: Share | None) -> Event:
        if share is None:
            return terms.choice(name, None)
        # At epsilon the exponential mechanism costs epsilon^2 / 8 in zCDP.
        rho = share.rho if share.epsilon is None else share.epsilon**2 / 8
        assert rho is not None
        event = terms.exponential(name, rho, score_range=cut_range(self.n_cuts))
        # The rate was rounded down; what is charged is the share as it was given.
        return event if share.epsilon is None else replace(event, cost=Cost(share.epsilon, rho))

    def _features(self, domains: FeatureCodes) -> list[int]:
        return [feature for feature in domains.splittable.tolist() if domains.ordered[feature]]


def evenness(cells: IntArray, low: int, high: int) -> IntArray:
    """Return the score of every cut of the feature as a cut of the cells after `low` up to `high`."""
    scores = np.full(cells.size - 1, _OUTSIDE, np.int64)
    below = np.cumsum(cells[low + 1 : high + 1])
    scores[low + 1 : high] = -np.maximum(below[:-1], below[-1] - below[:-1])
    return scores
