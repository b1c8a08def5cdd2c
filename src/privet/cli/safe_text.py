"""Making text harmless where others run it: cells of spreadsheets, and control characters on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # all but tab, line feed


def printable(text: str) -> str:
    r"""Return a text with control characters written out, so that a name cannot steer a terminal.

    Examples
    --------
    >>> print(printable("age\x1b[2J"))
    age\x1b[2J
    """
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def printable_json(text: str) -> str:
    r"""Return a JSON text of the same content without control characters; in JSON they occur within strings alone.

    Examples
    --------
    >>> print(printable_json('{"id": "\x9b2J"}'))
    {"id": "\u009b2J"}
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts no spreadsheet takes for a formula: an apostrophe is put before them."""
    safe = frame.rename(columns=lambda name: _harmless(str(name)))
    for place, name in enumerate(frame.columns):
        if frame.dtypes.iloc[place].kind not in "biufM":
            safe[safe.columns[place]] = frame[name].map(_harmless, na_action="ignore")
    return safe


def _harmless(value: Any) -> Any:
    if not isinstance(value, str) or not _FORMULA.match(value) or _reads_as_number(value):
        return value
    return f"'{value}"


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
