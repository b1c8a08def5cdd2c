"""Laws of model files: what they hold, that they cannot contradict themselves, and that reading them is safe."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from benchmarks.fuzz import ROWS, fuzz, real_models

import privet
from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import ModelFileError
from privet.estimators.registry import estimator_names
from privet.learners.random_decision_forest.forest import FINE_GRID
from privet.models.files import array_to_dict, digest
from privet.privacy.certificate import certificate
from privet.privacy.text import ledger_from_dict

GOLDEN = Path(__file__).parents[1] / "golden" / "model_file_v1.json"
FORMAT = json.loads((files("privet") / "models/model_file.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def contents():
    """Files of every learner, as plain data."""
    return {content["estimator"]: content for content in real_models() if content["privacy"]["delta"] == "0"}


@pytest.fixture
def content(contents):
    return json.loads(json.dumps(contents["RandomDecisionForestClassifier"]))


def sealed(content):
    """Give changed content a digest that fits it."""
    body = {name: value for name, value in content.items() if name != "digest"}
    return {**body, "digest": digest(body)}


def refusal(content, tmp_path):
    """Return the message with which content is refused, without the path."""
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError) as caught:
        privet.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def test_the_published_format_is_a_valid_json_schema():
    jsonschema.Draft202012Validator.check_schema(FORMAT)


@pytest.mark.parametrize("name", estimator_names())
def test_every_learners_file_follows_the_published_format(contents, name):
    jsonschema.Draft202012Validator(FORMAT).validate(contents[name])


def test_a_certificate_says_what_is_guaranteed_to_whom_and_on_what_it_rests(tmp_path):
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], neighbours="replace", unit=Unit("who", 3))
    frame = {"x": [0.1, 0.9] * 20, "who": list("ab") * 20}
    pandas = pytest.importorskip("pandas")
    model = RandomDecisionForestClassifier(epsilon=0.5, schema=schema, n_trees=2, max_depth=2)
    model.fit(pandas.DataFrame(frame), [0, 1] * 20).save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["certificate"] == {
        "guarantee": "epsilon = 0.5 for replacing one unit (the rows that share a value of column 'who', at most 3 of "
        "which take part), for what reached this estimator",
        "proven": True,
        "why_not": [],
        "epsilon": 0.5,
        "delta": 0.0,
        "neighbours": "replace",
        "unit": {"column": "who", "max_rows": 3},
        "schema_digest": schema.digest(),
        "library": f"privet {privet.__version__}",
        "noise": "secure source of the operating system",
    }


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_file_that_calls_a_unit_a_record_still_loads_and_is_put_right(max_rows, tmp_path):
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], unit=Unit("who", max_rows))
    frame = pytest.importorskip("pandas").DataFrame({"x": [0.1, 0.9] * 20, "who": list("ab") * 20})
    model = RandomDecisionForestClassifier(epsilon=0.5, schema=schema, n_trees=2, max_depth=2).fit(frame, [0, 1] * 20)
    model.save(tmp_path / "new.json")
    content = json.loads((tmp_path / "new.json").read_text())
    jsonschema.Draft202012Validator(FORMAT).validate(content)
    assert content["privacy"].pop("unit_column") == "who"
    content["version"] = 1
    for part in ("privacy", "certificate"):
        content[part]["guarantee"] = "epsilon = 0.5 for adding or removing one record"
    (tmp_path / "old.json").write_text(json.dumps(sealed(content)))
    again = privet.load(tmp_path / "old.json")
    assert "one unit (the rows that share a value of column 'who'" in again.privacy_.table()
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "new.json").read_text()
    content["version"] = 2
    content["privacy"]["unit_column"] = "whose"
    assert "neighbours or unit are not those of the schema" in refusal(sealed(content), tmp_path)


def test_a_seeded_model_says_so_and_claims_nothing(content):
    assert content["certificate"]["noise"] == "seeded"
    assert content["certificate"]["epsilon"] is None
    assert not content["certificate"]["proven"]


def test_the_order_of_features_survives(tmp_path):
    schema = Schema({"z": Numeric(0, 1), "a": Numeric(5, 9)}, classes=[0, 1])
    model = RandomDecisionForestClassifier(schema=schema, n_trees=2, max_depth=2).fit([[0.1, 6], [0.9, 8]], [0, 1])
    model.save(tmp_path / "model.json")
    assert list(privet.load(tmp_path / "model.json").schema_.features) == ["z", "a"]


def test_threads_are_not_part_of_a_file(tmp_path):
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    model = RandomDecisionForestClassifier(schema=schema, n_trees=2, max_depth=2, n_jobs=7).fit([[0.1], [0.9]], [0, 1])
    model.save(tmp_path / "model.json")
    assert "n_jobs" not in json.loads((tmp_path / "model.json").read_text())["parameters"]
    assert privet.load(tmp_path / "model.json").n_jobs is None


def test_a_file_of_version_1_still_loads_and_predicts_the_same():
    model = privet.load(GOLDEN)
    expected = np.array(json.loads(GOLDEN.with_suffix(".predictions").read_text()))
    np.testing.assert_allclose(model.predict_proba(ROWS), expected, atol=1e-12)


def test_a_newer_version_is_refused_with_the_remedy(content, tmp_path):
    assert (
        refusal(sealed({**content, "version": 4}), tmp_path)
        == "file version 4, this privet reads up to 3; upgrade privet"
    )


def test_an_epsilon_that_was_rounded_further_up_is_read_and_one_that_understates_is_not(contents, tmp_path):
    """Until 0.2 conversions of zCDP were rounded up more generously, and certificates state what they gave."""
    content = json.loads(json.dumps(contents["PrivaTreeClassifier"]))
    if content["certificate"]["epsilon"] is None:  # the noise of these files is seeded
        content["privacy"]["why"], content["privacy"]["proven"] = [], True
        ledger = ledger_from_dict(content["privacy"])
        content["privacy"] = ledger.to_dict()
        content["certificate"] = certificate(ledger, Schema.from_dict(content["schema"]), content["library"])
    exact = content["certificate"]["epsilon"]
    for factor, fits in ((1, True), (1 + 1e-12, True), (1 - 1e-12, False), (1 + 1e-6, False)):
        content["certificate"]["epsilon"] = exact * factor
        if fits:
            path = tmp_path / "model.json"
            path.write_text(json.dumps(sealed(content)))
            assert privet.load(path).privacy_.epsilon == exact
        else:
            assert "certificate: it does not follow" in refusal(sealed(content), tmp_path)


def test_what_is_stated_is_checked_before_millions_of_cuts_are_computed(content, tmp_path, monkeypatch):
    monkeypatch.setattr(Schema, "encoding", lambda *_: pytest.fail("cuts were computed first"))
    content["certificate"]["epsilon"] = 0.01
    assert "certificate: it does not follow" in refusal(sealed(content), tmp_path)


def test_damage_is_found_by_the_digest(content, tmp_path):
    content["parameters"]["max_depth"] = 4
    assert "the digest does not match" in refusal(content, tmp_path)


def test_a_file_that_is_cut_short_is_refused(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content)[:-40])
    with pytest.raises(ModelFileError, match="cut short"):
        privet.load(path)


def test_a_name_that_occurs_twice_is_refused(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content).replace('"version"', '"certificate": {"proven": true}, "version"', 1))
    with pytest.raises(ModelFileError, match="not JSON"):
        privet.load(path)


def test_a_file_that_is_not_utf_8_is_refused(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content), encoding="utf-16")
    with pytest.raises(ModelFileError, match="not JSON"):
        privet.load(path)


def test_other_json_is_refused(tmp_path):
    assert "not a privet model file" in refusal({"a": 1}, tmp_path)
    assert "not a privet model file" in refusal([1, 2], tmp_path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        privet.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("place", "lie", "message"),
    [
        (("planned",), [], "planned: expected rows and epsilon"),
        (("planned",), {"depth": 3}, "planned: expected rows and epsilon"),
        (("planned",), {"rows": 0}, "planned.rows: expected a whole number"),
        (("planned",), {"rows": 2.5}, "planned.rows: expected a whole number"),
        (("planned",), {"epsilon": True}, "planned.epsilon: expected a positive number"),
        (("planned",), {"epsilon": -1.0}, "planned.epsilon: expected a positive number"),
        (("certificate", "proven"), True, "certificate: it does not follow"),
        (("certificate", "epsilon"), 0.01, "certificate: it does not follow"),
        (("certificate", "noise"), "secure source of the operating system", "certificate: it does not follow"),
        (
            ("privacy", "guarantee"),
            "epsilon = 0.01 for adding or removing one record",
            "what it states does not follow",
        ),
        (("privacy", "why"), [], "what it states does not follow"),
        (("privacy", "neighbours"), "replace", "neighbours or unit are not those of the schema"),
        (("privacy", "epsilon"), "1e999999999", "expected a fraction"),
        (("schema", "inferred"), "read off the data", "the ledger does not say so"),
        (("schema", "neighbours"), "label", "not those of the schema"),
        (("schema", "features", "age", "high"), 200, "certificate: it does not follow"),
        (("estimator",), "os.system", "unknown estimator"),
        (("parameters", "n_jobs"), 10**9, "'n_jobs' is unknown"),
        (("parameters", "max_depth"), [1], "expected plain values"),
        (("library",), "1\n<script>", "library"),
    ],
)
def test_a_file_cannot_contradict_itself(content, tmp_path, place, lie, message):
    target = content
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = lie
    assert message in refusal(sealed(content), tmp_path)


def test_an_encoding_that_is_written_must_be_the_one_of_the_schema(content, tmp_path):
    written = Schema.from_dict(content["schema"]).encoding(FINE_GRID).to_dict()
    content["model"]["encoding"] = written  # as files of the first two versions have it
    (tmp_path / "written.json").write_text(json.dumps(sealed(content)))
    assert privet.load(tmp_path / "written.json").model_.encoding.to_dict() == written
    written["columns"][0]["name"] = "another"
    assert "the model's encoding does not follow" in refusal(sealed(content), tmp_path)


@pytest.mark.parametrize(
    ("name", "other"), [("BoostingClassifier", "BoostingRegressor"), ("BoostingRegressor", "BoostingClassifier")]
)
def test_a_model_of_classes_cannot_pass_for_one_of_numbers_nor_the_other_way(contents, tmp_path, name, other):
    content = json.loads(json.dumps(contents[name]))
    content["estimator"] = other
    assert "the schema's target is" in refusal(sealed(content), tmp_path)


def test_a_forest_cannot_pass_for_a_model_of_numbers(contents, tmp_path):
    content = json.loads(json.dumps(contents["BoostingRegressor"]))
    forest = json.loads(json.dumps(contents["RandomDecisionForestClassifier"]["model"]))
    content["model"] = forest
    refusal(sealed(content), tmp_path)


def test_an_array_that_would_fill_the_memory_is_refused_before_it_is_made(content, tmp_path):
    bomb = array_to_dict(np.zeros(1 << 24))  # a few kilobytes in the file
    content["model"]["leaves"]["counts"] = {**bomb, "dtype": "int64", "shape": [1 << 26, 1]}
    assert "its arrays would take 512 MB" in refusal(sealed(content), tmp_path)


def test_a_grid_that_would_fill_the_memory_is_refused_before_it_is_made(content, tmp_path):
    many = {f"x{i}": {"type": "numeric", "low": 0, "high": 1, "bins": 60_000} for i in range(1_000)}
    content["schema"]["features"] |= many
    content["certificate"]["schema_digest"] = Schema.from_dict(content["schema"]).digest()
    assert "the grids of all features have" in refusal(sealed(content), tmp_path)


def test_a_file_of_too_many_values_is_refused_before_it_is_parsed(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text("[" * 8_000_001)
    with pytest.raises(ModelFileError, match="more than 8,000,000 values"):
        privet.load(path)


def test_a_large_file_is_read_only_if_asked(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match="max_bytes"):
        privet.load(path, max_bytes=1_000)
    assert privet.load(path, max_bytes=1 << 20).classes_.tolist() == ["no", "maybe", "yes"]


def test_what_the_published_format_refuses_the_loader_refuses(content, tmp_path):
    checker = jsonschema.Draft202012Validator(FORMAT)
    for place in (
        ("privacy", "spent"),
        ("model", "structure"),
        ("model", "leaves"),
        ("schema", "target"),
        ("certificate",),
    ):
        changed = json.loads(json.dumps(content))
        target = changed
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = {"type": "numeric"}
        assert not checker.is_valid(sealed(changed)), place
        refusal(sealed(changed), tmp_path)


def test_unknown_categories_and_classes_of_all_kinds_survive(tmp_path):
    schema = Schema({"x": Categorical(["é", 'a"b', "<b>"], other=True)}, classes=[True, False])
    model = RandomDecisionForestClassifier(schema=schema, n_trees=2, max_depth=2).fit([["é"], ["<b>"]], [True, False])
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert again.schema_ == schema
    assert again.classes_.tolist() == [True, False]


@pytest.mark.slow
def test_fuzzed_files_neither_crash_nor_run_code_nor_take_memory():
    outcome = fuzz(600, random_seed=11)
    assert outcome["loaded"] + outcome["refused"] >= 600
    assert outcome["refused"] > 300
