"""Laws of `privet budget`: owners create, raise and close; everybody sees what is left; whoever tampers is found."""

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from privet.privacy.accounts import Book, parse_address
from privet.privacy.accounts.history import History
from privet.privacy.accounts.postgres_log import setup_script
from privet.report.budget_page import render_budget
from tests.browser import CHROMIUM, browser
from tests.unit.accounts import bill, make, opened, spend
from tests.unit.test_cli_commands import folder, run, train  # noqa: F401


@pytest.fixture
def account(folder):  # noqa: F811
    code, said, _ = run("budget", "create", "hospital.db", "--dataset", "patients", "--epsilon", "3")
    assert (code, "epsilon 3" in said) == (0, True)
    return folder


def left(store="hospital.db"):
    code, said, _ = run("budget", "show", store, "--json")
    assert code == 0
    return {entry["dataset"]: entry["left"] for entry in json.loads(said)["accounts"]}


def test_training_is_charged_says_what_is_left_and_is_refused_in_the_end(account):
    code, said, _ = train("--budget", "hospital.db")
    assert code == 0
    assert "budget: patients  [##############..........................]  epsilon 2 of 3 left" in said
    assert train("--budget", "hospital.db", "--force", "--dataset", "patients")[0] == 0
    assert train("--budget", "hospital.db", "--force", "--purpose", "study")[0] == 0
    before = (account / "model.json").read_bytes()
    code, _, problem = train("--budget", "hospital.db", "--force")
    assert (code, "nothing was drawn" in problem) == (3, True)
    assert (account / "model.json").read_bytes() == before
    assert left() == {"patients": 0.0}


def test_the_environment_and_the_schema_name_the_account(account, monkeypatch):
    monkeypatch.setenv("PRIVET_BUDGET", str(account / "hospital.db"))
    assert train("--force")[0] == 0
    assert train("--force", "--dataset", "patients", "--purpose", "study")[0] == 0
    code, said, _ = run("budget", "show")
    assert (code, "epsilon 1 of 3 left" in said) == (0, True)
    monkeypatch.delenv("PRIVET_BUDGET")
    text = (account / "schema.yaml").read_text()
    (account / "schema.yaml").write_text(text + "budget: hospital.db\n")
    assert train("--force")[0] == 0
    assert train("--force")[0] == 3
    assert left() == {"patients": 0.0}


def test_options_of_an_account_without_an_account_are_refused(folder):  # noqa: F811
    code, _, problem = train("--dataset", "patients")
    assert (code, "--budget" in problem) == (2, True)


def test_an_owner_raises_limits_and_closes(account):
    code, said, _ = run("budget", "raise", "hospital.db", "--epsilon", "4", "--why", "the board agreed")
    assert (code, "may spend epsilon 4" in said) == (0, True)
    assert run("budget", "raise", "hospital.db", "--epsilon", "2")[0] == 3
    assert run("budget", "raise", "hospital.db", "--purpose", "study", "--epsilon", "1")[0] == 0
    assert run("budget", "raise", "hospital.db", "--purpose", "a", "--analyst", "b", "--epsilon", "1")[0] == 2
    assert [spend("hospital.db", purpose="study"), spend("hospital.db", purpose="study")] == [True, False]
    code, said, _ = run("budget", "show", "hospital.db")
    assert re.search(r"patients +purpose +study +epsilon 1 +epsilon 1", said)
    assert run("budget", "close", "hospital.db", "--why", "over")[0] == 0
    assert not spend("hospital.db", purpose="study")
    assert "closed" in run("budget", "show", "hospital.db")[1]


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        (["--epsilon", "3"], "epsilon"),
        (["--epsilon", "3", "--delta", "1e-6"], "approximate"),
        (["--rho", "0.1"], "zcdp"),
        (["--epsilon", "3.2", "--delta", "1e-6", "--slots", "50 x 0.1"], "slots"),
    ],
)
def test_every_measure_can_be_created_and_shown(folder, options, measure):  # noqa: F811
    assert run("budget", "create", "b.db", "-d", "patients", *options)[0] == 0
    code, said, counted = run("budget", "show", "b.db")
    assert (code, "patients" in said, "counted by" in counted) == (0, True, True)
    (shown,) = json.loads(run("budget", "show", "b.db", "--json")[1])["accounts"]
    assert (shown["measure"], shown["status"], shown["charges"]) == (measure, "open", 0)


@pytest.mark.slow
def test_slots_are_declared_by_a_plan(folder):  # noqa: F811
    learner = ["--learner", "RandomDecisionForestClassifier", "--set", "n_trees=8", "--rows-hint", "10000"]
    code, said, _ = run("plan", "--schema", "schema.yaml", "--epsilon", "0.1", *learner, "--json")
    assert code == 0
    (folder / "plan.json").write_text(said)
    limit = ["--epsilon", "0.45", "--slots", "5 x plan.json"]
    code, _, problem = run("budget", "create", "b.db", "-d", "patients", *limit)
    assert (code, "these slots come to epsilon 0.5 at delta 0" in problem) == (3, True)
    assert run("budget", "create", "b.db", "-d", "patients", "--delta", "1e-6", *limit)[0] == 0
    for left in (4, 3):
        code, said, _ = train("--budget", "b.db", "--force", "--epsilon", "0.1", *learner)
        assert (code, f"{left} of 5 slots left" in said) == (0, True)
    code, _, problem = train("--budget", "b.db", "--force", "--epsilon", "0.1")
    assert (code, "releases of that plan only" in problem) == (3, True)
    (shown,) = json.loads(run("budget", "show", "b.db", "--json")[1])["accounts"]
    assert shown["slots"][0]["what"] == "RandomDecisionForestClassifier"
    assert run("budget", "report", "b.db")[0] == 0
    assert run("budget", "verify", "b.db")[0] == 0


@pytest.mark.parametrize(
    "options", [[], ["--epsilon", "1", "--rho", "1"], ["--epsilon", "1", "--slots", "9 x 1"], ["--epsilon", "-1"]]
)
def test_an_account_that_makes_no_sense_is_refused_and_leaves_no_file(folder, options):  # noqa: F811
    assert run("budget", "create", "b.db", "-d", "patients", *options)[0] in (2, 3)
    assert not (folder / "b.db").exists()


def test_parents_and_periods_are_shown(account):
    common = ["--epsilon", "2", "--parent", "patients"]
    assert run("budget", "create", "hospital.db", "-d", "visits", "--period", "2026", *common)[0] == 0
    apart = ["--apart-from", "patients", "--epsilon", "1"]
    assert run("budget", "create", "hospital.db", "-d", "staff", *apart)[0] == 0
    assert spend("hospital.db", dataset="visits")
    assert left() == {"patients": 2.0, "visits": 1.0, "staff": 1.0}
    page = render_budget(_history("hospital.db"))
    assert "period: 2026; some of its people are in &#x27;patients&#x27;" in page
    assert "none of its people are in &#x27;patients&#x27;" in page


def _history(store) -> History:
    with opened(store) as book:
        return book.history()


def test_a_run_that_ended_before_a_draw_is_named_and_can_be_released(account):
    with opened("hospital.db") as book:
        charge = book.reserve([None], bill(what="a forest"))
    code, said, remark = run("budget", "show", "hospital.db", "--charges")
    assert code == 0
    assert "reserved" in said
    assert f"privet budget release hospital.db {charge}" in remark
    assert run("budget", "release", "hospital.db", charge)[0] == 2, "a reason is asked for"
    assert run("budget", "release", "hospital.db", charge, "--why", "no power")[0] == 0
    assert run("budget", "release", "hospital.db", charge, "--why", "no power")[0] == 3
    assert run("budget", "release", "hospital.db", "unknown", "--why", "no power")[0] == 3
    assert left() == {"patients": 3.0}


def test_the_export_can_be_checked_by_others(account):
    assert spend("hospital.db", what="=cmd()")
    assert run("budget", "export", "hospital.db", "-o", "budget.json")[0] == 0
    assert run("budget", "export", "hospital.db", "-o", "budget.csv")[0] == 0
    assert run("budget", "export", "hospital.db", "-o", "budget.csv")[0] == 2, "nothing is overwritten"
    assert run("budget", "export", "hospital.db", "-o", "budget.txt")[0] == 2
    content = json.loads((account / "budget.json").read_text())
    assert [entry["kind"] for entry in content["entries"]] == ["store", "create", "reserve", "commit"]
    assert content["entries"][3]["before"] == content["entries"][2]["hash"]
    with (account / "budget.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["epsilon"], row["status"], row["what"]) == ("1", "committed", "'=cmd()")


def test_a_name_is_no_formula_in_a_spreadsheet(folder):  # noqa: F811
    make("hospital.db", "=cmd()")
    assert spend("hospital.db")
    assert run("budget", "export", "hospital.db", "-o", "budget.csv")[0] == 0
    assert "'=cmd()" in Path("budget.csv").read_text()


def test_verify_says_sound_or_what_is_wrong(account):
    assert spend("hospital.db")
    code, said, _ = run("budget", "verify", "hospital.db")
    assert (code, said.startswith("sound: 4 entries")) == (0, True)
    with closing(sqlite3.connect("hospital.db")) as database, database:
        database.execute("DROP TRIGGER history_is_never_altered")
        database.execute("UPDATE history SET who = 'somebody else' WHERE seq = 3")
    code, said, _ = run("budget", "verify", "hospital.db")
    assert (code, "entry 3 was altered" in said) == (6, True)
    code, said, _ = run("budget", "verify", "hospital.db", "--json")
    assert (code, json.loads(said)["sound"]) == (6, False)
    assert run("budget", "show", "hospital.db")[0] == 3


def test_a_restored_copy_is_accepted_on_request(account):
    copy = (account / "hospital.db").read_bytes()
    assert spend("hospital.db")
    (account / "hospital.db").write_bytes(copy)
    assert run("budget", "verify", "hospital.db")[0] == 6
    code, said, _ = run("budget", "verify", "hospital.db", "--accept-restored", "--why", "the disk broke")
    assert (code, "sound" in said) == (0, True)
    assert spend("hospital.db")


def test_the_page_shows_everything_and_escapes_names(account):
    make("hospital.db", "<script>alert(1)</script>")
    assert spend("hospital.db", dataset="patients", purpose="study", what="a forest")
    assert run("budget", "report", "hospital.db")[0] == 0
    page = (account / "budget.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    for text in ("The history is sound.", "epsilon 2 of 3", "a forest", "study", "committed", "default-src"):
        assert text in page
    assert "NOT sound" in render_budget(_history("hospital.db"), ["entry 3 was altered"])
    assert "no accounts yet" in render_budget(History())


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium")
def test_the_page_renders_and_asks_for_nothing(account):
    assert spend("hospital.db", purpose="study")
    assert run("budget", "report", "hospital.db")[0] == 0
    with browser() as chromium:
        chromium.open(account / "budget.html")
        assert chromium.evaluate("document.querySelectorAll('section').length") == 6
        assert chromium.evaluate("document.querySelector('svg').getBoundingClientRect().width") > 300
        assert chromium.evaluate("performance.getEntriesByType('resource').length") == 0


def test_the_setup_for_postgresql_is_printed(postgres_server):
    code, said, _ = run("budget", "sql")
    assert (code, said.strip()) == (0, setup_script().strip())
    url = postgres_server.emptied()
    postgres_server.sql(said)
    postgres_server.sql("GRANT privet_owner TO CURRENT_USER")
    assert run("budget", "create", url, "--dataset", "patients", "--epsilon", "1")[0] == 0
    with Book(parse_address(url)) as book:
        assert book.problems() == []
