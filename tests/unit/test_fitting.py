"""At most so many rows of a unit stay, chosen by its own rows and a secret key alone."""

import numpy as np
import pytest

from privet import Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import SchemaError
from privet.tables.units import bound_rows, read_units

KEY = bytes(range(16))


def rows(n_units=40, rows_per_unit=7, seed=0):
    rng = np.random.default_rng(seed)
    units = np.repeat(np.array([f"person {i}" for i in range(n_units)], dtype=object), rows_per_unit)
    codes = rng.integers(0, 32, (3, len(units))).astype(np.uint8)
    target = rng.integers(0, 2, len(units)).astype(np.int32)
    order = rng.permutation(len(units))
    return units[order], codes[:, order], target[order]


def bound(units, codes, target, max_rows, key=KEY):
    return bound_rows(read_units(units), codes, target, max_rows, key)


@pytest.mark.parametrize("most", [1, 3, 7, 50])
def test_no_unit_keeps_more_rows_than_its_maximum_and_none_loses_more_than_it_must(most):
    units, codes, target = rows()
    kept = bound(units, codes, target, most)
    _, counts = np.unique(units[kept].astype(str), return_counts=True)
    assert (counts == min(most, 7)).all()
    assert len(counts) == 40


def test_removing_one_unit_changes_nothing_for_the_others():
    units, codes, target = rows()
    kept = bound(units, codes, target, 2)
    others = units != "person 5"
    alone = bound(units[others], codes[:, others], target[others], 2)
    np.testing.assert_array_equal(alone, kept[others])


def test_the_order_of_rows_makes_no_difference_but_the_key_does():
    units, codes, target = rows()
    kept = bound(units, codes, target, 2)
    reversed_ = bound(units[::-1], codes[:, ::-1], target[::-1], 2)
    np.testing.assert_array_equal(kept, reversed_[::-1])
    assert not np.array_equal(kept, bound(units, codes, target, 2, bytes(16)))


def test_rows_without_a_unit_are_left_out_and_an_empty_table_is_fine():
    units, codes, target = rows()
    units[:10] = None
    assert not bound(units, codes, target, 7)[:10].any()
    assert bound(units[:0], codes[:, :0], target[:0], 3).shape == (0,)


def test_a_fit_with_units_charges_for_all_their_rows_and_needs_the_column():
    pd = pytest.importorskip("pandas")
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], unit=Unit("person", max_rows=5))
    forest = RandomDecisionForestClassifier(epsilon=1.0, schema=schema, n_trees=2, max_depth=2)
    X = pd.DataFrame({"x": np.linspace(0, 1, 100), "person": np.arange(100) // 10})
    forest.fit(X, (X["x"] > 0.5).astype(int))
    assert forest.privacy_.events[0].parameter == 2 * 5
    assert "adding or removing one unit (the rows that share a value of column 'person'" in forest.privacy_.table()
    forest.predict(X)
    forest.predict(X[["x"]])
    with pytest.raises(SchemaError, match="person"):
        forest.fit(X[["x"]], (X["x"] > 0.5).astype(int))


@pytest.mark.parametrize("kind", ["binary", "date"])
def test_units_of_a_dtype_that_cannot_be_read_are_refused_not_taken_for_one(kind):
    pa = pytest.importorskip("pyarrow")
    person = pa.array([b"a", b"b", b"c"]) if kind == "binary" else pa.array([1, 2, 3], pa.date32())
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], unit=Unit("person", max_rows=1))
    forest = RandomDecisionForestClassifier(epsilon=1.0, schema=schema, n_trees=1, max_depth=1)
    with pytest.raises(SchemaError, match="convert it to text"):
        forest.fit(pa.table({"x": [0.1, 0.2, 0.3], "person": person}), [0, 1, 0])
