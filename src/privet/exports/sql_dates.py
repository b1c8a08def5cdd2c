"""Dates in SQL, in the few functions that all databases share.

A date is handled as its text in ISO's form, which has the dates' own order: databases keep dates as such, as points in
time or as texts, and write all of them so. Texts that are no date of the calendar become NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from privet.exports.date_forms import as_substrings
from privet.exports.scoring import CodedFeature
from privet.schema.readings import Days, Part, date_of

Columns = dict[str, str]  # what a step adds: names in quotes, and expressions

_ISO = "____-__-__"
_HYPHEN = " || '-' || "
_OFFSETS = (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)  # of the months, in Sakamoto's rule for weekdays


def date_column(feature: CodedFeature) -> str | None:
    """Return the name of the column that holds a feature made of dates; None for other features."""
    match feature.reading:
        case Days():
            return quoted_name(f"{feature.name} (date)")
        case Part(of, part):
            return quoted_name(f"{of} ({part})")
    return None


def date_literal(day: float) -> str:
    """Return a day, as its number, as a text in ISO's form."""
    return f"'{date_of(day).isoformat()}'"


def part_literal(part: Part, place: int) -> str:
    """Return a month or a weekday as the steps below write it."""
    return f"'{place + 1:02d}'" if part.part == "month" else str(place)


def date_steps(features: Sequence[CodedFeature]) -> list[Columns]:
    """Return the columns that are added one step after the other, from what is in a table to dates and their parts."""
    forms: dict[str, str | None] = {}
    months, weekdays = dict[str, None](), dict[str, None]()
    for feature in features:
        match feature.reading:
            case Days(form):
                forms.setdefault(feature.name, form)
            case Part(of, part, form):
                forms.setdefault(of, form)
                (months if part == "month" else weekdays)[of] = None
    if not forms:
        return []
    texts = {_added(name, "text"): f"TRIM(CAST({quoted_name(name)} AS VARCHAR(60)))" for name in forms}
    in_iso = {_added(name, "iso"): _in_iso(name, form) for name, form in forms.items()}
    dates = {_added(name, "date"): _checked(_added(name, "iso")) for name in forms}
    of_months = {_added(name, "month"): f"SUBSTR({_added(name, 'date')}, 6, 2)" for name in months}
    years = {_added(name, "year"): _year(_added(name, "date")) for name in weekdays}
    of_weekdays = {_added(name, "weekday"): _weekday(name) for name in weekdays}
    return [step for step in (texts, in_iso, dates, {**of_months, **years}, of_weekdays) if step]


def quoted_name(name: str) -> str:
    """Return a name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def _added(name: str, what: str) -> str:
    return quoted_name(f"{name} ({what})")


def _in_iso(name: str, form: str | None) -> str:
    """Write a text of the form, or one in ISO's form with or without a time, in ISO's form; no digit is checked yet."""
    text = _added(name, "text")
    starts = f"{text} LIKE '{_ISO}' OR {text} LIKE '{_ISO} %' OR {text} LIKE '{_ISO}T%'"
    whens = [f"WHEN {starts} THEN SUBSTR({text}, 1, 10)"]
    if form is None:
        year, month, day = (f"SUBSTR({text}, {begin}, {size})" for begin, size in ((1, 4), (5, 2), (7, 2)))
        whens.append(f"WHEN LENGTH({text}) = 8 THEN {_HYPHEN.join((year, month, day))}")
    else:
        for pattern, places in as_substrings(name, form):
            parts = [_two_digits(text, *places[letter]) for letter in "Ymd"]
            like = pattern.replace("'", "''")
            whens.append(f"WHEN {text} LIKE '{like}' THEN {_HYPHEN.join(parts)}")
    return f"CASE {' '.join(whens)} END"


def _two_digits(text: str, begin: int, size: int) -> str:
    part = f"SUBSTR({text}, {begin}, {size})"
    return f"'0' || {part}" if size == 1 else part


def _checked(iso: str) -> str:
    """Keep a text only if it is a date of the calendar."""
    digits = iso
    for digit in range(10):
        digits = f"REPLACE({digits}, '{digit}', '')"
    century, decade = f"SUBSTR({iso}, 1, 2)", f"SUBSTR({iso}, 3, 2)"
    month, day = f"SUBSTR({iso}, 6, 2)", f"SUBSTR({iso}, 9, 2)"
    fourths = ", ".join(f"'{number:02d}'" for number in range(4, 100, 4))
    leap = f"({decade} IN ({fourths}) OR ({decade} = '00' AND {century} IN ('00', {fourths})))"
    last = (
        f"CASE WHEN {month} IN ('04', '06', '09', '11') THEN '30' WHEN {month} <> '02' THEN '31' "
        f"WHEN {leap} THEN '29' ELSE '28' END"
    )
    return (
        f"CASE WHEN {digits} = '--' AND {iso} LIKE '{_ISO}' AND {iso} >= '0001' AND {month} BETWEEN '01' AND '12' "
        f"AND {day} >= '01' AND {day} <= {last} THEN {iso} END"
    )


def _year(date: str) -> str:
    """Return the year, in which January and February belong to the one before."""
    return f"CAST(SUBSTR({date}, 1, 4) AS INTEGER) - CASE WHEN SUBSTR({date}, 6, 2) < '03' THEN 1 ELSE 0 END"


def _weekday(name: str) -> str:
    """Return the number of the weekday, 0 for Monday. Divisions leave no rest, since databases round differently."""
    year, date = _added(name, "year"), _added(name, "date")
    month, day = f"SUBSTR({date}, 6, 2)", f"CAST(SUBSTR({date}, 9, 2) AS INTEGER)"
    leaps = [f"CAST(({year} - {year} % {size}) / {size} AS INTEGER)" for size in (4, 100, 400)]
    offsets = " ".join(f"WHEN '{place + 1:02d}' THEN {offset}" for place, offset in enumerate(_OFFSETS))
    days = f"{year} + {leaps[0]} - {leaps[1]} + {leaps[2]} + {day} + CASE {month} {offsets} END + 6"
    return f"({days}) % 7"
