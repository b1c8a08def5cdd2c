"""Making a schema from a frame: from its declared dtypes, or from its values.

`from_dtypes` looks at declared types alone. `infer` looks at values, so *the domains that it returns are not private*.
"""

from collections.abc import Collection, Mapping
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.frames.columns import Category, Values, read_values
from privet.frames.opening import open_frame, read_feature
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.schema import Neighbours, Schema, Task, Unit
from privet.schema.whole_domains import Date

READ_OFF_THE_DATA = "domains were read off the data"


def from_dtypes(
    frame: Any,
    target: str | Domain,
    *,
    public: bool,
    bounds: Mapping[str, tuple[float, float]] | None,
    missing: Collection[str],
    neighbours: Neighbours,
    unit: Unit | None,
) -> Schema:
    """See `Schema.from_dtypes`. Looks at dtypes alone, never at values."""
    if public is not True:
        raise SchemaError(
            "from_dtypes takes the categories of the frame's dtypes for public; pass public=True if they are, "
            "else write the schema by hand"
        )
    opened = open_frame(frame)
    if opened.names is None:
        raise SchemaError("an array's dtype declares no categories; pass a frame, or write the schema by hand")
    bounds, undeclared = dict(bounds or {}), []
    for name in {*bounds, *missing} - set(opened.names):
        raise SchemaError(f"column {name!r} of bounds or missing is not in the frame; correct the name")
    domains: dict[str, Domain] = {}
    for place, name in enumerate(opened.names):
        if unit is not None and name == unit.column:
            continue
        values = read_values(opened.column(place))
        if name in bounds:
            low, high = bounds[name]
            kind = Date if values.kind == "date" else Numeric
            domains[name] = kind(low, high, missing=name in missing)
        elif values.declared and values.labels is not None:
            domains[name] = Categorical(tuple(values.labels), missing=name in missing)
        elif values.kind == "bool":
            domains[name] = Categorical((False, True), missing=name in missing)
        else:
            undeclared.append(name)
    if undeclared:
        raise SchemaError(
            f"the dtypes of these columns declare no domain: {', '.join(map(repr, undeclared))}; pass "
            "bounds={name: (low, high)} for numbers, make others a pandas Categorical or polars Enum, or drop them"
        )
    if isinstance(target, str):
        if target not in domains:
            raise SchemaError(f"target column {target!r} is not in the frame; pass a column's name or a domain")
        target = domains.pop(target)
    return Schema(domains, target, neighbours=neighbours, unit=unit)


def infer(frame: Any, target: Any, task: Task | None) -> Schema:
    """See `Schema.infer`.

    Privacy
    -------
    None: bounds and categories are facts about the records. The schema's `inferred` says so, and a ledger of such a
    schema claims nothing.
    """
    opened = open_frame(frame)
    names = opened.names if opened.names is not None else tuple(f"x{place}" for place in range(opened.n_columns))
    labels = read_values(opened.named(target) if isinstance(target, str) else target)
    features = {
        name: _infer_domain(name, read_feature(opened, place))
        for place, name in enumerate(names)
        if not (isinstance(target, str) and name == target)
    }
    return Schema(features, _infer_target(labels, task), inferred=READ_OFF_THE_DATA)


def _infer_domain(name: str, values: Values) -> Domain:
    if values.kind == "unsupported" or (values.kind == "date" and values.labels is not None):
        raise SchemaError(f"column {name!r} has dtype {values.dtype}; convert it to numbers or strings, or drop it")
    missing = values.missing()
    any_missing = bool(missing.any())
    if values.kind == "date" and values.labels is None:
        return _infer_date(values, missing)
    if values.kind in ("number", "float") and values.labels is None:
        return _infer_numeric(values, missing)
    if values.kind == "bool":
        return Categorical((False, True), missing=any_missing)
    found = _distinct(values, missing)
    plain = [value for value in found if isinstance(value, str | int | float)]
    if plain and len(plain) == len(found) and not any(isinstance(value, str | bool) for value in plain):
        return (
            _infer_numeric(values, missing) if values.labels is None else Categorical(tuple(plain), missing=any_missing)
        )
    # A column without a single usable value still needs a domain.
    return Categorical(tuple(plain) or ("",), other=len(plain) < len(found), missing=any_missing)


def _infer_numeric(values: Values, missing: npt.NDArray[np.bool_]) -> Numeric:
    numbers = values.numbers().astype(np.float64)
    finite = numbers[np.isfinite(numbers) & ~missing]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if low == high:
        low, high = min(low, 0.0), max(high, 1.0)
    # The largest doubles would make a range whose width is infinite.
    low, high = max(low, -1e300), min(high, 1e300)
    return Numeric(low, high, missing=bool(missing.any()))


def _infer_date(values: Values, missing: npt.NDArray[np.bool_]) -> Date:
    days = values.data[~missing]
    low, high = (float(days.min()), float(days.max())) if len(days) else (0.0, 1.0)
    return Date(low, max(high, low + 1), missing=bool(missing.any()))


def _infer_target(values: Values, task: Task | None) -> Domain:
    missing = values.missing()
    if task is None:
        numbers = values.numbers()[~missing] if values.kind == "float" else np.zeros(0)
        task = "regression" if np.any(numbers != np.rint(numbers)) else "classification"
    if task == "regression":
        domain = _infer_numeric(values, missing)
        return Numeric(domain.low, domain.high)
    if values.kind == "bool":
        return Categorical((False, True))
    found = _distinct(values, missing)
    return Categorical(tuple(value for value in found if isinstance(value, str | int | float)))


def _distinct(values: Values, missing: npt.NDArray[np.bool_]) -> list[Category]:
    """The distinct values in a stable order; None stands for all values that no schema can list."""
    seen: dict[Any, None] = {}
    for value in (
        np.unique(values.data[~missing]).tolist() if values.data.dtype != object else values.objects()[~missing]
    ):
        plain = values.labels[value] if values.labels is not None else value
        plain = plain.item() if isinstance(plain, np.generic) else plain
        usable = type(plain) in (str, bool, int) or (type(plain) is float and abs(plain) < inf)
        seen.setdefault(plain if usable else None)
    return sorted(seen, key=lambda value: (value is None, isinstance(value, str), value if value is not None else 0))
