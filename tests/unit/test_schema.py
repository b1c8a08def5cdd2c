"""Schemas: what is refused and how, equality, digests, immutability."""

import copy
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from privet.errors import SchemaError
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema, Unit

AGE = {"age": Numeric(17, 90)}

BAD = [
    # (features, other arguments, words that the message must have: the place, then the remedy)
    ({}, {}, ["features", "at least one"]),
    ({"age": (17, 90)}, {}, ["'age'", "Numeric(0, 100)"]),
    ({"": Numeric(0, 1)}, {}, ["''", "rename"]),
    ({"age": Numeric(90, 17)}, {}, ["'age'", "90", "swap or widen"]),
    ({"age": Numeric(17, 17)}, {}, ["'age'", "swap or widen"]),
    ({"age": Numeric(float("nan"), 90)}, {}, ["'age'", "low", "public bound"]),
    ({"age": Numeric(17, float("inf"))}, {}, ["'age'", "high", "public bound"]),
    ({"age": Numeric("17", 90)}, {}, ["'age'", "low", "public bound"]),
    ({"age": Numeric(True, 90)}, {}, ["'age'", "low", "public bound"]),
    ({"age": Numeric(10**400, 90)}, {}, ["'age'", "low", "public bound"]),
    ({"age": Numeric(-1.7e308, 1.7e308)}, {}, ["'age'", "narrow"]),
    ({"age": Numeric(17, 90, grid="quantile")}, {}, ["'age'", "quantile", "edges=[...]"]),
    ({"age": Numeric(17, 90, bins=1)}, {}, ["'age'", "bins", "leave it out"]),
    ({"age": Numeric(17, 90, bins=65_535)}, {}, ["'age'", "65,534", "leave it out"]),
    ({"age": Numeric(17, 90, bins=2.5)}, {}, ["'age'", "2.5", "leave it out"]),
    ({"age": Numeric(17, 90, edges=[])}, {}, ["'age'", "edges", "leave edges out"]),
    ({"age": Numeric(17, 90, edges=[30, 20])}, {}, ["'age'", "increase", "sort"]),
    ({"age": Numeric(17, 90, edges=[30, 30])}, {}, ["'age'", "increase", "drop repetitions"]),
    ({"age": Numeric(17, 90, edges=[17, 30])}, {}, ["'age'", "between", "leave out the bounds"]),
    ({"age": Numeric(17, 90, edges=[30, float("nan")])}, {}, ["'age'", "increase"]),
    ({"age": Numeric(17, 90, edges=["x"])}, {}, ["'age'", "list the inner cut points"]),
    ({"age": Numeric(17, 90, edges=30)}, {}, ["'age'", "list the inner cut points"]),
    ({"age": Numeric(17, 90, missing=None)}, {}, ["'age'", "True or False"]),
    ({"sex": Categorical([])}, {}, ["'sex'", "empty", "list the public values"]),
    ({"sex": Categorical("FM")}, {}, ["'sex'", "must be a list", "write Categorical"]),
    ({"sex": Categorical(["F", "F"])}, {}, ["'sex'", "'F' is listed twice", "once"]),
    ({"sex": Categorical([1, 1.0])}, {}, ["'sex'", "1.0", "equal to 1 ", "once"]),
    ({"sex": Categorical([1, True])}, {}, ["'sex'", "True", "equal to 1 ", "once"]),
    ({"sex": Categorical([0.0, False])}, {}, ["'sex'", "False", "equal to 0.0 ", "once"]),
    ({"sex": Categorical(["F", None])}, {}, ["'sex'", "None", "missing=True"]),
    ({"sex": Categorical([0, float("nan")])}, {}, ["'sex'", "nan", "missing=True"]),
    ({"sex": Categorical(["\ud800"])}, {}, ["'sex'", "Unicode", "decode"]),
    ({"sex": Categorical(["F"], other=1)}, {}, ["'sex'", "True or False"]),
    ({"zip": Categorical(range(65_536))}, {}, ["'zip'", "65,536", "other=True"]),
    ({"zip": Categorical(range(65_535), other=True)}, {}, ["'zip'", "65,535", "other=True"]),
    (AGE, {"classes": None}, ["target", "classes=[...]"]),
    (AGE, {"target": Numeric(0, 1)}, ["target", "classes", "pass one"]),
    (AGE, {"classes": None, "target": ["a", "b"]}, ["target", "list", "Categorical"]),
    (AGE, {"classes": ["a"]}, ["target", "one class", "at least two"]),
    (AGE, {"classes": range(2000)}, ["target", "2,000 classes", "merge"]),
    (AGE, {"classes": ["a", "a"]}, ["target", "listed twice", "once"]),
    (AGE, {"classes": None, "target": Numeric(1, 0)}, ["target", "swap"]),
    (AGE, {"classes": None, "target": Categorical(["a", "b"], missing=True)}, ["target", "leave both out"]),
    (AGE, {"neighbours": "swap"}, ["neighbours", "'swap'", "'add_remove'"]),
    (AGE, {"unit": "person"}, ["unit", "'person'", "Unit('person_id'"]),
    (AGE, {"unit": Unit("person", 0)}, ["unit", "max_rows", "at least 1"]),
    (AGE, {"unit": Unit("person", True)}, ["unit", "max_rows", "at least 1"]),
    (AGE, {"unit": Unit("", 3)}, ["unit", "name"]),
    (AGE, {"unit": Unit("age", 3)}, ["unit", "'age'", "drop it"]),
    (AGE, {"inferred": ""}, ["inferred", "leave it out"]),
]


@pytest.mark.parametrize(("features", "arguments", "words"), BAD)
def test_a_bad_schema_is_refused_with_its_place_and_a_remedy(features, arguments, words) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(features, **({"classes": ["no", "yes"]} | arguments))
    for word in words:
        assert word in str(caught.value)


def example(**changes) -> Schema:
    features = {
        "age": Numeric(17, 90, bins=73),
        "gain": Numeric(0, 99999, grid="log", missing=True),
        "level": Numeric(0, 10, edges=[1, 2.5]),
        "sex": Categorical(["Female", "Male"], other=True),
    }
    return Schema(features, **({"classes": ["no", "yes"], "unit": Unit("person", 3)} | changes))


def test_cuts_follow_edges_then_own_bins_then_the_learner() -> None:
    assert Numeric(0, 10, edges=[1, 2], bins=7).cuts(99) == (1.0, 2.0)
    assert Numeric(0, 10, bins=2).cuts(99) == (5.0,)
    assert len(Numeric(0, 10).cuts(99)) == 98
    assert len(Numeric(0, 10).cuts()) == 31


def test_cuts_of_a_bad_domain_are_refused() -> None:
    with pytest.raises(SchemaError, match="swap"):
        Numeric(1, 0).cuts()


def test_a_schema_cannot_be_changed() -> None:
    schema = example()
    with pytest.raises(FrozenInstanceError):
        schema.neighbours = "replace"  # type: ignore[misc]
    schema.features["age"] = Numeric(0, 1)
    assert schema == example()


def test_equal_content_means_equal_schema_hash_and_digest() -> None:
    assert example() == example()
    assert hash(example()) == hash(example())
    assert example().digest() == example().digest()
    assert example(classes=np.array(["no", "yes"])) == example()


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": [0, 1]},
        {"classes": [False, True]},
        {"classes": [0.0, 1.0]},
        {"classes": ["yes", "no"]},
        {"neighbours": "replace"},
        {"unit": None},
        {"inferred": "a reason"},
    ],
)
def test_any_difference_shows_in_equality_and_digest(changes) -> None:
    others = [example(), *(example(classes=classes) for classes in ([0, 1], [False, True], [0.0, 1.0]))]
    changed = example(**changes)
    for other in others:
        assert (changed == other) == (changed.digest() == other.digest())
    assert changed != example()


def test_the_order_of_features_is_part_of_the_schema() -> None:
    a, b = Numeric(0, 1), Numeric(0, 2)
    assert Schema({"a": a, "b": b}, classes=[0, 1]).digest() != Schema({"b": b, "a": a}, classes=[0, 1]).digest()


def test_schemas_survive_pickling_and_copying() -> None:
    schema = example()
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert copy.deepcopy(schema) == schema


def test_the_repr_of_a_small_schema_makes_it_again() -> None:
    names = {"Schema": Schema, "Numeric": Numeric, "Categorical": Categorical, "Unit": Unit}
    assert eval(repr(example(inferred="why")), names) == example(inferred="why")


def test_the_repr_of_a_large_schema_stays_short() -> None:
    schema = Schema({f"x{i}": Categorical(range(500)) for i in range(784)}, classes=[0, 1])
    assert len(str(schema).splitlines()) < 40
    assert "784 features" in str(schema)
    assert "500 in all" in str(schema)
    assert len(repr(schema).splitlines()) == 1
    assert "784 features" in repr(schema)


@pytest.mark.parametrize("bins", [1, 65_535, 2.0, True])
def test_an_encoding_has_a_sensible_number_of_bins(bins) -> None:
    with pytest.raises(SchemaError, match="bins"):
        example().encoding(bins=bins)


def test_importing_the_schema_is_light() -> None:
    heavy = "{'sklearn', 'numba', 'pandas', 'polars', 'pyarrow', 'opendp', 'narwhals', 'scipy'}"
    code = f"import sys, privet.schema; found = {heavy} & set(sys.modules); sys.exit(str(found) if found else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_codes_are_laid_out_once_and_what_was_encoded_is_not_in_a_pickle() -> None:
    schema = Schema({"age": Numeric(0, 100), "sex": Categorical(["f", "m"])}, classes=["no", "yes"])
    before = pickle.dumps(schema), pickle.dumps(Schema(schema.features, schema.target).encoding(8))
    encoding = schema.encoding(8)
    assert schema.encoding(8) is encoding
    encoding.encode([[30.0, "m"]])
    assert (pickle.dumps(schema), pickle.dumps(encoding)) == before
    assert schema.encoding(16) != encoding
    assert schema.encoding(8) == encoding
