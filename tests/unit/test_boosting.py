"""Laws of boosting: what it learns, how it explains itself, how its budget adapts, and its rules for small data."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import BoostingClassifier, BoostingRegressor, Categorical, Numeric, Schema
from privet.errors import BudgetError, ParameterError, PrivacyLeakWarning, SchemaError
from privet.learners.boosting.annealing import Annealing, Rounds
from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradients import ONE, Huber, Logistic, Softmax
from privet.learners.boosting.leaf_values import leaf_values
from privet.learners.boosting.learner import FINE_BINS
from privet.learners.boosting.outline import outline, rounds_and_depth
from privet.mechanisms.release import drawn, outcomes_from
from privet.mechanisms.replay import Forced, Recording
from privet.privacy.events import Cost, Event, Filter, Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Share, Terms
from privet.privacy.text import ledger_from_dict

FEATURES = {
    "x": Numeric(0, 1),
    "z": Numeric(-5, 5, missing=True),
    "c": Categorical(["a", "b", "d"], other=True),
}
TWO = Schema(FEATURES, classes=["no", "yes"])
THREE = Schema(FEATURES, classes=["no", "perhaps", "yes"])
NUMBER = Schema(FEATURES, target=Numeric(0, 10))


def table(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.random(n), rng.normal(0, 2, n)
    z[rng.random(n) < 0.1] = np.nan
    c = rng.choice(["a", "b", "d", "q"], n)
    strength = 4 * (x - 0.5) + (c == "b") - (c == "a") + np.where(np.isnan(z), 1.0, 0.3 * z) * (c == "d")
    return pd.DataFrame({"x": x, "z": z, "c": c}), strength, rng


def labelled(schema=TWO, n=6000, seed=0):
    X, strength, rng = table(n, seed)
    if schema is NUMBER:
        return X, np.clip(5 + 1.5 * strength + rng.normal(0, 0.5, n), 0, 10)
    classes = np.array(schema.target.categories)
    cuts = np.quantile(strength, np.arange(1, len(classes)) / len(classes))
    return X, classes[np.searchsorted(cuts, strength + rng.normal(0, 0.3, n))]


@pytest.mark.parametrize(("schema", "delta", "least"), [(TWO, 1e-6, 0.85), (TWO, 0, 0.82), (THREE, 1e-6, 0.7)])
def test_it_learns_what_there_is_to_learn(schema, delta, least):
    X, y = labelled(schema)
    model = BoostingClassifier(2.0, delta, schema, n_rows_hint=6000, random_state=0).fit(X, y)
    fresh, truth = labelled(schema, seed=1)
    assert model.score(fresh, truth) > least
    assert model.privacy_.epsilon == 2.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_regressor_predicts_in_units_within_the_range_and_beats_the_mean(delta):
    X, y = labelled(NUMBER)
    model = BoostingRegressor(2.0, delta, NUMBER, n_rows_hint=6000, random_state=0).fit(X, y)
    fresh, truth = labelled(NUMBER, seed=1)
    predicted = model.predict(fresh)
    assert ((predicted >= 0) & (predicted <= 10)).all()
    assert np.sqrt(((predicted - truth) ** 2).mean()) < 0.6 * truth.std()
    assert (model.privacy_.epsilon, model.privacy_.delta) == (2.0, delta)
    assert model.plan().epsilon == 2.0


def test_the_regressors_file_gives_the_same_model_back(tmp_path):
    X, y = labelled(NUMBER)
    model = BoostingRegressor(1.0, 1e-6, NUMBER, random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert again.privacy_.to_dict() == model.privacy_.to_dict()


def test_replay_law_of_the_regressor_forced_outcomes_give_the_same_bytes(tmp_path):
    X, y = labelled(NUMBER, n=300)
    recording = Recording(drawn())
    with outcomes_from(recording):
        BoostingRegressor(1.0, 1e-6, NUMBER, random_state=0).fit(X, y)
    files = []
    for rows in (slice(None), slice(1, None), slice(0, 0)):
        forced = Forced(recording.transcript)
        with outcomes_from(forced):
            twin = BoostingRegressor(1.0, 1e-6, NUMBER, random_state=0).fit(X[rows], y[rows])
        forced.finish()
        twin.save(tmp_path / "model.json")
        files.append((tmp_path / "model.json").read_bytes())
    assert files[0] == files[1] == files[2]


def test_a_regressor_wants_a_range_and_a_classifier_classes():
    X, y = labelled(NUMBER, n=50)
    with pytest.raises(SchemaError, match="classifier"):
        BoostingRegressor(schema=TWO).fit(X, y)
    with pytest.raises(SchemaError, match="regressor"):
        BoostingClassifier(schema=NUMBER).fit(X, y)
    with pytest.warns(PrivacyLeakWarning):
        guessed = BoostingRegressor(1.0, 1e-6).fit(X, y)
    assert guessed.privacy_.epsilon == np.inf


def test_numbers_that_are_none_and_beyond_the_range_are_no_error():
    X, y = labelled(NUMBER, n=300)
    y[:4] = [np.nan, np.inf, -np.inf, 1e300]
    model = BoostingRegressor(1.0, 1e-6, NUMBER, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert BoostingRegressor(1.0, 1e-6, NUMBER).fit(X[:0], y[:0]).privacy_.proven


@pytest.mark.parametrize("schema", [TWO, THREE, NUMBER])
def test_contributions_add_up_to_the_scores_exactly(schema):
    X, y = labelled(schema)
    kind = BoostingRegressor if schema is NUMBER else BoostingClassifier
    model = kind(1.0, 1e-6, schema, n_rows_hint=6000, random_state=0).fit(X, y).model_
    codes = model.encoding.encode(X)
    common, tables, trees = model.contributions(codes)
    np.testing.assert_array_equal(common + tables.sum(axis=1) + trees.sum(axis=1), model.scores(codes))


def test_shapes_and_importances_show_what_matters():
    X, y = labelled()
    model = BoostingClassifier(4.0, 1e-6, TWO, n_rows_hint=6000, random_state=0).fit(X, y).model_
    names, steps = model.shape_of("x")
    assert names[-1].startswith("above ")
    assert len(names) == len(steps) > 2
    assert steps[-1] > steps[0] + 0.5
    assert model.shape_of("c")[0] == ["a", "b", "d", "another"]
    assert model.shape_of("z")[0][-1] == "missing"
    importances = model.importances()
    assert importances.sum() == pytest.approx(1.0)
    assert importances.argmax() == 0


@pytest.mark.parametrize("schema", [TWO, THREE, NUMBER])
def test_noise_intervals_hold_the_prediction_and_shrink_with_epsilon(schema):
    X, y = labelled(schema)
    kind = BoostingRegressor if schema is NUMBER else BoostingClassifier
    widths = []
    for epsilon in (0.5, 8.0):
        model = kind(epsilon, 1e-6, schema, n_rows_hint=6000, random_state=0).fit(X, y)
        low, high = model.noise_interval(X)
        said = model.predict(X) if schema is NUMBER else model.predict_proba(X)
        assert ((low <= said + 1e-12) & (said <= high + 1e-12)).all()
        widths.append((high - low).mean())
    assert widths[1] < 0.8 * widths[0]
    with pytest.raises(ParameterError, match="coverage"):
        model.noise_interval(X, 1.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("schema", [TWO, THREE])
@pytest.mark.parametrize("times", [1e4, 1e9])
def test_noise_beyond_all_measure_gives_intervals_of_everything_and_no_warning(schema, times, monkeypatch):
    X, y = labelled(schema)
    model = BoostingClassifier(1.0, 1e-6, schema, n_rows_hint=6000, random_state=0).fit(X, y)
    of_model, scores, reach = model._shaken(model._codes(X), 0.9)
    monkeypatch.setattr(BoostingClassifier, "_shaken", lambda *_: (of_model, scores, times * reach))
    low, high = model.noise_interval(X)
    assert low.max() < 1e-6
    assert high.min() > 1 - 1e-6


def test_an_interval_is_wide_where_noise_is_larger_than_scores_lie_apart(monkeypatch):
    X, y = labelled(THREE)
    model = BoostingClassifier(1.0, 1e-6, THREE, n_rows_hint=6000, random_state=0).fit(X, y)
    scores = np.array([[0.0, -40.0, -41.0]])
    monkeypatch.setattr(BoostingClassifier, "_shaken", lambda *_: (model.model_, scores, np.full((1, 3), 60.0)))
    low, high = model.noise_interval(X[:1])
    assert (low < 1e-8).all()
    assert (high > 0.99).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("epsilon", [1e-7, 1e-5])
def test_next_to_no_budget_for_labels_overflows_nothing(n_classes, epsilon):
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), rng.integers(0, n_classes, 60)
    schema = Schema({name: Numeric(0, 1) for name in "abc"}, classes=list(range(n_classes)), neighbours="label")
    model = BoostingClassifier(epsilon, 0.0, schema, random_state=0).fit(X, y)
    low, high = model.noise_interval(X)
    said = model.predict_proba(X)
    assert ((low <= said + 1e-9) & (said <= high + 1e-9)).all()


def test_noise_intervals_are_about_as_wide_as_predictions_vary_from_fit_to_fit():
    X, y = labelled()
    few = X[:50]
    fits = [
        BoostingClassifier(1.0, 1e-6, TWO, n_rows_hint=6000, n_trees=8, random_state=0).fit(X, y) for _ in range(12)
    ]
    logits = np.stack([np.log(fit.predict_proba(few)[:, 1] / fit.predict_proba(few)[:, 0]) for fit in fits])
    stated = np.mean([fit.model_.noise_deviations(fit._codes(few)).mean() for fit in fits])
    assert 0.3 < stated / logits.std(axis=0).mean() < 3


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (0.5, 0.0)])
def test_small_data_of_many_classes_gets_the_base_alone(epsilon, delta):
    X, y = labelled(THREE, n=200)
    n_rows = round(200 / epsilon)
    model = BoostingClassifier(epsilon, delta, THREE, n_rows_hint=n_rows, random_state=0).fit(X, y)
    assert model.model_.trees is None
    assert model.model_.noise_deviations(model._codes(X)).min() > 0
    assert model.plan().epsilon == model.privacy_.epsilon == epsilon
    assert BoostingClassifier(5.0, delta, THREE, n_rows_hint=2000, random_state=0).fit(X, y).model_.trees is not None


def test_histograms_of_more_features_are_released_with_gaussian_noise():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((400, 30)), columns=list(WIDE.features))
    y = np.array(["no", "perhaps", "yes"])[np.minimum((X["x0"] * 3).astype(int), 2)]
    model = BoostingClassifier(1.0, 1e-6, WIDE, n_rows_hint=400, random_state=0).fit(X, y)
    assert model.model_.trees is None
    assert model.privacy_.delta > 0
    assert {event.mechanism for event in model.privacy_.events} == {Mechanism.GAUSSIAN}


def described(epsilon, delta, schema, n_rows):
    plan = BoostingClassifier(epsilon, delta, schema, n_rows_hint=n_rows).plan().plan
    return str(plan.facts["base"]), 0 if plan.rounds is None else plan.rounds.depth


WIDE = Schema({f"x{i}": Numeric(0, 1) for i in range(30)}, classes=["no", "perhaps", "yes"])
WIDE_TWO = Schema(WIDE.features, classes=["no", "yes"])
MIDDLING_TWO = Schema(dict(list(WIDE.features.items())[:12]), classes=["no", "yes"])
EIGHT_CODES = Schema({f"c{i}": Categorical([0, 1]) for i in range(8)}, classes=["no", "yes"])
MANY_CODES = Schema({"code": Categorical([str(code) for code in range(500)])}, classes=["no", "yes"])


@pytest.mark.parametrize(
    ("epsilon", "delta", "schema", "n_rows", "base", "depth"),
    [
        (0.1, 0.0, TWO, 900, "class means of features of at most 30 columns", 0),
        (0.1, 0.0, TWO, 1_000, "one step of a logistic regression on a line of", 2),
        (0.1, 0.0, TWO, 2_000, "class means of features of at most 26 columns", 2),
        (0.1, 0.0, TWO, 20_000, "None", 2),
        (1.0, 0.0, MIDDLING_TWO, 2_000, "None", 2),
        (1.0, 0.0, TWO, 20_000, "None", 6),
        (1.0, 0.0, TWO, 50_000, "a regression on a line of", 6),
        (1.0, 0.0, TWO, 200_000, "a regression on a line of", 8),
        (1.0, 0.0, WIDE_TWO, 19, "class means of features of at most 6 columns", 0),
        (1.0, 0.0, WIDE_TWO, 20, "None", 1),
        (1.0, 0.0, WIDE_TWO, 100, "the classes' frequencies", 1),
        (1.0, 0.0, WIDE_TWO, 400, "None", 1),
        (1.0, 0.0, WIDE_TWO, 1_999, "None", 1),
        (1.0, 0.0, WIDE_TWO, 2_000, "None", 2),
        (1.0, 0.0, WIDE_TWO, 20_000, "None", 2),
        (1.0, 0.0, MANY_CODES, 40, "None", 1),
        (1.0, 0.0, MANY_CODES, 300, "None", 2),
        (1.0, 0.0, MANY_CODES, 1_000, "one step of a logistic regression", 2),
        (1.0, 0.0, MANY_CODES, 2_000, "None", 2),
        (1.0, 0.0, EIGHT_CODES, 900, "class means", 2),
        (1.0, 0.0, EIGHT_CODES, 1_500, "None", 4),
        (0.1, 0.0, WIDE, 400, "class histograms of 3 features", 0),
        (0.1, 0.0, WIDE, 1_000, "class histograms of 4 features", 0),
        (1.0, 0.0, WIDE, 600, "class histograms of 24 features", 0),
        (1.0, 0.0, THREE, 1_400, "class histograms of all features", 0),
        (1.0, 0.0, THREE, 1_500, "class histograms of all features", 2),
        (1.0, 0.0, THREE, 10_000, "class histograms of all features", 3),
        (0.1, 1e-6, MIDDLING_TWO, 300, "class means of features of at most 10 columns", 0),
        (1.0, 1e-6, MIDDLING_TWO, 90, "class means of features of at most 30 columns", 0),
        (1.0, 1e-6, MIDDLING_TWO, 180, "one step of a logistic regression", 2),
        (1.0, 1e-6, MIDDLING_TWO, 190, "a regression on a line and a bend", 1),
        (1.0, 1e-6, MIDDLING_TWO, 350, "for log-odds, by 60 steps of gradient descent", 0),
        (1.0, 1e-6, MIDDLING_TWO, 1_000, "turned columns, by 36 steps of gradient descent", 0),
        (1.0, 1e-6, MIDDLING_TWO, 3_500, "turned columns, by 36 steps of gradient descent", 0),
        (1.0, 1e-6, MIDDLING_TWO, 3_600, "turned columns, by 36 steps of gradient descent", 2),
        (1.0, 1e-6, MIDDLING_TWO, 11_000, "turned columns, by 36 steps of gradient descent", 4),
        (1.0, 1e-6, MIDDLING_TWO, 40_000, "turned columns, by 36 steps of gradient descent", 5),
        (1.0, 1e-6, MANY_CODES, 400, "for log-odds, by 60 steps of gradient descent", 0),
        (1.0, 1e-6, MANY_CODES, 2_000, "None", 2),
        (0.1, 1e-6, WIDE_TWO, 1_500, "the classes' frequencies", 1),
        (0.1, 1e-6, WIDE_TWO, 1_600, "None", 1),
        (0.1, 1e-6, WIDE_TWO, 3_000, "on a line of each numeric feature", 0),
        (0.1, 1e-6, WIDE_TWO, 9_000, "on a line of each numeric feature", 1),
        (0.1, 1e-6, WIDE_TWO, 14_000, "on a line and a bend of each numeric feature", 1),
        (1.0, 1e-6, WIDE_TWO, 1_000, "by 60 steps of gradient descent", 1),
        (1.0, 1e-6, WIDE_TWO, 3_000, "turned columns, by 36 steps of gradient descent", 1),
        (1.0, 1e-6, WIDE_TWO, 4_000, "turned columns, by 36 steps of gradient descent", 2),
        (1.0, 1e-6, WIDE_TWO, 40_000, "turned columns, by 36 steps of gradient descent", 5),
        (0.1, 1e-6, WIDE, 1_100, "class histograms of 4 features", 0),
        (1.0, 1e-6, WIDE, 1_000, "by 60 steps of gradient descent", 0),
        (1.0, 1e-6, WIDE, 10_000, "turned columns, by 36 steps of gradient descent", 4),
        (0.5, 1e-6, THREE, 2_000, "turned columns, by 36 steps of gradient descent", 0),
        (1.0, 1e-6, THREE, 2_000, "turned columns, by 36 steps of gradient descent", 2),
        (1.0, 1e-6, THREE, 40_000, "turned columns, by 36 steps of gradient descent", 5),
    ],
)
def test_public_facts_alone_decide_what_is_measured(epsilon, delta, schema, n_rows, base, depth):
    found = described(epsilon, delta, schema, n_rows)
    assert base in found[0]
    assert found[1] == depth


def test_what_asks_few_questions_stays_with_the_pure_guarantee_and_what_asks_many_does_not():
    for schema, n_rows in ((THREE, 400), (MIDDLING_TWO, 600), (WIDE_TWO, 1_000)):
        few = BoostingClassifier(0.1, 1e-6, schema, n_rows_hint=n_rows).plan()
        assert (few.epsilon, few.delta) == (0.1, 0)
    for schema, n_rows in ((WIDE, 500), (WIDE_TWO, 2_000), (MIDDLING_TWO, 300)):
        many = BoostingClassifier(1.0, 1e-6, schema, n_rows_hint=n_rows).plan()
        assert (many.epsilon, many.delta) == (1.0, pytest.approx(1e-6))


def test_features_that_are_not_measured_add_nothing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((1000, 30)), columns=list(WIDE.features))
    y = np.array(["no", "perhaps", "yes"])[np.minimum((X["x0"] * 3).astype(int), 2)]
    model = BoostingClassifier(0.1, schema=WIDE, n_rows_hint=1000, random_state=0).fit(X, y).model_
    tables = [model.tables[begin:end] for begin, end in zip(model.offsets[:-1], model.offsets[1:], strict=True)]
    assert sum(table.any() for table in tables) == 4


def test_public_cells_see_long_tails_and_coarse_grids():
    schema = Schema({"x": Numeric(0, 1), "few": Numeric(0, 1, bins=5), "two": Numeric(0, 1, bins=2)}, classes=[0, 1])
    cuts = CellGrid.public_cuts(schema.encoding(1024))
    ends = {cut + 1 for cut in cuts[0]}
    assert {4, 128, 512, 896, 1019} <= ends, "equal widths"
    finest = CellGrid.public_cuts(schema.encoding(FINE_BINS))
    assert len(finest[0]) < 256, "a cell fits into a byte"
    assert {1, 2, 4, 8, 16, 1008, 1016, 1020, 1022, 1023} <= ends, "tails"
    assert cuts[1] == [0, 1, 2, 3]
    assert cuts[2] == [0]


def test_features_that_cannot_be_split_leave_a_common_start():
    schema = Schema({"only": Categorical(["one"])}, classes=[0, 1])
    X, y = np.array([["one"]] * 400), np.array([1] * 300 + [0] * 100)
    for delta in (0.0, 1e-6):
        model = BoostingClassifier(4.0, delta, schema).fit(X, y)
        assert model.privacy_.epsilon == model.plan().epsilon == 4.0
        assert (model.predict(X) == 1).all()


def test_a_plan_shows_the_cap_and_a_ledger_the_rounds_under_it():
    X, y = labelled(n=2000)
    model = BoostingClassifier(1.0, 1e-6, TWO, n_trees=5, n_rows_hint="unknown", random_state=0)
    assert "all annealed rounds together" in model.plan().table(full=True)
    ledger = model.fit(X, y).privacy_
    (rounds,) = [part for part in ledger.composition.parts if isinstance(part, Filter)]
    assert rounds.cost == rounds.cap
    assert sum(event.cost.rho for event in rounds.events()) == rounds.cap.rho
    assert "round 1: splits of levels 1 and 2" in ledger.table(full=True)
    assert ledger_from_dict(ledger.to_dict()).to_dict() == ledger.to_dict()


def gaussian(rho, name="event"):
    return Event(name, Mechanism.GAUSSIAN, Fraction(1), Fraction(1), Cost(None, Fraction(rho)))


def test_a_charge_beyond_the_cap_of_a_filter_is_refused_and_not_recorded():
    allowance = Allowance(Fraction(1), Fraction(1, 10**6), Fraction(10))
    ledger = Ledger(Terms(), allowance)
    with ledger.filter("rounds", Cost(None, Fraction(3))):
        ledger.charge(gaussian(2))
        with pytest.raises(BudgetError, match="beyond the total"):
            ledger.charge(gaussian(2, "too much"))
        with ledger.parallel(), pytest.raises(BudgetError):
            ledger.charge(gaussian(2, "too much"))
        ledger.charge(gaussian(1))
    assert ledger.cost.rho == 3
    assert len(ledger.events) == 2
    with pytest.raises(BudgetError), ledger.filter("more than is left", Cost(None, Fraction(8))):
        pass
    assert ledger.cost.rho == 3
    with pytest.raises(BudgetError):
        Filter("a file's", Cost(None, Fraction(1)), (gaussian(2),))


@pytest.mark.parametrize("share", [Share(epsilon=Fraction(1)), Share(rho=Fraction(1, 40))])
@pytest.mark.parametrize("strengths", [[10.0] * 200, [0.0] * 200, [10.0, 0.0] * 100])
def test_annealed_rounds_spend_their_share_and_no_more_whatever_they_hear(share, strengths):
    loss = Logistic("l1" if share.rho is None else "l2")
    rounds = Rounds(share, 30, 2, 2.0, Fraction(13, 20))
    annealing = Annealing(rounds, loss, Terms(), 10_000)
    total, n_rounds = Cost.nothing(), 0
    for heard, events in zip(strengths, annealing, strict=False):
        for event in (*events.splits, events.leaves):
            total = total + event.cost
        annealing.note(heard)
        n_rounds += 1
    spent, cap = (total.epsilon, rounds.cap.epsilon) if share.rho is None else (total.rho, rounds.cap.rho)
    assert spent == cap
    assert n_rounds <= 30


def test_fewer_records_get_fewer_rounds():
    rounds = Rounds(Share(rho=Fraction(1, 1000)), 60, 3, 2.0, Fraction(1, 2))
    numbers = [rounds.at_first(Logistic("l2"), Terms(), n) for n in (1, 2_000, 5_000, 10**6)]
    assert numbers == [1, 32, 60, 60]
    assert rounds.at_first(Logistic("l2"), Terms("replace"), 2_000) == 8


@pytest.mark.parametrize("schema", [TWO, THREE])
@pytest.mark.parametrize(("delta", "many_get", "most"), [(0.0, (60, 4), (60, 4)), (1e-6, (79, 6), (200, 8))])
def test_more_records_get_deeper_trees_and_share_splits_where_there_are_many(schema, delta, many_get, most):
    encoding, share = schema.encoding(FINE_BINS), Allowance.of(1.0, delta).whole
    outlines = [outline(encoding, share, n_rows, 1) for n_rows in (1_000, 5_000, 20_000, 100_000, 200_000)]
    assert [each.depth for each in outlines] == sorted(each.depth for each in outlines)
    many = [(each.n_trees, each.depth) for each in outlines if each.shared_splits]
    assert [each.shared_splits for each in outlines] == sorted(each.shared_splits for each in outlines)
    assert 2 <= len(many) < len(outlines)
    assert many == sorted(many)
    assert many[-1] == many_get
    largest = outline(encoding, share, 10**8, 1)
    assert (largest.n_trees, largest.depth) == most
    assert largest.shared_splits


def test_trees_are_only_as_deep_as_the_sums_of_all_nodes_fit_into_memory():
    features = {f"x{i}": Numeric(0, 1) for i in range(50)}
    depths = []
    for n_classes in (2, 10, 100):
        encoding = Schema(features, classes=list(range(n_classes))).encoding(FINE_BINS)
        depths.append(rounds_and_depth(encoding, 1e15)[1])
    assert depths == [8, 7, 3]


EXACT = Event("leaves", Mechanism.NOTHING, Fraction(0), Fraction(0), Cost.unbounded())


def noisy_leaves(deviation):
    variance = Fraction(round((deviation * ONE) ** 2))
    return Event("leaves", Mechanism.GAUSSIAN, variance, Fraction(1), Cost(None, Fraction(1)))


def test_leaf_values_are_newton_steps_without_noise_and_nothing_where_all_is_noise():
    loss = Logistic("l2")
    sums = np.array([[2 * ONE, 4 * ONE], [-3 * ONE, 6 * ONE]])
    np.testing.assert_allclose(leaf_values(sums, EXACT, loss, 1.0).values, [[-0.5], [0.5]], rtol=1e-4)
    found = leaf_values(sums, noisy_leaves(5), loss, 1.0)
    assert (found.values == 0).all()
    assert found.strength < 1
    number = leaf_values(np.array([[ONE, 5 * ONE]]), EXACT, Huber("l2", 100, width=ONE // 4), 1.0)
    np.testing.assert_allclose(number.values, [[-1 / 80]], rtol=1e-4)


@pytest.mark.parametrize("n_scores", [1, 3])
def test_exact_leaf_values_are_newton_steps_at_every_depth(n_scores):
    rng, loss = np.random.default_rng(0), Logistic("l2") if n_scores == 1 else Softmax(3, "l2")
    gradient, curvature = rng.integers(-9, 9, (16, n_scores)), rng.integers(20, 90, (16, n_scores))
    found = leaf_values(np.hstack([gradient, curvature]) * ONE, EXACT, loss, 1.0)
    np.testing.assert_allclose(found.values, -gradient / (curvature / loss.curvature), rtol=1e-6, atol=1e-9)
    assert (found.noise == 0).all()


def test_a_margin_of_zero_keeps_the_side_that_most_gradients_are_on():
    sums = np.array([[2 * ONE, 4 * ONE], [2 * ONE, 6 * ONE]])
    assert (leaf_values(sums, noisy_leaves(30), Logistic("l2"), 1.0).values == 0).all()
    assert (leaf_values(sums, noisy_leaves(30), Logistic("l2"), 1.0, margin=0.0).values < 0).all()


def test_levels_of_a_tree_that_are_noise_leave_their_leaves_at_what_is_known_above():
    # the first split tells a lot, those below it nothing
    sums = np.array([[60 * ONE, 90 * ONE], [61 * ONE, 90 * ONE], [-60 * ONE, 90 * ONE], [-61 * ONE, 90 * ONE]])
    values = leaf_values(sums, noisy_leaves(5), Logistic("l2"), 1.0).values
    assert values[0] == values[1] < 0 < values[2] == values[3]


def test_the_stated_noise_of_leaf_values_is_what_new_noise_gives_with_the_same_weights():
    rng, loss = np.random.default_rng(0), Logistic("l2")
    signal = np.array([400, 300, -100, -500])
    curvature = np.array([300, 500, 200, 400])
    draws = [
        leaf_values(
            np.column_stack([signal + rng.normal(0, 10, 4), curvature]).astype(np.int64) * ONE, event, loss, 0.5
        )
        for event in [noisy_leaves(10)]
        for _ in range(2000)
    ]
    values, noise = (np.stack([getattr(draw, name) for draw in draws]) for name in ("values", "noise"))
    np.testing.assert_allclose(values.std(axis=0), noise.mean(axis=0), rtol=0.1)


def test_units_with_many_rows_are_charged_for_all_of_them():
    schema = Schema(FEATURES, classes=["no", "yes"], unit=privet.Unit("who", 4))
    X, y = labelled(n=2000)
    X["who"] = np.arange(2000) // 3
    settings = {"n_trees": 4, "n_rows_hint": "unknown"}
    model = BoostingClassifier(2.0, 1e-6, schema, random_state=0, **settings).fit(X, y)
    assert model.privacy_.epsilon == 2.0
    plain = BoostingClassifier(2.0, 1e-6, TWO, **settings).plan()
    name = "base: products of columns"
    pairs = [next(event for event in ledger.events if event.name == name) for ledger in (model.privacy_, plain)]
    assert pairs[0].parameter >= 16 * pairs[1].parameter * Fraction(99, 100)


@pytest.mark.parametrize("hint", [0, -5, 2.5, True, 10**16])
def test_a_hint_that_is_no_number_of_records_is_refused(hint):
    with pytest.raises(ParameterError, match="n_rows_hint"):
        BoostingClassifier(1.0, 1e-6, TWO, n_rows_hint=hint).plan()
