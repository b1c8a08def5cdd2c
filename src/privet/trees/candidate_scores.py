"""Compiled scores of candidate splits, from a histogram: each candidate costs a few operations per class.

Along a walk one code at a time changes sides. Subsets are visited in the order of the Gray code, in which two
neighbours differ in one code as well.
"""

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.trees.scores import child_score

IntArray = NDArray[np.int64]


@inlined
def _two_children(kind: int, part: IntArray, whole: IntArray) -> int:
    """Return the score of a split into `part` and the rest of `whole`, both class counts."""
    total = largest = squares = 0
    other_total = other_largest = other_squares = 0
    for label in range(whole.size):
        count = part[label]
        other = whole[label] - count
        total += count
        squares += count * count
        largest = max(largest, count)
        other_total += other
        other_squares += other * other
        other_largest = max(other_largest, other)
    return child_score(kind, total, largest, squares) + child_score(kind, other_total, other_largest, other_squares)


@inlined
def _add(counts: IntArray, part: IntArray) -> bool:
    """Add counts, many of which are zero further down a tree; return whether there were any."""
    changed = False
    for label in range(part.size):
        part[label] += counts[label]
        changed |= counts[label] != 0
    return changed


@compiled
def score_candidates(
    kind: int,
    histogram: IntArray,
    offsets: IntArray,
    walk_feature: IntArray,
    walk_offsets: IntArray,
    codes: IntArray,
    stands: NDArray[np.bool_],
    subset_feature: IntArray,
    out: IntArray,
) -> None:
    """Write the score of every candidate at every node into `out` (n_nodes, n_candidates).

    Parameters
    ----------
    kind : int
        Which score; see `privet.trees.scores.Kind`.
    histogram : int64 array of shape (n_nodes, total number of codes, n_classes)
        Counts; the codes of feature f are offsets[f] to offsets[f + 1].
    offsets : int64 array
        Where each feature's codes begin.
    walk_feature, walk_offsets, codes : int64 arrays
        The walks: codes[walk_offsets[w]:walk_offsets[w + 1]] change sides one after the other.
    stands : bool array
        Whether there is a candidate after each code of the walks.
    subset_feature : int64 array
        Features of which all subsets without the first code are candidates.
    """
    n_nodes, _, n_classes = histogram.shape
    whole = np.zeros(n_classes, np.int64)
    part = np.zeros(n_classes, np.int64)
    for node in range(n_nodes):
        whole[:] = 0
        for code in range(offsets[0], offsets[1]):
            whole += histogram[node, code]
        place = 0
        for walk in range(walk_feature.size):
            begin = offsets[walk_feature[walk]]
            part[:] = 0
            score = _two_children(kind, part, whole)
            for step in range(walk_offsets[walk], walk_offsets[walk + 1]):
                if _add(histogram[node, begin + codes[step]], part):
                    score = _two_children(kind, part, whole)
                if stands[step]:
                    out[node, place] = score
                    place += 1
        for index in range(subset_feature.size):
            begin = offsets[subset_feature[index]]
            n_codes = offsets[subset_feature[index] + 1] - begin
            part[:] = 0
            for number in range(1, 1 << (n_codes - 1)):
                # from number - 1 to number the Gray code flips the lowest set bit of number
                bit = 0
                while number >> bit & 1 == 0:
                    bit += 1
                gray = number ^ number >> 1
                if gray >> bit & 1 == 1:
                    part += histogram[node, begin + bit + 1]
                else:
                    part -= histogram[node, begin + bit + 1]
                out[node, place] = _two_children(kind, part, whole)
                place += 1
