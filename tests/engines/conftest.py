"""Real clusters, started once for all tests of a file: two worker processes of Dask, and Spark on two cores."""

import os
import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


@pytest.fixture(scope="module")
def dask_client():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'privet[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def spark_session():
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'privet[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, for instance Debian's default-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of new versions of pandas, which are not used here
        session = (
            SparkSession.builder.master("local[2,4]")  # a task is tried four times before a job fails
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
    yield session
    session.stop()


@pytest.fixture
def visits_example(tmp_path, monkeypatch):
    """Return a function that runs the example of docs/scaling.md in which a word occurs, on records of its own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 100, 300), "readmitted": rng.choice(["no", "yes"], 300)})
    Path("visits").mkdir()
    frame.to_parquet("visits/0.parquet")
    privet.Schema({"age": privet.Numeric(0, 110)}, classes=["no", "yes"]).save("visits.yaml")

    def run(word):
        examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        (example,) = (each for each in examples if word in each)
        # Spark's server does not follow this process into another folder.
        exec(example.replace('"visits/"', repr(str(tmp_path / "visits"))), {})
        assert privet.load("model.json").privacy_.epsilon == 1.0

    return run
