"""The estimators that choose: their rules are those of the measurements, their choice depends on public facts alone."""

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Numeric, PrivetClassifier, PrivetRegressor, Schema
from privet.errors import BudgetError, NonPrivateWarning, ParameterError
from privet.learners.choose.rules import CLASSIFIERS, QUARTERS, quarter
from privet.tuning import PrivateSearch
from tests.laws.registry import NUMBERS, SCHEMA, people

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark's own rule, without its data."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        spec = importlib.util.spec_from_file_location("choose_benchmark", ROOT / "benchmarks" / "choose.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_the_rules_are_those_that_the_measurements_say(benchmark):
    table = pd.read_csv(ROOT / "docs" / "results" / "choose.csv")
    stated = {goal: [str(choice) for choice in choices] for goal, choices in CLASSIFIERS.items()}
    assert benchmark.rules(table) == stated
    assert (ROOT / "docs" / "results" / "choose.md").read_text(encoding="utf-8") == benchmark.page(table)


def test_other_measurements_would_lead_to_other_rules(benchmark):
    table = pd.read_csv(ROOT / "docs" / "results" / "choose.csv")
    worse = (table.candidate == "Boosting") & (table.signal < QUARTERS[0])
    table.loc[worse, "accuracy"] -= 0.3
    assert benchmark.rules(table)["accuracy"][0] != "Boosting"
    assert benchmark.rules(table)["accuracy"][1:] == ["Boosting"] * 3


def test_the_choice_is_near_the_best_on_sets_that_were_not_used_for_the_rules(benchmark):
    """Among all learners and settings in the top two at each epsilon; never a point below the best in a quarter."""
    table = pd.read_csv(ROOT / "docs" / "results" / "choose.csv")
    chosen = {goal: [str(choice) for choice in choices] for goal, choices in CLASSIFIERS.items()}
    of_epsilon, of_quarter = (benchmark.checks(table, chosen, by) for by in ("epsilon", "quarter"))
    ranked = [check for check in of_epsilon if check["goal"].startswith("accuracy")]
    assert len(ranked) == 16
    assert all(check["place"] <= 2 and check["n"] == 33 for check in ranked)
    assert {check["of"] for check in ranked} == {len(benchmark.DEFAULTS), len(benchmark.GOALS["accuracy"])}
    assert len(of_quarter) == 8 * len(benchmark.CHECKED)
    assert all(check["mean"] > check["most"] - 0.01 and check["n"] > 30 for check in of_quarter)


def test_the_borders_of_quarters_belong_to_the_upper_one():
    assert [quarter(signal) for signal in (0, 299, 300, 999, 1000, 6000, float("inf"))] == [0, 0, 1, 1, 2, 3, 3]


def test_each_goal_gets_its_learner_and_says_why():
    columns, labels = people()
    X = pd.DataFrame(columns)
    names = {"accuracy": "BoostingClassifier", "readable": "PrivaTreeClassifier", "labels only": "PrivaTreeClassifier"}
    for goal, name in names.items():
        clf = PrivetClassifier(epsilon=1.0, schema=SCHEMA, goal=goal, n_rows_hint=5_000).fit(X, labels)
        assert type(clf.learner_).__name__ == name
        assert name in clf.why_
        assert "5,000 records" in clf.why_
        assert clf.why_.count(".") <= 3
        assert np.array_equal(clf.learner_.predict_proba(X), clf.predict_proba(X))
        assert clf.learner_.privacy_ is clf.privacy_
        chosen = type(clf.learner_)(**clf.learner_.get_params())
        assert chosen.plan().to_dict() == clf.plan().to_dict(), "nothing is spent that the learner would not spend"
    assert clf.learner_.leaves == "labels"


def test_without_a_hint_a_number_is_bought_with_a_stated_part():
    columns, labels = people()
    for delta in (0.0, 1e-6):
        clf = PrivetClassifier(epsilon=1.0, delta=delta, schema=SCHEMA)
        first = clf.plan().events[0]
        assert first.name == "number of records"
        with privet.budget(epsilon=1.0, delta=delta) as budget:
            clf.fit(pd.DataFrame(columns), labels)
            assert budget.spent == 1.0
            with pytest.raises(BudgetError):
                clf.fit(pd.DataFrame(columns), labels)
        assert clf.privacy_.events[0] == first
        assert len(clf.privacy_.events) > 1
        assert "bought with a small part of the budget" in clf.why_
    pure = PrivetClassifier(epsilon=1.0, schema=SCHEMA).plan()
    assert pure.events[0].cost.epsilon == Fraction(1, 100)
    assert pure.cost.epsilon == 1


def test_what_was_bought_is_what_the_learner_plans_with():
    """With large noise parts as forced zeros the number is one; with a real draw it is near the truth."""
    rng = np.random.default_rng(0)
    X, y = rng.random((6_000, 1)), rng.integers(0, 2, 6_000)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    bought = PrivetClassifier(epsilon=2.0, schema=schema, goal="readable", random_state=0).fit(X, y)
    hinted = PrivetClassifier(epsilon=2.0, schema=schema, goal="readable", n_rows_hint=6_000, random_state=0).fit(X, y)
    assert len(bought.privacy_.events) == len(hinted.privacy_.events) + 1


def test_what_was_chosen_for_a_bought_number_is_said_after_the_fit(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((6_000, 1)), rng.integers(0, 2, 6_000)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    for epsilon in (0.04, 4.0):
        clf = PrivetClassifier(epsilon=epsilon, schema=schema, goal="readable").fit(X, y)
        bought = clf.learner_.n_rows_hint
        choice = CLASSIFIERS["readable"][quarter(bought * epsilon)]
        assert all(f"{name}={value!r}" in clf.why_ for name, value in choice.settings.items())
        assert clf.learner_.get_params().items() >= choice.settings.items()
        assert f"for about {bought:,} records at epsilon {epsilon:g}, a noisy number that was bought" in clf.why_
        clf.save(tmp_path / "model.json")
        again = privet.load(tmp_path / "model.json")
        assert again.why_ == clf.why_
        assert again.learner_.get_params()["max_depth"] == clf.learner_.max_depth


@pytest.mark.parametrize("refit", [0.75, 0.0])
@pytest.mark.parametrize("hint", [None, 6_000])
def test_the_winner_of_a_search_says_what_it_chose_for_its_own_part(refit, hint, tmp_path):
    """Its rules look at a part of the budget, and of the records where it is not trained again."""
    rng = np.random.default_rng(0)
    X, y = rng.random((6_000, 1)), rng.integers(0, 2, 6_000)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    search = PrivateSearch(PrivetClassifier(goal="readable"), None, 1.2, schema=schema, refit=refit, n_rows_hint=hint)
    winner = search.fit(X, y).best_estimator_
    part, records = (refit, 1.0) if refit else (1.0, 0.75)
    n_rows = winner.learner_.n_rows_hint
    assert abs(n_rows - 6_000 * records) < 600
    choice = CLASSIFIERS["readable"][quarter(n_rows * 1.2 * part)]
    assert all(f"{name}={value!r}" in winner.why_ for name, value in choice.settings.items())
    assert f"{n_rows:,} records at epsilon {1.2 * part:.4g}" in winner.why_
    fits = [event.name for event in winner.privacy_.events if event.name.startswith("splits of level")]
    assert len(set(fits)) <= winner.learner_.max_depth
    search.save(tmp_path / "model.json")
    assert privet.load(tmp_path / "model.json").why_ == winner.why_
    assert winner.plan().epsilon == 1.2, "a fit of its own has the whole budget again"


@pytest.mark.parametrize("neighbours", ["replace", "label"])
def test_where_the_number_is_public_none_is_bought(neighbours):
    schema = Schema(SCHEMA.features, SCHEMA.target, neighbours=neighbours)
    columns, labels = people()
    clf = PrivetClassifier(epsilon=1.0, schema=schema).fit(pd.DataFrame(columns), labels)
    assert "number of records" not in [event.name for event in clf.privacy_.events]
    assert f"public under {neighbours!r}" in clf.why_


def test_a_plan_may_ask_for_another_hint_or_schema():
    clf = PrivetClassifier(epsilon=1.0, schema=SCHEMA)
    assert (
        clf.plan(n_rows_hint=9_000).to_dict()
        == PrivetClassifier(epsilon=1.0, schema=SCHEMA, n_rows_hint=9_000).plan().to_dict()
    )
    replaced = Schema(SCHEMA.features, SCHEMA.target, neighbours="replace")
    assert "number of records" not in [event.name for event in clf.plan(schema=replaced).events]


def test_a_regressor_chooses_too():
    columns, _ = people()
    X, y = pd.DataFrame(columns), columns["age"]
    for goal, learner in (("accuracy", "BoostingRegressor"), ("readable", "PrivaTreeRegressor")):
        model = PrivetRegressor(epsilon=2.0, schema=NUMBERS, goal=goal, n_rows_hint=200).fit(X, y)
        assert type(model.learner_).__name__ == learner
        assert model.why_.startswith(learner)
    with pytest.raises(ParameterError, match="goal must be one of 'accuracy', 'readable'"):
        PrivetRegressor(schema=NUMBERS, goal="labels only").plan()


def test_wrong_goals_and_hints_are_refused_before_data_is_read():
    with pytest.raises(ParameterError, match="goal must be one of"):
        PrivetClassifier(schema=SCHEMA, goal="fast").plan()
    for hint in (0, -5, 2.5, "many"):
        with pytest.raises(ParameterError, match="n_rows_hint must be"):
            PrivetClassifier(schema=SCHEMA, n_rows_hint=hint).plan()


@pytest.mark.parametrize("objective", ["balanced_accuracy", "f1"])
def test_an_objective_that_labels_cannot_serve_is_refused_before_anything_is_charged(objective):
    columns, labels = people()
    clf = PrivetClassifier(epsilon=1.0, schema=SCHEMA, goal="labels only", objective=objective)
    with privet.budget(epsilon=1.0) as budget:
        with pytest.raises(ParameterError, match="goal='labels only' releases none"):
            clf.fit(pd.DataFrame(columns), labels)
        assert budget.spent == 0
    classes = clf.set_params(objective=dict.fromkeys(SCHEMA.target.categories, 1)).plan()
    assert classes.epsilon == 1.0


def test_a_loaded_model_knows_its_choice(tmp_path):
    columns, labels = people()
    clf = PrivetClassifier(epsilon=1.0, schema=SCHEMA).fit(pd.DataFrame(columns), labels)
    clf.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert again.why_ == clf.why_
    assert type(again.learner_) is type(clf.learner_)


def test_without_privacy_nothing_is_bought():
    columns, labels = people()
    with pytest.warns(NonPrivateWarning):
        clf = PrivetClassifier(epsilon=None, schema=SCHEMA).fit(pd.DataFrame(columns), labels)
    assert "without privacy" in clf.why_
    assert privet.evaluate(clf, pd.DataFrame(columns), labels, epsilon=1.0).privacy.epsilon == 1.0
