"""The laws that every learner of the library obeys, whatever it learns and however."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import privet
from privet.errors import NonPrivateWarning, PrivacyLeakWarning
from privet.estimators.registry import WITHOUT_PRIVACY, estimator_class, estimator_names
from privet.mechanisms.release import drawn, outcomes_from
from privet.mechanisms.replay import Forced, Recording
from privet.testing import seeded_noise
from tests.laws.registry import REGISTERED, every_classifier, every_learner

pytestmark = pytest.mark.law


def frame(columns):
    return pd.DataFrame(columns)


def same_without(columns, labels, row):
    return {k: np.delete(v, row) for k, v in columns.items()}, np.delete(labels, row)


def test_every_learner_is_registered():
    assert {learner.estimator for learner in REGISTERED} == set(estimator_names())


@every_learner
def test_plan_and_ledger_state_the_same_guarantee(learner):
    columns, labels = learner.people()
    estimator = learner.make()
    planned = estimator.plan()
    estimator.fit(frame(columns), labels)
    assert estimator.privacy_.proven
    assert (planned.epsilon, planned.delta) == (estimator.privacy_.epsilon, estimator.privacy_.delta) != (np.inf, 1)
    assert planned.epsilon == 1.0


@every_learner
def test_replay_law_forced_outcomes_give_the_same_bytes_on_a_neighbouring_data_set(learner, tmp_path):
    columns, labels = learner.people()
    recording = Recording(drawn())
    with outcomes_from(recording):
        original = learner.make().fit(frame(columns), labels)
    neighbours = [
        (columns, labels),
        same_without(columns, labels, 7),
        ({k: np.append(v, v[:1]) for k, v in columns.items()}, np.append(labels, max(labels))),
        ({k: v[:0] for k, v in columns.items()}, labels[:0]),
    ]
    seen = []
    for i, (X, y) in enumerate(neighbours):
        forced = Forced(recording.transcript)
        with outcomes_from(forced):
            twin = learner.make().fit(frame(X), y)
        forced.finish()
        path = tmp_path / f"{i}.json"
        twin.save(path)
        seen.append((path.read_bytes(), pickle.dumps(twin), repr(twin), repr(vars(twin))))
    assert all(twin == seen[0] for twin in seen), "something of the data is in the model, its repr, file or pickle"
    grid = frame(learner.people(300, seed=9)[0])
    np.testing.assert_array_equal(learner.answers(original, grid), learner.answers(twin, grid))


@every_learner
def test_a_saved_model_predicts_the_same_and_claims_the_same(learner, tmp_path):
    columns, labels = learner.people()
    estimator = learner.make().fit(frame(columns), labels)
    estimator.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    grid = frame(learner.people(300, seed=9)[0])
    np.testing.assert_array_equal(learner.answers(estimator, grid), learner.answers(again, grid))
    np.testing.assert_array_equal(estimator.predict(grid), again.predict(grid))
    assert again.privacy_.to_dict() == estimator.privacy_.to_dict()
    assert again.schema_ == learner.schema
    again.save(tmp_path / "again.json")
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "again.json").read_bytes()


@every_learner
def test_seeded_noise_repeats_and_claims_nothing(learner):
    columns, labels = learner.people()
    fits = []
    for _ in range(2):
        with seeded_noise(5):
            fits.append(learner.make().fit(frame(columns), labels))
    np.testing.assert_array_equal(*(learner.answers(fit, frame(columns)) for fit in fits))
    assert fits[0].privacy_.epsilon == np.inf
    assert "seed" in fits[0].privacy_.why[0]


@every_learner
def test_noise_does_not_come_from_random_state(learner):
    columns, labels = learner.people()
    fits = [learner.make(epsilon=0.5).fit(frame(columns), labels) for _ in range(2)]
    assert not np.array_equal(*(learner.answers(fit, frame(columns)) for fit in fits))


@every_learner
def test_results_do_not_depend_on_the_number_of_threads(learner):
    columns, labels = learner.people(3000)
    shares = []
    for n_jobs in (1, 2):
        with seeded_noise(5):
            shares.append(learner.answers(learner.make(n_jobs=n_jobs).fit(frame(columns), labels), frame(columns)))
    np.testing.assert_array_equal(*shares)


@every_learner
def test_the_order_of_columns_makes_no_difference(learner):
    columns, labels = learner.people()
    shares = []
    for order in (["age", "income", "colour"], ["colour", "age", "income"]):
        with seeded_noise(5):
            estimator = learner.make().fit(frame(columns)[order], labels)
        shares.append(learner.answers(estimator, frame(columns)[order[::-1]]))
    np.testing.assert_array_equal(*shares)


@every_learner
def test_values_that_break_the_schema_are_no_error(learner):
    columns, labels = learner.people()
    columns["age"][:4] = [np.inf, -np.inf, np.nan, 1e300]
    labels = labels.astype(object)
    labels[4:7] = ["unheard of", None, np.nan]
    estimator = learner.make().fit(frame(columns), labels)
    assert estimator.predict(frame(columns)).shape == (200,)
    alike = learner.make().fit(frame(columns), np.repeat(learner.people()[1][:1], 200))
    assert alike.model_.encoding.target == learner.schema.encoding().target
    assert list(getattr(alike, "classes_", [])) == list(getattr(learner.schema.target, "categories", []))
    nobody = learner.make().fit(frame(columns).iloc[:0], labels[:0])
    assert nobody.privacy_.proven


@every_learner
def test_without_a_schema_nothing_is_claimed_and_a_warning_says_so(learner):
    columns, labels = learner.people()
    estimator = learner.make(schema=None)
    with pytest.warns(PrivacyLeakWarning, match="schema"):
        estimator.fit(frame(columns), labels)
    assert estimator.privacy_.epsilon == np.inf
    assert "read off the data" in estimator.privacy_.why[0]


@every_learner
def test_the_twin_without_privacy_says_so(learner):
    columns, labels = learner.people(2000)
    with pytest.warns(NonPrivateWarning):
        estimator = learner.make(epsilon=None, delta=0.0).fit(frame(columns), labels)
    assert estimator.privacy_.epsilon == np.inf
    assert estimator.score(frame(columns), labels) > 0.5


@every_classifier
def test_shares_of_the_vote_are_probabilities(learner):
    columns, labels = learner.people()
    shares = learner.make().fit(frame(columns), labels).predict_proba(frame(columns))
    assert shares.shape == (200, 3)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@every_learner
def test_weights_taken_from_data_are_refused(learner):
    columns, labels = learner.people()
    with pytest.raises(ValueError, match="sample_weight"):
        learner.make().fit(frame(columns), labels, sample_weight=np.ones(200))


# A noisy fit is not idempotent, and on the tiny data sets of these checks noise may outweigh the signal.
EXPECTED_AT_FINITE_EPSILON = {
    "check_regressors_train": "asks for an R2 of 0.5 on a few records, which no private fit can promise",
    "check_regressors_int": "compares the predictions of two fits, each with fresh noise",
    "check_regressor_data_not_an_array": "compares the predictions of two fits, each with fresh noise",
    "check_fit_idempotent": "the noise is fresh in every fit",
    "check_classifiers_train": "asks for 83% training accuracy on a few records, which no private fit can promise",
    "check_supervised_y_2d": "compares the predictions of two fits, each with fresh noise",
    "check_classifier_data_not_an_array": "compares the predictions of two fits, each with fresh noise",
}
EVERY_NAME = [*estimator_names(), *sorted(WITHOUT_PRIVACY)]
WITHOUT_NOISE = [estimator_class(name)(epsilon=None, random_state=3) for name in EVERY_NAME]
WITH_NOISE = list({learner.estimator: learner.make(schema=None) for learner in REGISTERED}.values())


@pytest.mark.filterwarnings("ignore::privet.errors.NonPrivateWarning")
@parametrize_with_checks(WITHOUT_NOISE)
def test_scikit_learn_checks_without_privacy(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::privet.errors.PrivacyLeakWarning")
@parametrize_with_checks(WITH_NOISE, expected_failed_checks=lambda estimator: EXPECTED_AT_FINITE_EPSILON)
def test_scikit_learn_checks_with_noise(estimator, check):
    check(estimator)
