"""Rows of frames and arrays, as the attacks and the DPA ensemble need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.schema.schema import Schema

FINE_GRID = 255


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return rows of a pandas frame or an array, in this order; a row may come more than once."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def numbers(X: Any, schema: Schema | None) -> NDArray[np.float64]:
    """Return features as numbers for a plain tree: the schema's codes, or the values themselves without one."""
    if schema is None:
        return np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    return np.ascontiguousarray(schema.encoding(FINE_GRID).encode(X).T, dtype=np.float64)
