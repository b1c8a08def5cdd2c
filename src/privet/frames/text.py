"""Columns of text, as CSV files have them, read as a schema declares them: value by value.

No type and no error depends on a value. What cannot be read as declared is left to the schema's rules.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf, nan
from typing import TYPE_CHECKING, Any

from privet.frames.columns import Category
from privet.frames.text_forms import TextForm

if TYPE_CHECKING:
    import pandas as pd

_MOST_DIGITS = 1000  # of a number; Python itself refuses to read much longer ones
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def read_text(column: pd.Series[Any], categories: tuple[Category, ...] | None) -> Any:
    """Convert strings to numbers if there are no categories, else to what can equal one of the categories."""
    if categories is None:
        # Not by pandas, which reads whole numbers exactly or as doubles, depending on the other records.
        return _each(column, _number).astype("float64")
    if all(isinstance(category, str) for category in categories):
        return column
    if all(isinstance(category, bool) for category in categories):
        return _each(column, lambda text: _TRUTH.get(text.strip().lower(), text))
    if any(isinstance(category, str | bool) for category in categories):
        by_text = {str(category): category for category in categories}
        return _each(column, lambda text: by_text.get(text, text))
    return _each(column, _number_or_text)


def read_cells(column: pd.Series[Any], categories: tuple[Category, ...] | None, form: TextForm) -> Any:
    """Convert the cells of a text file of some form, like `read_text`.

    What stands for a missing value is left out, unless it is one of the categories. Numbers may have the form's decimal
    sign.
    """
    column = without_missing(column, form, categories or ())
    if categories is not None and any(isinstance(category, str | bool) for category in categories):
        return read_text(column, categories)
    return read_text(with_points(column.astype(object), form), categories)


def without_missing(column: pd.Series[Any], form: TextForm, kept: tuple[Category, ...]) -> pd.Series[Any]:
    """Leave out what stands for a missing value, unless it is one of the categories."""
    words = [word for word in form.na if word not in kept]
    return column.mask(column.isin(words)) if words else column


def with_points(column: pd.Series[Any], form: TextForm) -> pd.Series[Any]:
    """Write numbers with decimal points."""
    if form.decimal == ".":
        return column.map(lambda cell: form.number(cell) if isinstance(cell, str) and "," in cell else cell)
    return column.map(lambda cell: form.number(cell) if isinstance(cell, str) else cell)


def _each(column: pd.Series[Any], function: Callable[[str], Any]) -> Any:
    """Apply a function to each string; a column of objects, since pandas' `map` takes its type from all values."""
    import pandas

    values = [function(text) if isinstance(text, str) else nan for text in column]
    return pandas.Series(values, index=column.index, name=column.name, dtype=object)


def _number(text: str) -> float:
    value = _number_or_text(text)
    if isinstance(value, str):
        return nan
    try:
        return float(value)
    except OverflowError:  # hundreds of digits
        return -inf if value < 0 else inf


def _number_or_text(text: str) -> int | float | str:
    """Return the number that a string stands for; a string that stands for none is an unknown category."""
    if len(text) > _MOST_DIGITS or "_" in text:  # underscores are for Python's own numbers
        return text
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
