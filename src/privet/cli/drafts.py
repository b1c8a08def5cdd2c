"""Drafts of schemas: columns by name and type, with every bound and category still to be filled in.

A draft cannot be loaded until it is finished: a mark stands where a number or a list belongs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from privet.errors import SchemaError
from privet.frames.columns import read_values
from privet.frames.opening import open_frame
from privet.schema.domains import Categorical
from privet.schema.schema import Schema, Task

MARK = "FILL_IN"

_HEADER = """\
# A draft by `privet schema init`, made from column names and types only.
# Replace every {mark} by public knowledge: a codebook, a form, a law, common sense. Never look it up in the data:
# what is written here counts as known to everybody, and the guarantee does not cover it.
#
#   numeric       low and high: values beyond them are clipped, so wide bounds are safe and tight ones precise
#   categorical   categories: a list such as ["red", "green"]; add  other: true  for all further values
#   either        add  missing: true  where a value may be absent
#
# Drop features that are not to be used (from the data, too). Whether a column of numbers is a measure or a code is
# for you to say: correct the type where it is wrong.{guessed}
"""
_GUESSED = """
# The file is a CSV, which declares no types: whether a column holds numbers was guessed from its first records."""

Ask = Callable[[str], str]


def draft(frame: Any, target: str, *, task: Task | None = None, guessed: bool = False, ask: Ask | None = None) -> str:
    """Return the text of a draft.

    Parameters
    ----------
    frame : frame
        Only its names and declared types are used.
    target : str
        The column to be predicted.
    task : {"classification", "regression"}, optional
        Whether the target is a class or a regression target; by default the latter if its type has decimals.
    guessed : bool
        Whether the types were guessed from values; if so, the draft says it.
    ask : callable, optional
        Asks the user a question and returns the answer; an empty answer leaves the mark.

    Notes
    -----
    *Privacy.* The text contains no value of any record. Categories that a dtype lists (a pandas Categorical, a
    dictionary of Parquet) may have been read off the records, so they are not used either.
    """
    opened = open_frame(frame)
    opened.named(target)
    entries = {}
    for place, name in enumerate(opened.names or ()):
        values = read_values(opened.column(place))
        if values.kind == "unsupported" and name != target:
            continue
        kind = _type_of(values.kind) if name != target else _type_of_target(name, values.kind, task)
        entries[name] = _entry(name, kind, values.kind == "bool", name == target, ask)
    lines = [_HEADER.format(mark=MARK, guessed=_GUESSED if guessed else ""), "version: 1", "features:"]
    lines += [f"  {_quoted(name)}: {entry}" for name, entry in entries.items() if name != target]
    lines += [f"# The column to predict is {target!r}; this is what it can be: categorical for classes, numeric for a"]
    lines += ["# number, which a regressor predicts.", f"target: {entries[target]}"]
    lines += ["# What is hidden: whether a record is there (add_remove), what it says (replace), or its label (label)."]
    return "\n".join([*lines, "neighbours: add_remove", ""])


def load_schema(path: Path | None) -> Schema:
    """Load a schema for a command; the error for an unfinished draft says what is still to be filled in."""
    if path is None:
        raise SchemaError(
            "no schema: it says which bounds and categories are public, and without it nothing could be guaranteed; "
            "draft one with `privet schema init DATA --target COLUMN -o schema.yaml`, fill it in, pass --schema"
        )
    if not path.exists():
        raise SchemaError(f"{path}: no such file; draft one with `privet schema init`")
    try:
        schema = Schema.load(path)
    except SchemaError as error:
        # The loader's error names the place; at a mark it found a string instead of a number or a list.
        place, _, problem = str(error).removeprefix(f"{path}: ").partition(": ")
        if "got text" in problem and MARK in path.read_text(encoding="utf-8"):
            raise _unfinished(path, place) from error
        raise
    for name, domain in [*schema.features.items(), ("target", schema.target)]:
        if isinstance(domain, Categorical) and MARK in domain.categories:
            raise _unfinished(path, f"{name}.categories")
    return schema


def _unfinished(path: Path, place: str) -> SchemaError:
    return SchemaError(
        f"{path}: this is an unfinished draft: {place} still says {MARK}; replace it, and all others, by public "
        "knowledge"
    )


def _type_of(kind: str) -> str:
    return "numeric" if kind in ("number", "float") else "categorical"


def _type_of_target(name: str, kind: str, task: Task | None) -> str:
    if task == "regression" and _type_of(kind) != "numeric":
        raise SchemaError(f"column {name!r} does not hold numbers, so none can be predicted; leave out --task")
    if task is None:
        task = "regression" if kind == "float" else "classification"  # most targets of whole numbers are classes
    return "numeric" if task == "regression" else "categorical"


def _entry(name: str, kind: str, is_bool: bool, is_target: bool, ask: Ask | None) -> str:
    if is_bool:
        return "{type: categorical, categories: [false, true]}"
    if kind == "categorical":
        what = "classes" if is_target else "categories"
        answer = ask(f"{name}: public {what}, separated by commas") if ask else ""
        return f"{{type: categorical, categories: {_list(answer)}}}"
    low, high = (_number(ask(f"{name}: public {bound} bound") if ask else "") for bound in ("lower", "upper"))
    return f"{{type: numeric, low: {low}, high: {high}}}"


def _list(answer: str) -> str:
    items = [item.strip() for item in answer.split(",") if item.strip()]
    return "[" + ", ".join(_scalar(item) for item in items) + "]" if items else MARK


def _number(answer: str) -> str:
    text = answer.strip()
    return text if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", text) else MARK


def _scalar(item: str) -> str:
    return item if _number(item) != MARK else _quoted(item)


def _quoted(text: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{2,}", text) and text not in ("true", "false", "null", MARK)
    return text if plain else json.dumps(text, ensure_ascii=False)
