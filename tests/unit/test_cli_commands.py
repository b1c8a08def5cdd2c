"""Laws of the commands: what they print, what they refuse, what they never tell."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import privet
from privet import Schema
from privet.audit.report import AuditReport, Claim, Finding
from privet.cli import app, data, drafts, learners
from privet.cli.exits import Exit, exit_of
from privet.errors import AuditError, BudgetError, ModelFileError, ParameterError, PrivetError, SchemaError
from privet.estimators.registry import estimator_names

SCHEMA = """
version: 1
features:
  age: {type: numeric, low: 0, high: 100}
  member: {type: categorical, categories: [false, true], missing: true}
  zone: {type: categorical, categories: [1, 2, 3]}
  colour: {type: categorical, categories: ["red", "NA"]}
target: {type: categorical, categories: ["no", "yes"]}
"""
N = 397  # a number that would be seen if it were printed


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and its schema, in which commands run."""
    frame = pd.DataFrame(
        {
            "age": [i % 100 for i in range(N)],
            "member": [i % 3 == 0 for i in range(N)],
            "zone": [1 + i % 3 for i in range(N)],
            "colour": ["red" if i % 2 else "NA" for i in range(N)],
            "answer": ["yes" if i % 100 > 50 else "no" for i in range(N)],
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    """Run a command; return exit code, output and messages."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, PrivetError):
        return int(exit_of(result.exception)), result.stdout, f"{result.stderr}{result.exception}"
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def train(*options):
    return run(
        "train", "people.csv", "-s", "schema.yaml", "-e", "1", "-l", "privatree", "--set", "max_depth=3", *options
    )


def test_every_error_has_its_documented_exit_code():
    codes = {BudgetError: 3, SchemaError: 4, ModelFileError: 5, ParameterError: 2, AuditError: 2}
    assert {kind: exit_of(kind("x")) for kind in codes} == codes
    text = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    for code in Exit:
        assert re.search(rf"^\| {int(code)} \|", text, re.MULTILINE), code


@pytest.mark.parametrize("command", [c.name or c.callback.__name__ for c in app.registered_commands])
def test_every_command_has_help_with_an_example_and_json(command):
    code, out, _ = run(command, "--help")
    assert code == 0
    if command != "reproduce":
        assert f"privet {command}" in out.replace("\n", " ")
        assert "--json" in out


def test_every_command_is_described_in_the_docs():
    text = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    for command in app.registered_commands:
        assert f"privet {command.name or command.callback.__name__}" in text


def test_learners_are_those_of_the_library(folder):
    assert learners.learner_names(privet.Categorical(["no", "yes"]))[0] == "PrivetClassifier"
    assert set(learners.learner_names()) == set(estimator_names())
    for name in estimator_names("Classifier"):
        assert type(learners.make_estimator(name.removesuffix("Classifier").lower(), [])).__name__ == name
    code, _, message = run("plan", "-s", "schema.yaml", "--learner", "oak")
    assert code == Exit.USAGE
    assert "no learner is called 'oak'; there are PrivetClassifier, " in message


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("max_depth", "takes NAME=VALUE"),
        ("epsilon=3", "has an option of its own; use --epsilon"),
        ("branches=3", "has no parameter 'branches'; it has"),
        ("max_depth=many", "max_depth must be"),
    ],
)
def test_a_setting_that_cannot_be_is_told_before_data_is_read(folder, setting, message):
    code, _, said = run("train", "nowhere.csv", "-s", "schema.yaml", "-e", "1", "-l", "privatree", "--set", setting)
    assert code == Exit.USAGE
    assert message in said or "no such file" not in said


def test_a_draft_holds_nothing_of_the_records(folder):
    assert run("schema", "init", "people.csv", "--target", "answer", "-o", "draft.yaml")[0] == 0
    text = (folder / "draft.yaml").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    # two bounds each for age and zone, the categories of colour, the classes; the two of a truth value are its type's
    assert body.count("FILL_IN") == 6
    assert "red" not in body
    assert "yes" not in body


def test_a_draft_is_the_same_whatever_the_values_are(folder):
    frame = pd.read_parquet("people.parquet")
    other = frame.assign(age=frame.age * 7, zone=9, colour="x", answer="z")
    other.to_parquet("other.parquet")
    for name in ("people", "other"):
        run("schema", "init", f"{name}.parquet", "--target", "answer", "-o", f"{name}.yaml")
    assert (folder / "people.yaml").read_text() == (folder / "other.yaml").read_text()


def test_a_draft_asks_on_a_terminal_and_checks_answers_as_they_are_typed():
    told = [
        *("", "0", "1e3"),  # a: taken for a number
        *("", "", "many", "7.5", "8"),  # b: taken for a whole number
        *("what", "=sort", "=ordinal", "red, red", "red, 'green', yes"),  # c: another type
        "-",  # d: left out
        *("", "2010-01-01", "soon", "2009-01-01", "2020-12-31"),  # e: a date
        *("-", "=date", "", "no", "no, yes"),  # y: cannot be left out, nor be a date
    ]
    answers, asked = iter(told), []
    frame = pd.DataFrame({"a": [1.5], "b": [2], "c": ["x"], "d": ["x"], "e": [pd.Timestamp(0)], "y": ["z"]})
    text = drafts.draft(frame, "y", ask=lambda question: asked.append(question) or next(answers)).replace('"', "")
    assert next(answers, None) is None
    assert "a: {type: numeric, low: 0, high: 1e3}" in text
    assert "b: {type: integer, low: FILL_IN, high: 8}" in text
    assert "c: {type: ordinal, categories: [red, 'green', yes]}" in text
    assert "e: {type: date, low: 2010-01-01, high: 2020-12-31}" in text
    assert "target: {type: categorical, categories: [no, yes]}" in text
    assert "ignored: [d]" in text
    questions = "\n".join(asked)
    for said in (
        "a: a number, since its numbers have decimals",
        "'many' is not a number. b: public upper bound",
        "'7.5' is not a whole number",
        "'=sort' is not a type; types are numeric, integer, date, boolean, ordinal, categorical, hashed, ignored. c: ",
        "'=date' is not a type; types are numeric, integer, boolean, ordinal, categorical. y: ",
        "one of them is listed twice",
        "'soon' is not a date",
        "2009-01-01 is not above the lower bound",
        "at least two classes",
    ):
        assert said in questions
    assert not any(question.count("types are") > 1 for question in asked)


def test_an_unfinished_draft_is_refused_with_the_field_and_the_remedy(folder):
    run("schema", "init", "people.csv", "--target", "answer", "-o", "draft.yaml")
    for command in (["schema", "check", "draft.yaml"], ["plan", "-s", "draft.yaml"]):
        code, _, message = run(*command)
        assert code == Exit.SCHEMA
        assert "features.age.low still says FILL_IN; replace it" in message


def test_a_mark_left_within_a_list_is_found_too(folder):
    Path("left.yaml").write_text(SCHEMA.replace('["red", "NA"]', "[red, FILL_IN]"))
    code, _, message = run("plan", "-s", "left.yaml")
    assert code == Exit.SCHEMA
    assert "colour.categories still says FILL_IN" in message


def test_another_mistake_in_a_draft_is_told_as_it_is(folder):
    Path("wrong.yaml").write_text(SCHEMA.replace("high: 100", "high: -1").replace('["red", "NA"]', "FILL_IN"))
    assert "low (0) must be below high (-1)" in run("plan", "-s", "wrong.yaml")[2]


def test_a_schema_read_off_the_data_says_so_and_so_does_the_ledger(folder):
    code, _, message = run("schema", "init", "people.csv", "-t", "answer", "--unsafe-infer", "-o", "guess.yaml")
    assert code == 0
    assert "no privacy guarantee" in message
    assert Schema.load("guess.yaml").inferred
    code, out, _ = run("train", "people.csv", "-s", "guess.yaml", "-e", "1", "-o", "guess.json", "--no-report")
    assert code == 0
    assert "no guarantee: domains were read off the data" in out


def test_training_prints_the_ledger_and_where_things_are(folder):
    code, out, _ = train()
    assert code == 0
    assert "total: epsilon = 1 for adding or removing one record" in out
    assert "model:  model.json\nreport: model.html\n" in out
    assert (folder / "model.html").read_text().startswith("<!DOCTYPE html>")


def test_training_on_parquet_csv_and_folders_is_the_same_table(folder):
    parts = folder / "parts"
    parts.mkdir()
    frame = pd.read_csv("people.csv", keep_default_na=False)
    frame[:200].to_csv(parts / "a.csv", index=False)
    frame[200:][frame.columns[::-1]].to_csv(parts / "b.csv", index=False)
    schema = Schema.load("schema.yaml")
    whole, name = data.read_labelled([Path("people.csv")], schema, None)
    assert name == "answer"
    columns = [*schema.features, name]
    for other in ([parts], [Path("people.parquet")]):
        again, _ = data.read_labelled(other, schema, None)
        codes = [schema.encoding().encode(frame.drop(columns=name)).tolist() for frame in (whole, again)]
        assert codes[0] == codes[1]
        assert again[columns][name].tolist() == whole[name].tolist()


def test_a_csv_is_read_value_by_value_as_the_schema_says(folder):
    Path("odd.csv").write_text("age,member,zone,colour,answer\n12x,TRUE,2.0,NA,yes\n,,,,\n-3,maybe,two,red,no\n")
    schema = Schema.load("schema.yaml")
    frame, _ = data.read_labelled([Path("odd.csv")], schema, None)
    encoding = schema.encoding(4)
    age, member, zone, colour = encoding.encode(frame.drop(columns="answer")).tolist()
    assert age == [2, 2, 0]  # the middle cell for what is no number or missing; clipped below
    assert member == [1, 2, 2]  # missing and unknown have the missing code
    assert zone == [1, 0, 0]
    assert colour == [1, 0, 0]  # "NA" is a text; only an empty cell is missing
    assert encoding.encode_target(frame["answer"]).tolist() == [1, -1, 0]


def test_a_unit_of_several_rows_is_read_and_protected(folder):
    Path("unit.yaml").write_text(SCHEMA + "unit: {column: person, max_rows: 2}\n")
    pd.read_csv("people.csv", keep_default_na=False).assign(person=[f"p{i // 5}" for i in range(N)]).to_csv(
        "u.csv", index=False
    )
    code, out, _ = run("train", "u.csv", "-s", "unit.yaml", "-e", "1", "-o", "unit.json", "--no-report")
    assert code == 0
    assert "for adding or removing one unit (the rows that share a value of column 'person', at most 2 of which" in out
    assert run("predict", "unit.json", "people.csv")[0] == 0
    code, _, message = run("train", "people.csv", "-s", "unit.yaml", "-e", "1", "-o", "x.json")
    assert code == Exit.SCHEMA
    assert "column 'person' is missing" in message


@pytest.mark.parametrize(
    ("rename", "message"),
    [
        ({"age": "agee"}, "column 'age' is missing; did you mean the frame's 'agee'? Rename it"),
        ({"colour": "paint"}, "column 'colour' is missing; add it to the frame"),
    ],
)
def test_a_misspelt_or_missing_column_is_told_before_anything_is_spent(folder, rename, message):
    pd.read_csv("people.csv").rename(columns=rename).to_csv("bad.csv", index=False)
    code, out, said = run("train", "bad.csv", "-s", "schema.yaml", "-e", "1")
    assert (code, out) == (Exit.SCHEMA, "")
    assert message in said
    assert not Path("model.json").exists()


def test_several_columns_left_over_need_a_named_target(folder):
    pd.read_csv("people.csv").assign(extra=1).to_csv("more.csv", index=False)
    code, _, message = run("train", "more.csv", "-s", "schema.yaml", "-e", "1")
    assert code == Exit.SCHEMA
    assert "say which one to predict with --target" in message


def test_training_without_a_schema_is_refused_with_the_remedy(folder):
    code, _, message = run("train", "people.csv", "-e", "1")
    assert code == Exit.SCHEMA
    assert "draft one with `privet schema init" in message


def test_a_model_that_was_paid_for_is_not_overwritten(folder):
    train("--no-report")
    before = Path("model.json").read_bytes()
    code, _, message = train("--no-report")
    assert code == Exit.USAGE
    assert "model.json exists" in message
    assert Path("model.json").read_bytes() == before
    assert train("--no-report", "--force")[0] == 0


def test_a_budget_in_force_is_charged_and_a_second_training_refused(folder):
    with privet.budget(epsilon=1.5) as budget:
        assert train("--no-report")[0] == 0
        assert budget.remaining == 0.5
        code, _, message = train("--no-report", "-o", "second.json")
    assert code == Exit.BUDGET
    assert "nothing was drawn" in message
    assert not Path("second.json").exists()


def test_predictions_go_to_csv_parquet_json_or_the_terminal(folder):
    train("--no-report")
    code, out, _ = run("predict", "model.json", "people.csv")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "prediction,probability"
    assert len(lines) == N + 1
    assert {line.split(",")[0] for line in lines[1:]} <= {"no", "yes"}
    assert all(0.5 <= float(line.split(",")[1]) <= 1 for line in lines[1:])
    assert run("predict", "model.json", "people.csv", "--proba", "-o", "p.parquet")[0] == 0
    assert list(pd.read_parquet("p.parquet").columns) == ["prediction", "probability", "no", "yes"]
    shares = json.loads(run("predict", "model.json", "people.csv", "--proba", "--json")[1])
    assert shares["no"][0] + shares["yes"][0] == pytest.approx(1)
    assert run("predict", "model.json", "people.csv", "-o", "p.txt")[0] == Exit.USAGE


def test_a_column_that_the_schema_does_not_name_is_kept_beside_predictions_if_asked_for(folder):
    train("--no-report")
    pd.read_csv("people.csv").assign(key=range(N)).to_csv("keyed.csv", index=False)
    assert run("predict", "model.json", "keyed.csv", "--keep", "key", "-o", "p.csv")[0] == 0
    found = pd.read_csv("p.csv")
    assert list(found.columns) == ["key", "prediction", "probability"]
    assert found["key"].tolist() == list(range(N))
    code, _, message = run("predict", "model.json", "keyed.csv", "--keep", "kee", "-o", "q.csv")
    assert (code, Path("q.csv").exists()) == (Exit.SCHEMA, False)
    assert "has no column 'kee'" in message
    assert run("predict", "model.json", "keyed.csv", "--keep", "zone")[0] == Exit.SCHEMA  # it is a feature


def test_a_prediction_frame_that_lacks_a_column_is_refused(folder):
    train("--no-report")
    pd.read_csv("people.csv").drop(columns=["zone", "answer"]).to_csv("lacking.csv", index=False)
    code, _, message = run("predict", "model.json", "lacking.csv")
    assert code == Exit.SCHEMA
    assert "column 'zone' is missing" in message


def test_an_accuracy_on_private_records_is_called_a_disclosure(folder):
    train("--no-report")
    code, out, message = run("evaluate", "model.json", "people.csv")
    assert code == 0
    assert "accuracy" in out
    assert "is itself a disclosure" in message
    assert "disclosure" not in run("evaluate", "model.json", "people.csv", "--public")[2]


def test_a_private_evaluation_prints_intervals_and_its_ledger(folder):
    train("--no-report")
    code, out, message = run("evaluate", "model.json", "people.csv", "-e", "0.5", "--by", "colour", "-o", "found.json")
    assert code == 0
    assert "disclosure" not in message
    assert "95% interval" in out
    assert "true positive rate" in out
    assert "total: epsilon = 0.5" in out
    content = json.loads(Path("found.json").read_text())
    assert content["privacy"]["epsilon"] == "1/2"
    assert [group["name"] for group in content["groups"]] == ["red", "NA"]
    assert json.loads(run("evaluate", "model.json", "people.csv", "-e", "0.5", "--json")[1])["kind"] == "classes"
    for wrong in (["--by", "colour"], ["--epsilon", "1", "--public"], ["--epsilon", "1", "--by", "age"]):
        assert run("evaluate", "model.json", "people.csv", *wrong)[0] == Exit.USAGE


def test_evaluation_and_audit_go_into_the_report(folder):
    train("--no-report")
    assert run("evaluate", "model.json", "people.csv", "--public", "-o", "evaluation.json")[0] == 0
    assert run("report", "model.json", "--evaluation", "evaluation.json")[0] == 0
    assert "people.csv" in Path("model.html").read_text()
    run("evaluate", "model.json", "people.csv", "-o", "private.json")
    code, _, message = run("report", "model.json", "--evaluation", "private.json", "-o", "other.html")
    assert code == Exit.USAGE
    assert "would be a disclosure on this page" in message


@pytest.mark.parametrize("command", [["train"], ["evaluate"], ["schema", "check"], ["plan"]])
@pytest.mark.parametrize("as_json", [False, True])
def test_no_command_prints_a_number_of_private_records(folder, command, as_json):
    train("--no-report")
    arguments = {
        "train": ["train", "people.csv", "-s", "schema.yaml", "-e", "1", "-o", "again.json"],
        "evaluate": ["evaluate", "model.json", "people.csv"],
        "schema": ["schema", "check", "schema.yaml", "odd.csv"],
        "plan": ["plan", "-s", "schema.yaml"],
    }[command[0]]
    pd.read_csv("people.csv", keep_default_na=False).assign(age=-1, colour="x").to_csv("odd.csv", index=False)
    _, out, message = run(*arguments, *["--json"] * as_json)
    assert out
    assert str(N) not in re.sub(r"[0-9a-f]{64}", "", out + message)
    if as_json:
        json.loads(out)


def test_schema_check_names_what_breaks_it(folder):
    assert run("schema", "check", "schema.yaml", "people.csv")[0] == 0
    pd.read_csv("people.csv", keep_default_na=False).assign(age=-1, colour="x").to_csv("odd.csv", index=False)
    code, out, _ = run("schema", "check", "schema.yaml", "odd.csv")
    assert code == Exit.REFUTED
    assert re.search(r"^age +below low +clipped to 0", out, re.MULTILINE)
    assert re.search(r"^colour +unknown +takes the first category", out, re.MULTILINE)


def test_plan_needs_no_data_and_says_what_training_will_spend(folder):
    code, out, message = run("plan", "-s", "schema.yaml", "-e", "0.5")
    assert code == 0
    assert "total: epsilon = 0.5 for adding or removing one record" in out
    assert "learners: PrivetClassifier" in message
    plan = json.loads(run("plan", "-s", "schema.yaml", "-e", "0.5", "--json")[1])
    assert plan["epsilon"] == 0.5


def test_an_export_is_an_onnx_file(folder):
    onnx = pytest.importorskip("onnx")
    train("--no-report")
    assert run("export", "model.json")[0] == 0
    assert [feature.name for feature in onnx.load("model.onnx").graph.input] == ["age", "member", "zone", "colour"]


def test_an_export_is_of_the_format_asked_for_or_that_its_name_says(folder):
    train("--no-report")
    assert run("export", "model.json", "--to", "sql", "--table", "people", "--keep", "zone")[0] == 0
    assert 'FROM "people"' in Path("model.sql").read_text()
    assert 'SELECT "zone", CASE' in Path("model.sql").read_text()
    assert run("export", "model.json", "-o", "scorer.py")[0] == 0
    compile(Path("scorer.py").read_text(), "scorer.py", "exec")
    assert run("export", "model.json", "--to", "javascript")[0] == 0
    assert "privetModel" in Path("model.js").read_text()
    code, _, message = run("export", "model.json", "-o", "scorer.py")
    assert (code, "exists" in message) == (Exit.USAGE, True)


@pytest.mark.parametrize("refuted", [False, True])
def test_an_audit_says_by_its_exit_code_whether_the_claim_is_refuted(folder, monkeypatch, refuted):
    asked = {}

    def audit(subject, level, **claim):
        asked.update(subject=subject, level=level, **claim)
        finding = Finding("a pair", "a flaw", "exact", 9.0, refuted, "an event")
        return AuditReport("trainer", Claim(1.0, 0.0, "add_remove"), [finding])

    monkeypatch.setattr("privet.audit.whole.audit", audit)
    arguments = ["audit", "trainer.py:train", "-e", "1", "--neighbours", "add_remove", "-o", "audit.json"]
    code, out, _ = run(*arguments)
    assert code == (Exit.REFUTED if refuted else Exit.OK)
    assert ("verdict: refuted" in out) == refuted
    assert (asked["subject"], asked["epsilon"], asked["relation"]) == ("trainer.py:train", 1.0, "add_remove")
    assert json.loads(Path("audit.json").read_text())["refuted"] == refuted


def test_an_audit_of_a_model_file_audits_what_it_claims(folder, monkeypatch):
    train("--no-report")
    seen = []

    def audit(subject, level, **claim):
        seen.append((type(subject).__name__, subject.epsilon, level))
        return AuditReport("x", Claim(1.0, 0.0, "add_remove"), [])

    monkeypatch.setattr("privet.audit.whole.audit", audit)
    assert run("audit", "model.json", "--level", "thorough")[0] == 0
    assert run("audit", "privatree", "-s", "schema.yaml", "-e", "0.5")[0] == 0
    assert seen == [("PrivaTreeClassifier", 1.0, "thorough"), ("PrivaTreeClassifier", 0.5, "quick")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nowhere.json", "people.csv"], "no such file"),
        (["train", "nowhere.csv", "-s", "schema.yaml", "-e", "1"], "no such file or folder"),
        (["train", "people.txt", "-s", "schema.yaml", "-e", "1"], "no such file or folder"),
        (["train", "schema.yaml", "-s", "schema.yaml", "-e", "1"], "files end in .csv, .tsv"),
        (["train", "people.csv", "-s", "nowhere.yaml", "-e", "1"], "no such file; draft one"),
        (["train", "people.csv", "-s", "schema.yaml", "-e", "-1"], "epsilon must be positive"),
        (["train", "people.csv", "-s", "schema.yaml", "-e", "1", "-o", "no/model.json"], "does not exist; make it"),
        (["train", "broken.parquet", "-s", "schema.yaml", "-e", "1"], "not a readable Parquet file"),
        (["train", "empty.csv", "-s", "schema.yaml", "-e", "1"], "first line is empty"),
        (["audit", "oak", "-s", "schema.yaml"], "no learner is called 'oak'"),
    ],
)
def test_mistakes_are_told_with_the_remedy(folder, arguments, message):
    Path("broken.parquet").write_text("PAR1")
    Path("empty.csv").write_text("")
    code, out, said = run(*arguments)
    assert code in (Exit.USAGE, Exit.SCHEMA, Exit.MODEL_FILE)
    assert out == ""
    assert message in said


def test_absent_packages_are_named_with_the_command_that_installs_them(monkeypatch):
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"pip install pandas pyarrow$"):
        data.import_pandas()


@pytest.mark.parametrize(
    ("options", "strength"),
    [
        (("-e", "1"), "strong"),
        (("-e", "1000"), "none"),
        (("-e", "1", "--delta", "1e-6"), "strong"),
        (("-e", "15", "--delta", "1e-6"), "weak"),
    ],
)
def test_a_plan_says_how_strong_it_is_by_epsilon_and_delta(folder, options, strength):
    code, out, _ = run("plan", "-s", "schema.yaml", *options, "--json")
    assert code == 0
    assert json.loads(out)["strength"] == strength
    _, out, _ = run("plan", "-s", "schema.yaml", *options)
    assert ("strength: a strong guarantee" in out) == (strength == "strong")
    assert ("any probability may exceed what epsilon allows by up to 1e-06" in out) == ("--delta" in options)
