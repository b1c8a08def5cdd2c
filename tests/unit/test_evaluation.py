"""Private evaluation: figures near the truth, intervals that hold, stated charges, and nothing else that leaves."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

import privet
from privet import Categorical, Numeric, Schema, Unit
from privet.errors import BudgetError, NonPrivateWarning, ParameterError, SchemaError
from privet.evaluation import Interval
from privet.evaluation.cells import Merged, ScoreCells, block_starts, even_starts
from privet.evaluation.class_figures import CellEstimate
from privet.evaluation.intervals import (
    Ratio,
    difference_of_independent,
    mean_of_dependent,
    mean_of_independent,
    shared_reach,
)
from privet.mechanisms.release import Drawn, drawn, outcomes_from
from privet.mechanisms.replay import Forced, Recording
from privet.tables import ParquetTable
from privet.testing import seeded_noise
from tests.laws.registry import every_learner

FEATURES = {"a": Numeric(0, 1), "b": Numeric(0, 1), "group": Categorical(["one", "two"])}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])


def records(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "group": rng.choice(["one", "two"], n, p=[0.7, 0.3])})
    odds = 5 * X["a"] - 4 + 2 * (X["b"] > 0.6) + (X["group"] == "two")
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


def numbers(n, seed=0):
    X, _ = records(n, seed)
    noise = np.random.default_rng(seed + 1).normal(10, 8, n)
    return X, np.clip(60 * X["a"] + 20 * (X["group"] == "two") + noise, 0, 100).to_numpy()


def three(n, seed=0):
    X, _ = records(n, seed)
    noise = np.random.default_rng(seed + 1).normal(0, 0.5, n)
    return X, np.array(["low", "middle", "high"])[np.clip((3 * X["a"] + noise).astype(int), 0, 2)]


@pytest.fixture(scope="module")
def tree():
    return privet.PrivaTreeClassifier(epsilon=2.0, schema=SCHEMA, random_state=0).fit(*records(10_000, 9))


@pytest.fixture(scope="module")
def boosted():
    return privet.BoostingClassifier(epsilon=2.0, schema=SCHEMA, random_state=0, n_trees=20).fit(*records(10_000, 9))


@pytest.fixture(scope="module")
def of_three():
    schema = Schema(FEATURES, classes=["low", "middle", "high"])
    return privet.BoostingClassifier(epsilon=2.0, schema=schema, random_state=0, n_trees=20).fit(*three(10_000, 9))


@pytest.fixture(scope="module")
def regressor():
    schema = Schema(FEATURES, target=Numeric(0, 100))
    return privet.BoostingRegressor(epsilon=2.0, schema=schema, random_state=0, n_trees=20).fit(*numbers(10_000, 9))


def class_truth(model, X, y):
    shares, labels = model.predict_proba(X), model.classes_
    truth = np.searchsorted(labels, y, sorter=np.argsort(labels))
    truth = np.argsort(labels)[truth]
    guess = shares.argmax(axis=1)
    areas = [roc_auc_score(truth == k, shares[:, k]) for k in range(len(labels))]
    return {
        "accuracy": (guess == truth).mean(),
        "balanced accuracy": balanced_accuracy_score(truth, guess),
        "AUC": areas[1] if len(labels) == 2 else np.mean(areas),
        "log loss": log_loss(truth, shares, labels=range(len(labels))),
    }


def number_truth(model, X, y):
    errors = y - model.predict(X)
    return {
        "root mean squared error": (errors**2).mean() ** 0.5,
        "mean absolute error": np.abs(errors).mean(),
        "R²": 1 - (errors**2).mean() / y.var(),
        "mean of the target": y.mean(),
        "standard deviation of the target": y.std(),
    }


@pytest.mark.parametrize("kind", ["tree", "boosted", "of_three"])
def test_without_noise_the_figures_are_those_of_scikit_learn(kind, request):
    model = request.getfixturevalue(kind)
    X, y = three(4_000, 1) if kind == "of_three" else records(4_000, 1)
    with pytest.warns(NonPrivateWarning, match="exact counts"):
        found = privet.evaluate(model, X, y, epsilon=None, by="group")
    truth = class_truth(model, X, y)
    assert found.accuracy.value == pytest.approx(truth["accuracy"], abs=1e-9)
    assert found.balanced_accuracy.value == pytest.approx(truth["balanced accuracy"], abs=1e-9)
    assert found.auc.low < truth["AUC"] < found.auc.high
    assert found.auc.value == pytest.approx(truth["AUC"], abs=0.003)
    assert found.log_loss.value == pytest.approx(truth["log loss"], abs=0.01)
    assert found.records.value == 4_000
    assert found.privacy.epsilon == float("inf")
    assert sum(cell.value for row in found.confusion for cell in row) == pytest.approx(1)
    one = (X["group"] == "one").to_numpy()
    right = model.classes_[model.predict_proba(X).argmax(axis=1)] == y
    assert found.groups[0].rates["accuracy"].value == pytest.approx(right[one].mean(), abs=1e-9)
    assert found.groups[0].gaps["accuracy"].value == pytest.approx(right[one].mean() - right[~one].mean(), abs=1e-9)
    assert found.groups[0].share.value == pytest.approx(one.mean(), abs=1e-9)


def test_a_model_with_few_shares_has_its_area_exactly(tree):
    X, y = records(4_000, 1)
    with pytest.warns(NonPrivateWarning):
        found = privet.evaluate(tree, X, y, epsilon=None)
    assert found.auc.value == pytest.approx(class_truth(tree, X, y)["AUC"], abs=1e-9)


def test_without_noise_the_figures_of_a_regressor_are_those_of_its_errors(regressor):
    X, y = numbers(4_000, 1)
    with pytest.warns(NonPrivateWarning):
        found = privet.evaluate(regressor, X, y, epsilon=None, by="group")
    for name, value in number_truth(regressor, X, y).items():
        assert found.measures()[name].value == pytest.approx(value, rel=1e-3), name
    errors, one = y - regressor.predict(X), (X["group"] == "one").to_numpy()
    assert found.groups[0].rates["mean error"].value == pytest.approx(errors[one].mean(), abs=0.01)
    assert found.groups[1].rates["mean absolute error"].value == pytest.approx(np.abs(errors[~one]).mean(), abs=0.01)


@pytest.mark.parametrize(("kind", "made"), [("boosted", records), ("of_three", three), ("regressor", numbers)])
def test_intervals_hold_the_truth_of_the_population(kind, made, request):
    """On 40 data sets of a fixed stream; benchmarks/evaluation.py has 1,000."""
    model, (X, y) = request.getfixturevalue(kind), made(60_000, 2)
    truth = (number_truth if kind == "regressor" else class_truth)(model, X, y)
    rng, held = np.random.default_rng(3), dict.fromkeys(truth, 0)
    for _ in range(40):
        rows = rng.integers(0, len(X), 3_000)
        found = privet.evaluate(model, X.iloc[rows], y[rows], epsilon=0.5).measures()
        for name, value in truth.items():
            held[name] += found[name].low <= value <= found[name].high
    assert min(held.values()) >= 33, held


def test_intervals_narrow_with_more_records_and_with_more_budget(boosted):
    X, y = records(8_000, 1)
    widths = [
        privet.evaluate(boosted, X[:n], y[:n], epsilon=epsilon).accuracy.width
        for n, epsilon in ((500, 0.2), (8_000, 0.2), (8_000, 2.0))
    ]
    assert widths[0] > 2 * widths[1]
    assert widths[1] > widths[2]


def test_the_charge_is_the_stated_one_and_reaches_every_budget(tree, regressor):
    X, y = records(1_000)
    with privet.budget(epsilon=0.5) as budget:
        found = privet.evaluate(tree, X, y, epsilon=0.1, by="group")
        assert budget.spent == 0.1
        assert found.privacy.epsilon == 0.1
        assert sum(event.cost.epsilon for event in found.privacy.events) == Fraction(1, 10)
        privet.evaluate(regressor, *numbers(1_000), epsilon=0.3)
        assert budget.spent == 0.4
        with pytest.raises(BudgetError, match="evaluate"):
            privet.evaluate(tree, X, y, epsilon=0.2)
        assert budget.spent == 0.4
    assert privet.evaluate(tree, X, y, epsilon=1.0, delta=1e-6).privacy.delta == 1e-6


def test_an_evaluation_without_a_guarantee_is_not_charged_but_refused(tree):
    X, y = records(100)
    with privet.budget(epsilon=5.0), seeded_noise(1), pytest.raises(BudgetError, match="no guarantee"):
        privet.evaluate(tree, X, y, epsilon=0.1)


def test_the_figures_are_a_function_of_what_was_released(tree):
    """Replay: with the outcomes of one data set forced on another one, every figure is the same."""
    recording = Recording(drawn())
    with outcomes_from(recording):
        first = privet.evaluate(tree, *records(500, 1), epsilon=0.5, by="group")
    with outcomes_from(forced := Forced(recording.transcript)):
        second = privet.evaluate(tree, *records(30, 2), epsilon=0.5, by="group")
    forced.finish()
    assert first.to_dict() == second.to_dict()
    assert not first.privacy.proven
    assert isinstance(drawn(), Drawn)


def test_no_error_and_no_figure_but_noise_on_records_without_answers(tree, regressor):
    X, _ = records(50)
    found = privet.evaluate(tree, X, ["unknown"] * 50, epsilon=1.0)
    assert found.accuracy.low == 0.0
    assert found.accuracy.high == 1.0
    assert found.records.value < 100
    empty = privet.evaluate(regressor, X[:0], np.zeros(0), epsilon=1.0)
    assert empty.rmse.width > 10


def test_a_unit_is_bounded_and_its_rows_are_taken_as_alike():
    schema = Schema(SCHEMA.features, SCHEMA.target, unit=Unit("person", max_rows=2))
    X, y = records(4_000, 1)
    X["person"] = np.arange(4_000) // 4
    model = privet.PrivaTreeClassifier(epsilon=2.0, schema=schema, random_state=0).fit(X, y)
    found = privet.evaluate(model, X, y, epsilon=1.0)
    assert abs(found.records.value - 2_000) < 200, "two of the four rows of each person"
    assert found.privacy.terms.max_rows == 2
    single = privet.PrivaTreeClassifier(epsilon=2.0, schema=SCHEMA, random_state=0)
    alone = privet.evaluate(
        single.fit(X.drop(columns="person"), y), X[:2_000].drop(columns="person"), y[:2_000], epsilon=1.0
    )
    assert found.accuracy.width > 1.3 * alone.accuracy.width


def test_groups_may_be_those_of_a_column_that_the_model_does_not_know(tree):
    X, y = records(6_000, 1)
    X["sex"] = np.where(np.arange(len(X)) % 4, "f", "m")
    found = privet.evaluate(tree, X, y, epsilon=2.0, by={"sex": Categorical(["f", "m", "x"], missing=True)})
    assert [group.name for group in found.groups] == ["f", "m", "x", "(missing)"]
    assert found.groups[0].share.low < 0.75 < found.groups[0].share.high
    assert found.groups[2].rates["accuracy"].width == 1.0, "nobody is there, so nothing is known"
    assert "minus all others" in str(found)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("sex", "not a feature of the schema"),
        ("a", "numeric feature"),
        ({"sex": Categorical(["f"]), "x": Categorical(["f"])}, "one name with its categories"),
        ({"sex": Numeric(0, 1)}, "needs a Categorical"),
        ({"group": Categorical(["one"])}, "a feature or the unit already"),
    ],
)
def test_groups_that_cannot_be_are_refused_before_anything_is_charged(tree, by, message):
    X, y = records(10)
    with privet.budget(epsilon=1.0) as budget:
        with pytest.raises(ParameterError, match=message):
            privet.evaluate(tree, X, y, epsilon=0.1, by=by)
        assert budget.spent == 0


def test_what_cannot_be_evaluated_is_refused(tree):
    X, y = records(10)
    with pytest.raises(ParameterError, match="fitted estimators of this library"):
        privet.evaluate(privet.PrivaTreeClassifier(), X, y)
    with pytest.raises(ParameterError, match="fitted estimators of this library"):
        privet.evaluate(object(), X, y)
    with pytest.raises(SchemaError, match="differ in length"):
        privet.evaluate(tree, X, y[:5])
    with pytest.raises(ParameterError, match="epsilon must be positive"):
        privet.evaluate(tree, X, y, epsilon=0)
    forest = privet.MatrixForestClassifier(
        epsilon=1.0, schema=SCHEMA, n_trees=4, mode="prediction", bins=4, strategy="queries"
    )
    with pytest.raises(ParameterError, match="every record of its schema"):
        privet.evaluate(forest.fit(X, y, batch=X), X, y)


def test_the_result_can_be_written_and_read_by_programs(tree, of_three, regressor):
    for found in (
        privet.evaluate(tree, *records(500), epsilon=1.0, by="group"),
        privet.evaluate(of_three, *three(500), epsilon=1.0),
        privet.evaluate(regressor, *numbers(500), epsilon=1.0, by="group"),
    ):
        content = json.loads(json.dumps(found.to_dict()))
        assert content["format"] == "privet-private-evaluation"
        assert set(content["measures"]) == set(found.measures())
        assert len(content["groups"]) == len(found.groups)
        assert "95% interval" in str(found)
        titles = [shown.title for shown in found.tables()]
        assert titles[0] == "Figures"
        assert all(len(row) == len(shown.header) for shown in found.tables() for row in shown.rows)
        assert ("Confusion matrix" in titles and "Calibration curve" in titles) == (found.kind == "classes")
        assert ("By group" in titles) == bool(found.groups)
        assert len(repr(found)) < 200


@every_learner
def test_what_a_model_says_of_a_record_does_not_depend_on_other_records(learner):
    """The proof of an evaluation's sensitivity needs that, to the last bit."""
    columns, y = learner.people(120)
    X = pd.DataFrame(columns)
    fitted = learner.make(epsilon=5.0).fit(X, y)
    codes = fitted.model_.encoding.encode(X)
    say = fitted.model_.predictions if learner.is_regressor else fitted.model_.votes
    whole = say(codes)
    order = np.random.default_rng(0).permutation(codes.shape[1])
    assert np.array_equal(say(np.ascontiguousarray(codes[:, order])), whole[order])
    for start, stop in ((0, 1), (5, 12), (3, 100), (119, 120)):
        assert np.array_equal(say(np.ascontiguousarray(codes[:, start:stop])), whole[start:stop])


# ----- intervals


def test_a_ratio_has_fieller_s_interval():
    found = Ratio(30.0, 100.0, 4.0, 0.0, 0.0).interval(reach=2.0)
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.26, 0.34))
    assert str(found) == "0.300 [0.260, 0.340]"
    unknown = Ratio(3.0, 4.0, 4.0, 0.0, 9.0).interval()
    assert (unknown.low, unknown.high) == (0.0, 1.0)
    assert Ratio(3.0, -4.0, 4.0, 0.0, 9.0).interval().width == 1.0


def test_fieller_s_interval_holds_for_ratios_of_noisy_counts():
    rng, held = np.random.default_rng(0), 0
    for _ in range(2_000):
        right = rng.binomial(200, 0.8)
        counts = np.array([right, 200 - right]) + rng.laplace(0, 8, 2)
        errors = np.diag(128 + np.maximum(counts, 0))
        found = Ratio.of(counts, errors, np.array([1.0, 0.0]), np.ones(2)).interval()
        held += found.low <= 0.8 <= found.high
    assert held >= 1_880  # 95% would be 1,900, and two standard deviations are 20


def test_combined_intervals_have_the_right_spread():
    one, other = Interval(0.5, 0.4, 0.7), Interval(0.3, 0.1, 0.4)
    mean = mean_of_independent([one, other])
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.4, 0.4 - 0.05**0.5 / 2, 0.4 + 0.05**0.5 / 2))
    gap = difference_of_independent(one, other)
    assert (gap.value, gap.low, gap.high) == pytest.approx((0.2, 0.2 - 0.02**0.5, 0.2 + 0.08**0.5))
    assert mean_of_dependent([one, other]) == Interval(pytest.approx(0.4), pytest.approx(0.25), pytest.approx(0.55))


@pytest.mark.parametrize("apart", [0.0, 1e-12, 0.1, 1.0, 3.0, 1e9])
def test_an_interval_beyond_two_ends_holds_wherever_the_figure_lies_between_them(apart):
    reach = 1.96 * shared_reach(0.01 * apart, 0.01)
    assert 1.64 <= reach <= 1.96
    for place in np.linspace(0, apart, 11):  # an error of the ends may not exceed what is left on either side
        assert norm.cdf(reach + place) - norm.cdf(-reach - (apart - place)) >= 0.95 - 1e-5
    assert shared_reach(0.01, 0.0) == 1.0


def test_a_ratio_s_deviation_is_that_of_its_interval():
    ratio = Ratio(30.0, 100.0, 4.0, 0.5, 0.01)
    assert ratio.interval(reach=1.0).width / 2 == pytest.approx(ratio.deviation, rel=1e-3)


def test_fine_and_coarser_counts_are_combined_by_least_squares():
    """Against the textbook's formula with a matrix of all measurements."""
    rng = np.random.default_rng(1)
    fine, starts = rng.integers(0, 50, 7), np.array([0, 2, 3])
    coarse = np.add.reduceat(fine, starts) + rng.integers(-5, 5, 3)
    of_fine, of_coarse = 30.0, 7.0
    design = np.vstack([np.eye(7), np.add.reduceat(np.eye(7), starts, axis=0)])
    weights = np.diag([1 / of_fine] * 7 + [1 / of_coarse] * 3)
    covariance = np.linalg.inv(design.T @ weights @ design)
    expected = covariance @ design.T @ weights @ np.concatenate([fine, coarse])
    found = CellEstimate.combine(fine, coarse, starts, (of_fine, of_coarse), 1.0)
    assert found.counts == pytest.approx(expected)
    assert found.noise == pytest.approx(covariance)


def test_cells_are_put_together_by_released_counts_and_never_across_the_decision():
    cells = ScoreCells(np.arange(1, 400) / 400, exact=False)
    crowds = np.where(np.arange(len(block_starts(cells))) < 4, 1_000, 0)
    merged = Merged.by(crowds, 5.0, cells)
    assert cells.first_above in merged.fine
    assert merged.first_above in merged.coarse
    assert merged.lows[merged.first_above] == 0.5
    assert (merged.fine < 40).mean() > 0.8, "most cells are where most records are"
    assert even_starts(np.ones(10), 5, 3).tolist() == [0, 2, 3, 4, 6, 8]


def test_crowds_are_averaged_where_they_are_noise_and_kept_where_they_are_clear():
    cells = ScoreCells(np.arange(1, 400) / 400, exact=False)
    ragged = 400 + 280 * (-1) ** np.arange(len(block_starts(cells)))

    def spread(deviation):
        merged = Merged.by(ragged, deviation, cells)
        return np.diff(merged.fine).std()

    assert spread(280.0) < spread(1.0)
    assert (cells.n_cells, len(Merged.by(ragged, 280.0, cells).fine)) == (400, pytest.approx(90, abs=2))


def test_a_share_is_in_a_cell_of_its_own_where_a_model_has_few():
    cells = ScoreCells(np.array([0.2, 0.5, 1.0]), exact=True)
    assert cells.of(np.array([0.0, 0.2, 0.3, 0.5, 0.7, 1.0])).tolist() == [0, 1, 2, 3, 4, 5]
    assert cells.first_above == 4
    assert (cells.lows == cells.highs).tolist() == [False, True, False, True, False, True, True]
    assert cells.lows.tolist() == [0.0, 0.2, 0.2, 0.5, 0.5, 1.0, 1.0]


def test_a_table_that_need_not_fit_into_memory_gives_the_same_figures(tree, tmp_path):
    X, y = records(800, 1)
    X.assign(answer=y).to_parquet(tmp_path / "records.parquet")
    table = ParquetTable(tmp_path / "records.parquet", target="answer", schema=SCHEMA)
    found = []
    for arguments in ((X, y), (table, None)):
        with seeded_noise(3):
            found.append(privet.evaluate(tree, *arguments, epsilon=1.0, by="group").to_dict())
    assert found[0] == found[1]
