"""Asking for what is public, one answer at a time; an answer that cannot be is asked for again at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from privet.cli.recognition import Taken, TypeName
from privet.schema.readings import day_of

MARK = "FILL_IN"
SKIP = "-"  # leaves a column out
RETYPE = "="  # before another type

Ask = Callable[[str], str]
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_IN_WORDS = {
    "numeric": "a number",
    "integer": "a whole number",
    "date": "a date",
    "boolean": "yes or no",
    "ordinal": "ordered categories",
    "categorical": "categories",
    "hashed": "categories in buckets",
    "ignored": "not used",
}


def in_words(taken: Taken) -> str:
    """What a column was taken for."""
    return f"{_IN_WORDS[taken.type]}, since {taken.why}"


def entry_of(name: str, taken: Taken, is_target: bool, ask: Ask | None) -> str | None:
    """Return the entry of a column in a schema file; None if it is not to be used.

    Parameters
    ----------
    name : str
        The column.
    taken : Taken
        What it was taken for; an answer "=TYPE" makes it another type, "-" leaves the column out.
    is_target : bool
        Whether it is to be predicted, so that it cannot be left out.
    ask : callable, optional
        Asks a question. An empty answer leaves a mark to be filled in.
    """
    types = [known for known in get_args(TypeName) if not (is_target and known in ("ignored", "date", "hashed"))]
    told = ""
    while ask is not None:
        changes = "" if is_target else f", {SKIP} to leave it out"
        answer = ask(f"{told}{name}: {in_words(taken)} (enter to go on, {RETYPE}TYPE to change{changes})").strip()
        if not answer:
            break
        if answer == SKIP and not is_target:
            return None
        wanted = answer.removeprefix(RETYPE).strip().lower()
        if wanted in types:
            taken = replace(taken, type=wanted, why="you said so")  # type: ignore[arg-type]  # one of these
            break
        told = f"{answer!r} is not a type; types are {', '.join(types)}. "
    if taken.type == "ignored":
        return None
    return f"{{type: {taken.type}{_options(name, taken, is_target, ask)}}}"


def _options(name: str, taken: Taken, is_target: bool, ask: Ask | None) -> str:
    if taken.type == "boolean":
        return ""
    if taken.type == "hashed":
        return ", buckets: 1024"
    if taken.type in ("categorical", "ordinal"):
        what = "classes" if is_target else "categories, in order" if taken.type == "ordinal" else "categories"
        return f", categories: {_asked(ask, f'{name}: public {what}, separated by commas', _list_of(is_target))}"
    read = _date if taken.type == "date" else _whole if taken.type == "integer" else _number
    low = _asked(ask, f"{name}: public lower bound", read)
    high = _asked(ask, f"{name}: public upper bound", lambda text: _above(low, read(text)))
    form = "" if taken.format is None else f", format: {json.dumps(taken.format)}"
    return f", low: {low}, high: {high}{form}"


def _asked(ask: Ask | None, question: str, read: Callable[[str], str]) -> str:
    """Ask until an answer can be read; what cannot be is said with the next question."""
    complaint = ""
    while ask is not None:
        answer = ask(complaint + question).strip()
        if not answer:
            break
        try:
            return read(answer)
        except ValueError as error:
            complaint = f"{error}. "
    return MARK


def _number(text: str) -> str:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return text


def _whole(text: str) -> str:
    if not float(_number(text)).is_integer():
        raise ValueError(f"{text!r} is not a whole number")
    return text


def _date(text: str) -> str:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) or day_of(text) != day_of(text):
        raise ValueError(f"{text!r} is not a date such as 2010-12-31")
    return text


def _above(low: str, high: str) -> str:
    if low != MARK:
        first, last = (float(text) if _NUMBER.fullmatch(text) else day_of(text) for text in (low, high))
        if not first < last:
            raise ValueError(f"{high} is not above the lower bound, {low}")
    return high


def _list_of(classes: bool) -> Callable[[str], str]:
    def read(text: str) -> str:
        items = [item.strip() for item in text.split(",") if item.strip()]
        if len(set(items)) < len(items):
            raise ValueError("one of them is listed twice")
        if classes and len(items) < 2:
            raise ValueError("there must be at least two classes")
        return "[" + ", ".join((_NUMBER.fullmatch(item) and item) or quoted(item) for item in items) + "]"

    return read


def quoted(text: str) -> str:
    """Return a text as YAML, in quotes unless no reader can take it for something else."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{2,}", text) and text not in ("true", "false", "null", MARK)
    return text if plain else json.dumps(text, ensure_ascii=False)
