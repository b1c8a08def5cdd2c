"""Made-up frames for any schema, with plain and with hostile values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from importlib.util import find_spec
from math import inf, nan
from typing import Any

import numpy as np

from privet.randomness.public import PublicRng
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.schema import Schema

FrameColumns = dict[str, list[Any]]


def has_pandas() -> bool:
    """Whether frames with named columns can be made, as units need them."""
    return find_spec("pandas") is not None


def values_of(domain: Domain) -> list[Any]:
    """Return values of a domain, some within it and some that the schema must map by a public rule."""
    if isinstance(domain, Numeric):
        width = domain.high - domain.low
        inside = [domain.low + width * part for part in (0.0, 0.03, 0.11, 0.29, 0.5, 0.52, 0.77, 0.9, 1.0)]
        return [*inside, nan, domain.low - width, domain.high + width, inf, -inf, nan]
    known = list(domain.categories[:6]) + list(domain.categories[-3:])
    return [*known, None, _unknown(domain), known[0], known[-1]]


def odd_values(domain: Domain) -> list[Any]:
    """Return values that a column of objects may hold: strings among numbers, numbers among strings, and others."""
    return [*values_of(domain), "", "nonsense", Decimal(3), Decimal("NaN"), True, 10**40, None, (1, 2), b"\xff"]


def columns_of(schema: Schema, n: int, rng: PublicRng, *, odd: bool = False) -> FrameColumns:
    """Draw a value of each feature for each of `n` records; the first few records go through all values in turn."""
    columns: FrameColumns = {}
    for shift, (name, domain) in enumerate(schema.features.items()):
        values = odd_values(domain) if odd else values_of(domain)
        picks = [(place + shift) % len(values) for place in range(min(n, len(values)))]
        picks += rng.integers(len(values), size=n - len(picks)).tolist()
        columns[name] = [values[pick] for pick in picks]
    return columns


def labels_of(schema: Schema, n: int, *, unknown: bool = False) -> Any:
    """Return labels that are all known, or labels of which every fourth is not."""
    target = schema.target
    if isinstance(target, Numeric):
        numbers = np.linspace(target.low, target.high, max(n, 1))[:n]
        return np.where(np.arange(n) % 4 == 3, nan, numbers) if unknown else numbers
    assert target is not None
    labels = [target.categories[place % len(target.categories)] for place in range(n)]
    if unknown:
        labels = [_unknown(target) if place % 4 == 3 else label for place, label in enumerate(labels)]
    made = np.empty(n, dtype=object)
    made[:] = labels
    return made


def frame_of(schema: Schema, columns: FrameColumns, rows: Sequence[int] | None = None, *, odd: bool = False) -> Any:
    """Return a pandas frame of some rows, whose dtypes depend on the schema alone and never on values.

    Without pandas, return an array in the order of the schema.
    """
    picked = {name: values if rows is None else [values[row] for row in rows] for name, values in columns.items()}
    if not has_pandas():
        cells = np.empty((len(next(iter(picked.values()))), len(picked)), dtype=object)
        for place, values in enumerate(picked.values()):
            cells[:, place] = values
        return cells
    import pandas as pd

    made: dict[str, Any] = {}
    for name, values in picked.items():
        domain = schema.features.get(name)
        if isinstance(domain, Numeric) and not odd:
            made[name] = np.array(values, dtype=np.float64)
        elif domain is not None:
            cells_of_column = np.empty(len(values), dtype=object)
            cells_of_column[:] = values
            made[name] = pd.Series(cells_of_column, dtype=object)
        else:
            made[name] = values
    return pd.DataFrame(made)


def large_frame_of(schema: Schema, columns: FrameColumns, n: int) -> Any:
    """Return a frame of `n` rows that repeats the records, in columns that are fast to read."""
    places = np.arange(n) % len(next(iter(columns.values())))
    if not has_pandas():
        return frame_of(schema, columns, places.tolist())
    small = frame_of(schema, columns)
    for name, domain in schema.features.items():
        if isinstance(domain, Categorical):
            small[name] = small[name].astype("category")
    return small.take(places).reset_index(drop=True)


def _unknown(domain: Categorical) -> Any:
    texts = [category for category in domain.categories if isinstance(category, str)]
    if texts:
        return max(texts) + "?"
    return max(category for category in domain.categories if not isinstance(category, str)) + 1
