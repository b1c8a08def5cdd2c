"""Dask and Spark beside one process on the same files: time, and models when workers are killed.

    python benchmarks/clusters.py times [--rows 8000000] [--repeats 3]  # docs/results/clusters_times.csv
    python benchmarks/clusters.py kills --engine Dask --fits 20         # docs/results/clusters_kills.csv
    python benchmarks/clusters.py kills --engine Spark --fits 10
    python benchmarks/clusters.py page                                  # docs/results/clusters.md

The clusters are local ones: two worker processes of Dask, Spark on two cores. Times are taken in turn in one run, after
a first fit that compiles and starts workers; what counts are the ratios of their medians. Processor seconds are those
of this process and all that it started, Java's included. A fit is disturbed by killing a worker process in the middle
of it; its model must be the undisturbed one, byte for byte, and its budget charged once. With ``--more`` rows are added
to those that are there, so that a long measurement can be done in pieces.
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
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from privet import Numeric, PrivaTreeClassifier, RandomDecisionForestClassifier, Schema, budget
from privet.estimators.files import file_text
from privet.tables import DaskTable, ParquetTable, SparkTable
from privet.tables.spark_table import ADDED_BY_THE_DRIVER, TASKS_A_CORE
from privet.testing import seeded_noise

RESULTS = Path(__file__).parents[1] / "docs" / "results"
N_FEATURES, N_FILES = 28, 16
T = TypeVar("T")


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


def processor_seconds() -> float:
    """Return what this process and its descendants have taken so far."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(_safely(_seconds_of, process) or 0.0 for process in processes)


def _seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def times(folder: Path, n_rows: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Fit to one table after the other, again and again."""
    make_files(folder, n_rows)
    with dask_cluster() as client, spark_session() as session:
        tables = {
            "one process": ParquetTable(folder, target="y"),
            "Dask": DaskTable(folder, target="y", client=client),
            "Spark": SparkTable(folder, target="y", session=session),
        }
        for table in tables.values():
            forest().fit(table)
        for _ in range(repeats):
            for name, table in tables.items():
                cpu, wall = processor_seconds(), time.perf_counter()
                forest().fit(table)
                taken = {"wall": time.perf_counter() - wall, "cpu": processor_seconds() - cpu}
                yield {"records": n_rows, "where": name, **{key: round(value, 3) for key, value in taken.items()}}


def model(make: Callable[[], Any], table: Any) -> str:
    with seeded_noise(7):
        return file_text(make().fit(table))


class Killer(threading.Thread):
    """Kills one worker process a moment after it is started, as soon as there is one, unless the fit is over."""

    def __init__(self, after: float, is_worker: Callable[[psutil.Process], bool]) -> None:
        super().__init__(daemon=True)
        self.after, self.is_worker, self.over, self.killed = after, is_worker, threading.Event(), 0

    def run(self) -> None:
        self.over.wait(self.after)
        while not self.over.is_set() and not self.killed:
            workers = [child for child in psutil.Process().children(recursive=True) if _safely(self.is_worker, child)]
            if workers:
                os.kill(random.choice(workers).pid, signal.SIGKILL)
                self.killed += 1
            else:
                self.over.wait(0.01)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()

    def __enter__(self) -> Killer:
        self.start()
        return self


def _safely(ask: Callable[[psutil.Process], T], process: psutil.Process) -> T | None:
    try:
        return ask(process)
    except psutil.Error:
        return None


def is_dask_worker(process: psutil.Process) -> bool:
    command = " ".join(process.cmdline())
    return "multiprocessing" in command and "spawn_main" in command


def is_spark_worker(process: psutil.Process) -> bool:
    """Whether it was forked by PySpark's daemon, and is not the daemon itself."""
    parent = process.parent()
    command = " ".join(process.cmdline())
    return "pyspark.daemon" in command and parent is not None and "pyspark.daemon" in " ".join(parent.cmdline())


def kills(folder: Path, n_rows: int, engine: str, fits: int) -> Iterator[dict[str, Any]]:
    """Disturb fits: one whose model is compared, and one whose budget is."""
    make_files(folder, n_rows)
    undisturbed = model(tree, ParquetTable(folder, target="y"))
    with (dask_cluster if engine == "Dask" else spark_session)() as cluster:
        table: Any = DaskTable(folder, target="y", client=cluster)
        is_worker = is_dask_worker
        if engine == "Spark":
            table, is_worker = SparkTable(folder, target="y", session=cluster), is_spark_worker
        assert model(tree, table) == undisturbed  # also compiles, and starts workers
        begin = time.perf_counter()
        assert model(tree, table) == undisturbed
        usual = time.perf_counter() - begin

        def disturbed(fit: Callable[[], bool]) -> tuple[bool, float]:
            """Fit until a worker was killed in the middle of it."""
            while True:
                begin = time.perf_counter()
                with Killer(random.uniform(0.1, 0.9) * usual, is_worker) as killer:
                    right = fit()
                if killer.killed or not right:
                    return right, time.perf_counter() - begin

        for _ in range(fits):
            identical, first = disturbed(lambda: model(tree, table) == undisturbed)
            charged_once, second = disturbed(lambda: charge_of(table) == 1)
            taken = {"usual": round(usual, 3), "wall": round((first + second) / 2, 3)}
            yield {"engine": engine, "records": n_rows, "identical": identical, "charged_once": charged_once, **taken}


def charge_of(table: Any) -> float:
    """Return what one fit with an epsilon of 1 takes from a budget."""
    with budget(epsilon=10) as account:
        tree().fit(table)
    return float(account.spent)


def write(name: str, rows: Iterator[dict[str, Any]], kept: pd.DataFrame | None) -> None:
    """Write rows as they come, below those that are kept."""
    found = [] if kept is None else kept.to_dict("records")
    for row in rows:
        print(row, flush=True)
        found.append(row)
        pd.DataFrame(found).to_csv(RESULTS / name, index=False)


def page(taken: pd.DataFrame, killed: pd.DataFrame) -> str:
    """Return the text of the page."""
    medians = taken.groupby("where", sort=False)[["wall", "cpu"]].median()
    alone, runs = medians.loc["one process"], len(taken) // len(medians)
    lines = ["| where | seconds | times one process | processor seconds | times one process |", "|---|---|---|---|---|"]
    for name, row in medians.iterrows():
        aim = {"Dask": " (aim 1.7)", "Spark": ", by paths (aim 3)"}.get(str(name), "")
        by_clock, by_cpu = row["wall"] / alone["wall"], row["cpu"] / alone["cpu"]
        lines.append(f"| {name}{aim} | {row['wall']:.2f} | {by_clock:.2f} | {row['cpu']:.2f} | {by_cpu:.2f} |")
    head = "engine | workers killed | models identical to the undisturbed one | fits charged once | seconds of a fit"
    faults = [f"| {head} | undisturbed |", "|---|---|---|---|---|---|"]
    for name, rows in killed.groupby("engine", sort=False):
        n, same, once = len(rows), int(rows["identical"].sum()), int(rows["charged_once"].sum())
        usual = f"{rows['wall'].median():.1f} | {rows['usual'].median():.1f}"
        faults.append(f"| {name} | {2 * n} | {same} of {n} | {once} of {n} | {usual} |")
    table, kills_table = "\n".join(lines), "\n".join(faults)
    return f"""# Dask and Spark beside one process

`python benchmarks/clusters.py`, on two cores and 24 GB that other programs used at the same time. The clusters are
local ones: two worker processes of Dask, and Spark on two cores.

## Time

`... times`: 100 random trees of depth 8 on {taken["records"].iloc[0]:,} records of {N_FEATURES} features in {N_FILES}
files, {runs} fits each in turn, medians. Workers had been started and had compiled before. Processor seconds are those
of all processes, Java's included.

{table}

Python processes of Spark's collect garbage after each task, which took longer than the tasks did: now they leave out
what was imported. A pass over files is {TASKS_A_CORE} tasks for each core, not one for each row group, and up to
{ADDED_BY_THE_DRIVER} sums are added up without a round of tasks of their own.

## Killed workers

`... kills`: PrivaTree on {killed["records"].iloc[0]:,} records in {N_FILES} files. Each fit lost a worker process
(`SIGKILL`) at a random moment between a tenth and nine tenths of the usual time. Half of the fits have fixed noise, and
their models are compared byte for byte; the others are charged to a budget.

{kills_table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["times", "kills", "page"])
    parser.add_argument("--rows", type=int, help="by default 8,000,000 for times and 400,000 for kills")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engine", choices=["Dask", "Spark"], default="Dask")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--more", action="store_true", help="keep what was measured before")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    name = f"clusters_{options.command}.csv"
    before = pd.read_csv(RESULTS / name) if options.command != "page" and (RESULTS / name).exists() else None
    if options.command == "page":
        taken, killed = (pd.read_csv(RESULTS / f"clusters_{what}.csv") for what in ("times", "kills"))
        (RESULTS / "clusters.md").write_text(page(taken, killed), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.command == "times":
            rows = times(Path(folder), options.rows or 8_000_000, options.repeats)
            write(name, rows, before if options.more else None)
        else:
            others = None if before is None or options.more else before[before["engine"] != options.engine]
            rows = kills(Path(folder), options.rows or 400_000, options.engine, options.fits)
            write(name, rows, before if options.more else others)


if __name__ == "__main__":
    main()
