"""Greedy multi-way trees on exact counts, one level at a time: an unordered feature splits into all its codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.tables.protocol import IntArray, Table
from privet.trees.explicit_trees import ExplicitTrees, TreeBuilder
from privet.trees.greedy import AtRoot
from privet.trees.kernels.blocks import Whole
from privet.trees.kernels.histogram import NodeHistogram
from privet.trees.scores import SCORES, head_start, score_of_counts
from privet.trees.structure import FeatureCodes, Multiway, Split, Threshold

CRITERIA = ("max", "gini", "information")
_INFORMATION = 3  # next to the kinds of privet.trees.scores
_INFORMATION_BITS = 20
UNAVAILABLE = -(1 << 60)  # the score of a split that the path above has used up; public, since the path is


@dataclass(frozen=True, eq=False)
class Criterion:
    """A split score in integers: its kind, its range for one record, and a table for the information gain.

    Parameters
    ----------
    kind : int
        As in `privet.trees.scores`: errors, which rank splits as the *max operator* does, or Gini; else information.
    range : int
        By how much, at the most, the changes that one record makes differ between candidates.
    n_log_n : int64 array
        For information: n log2(n) in units of 2^-20, rounded down, for all n that can occur.
    most : int
        For information: class counts of a child beyond it count as this many.

    Notes
    -----
    *Privacy.* Max and Gini: see `privet.trees.scores`. Information: the score of a child with counts c is F(sum c) -
    sum F(c) with a minus sign, F the table. Adding a record to class k takes F(n+1) - F(n) off and gives F(c_k+1) -
    F(c_k) back, or changes nothing where c_k is at its most. F is convex up to rounding by one step, so the change lies
    between minus the largest step of F and two rounding steps: that is the range, read off the very table that is used.
    """

    kind: int
    range: int
    n_log_n: IntArray
    most: int

    def __str__(self) -> str:
        return CRITERIA[min(self.kind, 2)]

    @staticmethod
    def named(name: str, n_classes: int, most: int) -> Criterion:
        """Return a criterion; `most` is a public bound, for information only."""
        if name != "information":
            score = SCORES["errors" if name == "max" else "gini"]
            return Criterion(int(score.kind), score.range, np.zeros(1, np.int64), 0)
        n = np.arange(n_classes * most + 2, dtype=np.float64)
        table = np.floor(n * np.log2(np.maximum(n, 1)) * 2.0**_INFORMATION_BITS).astype(np.int64)
        return Criterion(_INFORMATION, int(np.diff(table).max()) + 2, table, most)


@inner
def _child(kind: int, counts: IntArray, n_log_n: IntArray, most: int) -> Whole:
    if kind != 3:
        return score_of_counts(kind, counts)
    total, back = 0, 0
    for count in counts:
        held = min(count, most)
        total += held
        back += n_log_n[held]
    return back - n_log_n[total]


@compiled
def _score(
    histogram: IntArray,
    offsets: IntArray,
    allowed: NDArray[np.bool_],
    ordered: NDArray[np.bool_],
    n_cells: IntArray,
    kind: int,
    n_log_n: IntArray,
    most: int,
    out: IntArray,
) -> None:
    n_nodes, _, n_classes = histogram.shape
    left, right = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for node in range(n_nodes):
        candidate = 0
        for feature in range(ordered.size):
            begin, end = offsets[feature], offsets[feature + 1]
            if not allowed[feature]:
                continue
            if not ordered[feature]:
                score = np.int64(0)
                for code in range(begin, end):
                    score += _child(kind, histogram[node, code], n_log_n, most)
                out[node, candidate] = score
                candidate += 1
                continue
            left[:] = 0
            right[:] = 0
            for code in range(begin, end):
                right += histogram[node, code]
            for cut in range(n_cells[feature] - 1):
                left += histogram[node, begin + cut]
                right -= histogram[node, begin + cut]
                out[node, candidate] = _child(kind, left, n_log_n, most) + _child(kind, right, n_log_n, most)
                candidate += 1


class MultiwayGrowth:
    """One tree that grows level by level; the caller makes the choices.

    Candidates are each unordered feature, split into all its codes and once on a path, and each cut of each ordered
    feature's public grid.

    Parameters
    ----------
    table : Table
        The records.
    criterion : Criterion
        What makes a split a good one.
    features : sequence of int, optional
        The features that may be split, a public choice; all by default.

    Notes
    -----
    *Privacy.* What `totals` and `scores` give is exact and private: learners pass it through a release, and tell
    `split` what was released. Open nodes see disjoint records.
    """

    def __init__(self, table: Table, criterion: Criterion, features: Sequence[int] | None = None) -> None:
        self._domains = FeatureCodes.of(table.encoding)
        self._criterion = criterion
        self._table = table.derive("node", AtRoot())
        self._n_classes = table.encoding.n_classes
        self._builder = TreeBuilder(self._domains)
        self._used: list[frozenset[int]] = [frozenset()]
        self.splits: list[Split] = []
        self._feature: list[int] = []
        self._allowed = np.isin(np.arange(self._domains.n_features), self._domains.splittable)
        if features is not None:
            self._allowed &= np.isin(np.arange(self._domains.n_features), list(features))
        for feature in np.flatnonzero(self._allowed).tolist():
            ordered = bool(self._domains.ordered[feature])
            cuts = range(int(self._domains.n_cells[feature]) - 1) if ordered else range(1)
            self.splits += [Threshold(feature, cut) if ordered else Multiway(feature) for cut in cuts]
            self._feature += [feature] * len(cuts)
        self._count()

    @property
    def n_open(self) -> int:
        """Number of open nodes."""
        return self._builder.n_open

    @property
    def most_counts(self) -> int:
        """The most class counts that the children of one node can have."""
        return int(np.where(self._domains.ordered, 2, self._domains.n_codes).max()) * self._n_classes

    @property
    def totals(self) -> IntArray:
        """The number of records of each open node."""
        first = int(self._domains.n_codes[0])
        totals: IntArray = self._histogram[:, :first].sum(axis=(1, 2))
        return totals

    @property
    def ordered_candidates(self) -> list[IntArray]:
        """For each ordered feature the numbers of its cuts among the candidates."""
        feature = np.array(self._feature, np.int64)
        return [np.flatnonzero(feature == f) for f in np.flatnonzero(self._allowed & self._domains.ordered)]

    def scores(self, rate: float | None = None) -> IntArray:
        """Return the scores of all candidates at all open nodes.

        With the `rate` of one selection among all of them, all cuts of an ordered feature together start with the
        weight of one unordered feature: a public constant for each candidate.
        """
        scores = np.zeros((self.n_open, len(self.splits)), np.int64)
        criterion, domains = self._criterion, self._domains
        offsets = np.concatenate([[0], np.cumsum(domains.n_codes)]).astype(np.int64)
        _score(
            self._histogram,
            offsets,
            self._allowed,
            domains.ordered,
            domains.n_cells,
            criterion.kind,
            criterion.n_log_n,
            criterion.most,
            scores,
        )
        feature = np.array(self._feature)
        if rate is not None:
            per_feature = np.bincount(feature, minlength=domains.n_features)
            handicap = [round(head_start(n, rate)) for n in per_feature.tolist()]
            scores -= np.array(handicap, np.int64)[feature]
        for node, used in enumerate(self._used):
            if used:
                scores[node, np.isin(feature, list(used))] = UNAVAILABLE
        return scores

    def split(self, chosen: list[int | None]) -> None:
        """Split every open node by the candidate with this number, or make it a leaf."""
        below = []
        for used, candidate in zip(self._used, chosen, strict=True):
            if candidate is None:
                continue
            split = self.splits[candidate]
            if isinstance(split, Multiway):
                below += [used | {split.feature}] * int(self._domains.n_codes[split.feature])
            else:
                below += [used, used]
        self._builder.grow([None if c is None else self.splits[c] for c in chosen])
        self._used = below
        self._table = self._table.derive("node", self._builder.step("node"))
        self._count()

    def finish(self) -> ExplicitTrees:
        """Make all open nodes leaves and return the tree."""
        return self._builder.finish()

    def _count(self) -> None:
        codes = tuple(self._domains.n_codes.tolist())
        self._histogram = self._table.aggregate(NodeHistogram("node", self.n_open, self._n_classes, codes))


def grow_with_noisy_stop(
    growth: MultiwayGrowth, release: Release, levels: Sequence[tuple[Event, ...]]
) -> ExplicitTrees:
    """Grow a tree as Friedman and Schuster (2010) do: at every node a noisy count, a choice, and a stop on the count.

    A node stops if its noisy count, shared out over the classes of as many children as a node can have, is below the
    standard deviation of the event's noise.

    Parameters
    ----------
    growth : MultiwayGrowth
        The tree's root.
    release : Release
        Where counts and choices go through.
    levels : sequence of (Event, Event, ...)
        For each level the events of the counts and of the choices; further ones, one for each ordered feature, if each
        of these first chooses its own cut.

    Notes
    -----
    *Privacy.* All open nodes release a count and a choice, those that then stop as well: which of them stop is a
    function of what was released. The choice among features takes the cuts that were released as they are.
    """
    for count, choice, *own_cuts in levels:
        records = release.noisy(growth.totals, count)
        if not growth.splits:  # known from the schema: no feature can be split, and nothing is chosen
            chosen = np.zeros(growth.n_open, np.int64)
        elif own_cuts:
            chosen = _choose_cuts_first(growth, release, choice, own_cuts)
        else:
            chosen = release.choose(growth.scores(float(choice.parameter)), choice)
        goes_on = records >= growth.most_counts * count.deviation
        growth.split([int(c) if go and growth.splits else None for c, go in zip(chosen, goes_on, strict=True)])
    return growth.finish()


def _choose_cuts_first(growth: MultiwayGrowth, release: Release, choice: Event, own_cuts: Sequence[Event]) -> IntArray:
    """Let every ordered feature choose its cut, then choose among the features."""
    scores, rows = growth.scores(), np.arange(growth.n_open)
    cuts = [
        candidates[release.choose(scores[:, candidates], event)]
        for candidates, event in zip(growth.ordered_candidates, own_cuts, strict=True)
    ]
    unordered = [number for number, split in enumerate(growth.splits) if isinstance(split, Multiway)]
    finalists = np.column_stack([*cuts, *(np.full(growth.n_open, number) for number in unordered)])
    return np.asarray(finalists[rows, release.choose(scores[rows[:, None], finalists], choice)])
