"""Turning the strings of a text file into values, as the schema declares them or as they look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privet.frames.text import read_cells, read_text, with_points, without_missing
from privet.frames.text_forms import TextForm
from privet.progress import Counter
from privet.schema.category_domains import Boolean, Hashed
from privet.schema.domains import Categorical, Domain
from privet.schema.readings import TRUTH
from privet.schema.whole_domains import Date

if TYPE_CHECKING:
    import pandas as pd


def as_declared(
    frame: pd.DataFrame, domains: Mapping[str, Domain], form: TextForm, count: Counter | None = None
) -> pd.DataFrame:
    """Convert columns as the schema declares them, value by value; others, such as the unit, stay strings.

    *Privacy.* Each value is converted by a fixed rule that looks at that value alone. What cannot be converted is left
    to the schema's rules.
    """
    converted = {}
    for name in frame.columns:
        if name in domains:
            converted[name] = _convert(frame[name], domains[name], form)
        if count is not None:
            count.add()
    return frame.assign(**converted)


def as_they_look(frame: pd.DataFrame, form: TextForm) -> pd.DataFrame:
    """Guess types from values, for a draft; *nothing about it is private*."""

    def guess(column: pd.Series[Any]) -> Any:
        column = without_missing(column, form, ())
        present = column.dropna()
        if not len(present) or not present.map(lambda cell: isinstance(cell, str)).all():
            return column.infer_objects()
        if present.str.strip().str.lower().isin(["true", "false"]).all():
            return column.map(lambda text: TRUTH[text.strip().lower()], na_action="ignore").astype("boolean")
        numbers = read_text(with_points(column.astype(object), form), None)
        if numbers[present.index].notna().all():
            whole = (numbers.dropna() % 1 == 0).all() and not present.str.contains("[.,eE]").any()
            return numbers.astype("Int64") if whole else numbers
        return column

    return frame.assign(**{str(name): guess(frame[name]) for name in frame.columns})


def _convert(column: pd.Series[Any], domain: Domain, form: TextForm) -> Any:
    kept = domain.categories if isinstance(domain, Categorical) else ()
    if isinstance(domain, Date | Boolean | Hashed):
        return without_missing(column, form, kept)  # the schema itself reads texts
    return read_cells(column, domain.categories if isinstance(domain, Categorical) else None, form)
