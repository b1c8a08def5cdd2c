"""Schema files: an exact round trip, and clear words for malformed files."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import SchemaError
from privet.schema.domains import Categorical, Numeric
from privet.schema.files import load
from privet.schema.schema import Schema, Unit

GOLDEN = """\
version: 1
features:
  age: {type: numeric, low: 17, high: 90}
  gain: {type: numeric, low: 0, high: 99999, grid: log, bins: 16, missing: true}
  level:
    type: numeric
    low: -0.5
    high: 1.0e+300
    edges: [0, 0.1, 2]
  answer:
    type: categorical
    categories: ["no", "yes", "1e5", "null", "", "01", "2024-01-01", plain, 1, 2.0, "1", false]
    other: true
    missing: true
target:
  type: categorical
  categories: ["<=50K", ">50K"]
neighbours: replace
unit: {column: person, max_rows: 3}
inferred: "a reason"
"""

ANSWERS = ["no", "yes", "1e5", "null", "", "01", "2024-01-01", "plain", 1, 2.0, "1", False]

SCHEMA = Schema(
    {
        "age": Numeric(17, 90),
        "gain": Numeric(0, 99999, grid="log", bins=16, missing=True),
        "level": Numeric(-0.5, 1e300, edges=[0, 0.1, 2]),
        "answer": Categorical(ANSWERS, other=True, missing=True),
    },
    classes=["<=50K", ">50K"],
    neighbours="replace",
    unit=Unit("person", 3),
    inferred="a reason",
)


def test_the_yaml_form_is_the_golden_one(tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "schema.yaml")
    assert (tmp_path / "schema.yaml").read_text() == GOLDEN
    assert load(tmp_path / "schema.yaml") == SCHEMA


def test_other_yaml_readers_see_the_same_categories() -> None:
    categories = yaml.safe_load(GOLDEN)["features"]["answer"]["categories"]
    assert [(type(c), c) for c in categories] == [(type(c), c) for c in ANSWERS]


def test_the_digest_of_a_schema_never_changes() -> None:
    assert SCHEMA.digest() == "76ce2f02584b33ca3fb7e57c41f1da13efa0859f71979e9f105e0575f1b3c9b3"


names = st.text(min_size=1, max_size=12)
categories = st.lists(
    st.text(max_size=8) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    min_size=2,
    max_size=8,
    unique=True,
)
numerics = st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(lambda pair: pair[0] != pair[1])
domains = st.builds(Categorical, categories, other=st.booleans(), missing=st.booleans()) | st.builds(
    lambda pair, grid, bins, missing: Numeric(*sorted(pair), grid=grid, bins=bins, missing=missing),
    numerics,
    st.sampled_from(["linear", "log"]),
    st.none() | st.integers(2, 999),
    st.booleans(),
)
schemas = st.builds(
    lambda features, classes, neighbours: Schema(features, classes=classes, neighbours=neighbours),
    st.dictionaries(names, domains, min_size=1, max_size=4),
    categories,
    st.sampled_from(["add_remove", "replace", "label"]),
)


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
@given(schema=schemas)
def test_files_give_back_the_same_schema(tmp_path_factory, suffix, schema) -> None:
    path = tmp_path_factory.getbasetemp() / f"schema{suffix}"
    schema.save(path)
    again = Schema.load(path)
    assert again == schema
    assert again.digest() == schema.digest()


def test_plain_scalars_are_read_by_the_rules_of_json(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(
        "version: 1\nfeatures:\n  x: {type: numeric, low: 1e2, high: 1E+3}\n"
        "  z: {type: categorical, categories: [no, on, 01234, 0x1F, 12:30, 2024-01-01, 5, 5.5, true, ~]}\n"
        "target: {type: numeric, low: 0, high: 1}\n"
    )
    schema = Schema.load(path)
    assert schema.features["x"] == Numeric(100, 1000)
    texts = ["no", "on", "01234", "0x1F", "12:30", "2024-01-01"]
    assert schema.features["z"] == Categorical([*texts, 5, 5.5, True, "~"])


AGE = "{type: numeric, low: 17, high: 90}"
MALFORMED = [
    ("[]", ["schema: expected a mapping", "a list"]),
    ("", ["schema: expected a mapping", "nothing"]),
    ("version: 3\nfeatures: {}\ntarget: {}", ["version:", "3", "upgrade"]),
    ("version: true\nfeatures: {}\ntarget: {}", ["version:"]),
    (f"features: {{age: {AGE}}}\ntarget: {AGE}", ["version: this entry is missing"]),
    (f"version: 1\nfeatures: {{age: {AGE}}}", ["target: this entry is missing"]),
    (f"version: 1\nfeatures: [1]\ntarget: {AGE}", ["features: expected a mapping", "a list"]),
    (f"version: 1\nfeatures: {{}}\ntarget: {AGE}", ["features", "at least one"]),
    (f"version: 1\nfeatures: {{5: {AGE}}}\ntarget: {AGE}", ["features.5", "quotes"]),
    (f"version: 1\nfeatures: {{age: 5}}\ntarget: {AGE}", ["features.age: expected a mapping", "got 5"]),
    (f"version: 1\nfeatures: {{age: {{low: 1}}}}\ntarget: {AGE}", ["features.age.type", "add it"]),
    (f"version: 1\nfeatures: {{age: {{type: dates}}}}\ntarget: {AGE}", ["features.age.type", "'dates'", "numeric"]),
    (f"version: 1\nfeatures: {{age: {{type: [1]}}}}\ntarget: {AGE}", ["features.age.type", "a list"]),
    (f"version: 1\nfeatures: {{age: {{type: numeric, low: 1}}}}\ntarget: {AGE}", ["features.age.high", "add it"]),
    (
        f"version: 1\nfeatures: {{age: {{type: numeric, low: '1', high: 2}}}}\ntarget: {AGE}",
        ["features.age.low", "text", "without quotes"],
    ),
    (f"version: 1\nfeatures: {{age: {{type: numeric, low: 9, high: 2}}}}\ntarget: {AGE}", ["features.age:", "swap"]),
    (
        f"version: 1\nfeatures: {{age: {{type: numeric, low: 1, high: 2, step: 1}}}}\ntarget: {AGE}",
        ["features.age.step", "unknown entry", "bins"],
    ),
    (
        f"version: 1\nfeatures: {{sex: {{type: categorical, categories: F}}}}\ntarget: {AGE}",
        ["features.sex.categories", "text", '["a", "b"]'],
    ),
    (f"version: 1\nfeatures: {{age: {AGE}}}\ntarget: {{type: numeric, low: 2, high: 1}}", ["target:", "swap"]),
    (f"version: 1\nfeatures: {{age: {AGE}}}\ntarget: {AGE}\nunit: {{column: p}}", ["unit.max_rows", "add it"]),
    (f"version: 1\nfeatures: {{age: {AGE}}}\ntarget: {AGE}\nunit: {{column: p, max_rows: 0}}", ["unit:", "at least 1"]),
    (f"version: 1\nfeatures: {{age: {AGE}}}\ntarget: {AGE}\nneighbours: [a]", ["neighbours", "add_remove"]),
    (f"version: 1\nfeatures: {{age: {AGE}}}\ntarget: {AGE}\nbudgets: 1", ["budgets", "unknown entry"]),
    (f"version: 1\nfeatures: {{age: {AGE}}}\ntarget: {AGE}\nbudget: 1", ["budget", "a file name or a URL"]),
    (f"version: 1\nfeatures: {{age: {AGE}, age: {AGE}}}\ntarget: {AGE}", ["'age' occurs twice"]),
    ("? [a]\n: 1", ["must be text"]),
    ("a: &x 1\nb: *x", ["aliases"]),
    ("[" * 5000, ["nested deeper"]),
    ("a: [1", ["not a YAML file"]),
    ("!!python/object/apply:os.system ['true']", ["not a YAML file"]),
]


@pytest.mark.parametrize(("text", "words"), MALFORMED)
def test_a_malformed_file_is_refused_with_the_path_inside_it(tmp_path: Path, text, words) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    for word in ["schema.yaml", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "not a JSON file"),
        ("[" * 100_000, "not a JSON file"),
        ('{"version": NaN}', "NaN"),
        ('{"version": 1, "version": 1}', "occurs twice"),
        (
            json.dumps({"version": 1, "features": {"a": {"type": "numeric", "low": None}}, "target": 1}),
            "features.a.high",
        ),
    ],
)
def test_malformed_json_is_refused(tmp_path: Path, text, word) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match=word):
        Schema.load(path)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not a YAML file"):
        Schema.load(tmp_path / "schema.yaml")


def test_the_suffix_must_tell_the_format(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"\.yaml, \.yml or \.json"):
        SCHEMA.save(tmp_path / "schema.toml")


def test_an_error_is_short_whatever_the_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"version": 1, "features": {}, "target": {}, "x" * 5_000: 1}))
    with pytest.raises(SchemaError, match=r"xxx \.\.\. .*known are version") as caught:
        Schema.load(path)
    assert len(str(caught.value)) < 500 + len(str(path))
