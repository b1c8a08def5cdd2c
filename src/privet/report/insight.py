"""What a model learned, asked of the model alone: all inputs are made up from the public schema, uniformly.

Nothing here sees a record. That has a price: a uniform input is not a typical one, so the page says what was averaged
over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.models.reading import code_in_words
from privet.randomness.public import public_rng
from privet.schema.encoding import Column, Encoding

ROWS = 2_000
ROWS_PER_CODE = 400
MOST_POINTS = 48
SEED = 0  # public: the page of a model is the same each time


@dataclass(frozen=True)
class VoteCurve:
    """How the average vote changes with one feature.

    Attributes
    ----------
    feature : int
        Which feature.
    codes : int array
        The codes that were asked about.
    votes : float array of shape (n_codes, n_classes)
        The average share of the vote for each class.
    """

    feature: int
    codes: NDArray[np.int64]
    votes: NDArray[np.float64]


def importances(model: Any) -> NDArray[np.float64]:
    """Return for each feature how much of the vote moves, on average, when that feature alone is drawn anew."""
    rng = public_rng(SEED)
    codes = _uniform(model.encoding, rng)
    before = model.votes(codes)
    moved = np.zeros(model.encoding.n_features)
    again = _uniform(model.encoding, rng)
    for feature in range(model.encoding.n_features):
        changed = codes.copy()
        changed[feature] = again[feature]
        moved[feature] = np.abs(model.votes(changed) - before).sum(axis=1).mean() / 2
    return moved


def shape(model: Any, feature: int) -> VoteCurve:
    """Return the average vote for each value of a feature, all other features drawn uniformly."""
    n_codes = int(model.encoding.n_codes[feature])
    asked = np.unique(np.linspace(0, n_codes - 1, min(n_codes, MOST_POINTS)).round().astype(np.int64))
    others = _uniform(model.encoding, public_rng(SEED))[:, :ROWS_PER_CODE]
    rows = np.tile(others, (1, len(asked)))
    rows[feature] = np.repeat(asked, others.shape[1]).astype(rows.dtype)
    votes = model.votes(np.ascontiguousarray(rows))
    return VoteCurve(feature, asked, votes.reshape(len(asked), others.shape[1], -1).mean(axis=1))


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
