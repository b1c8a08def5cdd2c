"""Whatever rows a unit has, at most its maximum arrive, and no other unit's rows change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from privet.audit.report import Finding
from privet.audit.way_in.made_frames import FrameColumns, columns_of, frame_of, has_pandas, labels_of
from privet.audit.way_in.watching import Arrived, arrive, finding, with_schema
from privet.errors import PrivetError
from privet.estimators.base import PrivateEstimator
from privet.mechanisms.release import seeded
from privet.parameters import public_rng
from privet.schema.schema import Schema, Unit

MANY_UNITS = 3_000
MOST_FEATURES = 3  # of the schema that are used: the treatment of units does not depend on their number
Ids = list[Any]


def units_audit(estimator: PrivateEstimator, notes: list[str]) -> list[Finding]:
    """Add, remove and change units; give them ids of every type that a frame can have.

    A schema that declares no unit gets one for this purpose, since the library treats all units the same.
    """
    if not has_pandas():
        notes.append("Units were not looked at: that takes pandas.")
        return []
    schema = _with_unit(estimator.schema, 3)
    subject = with_schema(estimator, schema)
    flaw = "a unit has more rows than its maximum, or changes those of others"
    return [
        finding("units: added and removed", flaw, _added_and_removed(subject)),
        finding("units: changed", flaw, _changed(subject)),
        finding("units: many", "different units are taken for one", _many(subject)),
        finding("units: ids of every type", "ids are merged or split", _ids(estimator, notes)),
    ]


def _with_unit(schema: Schema | None, max_rows: int) -> Schema:
    assert schema is not None
    name = "unit" if schema.unit is None else schema.unit.column
    while name in schema.features:
        name += "_"
    names = list(schema.feature_columns)[:MOST_FEATURES]  # no feature that is derived from one that is left out
    features = {feature: domain for feature, domain in schema.features.items() if feature in names}
    return Schema(features, schema.target, neighbours=schema.neighbours, unit=Unit(name, max_rows))


def _arrive(estimator: PrivateEstimator, columns: FrameColumns, ids: Any, labels: Any, rows: list[int]) -> Arrived:
    schema = estimator.schema
    assert schema is not None
    assert schema.unit is not None
    frame = frame_of(schema, columns, rows)
    frame[schema.unit.column] = ids(rows) if callable(ids) else [ids[row] for row in rows]
    with seeded(5):  # the same secret key on both sides: then nothing but the unit may make a difference
        return arrive(estimator, frame, labels[rows])


def _world(estimator: PrivateEstimator) -> tuple[FrameColumns, Ids, Any, int]:
    """Units with one row, with as many as are allowed and with more, shuffled; and rows without a unit."""
    schema = estimator.schema
    assert schema is not None
    assert schema.unit is not None
    most = schema.unit.max_rows
    ids: Ids = ["one"] + ["full"] * most + ["over"] * (most + 2) + ["more"] * (2 * most + 1) + [None] * 3
    order = public_rng(3).permutation(len(ids)).tolist()
    ids = [ids[place] for place in order]
    return columns_of(schema, len(ids), public_rng(4)), ids, labels_of(schema, len(ids)), most


def _added_and_removed(estimator: PrivateEstimator) -> str:
    columns, ids, labels, most = _world(estimator)
    everyone = list(range(len(ids)))
    whole = _arrive(estimator, columns, ids, labels, everyone).counted()
    if whole.total() != 1 + 3 * most:
        return f"of units of 1, {most}, {most + 2} and {2 * most + 1} rows {whole.total()} rows arrive"
    for unit in ("one", "full", "over", "more", None):
        without = _arrive(estimator, columns, ids, labels, [row for row in everyone if ids[row] != unit]).counted()
        gone, new = (whole - without).total(), (without - whole).total()
        if new or gone > (0 if unit is None else most):
            return f"a unit was removed: {gone} rows went with it, {new} rows of others came"
    return ""


def _changed(estimator: PrivateEstimator) -> str:
    """Give a unit other rows, or more or fewer: at most its maximum arrive, and other units keep their rows."""
    columns, ids, labels, most = _world(estimator)
    others = [row for row in range(len(ids)) if ids[row] != "over"]
    own = [row for row in range(len(ids)) if ids[row] == "over"]
    rest = _arrive(estimator, columns, ids, labels, others).counted()
    for rows in ([*others, *own[:1]], [*own, *others], [*others, *own, *own], [*own[1:], *others, *own[:1]]):
        found = _arrive(estimator, columns, ids, labels, rows).counted()
        if (rest - found).total() or (found - rest).total() > most:
            return "a unit's rows were changed, and more than its maximum arrived, or others lost rows"
    return ""


def _many(estimator: PrivateEstimator) -> str:
    """Many distinct units with one row each: if any row is missing, two units were merged."""
    schema = estimator.schema
    assert schema is not None
    assert schema.unit is not None
    one_each = with_schema(estimator, _with_unit(schema, 1))
    columns, labels = columns_of(schema, MANY_UNITS, public_rng(6)), labels_of(schema, MANY_UNITS)
    n = len(_arrive(one_each, columns, lambda rows: np.asarray(rows), labels, list(range(MANY_UNITS))).places)
    return "" if n == MANY_UNITS else f"of {MANY_UNITS:,} units of one row {n:,} arrive"


def _ids(estimator: PrivateEstimator, notes: list[str]) -> str:
    """With ids of every type, different people stay different, one person stays one, and a missing id names nobody."""
    schema = _with_unit(estimator.schema, 1)
    assert schema.unit is not None
    subject = with_schema(estimator, schema)
    looked_at, refused = [], []
    for name, people, make in _types_of_ids():
        ids = make(people)
        n = len(ids)
        columns, labels = columns_of(schema, n, public_rng(7)), labels_of(schema, n)
        frame = frame_of(schema, columns)
        frame[schema.unit.column] = ids
        try:
            arrived = arrive(subject, frame, labels)
        except PrivetError:  # refused by the declared type alone, which reveals nothing about the data
            refused.append(name)
            continue
        looked_at.append(name)
        distinct = len({str(person) for person in people if person is not None})
        if len(arrived.places) != distinct:
            return f"ids of type {name}: {distinct} people, of whom {len(arrived.places)} arrive"
    notes.append(
        f"Ids of units were looked at as {', '.join(looked_at)}"
        + (f"; refused by their type: {', '.join(refused)}." if refused else ".")
    )
    return ""


def _types_of_ids() -> Iterator[tuple[str, Ids, Callable[[Ids], Any]]]:
    """Yield types of ids, ids that are close to one another in that type, and how to make a column of them."""
    import pandas as pd

    close = [2**53, 2**53 + 1, 2**53, 2**53 + 2]
    far = [2**63, 2**63 + 1, 2**64 - 1, 2**63]
    texts = ["7", "07", "7", " 7", "7 ", "é", "e\u0301", "É", ""]
    yield "int64", [*close, -1, 0], lambda people: np.array(people, dtype=np.int64)
    yield "uint64", far, lambda people: np.array(people, dtype=np.uint64)
    yield "Int64", [*close, None, None], lambda people: pd.array(people, dtype="Int64")
    yield "float64", [1.0, 2.0, 1.0, None, 2.5], lambda people: np.array(people, dtype=np.float64)
    yield "text", [*texts, None], lambda people: pd.array(people, dtype="string")
    yield "categorical", [*texts, None, None], lambda people: pd.Categorical(people)
    yield "objects", [7, "7", 7, None], lambda people: pd.Series(people, dtype=object)
    yield "objects of one type", [*texts, None], lambda people: pd.Series(people, dtype=object)
    if find_spec("pyarrow") is None:
        return
    from importlib import import_module

    pa: Any = import_module("pyarrow")  # untyped

    def arrow(people: Ids, dtype: Any) -> Any:
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(people, type=dtype)))

    from decimal import Decimal

    decimals = [Decimal(person) for person in (*close, *far)]
    yield "Arrow integers", [*close, None], lambda people: arrow(people, pa.int64())
    yield "Arrow text", texts, lambda people: arrow(people, pa.large_string())
    yield "Arrow decimals", [*decimals, None], lambda people: arrow(people, pa.decimal128(38, 0))
    yield "Arrow dictionary", [*texts, None], lambda people: arrow(people, pa.dictionary(pa.int32(), pa.string()))
