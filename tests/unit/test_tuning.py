"""A search is one charge: plan, ledger and budgets agree, and nothing but the winner comes out of it."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import privet
from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    DisjointForestClassifier,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    PrivetClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Unit,
)
from privet.errors import BudgetError, ParameterError
from privet.learners.privatree.tree import PrivaTree
from privet.mechanisms.random_stopping import RandomStopping, best_of_trials
from privet.mechanisms.release import Release, drawn, outcomes_from
from privet.mechanisms.replay import Forced, Recording
from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms, unproven
from privet.tables import MemoryTable
from privet.tables.part import OnlyPart
from privet.tables.recoded import Recoded
from privet.tuning import PrivateSearch
from privet.tuning.scoring import FULL, public_worth
from tests.model_contents import in_full

FEATURES = {"x": Numeric(0, 1), "z": Numeric(0, 1, missing=True), "c": Categorical(["a", "b"], other=True)}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])
NUMBERS = Schema(FEATURES, target=Numeric(0, 2))
N = 3_000


def records(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.random(n), "z": rng.random(n), "c": rng.choice(["a", "b", "other"], n)})
    X.loc[X.z < 0.1, "z"] = np.nan
    return X, np.where((X.x > 0.5) ^ (X.c == "a"), "yes", "no")


TREES = {"max_depth": [1, 4]}
SEARCHES = {
    "held out": PrivateSearch(PrivaTreeClassifier(), TREES, 2.0, schema=SCHEMA),
    "without a last fit": PrivateSearch(PrivaTreeClassifier(), TREES, 2.0, schema=SCHEMA, refit=0.0),
    "zero-concentrated": PrivateSearch(BoostingClassifier(), {"max_depth": [1, 2]}, 2.0, 1e-6, SCHEMA, n_rows_hint=N),
    "learners": PrivateSearch(
        [BoostingClassifier(), PrivaTreeClassifier(), DisjointForestClassifier(n_trees=5), PrivetClassifier()],
        epsilon=2.0,
        schema=SCHEMA,
    ),
    "thresholds": PrivateSearch(
        PrivaTreeClassifier(),
        {"objective": [{"no": 1, "yes": cost} for cost in (1, 3, 9)]},
        2.0,
        schema=SCHEMA,
        scoring="balanced_accuracy",
    ),
    "random stopping": PrivateSearch(
        PrivaTreeClassifier(), TREES, 2.0, schema=SCHEMA, method="random_stopping", n_tickets=3
    ),
    "geometric, without a last fit": PrivateSearch(
        PrivaTreeClassifier(),
        TREES,
        2.0,
        schema=SCHEMA,
        method="random_stopping",
        stopping="geometric",
        n_tickets=3,
        refit=0.0,
    ),
    "replace": PrivateSearch(
        PrivaTreeClassifier(), TREES, 2.0, schema=Schema(FEATURES, classes=["no", "yes"], neighbours="replace")
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_plan_is_what_ledger_and_budget_are_charged_with(name):
    search = clone(SEARCHES[name])
    planned = search.plan()
    with privet.budget(epsilon=5.0, delta=1e-5) as budget:
        search.fit(*records())
        assert budget.spent == planned.epsilon
    assert search.privacy_.proven
    assert (search.privacy_.epsilon, search.privacy_.delta) == (planned.epsilon, planned.delta)
    assert search.privacy_.cost == planned.cost
    assert planned.epsilon <= 2.0
    assert search.best_estimator_.privacy_ is search.privacy_


@pytest.mark.parametrize("name", SEARCHES)
def test_all_of_the_budget_is_used(name):
    assert SEARCHES[name].plan().epsilon > 1.999


def test_a_budget_that_is_too_small_refuses_the_whole_search():
    with privet.budget(epsilon=1.0) as budget:
        with pytest.raises(BudgetError):
            clone(SEARCHES["held out"]).fit(*records(100))
        assert budget.spent == 0


def test_a_candidate_does_not_leave_its_budgets_behind():
    """Pickled under a budget, an estimator is charged to it wherever it is fitted, in a search as well."""
    with privet.budget(epsilon=5.0):
        carried = pickle.dumps(PrivaTreeClassifier())
    search = PrivateSearch(pickle.loads(carried), TREES, 2.0, schema=SCHEMA)
    with pytest.raises(BudgetError, match="closed"):
        search.fit(*records(100))


@pytest.mark.parametrize("name", ["held out", "learners", "thresholds", "random stopping"])
def test_the_winner_predicts_and_goes_to_a_file(name, tmp_path):
    X, y = records()
    search = clone(SEARCHES[name]).fit(X, y)
    best = search.best_estimator_
    assert search.best_params_.items() <= (best.get_params() | {"estimator": type(best).__name__}).items()
    assert is_classifier(search)
    assert np.array_equal(search.predict(X), best.predict(X))
    assert np.array_equal(search.predict_proba(X), best.predict_proba(X))
    assert np.array_equal(search.decision_function(X) > 0, best.predict(X) == "yes")
    assert search.score(X, y) == np.mean(search.predict(X) == y)
    assert list(search.classes_) == ["no", "yes"]
    search.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert type(again) is type(best)
    assert np.array_equal(again.predict(X), search.predict(X))
    assert again.privacy_.to_dict() == search.privacy_.to_dict()
    assert np.array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))
    assert privet.evaluate(search, X, y, epsilon=5.0).accuracy.value == pytest.approx(search.score(X, y), abs=0.05)


def test_a_better_candidate_wins():
    search = PrivateSearch(PrivaTreeClassifier(), {"max_depth": [1, 3]}, 8.0, schema=SCHEMA).fit(*records())
    assert search.best_params_ == {"max_depth": 3}
    assert search.best_index_ == 1


def test_a_threshold_is_chosen_by_what_is_asked_for():
    X, _ = records(6_000)
    y = np.where(np.random.default_rng(1).random(6_000) < 0.25 * X.x, "yes", "no")
    grid = {"objective": [{"no": 1, "yes": cost} for cost in (1, 6)]}
    for scoring, cost in (("accuracy", 1), ("balanced_accuracy", 6), ({"no": 1, "yes": 20}, 6)):
        search = PrivateSearch(PrivaTreeClassifier(), grid, 8.0, schema=SCHEMA, scoring=scoring).fit(X, y)
        assert search.best_estimator_.objective["yes"] == cost


def test_regressors_are_compared_by_their_absolute_error():
    X, _ = records()
    search = PrivateSearch([BoostingRegressor(max_depth=1), BoostingRegressor()], None, 4.0, schema=NUMBERS)
    search.fit(X, X.x * 2)
    assert is_regressor(search)
    assert not hasattr(search, "predict_proba")
    assert np.abs(search.predict(X) - X.x * 2).mean() < 0.4


def test_units_are_protected_by_searches_too():
    X, y = records(600)
    schema = Schema(FEATURES, classes=["no", "yes"], unit=Unit("person", max_rows=2))
    search = PrivateSearch(PrivaTreeClassifier(), TREES, 2.0, schema=schema)
    search.fit(X.assign(person=np.arange(600) // 3), y)
    assert search.privacy_.proven
    assert "unit" in str(search.privacy_.to_dict()["guarantee"])


def test_a_search_without_privacy_says_so():
    with pytest.warns(privet.errors.NonPrivateWarning):
        search = clone(SEARCHES["held out"]).set_params(epsilon=None).fit(*records())
    assert not search.privacy_.proven
    with pytest.raises(ParameterError, match="pure epsilon"):
        clone(SEARCHES["random stopping"]).set_params(epsilon=None).plan()


def test_random_stopping_is_refused_where_it_is_not_proven():
    with pytest.raises(ParameterError, match="pure epsilon alone"):
        clone(SEARCHES["random stopping"]).set_params(delta=1e-6).plan()
    with pytest.raises(ParameterError, match="sizes of classes"):
        clone(SEARCHES["random stopping"]).set_params(scoring="balanced_accuracy").plan()
    with pytest.raises(ParameterError, match="secret coins"):
        clone(SEARCHES["random stopping"]).set_params(estimator=MultinomialForestClassifier()).plan()


class _Printed(PrivaTreeClassifier):
    """A learner as printed in a paper, with a proof that does not hold."""

    def _learner(self):
        return _PrintedTree(**vars(super()._learner()))


class _PrintedTree(PrivaTree):
    def plan(self, encoding, terms, share, hints):
        planned = super().plan(encoding, terms, share, hints)
        trees = tuple(
            replace(tree, leaves=unproven("leaves", tree.leaves.mechanism, tree.leaves.parameter, "it is printed"))
            for tree in planned.trees
        )
        return replace(planned, trees=trees)


def test_what_is_not_proven_of_a_candidate_is_not_claimed_for_the_search():
    """The ledgers of trials are seen by nobody, so such a candidate cannot be tried; held out, the ledger says it."""
    search = PrivateSearch(_Printed(), None, 2.0, schema=SCHEMA, refit=0.0, n_rows_hint=N)
    with pytest.raises(ParameterError, match="without a proven epsilon"):
        clone(search).set_params(method="random_stopping").plan()
    assert not search.plan().proven
    assert search.fit(*records(100)).privacy_.why == ("it is printed",)


def test_doubts_of_a_trial_are_doubts_of_the_best():
    ledger = Ledger(Terms(), Allowance.of(3))

    def trial(release, candidate):
        release.ledger.charge(unproven("labels", Mechanism.LAPLACE, Fraction(1), "it is printed"))
        return 0, candidate

    best_of_trials(Release(ledger, drawn()), RandomStopping("geometric", 2, Fraction(1)), 2, trial)
    assert ledger.why == ("it is printed",)


def test_costs_of_any_size_are_compared():
    X, y = records(400)
    search = PrivateSearch(PrivaTreeClassifier(), TREES, 2.0, schema=SCHEMA, scoring={"no": 1e307, "yes": 1.0})
    assert search.fit(X, y).privacy_.proven
    assert public_worth({"no": 1e307, "yes": 5e306}, SCHEMA.encoding(4)) == (FULL, FULL // 2)


@pytest.mark.parametrize("stopping", ["logarithmic", "geometric"])
def test_a_ledger_does_not_tell_how_many_trials_there_were(stopping):
    search = clone(SEARCHES["random stopping"]).set_params(
        refit=0.0, stopping=stopping, n_tickets=4, n_rows_hint="unknown"
    )
    ledgers = [clone(search).fit(*records(50, seed)).privacy_.to_dict() for seed in range(12)]
    assert all(ledger == search.plan().to_dict() for ledger in ledgers)


@pytest.mark.parametrize("name", ["held out", "zero-concentrated", "learners", "random stopping"])
def test_the_outcomes_alone_decide_the_model(name):
    """Forced outcomes give the same winner and model on other records."""
    search = clone(SEARCHES[name]).set_params(random_state=3)
    recording = Recording(drawn())
    with outcomes_from(recording):
        first = clone(search).fit(*records(400))
    forced = Forced(recording.transcript)
    with outcomes_from(forced):
        again = clone(search).fit(*records(400, seed=1))
    forced.finish()
    assert again.best_params_ == first.best_params_
    assert in_full(again.model_) == in_full(first.model_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": None}, "needs an estimator"),
        ({"estimator": []}, "needs an estimator"),
        ({"estimator": [BoostingClassifier(), BoostingRegressor()]}, "not both"),
        ({"param_grid": {"max_deep": [1]}}, "no parameter 'max_deep'"),
        ({"param_grid": {"epsilon": [1, 2]}}, "belongs to the search"),
        ({"param_grid": []}, "param_grid must be"),
        ({"held_out": 0.0}, "no records to choose by"),
        ({"refit": 1.0}, "refit must be"),
        ({"method": "cv"}, "method"),
        ({"stopping": "never"}, "stopping"),
        ({"scoring": "f1"}, "no sums over records"),
        ({"scoring": {"no": 1}}, "positive number for each class"),
        ({"param_grid": {"objective": ["accuracy", "acuracy"]}}, "objective must be one of"),
        ({"param_grid": {"objective": [{"no": 1}]}}, "positive number for each class"),
    ],
)
def test_mistakes_are_named_before_anything_is_spent(parameters, message):
    with pytest.raises(ParameterError, match=message):
        clone(SEARCHES["held out"]).set_params(**parameters).plan()


@pytest.mark.parametrize(
    ("estimator", "objective"),
    [
        (PrivaTreeClassifier(leaves="labels"), "balanced_accuracy"),
        (DisjointForestClassifier(n_trees=5), "f1"),
        (RandomDecisionForestClassifier(n_trees=3), "f1"),
        (PrivetClassifier(goal="labels only"), "balanced_accuracy"),
    ],
)
@pytest.mark.parametrize("hint", [None, N])
def test_an_objective_that_a_candidate_cannot_serve_is_refused_before_the_charge(estimator, objective, hint):
    grid = {"objective": ["accuracy", {"no": 1, "yes": 2}, objective]}
    search = PrivateSearch(estimator, grid, 2.0, schema=SCHEMA, n_rows_hint=hint)
    with privet.budget(epsilon=2.0) as budget:
        with pytest.raises(ParameterError, match="needs more than this model has released"):
            search.fit(*records(100))
        with pytest.raises(ParameterError, match="needs more than this model has released"):
            search.plan()
        assert budget.spent == 0


def test_the_check_of_objectives_draws_nothing_of_the_search():
    """Replay: what is asked of a model of nobody is not among the outcomes of the search."""
    search = PrivateSearch(PrivaTreeClassifier(), {"objective": ["accuracy", "f1"]}, 2.0, schema=SCHEMA, n_rows_hint=N)
    with outcomes_from(recording := Recording(drawn())):
        search.plan()
    assert not recording.transcript


def test_a_part_of_a_table_is_like_a_table_of_its_own():
    """A forest of random trees counts every record that it sees, so counts tell whether others were seen."""
    X, y = records(500)
    encoding = SCHEMA.encoding(16)
    codes, target = encoding.encode(X), encoding.target.encode(privet.frames.columns.read_values(y))
    whole = MemoryTable(encoding, codes, target)
    part = OnlyPart(whole.derive("half", lambda block: (block.rows % 2).astype(np.int32)), "half", 1)
    alone = MemoryTable(encoding, np.ascontiguousarray(codes[:, 1::2]), target[1::2])

    def kernel(block):
        return np.bincount(block.codes[0], minlength=20).astype(np.int64)

    assert np.array_equal(part.aggregate(kernel), alone.aggregate(kernel))
    twice = part.derive("twice", lambda block: 2 * block.codes[0].astype(np.int64))

    def second(block):
        return np.array([(block.state["twice"] == 2 * block.codes[0]).sum(), block.state["twice"].sum()])

    derived = alone.derive("twice", lambda block: 2 * block.codes[0].astype(np.int64))
    assert np.array_equal(twice.aggregate(second), derived.aggregate(second))


def test_recoded_records_are_in_the_cells_of_the_coarser_grid():
    X, y = records(2_000)
    fine, coarse = SCHEMA.encoding(1_024), SCHEMA.encoding(16)
    target = fine.target.encode(privet.frames.columns.read_values(y))
    table = Recoded.of(MemoryTable(fine, fine.encode(X), target), coarse)
    codes = coarse.encode(X)
    assert Recoded.of(table, coarse) is table
    for feature, size in enumerate(coarse.n_codes.tolist()):
        found = table.aggregate(lambda block, f=feature, n=size: np.bincount(block.codes[f], minlength=n))
        assert np.array_equal(found, np.bincount(codes[feature], minlength=size))


def test_random_forests_have_the_same_counts_in_a_search_of_one():
    """A search among one candidate, with next to nothing held out, is a fit of it: the winner's last fit sees all."""
    X, y = records(1_000)
    forest = RandomDecisionForestClassifier(n_trees=2, max_depth=2)
    search = PrivateSearch(forest, None, 2_000.0, schema=SCHEMA, random_state=0).fit(X, y)
    assert np.allclose(search.model_.leaves.counts.sum() / 2, 1_000, atol=2)
