"""Texts of dates in other languages: a form such as ``%d.%m.%Y`` as a regular expression, or as pieces of SQL.

Both read what Python's own `strptime` reads; a form that cannot be said is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product

from privet.errors import ParameterError

_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = {
    "d": "3[01]|[12][0-9]|0[1-9]|[1-9]| [1-9]",
    "m": "1[0-2]|0[1-9]|[1-9]",
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "H": "2[0-3]|[01][0-9]|[0-9]",
    "I": "1[0-2]|0[1-9]|[1-9]",
    "M": "[0-5][0-9]|[0-9]",
    "S": "6[01]|[0-5][0-9]|[0-9]",
    "f": "[0-9]{1,6}",
    "p": "am|pm",
}
_NAMES = {
    "B": _MONTHS,
    "b": [month[:3] for month in _MONTHS],
    "A": _DAYS,
    "a": [day[:3] for day in _DAYS],
}
_DATE = {"d", "m", "Y", "y", "b", "B"}  # groups that are looked at, each at most once
_LITERAL = ""


def as_expression(feature: str, form: str) -> str:
    r"""Return a form as a regular expression, in which each part of a date is a group named by its letter.

    Examples
    --------
    >>> as_expression("day", "%Y.%m")
    '^(?<Y>[0-9]{4})\\.(?<m>1[0-2]|0[1-9]|[1-9])$'
    """
    parts = []
    for letter, text in _pieces(form):
        if letter == _LITERAL:
            parts.append(re.sub(r"(\\ |\s)+", r"\\s+", re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", text)))
            continue
        said = _NUMBERS.get(letter) or "|".join(_NAMES.get(letter, ()))
        if not said:
            raise _unknown(feature, form, letter, "JavaScript")
        parts.append(f"(?<{letter}>{said})" if letter in _DATE else f"(?:{said})")
    return f"^{''.join(parts)}$"


def as_substrings(feature: str, form: str) -> Iterator[tuple[str, dict[str, tuple[int, int]]]]:
    """Yield each pattern for LIKE that fits the form, and where year, month and day begin and how long they are.

    Days and months may have one digit where something stands between them.

    Examples
    --------
    >>> dict(as_substrings("day", "%d.%Y.%m"))["_.____.__"]
    {'d': (1, 1), 'Y': (3, 4), 'm': (8, 2)}
    """
    pieces = list(_pieces(form))
    letters = [letter for letter, _ in pieces if letter != _LITERAL]
    for letter in letters:
        if letter not in ("d", "m", "Y"):
            raise _unknown(feature, form, letter, "SQL")
    packed = any(_LITERAL not in pair for pair in pairwise(letter for letter, _ in pieces))
    for of_day, of_month in [(2, 2)] if packed else product((2, 1), repeat=2):
        width, pattern, places = {"d": of_day, "m": of_month, "Y": 4}, "", {}
        for letter, text in pieces:
            if letter != _LITERAL:
                places[letter] = (len(pattern) + 1, width[letter])
            # Some databases read a backslash as an escape, and a per cent sign is one of LIKE's own.
            pattern += re.sub(r"[%\\]", "_", text) if letter == _LITERAL else "_" * width[letter]
        yield pattern, places


def _pieces(form: str) -> Iterator[tuple[str, str]]:
    """Yield letters of parts and, with no letter, the text between them."""
    for found in re.finditer(r"%(.)|([^%]+)", form, re.DOTALL):
        letter, text = found.groups()
        yield (_LITERAL, "%" if letter == "%" else text) if letter in (None, "%") else (letter, "")


def _unknown(feature: str, form: str, letter: str, language: str) -> ParameterError:
    return ParameterError(
        f"feature {feature!r} holds dates as texts in the form {form!r}, and %{letter} cannot be read in {language}; "
        "export to Python, or to ONNX and make its inputs with onnx_inputs"
    )
