"""What a split of a node would do: class counts by code, and the score of every candidate of a feature."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.tables.protocol import IntArray

# Kinds of features. Codes are as the grower lays them out: of an ordered feature with missing values, code 0 is
# "missing" and all others are one higher, so that missing values come before all others.
ORDERED = 0
ORDERED_MISSING = 1
CATEGORIES = 2

_CODES_PER_RECORD = 16  # with more codes than that for each record, sorting is faster than a walk through all codes


class Scratch(NamedTuple):
    """Memory that a tree needs while it grows, made once.

    Attributes
    ----------
    histogram : int32 array, (largest number of codes) x (number of columns), all zero between uses
        Counts by code of one feature.
    whole : int32 array
        Counts by feature and code, where they are made for all features in one pass.
    keys : int64 array, one for each record
        For sorting.
    codes : int32 array
        The codes that occur, in order.
    counts : int32 array of shape (codes that occur, columns)
        Their counts: one column for each class of structure points, and a last one for estimation points.
    left, right : int64 arrays, one entry for each class
        Class counts on both sides of a candidate.
    cuts : int32 array
        The candidates of one feature.
    scores : float64 array
        Their scores.
    """

    histogram: NDArray[np.int32]
    whole: NDArray[np.int32]
    keys: IntArray
    codes: NDArray[np.int32]
    counts: NDArray[np.int32]
    left: IntArray
    right: IntArray
    cuts: NDArray[np.int32]
    scores: NDArray[np.float64]


@compiled
def make_scratch(n_records: int, most_codes: int, all_codes: int, n_classes: int) -> Scratch:
    """Make memory for a tree on this many records."""
    runs = min(n_records, most_codes) + 1
    return Scratch(
        np.zeros(most_codes * (n_classes + 1), np.int32),
        np.zeros(all_codes * (n_classes + 1), np.int32),
        np.zeros(n_records + 1, np.int64),
        np.zeros(runs, np.int32),
        np.zeros((runs, n_classes + 1), np.int32),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(runs, np.int32),
        np.zeros(runs, np.float64),
    )


@compiled
def count_codes(
    codes: NDArray[np.uint16], n_codes: int, rows: NDArray[np.int32], columns: NDArray[np.int32], scratch: Scratch
) -> int:
    """Count records by code and column, for the codes that occur.

    Parameters
    ----------
    codes : uint16 array
        The codes of one feature, for all records of the table.
    n_codes : int
        How many codes the feature has.
    rows, columns : int32 arrays
        The records of the node, and what each counts as: its class, or the last column for an estimation point.
    scratch : Scratch
        Codes and counts are written there.

    Returns
    -------
    int
        How many codes occur.
    """
    width = scratch.counts.shape[1]
    if n_codes > _CODES_PER_RECORD * rows.size:
        return _count_by_sorting(codes, rows, columns, width, scratch)
    histogram = scratch.histogram[: n_codes * width]
    for i in range(rows.size):
        histogram[np.int64(codes[rows[i]]) * width + columns[i]] += 1
    found = collect_codes(histogram, scratch)
    histogram[:] = 0
    return found


@inner
def collect_codes(histogram: NDArray[np.int32], scratch: Scratch) -> int:
    """Write down the codes that occur in a histogram of one feature, and their counts; return how many there are."""
    width, found = scratch.counts.shape[1], 0
    for code in range(histogram.size // width):
        total = 0
        for column in range(width):
            count = histogram[code * width + column]
            scratch.counts[found, column] = count
            total += count
        if total > 0:
            scratch.codes[found] = code
            found += 1
    return found


@inner
def in_one_pass(places: NDArray[np.uint16], n_records: int, scratch: Scratch) -> bool:
    """Whether all features are counted in one pass over the node's records: faster, where there are not many codes."""
    return places.size > 0 and scratch.whole.size <= _CODES_PER_RECORD * n_records * scratch.counts.shape[1]


@inner
def count_all_codes(
    places: NDArray[np.uint16], rows: NDArray[np.int32], columns: NDArray[np.int32], scratch: Scratch
) -> None:
    """Count records by feature, code and column; `places` has for each record where its codes' counts begin.

    Neighbouring steps of the inner loop add to different counts, so that none waits for the one before.
    """
    whole = scratch.whole
    whole[:] = 0
    for i in range(rows.size):
        of_record, column = places[rows[i]], columns[i]
        for j in range(of_record.size):
            whole[np.int64(of_record[j]) + column] += 1


@inner
def _count_by_sorting(codes: Any, rows: Any, columns: Any, width: int, scratch: Scratch) -> int:
    keys = scratch.keys[: rows.size]
    for i in range(rows.size):
        keys[i] = np.int64(codes[rows[i]]) * width + columns[i]
    keys.sort()
    found = -1
    for i in range(keys.size):
        code = keys[i] // width
        if found < 0 or scratch.codes[found] != code:
            found += 1
            scratch.codes[found] = code
            scratch.counts[found, :] = 0
        scratch.counts[found, keys[i] - code * width] += 1
    return found + 1


class CandidateLimits(NamedTuple):
    """Which candidates count: both children keep at least this many estimation points; codes within a range.

    Attributes
    ----------
    min_child : int
        The fewest estimation points of a child; 0 where they were not counted.
    n_estimation : int
        The node's estimation points.
    low, high : int
        The split must lie between these codes.
    """

    min_child: int
    n_estimation: int
    low: int
    high: int


@compiled
def score_found_candidates(
    kind: int,
    n_found: int,
    n_each: IntArray,
    entropy: bool,
    x_log_x: Any,
    wanted: CandidateLimits,
    scratch: Scratch,
) -> int:
    """Score every candidate of a feature after `count_codes`; write `cuts` and `scores`, return how many there are.

    Scores rise with the decrease of impurity: times the number of structure points, and up to a constant that is the
    same for all candidates of the node, they are that decrease.

    Parameters
    ----------
    kind : int
        Ordered features are cut between two codes that occur among the structure points, in the middle of the gap;
        categories are taken one against the rest.
    n_found : int
        How many codes occur.
    n_each : int64 array
        The node's structure points of each class.
    entropy : bool
        Shannon's entropy in place of Gini's index.
    x_log_x : float64 array
        x log x for whole x; used with entropy.
    wanted : CandidateLimits
        Which candidates count.
    scratch : Scratch
        Codes and counts are read, cuts and scores are written there.
    """
    if kind == CATEGORIES:
        return _one_against_rest(n_found, n_each, entropy, x_log_x, wanted, scratch)
    return _thresholds(n_found, n_each, entropy, x_log_x, wanted, scratch)


@inner
def purity(counts: IntArray, total: int, entropy: bool, x_log_x: Any) -> Any:
    """Return the sum of c^2 / n, or of c log (c / n): minus n times the impurity, up to a constant."""
    value = 0.0
    if entropy:
        for count in counts:
            value += x_log_x[count]
        return value - x_log_x[total]
    for count in counts:
        value += float(count) * float(count)
    return value / total


@inner
def _one_against_rest(
    n_found: int, n_each: Any, entropy: bool, x_log_x: Any, wanted: CandidateLimits, scratch: Scratch
) -> int:
    n_classes, n_all = n_each.size, n_each.sum()
    made = 0
    for run in range(n_found):
        code, inside = scratch.codes[run], 0
        for k in range(n_classes):
            count = scratch.counts[run, k]
            scratch.left[k], scratch.right[k] = count, n_each[k] - count
            inside += count
        estimation = scratch.counts[run, n_classes]
        few = min(estimation, wanted.n_estimation - estimation) < wanted.min_child
        if inside == 0 or inside == n_all or code < wanted.low or code > wanted.high or few:
            continue
        scratch.cuts[made] = code
        scratch.scores[made] = purity(scratch.left, inside, entropy, x_log_x) + purity(
            scratch.right, n_all - inside, entropy, x_log_x
        )
        made += 1
    return made


@compiled
def _thresholds(
    n_found: int, n_each: Any, entropy: bool, x_log_x: Any, wanted: CandidateLimits, scratch: Scratch
) -> int:
    n_classes, n_all = n_each.size, n_each.sum()
    left, right = scratch.left, scratch.right
    for k in range(n_classes):
        left[k], right[k] = 0, n_each[k]
    below, made, previous = 0, 0, -1
    passed, estimation = 0, 0  # runs of codes up to the candidate, and the estimation points in them
    for run in range(n_found):
        here = 0
        for k in range(n_classes):
            here += scratch.counts[run, k]
        if here == 0:
            continue
        code = scratch.codes[run]
        if previous >= 0:
            # Between two structure points lie codes that only others have: each side gets half of them.
            cut = (previous + code - 1) // 2
            while scratch.codes[passed] <= cut:
                estimation += scratch.counts[passed, n_classes]
                passed += 1
            few = min(estimation, wanted.n_estimation - estimation) < wanted.min_child
            if previous >= wanted.low and code <= wanted.high and not few:
                scratch.cuts[made] = cut
                scratch.scores[made] = purity(left, below, entropy, x_log_x) + purity(
                    right, n_all - below, entropy, x_log_x
                )
                made += 1
        for k in range(n_classes):
            count = scratch.counts[run, k]
            left[k] += count
            right[k] -= count
        below += here
        previous = code
    return made
