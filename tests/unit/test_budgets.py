"""A budget above fits loses no charge: not by clone, cross-validation, worker processes or pickling."""

import contextlib
import json
import multiprocessing
import os
import pickle
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import privet
from privet import Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import BudgetError
from privet.mechanisms.measurements import noisy_row_count
from privet.privacy import budgets
from privet.privacy.budgets import blocks, registry, store
from privet.tables.reading import encode_table

SCHEMA = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=[0, 1])
X = np.random.default_rng(0).random((60, 2))
Y = (X[:, 0] > 0.5).astype(int)


def forest(epsilon=1.0, n_trees=2, **parameters):
    return RandomDecisionForestClassifier(epsilon, schema=SCHEMA, n_trees=n_trees, max_depth=2, **parameters)


def fit_in_a_fresh_process():
    forest().fit(X, Y)


def test_two_fits_spend_twice():
    with privet.budget(epsilon=3.0) as budget:
        estimator = forest()
        estimator.fit(X, Y)
        estimator.fit(X, Y)
        assert (budget.spent, budget.remaining) == (2.0, 1.0)
    assert budget.spent == 2.0, "a closed budget still knows what was spent"


def test_overspending_raises_before_anything_is_drawn():
    with privet.budget(epsilon=1.5) as budget:
        forest().fit(X, Y)
        late = forest()
        with pytest.raises(BudgetError, match="remain"):
            late.fit(X, Y)
        assert not hasattr(late, "model_")
        assert budget.spent == 1.0


def test_clone_does_not_lose_a_charge():
    with privet.budget(epsilon=5.0) as budget:
        clone(forest().fit(X, Y)).fit(X, Y)
        assert budget.spent == 2.0


def test_cross_validation_does_not_lose_a_charge():
    with privet.budget(epsilon=10.0) as budget:
        cross_val_score(forest(), X, Y, cv=4)
        assert budget.spent == 4.0


@pytest.mark.slow
def test_grid_search_in_two_worker_processes_does_not_lose_a_charge():
    with privet.budget(epsilon=20.0) as budget:
        GridSearchCV(forest(), {"max_depth": [1, 2, 3]}, cv=5, n_jobs=2).fit(X, Y)
        assert budget.spent == 16.0


@pytest.mark.slow
def test_a_nested_search_in_worker_processes_does_not_lose_a_charge():
    with privet.budget(epsilon=20.0) as budget:
        inner = GridSearchCV(forest(), {"max_depth": [1, 2]}, cv=2)
        cross_val_score(inner, X, Y, cv=2, n_jobs=2)
        assert budget.spent == 10.0


def test_pickling_does_not_lose_a_charge():
    with privet.budget(epsilon=5.0) as budget:
        pickle.loads(pickle.dumps(forest())).fit(X, Y)
        assert budget.spent == 1.0


@pytest.mark.slow
def test_a_process_started_inside_the_block_is_charged():
    with privet.budget(epsilon=5.0) as budget:
        process = multiprocessing.get_context("spawn").Process(target=fit_in_a_fresh_process)
        process.start()
        process.join(120)
        assert process.exitcode == 0
        assert budget.spent == 1.0


def test_an_estimator_pickled_under_a_budget_cannot_escape_it():
    with privet.budget(epsilon=5.0):
        escaped = pickle.dumps(forest())
    with pytest.raises(BudgetError, match="closed"):
        pickle.loads(escaped).fit(X, Y)


@pytest.mark.parametrize("carry", [copy, deepcopy, lambda estimator: clone(deepcopy(estimator))])
def test_a_copy_made_under_a_budget_and_its_clones_cannot_escape_it_either(carry):
    with privet.budget(epsilon=5.0):
        escaped = carry(forest())
        a_new_one = clone(forest())
    with pytest.raises(BudgetError, match="closed"):
        escaped.fit(X, Y)
    a_new_one.fit(X, Y)


def test_nested_budgets_are_both_charged_and_the_tighter_refuses_for_both():
    with privet.budget(epsilon=5.0) as outer, privet.budget(epsilon=1.0) as inner:
        forest().fit(X, Y)
        with pytest.raises(BudgetError):
            forest().fit(X, Y)
        assert (outer.spent, inner.spent) == (1.0, 1.0)


def test_a_fit_without_a_guarantee_is_refused_by_a_budget():
    with privet.budget(epsilon=5.0) as budget:
        with pytest.raises(BudgetError, match="no guarantee"):
            forest(epsilon=None).fit(X, Y)
        assert budget.spent == 0.0


def test_delta_is_counted_too():
    with privet.budget(epsilon=5.0, delta=1e-6) as budget:
        forest(delta=1e-6, n_trees=40).fit(X, Y)
        assert budget.spent_delta == 1e-6
        with pytest.raises(BudgetError):
            forest(delta=1e-7, n_trees=40).fit(X, Y)


@pytest.mark.parametrize("terms", [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": 1, "delta": 1}, {"epsilon": "1"}])
def test_a_budget_that_makes_no_sense_is_refused(terms):
    with pytest.raises(privet.errors.PrivetError), privet.budget(**terms):
        pass


def test_guarantees_for_different_neighbours_or_units_do_not_add_up():
    replaced = Schema(dict(SCHEMA.features), classes=[0, 1], neighbours="replace")
    with privet.budget(epsilon=10.0) as budget:
        forest().fit(X, Y)
        with pytest.raises(BudgetError, match=r"single records under 'replace'.*begun for single records under 'add"):
            forest().set_params(schema=replaced).fit(X, Y)
        with pytest.raises(BudgetError, match="units by column"):
            noisy_row_count(X, epsilon=1.0, units=np.arange(60))
        noisy_row_count(X, epsilon=1.0)
        assert budget.spent == 2.0


def test_guarantees_for_units_of_different_columns_do_not_add_up():
    frame = pd.DataFrame(X, columns=["x", "z"]).assign(household=np.arange(60) // 3, visit=np.arange(60))

    def fit(unit):
        of_units = Schema(dict(SCHEMA.features), classes=[0, 1], unit=Unit(unit, 3))
        return forest().set_params(schema=of_units).fit(frame[["x", "z", unit]], Y)

    with privet.budget(epsilon=10.0) as budget:
        fit("household")
        with pytest.raises(BudgetError, match=r"units by column 'visit'.*begun for units by column 'household'"):
            fit("visit")
        noisy_row_count(frame, epsilon=1.0, units=frame["household"])
        with pytest.raises(BudgetError, match="visit"):
            noisy_row_count(frame, epsilon=1.0, units=frame["visit"])
        assert budget.spent == 2.0


def test_budgets_of_threads_that_overlap_are_all_told_to_processes_until_they_are_closed():
    first, second = privet.budget(epsilon=1.0), privet.budget(epsilon=1.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert len(json.loads(os.environ[budgets.VARIABLE])) == 1
    second.__exit__(None, None, None)
    assert budgets.VARIABLE not in os.environ


@pytest.mark.parametrize("text", ["/tmp/one:/tmp/two", '["a"]', "7", '[{"store": "a"}]'])
def test_a_variable_that_cannot_be_read_is_not_taken_for_no_budget(monkeypatch, text):
    monkeypatch.setenv(budgets.VARIABLE, text)
    with pytest.raises(BudgetError, match="cannot be read"):
        forest().fit(X, Y)


def test_a_budget_whose_store_is_deleted_refuses_all_fits_and_knows_no_sum():
    with privet.budget(epsilon=5.0) as budget:
        forest().fit(X, Y)
        carrying = pickle.dumps(forest())
        shutil.rmtree(Path(budget._handle.store).parent)
        for late in (forest(), clone(forest()), pickle.loads(carrying)):
            with pytest.raises(BudgetError, match="cannot be used"):
                late.fit(X, Y)
        with pytest.raises(BudgetError, match="cannot be used"):
            noisy_row_count(X, epsilon=0.1)
    with pytest.raises(BudgetError):
        _ = budget.spent
    forest().fit(X, Y)


@pytest.mark.parametrize("sight", ["the process", "the environment"])
def test_each_way_to_see_a_budget_suffices_by_itself(monkeypatch, sight):
    with privet.budget(epsilon=5.0) as budget:
        if sight == "the process":
            monkeypatch.delenv(budgets.VARIABLE)
        else:
            monkeypatch.setattr(registry, "own_handles", tuple)
        forest().fit(X, Y)
        assert budget.spent == 1.0
        monkeypatch.undo()


def test_a_fit_that_begins_in_the_block_and_is_charged_after_it_is_refused(monkeypatch):
    begun, closed = threading.Event(), threading.Event()

    def wait_for_the_end(*arguments):
        begun.set()
        assert closed.wait(120)
        return encode_table(*arguments)

    def fit():
        with pytest.raises(BudgetError, match="closed"):
            forest().fit(X, Y)

    monkeypatch.setattr("privet.estimators.base.encode_table", wait_for_the_end)
    with ThreadPoolExecutor(1) as thread:
        with privet.budget(epsilon=5.0) as budget:
            fitted = thread.submit(fit)
            assert begun.wait(120)
        closed.set()
        fitted.result(120)
    assert budget.spent == 0.0


@pytest.mark.slow
def test_no_interrupt_at_the_edges_of_a_block_leaves_anything_behind():
    files = {blocks.__file__, registry.__file__, store.__file__, contextlib.__file__}

    def interrupt_at(step):
        """Open and close a budget with an interrupt at such a place; return whether there are as many places."""
        places = 0

        def interrupt(frame, event, argument):
            nonlocal places
            # Python looks for signals when a function of its own begins and when a compiled one has returned.
            places += frame.f_code.co_filename in files and event in ("call", "c_return")
            if places == step:
                raise KeyboardInterrupt

        before = sys.getprofile()
        try:
            sys.setprofile(interrupt)
            with privet.budget(epsilon=1.0):
                pass
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(before)
        return False

    with privet.budget(epsilon=1.0) as budget:
        folder = Path(budget._handle.store).parent
    step = 1
    while interrupt_at(step):
        assert not folder.exists(), step
        assert budgets.in_force() == (), step
        assert budgets.VARIABLE not in os.environ, step
        step += 1
    assert step > 100
    with ThreadPoolExecutor(1) as thread, privet.budget(epsilon=1.0):
        assert len(thread.submit(budgets.in_force).result(60)) == 1


def test_nobody_else_may_enter_the_folder_where_budgets_are_made_known(monkeypatch, tmp_path):
    (tmp_path / "open to all").mkdir()
    (tmp_path / "open to all").chmod(0o755)
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    monkeypatch.setattr(registry, "_mine", None)
    monkeypatch.setattr(registry, "_places", lambda: [tmp_path / "open to all", tmp_path / "elsewhere"])
    with pytest.raises(BudgetError, match="of this user alone"), privet.budget(epsilon=1.0):
        pass
    forest().fit(X, Y)
