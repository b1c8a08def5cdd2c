"""Neighbour pairs and canaries."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pytest

from privet import errors
from privet.audit import NEIGHBOUR_PAIRS, NeighbourPair, canaries
from privet.audit.neighbours import moving_partition
from privet.audit.projections import Agreement
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema, Unit

MIXED = Schema(
    {
        "age": Numeric(17, 90, missing=True),
        "sex": Categorical(("f", "m")),
        "rooms": Categorical((1, 2, 3), missing=True),
    },
    classes=["no", "maybe", "yes"],
)


@pytest.mark.parametrize("build", NEIGHBOUR_PAIRS.values(), ids=NEIGHBOUR_PAIRS.keys())
def test_every_pair_fits_its_schema_and_its_relation(build: Any) -> None:
    pair = build()
    assert pair.schema is not None
    assert pair.fits(pair.schema.neighbours)
    assert pair.projections
    encoding = pair.schema.encoding()
    for X, y in (pair.D, pair.D_prime):
        assert encoding.encode(X).shape == (len(pair.schema.features), len(y))
        assert np.all(encoding.encode_target(y) >= 0)


def as_data(records: list[tuple[float, int]]) -> tuple[Any, Any]:
    return np.array([[x] for x, _ in records]).reshape(-1, 1), np.array([y for _, y in records], dtype=int)


def pair_of(first: list[tuple[float, int]], second: list[tuple[float, int]], relation: Any) -> NeighbourPair:
    return NeighbourPair("p", "f", as_data(first), as_data(second), relation, "e")


A, B, C = (0.0, 0), (1.0, 1), (1.0, 0)


@pytest.mark.parametrize(
    ("first", "second", "relations"),
    [
        ([A, B], [A, B, C], {"add_remove"}),
        ([A, B], [B], {"add_remove"}),
        ([], [A], {"add_remove"}),
        ([A, B], [A, A], {"replace"}),
        ([A, B], [A, C], {"replace", "label"}),
        ([A, B], [A, B], set()),
        ([A, B], [B, A], set()),
        ([A, B], [B, A, C], set()),
        ([A], [A, B, C], set()),
    ],
)
def test_neighbours_differ_in_one_record_in_place(first: Any, second: Any, relations: set[str]) -> None:
    for relation in ("add_remove", "replace", "label"):
        if relation in relations:
            assert pair_of(first, second, relation).relation == relation
        else:
            with pytest.raises(errors.AuditError, match="not neighbours"):
                pair_of(first, second, relation)


def test_a_pair_needs_a_known_relation_and_as_many_labels_as_rows() -> None:
    with pytest.raises(errors.AuditError, match="add_remove"):
        pair_of([A], [A, B], "swap")
    with pytest.raises(errors.AuditError, match="2 rows but 1 labels"):
        NeighbourPair("p", "f", (np.zeros((2, 1)), np.zeros(1)), as_data([A]), "add_remove", "e")


def test_removing_the_first_record_moves_every_boundary() -> None:
    pair = moving_partition(n_trees=4, rows_per_tree=3)
    assert len(pair.D[1]) == 12
    assert pair.D_prime[1].tolist() == pair.D[1].tolist()[1:]
    agreement = pair.projections[1]
    assert isinstance(agreement, Agreement)
    assert agreement.reference == (0, 1, 0, 1)


@pytest.mark.parametrize("relation", ["add_remove", "replace", "label"])
def test_canaries_follow_the_relation_of_the_schema(relation: Any) -> None:
    schema = Schema(MIXED.features, MIXED.target, neighbours=relation)
    pairs = canaries(schema)
    assert len(pairs) >= 5
    assert all(pair.relation == relation for pair in pairs)
    assert len({pair.name for pair in pairs}) == len(pairs)
    for pair in pairs:
        for X, y in (pair.D, pair.D_prime):
            assert schema.encoding().encode(X).shape == (3, len(y))


def test_canaries_bring_a_first_record_a_new_class_and_missing_values() -> None:
    pairs = {pair.name: pair for pair in canaries(MIXED)}
    assert len(pairs["canary-first-record"].D[1]) == 0
    assert pairs["canary-new-class"].D_prime[1][-1] == "yes"
    assert "yes" not in pairs["canary-new-class"].D[1].tolist()
    age, sex, rooms = pairs["canary-missing"].D_prime[0][-1]
    assert isnan(age)
    assert (sex, rooms) == ("f", None)
    assert pairs["canary-unknown"].D_prime[0][-1].tolist() == [163, "m?", 4]


def test_canaries_for_a_number_to_predict_label_its_ends() -> None:
    pairs = canaries(Schema({"x": Numeric(0, 1)}, Numeric(-5, 30)))
    assert {label for pair in pairs for label in pair.D_prime[1].tolist()} == {-5, 30}


def test_canaries_are_refused_where_they_cannot_be_made() -> None:
    unit = Schema({"x": Numeric(0, 1)}, classes=[0, 1], unit=Unit("person", max_rows=3))
    with pytest.raises(errors.AuditError, match="unit"):
        canaries(unit)
    with pytest.raises(errors.AuditError, match="n=0"):
        canaries(MIXED, n=0)
