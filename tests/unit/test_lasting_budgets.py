"""Fits are charged to accounts that last: by blocks, the environment and schemas, in threads and in all processes."""

import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import privet
from privet import Schema
from privet.errors import AuditError, BudgetError, SchemaError
from privet.mechanisms.measurements import noisy_row_count
from privet.privacy import budgets
from privet.privacy.accounts import Limit, parse_address
from privet.tables import ParquetTable
from tests.unit.accounts import account, make, opened
from tests.unit.test_budgets import SCHEMA, X, Y, forest
from tests.unit.test_budgets_in_processes import Interpreter, fit_an_own_estimator, in_workers  # noqa: F401

PATIENCE = 300


@pytest.fixture
def url(tmp_path):
    return make(f"sqlite:///{tmp_path / 'hospital.db'}")


def statuses(url):
    with opened(url) as book:
        return [charge.status for charge in book.history().charges.values()]


def test_fits_and_measurements_of_several_blocks_add_up(empty_store):
    make(empty_store)
    with privet.budget(empty_store, dataset="patients") as budget:
        forest().fit(X, Y)
        assert (budget.spent, budget.remaining) == (1.0, 2.0)
    with privet.budget(empty_store) as budget:
        noisy_row_count(X, epsilon=1.5)
        late = forest()
        with pytest.raises(BudgetError, match=r"epsilon 0\.5 remains"):
            late.fit(X, Y)
        assert not hasattr(late, "model_")
        assert "spent=epsilon 2.5" in repr(budget)
    forest().fit(X, Y)
    assert statuses(empty_store) == ["committed"] * 2, "what is fitted outside of blocks is not charged"


def test_the_environment_names_an_account_for_everything(url, monkeypatch):
    monkeypatch.setenv(budgets.ACCOUNT_VARIABLE, f"{url}?dataset=patients&purpose=study")
    forest().fit(X, Y)
    noisy_row_count(X, epsilon=1.0)
    with privet.budget(url, dataset="patients", purpose="care"):
        forest().fit(X, Y)
    with pytest.raises(BudgetError):
        forest().fit(X, Y)
    with opened(url) as book:
        assert [charge.purpose for charge in book.history().charges.values()] == ["study", "study", "care"]
    assert account(url).reading == 3, "the block and the environment name the same account, which is charged once"


def test_a_schema_file_names_the_account_beside_it(url, tmp_path, monkeypatch):
    SCHEMA.charged_to("hospital.db").save(tmp_path / "schema.yaml")
    monkeypatch.chdir("/")
    schema = Schema.load(tmp_path / "schema.yaml")
    assert schema.budget == f"sqlite:///{tmp_path / 'hospital.db'}"
    forest().set_params(schema=schema).fit(X, Y)
    clone(forest().set_params(schema=schema)).fit(X, Y)
    assert account(url).reading == 2
    assert schema == SCHEMA
    assert schema.digest() == SCHEMA.digest()


def test_a_schema_file_may_be_in_a_folder_of_any_name(tmp_path):
    place = tmp_path / "50%41 of? it #1"
    place.mkdir()
    SCHEMA.charged_to("hospital.db?dataset=patients").save(place / "schema.yaml")
    schema = Schema.load(place / "schema.yaml")
    address = parse_address(schema.budget)
    assert (address.path, address.dataset) == (place / "hospital.db", "patients")
    schema.save(place / "again.yaml")
    assert Schema.load(place / "again.yaml").budget == schema.budget


def test_a_schema_file_whose_budget_was_left_empty_is_refused(tmp_path):
    SCHEMA.save(tmp_path / "schema.yaml")
    with (tmp_path / "schema.yaml").open("a") as file:
        file.write("budget:\n")
    with pytest.raises(SchemaError, match="budget must be"):
        Schema.load(tmp_path / "schema.yaml")


def test_the_schema_of_a_table_names_the_account_too(url, tmp_path):
    frame = pd.DataFrame(X, columns=list(SCHEMA.features)).assign(y=Y)
    frame.to_parquet(tmp_path / "records.parquet")
    table = ParquetTable(tmp_path / "records.parquet", target="y", schema=SCHEMA.charged_to(url))
    fitted = forest().set_params(schema=None).fit(table)
    assert account(url).reading == 1
    forest().fit(table)
    assert account(url).reading == 2, "the records are the table's, whichever schema the estimator has"
    fitted.save(tmp_path / "model.json")
    privet.evaluate(privet.load(tmp_path / "model.json"), table, "y", epsilon=0.5)
    assert account(url).reading == 2.5
    with pytest.raises(BudgetError):
        forest().set_params(schema=None).fit(table)
    assert statuses(url) == ["committed"] * 3


def test_a_model_file_does_not_decide_what_its_reader_is_charged_to(url, tmp_path):
    fitted = forest().set_params(schema=SCHEMA.charged_to(url)).fit(X, Y)
    fitted.save(tmp_path / "model.json")
    assert "hospital" not in (tmp_path / "model.json").read_text()
    assert privet.load(tmp_path / "model.json").schema_.budget is None
    with pytest.raises(SchemaError, match="unknown entry"):
        Schema.from_dict({**SCHEMA.to_dict(), "budget": url})
    with opened(url) as book:
        (charge,) = book.history().charges.values()
    assert len(charge.model) == 64, "the digest of the saved model is in the history"


@pytest.mark.parametrize("budget", ["", 7])
def test_a_schema_with_a_budget_that_makes_no_sense_is_refused(budget):
    with pytest.raises(SchemaError, match="budget must be"):
        SCHEMA.charged_to(budget)


def test_clones_pickles_and_cross_validation_lose_no_charge(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=99))
    with privet.budget(url):
        clone(forest()).fit(X, Y)
        carried = pickle.dumps(forest())
        cross_val_score(forest(), X, Y, cv=3)
        pickle.loads(carried).fit(X, Y)
    assert account(url).reading == 5
    with pytest.raises(BudgetError, match="closed"):
        pickle.loads(carried).fit(X, Y)


def test_threads_are_charged(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=5))
    with privet.budget(url), ThreadPoolExecutor(4) as threads:
        allowed = list(threads.map(fit_an_own_estimator, range(8)))
    assert sum(allowed) == 5
    assert account(url).reading == 5


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["started before", "started inside"])
def test_a_grid_search_in_two_processes_charges_twenty_one_fits(tmp_path, in_workers, pool):  # noqa: F811
    url = make(f"sqlite:///{tmp_path / 'a.db'}", limit=Limit.of(epsilon=30))
    if pool == "started before":
        in_workers(fit_an_own_estimator, 4)
    with privet.budget(url):
        GridSearchCV(forest(), {"max_depth": [1, 2, 3, 4]}, cv=5, n_jobs=2).fit(X, Y)
    assert account(url).reading == 21
    assert statuses(url) == ["committed"] * 21


@pytest.mark.slow
def test_processes_from_before_and_inside_of_the_block_are_charged(url):
    with Interpreter() as early, privet.budget(url), Interpreter() as late:
        assert [early.fits(), late.fits()] == [True, True]
    assert account(url).reading == 2


@pytest.mark.slow
def test_a_process_that_outlives_the_one_that_opened_the_block_is_charged_still(url):
    code = (
        "import os, subprocess, sys, privet\n"
        f"with privet.budget({url!r}):\n"
        "    subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read(); '\n"
        "        'from tests.unit.test_budgets_in_processes import *; print(fit_an_own_estimator(), flush=True)'])\n"
        "    os._exit(0)\n"
    )
    paths = os.pathsep.join([*sys.path, str(Path.cwd())])
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert "True" in said.stdout, said.stderr
    assert account(url).reading == 1


def test_nested_budgets_are_charged_together_or_not_at_all(tmp_path, url):
    other = make(f"sqlite:///{tmp_path / 'other.db'}", "visits", Limit.of(epsilon=1))
    with privet.budget(url), privet.budget(epsilon=2.0) as inner, privet.budget(other, dataset="visits"):
        forest().fit(X, Y)
        with pytest.raises(BudgetError, match="'visits'"):
            forest().fit(X, Y)
        assert inner.spent == 1.0
    assert (account(url).reading, account(other).reading) == (1, 1)
    assert sorted(statuses(url) + statuses(other)) in (
        ["committed"] * 2,
        ["committed"] * 2 + ["released"],
    ), "what another budget refused was released, on record"


@pytest.mark.parametrize("outer", ["an account", "a block"])
def test_a_nested_budget_beyond_what_is_left_of_its_parent_is_refused_when_opened(url, outer):
    with privet.budget(url) if outer == "an account" else privet.budget(epsilon=3.0):
        forest().fit(X, Y)
        with pytest.raises(BudgetError, match=r"of epsilon 2\.5 would exceed .* of which 2 is left"):
            privet.budget(epsilon=2.5).__enter__()
        with privet.budget(epsilon=2.0):
            forest().fit(X, Y)


def test_a_lost_store_refuses_and_says_so(url):
    with privet.budget(url):
        parse_address(url).path.unlink()
        with pytest.raises(BudgetError, match="none is made by spending"):
            forest().fit(X, Y)
    with pytest.raises(BudgetError), privet.budget(url):
        pass


def test_a_fit_without_a_guarantee_is_refused(url):
    with privet.budget(url), pytest.raises(BudgetError, match="no guarantee"):
        forest(epsilon=None).fit(X, Y)
    assert statuses(url) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "needs epsilon"),
        ({"dataset": "patients"}, "belong to an account"),
        ({"account": "x.db", "epsilon": 1.0}, "nest the blocks"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, named):
    with pytest.raises(BudgetError, match=named):
        privet.budget(**arguments)


def test_a_closed_account_cannot_be_opened(url):
    with opened(url) as book:
        book.close_account(None)
    with pytest.raises(BudgetError, match="closed"):
        privet.budget(url).__enter__()


def test_a_model_is_recorded_with_the_charge_that_paid_for_it(url, tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    estimator = forest()
    with privet.budget(url):
        estimator.fit(X, Y)
        with monkeypatch.context() as patched:
            patched.setattr("privet.estimators.base.open_release", fail)
            with pytest.raises(KeyboardInterrupt):
                estimator.fit(X, Y)
        estimator.save(tmp_path / "model.json")
    with opened(url) as book:
        first, second = book.history().charges.values()
    assert (len(first.model), second.model) == (64, ""), "the second fit was paid for and gave no model"
    assert (first.status, second.status) == ("committed", "committed")


def test_an_error_between_reservation_and_draw_leaves_the_charge_spent(url, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    with privet.budget(url):
        monkeypatch.setattr("privet.privacy.accounts.book.Book.commit", fail)
        with pytest.raises(KeyboardInterrupt):
            forest().fit(X, Y)
    assert statuses(url) == ["reserved"]
    assert account(url).reading == 1


def test_a_store_on_a_missing_folder_is_refused(tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(BudgetError, match="does not exist"):
        make(f"sqlite:///{tmp_path / 'hospital.db'}")


def test_an_audit_of_made_up_records_is_charged_to_nobody(url):
    from privet.audit import audit, whole

    with privet.budget(url), pytest.raises(AuditError, match=r"outside of privet\.budget"):
        audit(forest())
    audited = whole._without_account(forest().set_params(schema=SCHEMA.charged_to(url)))
    assert audited.schema.budget is None
    audited.fit(X, Y)
    assert statuses(url) == []
