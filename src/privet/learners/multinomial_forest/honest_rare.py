"""Counting rare codes: of features that nearly always have one code, only what differs from it is looked at.

A wide table of mostly empty features (words of a page, one-hot columns) has few rare codes in each record. All such
features are counted by one walk through the rare codes of a node's records; how often the common code occurs is what is
left. Counts are whole numbers and come out the same as by looking at every feature of every record.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.multinomial_forest.honest_scores import CandidateLimits, purity
from privet.tables.protocol import IntArray


class RareCodes(NamedTuple):
    """The rare codes of a table, record by record.

    Attributes
    ----------
    begins : int64 array of length n_rows + 1
        Where the rare codes of each record begin in the next two.
    features : int32 array
        Whose code it is.
    places : int32 array
        Where the counts of this code begin in a histogram of all such features.
    common : int32 array of length n_features
        The common code; -1 for a feature that is counted by itself.
    """

    begins: IntArray
    features: NDArray[np.int32]
    places: NDArray[np.int32]
    common: NDArray[np.int32]


class RareCounts(NamedTuple):
    """What one node's records have of rare codes; all zero between nodes.

    Attributes
    ----------
    histogram : int32 array
        Counts by feature, code and column; those of the common code are not there before `complete_counts`.
    totals : int32 array
        Records of each column.
    varies : bool array of length n_features
        Whether any record has a rare code; without one the feature is constant in the node.
    varying : int32 array
        These features, in the order of their discovery; how many is in the first entry of `n_varying`.
    n_varying : int64 array of length one
        See there.
    """

    histogram: NDArray[np.int32]
    totals: NDArray[np.int32]
    varies: NDArray[np.bool_]
    varying: NDArray[np.int32]
    n_varying: IntArray


@compiled
def make_rare_counts(rare: RareCodes, n_codes: IntArray, n_classes: int) -> RareCounts:
    """Make memory for a tree, used by one node after the other."""
    all_codes, n_features = 0, rare.common.size
    for j in range(n_features):
        if rare.common[j] >= 0:
            all_codes += n_codes[j]
    return RareCounts(
        np.zeros(all_codes * (n_classes + 1), np.int32),
        np.zeros(n_classes + 1, np.int32),
        np.zeros(n_features, np.bool_),
        np.zeros(n_features, np.int32),
        np.zeros(1, np.int64),
    )


@compiled
def count_rare(rare: RareCodes, rows: Any, columns: Any, counts: RareCounts) -> None:
    """Count the rare codes of a node's records by column."""
    if rare.features.size == 0:
        return
    found = 0
    for i in range(rows.size):
        row, column = rows[i], columns[i]
        counts.totals[column] += 1
        for entry in range(rare.begins[row], rare.begins[row + 1]):
            counts.histogram[rare.places[entry] + column] += 1
            j = rare.features[entry]
            if not counts.varies[j]:
                counts.varies[j] = True
                counts.varying[found] = j
                found += 1
    counts.n_varying[0] = found


@compiled
def complete_counts(histogram: NDArray[np.int32], common: int, totals: NDArray[np.int32]) -> None:
    """Put the counts of the common code into the histogram of one feature: all records but those with a rare code."""
    width = totals.size
    begin = common * width
    for column in range(width):
        rest = totals[column]
        for place in range(column, histogram.size, width):
            if place != begin + column:
                rest -= histogram[place]
        histogram[begin + column] = rest


@compiled
def best_of_pairs(
    starts: IntArray,
    n_codes: IntArray,
    n_each: IntArray,
    entropy: bool,
    x_log_x: Any,
    wanted: CandidateLimits,
    counts: RareCounts,
) -> NDArray[np.float64]:
    """Return the best score of each feature with a rare code and no third one; minus infinity without a candidate.

    With two codes there is one way to split, and its score is that of `score_candidates`. Here it costs no calls.
    """
    n_classes, n_all = n_each.size, n_each.sum()
    best = np.full(n_codes.size, -np.inf)
    rare, common = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    histogram, totals = counts.histogram, counts.totals
    for j in counts.varying[: counts.n_varying[0]]:
        if n_codes[j] != 2:
            continue
        n_rare, first, second = 0, starts[j], starts[j] + totals.size  # the common code's counts are zero
        for k in range(n_classes):
            rare[k] = histogram[first + k] + histogram[second + k]
            common[k] = n_each[k] - rare[k]
            n_rare += rare[k]
        estimation = histogram[first + n_classes] + histogram[second + n_classes]
        few = min(estimation, wanted.n_estimation - estimation) < wanted.min_child
        if 0 < n_rare < n_all and not few:
            best[j] = purity(rare, n_rare, entropy, x_log_x) + purity(common, n_all - n_rare, entropy, x_log_x)
    return best


@compiled
def forget_counts(starts: IntArray, n_codes: IntArray, counts: RareCounts) -> None:
    """Set everything back to zero, by what the node had and not by how many features there are."""
    width = counts.totals.size
    for j in counts.varying[: counts.n_varying[0]]:
        counts.histogram[starts[j] : starts[j] + n_codes[j] * width] = 0
        counts.varies[j] = False
    counts.totals[:] = 0
    counts.n_varying[0] = 0
