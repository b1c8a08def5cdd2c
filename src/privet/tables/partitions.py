"""Columns that stand in the names of folders (``year=2024/part-0.parquet``) and not in the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from math import nan
from typing import Any

from privet.tables.files import DataFile
from privet.tables.piecewise import Declared


def constant_columns(file: DataFile, declared: Declared) -> dict[str, Any]:
    """Return an Arrow scalar for each column that the file's folders name.

    A folder name declares no type, so a value is read as the schema declares its column, on its own. What cannot be
    read so is treated like any value outside the schema. Columns that the schema does not declare, such as the unit,
    are text.
    """
    pa: Any = import_module("pyarrow")
    constants = {}
    for name, text in file.partition:
        categories = declared.get(name, ("",))
        if categories is None:
            constants[name] = pa.scalar(None if text is None else _number(text), pa.float64())
        elif any(isinstance(category, str) for category in categories):
            constants[name] = pa.scalar(text, pa.string())
        else:
            constants[name] = _number_of_category(pa, text, categories)
    return constants


def with_constants(table: Any, constants: Mapping[str, Any]) -> Any:
    """Add constant columns to an Arrow table. A column that the file itself has stays as it is."""
    pa: Any = import_module("pyarrow")
    for name, value in constants.items():
        if name not in table.column_names:
            table = table.append_column(name, pa.repeat(value, len(table)))
    return table


def _number_of_category(pa: Any, text: str | None, categories: Sequence[Any]) -> Any:
    same = [category for category in categories if _equal(text, category)]
    if all(isinstance(category, bool) for category in categories):
        return pa.scalar(same[0] if same else None, pa.bool_())
    if text is None or same:
        return pa.scalar(float(same[0]) if same else None, pa.float64())
    # A number that is no category stands for an unknown one; NaN would count as missing.
    return pa.scalar(1.0 + max(map(float, categories)), pa.float64())


def _equal(text: str | None, category: Any) -> bool:
    if isinstance(category, bool):
        return text is not None and text.strip().lower() in (("true", "1") if category else ("false", "0"))
    return text is not None and not isinstance(category, str) and _number(text) == float(category)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan
