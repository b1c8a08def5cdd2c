"""Tables on Spark give the model of a frame in memory, whatever happens to the executors."""

import traceback

import pytest

from privet import BoostingClassifier, Schema, Unit, budget
from privet.errors import ParameterError, SchemaError, TableChangedError
from privet.tables import ParquetTable, SparkTable, with_predictions
from privet.tables import worker_tasks as tasks
from tests.engines.people import fitted, gone_once_checked, records, write
from tests.laws.registry import REGISTERED
from tests.unit.accounts import account, make

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
DISJOINT = next(each for each in REGISTERED if each.parameters.get("composition") == "disjoint")
BY_COINS = next(each for each in REGISTERED if each.estimator == "DisjointForestClassifier")
ONE_PASS = next(each for each in REGISTERED if each.estimator == "RandomDecisionForestClassifier")
BOOSTING = next(each for each in REGISTERED if each.estimator == "BoostingClassifier")
ONE_OF_EACH = {
    each.estimator: each for each in reversed(REGISTERED)
}  # every pass is a job of Spark's, which takes time


@pytest.fixture(autouse=True)
def few_pieces(monkeypatch):
    monkeypatch.setattr("privet.tables.pieces._FEWEST_ROWS", 250)


@pytest.mark.parametrize("learner", ONE_OF_EACH.values(), ids=str)
def test_every_learner_makes_of_files_on_spark_what_it_makes_of_a_frame(spark_session, tmp_path, learner):
    frame = records(learner)
    in_memory = fitted(learner, frame.drop(columns="y"), frame["y"])
    folder = write(frame, tmp_path / "table")
    assert fitted(learner, SparkTable(folder, target="y", session=spark_session)) == in_memory


def test_a_spark_frame_is_a_table_as_it_is(spark_session, tmp_path):
    frame = records(BY_COINS).rename(columns={"id": "record.id"})
    folder = write(frame, tmp_path / "table")
    by_id = fitted(BY_COINS, ParquetTable(folder, target="y", id="record.id"))
    parquet = spark_session.read.parquet(str(folder)).repartition(3)
    assert fitted(BY_COINS, SparkTable(parquet, target="y", id="record.id")) == by_id
    assert fitted(BOOSTING, parquet, "y") == fitted(BOOSTING, ParquetTable(folder), "y")


@pytest.mark.parametrize("max_rows", [1, 3])
def test_units_are_bounded_over_all_executors_to_the_very_same_records(spark_session, tmp_path, monkeypatch, max_rows):
    monkeypatch.setattr("privet.tables.spark_table._ROWS_BOUNDED_AT_ONCE", 200)
    frame = records(DISJOINT)
    frame.loc[::31, "person"] = None
    schema = Schema(DISJOINT.schema.features, DISJOINT.schema.target, unit=Unit("person", max_rows))
    in_memory = fitted(DISJOINT, frame.drop(columns="y"), frame["y"], schema=schema)
    folder = write(frame, tmp_path / "table")
    assert fitted(DISJOINT, SparkTable(folder, target="y"), schema=schema) == in_memory


def test_sums_are_the_same_whoever_adds_them_up(spark_session, tmp_path, monkeypatch):
    monkeypatch.setattr("privet.tables.pieces._FEWEST_ROWS", 60)
    frame = records(ONE_PASS)
    in_memory = fitted(ONE_PASS, frame.drop(columns="y"), frame["y"])
    table = SparkTable(write(frame, tmp_path / "table"), target="y")
    assert fitted(ONE_PASS, table) == in_memory
    monkeypatch.setattr("privet.tables.spark_table.ADDED_BY_THE_DRIVER", 1)  # by rounds of tasks, then
    assert fitted(ONE_PASS, table) == in_memory


def killing_once(task, mark):
    """Return a task that ends its own process the first time that it runs anywhere."""
    mark = str(mark)

    def killing(*arguments):  # made here, so that it travels as it is: executors cannot import the tests
        import os
        import signal

        if not os.access(mark, os.F_OK):
            os.close(os.open(mark, os.O_CREAT))
            os.kill(os.getpid(), signal.SIGKILL)
        return task(*arguments)

    return killing


def test_a_killed_worker_changes_no_model_and_no_charge(spark_session, tmp_path, monkeypatch):
    frame = records(BOOSTING)
    in_memory = fitted(BOOSTING, frame.drop(columns="y"), frame["y"])
    table = SparkTable(write(frame, tmp_path / "table"), target="y")
    integers, marks = tasks.integers, (tmp_path / "first", tmp_path / "second")
    monkeypatch.setattr(tasks, "integers", killing_once(integers, marks[0]))
    monkeypatch.setattr(
        "privet.tables.spark_table.EncodedOnSpark._zeros",
        lambda table, kernel: integers(kernel, table._nothing, table._nothing.state),
    )
    assert fitted(BOOSTING, table) == in_memory
    monkeypatch.setattr(tasks, "integers", killing_once(integers, marks[1]))
    url = make(f"sqlite:///{tmp_path / 'people.db'}")
    with budget(url), budget(epsilon=3) as block:
        BOOSTING.make(epsilon=1).fit(table)
    assert (block.spent, account(url).reading) == (1, 1)
    assert all(mark.exists() for mark in marks)


@pytest.mark.parametrize("learner", [ONE_PASS, BOOSTING], ids=["one pass", "many passes"])
def test_a_file_that_is_gone_ends_the_fit_with_its_name(spark_session, tmp_path, monkeypatch, learner):
    folder = write(records(learner), tmp_path / "table")
    table = SparkTable(folder, target="y")
    gone_once_checked(monkeypatch, "privet.tables.spark_table", folder / "part-3.parquet")
    with budget(epsilon=1) as block, pytest.raises(TableChangedError, match=r"part-3\.parquet is gone"):
        learner.make(epsilon=1).fit(table)
    assert block.spent == (learner is ONE_PASS)  # the other one reads before it is charged


def test_a_frame_that_is_another_one_when_it_is_computed_again_ends_the_fit(spark_session, tmp_path, monkeypatch):
    frame = spark_session.read.parquet(str(write(records(BY_COINS), tmp_path / "table")))

    def in_some_order(parts):  # made here, so that it travels as it is
        return (part.sample(frac=1) for part in parts)

    # Nothing is kept, as if the executors had lost it, so that each pass computes the frame again.
    monkeypatch.setattr("privet.tables.spark_table._Stored.__init__", lambda stored, rdd: setattr(stored, "rdd", rdd))
    with budget(epsilon=1) as block, pytest.raises(TableChangedError, match="another order"):
        BY_COINS.make(epsilon=1).fit(frame.mapInPandas(in_some_order, frame.schema), "y")
    assert block.spent == 1


def test_what_a_failing_frame_says_quotes_no_record(spark_session, tmp_path):
    people = spark_session.read.parquet(str(write(records(BOOSTING), tmp_path / "table")))
    failing = people.withColumn("age", people["person"].cast("int"))  # an error that quotes the text
    with budget(epsilon=1) as block, pytest.raises(ParameterError, match="may quote records") as failed:
        BOOSTING.make(epsilon=1).fit(failing, "y")
    assert "person" not in "".join(traceback.format_exception(failed.value))
    assert block.spent == 0


def test_columns_that_are_missing_are_named_before_anything_is_charged(spark_session, tmp_path):
    folder = write(records(BOOSTING).drop(columns="colour"), tmp_path / "table")
    with budget(epsilon=1) as block, pytest.raises(SchemaError, match="colour"):
        BOOSTING.make(epsilon=1).fit(spark_session.read.parquet(str(folder)), "y")
    assert block.spent == 0


def test_without_a_session_the_error_says_how_to_start_one(monkeypatch):
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(ParameterError, match=r"SparkSession\.builder"):
        BoostingClassifier(schema=BOOSTING.schema).fit(SparkTable("anything", target="y"))


def test_the_example_of_the_page_runs(spark_session, visits_example):
    visits_example("pyspark")  # the session is there already, and is the one that the example gets


def test_predictions_are_made_where_the_records_are(spark_session, tmp_path):
    frame = records(BOOSTING).rename(columns={"id": "record.id"})
    model = BOOSTING.make().fit(frame.drop(columns="y"), frame["y"])
    parquet = spark_session.read.parquet(str(write(frame, tmp_path / "table")))
    answered = with_predictions(model, parquet).toPandas().sort_values("record.id")
    assert answered["prediction"].tolist() == model.predict(frame).tolist()
    assert list(answered.columns) == [*frame.columns, "prediction"]
