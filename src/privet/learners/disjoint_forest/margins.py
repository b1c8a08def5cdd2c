"""From class counts to the scores of labels, by a public table that the margin of a leaf looks up."""

import numpy as np

from privet.compiling import compiled
from privet.tables.protocol import IntArray


@compiled
def _fill(counts: IntArray, by_margin: IntArray, out: IntArray) -> None:
    n_rows, n_classes = counts.shape
    last = by_margin.shape[0] - 1
    for row in range(n_rows):
        top, first, second = 0, counts[row, 0], np.int64(0)
        for k in range(1, n_classes):
            count = counts[row, k]
            if count > first:
                top, first, second = k, count, first
            elif count > second:
                second = count
        scores = by_margin[min(max(first - second, 0), last)]
        for k in range(n_classes):
            out[row, k] = scores[1]
        out[row, top] = scores[0]
        if out.shape[1] > n_classes:
            out[row, n_classes] = scores[2]


def margin_scores(counts: IntArray, by_margin: IntArray, *, abstains: bool) -> IntArray:
    """Score the outcomes of each leaf: its most frequent class, every other class, and abstaining.

    Parameters
    ----------
    counts : int64 array of shape (n_leaves, n_classes)
        Class counts, none negative.
    by_margin : int64 array of shape (n_margins, 3)
        The scores of the top, of another class and of abstaining, by how much the largest count exceeds the next;
        larger margins count as the last one. At margin zero the first two must be equal, since then no class is the
        top.
    abstains : bool
        Whether there is a last candidate, abstaining.

    Returns
    -------
    int64 array of shape (n_leaves, n_classes) or (n_leaves, n_classes + 1)
    """
    n_leaves, n_classes = counts.shape
    scores = np.zeros((n_leaves, n_classes + abstains), np.int64)
    _fill(np.ascontiguousarray(counts), by_margin, scores)
    return scores
