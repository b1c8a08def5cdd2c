"""Tables on Dask give the model of a frame in memory, whatever happens to the workers."""

import os
import signal
import time
import traceback

import dask.dataframe as dd
import pandas as pd
import pytest

from privet import BoostingClassifier, Schema, Unit, budget
from privet.errors import ParameterError, SchemaError, TableChangedError
from privet.tables import DaskTable, ParquetTable, with_predictions
from privet.tables import worker_tasks as tasks
from tests.engines.people import fitted, gone_once_checked, records, write
from tests.laws.registry import REGISTERED, every_learner
from tests.unit.accounts import account, make

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
DISJOINT = next(each for each in REGISTERED if each.parameters.get("composition") == "disjoint")
BY_COINS = next(each for each in REGISTERED if each.estimator == "DisjointForestClassifier")
ONE_PASS = next(each for each in REGISTERED if each.estimator == "RandomDecisionForestClassifier")
BOOSTING = next(each for each in REGISTERED if each.estimator == "BoostingClassifier")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("privet.tables.pieces._FEWEST_ROWS", 120)


@every_learner
def test_every_learner_makes_of_files_on_dask_what_it_makes_of_a_frame(dask_client, tmp_path, learner):
    frame = records(learner)
    in_memory = fitted(learner, frame.drop(columns="y"), frame["y"])
    folder = write(frame, tmp_path / "table")
    assert fitted(learner, DaskTable(folder, target="y", client=dask_client)) == in_memory


def test_a_dask_frame_is_a_table_as_it_is(dask_client):
    frame = records(BOOSTING)
    in_memory = fitted(BOOSTING, frame.drop(columns="y"), frame["y"])
    assert fitted(BOOSTING, dd.from_pandas(frame, npartitions=5, sort=False), "y") == in_memory


def test_with_an_id_the_order_of_records_makes_no_difference(dask_client, tmp_path):
    frame = records(BY_COINS)
    by_id = fitted(BY_COINS, ParquetTable(write(frame, tmp_path / "table"), target="y", id="id"))
    shuffled = dd.from_pandas(frame.sample(frac=1, random_state=5), npartitions=4, sort=False)
    assert fitted(BY_COINS, DaskTable(shuffled, target="y", id="id")) == by_id


@pytest.mark.parametrize("max_rows", [1, 3])
def test_units_are_bounded_over_all_workers_to_the_very_same_records(dask_client, tmp_path, monkeypatch, max_rows):
    monkeypatch.setattr("privet.tables.dask_table._ROWS_BOUNDED_AT_ONCE", 200)
    frame = records(DISJOINT)
    frame.loc[::31, "person"] = None
    schema = Schema(DISJOINT.schema.features, DISJOINT.schema.target, unit=Unit("person", max_rows))
    in_memory = fitted(DISJOINT, frame.drop(columns="y"), frame["y"], schema=schema)
    folder = write(frame, tmp_path / "table")
    assert fitted(DISJOINT, DaskTable(folder, target="y"), schema=schema) == in_memory


def pids_of_workers(client):
    """Return the processes of workers that answer; one that was killed is known for a while, and does not.

    It may take long to come back where the machine is busy, or not come back at all, so one is enough.
    """
    while not (found := client.run(os.getpid, on_error="ignore")):
        time.sleep(0.05)
    return list(found.values())


def test_a_killed_worker_changes_no_model_and_no_charge(dask_client, tmp_path, monkeypatch):
    frame = records(BOOSTING)
    in_memory = fitted(BOOSTING, frame.drop(columns="y"), frame["y"])
    table = DaskTable(write(frame, tmp_path / "table"), target="y", client=dask_client)
    killed = []
    submit = type(dask_client).submit

    def submit_and_kill(client, function, *arguments, **options):
        if function is tasks.added and len(killed) < 2:  # in the middle of a pass
            killed.append(os.kill(min(pids_of_workers(client)), signal.SIGKILL))
        return submit(client, function, *arguments, **options)

    monkeypatch.setattr(type(dask_client), "submit", submit_and_kill)
    assert fitted(BOOSTING, table) == in_memory
    assert len(killed) == 2
    killed.clear()
    url = make(f"sqlite:///{tmp_path / 'people.db'}")
    with budget(url), budget(epsilon=3) as block:
        BOOSTING.make(epsilon=1).fit(table)
    assert len(killed) == 2
    assert (block.spent, account(url).reading) == (1, 1)


def test_a_partition_that_changes_ends_the_fit_with_an_error():
    frame = records(BOOSTING).head(50)
    reading = _reading(frame)
    first = tasks.encode_frames([frame], reading)
    expected = tasks.expectations([tasks.summary(first)], reading)[0]
    assert tasks.verified(tasks.encode_frames([frame], reading), expected)
    with pytest.raises(TableChangedError, match="id="):
        tasks.verified(tasks.encode_frames([frame[::-1]], reading), expected)


def _reading(frame):
    from privet.tables.piecewise import Reading

    schema = BOOSTING.schema
    return Reading(schema.encoding(16), "y")


@pytest.mark.parametrize("learner", [ONE_PASS, BOOSTING], ids=["one pass", "many passes"])
def test_a_file_that_is_gone_ends_the_fit_with_its_name(dask_client, tmp_path, monkeypatch, learner):
    folder = write(records(learner), tmp_path / "table")
    table = DaskTable(folder, target="y", client=dask_client)
    gone_once_checked(monkeypatch, "privet.tables.dask_table", folder / "part-3.parquet")
    with budget(epsilon=1) as block, pytest.raises(TableChangedError, match=r"part-3\.parquet is gone"):
        learner.make(epsilon=1).fit(table)
    assert block.spent == (learner is ONE_PASS)  # the other one reads before it is charged


def test_a_frame_that_is_another_one_when_it_is_computed_again_ends_the_fit(dask_client, monkeypatch):
    """Its partitions are computed again, as where a worker is lost, and come in another order."""
    frame = records(BY_COINS)

    def in_some_order(part):  # made here, so that it travels as it is
        return part.sample(frac=1)

    unstable = dd.from_pandas(frame, npartitions=3, sort=False).map_partitions(in_some_order, meta=frame.head(0))
    gather, lost = type(dask_client).gather, []

    def gather_and_kill(client, futures, *arguments, **options):
        found = gather(client, futures, *arguments, **options)
        if not lost:  # when all partitions have been summed up for the driver
            lost.extend(os.kill(pid, signal.SIGKILL) for pid in pids_of_workers(client))
        return found

    monkeypatch.setattr(type(dask_client), "gather", gather_and_kill)
    with budget(epsilon=1) as block, pytest.raises(TableChangedError, match="another order"):
        BY_COINS.make(epsilon=1).fit(unstable, "y")
    assert lost
    assert block.spent == 1


def test_what_a_failing_frame_says_quotes_no_record(dask_client):
    frame = records(BOOSTING)

    def fail(part):
        raise ValueError("cannot convert 'Smith'")

    failing = dd.from_pandas(frame, npartitions=2).map_partitions(fail, meta=frame.head(0))
    with budget(epsilon=1) as block, pytest.raises(ParameterError, match="may quote records") as failed:
        BOOSTING.make(epsilon=1).fit(failing, "y")
    assert "Smith" not in "".join(traceback.format_exception(failed.value))
    assert block.spent == 0


def test_columns_that_are_missing_are_named_before_anything_is_charged(dask_client):
    frame = records(BOOSTING).drop(columns="colour")
    with budget(epsilon=1) as block, pytest.raises(SchemaError, match="colour"):
        fitted(BOOSTING, DaskTable(dd.from_pandas(frame, npartitions=2), target="y"), epsilon=1)
    assert block.spent == 0


def test_without_a_cluster_the_error_says_how_to_start_one(monkeypatch):
    monkeypatch.setattr("distributed.get_client", _no_client)
    with pytest.raises(ParameterError, match=r"Client\(\)"):
        BoostingClassifier(schema=BOOSTING.schema).fit(DaskTable("anything", target="y"))


def _no_client(*_):
    raise ValueError("No global client found")


def test_a_description_holds_no_record_in_its_repr():
    table = DaskTable(pd.DataFrame({"x": [12345]}), target="y")
    assert "12345" not in repr(table)


def test_the_example_of_the_page_runs(dask_client, visits_example, monkeypatch):
    monkeypatch.setattr("dask.distributed.Client", lambda **_: dask_client)  # the cluster is there already
    visits_example("dask")


def test_predictions_are_made_where_the_records_are(dask_client):
    frame = records(BOOSTING)
    model = BOOSTING.make().fit(frame.drop(columns="y"), frame["y"])
    answered = with_predictions(model, dd.from_pandas(frame, npartitions=3, sort=False)).compute()
    assert answered["prediction"].tolist() == model.predict(frame).tolist()
    assert list(answered.columns) == [*frame.columns, "prediction"]
    with pytest.raises(ParameterError, match="another name"):
        with_predictions(model, dd.from_pandas(frame, npartitions=3), "age")
