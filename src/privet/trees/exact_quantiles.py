"""Exact quantiles of features, where features are public."""

from __future__ import annotations

import numpy as np

from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.tables.features import FeatureView
from privet.tables.protocol import IntArray
from privet.trees.quantiles import CodeCounts
from privet.trees.structure import FeatureCodes

COUNTS = "records with each value"


def exact_cuts(view: FeatureView, release: Release, event: Event, n_cells: int) -> dict[int, list[int]]:
    """Return where ordered features are cut, so that records spread evenly over the cells as far as values allow.

    *Privacy.* A function of features alone, which is released for free (`Release.features`).

    Parameters
    ----------
    view : FeatureView
        The records, without labels.
    release : Release
        What the counts of values go through.
    event : Event
        The free release that was planned, `Terms.free`.
    n_cells : int
        How many cells at most a feature is cut into.

    Returns
    -------
    dict
        For each ordered feature, codes in increasing order: a cell ends with each of them.
    """
    domains = FeatureCodes.of(view.encoding)
    by_code = release.features(view, CodeCounts(tuple(domains.n_codes.tolist())), event)
    starts, cuts = np.cumsum(domains.n_codes) - domains.n_codes, dict[int, list[int]]()
    for feature in np.flatnonzero(domains.ordered).tolist():
        by_cell = by_code[starts[feature] : starts[feature] + int(domains.n_cells[feature])]
        # Where all records have one value, there is still one split, which separates nothing.
        cuts[feature] = even_cuts(by_cell, n_cells) or [0][: by_cell.size - 1]
    return cuts


def even_cuts(counts: IntArray, n_cells: int) -> list[int]:
    """Cut codes into cells of about equally many records; a code that has a cell's share alone gets one of its own.

    So where most records have one value, all other cells are for the rest.

    Examples
    --------
    >>> even_cuts(np.array([1, 1, 1, 1]), 2)
    [1]
    >>> even_cuts(np.array([94, 1, 0, 1, 1, 1, 1, 1]), 4)
    [0, 3, 5]
    """
    frequent = counts * n_cells > counts.sum()
    rest, left = max(int(counts[~frequent].sum()), 1), n_cells - int(frequent.sum())
    filled = np.cumsum(np.where(frequent, rest, counts * left)) // rest  # cells
    full = np.diff(filled, prepend=0) > 0
    found = list[int]()
    for end in np.flatnonzero(full[:-1] | frequent[:-1] | frequent[1:]).tolist():
        begin = found[-1] + 1 if found else 0
        if counts[begin : end + 1].any() and counts[end + 1 :].any():
            found.append(end)
    return found
