"""Compiled random trees that are never stored: every node is a pure function of the public seed, tree and path.

Two rules. *Binary*: complete trees; a path is a heap number (the root is 1, children of v are 2v and 2v + 1).
*Multi-way*: an ordered feature splits its node's current interval in two, an unordered one splits into all its codes
and is then used up; a path is the hash of the path above it and the child taken.

Each draw at a node is a further hash of the node's word, by purpose, so that no draw depends on how many others were
made.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.randomness.hashing import bounded, bounded_by_few, first_round, further_rounds, mix
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import Codes, Whole

_FEATURE, _CUT, _MISSING, _SUBSET, _CHILD, _BUCKET = 1, 2, 3, 4, 5, 6
_ONE = np.uint64(1)
_ARRIVED = np.uint64(2**64 - 1)  # instead of a child
_LOW, _HIGH_SHIFT, _SPAN, _ROUND_SHIFT = np.uint64(0xFFFF), np.uint64(16), np.uint64(0xFFFFFFFF), np.uint64(32)


class RandomRule(NamedTuple):
    """What random trees are a function of, besides tree and path.

    Attributes
    ----------
    one_hash : bool
        Whether multi-way trees are drawn by one hash a node, see `one_hash`.
    seed : uint64
        The public seed.
    n_trees, depth, max_leaves, leaves_per_tree : int
        `leaves_per_tree` is `max_leaves`, or the number of leaves if the binary rule has no more than that.
    splittable : int32 array
        The features with more than one cell.
    ordered : bool array; n_cells, n_codes, missing : int64 arrays
        The features' domains.
    """

    one_hash: bool
    seed: np.uint64
    n_trees: int
    depth: int
    max_leaves: int
    leaves_per_tree: int
    splittable: NDArray[np.int32]
    ordered: NDArray[np.bool_]
    n_cells: IntArray
    n_codes: IntArray
    missing: IntArray


class MultiwayTable(NamedTuple):
    """What routing by the multi-way rule asks of features, one entry each.

    Attributes
    ----------
    whole : uint64 array
        The interval of all cells: its last in the bits from 16 on, its first, which is 0, below.
    last_category : int64 array
        The last code of an unordered feature, -1 for an ordered one.
    """

    whole: NDArray[np.uint64]
    last_category: IntArray


class Lanes(NamedTuple):
    """Room for the rows that are routed side by side, one entry each.

    Attributes
    ----------
    word : uint64 array
        The word of each row's node.
    begun, feature, cut : uint64 arrays
        What the node's draws have in common, the feature that it draws first, and the draw of its cut.
    child : uint64 array
        The child that the row takes.
    left : int64 array
        How many features can still be split on each row's path.
    spans : uint64 array of shape (n_features, number of lanes)
        A feature's interval on a row's path, as in `MultiwayTable`, and from bit 32 on the round in which it was
        entered: what an earlier round has left behind is not valid, and need not be cleared.
    """

    word: NDArray[np.uint64]
    begun: NDArray[np.uint64]
    feature: NDArray[np.uint64]
    cut: NDArray[np.uint64]
    child: NDArray[np.uint64]
    left: IntArray
    spans: NDArray[np.uint64]


@inner
def draw_subset(word: Whole, n_codes: Whole, subset: NDArray[np.uint64]) -> None:
    """Draw a uniformly random set of codes that is neither empty nor full; of two codes, always the second."""
    n_words = (n_codes + 63) // 64
    if n_codes == 2:
        subset[0] = np.uint64(2)
        return
    attempt = 0
    while True:
        purpose = mix(word, _SUBSET, attempt)
        some, all_of_them = False, True
        for index in range(n_words):
            used = min(64, n_codes - 64 * index)
            mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - used)
            bits = mix(purpose, index, 0) & mask
            subset[index] = bits
            some = some or bits != np.uint64(0)
            all_of_them = all_of_them and bits == mask
        if some and not all_of_them:
            return
        attempt += 1


@inner
def draw_binary(word: Whole, rule: RandomRule) -> tuple[Whole, Whole, bool]:
    """Draw a node of the binary rule: feature, cut, and whether missing values go to the first child.

    For an unordered feature the cut is -1, and `draw_subset` draws the codes that go to the second child.
    """
    feature = rule.splittable[np.int64(bounded(mix(word, _FEATURE, 0), rule.splittable.size))]
    if not rule.ordered[feature]:
        return feature, -1, False
    cut = np.int64(bounded(mix(word, _CUT, 0), rule.n_cells[feature] - 1))
    return feature, cut, (mix(word, _MISSING, 0) & _ONE) == _ONE


@inner
def _second_child(code: Whole, feature: Whole, cut: Whole, missing_first: bool, rule: RandomRule) -> bool:
    return not missing_first if code == rule.missing[feature] else code > cut


@compiled
def bucket(word: Whole, max_leaves: Whole) -> Whole:
    """Return the bucket of a leaf, by a hash of its path."""
    return np.int64(bounded(mix(word, _BUCKET, 0), max_leaves))


@inner
def _leaf_binary(codes: Codes, row: Whole, tree: Whole, rule: RandomRule, subset: NDArray[np.uint64]) -> Whole:
    path = _ONE
    for _ in range(rule.depth):
        word = mix(rule.seed, tree, path)
        feature, cut, missing_first = draw_binary(word, rule)
        code: Whole = np.int64(codes[feature, row])
        if rule.ordered[feature]:
            second = _second_child(code, feature, cut, missing_first, rule)
        else:
            draw_subset(word, rule.n_codes[feature], subset)
            code = min(code, rule.n_codes[feature] - 1)
            second = (subset[code // 64] >> np.uint64(code % 64)) & _ONE == _ONE
        path = path + path + np.uint64(second)
    n_leaves = _ONE << np.uint64(rule.depth)
    if np.uint64(rule.leaves_per_tree) == n_leaves:
        return np.int64(path - n_leaves)
    return bucket(mix(rule.seed, tree, path), rule.max_leaves)


@compiled
def draw_multiway(word: Whole, ordered: NDArray[np.bool_], low: IntArray, high: IntArray) -> tuple[Whole, Whole, bool]:
    """Draw a node of the multi-way rule: feature, cut (-1 if unordered), whether missing goes to the first child.

    `low` and `high` are the node's current intervals of codes; at least one feature has more than one left. Features
    are drawn until one can be split, which makes the choice uniform among those.
    """
    attempt = 0
    while True:
        feature = np.int64(bounded(mix(word, _FEATURE, attempt), low.size))
        if high[feature] > low[feature]:
            break
        attempt += 1
    if not ordered[feature]:
        return feature, -1, False
    cut = low[feature] + np.int64(bounded(mix(word, _CUT, 0), high[feature] - low[feature]))
    return feature, cut, (mix(word, _MISSING, 0) & _ONE) == _ONE


@compiled
def enter_child(feature: Whole, cut: Whole, child: Whole, low: IntArray, high: IntArray) -> None:
    """Shrink the interval of the feature that a node has split, for one of its children."""
    if cut < 0:
        high[feature] = low[feature]
    elif child == 0:
        high[feature] = cut
    else:
        low[feature] = cut + 1


@compiled
def root_word(seed: Whole, tree: Whole) -> Whole:
    """Return the word of a multi-way tree's root."""
    return mix(seed, tree, 1)


@compiled
def child_word(word: Whole, child: Whole) -> Whole:
    """Return the word of a node's child."""
    return mix(word, _CHILD, child)


@inner
def _draw_all(lanes: Lanes, n_features: Whole) -> None:
    """Draw each row's feature and cut; a loop without branches, which becomes vector instructions."""
    n = np.uint64(n_features)
    for lane in range(lanes.word.size):
        begun = first_round(lanes.word[lane])
        lanes.begun[lane] = begun
        lanes.feature[lane] = bounded_by_few(further_rounds(begun, np.uint64(_FEATURE), np.uint64(0)), n)
        lanes.cut[lane] = further_rounds(begun, np.uint64(_CUT), np.uint64(0))


@inner
def _take_children(
    codes: Codes, start: Whole, n_rows: Whole, round_: Whole, rule: RandomRule, table: MultiwayTable, lanes: Lanes
) -> None:
    """Find each row's child, by the same draws as `draw_multiway`, and enter it, as `enter_child` does."""
    for lane in range(n_rows):
        feature, attempt, span = lanes.feature[lane], np.uint64(0), np.uint64(0)
        if lanes.left[lane] == 0:
            lanes.child[lane] = _ARRIVED
            continue
        while True:
            span = lanes.spans[feature, lane]
            span = span & _SPAN if span >> _ROUND_SHIFT == round_ else table.whole[feature]
            if span >> _HIGH_SHIFT > span & _LOW:
                break
            attempt += _ONE
            again = further_rounds(lanes.begun[lane], np.uint64(_FEATURE), attempt)
            feature = bounded_by_few(again, np.uint64(table.whole.size))
        low, high = span & _LOW, span >> _HIGH_SHIFT
        code, last, child = np.uint64(codes[feature, start + lane]), table.last_category[feature], np.uint64(0)
        if last >= 0:
            child = min(code, np.uint64(last))
            high = low
        else:
            cut = low + bounded_by_few(lanes.cut[lane], high - low)
            child = np.uint64(code > cut)
            if np.int64(code) == rule.missing[feature]:
                child = _ONE - (further_rounds(lanes.begun[lane], np.uint64(_MISSING), np.uint64(0)) & _ONE)
            low, high = (cut + _ONE if child else low), (high if child else cut)
        lanes.child[lane] = child
        lanes.spans[feature, lane] = (round_ << _ROUND_SHIFT) | (high << _HIGH_SHIFT) | low
        lanes.left[lane] -= low == high


@inner
def _enter_all(lanes: Lanes) -> None:
    """Compute the words of the children, as `child_word` does; a row that has arrived keeps its own."""
    for lane in range(lanes.word.size):
        child = lanes.child[lane]
        word = further_rounds(lanes.begun[lane], np.uint64(_CHILD), child)
        lanes.word[lane] = lanes.word[lane] if child == _ARRIVED else word


@compiled
def route_multiway(
    codes: Codes,
    start: int,
    stop: int,
    trees: IntArray,
    first_tree: int,
    rule: RandomRule,
    table: MultiwayTable,
    lanes: Lanes,
    out: NDArray[np.int32],
) -> None:
    """Route rows start..stop; `out` gets one row for each tree from `first_tree` on.

    If `trees` is not empty it names one tree for each row instead, and only out[0] is filled; -1 for no such tree.
    Rows go side by side, level by level, so that the hashes of many are computed by one instruction.
    """
    n_lanes, round_ = lanes.word.size, np.uint64(0)
    for index in range(out.shape[0]):
        for group in range(start, stop, n_lanes):
            n_rows, round_ = min(n_lanes, stop - group), round_ + _ONE
            for lane in range(n_rows):
                tree = np.int64(first_tree + index) if trees.size == 0 else trees[group + lane]
                lanes.word[lane] = root_word(rule.seed, tree)
                lanes.left[lane] = rule.splittable.size if 0 <= tree < rule.n_trees else 0
            for _ in range(rule.depth):
                _draw_all(lanes, table.whole.size)
                _take_children(codes, group, n_rows, round_, rule, table, lanes)
                _enter_all(lanes)
            for lane in range(n_rows):
                tree = np.int64(first_tree + index) if trees.size == 0 else trees[group + lane]
                leaf = tree * rule.leaves_per_tree + bucket(lanes.word[lane], rule.max_leaves)
                out[index, group - start + lane] = leaf if 0 <= tree < rule.n_trees else -1


@compiled
def route_binary(
    codes: Codes,
    start: int,
    stop: int,
    trees: IntArray,
    first_tree: int,
    rule: RandomRule,
    subset: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> None:
    """Do the same by the binary rule; `subset` is room for a set of codes."""
    for index in range(out.shape[0]):
        for row in range(start, stop):
            tree = np.int64(first_tree + index) if trees.size == 0 else trees[row]
            if 0 <= tree < rule.n_trees:
                out[index, row - start] = tree * rule.leaves_per_tree + _leaf_binary(codes, row, tree, rule, subset)
            else:
                out[index, row - start] = -1


@compiled
def fill_binary(
    rule: RandomRule, feature: NDArray[np.int32], cut: NDArray[np.int32], missing_first: NDArray[np.bool_]
) -> int:
    """Write down the nodes of binary trees, except for their sets; return how many nodes split by a set.

    A set of two codes is a threshold: only larger ones are left for `fill_subsets`, marked by a cut of -1.
    """
    n_sets = 0
    for tree in range(feature.shape[0]):
        for node in range(feature.shape[1]):
            drawn, where, first = draw_binary(mix(rule.seed, tree, node + 1), rule)
            if where < 0 and rule.n_codes[drawn] == 2:
                where = 0
            feature[tree, node], cut[tree, node] = drawn, where
            missing_first[tree, node] = first and rule.missing[drawn] >= 0
            n_sets += where < 0
    return n_sets


@compiled
def fill_subsets(
    rule: RandomRule,
    feature: NDArray[np.int32],
    cut: NDArray[np.int32],
    set_index: NDArray[np.int32],
    sets: NDArray[np.uint64],
) -> None:
    """Write down the sets of the nodes that `fill_binary` left."""
    row = 0
    for tree in range(feature.shape[0]):
        for node in range(feature.shape[1]):
            if cut[tree, node] < 0:
                draw_subset(mix(rule.seed, tree, node + 1), rule.n_codes[feature[tree, node]], sets[row])
                set_index[tree, node], cut[tree, node] = row, 0
                row += 1
