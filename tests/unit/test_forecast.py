"""Laws of forecasts: they read nothing, spend nothing, say the same each time, and are calibrated as they say."""

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privet
from privet import (
    Boolean,
    BoostingRegressor,
    Categorical,
    Date,
    Integer,
    Numeric,
    Ordinal,
    PrivaTreeClassifier,
    PrivetClassifier,
    PrivetRegressor,
    Schema,
    Unit,
)
from privet.cli import app
from privet.errors import ParameterError, SchemaError
from privet.forecast import rehearsal
from privet.forecast.calibration import Calibration, StraightLine, calibration_of, calibrations
from privet.forecast.noise import noise_of
from privet.forecast.result import Curve
from privet.forecast.synthetic import Strength, World, default_shares
from privet.parameters import public_rng
from privet.privacy import budgets
from privet.privacy.stages import noise_in_records
from privet.progress import listening
from privet.report import render_forecast
from tests.laws.registry import every_learner

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
FEATURES = {
    "age": Numeric(0, 100, missing=True),
    "when": Date("2010-01-01", "2030-12-31"),
    "level": Ordinal(["low", "middle", "high"]),
    "member": Boolean(missing=True),
    "children": Integer(0, 12),
    "town": Categorical(["a", "b", "c", "d"], other=True, missing=True),
}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])
STRENGTHS = [Strength(2.0, 0.1), Strength(6.0, 0.1, apart=6.0), Strength(12.0, 0.5)]


@pytest.fixture
def quick(monkeypatch):
    """Fewer and smaller rehearsals, for laws that do not depend on how good they are."""
    monkeypatch.setattr(rehearsal, "MOST_ROWS", 200)
    monkeypatch.setattr(rehearsal, "TEST_ROWS", 200)
    monkeypatch.setattr(rehearsal, "STRENGTHS", rehearsal.STRENGTHS[:2])
    monkeypatch.setattr(rehearsal.rehearse, "__defaults__", (None, (30.0, 3_000.0)))


def benchmark():
    """The benchmark's module, which is not part of the library."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        spec = importlib.util.spec_from_file_location("forecast_benchmark", ROOT / "benchmarks" / "forecast.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.mark.usefixtures("quick")
def test_the_same_public_facts_give_the_same_forecast_whatever_epsilon_the_estimator_has():
    first, again = (PrivaTreeClassifier(epsilon, schema=SCHEMA, n_rows_hint=5_000) for epsilon in (1.0, 0.3))
    assert first.forecast() == again.forecast()


@pytest.mark.usefixtures("quick")
def test_a_forecast_spends_nothing_of_any_budget_in_force_and_leaves_the_estimator_as_it_was(tmp_path):
    estimator = PrivaTreeClassifier(schema=SCHEMA, n_rows_hint=5_000)
    before = dict(vars(estimator))
    with privet.budget(epsilon=0.001) as small:  # any fit at all would be refused
        carried = estimator.__getstate__()
        estimator.__setstate__(carried)
        estimator.forecast()
        assert small.spent == 0
    del estimator._carried_budgets
    assert vars(estimator) == before


@pytest.mark.usefixtures("quick")
def test_a_schema_that_was_read_off_the_data_is_not_called_a_public_fact():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 50)})
    read = Schema.infer(frame, np.where(frame.x > 0.5, "yes", "no"))
    found = PrivaTreeClassifier().forecast(schema=read, n_rows_hint=5_000)
    assert "not made from public facts alone" in found.table()
    assert "not made from public facts alone" in render_forecast(found)
    assert "no record was read" not in found.table()


@pytest.mark.usefixtures("quick")
def test_it_says_how_far_it_has_come():
    steps = []
    with listening(steps.append):
        PrivaTreeClassifier(schema=SCHEMA, n_rows_hint=5_000).forecast()
    rehearsed = [step.done for step in steps if step.what == "rehearsing on made-up records"]
    assert rehearsed == list(range(7))  # two strengths, each with two signals and a twin


@pytest.mark.usefixtures("quick")
def test_a_forecast_asks_for_no_budget_and_charges_none(monkeypatch):
    def refuse(*_):
        raise AssertionError("a budget was asked for or charged")

    monkeypatch.setattr(budgets, "charge", refuse)
    monkeypatch.setattr(budgets, "in_force", refuse)
    PrivaTreeClassifier(schema=SCHEMA, n_rows_hint=5_000).forecast()


@pytest.mark.law
@pytest.mark.usefixtures("quick")
@every_learner
def test_every_learner_has_a_forecast_whose_losses_never_rise_with_epsilon(learner):
    found = learner.make().forecast(n_rows_hint=5_000)
    for name in ("low", "expected", "high"):
        assert all(np.diff([getattr(row, name) for row in found.rows]) <= 1e-12)
    assert all(row.low <= row.expected <= row.high for row in found.rows)
    assert all(row.noise.people > 0 for row in found.rows)


def test_made_up_records_are_codes_of_the_schema_with_classes_in_their_shares():
    for classes, shares in ((["a", "b"], [0.9, 0.1]), (list("abcde"), None)):
        encoding = Schema(FEATURES, classes=classes).encoding(32)
        for strength in STRENGTHS:
            rng = public_rng(0)
            world = World(encoding, strength, rng, shares)
            records = world.draw(20_000, rng)
            codes = world.codes(records, encoding)
            assert codes.shape == (len(FEATURES), 20_000)
            assert all(codes.max(axis=1) < encoding.n_codes)
            got = np.bincount(records.target, minlength=len(classes)) / 20_000
            assert np.abs(got - (shares or default_shares(len(classes)))).max() < 0.06


def test_a_stronger_law_leaves_more_to_learn():
    found = []
    for logits in (0.0, 3.0, 12.0):
        stage = rehearsal._Stage(PrivaTreeClassifier(), SCHEMA, 2_000, Strength(logits, 0.1), None)
        found.append(stage.score(None))
    assert found[0] < 60 < found[1] < found[2]


def test_made_up_numbers_lie_within_the_range_of_the_target():
    encoding = Schema(FEATURES, target=Numeric(0, 10)).encoding(32)
    rng = public_rng(0)
    target = World(encoding, STRENGTHS[0], rng).draw(5_000, rng).target
    assert target.min() >= 0
    assert target.max() < encoding.target.levels
    assert 0.1 < target.std() / encoding.target.levels < 0.25


@pytest.mark.usefixtures("quick")
def test_numbers_lose_r2_and_classes_lose_accuracy():
    schema = Schema(FEATURES, target=Numeric(0, 10))
    assert BoostingRegressor(schema=schema, n_rows_hint=5_000).forecast().measure == "R2"
    assert PrivaTreeClassifier(schema=SCHEMA, n_rows_hint=5_000).forecast().measure == "accuracy"


@pytest.mark.usefixtures("quick")
def test_noise_in_people_is_that_of_the_plan():
    found = PrivaTreeClassifier(schema=SCHEMA, n_rows_hint=5_000).forecast()
    for row in found.rows:
        plan = PrivaTreeClassifier(row.epsilon, schema=SCHEMA, n_rows_hint=5_000).plan()
        leaves = [event for event in plan.events if event.name == "leaves"]
        assert row.noise.people == noise_in_records(leaves[0])
        assert row.noise.whom == "people"
    several = Schema(FEATURES, classes=["no", "yes"], unit=Unit("id", max_rows=3))
    assert noise_of(PrivaTreeClassifier(1.0, schema=several).plan()).whom == "records"


@pytest.mark.usefixtures("quick")
def test_estimators_that_choose_are_calibrated_as_what_they_choose():
    assert PrivetClassifier(schema=SCHEMA)._calibrated_as(1_000) == "BoostingClassifier"
    assert PrivetClassifier(schema=SCHEMA, goal="readable")._calibrated_as(1_000) == "PrivaTreeClassifier"
    assert PrivetRegressor()._calibrated_as(1_000) == "BoostingRegressor"
    assert calibration_of("BoostingClassifier", "two classes").learner == "BoostingClassifier"
    assert calibration_of("SomebodysClassifier", "many classes").learner == "any"
    assert calibration_of("SomebodysRegressor", "regression").target == "regression"


def test_the_smallest_useful_epsilon_is_where_the_curve_comes_down():
    curve = Curve((10.0, 100.0, 1_000.0), (0.0, 0.0, 0.0), (10.0, 2.0, 0.0), (20.0, 10.0, 1.0))
    found = dataclasses.replace(some_forecast(), curve=curve, n_rows=1_000)
    assert found.smallest_useful() == 0.1
    assert found.smallest_useful(10.0) == 0.01
    assert found.smallest_useful(2.0, surely=True) == 0.8
    assert found.smallest_useful(0.5, surely=True) is None
    assert "No epsilon up to 10" in dataclasses.replace(found, n_rows=1).conclusions[0]


def some_forecast():
    line = StraightLine(0.0, 1.0)
    made = Calibration("any", "two classes", (line,), (line,), 1.0, 3, 10, 9, 4.0)
    noise = noise_of(PrivaTreeClassifier(1.0, schema=SCHEMA).plan())
    curve = Curve((10.0, 100.0), (0.0, 0.0), (4.0, 1.0), (8.0, 2.0))
    rows = tuple(privet.forecast.Row(epsilon, *curve.at(1_000 * epsilon), noise) for epsilon in (0.01, 1.0))
    return privet.forecast.Forecast("PrivaTreeClassifier", 1_000, 0.0, "accuracy", rows, curve, made)


def test_losses_that_rise_are_averaged_and_others_stay():
    assert rehearsal.falling(np.array([3.0, 2.0, 2.0, 1.0])).tolist() == [3.0, 2.0, 2.0, 1.0]
    assert rehearsal.falling(np.array([3.0, 1.0, 2.0, 0.0])).tolist() == [3.0, 1.5, 1.5, 0.0]
    assert rehearsal.falling(np.array([0.0, 1.0, 5.0])).tolist() == [2.0, 2.0, 2.0]


def test_what_is_missing_or_wrong_is_refused_with_a_remedy():
    with pytest.raises(ParameterError, match="schema=Schema"):
        PrivaTreeClassifier().forecast(n_rows_hint=100)
    with pytest.raises(ParameterError, match="n_rows_hint="):
        PrivaTreeClassifier(schema=SCHEMA).forecast()
    with pytest.raises(ParameterError, match="at least 1"):
        PrivaTreeClassifier(schema=SCHEMA).forecast(n_rows_hint=0)
    for shares in ([0.5], [0.5, -0.5], [0.5, float("nan")], [1.0, 0.0]):
        with pytest.raises(ParameterError, match="shares must be 2 numbers"):
            PrivaTreeClassifier(schema=SCHEMA, n_rows_hint=100).forecast(shares=shares)
    numbers = Schema(FEATURES, target=Numeric(0, 1))
    with pytest.raises(SchemaError, match="leave them out"):
        BoostingRegressor(schema=numbers, n_rows_hint=100).forecast(shares=[0.5, 0.5])
    with pytest.raises(SchemaError, match="use a regressor"):
        PrivaTreeClassifier(schema=numbers, n_rows_hint=100).forecast()


def test_it_reads_well_as_text_as_data_as_a_card_and_as_a_picture(tmp_path):
    found = some_forecast()
    assert "nothing was spent" in str(found)
    assert "9 of 10 cases (90%)" in found.table()
    assert json.loads(json.dumps(found.to_dict()))["rows"][0]["epsilon"] == 0.01
    assert "privet-card" in found._repr_html_()
    assert "assumed shares" not in found.table()
    assert "assumed shares" in dataclasses.replace(found, shares_given=True).table()
    found.plot(tmp_path / "forecast.svg")
    assert (tmp_path / "forecast.svg").read_text("utf-8").count("<svg") == 1


@pytest.mark.usefixtures("quick")
def test_the_command_prints_a_table_writes_a_page_and_needs_rows(tmp_path):
    SCHEMA.save(tmp_path / "schema.yaml")
    common = ["forecast", "--schema", str(tmp_path / "schema.yaml"), "--learner", "PrivaTree"]
    page = tmp_path / "forecast.html"
    result = CliRunner().invoke(app, [*common, "--rows", "5000", "--shares", "0.7,0.3", "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "nothing was spent" in result.output
    assert "<h1>What would privacy cost?</h1>" in page.read_text("utf-8")
    result = CliRunner().invoke(app, [*common, "--rows", "5000", "--json"])
    assert json.loads(result.output)["n_rows"] == 5_000
    with pytest.raises(ParameterError, match="--rows 20000"):
        CliRunner().invoke(app, common, catch_exceptions=False)
    with pytest.raises(ParameterError, match="numbers between commas"):
        CliRunner().invoke(app, [*common, "--rows", "5000", "--shares", "many"], catch_exceptions=False)
    with pytest.raises(ParameterError, match="exists"):
        CliRunner().invoke(app, [*common, "--rows", "5000", "-o", str(page)], catch_exceptions=False)


def test_the_packaged_calibration_is_what_the_measurements_give():
    module = benchmark()
    made, _ = module.calibrated(pd.read_csv(RESULTS / "forecast.csv")[module.MEASURED])
    assert module.packaged(made) == module.PACKAGED.read_text("utf-8")
    assert {(calibration.learner, calibration.target): calibration for calibration in made} == calibrations()


def test_bands_hold_on_at_least_80_percent_of_the_pairs_that_were_not_used_for_calibration():
    table = pd.read_csv(RESULTS / "forecast.csv")
    others = table[~table.tuning]
    inside = (others.loss >= others.low) & (others.loss <= others.high)
    assert (inside == others.inside).all()
    for learner, part in others.groupby("learner"):
        assert part.inside.mean() >= 0.8, learner
    for (learner, target), part in others.groupby(["learner", "target"]):
        assert (len(part), part.inside.sum()) == (
            calibrations()[learner, target].pairs,
            calibrations()[learner, target].inside,
        )


def test_the_page_of_results_is_made_from_the_table():
    module = benchmark()
    _, shown = module.calibrated(pd.read_csv(RESULTS / "forecast.csv")[module.MEASURED])
    assert module.page(shown) == (RESULTS / "forecast.md").read_text("utf-8")
