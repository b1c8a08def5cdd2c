"""Canaries: neighbouring data sets for a user's own schema."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

from privet.audit.neighbour_pair import NeighbourPair, Record, data_set
from privet.audit.projections import Predictions, Projection, Steps
from privet.errors import AuditError
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

Feature = Numeric | Categorical


def canaries(schema: Schema, n: int = 6) -> list[NeighbourPair]:
    """Return pairs that suit any schema: a plain data set, and one record that stands out, the canary.

    Parameters
    ----------
    schema : Schema
        The public schema. Its neighbour relation decides whether the canary is added, replaces a plain record, or only
        differs in its label.
    n : int
        Number of plain records.

    Returns
    -------
    list of NeighbourPair
        One record against none; another label in a pure data set; extreme values; a new class; missing and unknown
        values where the schema allows them. Under ``label`` only the label can stand out.

    Raises
    ------
    AuditError
        If the schema has a unit of more than one row: a unit's rows must be given by the user.
    """
    if schema.unit is not None:
        raise AuditError("the schema has a unit of several rows; build NeighbourPair from two of your own data sets")
    if schema.target is None:
        raise AuditError("the schema has no target, so there is nothing to train for")
    if n < 1:
        raise AuditError(f"n={n}; canaries need at least one plain record")
    features = list(schema.features.values())
    labels = _labels(schema.target)
    usual, other = labels[0], labels[1 % len(labels)]
    plain: Record = (tuple(_typical(feature) for feature in features), usual)
    low, high = (tuple(_end(feature, end) for feature in features) for end in (0, -1))

    pure = [plain] * n
    mixed: list[Record] = [(low, usual), (high, other)] * ((n + 1) // 2)
    stories: list[tuple[str, str, list[Record], Record]] = [
        ("canary-first-record", "an empty data set is a special case", [], plain),
        ("canary-other-label", "a pure data set is a special case", pure, (plain[0], other)),
        ("canary-low", "bounds or categories are read from the data", pure, (low, other)),
        ("canary-high", "bounds or categories are read from the data", pure, (high, other)),
        ("canary-contrary", "one record can move a split too far", mixed, (low, other)),
    ]
    if len(labels) > 2:
        stories.append(("canary-new-class", "the class list is read from the data", mixed, (low, labels[-1])))
    if any(feature.missing for feature in features):
        missing = tuple(_missing(feature) for feature in features)
        stories.append(("canary-missing", "missing values are a special case", pure, (missing, other)))
    unknown = tuple(_unknown(feature) for feature in features)
    stories.append(("canary-unknown", "values outside of the schema are a special case", pure, (unknown, other)))

    points: Projection = Predictions(tuple(dict.fromkeys((plain[0], low, high))))
    if isinstance(schema.target, Numeric):
        points = Steps(points, schema.target.low, schema.target.high)
    build = {"add_remove": _added, "replace": _replaced, "label": _relabelled}[schema.neighbours]
    pairs = []
    for name, flaw, before, canary in stories:
        sides = build(before, canary, plain)
        if sides is not None:
            D, D_prime = (data_set(side, schema) for side in sides)
            event = "the predictions at a plain and at the extreme points"
            pairs.append(NeighbourPair(name, flaw, D, D_prime, schema.neighbours, event, (points,), schema))
    return pairs


Sides = tuple[list[Record], list[Record]]
_Build = Callable[[list[Record], Record, Record], "Sides | None"]


def _added(before: list[Record], canary: Record, plain: Record) -> Sides | None:
    return before, [*before, canary]


def _replaced(before: list[Record], canary: Record, plain: Record) -> Sides | None:
    return None if canary == plain else ([*before, plain], [*before, canary])


def _relabelled(before: list[Record], canary: Record, plain: Record) -> Sides | None:
    row, label = canary
    return None if label == plain[1] else ([*before, (row, plain[1])], [*before, canary])


def _labels(target: Feature) -> list[Any]:
    return list(target.categories) if isinstance(target, Categorical) else [target.low, target.high]


def _typical(feature: Feature) -> Any:
    if isinstance(feature, Categorical):
        return feature.categories[0]
    return (feature.low + feature.high) / 2


def _end(feature: Feature, end: int) -> Any:
    if isinstance(feature, Categorical):
        return feature.categories[end]
    return feature.low if end == 0 else feature.high


def _missing(feature: Feature) -> Any:
    if not feature.missing:
        return _typical(feature)
    return nan if isinstance(feature, Numeric) else None


def _unknown(feature: Feature) -> Any:
    """A value that the schema maps and never refuses: beyond the bounds, or a category of the same type."""
    if isinstance(feature, Numeric):
        return feature.high + (feature.high - feature.low)
    texts = [category for category in feature.categories if isinstance(category, str)]
    if texts:
        return max(texts) + "?"
    numbers = [category for category in feature.categories if not isinstance(category, (str, bool))]
    return max(numbers) + 1 if numbers else None
