"""What a column seems to be: by its name, its declared type and, in files without types, its first values' form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from privet.frames.columns import Values
from privet.schema.readings import TRUTH, day_of

TypeName = Literal["numeric", "integer", "date", "boolean", "ordinal", "categorical", "hashed", "ignored"]

_IDS = re.compile(r"(^|[_\s.-])(id|ids|uuid|guid|key|ssn|iban|email|e-mail|phone|url|rowid|index)$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](ID|Id)$")
_NAMES = re.compile(r"^(full|first|last|given|family|sur)?[_\s-]?name$|^unnamed: [0-9]+$|^$", re.IGNORECASE)
_PROSE = re.compile(
    r"(^|[_\s.-])(comments?|notes?|remarks?|descriptions?|free[_\s-]?text|text|message|address|street)$", re.IGNORECASE
)
_CODES = re.compile(r"(^|[_\s.-])(zip|zip_?codes?|post_?codes?|postal_?codes?|plz)$", re.IGNORECASE)
_ORDERED = re.compile(r"(^|[_\s.-])(levels?|grades?|ratings?|severity|stage|satisfaction|frequency)$", re.IGNORECASE)
_FORMATS = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
_WORDS_OF_PROSE = 4
_MOST_CATEGORIES = 100
_FEWEST_VALUES_TO_JUDGE = 50


@dataclass(frozen=True)
class Taken:
    """What a column was taken for, and why."""

    type: TypeName
    why: str
    format: str | None = None


def recognise(name: str, values: Values, texts: Sequence[str] | None = None) -> Taken:
    """Say what a column seems to be.

    Parameters
    ----------
    name : str
        Its name.
    values : Values
        Its declared type is looked at, never its values.
    texts : sequence of str, optional
        The first values of a column of a file without types, whose form is looked at.
    """
    by_name = _by_name(name, values.kind)
    if by_name is not None:
        return by_name
    if values.kind == "date":
        return Taken("date", "its type is a date")
    if values.kind == "bool":
        return Taken("boolean", "its values are true and false")
    if values.kind == "number":
        return Taken("integer", "its numbers are whole")
    if values.kind == "float":
        return Taken("numeric", "its numbers have decimals")
    if values.kind == "unsupported":
        return Taken("ignored", f"nothing can be learned from its type, {values.dtype}")
    return _by_form(texts) if texts else Taken("categorical", "its values are words")


def _by_name(name: str, kind: str) -> Taken | None:
    if kind not in ("float", "date", "bool") and (_IDS.search(name) or _CAMEL_ID.search(name) or _NAMES.search(name)):
        return Taken("ignored", "its name is that of an identifier")
    if kind in ("string", "object", "null") and _PROSE.search(name):
        return Taken("ignored", "its name is that of free text")
    if kind not in ("date", "bool", "unsupported") and _CODES.search(name):
        return Taken("hashed", "its name is that of a code of places, of which there are too many to be listed")
    if kind in ("string", "object") and _ORDERED.search(name):
        return Taken("ordinal", "its name is that of a scale")
    return None


def _by_form(texts: Sequence[str]) -> Taken:
    for form in _FORMATS:
        if all(day_of(text, form) == day_of(text, form) for text in texts):
            doubt = form == "%d/%m/%Y" and all(day_of(text, "%m/%d/%Y") == day_of(text, "%m/%d/%Y") for text in texts)
            return Taken("date", "its values are dates" + ", perhaps with the month first" * doubt, form)
    if all(text.strip().lower() in TRUTH for text in texts):
        return Taken("boolean", "its values are yes and no")
    if median(len(text.split()) for text in texts) >= _WORDS_OF_PROSE:
        return Taken("ignored", "its values are free text")
    different = len(set(texts))
    if len(texts) >= _FEWEST_VALUES_TO_JUDGE and different >= 0.95 * len(texts):
        return Taken("ignored", "nearly every value is another one, as in an identifier")
    if different > _MOST_CATEGORIES:
        return Taken("hashed", "it has too many values to be listed")
    return Taken("categorical", "its values are words")
