"""One honest tree: its splits from structure points, its class counts from estimation points, depth first.

Histograms of codes, not sorting, except where a node has far fewer records than a feature has codes. All that differs
between the consistent forests is how a node chooses its split; `Growth.rule` says which.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined, inner
from privet.learners.multinomial_forest.honest_draws import (
    draw_below,
    poisson,
    shuffle_first,
    skip,
    softmax_choice,
    start_draws,
    uniform,
)
from privet.learners.multinomial_forest.honest_rare import (
    RareCodes,
    RareCounts,
    best_of_pairs,
    complete_counts,
    count_rare,
    forget_counts,
    make_rare_counts,
)
from privet.learners.multinomial_forest.honest_scores import (
    CATEGORIES,
    ORDERED_MISSING,
    CandidateLimits,
    Scratch,
    collect_codes,
    count_all_codes,
    count_codes,
    in_one_pass,
    make_scratch,
    score_found_candidates,
)
from privet.tables.protocol import IntArray

# How a node chooses its split
MULTINOMIAL = 0  # feature and value by softmax (Bai et al. 2021)
BEST = 1  # the best of some random features (Breiman 2001)
RANGE = 2  # the best within the range of some structure points (Denil et al. 2014)
BERNOULLI = 3  # the best, or now and then one at random (Wang et al. 2017)

NO_SPLIT = -1
_ANY = 1 << 30


class Growth(NamedTuple):
    """How trees grow; compiled code reads the fields by name.

    Attributes
    ----------
    rule : int
        One of the rules above.
    entropy : bool
        Shannon's entropy in place of Gini's index.
    bootstrap : bool
        One bootstrap sample serves as structure and estimation points, in place of disjoint parts.
    n_structure : int
        Number of structure points.
    split_above : int
        A node is split if it has more estimation points than this.
    min_child : int
        The fewest estimation points of a child.
    only_valid : bool
        Leave out candidates with a smaller child; else a node whose choice has one is a leaf.
    max_depth : int
        The most levels of splits.
    feature_rate, value_rate : float
        Factors in the exponent of the softmax, B/2 in the paper.
    n_features : int
        How many random features a node looks at, for all rules but the multinomial one.
    extra_features : float
        RANGE: the mean of a Poisson number of further features, beyond the first.
    n_points : int
        RANGE: how many structure points span the range.
    p_feature, p_value : float
        BERNOULLI: chances of a single random feature, and of random values.
    """

    rule: int
    entropy: bool
    bootstrap: bool
    n_structure: int
    split_above: int
    min_child: int
    only_valid: bool
    max_depth: int
    feature_rate: float
    value_rate: float
    n_features: int
    extra_features: float
    n_points: int
    p_feature: float
    p_value: float


class LaidOutRecords(NamedTuple):
    """The encoded table, laid out for growing.

    Attributes
    ----------
    codes : uint16 array of shape (n_features, n_rows)
        The features' codes, missing values of ordered features first (see `honest_scores`).
    target : int32 array
        Classes.
    rare : RareCodes
        The rare codes of features that nearly always have one code.
    places : uint16 array of shape (n_rows, number of other features)
        Where the counts of each code begin in a histogram of all others; empty where such a histogram is too long.
    kinds, n_codes, starts : int64 arrays
        Kind and number of codes of each feature; where its counts begin in either histogram.
    n_classes : int
        Number of classes.
    x_log_x : float64 array
        x log x for x up to the number of rows, for entropy; else of length one.
    """

    codes: NDArray[np.uint16]
    rare: RareCodes
    places: NDArray[np.uint16]
    target: NDArray[np.int32]
    kinds: IntArray
    n_codes: IntArray
    starts: IntArray
    n_classes: int
    x_log_x: NDArray[np.float64]


class Grown(NamedTuple):
    """The nodes of one tree; children lie side by side after their parent.

    Attributes
    ----------
    feature : int32 array
        -1 for a leaf.
    cut, first_child : int32 arrays
        In the layout of `Records.codes`; children within the tree.
    counts : int64 array of shape (n_nodes, n_classes)
        Class counts of estimation points; zero but in leaves.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    first_child: NDArray[np.int32]
    counts: IntArray


@inner
def is_second_child(kind: int, code: Any, cut: int) -> Any:
    """Whether a code takes the second child: above the cut, or the one category, or missing against all others."""
    if kind == CATEGORIES or (kind == ORDERED_MISSING and cut == 0):
        return np.int64(code) == cut
    return np.int64(code) > cut


@compiled
def grow_honest_tree(records: LaidOutRecords, growth: Growth, seed: int | np.uint64, tree: int) -> Grown:
    """Grow one tree; a pure function of its arguments."""
    state = start_draws(seed, tree)
    structure, estimation = deal_points(records.target.size, growth, state)
    n_classes, most = records.n_classes, 2 * max(estimation.size, 1) + 1
    feature, cut = np.full(most, -1, np.int32), np.zeros(most, np.int32)
    first_child, counts = np.zeros(most, np.int32), np.zeros((most, n_classes), np.int64)
    bounds, depth = np.zeros((most, 4), np.int64), np.zeros(most, np.int32)
    n_points = structure.size + (estimation.size if growth.only_valid else 0)
    rare = make_rare_counts(records.rare, records.n_codes, n_classes)
    others = records.n_codes.sum() - rare.histogram.size // (n_classes + 1)
    scratch = make_scratch(n_points, records.n_codes.max(), others, n_classes)
    rows, columns = np.empty(n_points, np.int32), np.empty(n_points, np.int32)
    order = np.arange(records.n_codes.size)
    bounds[0, 1], bounds[0, 3] = structure.size, estimation.size
    open_nodes, n_open, n_nodes = np.zeros(most, np.int32), 1, 1
    while n_open > 0:
        n_open -= 1
        node = open_nodes[n_open]
        of_structure = structure[bounds[node, 0] : bounds[node, 1]]
        of_estimation = estimation[bounds[node, 2] : bounds[node, 3]]
        chosen, at = NO_SPLIT, 0
        if of_estimation.size > growth.split_above and depth[node] < growth.max_depth:
            chosen, at = _choose(
                records, growth, of_structure, of_estimation, rows, columns, order, rare, scratch, state
            )
        if chosen != NO_SPLIT:
            codes, kind = records.codes[chosen], records.kinds[chosen]
            middle = bounds[node, 2] + _partition(codes, kind, at, of_estimation)
            if min(middle - bounds[node, 2], bounds[node, 3] - middle) >= growth.min_child:
                feature[node], cut[node], first_child[node] = chosen, at, n_nodes
                split = bounds[node, 0] + _partition(codes, kind, at, of_structure)
                bounds[n_nodes] = (bounds[node, 0], split, bounds[node, 2], middle)
                bounds[n_nodes + 1] = (split, bounds[node, 1], middle, bounds[node, 3])
                for _ in range(2):
                    depth[n_nodes] = depth[node] + 1
                    open_nodes[n_open] = n_nodes
                    n_open, n_nodes = n_open + 1, n_nodes + 1
                continue
        for row in of_estimation:
            counts[node, records.target[row]] += 1
    return Grown(feature[:n_nodes].copy(), cut[:n_nodes].copy(), first_child[:n_nodes].copy(), counts[:n_nodes].copy())


@compiled
def deal_points(n_rows: int, growth: Growth, state: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return structure and estimation points: disjoint parts, or one bootstrap sample twice."""
    rows = np.arange(n_rows).astype(np.int32)
    if growth.bootstrap:
        for i in range(n_rows):
            rows[i] = draw_below(state, n_rows)
        return rows, rows.copy()
    shuffle_first(state, rows, growth.n_structure)
    return rows[: growth.n_structure].copy(), rows[growth.n_structure :].copy()


@inner
def _partition(codes: Any, kind: int, cut: int, rows: NDArray[np.int32]) -> int:
    """Put rows of the first child first, and return how many they are."""
    first, last = 0, rows.size - 1
    while first <= last:
        if is_second_child(kind, codes[rows[first]], cut):
            rows[first], rows[last] = rows[last], rows[first]
            last -= 1
        else:
            first += 1
    return first


@compiled
def _choose(
    records: LaidOutRecords,
    growth: Growth,
    structure: Any,
    estimation: Any,
    rows: Any,
    columns: Any,
    order: Any,
    rare: RareCounts,
    scratch: Scratch,
    state: Any,
) -> tuple[int, int]:
    """Return the feature and the cut that a node is split by; NO_SPLIT where there is nothing to choose."""
    n_each = np.zeros(records.n_classes, np.int64)
    for i in range(structure.size):
        rows[i], columns[i] = structure[i], records.target[structure[i]]
        n_each[columns[i]] += 1
    if n_each.max() == structure.size:
        return NO_SPLIT, 0
    n_points = structure.size
    if growth.only_valid:
        for row in estimation:
            rows[n_points], columns[n_points] = row, records.n_classes
            n_points += 1
    wanted = CandidateLimits(growth.min_child if growth.only_valid else 0, estimation.size, -1, _ANY)
    rows, columns = rows[:n_points], columns[:n_points]
    count_rare(records.rare, rows, columns, rare)
    if growth.rule == MULTINOMIAL:
        chosen = _by_softmax(records, growth, n_each, rows, columns, wanted, rare, scratch, state)
    else:
        chosen = _by_search(records, growth, n_each, rows, columns, order, wanted, rare, scratch, state)
    forget_counts(records.starts, records.n_codes, rare)
    return chosen


@inlined  # a call hands over some thirty arrays, which can take longer than to score a feature
def _score(
    records: LaidOutRecords,
    growth: Growth,
    j: int,
    n_each: Any,
    rows: Any,
    columns: Any,
    counted: bool,
    wanted: CandidateLimits,
    rare: RareCounts,
    scratch: Scratch,
) -> int:
    """Score the candidates of a feature; `counted` says that all without rare codes are counted already."""
    begin, end = records.starts[j], records.starts[j] + records.n_codes[j] * scratch.counts.shape[1]
    if records.rare.common[j] >= 0:
        histogram = rare.histogram[begin:end]
        complete_counts(histogram, records.rare.common[j], rare.totals)
        found = collect_codes(histogram, scratch)
    elif counted:
        found = collect_codes(scratch.whole[begin:end], scratch)
    else:
        found = count_codes(records.codes[j], records.n_codes[j], rows, columns, scratch)
    return score_found_candidates(records.kinds[j], found, n_each, growth.entropy, records.x_log_x, wanted, scratch)


@inner
def _by_softmax(
    records: LaidOutRecords,
    growth: Growth,
    n_each: Any,
    rows: Any,
    columns: Any,
    wanted: CandidateLimits,
    rare: RareCounts,
    scratch: Any,
    state: Any,
) -> tuple[int, int]:
    """Section 3.2: a feature by the best decreases of all, then a value by the decreases of that feature."""
    n_features = records.n_codes.size
    best, features, found = np.zeros(n_features), np.zeros(n_features, np.int64), 0
    counted = in_one_pass(records.places, rows.size, scratch)
    if counted:
        count_all_codes(records.places, rows, columns, scratch)
    of_pairs = best_of_pairs(records.starts, records.n_codes, n_each, growth.entropy, records.x_log_x, wanted, rare)
    for j in range(n_features):  # features that do not vary in the node are left out, as in the authors' code
        if records.rare.common[j] >= 0 and (not rare.varies[j] or records.n_codes[j] == 2):
            if of_pairs[j] > -np.inf:
                best[found], features[found] = of_pairs[j], j
                found += 1
            continue
        n_candidates = _score(records, growth, j, n_each, rows, columns, counted, wanted, rare, scratch)
        if n_candidates > 0:
            best[found], features[found] = scratch.scores[:n_candidates].max(), j
            found += 1
    if found == 0:
        return NO_SPLIT, 0
    j = features[softmax_choice(state, best[:found], growth.feature_rate)]
    n_candidates = _score(records, growth, j, n_each, rows, columns, counted, wanted, rare, scratch)
    return j, scratch.cuts[softmax_choice(state, scratch.scores[:n_candidates], growth.value_rate)]


@inner
def _by_search(
    records: LaidOutRecords,
    growth: Growth,
    n_each: Any,
    rows: Any,
    columns: Any,
    order: Any,
    wanted: CandidateLimits,
    rare: RareCounts,
    scratch: Scratch,
    state: Any,
) -> tuple[int, int]:
    """Look at random features until enough of them have a candidate, and take the best candidate; ties by chance."""
    n_wanted, random_value = growth.n_features, False
    if growth.rule == RANGE:
        n_wanted = 1 + poisson(state, growth.extra_features)
    elif growth.rule == BERNOULLI:
        if uniform(state) < growth.p_feature:
            n_wanted = 1
        random_value = uniform(state) < growth.p_value
    chosen, at, best, ties, n_seen, looked = NO_SPLIT, 0, -np.inf, 0, 0, 0
    while n_seen < n_wanted and looked < order.size:
        shuffle_first(state, order[looked:], 1)
        j = order[looked]
        looked += 1
        if records.rare.common[j] >= 0 and not rare.varies[j]:  # no candidate, whatever the range
            if growth.rule == RANGE:
                skip(state, growth.n_points)
            continue
        if growth.rule == RANGE:
            wanted = _within_range(records.codes[j], growth, n_each.sum(), rows, wanted, state)
        n_candidates = _score(records, growth, j, n_each, rows, columns, False, wanted, rare, scratch)
        if n_candidates == 0:
            continue
        n_seen += 1
        first, last = 0, n_candidates
        if random_value:
            first = draw_below(state, n_candidates)
            last = first + 1
        for candidate in range(first, last):
            score = scratch.scores[candidate]
            if score > best:
                chosen, at, best, ties = j, scratch.cuts[candidate], score, 1
            elif score == best:
                ties += 1
                if draw_below(state, ties) == 0:
                    chosen, at = j, scratch.cuts[candidate]
    return chosen, at


@inner
def _within_range(
    codes: Any, growth: Growth, n_structure: int, rows: Any, wanted: CandidateLimits, state: Any
) -> CandidateLimits:
    """Restrict candidates to the range of a few structure points, drawn with replacement; they come first in `rows`."""
    low, high = np.int64(_ANY), np.int64(-1)
    for _ in range(growth.n_points):
        code = np.int64(codes[rows[draw_below(state, n_structure)]])
        low, high = min(low, code), max(high, code)
    return CandidateLimits(wanted.min_child, wanted.n_estimation, int(low), int(high))
