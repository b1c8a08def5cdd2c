"""With a delta above zero, trees that ask few questions keep the pure guarantee, which is stronger and asks sharper."""

import numpy as np
import pandas as pd
import pytest

from privet import MultinomialForestClassifier, Numeric, PrivaTreeClassifier, Schema, Unit
from privet.privacy.events import Mechanism, has_mixture
from privet.privacy.terms import Allowance, Terms
from privet.tables import ParquetTable

FEATURES = {f"x{i}": Numeric(0, 1) for i in range(4)}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])
LEARNERS = (PrivaTreeClassifier, MultinomialForestClassifier)


def first_choice(model):
    return next(event for event in model.plan().events if event.name.startswith(("splits", "tree 1: splits")))


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("unit", [None, Unit("who", 3)])
def test_few_questions_stay_pure_and_are_asked_no_less_sharply(make, epsilon, unit):
    schema = Schema(FEATURES, classes=["no", "yes"], unit=unit)
    model = make(epsilon, 1e-6, schema, max_depth=2, n_rows_hint="unknown")
    ledger, choice = model.plan(), first_choice(model)
    assert (ledger.epsilon, ledger.delta) == (epsilon, 0.0)
    assert choice.mechanism is Mechanism.PERMUTE_AND_FLIP
    terms, asked = Terms.of(schema), Allowance.of(epsilon, 1e-6).whole
    learner = model._learner()
    planned = learner.plan(schema.encoding(learner.bins), terms, asked, _unknown())
    (sharpest, *_) = [event for event in planned.whole.events() if "splits" in event.name]
    assert choice.parameter >= sharpest.parameter


def _unknown():
    from privet.estimators.learning import Hints

    return Hints()


@pytest.mark.parametrize("make", LEARNERS)
def test_many_questions_are_asked_in_zero_concentrated_privacy(make):
    ledger = make(1.0, 1e-6, SCHEMA, max_depth=2, n_trees=30, n_rows_hint="unknown").plan()
    assert ledger.delta == 1e-6
    assert first_choice(make(1.0, 1e-6, SCHEMA, max_depth=2, n_trees=30, n_rows_hint="unknown")).mechanism is (
        Mechanism.EXPONENTIAL
    )


@pytest.mark.parametrize("make", LEARNERS)
def test_a_fit_states_what_its_plan_states(make):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 4)), columns=list(FEATURES))
    # Without a hint a count decides, and might have decided for the delta; of a single tree no number does.
    bought = 0.0 if make is PrivaTreeClassifier else 1e-6
    for hint, delta in ((300, 0.0), (None, bought)):
        model = make(1.0, 1e-6, SCHEMA, n_rows_hint=hint).fit(X, np.where(X["x0"] > 0.5, "yes", "no"))
        assert (model.privacy_.epsilon, model.privacy_.delta) == (1.0, delta)
        assert (model.plan().epsilon, model.plan().delta) == (1.0, delta)
        assert all(event.cost.epsilon is not None for event in model.privacy_.events), "it was pure all the same"


def test_private_quantiles_keep_the_delta_since_there_are_many_of_them():
    assert PrivaTreeClassifier(1.0, 1e-6, SCHEMA, max_depth=1, grid="quantiles").plan().delta == 1e-6


def test_records_that_share_their_coins_keep_the_delta_that_was_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((300, 4)), columns=list(FEATURES))
    frame.assign(y=["no", "yes"] * 150, key=1).to_parquet(tmp_path / "a.parquet")
    table = ParquetTable(tmp_path / "a.parquet", target="y", id="key")
    forest = MultinomialForestClassifier(1.0, 1e-6, SCHEMA, max_depth=2).fit(table)
    assert forest.privacy_.delta == 1e-6
    assert has_mixture(forest.privacy_.composition)
