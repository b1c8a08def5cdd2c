"""Columns of text, as CSV files have them, read as a schema declares them: value by value.

No type and no error depends on a value. What cannot be read as declared is left to the schema's rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privet.frames.columns import Category

if TYPE_CHECKING:
    import pandas as pd

_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def read_text(column: pd.Series[Any], categories: tuple[Category, ...] | None) -> Any:
    """Convert strings to numbers if there are no categories, else to what can equal one of the categories."""
    import pandas

    if categories is None:
        return pandas.to_numeric(column, errors="coerce")
    if all(isinstance(category, str) for category in categories):
        return column
    if all(isinstance(category, bool) for category in categories):
        return column.map(lambda text: _TRUTH.get(text.strip().lower(), text), na_action="ignore").astype(object)
    if any(isinstance(category, str | bool) for category in categories):
        by_text = {str(category): category for category in categories}
        return column.map(lambda text: by_text.get(text, text), na_action="ignore").astype(object)
    numbers = pandas.to_numeric(column, errors="coerce").astype(object)
    return numbers.where(numbers.notna(), column)  # a string that is not a number stays an unknown category
