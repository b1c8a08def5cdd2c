"""Greedy trees that split one category off at a time, by average Gini: the common part of DPGDF and its sound twin."""

from collections.abc import Mapping, Sequence

import numpy as np

from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.tables.protocol import IntArray, Table
from privet.trees.candidates import Candidates, Walk, thresholds
from privet.trees.greedy import GreedyGrowth
from privet.trees.scores import SCORES
from privet.trees.structure import FeatureCodes

STEPS = 1 << 30  # of the grid, for one unit of the average Gini impurity
# Rounding (two children to 2^-20 of a record, then their quotient by the number of records) adds less than this to what
# one record changes.
_ROUNDING = 4100
RANGE = STEPS // 2 + _ROUNDING  # over candidates, of what one record changes; see `average_gini`
PRINTED_RANGE = STEPS + _ROUNDING  # for 1/2 either way
_USED = -(1 << 50)


def one_against_rest(domains: FeatureCodes, cuts: Mapping[int, Sequence[int]] | None = None) -> Candidates:
    """List every category of every unordered feature against the rest; of ordered features these cuts, or none."""
    walks: list[Walk] = []
    for feature in domains.splittable.tolist():
        if not domains.ordered[feature]:
            walks.extend(Walk(feature, (code,), (0,)) for code in range(int(domains.n_codes[feature])))
        elif cuts is not None:
            walks.extend(thresholds(domains, feature, cuts[feature]))
    return Candidates(domains, tuple(walks), ())


def every_cut(domains: FeatureCodes) -> dict[int, range]:
    """Return all cuts of ordered features."""
    return {feature: range(int(n) - 1) for feature, n in enumerate(domains.n_cells) if domains.ordered[feature]}


def grow_one_against_rest(
    table: Table, release: Release, levels: Sequence[Event], candidates: Candidates
) -> GreedyGrowth:
    """Grow one level for each event; a category that was split off is not split off again further down.

    *Privacy.* Which candidates a node has left follows from what was released above it.
    """
    growth = GreedyGrowth(table, candidates)
    used = np.zeros((1, len(candidates)), np.bool_)
    for event in levels:
        scores = np.where(used, _USED, average_gini(growth))
        chosen = release.choose(scores, event)
        growth.split(chosen)
        used = np.repeat(used, 2, axis=0)
        used[np.arange(len(used)), np.repeat(chosen, 2)] = True
    return growth


def average_gini(growth: GreedyGrowth) -> IntArray:
    """Return minus the average Gini impurity after each candidate split of each open node, in grid steps.

    *Privacy.* A record is in one child of every candidate, and what it changes has a range of 1/2 over all candidates,
    one that is no longer open and never changes among them. Let a node have n records, and let a candidate's children
    have impurity S counted in records: the sum of their numbers of records times their Gini impurities. Its average is
    ``A = S / n``, from 0 to below 1. A new record raises S by some d from 0 to below 2 (`privet.trees.scores`), so A by
    ``(d - A) / (n + 1)``. Of two candidates these differ by less than ``(2 + 1) / (n + 1)``, at most 1/2 for n >= 5.
    An empty node's average stays zero. For n = 1 to 4 all nodes and all candidates can be gone through: the largest
    range is 1/2, where a second record of another class joins the first or does not (n = 1), or where two records of
    two classes are in one child without the third, or apart, one of them with it (n = 2: 1/3 + 1/6).
    papers/tests/test_audit_of_rivals.py does so. Each single average moves by up to 1/2 in one direction and by up to
    1/6 in the other, but not for the same node.
    """
    total = growth.scores(SCORES["gini"])
    n_records = growth.leaf_counts.sum(axis=1, keepdims=True)
    # From steps of 2^-20 of a record to steps of 2^-30 of the average.
    average: IntArray = (total << 10) // np.maximum(n_records, 1)
    return average
