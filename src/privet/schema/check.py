"""Checking a frame against a schema.

The findings count records exactly, so *nothing that this file reports is private*. It is meant only for people who may
see the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.frames.columns import Values, read_values
from privet.frames.opening import Frame, one_column, open_frame, read_feature
from privet.schema.category_domains import DatePart, Ordinal
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.encoding import Column
from privet.schema.schema import Schema
from privet.schema.whole_domains import Date


@dataclass(frozen=True)
class SchemaFinding:
    """One way in which a column breaks the schema."""

    column: str
    kind: str
    count: int
    message: str


@dataclass(frozen=True)
class CheckReport:
    """What `Schema.check` found. Not private: it states exact facts about the records.

    Printed, it is a table with one line for each finding.
    """

    findings: tuple[SchemaFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing breaks the schema."""
        return not self.findings

    def __repr__(self) -> str:
        return f"<CheckReport: {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        from privet.markup import card, paragraph, table

        if self.ok:
            return card("The frame fits the schema.")
        rows = [(found.column, found.kind, f"{found.count:,}", found.message) for found in self.findings]
        found = table("What breaks the schema", ("column", "kind", "count", "what to do"), rows, numbers=frozenset({2}))
        return card(
            "The frame breaks the schema", found, paragraph("Not private: it states exact facts about records.")
        )

    def __str__(self) -> str:
        if self.ok:
            return "The frame fits the schema."
        rows = [("column", "kind", "count", "what to do")]
        rows += [(found.column, found.kind, f"{found.count:,}", found.message) for found in self.findings]
        widths = [max(len(row[place]) for row in rows) for place in range(3)]
        lines = [
            f"{column:<{widths[0]}}  {kind:<{widths[1]}}  {count:>{widths[2]}}  {message}"
            for column, kind, count, message in rows
        ]
        return "\n".join([*lines, "This report is not private: it states exact facts about the records."])


def check(schema: Schema, frame: Any, target: Any = None) -> CheckReport:
    """Report every way in which a frame breaks the schema; `target` holds the labels, or the name of their column.

    Privacy
    -------
    None: the report counts records exactly. Do not publish it.
    """
    opened = open_frame(frame)
    features, encoding = schema.features, schema.encoding()
    findings = _check_names(schema, opened, target)
    for place, (name, domain) in enumerate(features.items()):
        if isinstance(domain, DatePart):
            continue  # what is wrong with it is wrong with its date
        if opened.names is None and opened.n_columns == len(features):
            values = read_feature(opened, place)
        elif opened.names is not None and name in opened.names:
            values = read_feature(opened, opened.names.index(name))
        else:
            continue
        problem = encoding.columns[place].dtype_problem(values)
        if problem:
            findings.append(SchemaFinding(name, "dtype", len(values.data), problem))
        elif isinstance(domain, Numeric):
            findings += _check_numbers(name, domain, values, encoding.columns[place])
        else:
            findings += _check_categories(name, domain, values, encoding.columns[place])
    if isinstance(target, str):
        if opened.names is not None and target in opened.names:
            findings += _check_target(schema.target, target, opened.named(target))
    elif target is not None:
        findings += _check_target(schema.target, "target", one_column(target))
    return CheckReport(tuple(findings))


def _check_names(schema: Schema, frame: Frame, target: Any) -> list[SchemaFinding]:
    features = list(schema.features)
    expected = [*schema.feature_columns, *([target] if isinstance(target, str) else [])]
    if frame.names is not None:
        expected += [schema.unit.column] if schema.unit is not None else []
        absent = [name for name in expected if name not in frame.names]
        return [SchemaFinding(name, "absent column", 1, "add it, or rename its column") for name in absent]
    if frame.n_columns != len(features):
        message = f"pass one column for each of the {len(features)} features, in schema order"
        return [SchemaFinding("(all)", "number of columns", frame.n_columns, message)]
    return []


@np.errstate(all="ignore")
def _check_numbers(name: str, domain: Numeric, values: Values, column: Column | None = None) -> list[SchemaFinding]:
    missing = values.missing()
    numbers = (values if column is None else column.read(values)).numbers().astype(np.float64)
    low, high = ((column and column.cut_in_words(bound)) or f"{bound:g}" for bound in (domain.low, domain.high))
    wrong = "not a date" if isinstance(domain, Date) else "not a number"
    numbers[missing] = np.nan
    unreadable = np.isnan(numbers) & ~missing
    place = "the missing code" if domain.missing else "the middle cell"
    return _found(
        name,
        (
            "below low",
            np.sum(numbers < domain.low),
            f"clipped to {low}; lower the public bound if it is wrong",
        ),
        (
            "above high",
            np.sum(numbers > domain.high),
            f"clipped to {high}; raise the public bound if it is wrong",
        ),
        (wrong, np.sum(unreadable), f"takes {place}; repair the column"),
        ("missing", 0 if domain.missing else np.sum(missing), f"takes {place}; declare missing=True to tell it apart"),
    )


def _check_categories(name: str, domain: Categorical, values: Values, column: Column) -> list[SchemaFinding]:
    if not isinstance(domain, Ordinal):
        values = column.read(values)
    codes = values.match(domain.categories, unknown=-2, missing=-1)
    place = column.code_of_missing if isinstance(domain, Ordinal) and not domain.missing else 0
    first = f"the {'middle' if isinstance(domain, Ordinal) else 'first'} category, {domain.categories[place]!r}"
    unknown_place = "the missing code" if domain.missing else first
    missing_place = "other" if domain.other else first
    return _found(
        name,
        (
            "unknown",
            0 if domain.other else np.sum(codes == -2),
            f"takes {unknown_place}; {'' if type(domain) is not Categorical else 'declare other=True, or '}list it",
        ),
        ("missing", 0 if domain.missing else np.sum(codes == -1), f"takes {missing_place}; declare missing=True"),
    )


def _check_target(domain: Domain, name: str, y: Any) -> list[SchemaFinding]:
    values = read_values(y)
    encoding = Schema({"any": Numeric(0, 1)}, domain).encoding()
    try:
        codes = encoding.target.encode(values)
    except SchemaError as error:
        return [SchemaFinding(name, "dtype", len(values.data), str(error))]
    missing = values.missing()
    found = _found(
        name,
        (
            "unknown label",
            np.sum((codes == -1) & ~missing),
            "the record is dropped; list the class, or repair the label",
        ),
        ("missing label", np.sum(missing), "the record is dropped; repair the label"),
    )
    if isinstance(domain, Numeric):
        outside = [finding for finding in _check_numbers(name, domain, values) if "clipped" in finding.message]
        return outside + found
    return found


def _found(name: str, *cases: tuple[str, Any, str]) -> list[SchemaFinding]:
    return [SchemaFinding(name, kind, int(count), message) for kind, count, message in cases if count]
