"""Laws of `privet tune`: one stated charge for the whole search; the winner is written as `train` writes its model."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import privet
from privet.cli.exits import Exit
from tests.unit.test_cli_commands import SCHEMA, N, folder, run  # noqa: F401

DEPTHS = ("--learner", "privatree", "--setting", "max_depth=1,2")


def tune(*options, data="people.csv", epsilon="1"):
    return run("tune", data, "-s", "schema.yaml", "-e", epsilon, *options)


def left(store="hospital.db"):
    (account,) = json.loads(run("budget", "show", store, "--json")[1])["accounts"]
    return account["left"], account["charges"]


@pytest.fixture
def account(folder):  # noqa: F811
    assert run("budget", "create", "hospital.db", "--dataset", "patients", "--epsilon", "1.5")[0] == 0
    return folder


def test_the_winner_and_its_settings_are_printed_and_its_model_is_written(folder):  # noqa: F811
    code, said, remarks = tune(*DEPTHS, "--setting", "objective=accuracy")
    assert code == 0
    (depth,) = re.search(r"^winner: PrivaTreeClassifier max_depth=(\d) objective=\"accuracy\"$", said, re.M).groups()
    assert "total: epsilon = 1 for adding or removing one record" in said
    assert "model:  model.json\nreport: model.html\n" in said
    assert "tuning mostly does not pay" in remarks
    assert "will cost epsilon = 1 for adding or removing one record" in remarks
    model = privet.load("model.json")
    assert (type(model).__name__, model.max_depth, model.privacy_.epsilon) == ("PrivaTreeClassifier", int(depth), 1.0)
    assert Path("model.html").read_text().startswith("<!DOCTYPE html>")
    assert run("predict", "model.json", "people.csv")[0] == 0


def test_learners_are_compared_and_the_result_is_also_for_programs(folder):  # noqa: F811
    learners = ("--learner", "boosting", "--learner", "privatree", "--learner", "PrivaTreeClassifier")
    code, said, _ = tune(*learners, "--json", "--no-report", "--rows-hint", "400", data="people.parquet")
    assert code == 0, said
    found = json.loads(said)
    assert found["learner"] == type(privet.load("model.json")).__name__
    assert (found["settings"], found["epsilon"], found["model"], found["report"]) == ({}, 1.0, "model.json", None)


def test_a_plan_reads_and_writes_nothing_and_states_what_is_charged(folder):  # noqa: F811
    code, said, remarks = tune(*DEPTHS, "--plan", "--rows-hint", "unknown", data="nowhere.csv")
    assert code == 0
    assert re.search(r"^the winner's fit .* 0\.75$", said, re.M)
    assert "choice of a candidate" in said
    assert "total: epsilon = 1 for adding or removing one record" in said
    assert "tuning mostly does not pay" in remarks
    assert not Path("model.json").exists()
    planned = json.loads(tune(*DEPTHS, "--plan", "--json", data="nowhere.csv")[1])
    fitted = json.loads(tune(*DEPTHS, "--json")[1])
    assert [planned[name] for name in ("epsilon", "delta")] == [fitted[name] for name in ("epsilon", "delta")]


def test_an_account_is_charged_once_for_all_candidates_and_then_refuses(account):
    code, said, _ = tune(*DEPTHS, "--budget", "hospital.db")
    assert (code, "epsilon 0.5 of 1.5 left" in said) == (0, True)
    assert left() == (0.5, 1)
    before = Path("model.json").read_bytes()
    code, said, problem = tune(*DEPTHS, "--budget", "hospital.db", "--force")
    assert (code, said, "nothing was drawn" in problem) == (Exit.BUDGET, "", True)
    assert left() == (0.5, 1)
    assert Path("model.json").read_bytes() == before
    assert sorted(path.name for path in account.iterdir() if path.name.startswith(".privet")) == []


def test_the_schemas_account_is_charged(account):
    Path("schema.yaml").write_text(SCHEMA + "budget: hospital.db\n")
    assert tune(*DEPTHS, "--plan")[0] == 0
    assert left() == (1.5, 0)
    assert tune(*DEPTHS)[0] == 0
    assert left() == (0.5, 1)


def test_a_model_that_was_paid_for_is_not_overwritten_and_nothing_is_spent(account):
    Path("model.json").write_text("paid for")
    code, _, problem = tune(*DEPTHS, "--budget", "hospital.db")
    assert (code, "model.json exists" in problem) == (Exit.USAGE, True)
    assert left() == (1.5, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "one candidate only"),
        (("--learner", "privatree", "--learner", "PrivaTreeClassifier"), "one candidate only"),
        (("--learner", "privatree", "--setting", "max_depth=3"), "one candidate only"),
        (("--learner", "privatree", "--setting", "max_depth"), "takes NAME=VALUE,VALUE"),
        (("--learner", "privatree", "--setting", "max_depth="), "takes NAME=VALUE,VALUE"),
        (("--learner", "privatree", "--setting", "epsilon=1,2"), "has an option of its own; use --epsilon"),
        (("--learner", "privatree", "--setting", "branches=1,2"), "has no parameter 'branches'"),
        (("--learner", "privatree", "--setting", "max_depth=2,many"), "max_depth must be"),
        (("--learner", "oak", "--learner", "elm"), "no learner is called 'oak'"),
        ((*DEPTHS, "--method", "guessing"), "method must be"),
        ((*DEPTHS, "--scoring", "beauty"), "scoring"),
        ((*DEPTHS, "--refit", "1"), "refit must be"),
    ],
)
def test_a_search_that_cannot_be_is_told_before_data_is_read(folder, options, message):  # noqa: F811
    code, said, problem = tune(*options, data="nowhere.csv")
    assert (code, said) == (Exit.USAGE, "")
    assert message in problem
    assert not Path("model.json").exists()


def test_nothing_is_printed_of_how_many_records_there_are(folder):  # noqa: F811
    _, said, remarks = tune(*DEPTHS, "--json")
    assert said
    assert str(N) not in re.sub(r"[0-9a-f]{64}", "", said + remarks)


def test_a_streamed_table_is_searched_too(folder):  # noqa: F811
    (folder / "parts").mkdir()
    pd.read_parquet("people.parquet").to_parquet("parts/a.parquet", index=False)
    code, said, _ = tune(*DEPTHS, "--method", "random_stopping", "--no-report", data="parts")
    assert (code, "winner: PrivaTreeClassifier" in said) == (0, True)
