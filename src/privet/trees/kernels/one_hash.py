"""Compiled multi-way random trees, drawn by one hash a node: many rows descend side by side.

The law is that of the multi-way rule of `implicit`: a uniformly random feature among those that can still be split; an
ordered one at a uniformly random cut of the node's current interval, an unordered one into all its codes, once. What
differs is the draws. A node's word is one output of splitmix64; its upper half draws the feature, its lower half the
cut, its lowest bit the side of missing values, and the word of child k is what splitmix64 gives for this word plus k.

What a row needs to know of a feature is one *entry* of 32 bits: its code less the first code of the node's interval
(bits 0 to 15), and the interval's last code less its first, its *width* (bits 16 to 31). No code is above 65,534, which
leaves two marks: a missing value begins as code 65,535, and an unordered feature has that width until it is used up.
Entering a child is then plain arithmetic, the same for all rows. A missing value's code stays above its interval's
width: into a second child both shrink by the same, into a first one only the width does.

Entries are this small, and rows this few, so that all of it stays in the processor's nearest cache.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner, merged
from privet.randomness.hashing import mix, splitmix
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import Codes, Whole

LANES = 128  # rows that descend side by side
_LANES = np.uint64(LANES)
_ZERO, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)
_LOWER, _PART, _WIDTH = np.uint64(0xFFFFFFFF), np.uint64(0xFFFF), np.uint64(16)
_BOTH = np.uint64(0x10001)  # one in a code, and one in a width
_NONE = np.uint64(2**64 - 1)  # instead of a place: nothing can be split
_OTHER = np.uint64(1 << 20)  # beyond every child
UNORDERED = 0xFFFF  # instead of a width
NEVER_MISSING = 1 << 20


class Features(NamedTuple):
    """The features that can be split, one entry each.

    Attributes
    ----------
    source : int32 array
        The feature's number.
    last : uint64 array
        Its last cell: anything above is held within bounds.
    missing : uint64 array
        Its missing code if it is ordered and has one, else `NEVER_MISSING`.
    width : uint64 array
        The same, or `UNORDERED`.
    """

    source: NDArray[np.int32]
    last: NDArray[np.uint64]
    missing: NDArray[np.uint64]
    width: NDArray[np.uint64]


class DescendingLanes(NamedTuple):
    """Room for the rows that descend side by side.

    Attributes
    ----------
    word : uint64 array of shape (LANES,)
        The word of each row's node.
    mine : uint32 array of shape (LANES,)
        The row's entry of the feature that the node splits.
    at : uint32 array of shape (depth, LANES) or (1, LANES)
        Where that entry stands: for each level, or for the present one only where features are few.
    entries, fresh : uint32 arrays of shape (n_features * LANES,)
        Each row's entries, those of a feature side by side, and what they are at the root.
    """

    word: NDArray[np.uint64]
    mine: NDArray[np.uint32]
    at: NDArray[np.uint32]
    entries: NDArray[np.uint32]
    fresh: NDArray[np.uint32]


@compiled
def root_of(seed: Whole, tree: Whole) -> Whole:
    """Return the word of a tree's root."""
    return mix(seed, tree, 2)


@compiled
def bucket_of(word: Whole, max_leaves: Whole) -> Whole:
    """Return the bucket of a leaf; `max_leaves` is below 2^32."""
    return np.int64(((word >> _HALF) * np.uint64(max_leaves)) >> _HALF)


@inner
def _other_place(word: Whole, n_open: Whole) -> Whole:
    """Draw one of the features that can be split, where the first draw was of one that cannot."""
    return ((splitmix(word, _OTHER) >> _HALF) * n_open) >> _HALF


@compiled
def draw_node(
    word: Whole, splittable: NDArray[np.int32], ordered: NDArray[np.bool_], low: IntArray, high: IntArray
) -> tuple[Whole, Whole, bool]:
    """Draw a node: feature, cut (-1 if unordered), whether missing goes to the first child. Something can be split."""
    feature = np.int64(splittable[np.int64(((word >> _HALF) * np.uint64(splittable.size)) >> _HALF)])
    if high[feature] == low[feature]:
        n_open = np.uint64(0)
        for other in splittable:
            n_open += np.uint64(high[other] > low[other])
        place = np.int64(_other_place(word, n_open))
        for other in splittable:
            if high[other] > low[other]:
                if place == 0:
                    feature = np.int64(other)
                place -= 1
    if not ordered[feature]:
        return feature, -1, False
    cut = low[feature] + np.int64(((word & _LOWER) * np.uint64(high[feature] - low[feature])) >> _HALF)
    return feature, cut, word & _ONE == _ZERO


@inner
def _another(entries: NDArray[np.uint32], lane: Whole, word: Whole) -> Whole:
    """Return the place of an entry that can be split, the same feature as `draw_node`; `_NONE` if there is none."""
    n_open = _ZERO
    for at in range(lane, np.uint64(entries.size), _LANES):
        n_open += np.uint64(np.uint64(entries[at]) >> _WIDTH != _ZERO)
    if n_open == _ZERO:
        return _NONE
    place = _other_place(word, n_open)
    for at in range(lane, np.uint64(entries.size), _LANES):
        if np.uint64(entries[at]) >> _WIDTH != _ZERO:
            if place == _ZERO:
                return at
            place -= _ONE
    return _NONE


@merged
def _enter(word: Whole, entry: Whole) -> tuple[Whole, Whole, bool]:
    """Return the word of the child that a row takes, the row's new entry, and whether the feature could be split.

    Every value is computed before any is chosen, so that there is no branch.
    """
    code, width = entry & _PART, entry >> _WIDTH
    cut = ((word & _LOWER) * width) >> _HALF
    is_missing, is_unordered = code > width, width == _PART
    above = word & _ONE != _ZERO if is_missing else code > cut
    # the first child's interval ends at the cut; the second's begins after it, and codes are counted from there
    first = code | (cut << _WIDTH)
    second = entry - (cut + _ONE) * _BOTH
    entered = second if above else first
    entered = _ZERO if is_unordered else entered
    child = code if is_unordered else np.uint64(above)
    return splitmix(word, child), entered, width != _ZERO


@merged
def _draw_all(lanes: DescendingLanes, at: NDArray[np.uint32], n_rows: Whole, n_features: Whole) -> None:
    """Draw a feature for each row's node, and look up the row's entry."""
    for lane in range(n_rows):
        at[lane] = np.uint32((((lanes.word[lane] >> _HALF) * n_features) >> _HALF) * _LANES + lane)
    for lane in range(n_rows):
        lanes.mine[lane] = lanes.entries[at[lane]]


@merged
def _enter_all(lanes: DescendingLanes, n_rows: Whole) -> int:
    """Let each row enter its child, in a loop of vector instructions; return how many drew what cannot be split."""
    n_stuck = 0
    for lane in range(n_rows):
        word, entered, could = _enter(lanes.word[lane], np.uint64(lanes.mine[lane]))
        lanes.word[lane] = word if could else lanes.word[lane]
        lanes.mine[lane] = np.uint32(entered)
        n_stuck += not could
    return n_stuck


@inner
def _draw_again(lanes: DescendingLanes, at: NDArray[np.uint32], n_rows: Whole) -> None:
    """Draw another feature where the first could not be split; if none can be, the row has arrived and stays."""
    for lane in range(n_rows):
        entry = np.uint64(lanes.entries[at[lane]])
        if entry >> _WIDTH == _ZERO:
            lanes.mine[lane] = np.uint32(entry)
            place = _another(lanes.entries, lane, lanes.word[lane])
            if place != _NONE:
                at[lane] = np.uint32(place)
                word, entered, _ = _enter(lanes.word[lane], np.uint64(lanes.entries[place]))
                lanes.word[lane], lanes.mine[lane] = word, np.uint32(entered)


@inner
def _fetch(codes: Codes, start: Whole, n_rows: Whole, features: Features, lanes: DescendingLanes) -> None:
    """Make entries of the rows' codes, with the intervals of the root."""
    for feature in range(np.uint64(features.source.size)):
        column, last = codes[features.source[feature]], features.last[feature]
        missing, width = features.missing[feature], features.width[feature] << _WIDTH
        for lane in range(n_rows):
            code = np.uint64(column[np.uint64(start) + lane])
            entry = np.uint32(width | (_PART if code == missing else min(code, last)))
            lanes.fresh[feature * _LANES + lane], lanes.entries[feature * _LANES + lane] = entry, entry


@merged
def _refresh(lanes: DescendingLanes, n_rows: Whole, n_features: Whole) -> None:
    """Bring the entries back to what they are at the root: all of them if they are few, else those that were split."""
    if lanes.at.shape[0] > 1:
        for level in range(lanes.at.shape[0]):
            for lane in range(n_rows):
                lanes.entries[lanes.at[level, lane]] = lanes.fresh[lanes.at[level, lane]]
        return
    for feature in range(n_features):
        for lane in range(n_rows):
            lanes.entries[feature * _LANES + lane] = lanes.fresh[feature * _LANES + lane]


@compiled
def route_side_by_side(
    codes: Codes,
    start: int,
    stop: int,
    trees: IntArray,
    first_tree: int,
    roots: NDArray[np.uint64],
    depth: int,
    max_leaves: int,
    features: Features,
    lanes: DescendingLanes,
    out: NDArray[np.int32],
) -> None:
    """Route rows start..stop; `out` gets one row for each tree from `first_tree` on.

    If `trees` is not empty it names one tree for each row instead, and only out[0] is filled; -1 for no such tree.
    `roots` has the word of each tree's root; `depth` is zero if no feature can be split.
    """
    n_features, n_trees = np.uint64(features.source.size), roots.size
    every_level = np.int64(lanes.at.shape[0] > 1)
    for group in range(start, stop, LANES):
        n_rows = np.uint64(min(LANES, stop - group))
        _fetch(codes, group, n_rows, features, lanes)
        for index in range(out.shape[0]):
            leaves = out[index, group - start :]
            for lane in range(n_rows):
                tree = np.int64(first_tree + index) if trees.size == 0 else trees[group + lane]
                lanes.word[lane] = roots[tree if 0 <= tree < n_trees else 0]
            for level in range(depth):
                at = lanes.at[level * every_level]
                _draw_all(lanes, at, n_rows, n_features)
                if _enter_all(lanes, n_rows):
                    _draw_again(lanes, at, n_rows)
                for lane in range(n_rows):
                    lanes.entries[at[lane]] = lanes.mine[lane]
            _refresh(lanes, n_rows, n_features)
            for lane in range(n_rows):
                tree = np.int64(first_tree + index) if trees.size == 0 else trees[group + lane]
                leaf = tree * max_leaves + bucket_of(lanes.word[lane], max_leaves)
                leaves[lane] = leaf if 0 <= tree < n_trees else -1
