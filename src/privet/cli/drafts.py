"""Drafts of schemas: columns by name and type, with every bound and category still to be filled in.

A draft cannot be loaded until it is finished: a mark stands where a number or a list belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from privet.cli.questions import MARK, Ask, entry_of, in_words, quoted
from privet.cli.recognition import Taken, recognise
from privet.errors import SchemaError
from privet.frames.columns import Values, read_values
from privet.frames.opening import open_frame
from privet.schema.domains import Categorical
from privet.schema.schema import Schema, Task

_HEADER = """\
# A draft by `privet schema init`, made from column names and types only.
# Replace every {mark} by public knowledge: a codebook, a form, a law, common sense. Never look it up in the data:
# what is written here counts as known to everybody, and the guarantee does not cover it.
#
#   numeric, integer   low and high: values beyond them are clipped, so wide bounds are safe and tight ones precise
#   date               low and high as in 2010-12-31; {{type: date_part, of: NAME, part: month}} is a feature of its own
#   categorical        categories: a list such as ["red", "green"]; add  other: true  for all further values
#   ordinal            categories in their order
#   boolean            true or false, in the usual words
#   hashed             more categories than can be listed, in buckets
#   any of them        add  missing: true  where a value may be absent
#
# Correct a type where it is wrong. Columns that are not named here are not used.{guessed}
"""
_GUESSED = """
# The file declares no types: what a column holds was guessed from the form of its first records."""


def draft(
    frame: Any,
    target: str,
    *,
    task: Task | None = None,
    guessed: bool = False,
    ask: Ask | None = None,
    tell: Callable[[str], None] | None = None,
) -> str:
    """Return the text of a draft.

    Parameters
    ----------
    frame : frame
        Only its names and declared types are used and, where types were guessed, the form of its values.
    target : str
        The column to be predicted.
    task : {"classification", "regression"}, optional
        Whether the target is a class or a regression target; by default the latter if its type has decimals.
    guessed : bool
        Whether the types were guessed from values; if so, the draft says it.
    ask : callable, optional
        Asks the user a question and returns the answer; an empty answer leaves the mark.
    tell : callable, optional
        Receives a line on what each column was taken for.

    Notes
    -----
    *Privacy.* The text contains no value of any record. Categories that a dtype lists (a pandas Categorical, a
    dictionary of Parquet) may have been read off the records, so they are not used either.
    """
    opened = open_frame(frame)
    opened.named(target)
    lines, ignored = [], []
    for place, name in enumerate(opened.names or ()):
        if name == target:
            continue
        values = read_values(opened.column(place))
        taken = recognise(name, values, _texts(values) if guessed else None)
        if tell is not None and ask is None:
            tell(f"{name}: {in_words(taken)}")
        entry = entry_of(name, taken, False, ask)
        if entry is None:
            ignored.append(name)
        else:
            lines.append(f"  {quoted(name)}: {entry}")
    if not lines:
        raise SchemaError("no column is left to learn from; name features in a schema by hand")
    of_target = entry_of(target, _target(target, read_values(opened.named(target)), task), True, ask)
    header = _HEADER.format(mark=MARK, guessed=_GUESSED if guessed else "")
    text = [header, "version: 2", "features:", *lines]
    text += [f"# The column to predict is {target!r}; this is what it can be: categorical for classes, numeric for"]
    text += ["# regression.", f"target: {of_target}", f"target_column: {quoted(target)}"]
    if ignored:
        text += ["# Not used: identifiers, free text, and what you left out.", f"ignored: {_list(ignored)}"]
    text += ["# What is hidden: whether a record is there (add_remove), what it says (replace), or its label (label)."]
    return "\n".join([*text, "neighbours: add_remove", ""])


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
        # The loader's error names the place; at a mark it found a string instead of a number, a date or a list.
        place, _, problem = str(error).removeprefix(f"{path}: ").partition(": ")
        if repr(MARK) in problem or ("got text" in problem and MARK in path.read_text(encoding="utf-8")):
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


def _target(name: str, values: Values, task: Task | None) -> Taken:
    is_number = values.kind in ("number", "float")
    if task == "regression" and not is_number:
        raise SchemaError(f"column {name!r} does not hold numbers, so none can be predicted; leave out --task")
    if task is None:
        task = "regression" if values.kind == "float" else "classification"  # most whole numbers are classes
    if task == "regression":
        return Taken("numeric", "it is a regression target")
    if values.kind == "bool":
        return Taken("boolean", "its values are true and false")
    return Taken("categorical", "it is a class to be predicted")


def _texts(values: Values) -> list[str]:
    if values.kind in ("unsupported", "date"):
        return []
    return [value for value in values.objects() if isinstance(value, str)]


def _list(names: list[str]) -> str:
    return "[" + ", ".join(map(quoted, names)) + "]"
