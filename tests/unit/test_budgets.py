"""A budget above fits loses no charge: not by clone, cross-validation, worker processes or pickling."""

import multiprocessing
import os
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import privet
from privet import Numeric, RandomDecisionForestClassifier, Schema, budgets
from privet.errors import BudgetError
from privet.measurements import noisy_row_count

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


def test_grid_search_in_two_worker_processes_does_not_lose_a_charge():
    with privet.budget(epsilon=20.0) as budget:
        GridSearchCV(forest(), {"max_depth": [1, 2, 3]}, cv=5, n_jobs=2).fit(X, Y)
        assert budget.spent == 16.0


def test_a_nested_search_in_worker_processes_does_not_lose_a_charge():
    with privet.budget(epsilon=20.0) as budget:
        inner = GridSearchCV(forest(), {"max_depth": [1, 2]}, cv=2)
        cross_val_score(inner, X, Y, cv=2, n_jobs=2)
        assert budget.spent == 10.0


def test_pickling_does_not_lose_a_charge():
    with privet.budget(epsilon=5.0) as budget:
        pickle.loads(pickle.dumps(forest())).fit(X, Y)
        assert budget.spent == 1.0


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


def test_budgets_of_threads_that_overlap_are_all_told_to_processes_until_they_are_closed():
    first, second = privet.budget(epsilon=1.0), privet.budget(epsilon=1.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert len(os.environ[budgets.VARIABLE].split(os.pathsep)) == 1
    second.__exit__(None, None, None)
    assert budgets.VARIABLE not in os.environ
