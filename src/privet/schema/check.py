"""A frame against a schema: what breaks it, and schemas made from frames.

This is the only file that speaks about values, so *nothing that it says is private*: a report of `check` and the
domains of `infer` are facts about the records. They are for the eyes of whoever may see the data.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.frames.reading import Category, Frame, Values, is_missing, open_frame, read_feature, read_values
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.schema import Neighbours, Schema, Task, Unit

READ_OFF_THE_DATA = "domains were read off the data"


@dataclass(frozen=True)
class Finding:
    """One way in which a column breaks the schema."""

    column: str
    kind: str
    count: int
    message: str


@dataclass(frozen=True)
class CheckReport:
    """What `Schema.check` found. Not private: it tells exact facts about the records.

    Printed, it is a table with one line for each finding.
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing breaks the schema."""
        return not self.findings

    def __str__(self) -> str:
        if self.ok:
            return "The frame fits the schema."
        rows = [("column", "kind", "count", "what to do")]
        rows += [(found.column, found.kind, f"{found.count:,}", found.message) for found in self.findings]
        widths = [max(len(row[place]) for row in rows) for place in range(3)]
        lines = [
            f"{column:<{widths[0]}}  {kind:<{widths[1]}}  {count:>{widths[2]}}  {message}"
            for column, kind, count, message in rows
        ]
        return "\n".join([*lines, "This report is not private: it tells exact facts about the records."])


def check(schema: Schema, frame: Any, target: Any = None) -> CheckReport:
    """Report every way in which a frame, and labels or the column of this name, break the schema.

    Privacy
    -------
    None: the report counts records exactly. Do not publish it.
    """
    opened = open_frame(frame)
    features, encoding = schema.features, schema.encoding()
    findings = _check_names(schema, opened, target)
    for place, (name, domain) in enumerate(features.items()):
        if opened.names is None and opened.n_columns == len(features):
            values = read_feature(opened, place)
        elif opened.names is not None and name in opened.names:
            values = read_feature(opened, opened.names.index(name))
        else:
            continue
        problem = encoding.columns[place].dtype_problem(values)
        if problem:
            findings.append(Finding(name, "dtype", len(values.data), problem))
        elif isinstance(domain, Numeric):
            findings += _check_numbers(name, domain, values)
        else:
            findings += _check_categories(name, domain, values)
    if isinstance(target, str):
        if opened.names is not None and target in opened.names:
            findings += _check_target(schema.target, target, opened.named(target))
    elif target is not None:
        findings += _check_target(schema.target, "target", target)
    return CheckReport(tuple(findings))


def _check_names(schema: Schema, frame: Frame, target: Any) -> list[Finding]:
    features = list(schema.features)
    expected = [*features, *([target] if isinstance(target, str) else [])]
    if frame.names is not None:
        expected += [schema.unit.column] if schema.unit is not None else []
        absent = [name for name in expected if name not in frame.names]
        extra = [str(name) for name in frame.names if name not in expected]
        return [Finding(name, "absent column", 1, "add it, or rename its column") for name in absent] + [
            Finding(name, "extra column", 1, "drop it, or declare it") for name in extra
        ]
    if frame.n_columns != len(features):
        message = f"pass one column for each of the {len(features)} features, in schema order"
        return [Finding("(all)", "number of columns", frame.n_columns, message)]
    return []


@np.errstate(all="ignore")
def _check_numbers(name: str, domain: Numeric, values: Values) -> list[Finding]:
    numbers = values.numbers().astype(np.float64)
    missing = _missing(values)
    numbers[missing] = np.nan
    unreadable = np.isnan(numbers) & ~missing
    place = "the missing code" if domain.missing else "the middle cell"
    return _found(
        name,
        (
            "below low",
            np.sum(numbers < domain.low),
            f"clipped to {domain.low:g}; lower the public bound if it is wrong",
        ),
        (
            "above high",
            np.sum(numbers > domain.high),
            f"clipped to {domain.high:g}; raise the public bound if it is wrong",
        ),
        ("not a number", np.sum(unreadable), f"takes {place}; repair the column"),
        ("missing", 0 if domain.missing else np.sum(missing), f"takes {place}; declare missing=True to tell it apart"),
    )


def _check_categories(name: str, domain: Categorical, values: Values) -> list[Finding]:
    codes = values.match(domain.categories, unknown=-2, missing=-1)
    first = f"the first category, {domain.categories[0]!r}"
    unknown_place = "the missing code" if domain.missing else first
    missing_place = "other" if domain.other else first
    return _found(
        name,
        (
            "unknown",
            0 if domain.other else np.sum(codes == -2),
            f"takes {unknown_place}; declare other=True, or list it",
        ),
        ("missing", 0 if domain.missing else np.sum(codes == -1), f"takes {missing_place}; declare missing=True"),
    )


def _check_target(domain: Domain, name: str, y: Any) -> list[Finding]:
    values = read_values(y)
    encoding = Schema({"any": Numeric(0, 1)}, domain).encoding()
    try:
        codes = encoding.target.encode(values)
    except SchemaError as error:
        return [Finding(name, "dtype", len(values.data), str(error))]
    missing = _missing(values)
    found = _found(
        name,
        (
            "unknown label",
            np.sum((codes == -1) & ~missing),
            "the record is dropped; list the class, or repair the label",
        ),
        ("missing label", np.sum(missing), "the record is dropped; repair the label"),
    )
    if isinstance(domain, Numeric):
        outside = [finding for finding in _check_numbers(name, domain, values) if "clipped" in finding.message]
        return outside + found
    return found


def _missing(values: Values) -> npt.NDArray[np.bool_]:
    """Where there is no value, as opposed to one that cannot be read."""
    if values.labels is not None:
        missing = np.array([*map(is_missing, values.labels), True]).take(values.data)
    elif values.data.dtype == object:
        missing = np.fromiter(map(is_missing, values.data), dtype=bool, count=len(values.data))
    else:
        missing = np.isnan(values.data) if values.data.dtype.kind == "f" else np.zeros(len(values.data), dtype=bool)
    return missing if values.absent is None else missing | values.absent


def _found(name: str, *cases: tuple[str, Any, str]) -> list[Finding]:
    return [Finding(name, kind, int(count), message) for kind, count, message in cases if count]


# --- Schemas from frames ---------------------------------------------------------------------------------------


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
            domains[name] = Numeric(low, high, missing=name in missing)
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
    None: bounds and categories are facts about the records. The schema's `inferred` says so, and ledgers that see
    it claim nothing.
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
    if values.kind == "unsupported":
        raise SchemaError(f"column {name!r} has dtype {values.dtype}; convert it to numbers or strings, or drop it")
    missing = _missing(values)
    any_missing = bool(missing.any())
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


def _infer_target(values: Values, task: Task | None) -> Domain:
    missing = _missing(values)
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
    """The distinct values in a stable order; what no schema can list comes as None."""
    seen: dict[Any, None] = {}
    for value in (
        np.unique(values.data[~missing]).tolist() if values.data.dtype != object else values.objects()[~missing]
    ):
        plain = values.labels[value] if values.labels is not None else value
        plain = plain.item() if isinstance(plain, np.generic) else plain
        usable = type(plain) in (str, bool, int) or (type(plain) is float and abs(plain) < inf)
        seen.setdefault(plain if usable else None)
    return sorted(seen, key=lambda value: (value is None, isinstance(value, str), value if value is not None else 0))
