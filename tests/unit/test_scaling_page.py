"""The examples of the page about large tables run as they stand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Categorical, Numeric, Schema
from privet.testing import seeded_noise

PAGE = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def visits(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, 600),
            "ward": rng.choice(["a", "b"], 600),
            "year": np.repeat([2023, 2024], 300),
            "readmitted": rng.choice(["no", "yes"], 600),
        }
    )
    for year, part in frame.groupby("year"):
        (tmp_path / "visits" / f"year={year}").mkdir(parents=True)
        part.drop(columns="year").to_parquet(tmp_path / "visits" / f"year={year}" / "0.parquet")
    features = {"age": Numeric(0, 110), "ward": Categorical(["a", "b"]), "year": Numeric(2000, 2040)}
    Schema(features, classes=["no", "yes"]).save(tmp_path / "visits.yaml")
    monkeypatch.chdir(tmp_path)
    return frame


def test_there_is_an_example_for_each_kind_of_table():
    assert len(EXAMPLES) == 6
    assert all(len([line for line in example.splitlines() if line]) <= 6 for example in EXAMPLES)


CLUSTERS = ("dask", "pyspark")  # run by tests/engines, where these are started


@pytest.mark.parametrize(
    "example", [each for each in EXAMPLES if not any(word in each for word in ("postgres", *CLUSTERS))]
)
def test_the_examples_of_files_queries_and_lazy_frames_run(visits, example):
    found: dict[str, object] = {}
    exec(example, found)
    model = found.get("model") or privet.load("model.json")
    assert model.privacy_.epsilon == 1.0
    assert model.predict(visits.drop(columns="readmitted")).shape == (600,)


def attached_example(words):
    """Return the example of a database, with another one attached."""
    (example,) = (each for each in EXAMPLES if "postgres" in each)
    changed = example.replace("'dbname=hospital' AS hospital (TYPE postgres, READ_ONLY)", words)
    assert changed != example
    return changed


def test_the_example_of_an_attached_database_runs(visits):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("hospital.duckdb") as database:
        database.execute("CREATE SCHEMA public")
        database.register("frame", visits)
        database.execute("CREATE TABLE public.visits AS SELECT * FROM frame")
    exec(attached_example("'hospital.duckdb' AS hospital"))
    assert privet.load("model.json").privacy_.epsilon == 1.0


def test_the_example_of_an_attached_postgresql_makes_the_model_of_a_frame(visits, postgres_server, monkeypatch):
    """DuckDB's extension is a package of its own, for one version of DuckDB each."""
    duckdb = pytest.importorskip("duckdb")
    package = pytest.importorskip("duckdb_extension_postgres_scanner", reason="DuckDB's extension is not installed")
    folder = Path(package.__file__).parent / "extensions" / f"v{duckdb.__version__}"
    if not folder.is_dir():
        pytest.skip(f"DuckDB's extension for PostgreSQL is not installed for DuckDB {duckdb.__version__}")
    types = "age integer, ward text, year integer, readmitted text"
    rows = ", ".join(str(tuple(row)) for row in visits.itertuples(index=False))
    postgres_server.sql(f"DROP TABLE IF EXISTS visits; CREATE TABLE visits ({types}); INSERT INTO visits VALUES {rows}")
    connect = duckdb.connect

    def with_extension():
        connection = connect(config={"extension_directory": str(Path.cwd() / "extensions")})
        connection.execute(f"INSTALL '{folder / 'postgres_scanner.duckdb_extension'}'; LOAD postgres_scanner")
        return connection

    monkeypatch.setattr(duckdb, "connect", with_extension)
    example = attached_example(f"'{postgres_server.url()}' AS hospital (TYPE postgres, READ_ONLY)")
    seeded = example.replace("epsilon=1.0,", "epsilon=1.0, random_state=0,")  # what is public is drawn alike as well
    assert seeded != example
    with seeded_noise(3):
        exec(seeded)
    with seeded_noise(3):
        in_memory = privet.BoostingClassifier(epsilon=1.0, random_state=0, schema=privet.Schema.load("visits.yaml"))
        in_memory.fit(visits.drop(columns="readmitted"), visits["readmitted"]).save("in_memory.json")
    assert Path("model.json").read_text(encoding="utf-8") == Path("in_memory.json").read_text(encoding="utf-8")
