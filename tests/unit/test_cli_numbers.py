"""Laws of the commands where a number is predicted: the same steps, other figures, and remedies where there is none."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Numeric, Schema
from privet.audit import whole
from privet.cli import learners
from privet.cli.exits import Exit
from privet.estimators.registry import estimator_names
from tests.unit.test_cli_commands import run

SCHEMA = """
version: 1
features:
  area: {type: numeric, low: 0, high: 200}
  town: {type: categorical, categories: [north, south]}
target: {type: numeric, low: 0, high: 1000}
"""
N = 397


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table whose target is a number, and its schema."""
    frame = pd.DataFrame({"area": [i % 200 for i in range(N)], "town": ["north", "south"] * (N // 2) + ["north"]})
    frame["price"] = 4.5 * frame.area + 40.25
    frame["rooms"] = frame.area // 20
    frame.drop(columns="rooms").to_csv(tmp_path / "houses.csv", index=False)
    frame.to_parquet(tmp_path / "both.parquet", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*options):
    return run("train", "houses.csv", "-s", "schema.yaml", "-e", "2", "--delta", "1e-6", *options)


def test_the_learner_follows_from_the_schemas_target(folder):
    target = Numeric(0, 1)
    assert sorted(learners.learner_names(target)) == estimator_names("Regressor")
    assert learners.learner_names(target)[0] == "PrivetRegressor"
    assert learners.find_learner("boosting", target).__name__ == "BoostingRegressor"
    assert learners.find_learner("boosting", privet.Categorical([0, 1])).__name__ == "BoostingClassifier"
    code, out, message = run("plan", "-s", "schema.yaml")
    assert code == 0
    assert out.startswith("PrivetRegressor\n")
    assert "learners: PrivetRegressor" in message


def test_one_tree_is_trained_where_the_target_is_a_range(folder):
    code, _, _ = run("train", "houses.csv", "-s", "schema.yaml", "-e", "1", "--learner", "privatree")
    assert code == 0
    assert type(privet.load("model.json")).__name__ == "PrivaTreeRegressor"


@pytest.mark.parametrize("learner", ["matrixforest", "BoostingClassifier"])
def test_a_learner_of_classes_is_refused_with_one_that_can(folder, learner):
    code, out, message = run("train", "houses.csv", "-s", "schema.yaml", "-e", "1", "--learner", learner)
    assert (code, out) == (Exit.SCHEMA, "")
    assert (
        "a range of numbers; use --learner PrivetRegressor, BoostingRegressor, PrivaTreeRegressor, or list its classes"
        in message
    )
    Path("classes.yaml").write_text(SCHEMA.replace("numeric, low: 0, high: 1000", "categorical, categories: [1, 2]"))
    code, _, message = run("plan", "-s", "classes.yaml", "--learner", "BoostingRegressor")
    assert code == Exit.SCHEMA
    assert "a list of classes; use --learner PrivetClassifier, " in message


@pytest.mark.parametrize(
    ("target", "task", "drafted"),
    [
        ("price", [], "numeric, low: FILL_IN, high: FILL_IN"),
        ("rooms", [], "categorical, categories: FILL_IN"),
        ("rooms", ["--task", "regression"], "numeric, low: FILL_IN, high: FILL_IN"),
        ("price", ["--task", "classification"], "categorical, categories: FILL_IN"),
    ],
)
def test_a_draft_takes_decimals_for_a_number_and_what_is_said_for_certain(folder, target, task, drafted):
    assert run("schema", "init", "both.parquet", "-t", target, *task, "-o", "draft.yaml")[0] == 0
    assert f"\ntarget: {{type: {drafted}}}\n" in Path("draft.yaml").read_text()
    inferred = run("schema", "init", "both.parquet", "-t", target, *task, "--unsafe-infer", "-o", "guess.yaml")
    assert inferred[0] == 0
    assert isinstance(Schema.load("guess.yaml").target, Numeric) == ("numeric" in drafted)


def test_a_number_cannot_be_drafted_from_texts(folder):
    code, _, message = run("schema", "init", "both.parquet", "-t", "town", "--task", "regression", "-o", "x.yaml")
    assert code == Exit.SCHEMA
    assert "column 'town' does not hold numbers" in message
    code, _, message = run("schema", "init", "both.parquet", "-t", "town", "--task", "ranking", "-o", "x.yaml")
    assert code == Exit.USAGE
    assert "--task must be one of 'classification', 'regression'" in message


def test_an_unfinished_range_is_refused_by_its_place(folder):
    run("schema", "init", "houses.csv", "-t", "price", "-o", "draft.yaml")
    filled = Path("draft.yaml").read_text().replace("low: FILL_IN, high: FILL_IN", "low: 0, high: 9", 1)
    Path("draft.yaml").write_text(filled.replace("categories: FILL_IN", "categories: [north, south]"))
    code, _, message = run("plan", "-s", "draft.yaml")
    assert code == Exit.SCHEMA
    assert "target.low still says FILL_IN" in message


def test_a_number_is_trained_for_predicted_and_measured(folder):
    code, out, _ = train()
    assert code == 0
    assert "total: epsilon = 2, delta = 1e-06 for adding or removing one record" in out
    assert run("predict", "model.json", "houses.csv", "-o", "p.csv")[0] == 0
    predicted = pd.read_csv("p.csv")["prediction"]
    assert ((predicted >= 0) & (predicted <= 1000)).all()
    code, out, message = run("evaluate", "model.json", "houses.csv")
    assert code == 0
    assert "root mean squared error" in out
    assert "always guessing the mean" in out
    assert "is itself a disclosure" in message
    assert str(N) not in out
    truth = pd.read_csv("houses.csv")["price"]
    content = json.loads(run("evaluate", "model.json", "houses.csv", "--json")[1])
    assert content["rmse"] == pytest.approx(np.sqrt(((predicted - truth) ** 2).mean()), abs=0.1)
    assert content["constant_rmse"] == pytest.approx(truth.std(ddof=0), abs=0.1)
    assert content["groups"] == []


def test_an_interval_says_how_much_of_a_prediction_is_noise(folder):
    train("--no-report")
    assert run("predict", "model.json", "houses.csv", "--interval", "0.9", "-o", "p.csv")[0] == 0
    answers = pd.read_csv("p.csv")
    assert list(answers.columns) == ["prediction", "low", "high"]
    assert (answers.low <= answers.prediction).all()
    assert (answers.prediction <= answers.high).all()
    code, _, message = run("predict", "model.json", "houses.csv", "--interval", "2")
    assert code == Exit.USAGE
    assert "coverage must be between 0 and 1" in message


def test_an_interval_of_classes_is_of_their_shares(folder):
    Path("classes.yaml").write_text(SCHEMA.replace("numeric, low: 0, high: 1000", "categorical, categories: [0, 1]"))
    frame = pd.read_csv("houses.csv")
    frame.assign(price=(frame.price > 500).astype(int)).to_csv("two.csv", index=False)
    options = ["two.csv", "-s", "classes.yaml", "-e", "1", "--no-report"]
    assert run("train", *options, "-l", "boosting", "-o", "b.json")[0] == 0
    answers = json.loads(run("predict", "b.json", "two.csv", "--proba", "--interval", "0.5", "--json")[1])
    assert list(answers) == ["prediction", "probability", "0", "1", "0 low", "1 low", "0 high", "1 high"]
    assert "add --proba" in run("predict", "b.json", "two.csv", "--interval", "0.5")[2]
    assert run("train", *options, "-l", "privatree", "-o", "t.json")[0] == 0
    assert "boosting does" in run("predict", "t.json", "two.csv", "--proba", "--interval", "0.5")[2]


def test_its_page_has_the_figures_if_they_are_of_public_records(folder):
    train("--no-report")
    assert run("evaluate", "model.json", "houses.csv", "--public", "-o", "evaluation.json")[0] == 0
    assert run("report", "model.json", "--evaluation", "evaluation.json")[0] == 0
    text = Path("model.html").read_text()
    assert "Predicted against true targets" in text
    assert "Residuals" in text
    run("evaluate", "model.json", "houses.csv", "-o", "private.json")
    code, _, message = run("report", "model.json", "--evaluation", "private.json", "-o", "other.html")
    assert code == Exit.USAGE
    assert "would be a disclosure on this page" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "model.json", "houses.csv", "--proba"], "no shares of a vote; leave out --proba"),
        (["export", "model.json", "--keep", "id"], "--table and --keep are for SQL"),
        (
            ["robustness", "houses.csv", "--test", "houses.csv", "-s", "schema.yaml", "-e", "1"],
            "certify a score of your own in Python",
        ),
    ],
)
def test_what_cannot_be_done_for_a_number_is_told_with_the_remedy(folder, arguments, message):
    train("--no-report")
    code, out, said = run(*arguments)
    assert (code, out) == (Exit.USAGE, "")
    assert message in said


@pytest.mark.slow
def test_a_regressor_is_audited_by_the_same_command(folder, monkeypatch):
    monkeypatch.setitem(whole.EFFORTS, "quick", whole.Effort(whole.SMALL_SHAPES, 240, 1, 1))
    train("--no-report", "-l", "boosting", "--set", "n_trees=2", "--set", "max_depth=1")
    code, out, _ = run("audit", "model.json")
    assert code == 0
    assert "verdict: not refuted" in out
    assert "exact law" in out
    assert "canary-first-record" in out
