"""Trees that compare distances: a record goes to the nearer of two pivot records."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined, inner
from privet.learners.multinomial_forest.honest_draws import draw_below, shuffle_first, start_draws


class PivotTree(NamedTuple):
    """The nodes of one tree; children lie side by side after their parent.

    Attributes
    ----------
    first_pivot, second_pivot : int32 arrays
        Rows of the training points; -1 for a leaf.
    first_child : int32 array
        Within the tree.
    counts : int64 array of shape (n_nodes, n_classes)
        Class counts of the points that label leaves; zero but in leaves.
    """

    first_pivot: NDArray[np.int32]
    second_pivot: NDArray[np.int32]
    first_child: NDArray[np.int32]
    counts: NDArray[np.int64]


class Pivots(NamedTuple):
    """Two pivots, and in which coordinates they differ: no other one brings a record nearer to either of them.

    Attributes
    ----------
    first, second : float32 arrays
        The pivots: numbers come first, then codes of categories.
    numbers, categories : int32 arrays
        The coordinates in which they differ, in order.
    """

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    numbers: NDArray[np.int32]
    categories: NDArray[np.int32]


@compiled
def compare_pivots(first: Any, second: Any, n_numeric: int, differing: NDArray[np.int32]) -> Pivots:
    """Find out where two pivots differ; `differing` is memory for as many coordinates as there are."""
    found, n_numbers = 0, 0
    for j in range(first.size):
        if first[j] != second[j]:
            differing[found] = j
            found += 1
            n_numbers += j < n_numeric
    return Pivots(first, second, differing[:n_numbers], differing[n_numbers:found])


@inlined
def nearer_to_second(x: Any, pivots: Pivots) -> bool:
    """Compare squared distances: Euclid's on numbers, plus one for each differing category."""
    first, second, difference = pivots.first, pivots.second, 0.0
    for j in pivots.numbers:
        to_first, to_second = x[j] - first[j], x[j] - second[j]
        difference += to_first * to_first - to_second * to_second
    for j in pivots.categories:
        difference += np.int64(x[j] != first[j]) - np.int64(x[j] != second[j])
    return difference > 0.0


@compiled
def grow_pivot_tree(
    points: NDArray[np.float32],
    target: NDArray[np.int32],
    n_numeric: int,
    n_classes: int,
    n_structure: int,
    by_class: bool,
    split_above: int,
    seed: int | np.uint64,
    tree: int,
) -> PivotTree:
    """Grow one tree; a pure function of its arguments.

    Parameters
    ----------
    points, target : arrays
        The training points, and their classes.
    n_numeric : int
        How many of the coordinates are numbers; all others are codes of categories.
    n_classes : int
        Number of classes.
    n_structure : int
        Pivots are drawn from this many structure points, and the rest label the leaves; 0 to use all points for both.
    by_class : bool
        Whether the two pivots must be of different classes.
    split_above : int
        A node with more points that label leaves than this is split.
    seed, tree : int
        What the draws depend on.
    """
    state = start_draws(seed, tree)
    rows = np.arange(target.size).astype(np.int32)
    structure, estimation = rows, rows.copy()
    if n_structure > 0:
        shuffle_first(state, rows, n_structure)
        structure, estimation = rows[:n_structure].copy(), rows[n_structure:].copy()
    most = 2 * max(estimation.size, 1) + 1
    pivots, first_child = np.full((2, most), -1, np.int32), np.zeros(most, np.int32)
    counts, bounds = np.zeros((most, n_classes), np.int64), np.zeros((most, 4), np.int64)
    bounds[0, 1], bounds[0, 3] = structure.size, estimation.size
    open_nodes, n_open, n_nodes = np.zeros(most, np.int32), 1, 1
    differing = np.empty(points.shape[1], np.int32)
    while n_open > 0:
        n_open -= 1
        node = open_nodes[n_open]
        of_structure = structure[bounds[node, 0] : bounds[node, 1]]
        of_estimation = estimation[bounds[node, 2] : bounds[node, 3]]
        first, second = -1, -1
        if of_estimation.size > split_above:
            first, second = _draw_pivots(of_structure, target, by_class, state)
        if first >= 0:
            both = compare_pivots(points[first], points[second], n_numeric, differing)
            middle = bounds[node, 2] + _partition(points, of_estimation, both)
            if bounds[node, 2] < middle < bounds[node, 3]:
                split = bounds[node, 0] + _partition(points, of_structure, both)
                pivots[0, node], pivots[1, node], first_child[node] = first, second, n_nodes
                bounds[n_nodes] = (bounds[node, 0], split, bounds[node, 2], middle)
                bounds[n_nodes + 1] = (split, bounds[node, 1], middle, bounds[node, 3])
                for _ in range(2):
                    open_nodes[n_open] = n_nodes
                    n_open, n_nodes = n_open + 1, n_nodes + 1
                continue
        for row in of_estimation:
            counts[node, target[row]] += 1
    return PivotTree(
        pivots[0, :n_nodes].copy(), pivots[1, :n_nodes].copy(), first_child[:n_nodes].copy(), counts[:n_nodes].copy()
    )


@inner
def _draw_pivots(rows: Any, target: Any, by_class: bool, state: Any) -> tuple[int, int]:
    """Draw two different points, of different classes if asked; -1 where there are none."""
    if rows.size < 2:
        return -1, -1
    first = rows[draw_below(state, rows.size)]
    others = 0
    for row in rows:
        others += row != first and (not by_class or target[row] != target[first])
    if others == 0:
        return -1, -1
    place = draw_below(state, others)
    for row in rows:
        if row != first and (not by_class or target[row] != target[first]):
            if place == 0:
                return first, row
            place -= 1
    return -1, -1


@inner
def _partition(x: Any, rows: Any, pivots: Pivots) -> int:
    """Put rows nearer to the first pivot first, and return how many they are."""
    first, last = 0, rows.size - 1
    while first <= last:
        if nearer_to_second(x[rows[first]], pivots):
            rows[first], rows[last] = rows[last], rows[first]
            last -= 1
        else:
            first += 1
    return first


@compiled
def count_pivot_votes(
    x: NDArray[np.float32], points: NDArray[np.float32], n_numeric: int, tree: PivotTree, labels: Any, votes: Any
) -> None:
    """Add each record's vote in one tree to `votes` (n_rows, n_classes)."""
    rows, differing = np.arange(x.shape[0]).astype(np.int32), np.empty(points.shape[1], np.int32)
    bounds = np.zeros((tree.first_pivot.size, 2), np.int64)
    bounds[0, 1] = rows.size
    for node in range(tree.first_pivot.size):  # parents come before their children
        begin, end = bounds[node]
        if tree.first_pivot[node] < 0:
            for row in rows[begin:end]:
                votes[row, labels[node]] += 1
        elif begin < end:
            first, second = points[tree.first_pivot[node]], points[tree.second_pivot[node]]
            pivots, child = compare_pivots(first, second, n_numeric, differing), tree.first_child[node]
            middle = begin + _partition(x, rows[begin:end], pivots)
            bounds[child], bounds[child + 1] = (begin, middle), (middle, end)
