"""A guarantee for units is one for units: exact losses of pairs that differ in a record, in a unit, in an id's type."""

from decimal import Decimal
from itertools import product
from math import exp, log

import numpy as np
import pandas as pd
import polars as pl
import pytest

from privet import Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.mechanisms.release import secret_key
from privet.privacy.laws import DiscreteLaplace
from privet.tables.reading import encode_table

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1], unit=Unit("id", 1))
LEDGER = RandomDecisionForestClassifier(epsilon=1.0, schema=SCHEMA, n_trees=1, max_depth=1).plan()
NOISE = DiscreteLaplace(LEDGER.events[0].parameter)
EVENTS = list(product(range(-3, 6), repeat=2))  # at the ends the ratio of Laplace noise is as extreme as anywhere


def class_counts(frame, labels):
    """Return the counts of the two classes after bounding that fresh keys lead to.

    Which row of a unit comes first under a key is as likely as any other, so all outcomes have the same probability
    here. Of two, one is missed with probability 2^-39.
    """
    found = set()
    for _ in range(40):
        table = encode_table(SCHEMA, SCHEMA.encoding(2), frame, labels, secret_key)
        found.add(tuple(table.aggregate(lambda block: np.bincount(block.target, minlength=2)).tolist()))
    return found


def law(frame, labels):
    """Return the exact law of the two noisy counts that a forest with one leaf would release."""
    counts = class_counts(frame, labels)
    masses = [[NOISE.pmf(seen[0] - zeros) * NOISE.pmf(seen[1] - ones) for seen in EVENTS] for zeros, ones in counts]
    return dict(zip(EVENTS, np.mean(masses, axis=0).tolist(), strict=True))


def loss(first, second):
    """Return the exact privacy loss between two laws."""
    return max(abs(log(first[seen] / second[seen])) for seen in first)


def people(ids, **kind):
    return pd.DataFrame({"x": 0.5, "id": pd.Series(ids, **kind)})


def test_one_more_record_of_somebody_in_the_data_costs_more_than_is_stated_for_a_unit():
    alone, again = law(people(["ann"]), [0]), law(people(["ann", "ann"]), [0, 1])
    assert LEDGER.epsilon == 1.0
    assert loss(alone, again) == pytest.approx(log((1 + exp(2)) / 2), rel=1e-6)  # 1.434: no guarantee for a record
    assert "record" not in LEDGER.to_dict()["guarantee"]
    assert "adding or removing one unit (the rows that share a value of column 'id'" in LEDGER.to_dict()["guarantee"]
    nobody = law(people([], dtype=object), [])
    assert loss(nobody, alone) == pytest.approx(1.0)
    assert loss(nobody, again) == pytest.approx(1.0)


BIG = 2**53
TWO_PEOPLE = {
    "pandas decimals": pd.Series([Decimal(BIG), Decimal(BIG + 1)], dtype=object),
    "polars 128 bits": pl.Series([BIG, BIG + 1], dtype=pl.Int128),
    "polars decimals": pl.Series([Decimal(BIG), Decimal(BIG + 1)], dtype=pl.Decimal(38, 0)),
}


@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_two_people_whose_ids_are_one_double_are_two_units(kind):
    ids = TWO_PEOPLE[kind]
    make = pl.DataFrame if kind.startswith("polars") else pd.DataFrame
    both, one = (law(make({"x": [0.5] * n, "id": ids[:n]}), [0, 1][:n]) for n in (2, 1))
    assert loss(both, one) == pytest.approx(1.0)


@pytest.mark.parametrize("ids", [[7, "7"], [7, 7.0], [Decimal(7), "7"], [b"7", np.int64(7)]], ids=repr)
def test_a_person_whose_id_comes_in_two_types_is_one_unit(ids):
    nobody = law(people([], dtype=object), [])
    assert loss(nobody, law(people(ids, dtype=object), [0, 0])) == pytest.approx(1.0)
