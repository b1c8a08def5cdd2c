"""Tables in files: what is wrong with them is said before anything is charged, and what changes is noticed."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privet
from privet import (
    Categorical,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
)
from privet.errors import ParameterError, SchemaError, TableChangedError
from privet.estimators import base
from privet.privacy.events import has_mixture
from privet.tables import DuckDBTable, ParquetTable
from privet.tables.file_table import FileSource
from privet.tables.piecewise import Reading
from privet.tables.spill import SpillFolder
from privet.tables.store import ArrayStore, bytes_of
from privet.testing import seeded_noise

SCHEMA = Schema({"x": Numeric(0, 1), "colour": Categorical(["red", "blue"])}, classes=["no", "yes"])
ONE_PASS = RandomDecisionForestClassifier(epsilon=1.0, schema=SCHEMA, n_trees=2, max_depth=2)
MANY_PASSES = PrivaTreeClassifier(epsilon=1.0, schema=SCHEMA, max_depth=2)


def frame(n=50, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"x": rng.random(n), "colour": rng.choice(["red", "blue"], n), "y": rng.choice(["no", "yes"], n)}
    return pd.DataFrame(columns)


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        frame(seed=number).to_parquet(tmp_path / f"{number}.parquet", row_group_size=20)
    return tmp_path


def without_a_column(path):
    frame().drop(columns="x").to_parquet(path)


def of_another_type(path):
    frame().astype({"x": "float32"}).to_parquet(path)


def of_a_type_that_does_not_fit(path):
    frame().astype({"x": str}).to_parquet(path)


def of_another_schema(path):
    pd.DataFrame({"height": [1.0], "weight": [2.0]}).to_parquet(path)


def with_a_damaged_footer(path):
    path.write_bytes(path.read_bytes()[:-40])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("estimator", [ONE_PASS, MANY_PASSES], ids=["one pass", "many passes"])
@pytest.mark.parametrize(
    "spoil",
    [without_a_column, of_another_type, of_a_type_that_does_not_fit, of_another_schema, with_a_damaged_footer, empty],
)
def test_a_file_that_does_not_fit_is_named_before_anything_is_charged(folder, estimator, spoil):
    spoil(folder / "1.parquet")
    with privet.budget(epsilon=1.0) as budget, pytest.raises(SchemaError, match=r"1\.parquet"):
        estimator.fit(ParquetTable(folder, target="y"))
    assert budget.spent == 0


@pytest.mark.parametrize("estimator", [ONE_PASS, MANY_PASSES], ids=["one pass", "many passes"])
def test_a_folder_without_files_a_wrong_path_and_two_formats_are_refused_by_name(tmp_path, estimator):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ParameterError, match="no data file in this folder"):
        estimator.fit(ParquetTable(tmp_path, target="y"))
    with pytest.raises(ParameterError, match="no such file"):
        estimator.fit(ParquetTable(tmp_path / "absent.parquet", target="y"))
    with pytest.raises(ParameterError, match="no file fits"):
        estimator.fit(ParquetTable(str(tmp_path / "*.parquet"), target="y"))
    frame().to_parquet(tmp_path / "a.parquet")
    frame().to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(ParameterError, match=r"b\.csv is a csv file"):
        estimator.fit(ParquetTable(tmp_path, target="y"))


def rewritten(path):
    frame(seed=9).to_parquet(path, row_group_size=20)


@pytest.mark.parametrize("change", [Path.unlink, rewritten, os.utime])
def test_a_file_that_changes_after_the_charge_ends_the_fit_and_the_charge_stands(folder, monkeypatch, change):
    charge = base.budgets.charge

    def then_change(*arguments):
        charge(*arguments)
        change(folder / "2.parquet")

    monkeypatch.setattr(base.budgets, "charge", then_change)
    with privet.budget(epsilon=1.0) as budget, pytest.raises(TableChangedError, match=r"2\.parquet"):
        ONE_PASS.fit(ParquetTable(folder, target="y"))
    assert budget.spent == 1.0


@pytest.mark.parametrize("change", [Path.unlink, rewritten])
def test_a_file_that_changes_before_its_codes_are_kept_ends_the_fit_before_the_charge(folder, monkeypatch, change):
    check = privet.tables.file_table.check_layouts

    def then_change(*arguments):
        check(*arguments)
        change(folder / "0.parquet")

    monkeypatch.setattr("privet.tables.file_table.check_layouts", then_change)
    with privet.budget(epsilon=1.0) as budget, pytest.raises(TableChangedError, match=r"0\.parquet"):
        MANY_PASSES.fit(ParquetTable(folder, target="y"))
    assert budget.spent == 0


def test_a_file_that_is_gone_after_its_codes_were_kept_is_not_missed(folder, monkeypatch):
    charge = base.budgets.charge
    monkeypatch.setattr(base.budgets, "charge", lambda *a: (charge(*a), (folder / "1.parquet").unlink()))
    assert MANY_PASSES.fit(ParquetTable(folder, target="y")).privacy_.epsilon == 1.0


def test_columns_that_the_schema_does_not_name_are_not_even_read(tmp_path):
    table = pa.Table.from_pandas(frame()).append_column("odd", pa.array([{"a": [1, 2]}] * 50))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    (group,) = FileSource.found(tmp_path, Reading(SCHEMA.encoding(), "y")).pieces()
    (batch,) = group.batches(100)
    assert batch.column_names == ["x", "colour", "y"]
    assert pickle.loads(pickle.dumps(group)) == group


def test_no_cell_of_a_csv_file_raises_an_error(tmp_path):
    lines = [b"x,colour,y", b"0.5,red,yes", b"0.5,red", b"1,2,3,4", b"abc,\xff\xfe,no", b',"re""d\n",maybe', b",,"]
    (tmp_path / "a.csv").write_bytes(b"\n".join(lines) + b"\n")
    reading = Reading(SCHEMA.encoding(), "y")
    (piece,) = FileSource.found(tmp_path, reading).pieces()
    (records,) = reading.encode_all(piece.batches(100))
    assert records.target.tolist() == [1, 0]
    assert records.places.tolist() == [0, 1]  # rows with too few or too many cells are no records


def test_values_in_names_of_folders_are_read_as_the_schema_declares_them(tmp_path):
    schema = Schema(
        {"year": Numeric(2000, 2040), "level": Categorical([1, 2], other=True), "old": Categorical([False, True])},
        classes=["no", "yes"],
    )
    unknown = "year=__HIVE_DEFAULT_PARTITION__/level=1/old=1"
    for name in ("year=2020/level=2.0/old=true", "year=soon/level=7/old=False", unknown):
        (tmp_path / name).mkdir(parents=True)
        frame(1)[["y"]].to_parquet(tmp_path / name / "0.parquet")
    reading = Reading(schema.encoding(bins=4), "y")
    batches = [batch for piece in FileSource.found(tmp_path, reading).pieces() for batch in piece.batches(9)]
    codes = [reading.encode(batch).codes[:, 0].tolist() for batch in batches]
    assert codes == [[1, 1, 1], [2, 0, 1], [2, 2, 0]]


def test_codes_beyond_the_limit_are_spilled_where_only_the_user_can_read_them(tmp_path):
    store = ArrayStore(1000, tmp_path)
    arrays = [np.full(600, number, dtype=np.uint8) for number in range(3)]
    kept = [store.keep(array) for array in arrays]
    (home,) = tmp_path.iterdir()
    (spilled,) = (path for path in home.iterdir() if path.is_dir())
    assert stat.S_IMODE(home.stat().st_mode) == stat.S_IMODE(spilled.stat().st_mode) == 0o700
    assert len(list(spilled.iterdir())) == 2
    for before, after in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(before, after.get())
    del kept, after
    assert list(spilled.iterdir()) == []
    store.keep(arrays[0])
    assert list(spilled.iterdir()) == []  # the memory of arrays that are gone is free again
    store.close()
    assert list(home.iterdir()) == []


def test_a_spill_folder_of_a_killed_process_is_removed_by_the_next_run_and_no_other(tmp_path):
    program = "import sys; from privet.tables.spill import *; print(SpillFolder(sys.argv[1]).path, flush=True); input()"
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    left, alive = (Path(process.stdout.readline().decode().strip()) for process in running)
    running[0].send_signal(signal.SIGKILL)
    running[0].communicate()
    assert left.is_dir()
    own = SpillFolder(tmp_path)
    assert not left.exists()
    assert alive.is_dir()
    own.remove()
    running[1].communicate(b"\n")


def test_a_spill_folder_that_others_can_read_is_refused(tmp_path):
    home = tmp_path / f"privet-spill-{os.getuid()}"
    home.mkdir()
    home.chmod(0o755)
    with pytest.raises(ParameterError, match="only you"):
        SpillFolder(tmp_path)


@pytest.mark.parametrize("memory", ["much", -1, True, "4 apples"])
def test_an_amount_of_memory_that_is_none_is_refused(memory):
    with pytest.raises(ParameterError, match="4GB"):
        bytes_of(memory)


def test_progress_shows_a_share_and_no_number_of_records(folder, capsys):
    ONE_PASS.fit(ParquetTable(folder, target="y", progress=True))
    MANY_PASSES.fit(ParquetTable(folder, target="y", progress=True))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "reading" in shown.err
    assert "150" not in shown.err
    ONE_PASS.fit(ParquetTable(folder, target="y"))
    assert capsys.readouterr().err == ""  # no terminal


def test_a_table_needs_a_schema_a_target_by_name_and_one_schema_only(folder):
    with pytest.raises(SchemaError, match="needs a schema"):
        RandomDecisionForestClassifier().fit(ParquetTable(folder, target="y"))
    with pytest.raises(SchemaError, match="name its column"):
        ONE_PASS.fit(ParquetTable(folder))
    with pytest.raises(SchemaError, match="must be the name of a column"):
        ONE_PASS.fit(ParquetTable(folder), frame()["y"])
    with pytest.raises(SchemaError, match="column 'z' is missing"):
        ONE_PASS.fit(ParquetTable(folder), "z")
    with pytest.raises(SchemaError, match="also a feature"):
        ONE_PASS.fit(ParquetTable(folder), "x")
    other = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
    with pytest.raises(SchemaError, match="not that of the estimator"):
        ONE_PASS.fit(ParquetTable(folder, target="y", schema=other))


def test_the_schema_of_a_table_serves_an_estimator_that_has_none(folder):
    fitted = RandomDecisionForestClassifier(random_state=1).fit(ParquetTable(folder, target="y", schema=SCHEMA))
    assert fitted.privacy_.epsilon == 1.0
    assert fitted.predict(frame()[["colour", "x"]]).shape == (50,)
    named = Schema(SCHEMA.features, SCHEMA.target, target_column="y")
    RandomDecisionForestClassifier(schema=named).fit(ParquetTable(folder))


def test_a_reader_of_batches_is_read_by_one_fit_only():
    arrow = pa.Table.from_pandas(frame())
    reader = arrow.to_reader()
    ONE_PASS.fit(reader, "y")
    with pytest.raises(ParameterError, match="open it again"):
        ONE_PASS.fit(reader, "y")


def test_a_declared_id_decides_which_tree_a_record_goes_to_whatever_the_order(tmp_path):
    estimator = RandomDecisionForestClassifier(
        schema=SCHEMA, n_trees=3, max_depth=2, composition="disjoint", random_state=0
    )
    records = frame(500).assign(key=[f"record {number}" for number in range(500)])
    counts = []
    for number, order in enumerate((records, records.sample(frac=1, random_state=1))):
        order.to_parquet(tmp_path / f"{number}.parquet")
        table = ParquetTable(tmp_path / f"{number}.parquet", target="y", id="key")
        with seeded_noise(1):
            counts.append(estimator.fit(table).model_.leaves.counts)
    np.testing.assert_array_equal(*counts)


def test_a_pure_mixture_is_refused_where_records_may_share_their_coins(tmp_path):
    """A mixture's epsilon is below that of its larger part because each record has a coin of its own."""
    path = tmp_path / "table.parquet"
    frame().assign(key=1).to_parquet(path)
    pure = MultinomialForestClassifier(epsilon=1.0, schema=SCHEMA, n_rows_hint="unknown")
    assert has_mixture(pure.plan().composition)
    assert not has_mixture(ONE_PASS.plan().composition)
    with privet.budget(epsilon=5.0) as budget:
        with pytest.raises(ParameterError, match="share a value of 'key'"):
            pure.fit(ParquetTable(path, target="y", id="key"))
        assert budget.spent == 0


def test_a_query_without_the_columns_of_the_schema_is_refused():
    pytest.importorskip("duckdb")
    with pytest.raises(SchemaError, match="the query: column 'x' is missing"):
        ONE_PASS.fit(DuckDBTable("SELECT 1 AS y"), "y")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT CAST(name AS INT) AS x, colour, y FROM people",
        "CREATE TABLE numbers AS SELECT CAST(name AS INT) AS x, colour, y FROM people; SELECT * FROM numbers",
    ],
    ids=["when it is read", "at once"],
)
@pytest.mark.parametrize("place", [0, 900_000])
def test_what_a_failing_query_says_quotes_no_record(query, place):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        name = f"CASE WHEN i = {place} THEN 'Smith' ELSE '1' END"
        connection.execute(
            f"CREATE TABLE people AS SELECT {name} AS name, 'red' AS colour, 'no' AS y FROM range(1000000) AS t(i)"
        )
        with pytest.raises(ParameterError, match="may quote records") as failed:
            ONE_PASS.fit(DuckDBTable(query, connection, target="y"))
    assert "Smith" not in "".join(traceback.format_exception(failed.value))


def failing_reader():
    """Return a reader whose second batch cannot be read, with an error that quotes it."""
    table = pa.Table.from_pandas(frame(), preserve_index=False)

    def batches():
        yield table.to_batches()[0]
        raise ValueError("cannot convert 'Smith'")

    return pa.RecordBatchReader.from_batches(table.schema, batches())


def failing_lazy_frame():
    names = pl.LazyFrame(frame()).with_columns(pl.lit("Smith").alias("name"))
    return names.with_columns(pl.col("name").cast(pl.Int64).alias("x"))


@pytest.mark.parametrize("estimator", [ONE_PASS, MANY_PASSES], ids=["one pass", "many passes"])
@pytest.mark.parametrize("table", [failing_lazy_frame, failing_reader])
def test_what_a_failing_stream_says_quotes_no_record(table, estimator):
    with pytest.raises(ParameterError, match="may quote records") as failed:
        estimator.fit(table(), "y")
    assert "Smith" not in "".join(traceback.format_exception(failed.value))


def test_a_lazy_frame_is_asked_for_what_is_needed_only():
    lazy = pl.LazyFrame(frame()).with_columns(pl.lit(1).map_batches(_must_not_run, return_dtype=pl.Int64).alias("z"))
    assert ONE_PASS.fit(lazy, "y").privacy_.epsilon == 1.0


def _must_not_run(series):
    raise AssertionError("this column is not needed")


@pytest.mark.parametrize("first", [-1, -7, 2**63 - 50, -(2**63)])
@pytest.mark.parametrize("estimator", [ONE_PASS, MANY_PASSES], ids=["one pass", "many passes"])
def test_no_id_is_too_large_or_too_small(tmp_path, estimator, first):
    records = frame(50)
    records.assign(id=np.arange(50) + first).to_parquet(tmp_path / "a.parquet")
    estimator.fit(ParquetTable(tmp_path / "a.parquet", target="y", id="id"))
