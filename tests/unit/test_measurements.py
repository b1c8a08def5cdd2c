"""Bought facts are charged, stated, and near the truth."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Numeric, Schema, Unit
from privet.errors import BudgetError, ParameterError, SchemaError
from privet.mechanisms.measurements import noisy_row_count, private_bounds
from privet.privacy.terms import friendly_scale_up
from privet.tables import ParquetTable
from privet.testing import seeded_noise
from tests.unit.accounts import account, make, opened

VALUES = np.random.default_rng(0).lognormal(10, 1, 20_000)


def test_a_noisy_count_is_near_the_truth_and_charged():
    with privet.budget(epsilon=1.0) as budget:
        measured = noisy_row_count(np.zeros((5000, 2)), epsilon=0.25)
        assert budget.spent == 0.25
    assert abs(measured.value - 5000) < 200
    assert measured.privacy.epsilon == 0.25
    assert "number of records" in measured.privacy.table()


def test_a_noisy_count_has_the_noise_of_its_unit():
    units = np.repeat(np.arange(5), 2)
    event = noisy_row_count(np.zeros((10, 1)), epsilon=0.5, units=units, max_rows=3).privacy.events[0]
    assert event.parameter == 6
    counts = [noisy_row_count(np.zeros((0, 1)), epsilon=1.0).value for _ in range(50)]
    assert min(counts) == 1, "never below one"


@pytest.mark.parametrize("neighbours", ["replace", "label"])
def test_the_rows_of_units_are_not_public_though_a_unit_is_replaced(neighbours):
    """Another unit may have more rows or fewer, so the exact number would tell."""
    who = np.repeat(np.arange(100), 3)
    measured = noisy_row_count(
        np.zeros((300, 1)), epsilon=1.0, neighbours=neighbours, units=who, max_rows=2, unit_column="who"
    )
    (event,) = measured.privacy.events
    assert event.parameter == 2 * 2
    assert measured.privacy.epsilon == 1.0


def test_under_replacement_the_count_is_public():
    with pytest.raises(ParameterError, match="public"):
        noisy_row_count(np.zeros((10, 1)), epsilon=1.0, neighbours="replace")


def test_a_unit_with_many_rows_counts_no_more_than_its_maximum():
    people = pd.DataFrame({"who": [*range(100), *["x"] * 5_000], "age": [*[30.0] * 100, *[90.0] * 5_000]})
    for max_rows in (1, 5):
        bounded = {"units": people["who"], "max_rows": max_rows, "epsilon": 100.0}
        assert abs(noisy_row_count(people, **bounded).value - 100 - max_rows) < 5
        assert private_bounds(people["age"], low=0, high=100, outside=0.1, **bounded).value.high < 89
    assert abs(noisy_row_count(people, epsilon=100.0).value - 5_100) < 5, "one record is what is protected"
    with pytest.raises(ParameterError, match="pass units"):
        noisy_row_count(people, epsilon=1.0, max_rows=5)
    with pytest.raises(ParameterError, match="differ in number"):
        noisy_row_count(people, epsilon=1.0, units=people["who"][:10])


def test_bounds_hold_about_the_share_that_was_asked_for():
    measured = private_bounds(VALUES, low=0, high=1e8, grid="log", epsilon=1.0, outside=0.05)
    assert 0.02 < (measured.value.low > VALUES).mean() < 0.1
    assert 0.02 < (measured.value.high < VALUES).mean() < 0.1
    assert measured.privacy.epsilon == 1.0
    assert [float(event.cost.epsilon) for event in measured.privacy.events] == [0.5, 0.5]


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_the_score_of_a_bound_moves_by_no_more_than_its_range(share, monkeypatch):
    seen = []
    keep = lambda self, scores, event: seen.append((scores, event)) or [0]  # noqa: E731  # a stand-in for one test
    monkeypatch.setattr("privet.mechanisms.release.Release.choose", keep)
    small = np.array([1.0, 2.0, 3.0, 50.0, 99.0])
    for data in (small, np.append(small, 10.0), np.append(small, 100.0)):
        private_bounds(data, low=0, high=100, epsilon=1.0, outside=share)
    for i, j in ((0, 2), (1, 3), (0, 4), (1, 5)):
        change = seen[j][0] - seen[i][0]
        assert np.ptp(change) <= seen[i][1].sensitivity


def test_nothing_is_measured_without_a_budget_and_nothing_claimed_with_a_seed():
    with privet.budget(epsilon=0.1) as budget:
        with pytest.raises(BudgetError):
            private_bounds(VALUES, low=0, high=1e8, epsilon=1.0)
        assert budget.spent == 0
    with seeded_noise(1):
        assert noisy_row_count(np.zeros((10, 1)), epsilon=1.0).privacy.epsilon == np.inf


def test_missing_and_odd_values_are_no_error_and_no_records_give_the_limits_or_worse():
    assert private_bounds([None, "x", 3.0, float("nan")], low=0, high=10, epsilon=1.0).value.high <= 10
    assert private_bounds(np.array([]), low=0, high=10, epsilon=1.0).value.low >= 0


@pytest.mark.parametrize("bad", [{"outside": 0}, {"outside": 0.5}, {"epsilon": 0}, {"grid": "cubic"}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ParameterError):
        private_bounds(VALUES, **{"low": 0, "high": 10, "epsilon": 1.0, **bad})


VISITS = pd.DataFrame({"age": np.linspace(20, 80, 400), "person": np.arange(400) // 4, "ill": ["no", "yes"] * 200})


def visits(**options):
    return Schema({"age": Numeric(0, 100)}, classes=["no", "yes"], target_column="ill", **options)


@pytest.fixture
def url(tmp_path):
    return make(f"sqlite:///{tmp_path / 'hospital.db'}")


def test_facts_are_charged_to_the_account_that_only_the_schema_names(url):
    schema = visits(budget=url)
    noisy_row_count(VISITS, epsilon=1.0, schema=schema)
    private_bounds(VISITS["age"], low=0, high=1e3, epsilon=1.5, schema=schema)
    assert account(url).reading == 2.5
    with pytest.raises(BudgetError, match=r"epsilon 0\.5 remains"):
        noisy_row_count(VISITS, epsilon=1.0, schema=schema)
    with pytest.raises(BudgetError, match=r"epsilon 0\.5 remains"):
        private_bounds(VISITS["age"], low=0, high=1e3, epsilon=1.0, schema=schema)
    with opened(url) as book:
        charges = list(book.history().charges.values())
    assert [charge.status for charge in charges] == ["committed"] * 2
    assert {charge.details["details"]["schema"] for charge in charges} == {schema.digest()}


def test_facts_about_a_table_are_charged_to_the_account_of_its_schema(url, tmp_path):
    records = VISITS.copy()
    records.loc[:99, "ill"] = None
    records.to_parquet(tmp_path / "visits.parquet")
    of_persons = visits(budget=url, unit=Unit("person", max_rows=2))
    table = ParquetTable(tmp_path / "visits.parquet", schema=of_persons)
    with pytest.raises(BudgetError, match="epsilon 3 remains"):
        noisy_row_count(table, epsilon=1000.0)
    assert account(url).reading == 0
    open_ended = ParquetTable(tmp_path / "visits.parquet", schema=visits(unit=Unit("person", max_rows=2)))
    assert noisy_row_count(open_ended, epsilon=1000.0).value == 150, "75 persons with labels, two rows of each"
    alone = ParquetTable(tmp_path / "visits.parquet")
    measured = noisy_row_count(alone, epsilon=1.0, schema=of_persons)
    assert account(url).reading == 1
    assert measured.privacy.terms.protects == "units by column 'person' under 'add_remove'"
    with pytest.raises(ParameterError, match="counted by its schema"):
        noisy_row_count(alone, epsilon=1.0)
    with pytest.raises(SchemaError, match="another schema"):
        noisy_row_count(table, epsilon=1.0, schema=visits())


def test_a_schema_says_relation_and_unit():
    schema = visits(unit=Unit("person", max_rows=3))
    counted = noisy_row_count(VISITS, epsilon=1000.0, schema=schema)
    assert (counted.value, counted.privacy.events[0].parameter) == (300, friendly_scale_up(Fraction(3, 1000)))
    assert (
        counted.privacy.terms == noisy_row_count(VISITS, epsilon=1.0, units=VISITS["person"], max_rows=3).privacy.terms
    )
    bounds = private_bounds(VISITS["age"], low=0, high=100, epsilon=1.0, schema=schema, units=VISITS["person"])
    assert bounds.privacy.terms == counted.privacy.terms
    with pytest.raises(ParameterError, match=r"pass it, units=frame\['person'\]"):
        private_bounds(VISITS["age"], low=0, high=100, epsilon=1.0, schema=schema)
    with pytest.raises(ParameterError, match="public"):
        noisy_row_count(VISITS, epsilon=1.0, schema=visits(neighbours="replace"))
    with pytest.raises(SchemaError, match="person"):
        noisy_row_count(VISITS[["age"]], epsilon=1.0, schema=schema)
    with pytest.raises(SchemaError, match="schema must be a"):
        noisy_row_count(VISITS, epsilon=1.0, schema="schema.yaml")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"neighbours": "replace"}, "neighbours is 'replace', but the schema says 'add_remove'"),
        ({"max_rows": 2}, "max_rows is 2, but the schema says 3"),
        ({"unit_column": "ward"}, "unit_column is 'ward', but the schema says 'person'"),
        ({"units": VISITS["age"]}, "unit_column is 'age', but the schema says 'person'"),
    ],
)
def test_a_schema_and_arguments_that_contradict_it_are_refused_and_charge_nothing(url, said, problem):
    schema = visits(budget=url, unit=Unit("person", max_rows=3))
    arguments = {"units": VISITS["person"], "epsilon": 1.0, "schema": schema, **said}
    for measure in (
        lambda: noisy_row_count(VISITS, **arguments),
        lambda: private_bounds(VISITS["age"], low=0, high=100, **arguments),
    ):
        with pytest.raises(ParameterError, match=problem):
            measure()
    with pytest.raises(ParameterError, match="the schema protects single records"):
        noisy_row_count(VISITS, epsilon=1.0, units=VISITS["person"], schema=visits(budget=url))
    assert account(url).reading == 0


def test_nothing_is_claimed_of_a_fact_that_was_bought_with_an_inferred_schema():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inferred = Schema.infer(VISITS[["age", "ill"]], "ill")
    assert noisy_row_count(VISITS, epsilon=1.0, schema=inferred).privacy.epsilon == np.inf
