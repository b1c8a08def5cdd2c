"""A pair of neighbouring data sets, with the event that tells them apart; and how such data sets are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.audit.report import RELATIONS, Relation
from privet.errors import AuditError
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

Array = NDArray[Any]
DataSet = tuple[Array, Array]
Record = tuple[tuple[Any, ...], Any]


@dataclass(frozen=True, eq=False)
class NeighbourPair:
    """Two neighbouring data sets and what to look at.

    Parameters
    ----------
    name : str
        Names the pair with its parameters.
    flaw : str
        The flaw that it is made to reveal.
    D, D_prime : (X, y)
        The data sets: D' is D with one record added or removed, replaced in place, or relabelled in place.
    relation : {"add_remove", "replace", "label"}
        How they are neighbours; checked.
    event : str
        The event that reveals the flaw, in words.
    projections : tuple of callables
        Views of the model in which the event shows.
    schema : Schema or None
        The public schema of the records.

    Raises
    ------
    AuditError
        If the data sets are not neighbours under the relation.
    """

    name: str
    flaw: str
    D: DataSet
    D_prime: DataSet
    relation: Relation
    event: str
    projections: tuple[Callable[[Any], Any], ...] = ()
    schema: Schema | None = None

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise AuditError(f"{self.name}: the relation is {self.relation!r}; use one of {', '.join(RELATIONS)}")
        first, second = _records(self.D), _records(self.D_prime)
        if not _are_neighbours(first, second, self.relation):
            raise AuditError(f"{self.name}: the data sets are not neighbours under {self.relation}")

    def fits(self, relation: Relation) -> bool:
        """Whether the pair also consists of neighbours under another relation."""
        return _are_neighbours(_records(self.D), _records(self.D_prime), relation)


def _records(data: DataSet) -> list[str]:
    """Records as text, so that NaN equals NaN in comparisons. The label comes first, followed by a tab."""
    X, y = data
    if len(X) != len(y):
        raise AuditError(f"a data set has {len(X)} rows but {len(y)} labels")
    return [f"{label!r}\t{row.tolist()!r}" for row, label in zip(np.asarray(X), np.asarray(y).tolist(), strict=True)]


def _are_neighbours(first: list[str], second: list[str], relation: Relation) -> bool:
    same_from_front = 0
    while same_from_front < min(len(first), len(second)) and first[same_from_front] == second[same_from_front]:
        same_from_front += 1
    if relation == "add_remove":
        shorter, longer = sorted((first, second), key=len)
        return len(longer) == len(shorter) + 1 and longer[same_from_front + 1 :] == shorter[same_from_front:]
    if len(first) != len(second) or same_from_front == len(first):
        return False
    if first[same_from_front + 1 :] != second[same_from_front + 1 :]:
        return False
    features = (record[same_from_front].split("\t", 1)[1] for record in (first, second))
    return relation == "replace" or len(set(features)) == 1


def data_set(records: Sequence[Record], schema: Schema) -> DataSet:
    """Make arrays from records. Their types depend on the schema alone, even for an empty data set."""
    numeric = all(isinstance(domain, Numeric) for domain in schema.features.values())
    X = np.empty((len(records), len(schema.features)), dtype=np.float64 if numeric else object)
    y: Array = np.empty(len(records), dtype=_label_type(schema.target))
    for place, (row, label) in enumerate(records):
        X[place] = row
        y[place] = label
    return X, y


def _label_type(target: Numeric | Categorical) -> type:
    if isinstance(target, Numeric):
        return np.float64
    return np.int64 if all(type(category) is int for category in target.categories) else object


def binary_schema(n_features: int, classes: Sequence[int] = (0, 1), relation: Relation = "add_remove") -> Schema:
    """Features ``x0, x1, ...`` with values 0 and 1 (one cut between them)."""
    features = {f"x{i}": Numeric(0, 1, bins=2) for i in range(n_features)}
    return Schema(features, classes=list(classes), neighbours=relation)
