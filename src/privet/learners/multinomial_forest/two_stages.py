"""Choosing a feature first and a split of it afterwards, from the scores of all candidates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.randomness.public import PublicRng
from privet.tables.protocol import IntArray
from privet.trees.candidates import Candidates

# Scores of places without a candidate: as bad as a split that misplaces four billion records.
NO_CANDIDATE = -(1 << 52)


@dataclass(frozen=True)
class TwoStages:
    """A public list of splits, ordered by feature.

    Notes
    -----
    *Privacy.* If one record lowers the scores of all candidates by amounts within [0, R], it lowers every feature's
    best score by an amount within [0, R] as well, and so it does with the scores of one feature's candidates. Each
    stage is a selection of range R. Places without a candidate have one constant score, a change of 0: the same range.
    """

    candidates: Candidates

    @cached_property
    def features(self) -> IntArray:
        """The features that can be split, in the order of the first stage's candidates."""
        return np.unique(self._feature)

    def best_of_features(self, scores: IntArray) -> IntArray:
        """Return the best score of each feature at each node: the candidates of the first stage."""
        return np.column_stack([scores[:, self._of(place)].max(axis=1) for place in range(self.features.size)])

    def of_chosen(self, scores: IntArray, chosen: IntArray) -> IntArray:
        """Return the scores of the chosen feature's candidates at each node, filled up with the worst."""
        out = np.full((len(scores), self._most), NO_CANDIDATE, np.int64)
        for node, place in enumerate(chosen.tolist()):
            own = scores[node, self._of(place)]
            out[node, : own.size] = own
        return out

    def candidate(self, feature: IntArray, value: IntArray) -> IntArray:
        """Return the numbers of the candidates that the two stages chose; a place without one means the first."""
        pairs = zip(feature.tolist(), value.tolist(), strict=True)
        return np.array([self._number(place, at) for place, at in pairs], dtype=np.int64)

    def by_chance(self, n_nodes: int, rng: PublicRng) -> IntArray:
        """Draw a feature for each node, and then one of its candidates, both uniformly."""
        feature = rng.integers(self.features.size, size=n_nodes)
        value = [int(rng.integers(self._of(place).size)) for place in feature.tolist()]
        return self.candidate(feature, np.array(value, dtype=np.int64))

    def _number(self, place: int, at: int) -> int:
        own = self._of(place)
        return int(own[at if at < own.size else 0])

    def _of(self, place: int) -> IntArray:
        return self._by_feature[place]

    @cached_property
    def _by_feature(self) -> list[IntArray]:
        return [np.flatnonzero(self._feature == feature) for feature in self.features]

    @cached_property
    def _most(self) -> int:
        return max((own.size for own in self._by_feature), default=0)

    @cached_property
    def _feature(self) -> IntArray:
        """The feature of every candidate."""
        n_codes = self.candidates.domains.n_codes
        lengths = [(walk.feature, len(walk)) for walk in self.candidates.walks]
        lengths += [(feature, (1 << int(n_codes[feature]) - 1) - 1) for feature in self.candidates.subset_features]
        return np.repeat([feature for feature, _ in lengths], [length for _, length in lengths]).astype(np.int64)
