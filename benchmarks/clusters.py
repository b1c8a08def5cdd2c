"""Dask and Spark beside one process on the same files: time, and models when workers are killed.

    python benchmarks/clusters.py [--rows 8000000] [--dask-kills 20] [--spark-kills 10] [--quick]

The clusters are local ones: two worker processes of Dask, Spark on two cores. Times are taken in turn in one run, after
a first fit that compiles; what counts are the ratios of their medians. A fit is disturbed by killing a worker process
in the middle of a pass; its model must be the undisturbed one, byte for byte, and its budget charged once.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from privet import Numeric, PrivaTreeClassifier, RandomDecisionForestClassifier, Schema, budget
from privet.estimators.files import file_text
from privet.tables import DaskTable, ParquetTable, SparkTable
from privet.testing import seeded_noise

N_FEATURES, N_FILES = 28, 16


def make_files(folder: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    for number in range(N_FILES):
        rows = n_rows // N_FILES
        X = rng.random((N_FEATURES, rows), dtype=np.float32)
        y = (X[0] + X[1] * X[2] > 0.75).astype(np.int8)
        columns = {f"x{i}": X[i] for i in range(N_FEATURES)} | {"y": y}
        pq.write_table(pa.table(columns), folder / f"part-{number:02}.parquet")


SCHEMA = Schema({f"x{i}": Numeric(0, 1) for i in range(N_FEATURES)}, classes=[0, 1])


def forest() -> RandomDecisionForestClassifier:
    return RandomDecisionForestClassifier(epsilon=1.0, schema=SCHEMA, n_trees=100, max_depth=8, random_state=0)


def tree() -> PrivaTreeClassifier:
    return PrivaTreeClassifier(epsilon=1.0, schema=SCHEMA, max_depth=4, random_state=0)


@contextmanager
def dask_cluster() -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    # A local cluster gives up a worker that is not back after 15 seconds, and then also closes the one that came back.
    # On a busy machine starting a process takes longer.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def spark_session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "OFF").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def seconds(make: Callable[[], Any], tables: dict[str, Any], repeats: int) -> dict[str, float]:
    """Fit to one table after the other, again and again; return the median time of each."""
    taken: dict[str, list[float]] = {name: [] for name in tables}
    for _ in range(repeats):
        for name, table in tables.items():
            begin = time.perf_counter()
            make().fit(table)
            taken[name].append(time.perf_counter() - begin)
    return {name: median(each) for name, each in taken.items()}


def model(make: Callable[[], Any], table: Any) -> str:
    with seeded_noise(7):
        return file_text(make().fit(table))


class Killer(threading.Thread):
    """Kills one worker process a moment after it is started."""

    def __init__(self, after: float, is_worker: Callable[[psutil.Process], bool]) -> None:
        super().__init__(daemon=True)
        self.after, self.is_worker, self.killed = after, is_worker, 0

    def run(self) -> None:
        time.sleep(self.after)
        workers = [child for child in psutil.Process().children(recursive=True) if _safely(self.is_worker, child)]
        if workers:
            os.kill(random.choice(workers).pid, signal.SIGKILL)
            self.killed += 1


def _safely(test: Callable[[psutil.Process], bool], process: psutil.Process) -> bool:
    try:
        return test(process)
    except psutil.Error:
        return False


def is_dask_worker(process: psutil.Process) -> bool:
    command = " ".join(process.cmdline())
    return "multiprocessing" in command and "spawn_main" in command


def is_spark_worker(process: psutil.Process) -> bool:
    """Whether it was forked by PySpark's daemon, and is not the daemon itself."""
    parent = process.parent()
    command = " ".join(process.cmdline())
    return "pyspark.daemon" in command and parent is not None and "pyspark.daemon" in " ".join(parent.cmdline())


def disturbed(name: str, table: Any, undisturbed: str, kills: int, is_worker: Callable[[psutil.Process], bool]) -> None:
    begin = time.perf_counter()
    assert model(tree, table) == undisturbed
    usual, same, once, killed = time.perf_counter() - begin, 0, 0, 0
    for _ in range(kills):
        killer = Killer(random.uniform(0.1, 0.9) * usual, is_worker)
        killer.start()
        same += model(tree, table) == undisturbed
        killer.join()
        killed += killer.killed
        with budget(epsilon=10) as account:
            killer = Killer(random.uniform(0.1, 0.9) * usual, is_worker)
            killer.start()
            tree().fit(table)
            killer.join()
            killed += killer.killed
        once += account.spent == 1
    print(f"{name}: {killed} workers killed; {same} of {kills} models identical, {once} of {kills} fits charged once")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dask-kills", type=int, default=20)
    parser.add_argument("--spark-kills", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="200,000 rows, one repeat, two kills each")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats, options.dask_kills, options.spark_kills = 200_000, 1, 2, 2
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, dask_cluster() as client, spark_session() as session:
        large, small = Path(folder) / "large", Path(folder) / "small"
        large.mkdir()
        small.mkdir()
        make_files(large, options.rows)
        make_files(small, min(options.rows, 400_000))
        tables = {
            "one process": ParquetTable(large, target="y"),
            "Dask": DaskTable(large, target="y", client=client),
            "Spark": SparkTable(large, target="y", session=session),
        }
        for table in tables.values():
            forest().fit(table)  # compiles, and starts Spark's workers
        taken = seconds(forest, tables, options.repeats)
        print(f"{options.rows:,} rows x {N_FEATURES} in {N_FILES} files, 100 random trees of depth 8")
        for name, each in taken.items():
            print(f"{name:12} {each:7.2f} s  {each / taken['one process']:5.2f} times one process")
        undisturbed = model(tree, ParquetTable(small, target="y"))
        if options.dask_kills:
            dask = DaskTable(small, target="y", client=client)
            disturbed("Dask", dask, undisturbed, options.dask_kills, is_dask_worker)
        if options.spark_kills:
            spark = SparkTable(small, target="y", session=session)
            disturbed("Spark", spark, undisturbed, options.spark_kills, is_spark_worker)


if __name__ == "__main__":
    main()
