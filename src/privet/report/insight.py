"""What a model learned, asked of the model alone: all inputs are made up from the public schema, uniformly.

Nothing here sees a record. That has a price: a uniform input is not a typical one, so the page says what was averaged
over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.models.reading import code_in_words, interval_in_words
from privet.models.regression_forest import RegressionForest
from privet.parameters import public_rng
from privet.schema.encoding import Column, Encoding
from privet.tables.protocol import IntArray

ROWS = 2_000
ROWS_PER_CODE = 400
MOST_STEPS = 96
SEED = 0  # public: the page of a model is the same each time


@dataclass(frozen=True)
class VoteCurve:
    """How the average vote changes with one feature, step by step.

    Attributes
    ----------
    feature : int
        Which feature.
    ends : int array
        The last code of each step; a category, "other" and "missing" are steps of their own.
    votes : float array of shape (n_steps, n_classes)
        The average share of the vote for each class; of a regression, the average place within the target's range.
    """

    feature: int
    ends: IntArray
    votes: NDArray[np.float64]


def importances(model: Any) -> NDArray[np.float64]:
    """Return for each feature how much of the vote, or how far the prediction, moves when it alone is drawn anew."""
    rng = public_rng(SEED)
    codes = _uniform(model.encoding, rng)
    before = said(model, codes)
    moved = np.zeros(model.encoding.n_features)
    again = _uniform(model.encoding, rng)
    for feature in range(model.encoding.n_features):
        changed = codes.copy()
        changed[feature] = again[feature]
        moved[feature] = np.abs(said(model, changed) - before).sum(axis=1).mean() / (2 if before.shape[1] > 1 else 1)
    return moved


def said(model: Any, codes: NDArray[Any]) -> NDArray[np.float64]:
    """Return what a model says of each record: shares of the vote, or the place within the target's range."""
    if not isinstance(model, RegressionForest):
        votes: NDArray[np.float64] = model.votes(codes)
        return votes
    width = model.target.high - model.target.low
    return ((model.predictions(codes) - model.target.low) / width)[:, np.newaxis]


def shape(model: Any, feature: int) -> VoteCurve:
    """Return the average vote for each step of a feature, all other features drawn uniformly.

    A step ends where a tree cuts, and goes on where the vote stays the same.
    """
    ends = _ends(model, feature)
    others = _uniform(model.encoding, public_rng(SEED))[:, :ROWS_PER_CODE]
    rows = np.tile(others, (1, len(ends)))
    rows[feature] = np.repeat(ends, others.shape[1]).astype(rows.dtype)
    votes = said(model, np.ascontiguousarray(rows)).reshape(len(ends), others.shape[1], -1).mean(axis=1)
    column = model.encoding.columns[feature]
    changes = np.append((votes[1:] != votes[:-1]).any(axis=1), True)
    kept = changes | (ends >= column.n_values - 1) | (not column.ordered)
    return VoteCurve(feature, ends[kept], votes[kept])


def _ends(model: Any, feature: int) -> IntArray:
    """Return the last codes of all steps that a feature can have; only some where there are very many."""
    column = model.encoding.columns[feature]
    if not column.ordered:
        return np.arange(column.n_codes)
    found = np.arange(column.n_values - 1)
    try:
        trees = model.structure.explicit()
        mine = trees.splits.feature == feature
        if not (mine & ((trees.n_children > 2) | (trees.splits.set_index >= 0))).any():
            found = np.unique(trees.splits.cut[mine]).astype(np.int64)
    except (AttributeError, ParameterError):  # no trees, or random ones that are too large to be written down
        pass
    found = found[found < column.n_values - 1]
    if found.size > MOST_STEPS:
        found = found[np.unique(np.linspace(0, found.size - 1, MOST_STEPS).round().astype(np.int64))]
    return np.concatenate([found, np.arange(column.n_values - 1, column.n_codes)])


def step_labels(column: Column, ends: Sequence[int]) -> list[str]:
    """Return the steps of a feature in words."""
    before, labels = None, []
    for end in ends:
        if not column.ordered or end >= column.n_values:
            labels.append(code_label(column, end))
            continue
        border = None
        if end < column.n_values - 1:
            border = column.cut_in_words(column.cuts[end]) or plain(column.cuts[end], 5)
        labels.append(interval_in_words(before, border, "any value"))
        before = border
    return labels


def _uniform(encoding: Encoding, rng: Any) -> NDArray[Any]:
    codes = [rng.integers(int(n), size=ROWS) for n in encoding.n_codes]
    return np.ascontiguousarray(np.array(codes), dtype=encoding.dtype)


def code_label(column: Column, code: int) -> str:
    """Return what a code stands for, in the page's words."""
    return code_in_words(column, code, other="other", number=plain)


def plain(number: float, digits: int = 6) -> str:
    """Return a number for people: few digits, no exponent where it can be helped.

    Examples
    --------
    >>> plain(95577.3, 4), plain(0.25), plain(1.5e6)
    ('95,580', '0.25', '1,500,000')
    """
    return f"{float(f'{number:.{digits}g}'):,.12g}"
