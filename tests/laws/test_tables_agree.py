"""Every learner on every table gives the same integers: with the same noise and coins, the very same model file."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from privet import Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.estimators.files import file_text
from privet.tables import DuckDBTable, ParquetTable
from privet.testing import seeded_noise
from tests.laws.registry import REGISTERED, every_learner

N = 700


def records(learner):
    """Return records of which some have a label that is not in the schema, or none."""
    columns, y = learner.people(N)
    frame = pd.DataFrame(columns)
    frame["y"] = np.where(np.arange(N) % 7 == 3, np.nan, y) if learner.is_regressor else y
    if not learner.is_regressor:
        frame.loc[frame.index % 7 == 3, "y"] = "nobody"
    return frame


def write(frame, folder):
    """Write a frame as files of different sizes, with small row groups."""
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(np.split(np.arange(len(frame)), [1, 150, 151, 400])):
        frame.iloc[part].to_parquet(Path(folder) / f"part-{number}.parquet", row_group_size=60)
    return folder


@pytest.fixture
def small_blocks(monkeypatch):
    """Let so few records have many pieces, blocks and batches."""
    monkeypatch.setattr("privet.tables.pieces._FEWEST_ROWS", 80)
    monkeypatch.setattr("privet.tables.pieces._BYTES_READ_AT_ONCE", 1000)  # two or three columns
    monkeypatch.setattr("privet.tables.kept._MOST_ROWS", 50)
    monkeypatch.setattr("privet.tables.streamed._MOST_ROWS", 40)
    monkeypatch.setattr("privet.tables.piecewise._FEWEST_ROWS_READ_AT_ONCE", 1)
    monkeypatch.setattr("privet.tables.piecewise._MOST_ROWS_READ_AT_ONCE", 33)


def fitted(learner, *data, **changes):
    with seeded_noise(11):
        return file_text(learner.make(**changes).fit(*data))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore")  # of learners, about their own settings
@every_learner
def test_every_learner_makes_of_files_what_it_makes_of_a_frame(tmp_path, monkeypatch, learner):
    frame = records(learner)
    in_memory = fitted(learner, frame.drop(columns="y"), frame["y"])
    folder = write(frame, tmp_path / "table")
    for memory, whole_row_groups in ((None, 1 << 20), (20_000, 0)):  # read column by column, and in batches
        monkeypatch.setattr("privet.tables.pieces._MOST_BYTES_OF_CODES", whole_row_groups)
        table = ParquetTable(folder, target="y", memory=memory, spill=tmp_path)
        assert fitted(learner, table, n_jobs=3) == in_memory
    assert not any((tmp_path / f"privet-spill-{tmp_path.stat().st_uid}").glob("*"))
    assert fitted(learner, pl.scan_parquet(folder / "*.parquet"), "y") == in_memory
    assert fitted(learner, DuckDBTable(f"SELECT * FROM '{folder}/*.parquet'"), "y") == in_memory


def tables(frame, folder):
    """Yield every other table over the same records, with a name."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    parts = [frame.iloc[:300], frame.iloc[300:].reset_index(drop=True)]
    for suffix in ("csv", "feather", "orc"):
        (folder / suffix).mkdir()
        for number, part in enumerate(parts):
            path = folder / suffix / f"{number}.{suffix}"
            part.to_csv(path, index=False) if suffix == "csv" else getattr(part, f"to_{suffix}")(path)
        yield suffix, ParquetTable(folder / suffix)
    yield "hive", ParquetTable(hive(frame, folder / "hive"))
    yield "lazy frame", pl.LazyFrame(pl.from_arrow(arrow))
    yield "reader", pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=70))
    yield "dataset", pyarrow.dataset.dataset(folder / "feather", format="feather")
    yield "relation", duckdb.from_arrow(arrow)
    yield "text of a query", DuckDBTable("SELECT * FROM arrow", duckdb.connect().register("arrow", arrow))


def hive(frame, folder):
    """Write a frame into folders that are named after a column, in the order of its records."""
    for run, part in frame.groupby((frame["colour"] != frame["colour"].shift()).cumsum()):
        inside = folder / f"run={run:04d}" / f"colour={part['colour'].iloc[0]}"
        inside.mkdir(parents=True)
        part.drop(columns="colour").to_parquet(inside / "0.parquet")
    return folder


OF_MANY_AND_ONE_PASS = [
    next(each for each in REGISTERED if each.estimator == name)  # the last deals records by coins
    for name in ("PrivaTreeClassifier", "BoostingRegressor", "DisjointForestClassifier")
]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", OF_MANY_AND_ONE_PASS, ids=str)
def test_every_table_over_the_same_records_gives_the_same_model(tmp_path, learner):
    frame = records(learner).sort_values("colour", ignore_index=True)
    in_memory = fitted(learner, frame.drop(columns="y"), frame["y"])
    differ = [name for name, table in tables(frame, tmp_path) if fitted(learner, table, "y") != in_memory]
    assert differ == []


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ids", ["number", "text", "fraction"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_units_are_bounded_over_all_files_to_the_very_same_records(tmp_path, monkeypatch, ids, max_rows):
    monkeypatch.setattr("privet.tables.kept._ROWS_BOUNDED_AT_ONCE", 200)
    learner = next(each for each in REGISTERED if each.parameters.get("composition") == "disjoint")
    frame = records(learner)
    people = np.random.default_rng(1).integers(-20, 60, N)
    of_kind = {"number": people, "text": [f"person {each}" for each in people], "fraction": people / 4}
    frame["person"] = pd.Series(of_kind[ids])
    frame.loc[::31, "person"] = None
    frame = pd.concat([frame, frame.iloc[100:200]], ignore_index=True)  # records that are equal in everything
    schema = Schema(learner.schema.features, learner.schema.target, unit=Unit("person", max_rows))
    in_memory = fitted(learner, frame.drop(columns="y"), frame["y"], schema=schema)
    folder = write(frame, tmp_path / "table")
    assert fitted(learner, ParquetTable(folder), "y", schema=schema) == in_memory
    assert fitted(learner, ParquetTable(folder, memory=9_000), "y", schema=schema) == in_memory


def test_a_table_without_records_is_learned_from_like_a_frame_without_records(tmp_path):
    schema = Schema({"x": Numeric(0, 1)}, classes=["a", "b"])
    empty = pd.DataFrame({"x": pd.Series([], dtype=float), "y": pd.Series([], dtype=str)})
    empty.to_parquet(tmp_path / "empty.parquet")
    with seeded_noise(3):
        framed = RandomDecisionForestClassifier(schema=schema, random_state=1).fit(empty[["x"]], empty["y"])
    with seeded_noise(3):
        filed = RandomDecisionForestClassifier(schema=schema, random_state=1).fit(ParquetTable(tmp_path), "y")
    assert file_text(framed) == file_text(filed)
